"""Lower bounds on the distance between a query and many users, in units of the item grid.

Each comes from a feasible solution of the dual: any prices g on the query's items, and for every item x
f(x) = min_j (d(x, j) - g_j), give

    D(u, v)  ≥  Σ_j q_j g_j + Σ_x p_v(x) f(x)        for every user v at once.

No metric is needed. g = 0 is the first half of RWMD (each unit of v's mass goes to the nearest item of u,
regardless of that item's mass). The prices of a solved pair are tight for that pair, and good for similar
users.
"""

import numpy as np

from prefmover.execution.jit import kernel
from prefmover.ot._dual import row_minimum

STRIP = 16


@kernel
def nearest_table(indptr, items, grid, start, stop, table):
    """Set table[x, v] = min over v's items of d(x, i), for users start ≤ v < stop; users by strips."""
    n_items = grid.shape[0]
    nearest = np.empty((STRIP, n_items), np.int32)
    for first in range(start, stop, STRIP):
        width = min(STRIP, stop - first)
        for k in range(width):
            for x in range(n_items):
                nearest[k, x] = 2**31 - 1
            for t in range(indptr[first + k], indptr[first + k + 1]):
                row = grid[items[t]]
                for x in range(n_items):
                    nearest[k, x] = min(nearest[k, x], row[x])
        for x in range(n_items):
            for k in range(width):
                table[x, first + k] = nearest[k, x]


@kernel
def extend(distance, g, f):
    """Set f(x) = min_j (d(x, j) - g_j) for every item x; ``distance`` (n_items, m) is query-major."""
    for x in range(distance.shape[0]):
        f[x] = row_minimum(distance, g, x, distance.shape[1])


@kernel
def priced(f, indptr, items, mass, total, v):
    """Return Σ_x p_v(x) f(x) for one user v."""
    value = 0.0
    for t in range(indptr[v], indptr[v + 1]):
        value += np.float64(mass[t]) * f[items[t]]
    return value / np.float64(total[v])


@kernel
def forward_bounds(f, indptr, items, mass, total, out):
    """Set out[v] = Σ_x p_v(x) f(x) for every user; infinite for users without a distribution."""
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
        share = np.float64(mass_u[j]) / np.float64(total_u)
        row = table[items_u[j]]
        for v in range(out.size):
            out[v] += share * row[v]
    for v in range(out.size):
        bound[v] = max(bound[v], out[v])


@kernel
def backward_bound(distance, mass_u, total_u, indptr, items, v, least):
    """Return the same for one user without a table; ``least`` (m) is scratch."""
    m = distance.shape[1]
    for j in range(m):
        least[j] = 2**31 - 1
    for t in range(indptr[v], indptr[v + 1]):
        row = distance[items[t]]
        for j in range(m):
            least[j] = min(least[j], row[j])
    value = 0.0
    for j in range(m):
        value += np.float64(mass_u[j]) * least[j]
    return value / np.float64(total_u)
