"""Lower bounds on the distance between a query and many users.

Each comes from a feasible solution of the dual: any prices g on the query's items, and for every item x
f(x) = min_j (d(x, j) - g_j), give

    D(u, v)  ≥  Σ_j q_j g_j + Σ_x p_v(x) f(x)        for every user v at once.

No metric is needed. g = 0 is the first half of RWMD (each unit of v's mass goes to the nearest item of u,
regardless of that item's mass). The prices of a solved pair are tight for that pair, and good for similar
users.

Bounds do not need all digits. They are computed from *coarse* distances: 16 bits instead of 32, so that the
processor handles twice as many at a time. Coarse distances are rounded down, so a bound from them is a bound.
It is too low by 2^12 units of the grid at most, about .0001 rad.
"""

import numpy as np

from prefmover.execution.jit import allocating_kernel, kernel

STRIP = 16

COARSE_BITS = 12  # bits of a distance that are dropped: 26 bits become 14
COARSE = 2.0**COARSE_BITS
# Prices are kept within these ends. Then no difference of a distance and a price leaves 16 bits.
LOWEST_F, HIGHEST_F = -(2**13), 2**14 - 1
LOWEST_G, HIGHEST_G = -(2**14) + 1, 2**14 + 2**13
FARTHEST = 2**14  # the largest coarse distance, also that of the columns that fill up a row
LANES = 32  # rows are filled up to a multiple of this, so that no loop has a remainder


@allocating_kernel
def nearest_table(indptr, items, grid, start, stop, table):
    """Set table[x, v] = min over v's items of the coarse d(x, i), for users start ≤ v < stop; by strips."""
    n_items = grid.shape[0]
    nearest = np.empty((STRIP, n_items), np.int32)
    for first in range(start, stop, STRIP):
        width = min(STRIP, stop - first)
        for k in range(width):
            for x in range(n_items):
                nearest[k, x] = 2**26
            for t in range(indptr[first + k], indptr[first + k + 1]):
                row = grid[items[t]]
                for x in range(n_items):
                    nearest[k, x] = min(nearest[k, x], row[x])
        for x in range(n_items):
            for k in range(width):
                table[x, first + k] = nearest[k, x] >> COARSE_BITS


@kernel
def lay_out(distance, lines, coarse):
    """Set coarse[x, j] to the coarse distance[lines[j], x], query-major, and fill up the rows."""
    n_items, width = coarse.shape
    for first in range(0, n_items, LANES):
        last = min(first + LANES, n_items)
        for j in range(lines.size):
            line = distance[lines[j]]
            for x in range(first, last):
                coarse[x, j] = line[x] >> COARSE_BITS
        for x in range(first, last):
            for j in range(lines.size, width):
                coarse[x, j] = FARTHEST


@kernel
def coarsen(prices, m, width, g):
    """Set g to the coarse prices of m columns, and of those that fill up a row."""
    for j in range(m):
        g[j] = max(LOWEST_G, min(HIGHEST_G, prices[j] >> COARSE_BITS))
    fill_up(g, m, width)


@kernel
def fill_up(g, m, width):
    """Set the prices of the columns that fill up a row: the lowest, so that they are nobody's nearest."""
    for j in range(m, width):
        g[j] = LOWEST_G


@kernel
def least(row, g, width):
    """Return min_j (row_j - g_j), in 16 bits."""
    value = np.int16(2**15 - 1)
    for j in range(width):
        value = min(value, np.int16(row[j] - g[j]))
    return value


@kernel
def extend(coarse, g, f):
    """Set f(x) = min_j (d(x, j) - g_j) for every item x."""
    for x in range(coarse.shape[0]):
        f[x] = least(coarse[x], g, coarse.shape[1])


@kernel
def priced(f, indptr, items, mass, total, v):
    """Return Σ_x p_v(x) f(x) for one user v, in grid units.

    In floats: sums of integers would be vectorized with gather instructions, which are slow. Four sums at a
    time: one addition need not wait for the last.
    """
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    first, last = indptr[v], indptr[v + 1]
    whole = first + (last - first) // 4 * 4
    for t in range(first, whole, 4):
        a += np.float64(mass[t]) * f[items[t]]
        b += np.float64(mass[t + 1]) * f[items[t + 1]]
        c += np.float64(mass[t + 2]) * f[items[t + 2]]
        d += np.float64(mass[t + 3]) * f[items[t + 3]]
    for t in range(whole, last):
        a += np.float64(mass[t]) * f[items[t]]
    return ((a + b) + (c + d)) * COARSE / np.float64(total[v])


@kernel
def forward_bounds(f, users, out):
    """Set out[v] = Σ_x p_v(x) f(x) for every user; infinite for users without a distribution."""
    indptr, items, mass, total = users
    for v in range(total.size):
        out[v] = priced(f, indptr, items, mass, total, v) if total[v] > 0 else np.inf


@kernel
def backward_bounds(table, items_u, mass_u, total_u, bound, out):
    """Raise bound[v] to Σ_j q_j min over v's items of d(i, j): the other half of RWMD.

    ``out`` is scratch of the same size.
    """
    for v in range(out.size):
        out[v] = 0.0
    for j in range(items_u.size):
        share = COARSE * np.float64(mass_u[j]) / np.float64(total_u)
        row = table[items_u[j]]
        for v in range(out.size):
            out[v] += share * row[v]
    for v in range(out.size):
        bound[v] = max(bound[v], out[v])


@kernel
def backward_bound(coarse, mass_u, total_u, indptr, items, v, nearest):
    """Return the same for one user without a table; ``nearest`` (width) is scratch."""
    width = coarse.shape[1]
    for j in range(width):
        nearest[j] = FARTHEST
    for t in range(indptr[v], indptr[v + 1]):
        row = coarse[items[t]]
        for j in range(width):
            nearest[j] = min(nearest[j], row[j])
    value = np.int64(0)
    for j in range(mass_u.size):
        value += mass_u[j] * nearest[j]
    return np.float64(value) * COARSE / np.float64(total_u)
