"""Dual steps on one pair of users, aimed at a limit: they show that a pair is too far, without solving it."""

import numpy as np

from prefmover.execution.jit import kernel
from prefmover.ot._dual import copy, row_minimum

# Steps aim at this multiple of the limit, a little beyond it.
AIM = 1.005
# They end at this multiple of the limit plus one unit, which is more than the margins of `exceeds`.
BEYOND = 1.0 + 1e-8
# Least imbalance of an item, in multiples of its mass: few items are demanded by many.
LEAST_IMBALANCE = -3.0
# Largest price: distances have 26 bits, so that differences stay within 32.
LARGEST_PRICE = 2.0**28


@kernel
def climb(v, prices, steps, limit, query, users, s):
    """Raise the dual bound of the pair with user v from these prices of the query's items; return it.

    The steps go along the imbalance of masses, as in ``ot._dual.ascend``, on the query's rows
    without a copy. Since all that matters is whether the bound gets beyond the limit, their length is
    Polyak's: as far as the limit would be if the dual were linear. A direction that turns back on the
    last one is mixed with it (Camerini, Fratta and Maffioli, 1975), which keeps them from zigzagging. Ends
    early beyond the limit. The best prices are left in s.best_g.
    """
    start, n, m = users.indptr[v], users.indptr[v + 1] - users.indptr[v], query.items.size
    f, g, nearest, way, distance = s.w.f, s.w.g, s.w.nearest, s.way, query.distance
    narrow = distance.dtype.type
    inverse_v, inverse_u = 1.0 / np.float64(users.total[v]), 1.0 / np.float64(query.total)
    for i in range(n):
        f[i] = row_minimum(distance, prices, users.items[start + i], m)
        way[i] = 0.0
    best, length = -np.inf, 0.0
    for t in range(steps + 1):
        for j in range(m):
            g[j] = 2**30
        for i in range(n):
            row, f_i = distance[users.items[start + i]], f[i]
            for j in range(m):
                reduced = narrow(row[j] - f_i)
                nearest[j] = np.int32(i) if reduced < g[j] else nearest[j]
                g[j] = min(g[j], reduced)
        value_v, value_u = 0.0, 0.0
        for i in range(n):
            value_v += np.float64(users.mass[start + i]) * f[i]
        for j in range(m):
            value_u += np.float64(query.mass[j]) * g[j]
        value = value_v * inverse_v + value_u * inverse_u
        if value > best:
            best = value
            copy(g, m, s.best_g)
        if t == steps or best > BEYOND * limit + 1.0:
            break
        for i in range(n):
            s.excess[i] = users.mass[start + i] * inverse_v
        for j in range(m):
            s.excess[nearest[j]] -= query.mass[j] * inverse_u
        along = 0.0
        for i in range(n):
            mass = users.mass[start + i] * inverse_v
            s.excess[i] = max(LEAST_IMBALANCE, s.excess[i] / mass)
            along += mass * s.excess[i] * way[i]
        turn = max(0.0, -1.5 * along / length) if length > 0.0 else 0.0
        length = 0.0
        for i in range(n):
            way[i] = s.excess[i] + turn * way[i]
            length += users.mass[start + i] * inverse_v * way[i] * way[i]
        if length == 0.0:
            break  # in balance: this is the distance
        step = (AIM * limit - value) / length
        for i in range(n):
            f[i] = narrow(max(-LARGEST_PRICE, min(LARGEST_PRICE, f[i] + step * way[i])))
    return best
