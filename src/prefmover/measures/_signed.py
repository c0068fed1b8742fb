"""Kernels for the distance between likes and dislikes of one user and those of many."""

import numpy as np

from prefmover.execution.jit import kernel
from prefmover.measures._pmd import as_distance, gather
from prefmover.ot._simplex import OPTIMAL, solve


@kernel
def reduce_signed(items_u, mass_u, total_u, items_v, mass_v, total_v, cancel, rows, columns, p, q):
    """Set rows and p to what u likes more, or v dislikes more, and columns and q to the other side.

    Signed masses of both users are brought to one total. If ``cancel``, only the difference on an item is
    left. Returns the numbers of rows and columns. Items are sorted.
    """
    n, m, a, b = 0, 0, 0, 0
    while a < items_u.size or b < items_v.size:
        of_u, of_v = np.int64(0), np.int64(0)
        if b == items_v.size or (a < items_u.size and items_u[a] <= items_v[b]):
            item = items_u[a]
        else:
            item = items_v[b]
        if a < items_u.size and items_u[a] == item:
            of_u = mass_u[a] * total_v
            a += 1
        if b < items_v.size and items_v[b] == item:
            of_v = mass_v[b] * total_u
            b += 1
        source, target = max(of_u, 0) + max(-of_v, 0), max(of_v, 0) + max(-of_u, 0)
        if cancel:
            stays = min(source, target)
            source -= stays
            target -= stays
        if source > 0:
            rows[n], p[n] = item, source
            n += 1
        if target > 0:
            columns[m], q[m] = item, target
            m += 1
    return n, m


@kernel
def signed_distance(u, v, users, distance, unit, cancel, s):
    """Return the distance between users u and v; -1 if it is not solved."""
    indptr, items, mass, total = users
    mine, theirs = slice(indptr[u], indptr[u + 1]), slice(indptr[v], indptr[v + 1])
    n, m = reduce_signed(
        items[mine], mass[mine], total[u], items[theirs], mass[theirs], total[v],
        cancel, s.rows, s.columns, s.p, s.q,
    )  # fmt: skip
    if n == 0:
        return 0.0
    for j in range(max(n, m)):
        s.w.g[j] = 0
    c = gather(distance, s.rows, s.columns, n, m, s.buffer)
    status, _, high, low = solve(c, s.p, s.q, n, m, s.w)
    if status != OPTIMAL:
        return -1.0
    return as_distance(high, low, 2 * total[u] * total[v], unit)


@kernel
def signed_row(u, others, users, distance, unit, cancel, s, out):
    """Set out[k] to the distance between u and others[k]; NaN where undefined, -1 where not solved."""
    total = users[3]
    for k in range(others.size):
        v = others[k]
        out[k] = np.nan
        if total[u] > 0 and total[v] > 0:
            out[k] = signed_distance(u, v, users, distance, unit, cancel, s)
