"""Kernels for the distance between one user and many.

Against many users, work is *query-major*: the distances from every item to the query's items are laid out
once, so that a pair's cost block is a few contiguous rows. The query's items are the columns of each
problem, the other user's items the rows; or the other way round if they are more: the simplex prices row
by row, and takes about a third of the steps with 20 rows and 200 columns that it takes with 200 and 20.
"""

import numpy as np

from prefmover.execution.jit import kernel
from prefmover.ot._dual import copy
from prefmover.ot._simplex import LIMB_BITS, OPTIMAL, solve

AT_A_TIME = 16  # rows that are turned over together: one cache line of each column


@kernel
def reduce_pair(items_v, mass_v, total_v, items_u, places_u, mass_u, total_u, cancel, rows, columns, p, q):
    """Bring two users to one total, and keep of shared items only the difference if ``cancel``.

    Fills rows with the items of v that keep mass p, and columns with the places of the items of u that
    keep mass q; returns their numbers. Items are sorted.
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
                rows[n], columns[m] = items_v[a], places_u[b]
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
            columns[m], q[m] = places_u[b], from_u
            m += 1
            b += 1
    return n, m


@kernel
def gather(distance, rows, columns, n, m, buffer):
    """Return the (n, m) block of distances as a contiguous view of the buffer."""
    c = buffer[: n * m].reshape(n, m)
    if m == distance.shape[1]:
        for i in range(n):
            copy(distance[rows[i]], m, c[i])
    else:
        for i in range(n):
            for j in range(m):
                c[i, j] = distance[rows[i], columns[j]]
    return c


@kernel
def gather_turned(distance, rows, columns, n, m, buffer):
    """Return the same block turned over, (m, n)."""
    c = buffer[: n * m].reshape(m, n)
    for first in range(0, n, AT_A_TIME):
        last = min(first + AT_A_TIME, n)
        for j in range(m):
            for i in range(first, last):
                c[j, i] = distance[rows[i], columns[j]]
    return c


@kernel
def as_distance(high, low, total, unit):
    """Return (high · 2^28 + low) · unit / total: a function of the exact total alone."""
    return (np.float64(high) * 2.0**LIMB_BITS + np.float64(low)) / np.float64(total) * unit


@kernel
def distances_from(
    u, others, indptr, items, mass, total, distance, places, unit, cancel, rows, columns, p, q, buffer, w, out
):
    """Set out[k] to the distance between u and others[k]; NaN where undefined, -1 where not solved.

    ``distance[i, places[b]]`` is the distance from item i to u's b-th item.
    """
    mine = slice(indptr[u], indptr[u + 1])
    for k in range(others.size):
        v = others[k]
        if total[u] == 0 or total[v] == 0:
            out[k] = np.nan
            continue
        theirs = slice(indptr[v], indptr[v + 1])
        n, m = reduce_pair(
            items[theirs], mass[theirs], total[v], items[mine], places, mass[mine], total[u],
            cancel, rows, columns, p, q,
        )  # fmt: skip
        if n == 0:
            out[k] = 0.0
            continue
        for j in range(max(n, m)):
            w.g[j] = 0
        if n > m:
            c = gather_turned(distance, rows, columns, n, m, buffer)
            status, _, high, low = solve(c, q, p, m, n, w)
        else:
            c = gather(distance, rows, columns, n, m, buffer)
            status, _, high, low = solve(c, p, q, n, m, w)
        if status != OPTIMAL:
            out[k] = -1.0
        else:
            out[k] = as_distance(high, low, total[u] * total[v], unit)
