"""Kernels for the distance between one user and many.

Against many users, work is *query-major*: the distances from every item to the query's items are laid out
once, so that the cost block of a pair is a few contiguous rows. The query's items are the columns of each
problem and the other user's items are the rows; if there are more of the latter, it is the other way round.
The simplex prices row by row, and takes about a third of the steps with 20 rows and 200 columns that it
takes with 200 and 20.

Totals are whole numbers, and their quotients are rounded once: such a value depends on the number that it
stands for, and on nothing else. Distances that are equal then tie, and the tie rule decides, not the noise of
several roundings. The low parts are those of Dekker (Numerische Mathematik 18, 1971), correct to about 100
bits.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from prefmover.execution.jit import allocating_kernel, kernel
from prefmover.ot._dual import copy
from prefmover.ot._simplex import LIMB_BITS, OPTIMAL, STEPS, solve, workspace

__all__ = ["STEPS", "ItemCosts", "UserMasses", "distances_from", "product"]


class UserMasses(NamedTuple):
    """The preferences of all users, as CSR."""

    indptr: npt.NDArray[np.int64]
    items: npt.NDArray[np.int32]
    mass: npt.NDArray[np.int64]
    total: npt.NDArray[np.int64]


class ItemCosts(NamedTuple):
    """Distances to the query's items: ``distance[i, columns[b]]`` is that from item i to the b-th one."""

    distance: npt.NDArray[np.int32]
    columns: npt.NDArray[np.int32]
    unit: float
    cancel: bool  # whether mass that both users have on an item stays there: d is a metric


new_workspace = allocating_kernel(workspace)


@kernel
def reduce_pair(items_v, mass_v, total_v, items_u, columns_u, mass_u, total_u, cancel, rows, columns, p, q):
    """Bring two users to one total; if ``cancel``, keep only the difference on items that both have.

    Fills rows with the items of v that keep mass p, and columns with the columns of the items of u that
    keep mass q; returns how many there are of each. Items are sorted.
    """
    n, m, a, b = 0, 0, 0, 0
    while a < items_v.size or b < items_u.size:
        if b == items_u.size or (a < items_v.size and items_v[a] < items_u[b]):
            from_v, from_u = mass_v[a] * total_u, np.int64(0)
        elif a == items_v.size or items_u[b] < items_v[a]:
            from_v, from_u = np.int64(0), mass_u[b] * total_v
        else:
            from_v, from_u = mass_v[a] * total_u, mass_u[b] * total_v
            if cancel:
                stays = min(from_v, from_u)
                rows[n], columns[m] = items_v[a], columns_u[b]
                p[n], q[m] = from_v - stays, from_u - stays
                n += from_v > stays
                m += from_u > stays
                a += 1
                b += 1
                continue
        if from_v > 0:
            rows[n], p[n] = items_v[a], from_v
            n += 1
            a += 1
        if from_u > 0:
            columns[m], q[m] = columns_u[b], from_u
            m += 1
            b += 1
    return n, m


@kernel
def gather(distance, rows, columns, c):
    """Set c to the block of distances."""
    n, m = c.shape
    if m == distance.shape[1]:
        for i in range(n):
            copy(distance[rows[i]], m, c[i])
    else:
        for i in range(n):
            line, row = distance[rows[i]], c[i]
            for j in range(m):
                row[j] = line[np.uint32(columns[j])]  # unsigned: no test for negative indices


@kernel
def gather_turned(distance, rows, columns, c):
    """Set c (columns, rows) to the same block transposed.

    Four rows at a time: their lines stay in registers, and a column is looked up once for all of them.
    """
    m, n = c.shape
    ahead = n & 3  # rows before the first four
    for i in range(ahead):
        line = distance[rows[i]]
        for j in range(m):
            c[j, i] = line[np.uint32(columns[j])]
    for i in range(ahead, n, 4):
        line_0, line_1 = distance[rows[i]], distance[rows[i + 1]]
        line_2, line_3 = distance[rows[i + 2]], distance[rows[i + 3]]
        for j in range(m):
            row, column = c[j], np.uint32(columns[j])
            row[i], row[i + 1] = line_0[column], line_1[column]
            row[i + 2], row[i + 3] = line_2[column], line_3[column]


@kernel
def as_distance(high, low, total, unit):
    """Return (high · 2^28 + low) / total · unit, for integers of 63 bits."""
    top, bottom = halves(high)
    a, b = top * 2.0**LIMB_BITS, bottom * 2.0**LIMB_BITS + np.float64(low)
    sum_high = a + b
    sum_low = b - (sum_high - a) if abs(a) >= abs(b) else a - (sum_high - b)
    t, t_low = halves(total)
    value = sum_high / t
    back, back_low = product(value, t)
    return (value + (((sum_high - back) - back_low) + sum_low - value * t_low) / t) * unit


@kernel
def halves(whole):
    """Return two floats that add up to an integer."""
    top = np.float64(whole)
    return top, np.float64(whole - np.int64(top))


@kernel
def product(a, b):
    """Return the product of two floats, and its rounding error."""
    c, d = 134217729.0 * a, 134217729.0 * b  # 2^27 + 1 splits 53 bits into two halves
    a_high, b_high = c - (c - a), d - (d - b)
    a_low, b_low = a - a_high, b - b_high
    product = a * b
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@allocating_kernel
def distances_from(u, others, users, costs, longest, out):
    """Set out[k] to the distance between u and others[k]; NaN where undefined, -1 where not solved.

    ``longest`` is the largest number of items of the others. Arrays to work in are made here, because to pass
    them takes longer than to solve a problem of 5 x 5.
    """
    indptr, items, mass, total = users
    first, last = indptr[u], indptr[u + 1]
    most = longest + 1, last - first + 1
    rows, columns = np.empty(most[0], np.int32), np.empty(most[1], np.int32)
    p, q = np.empty(most[0], np.int64), np.empty(most[1], np.int64)
    buffer, w = np.empty(most[0] * most[1], np.int32), new_workspace(most[0], most[1], np.int32)
    for k in range(others.size):
        v = others[k]
        if total[u] == 0 or total[v] == 0:
            out[k] = np.nan
            continue
        row = slice(indptr[v], indptr[v + 1])
        n, m = reduce_pair(
            items[row], mass[row], total[v], items[first:last], costs.columns, mass[first:last], total[u],
            costs.cancel, rows, columns, p, q,
        )  # fmt: skip
        if n == 0:
            out[k] = 0.0
            continue
        for j in range(max(n, m)):
            w.g[j] = 0
        if n > m:
            c = buffer[: n * m].reshape(m, n)
            gather_turned(costs.distance, rows, columns, c)
            status, _, high, low = solve(c, q, p, m, n, w)
        else:
            c = buffer[: n * m].reshape(n, m)
            gather(costs.distance, rows, columns, c)
            status, _, high, low = solve(c, p, q, n, m, w)
        if status != OPTIMAL:
            out[k] = -1.0
        else:
            out[k] = as_distance(high, low, total[u] * total[v], costs.unit)
