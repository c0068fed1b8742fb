"""Dual steps on one pair of users, aimed at a limit: they show that a pair is too far, without solving it."""

import numpy as np

from prefmover.execution.jit import kernel
from prefmover.measures._pmd import reduce_pair
from prefmover.ot._dual import copy
from prefmover.search._bounds import COARSE, HIGHEST_F, LOWEST_F, least

# Steps aim at this multiple of the limit, a little beyond it.
AIM = 1.005
# Without a limit, steps aim above the best bound so far by this share, which falls whenever a step fails.
RISE, FALL, LEAST_RISE = 0.2, 0.85, 512.0
# They end at this multiple of the limit plus one unit, which is more than the margins of `exceeds`.
BEYOND = 1.0 + 1e-8
# Least imbalance of an item, in multiples of its mass: few items are demanded by many.
LEAST_IMBALANCE = -3.0
MOST_ROWS = 2**15 - 4  # numbers of rows are kept in 16 bits


@kernel
def climb(v, prices, steps, limit, query, users, s):
    """Raise the dual bound of the pair with user v from these prices of the query's items; return it.

    The steps go along the imbalance of masses, as in ``ot._dual.ascend``, on the query's coarse rows
    without a copy. Items of v whose mass is canceled are left out; items of the query stay, without mass.
    Since all that matters is whether the bound gets beyond the limit, the length of a step is
    Polyak's: as far as the limit would be if the dual were linear. A direction that turns back on the
    last one is mixed with it (Camerini, Fratta and Maffioli, 1975), which keeps them from zigzagging. Ends
    early beyond the limit. An infinite limit asks for the highest bound that the steps can reach: they aim a
    little above the best so far. The best prices are left in s.best_g.
    """
    n, m, width = prepare(v, query, users, s), query.items.size, query.coarse.shape[1]
    f, g, p, q, way = s.pair_f, s.pair_g, s.share_v, s.share_u, s.way
    copy(prices, width, s.best_g)
    if n == 0 or n >= MOST_ROWS:
        return 0.0
    for i in range(n):
        f[i] = max(LOWEST_F, min(HIGHEST_F, least(query.coarse[s.rows[i]], prices, width)))
        way[i] = 0.0
    filled = n + -n % 4
    for i in range(n, filled):  # rows that nobody is nearest to
        s.rows[i], f[i] = s.rows[0], LOWEST_F
    best, length, aim = -np.inf, 0.0, AIM * limit / COARSE
    enough, rise = (BEYOND * limit + 1.0) / COARSE, RISE
    for t in range(steps + 1):
        serve(query.coarse, s.rows, s.numbers, filled, f, g, s.nearest)
        value = 0.0
        for i in range(n):
            value += p[i] * f[i]
        for j in range(m):
            value += q[j] * g[j]
        if value > best:
            best = value
            copy(g, m, s.best_g)
        else:
            rise *= FALL
        if t == steps or best > enough:
            break
        for i in range(n):
            s.excess[i] = p[i]
        for j in range(m):
            s.excess[s.nearest[j]] -= q[j]
        along = 0.0
        for i in range(n):
            s.excess[i] = max(LEAST_IMBALANCE, s.excess[i] * s.inverse[i])
            along += p[i] * s.excess[i] * way[i]
        turn = max(0.0, -1.5 * along / length) if length > 0.0 else 0.0
        length = 0.0
        for i in range(n):
            way[i] = s.excess[i] + turn * way[i]
            length += p[i] * way[i] * way[i]
        if length == 0.0:
            break  # in balance: this is the distance
        step = ((aim if limit < np.inf else best + rise * max(best, LEAST_RISE)) - value) / length
        for i in range(n):
            f[i] = np.int16(max(LOWEST_F, min(HIGHEST_F, f[i] + step * way[i])))
    return best * COARSE


@kernel
def prepare(v, query, users, s):
    """Set the shares of mass that are left to move, s.share_v of s.rows and s.share_u of all columns.

    Returns the number of rows.
    """
    theirs = slice(users.indptr[v], users.indptr[v + 1])
    n, m = reduce_pair(
        users.items[theirs], users.mass[theirs], users.total[v],
        query.items, s.sequence, query.mass, query.total, query.cancel, s.rows, s.columns, s.p, s.q,
    )  # fmt: skip
    inverse = 1.0 / (np.float64(users.total[v]) * np.float64(query.total))
    for i in range(n):
        s.share_v[i] = s.p[i] * inverse
        s.inverse[i] = 1.0 / s.share_v[i]
    for j in range(query.items.size):
        s.share_u[j] = 0.0
    for j in range(m):
        s.share_u[s.columns[j]] = s.q[j] * inverse
    return n


@kernel
def serve(coarse, rows, numbers, n, f, g, nearest):
    """Set g_j = min_i (d_ij - f_i) over n rows, and nearest_j to the number of the first that attains it.

    Four rows at a time: g and nearest are then read and written a quarter as often. n is a multiple of four.
    """
    width = coarse.shape[1]
    for j in range(width):
        g[j] = 2**15 - 1
    for i in range(0, n, 4):
        row_0, row_1, row_2, row_3 = (
            coarse[rows[i]],
            coarse[rows[i + 1]],
            coarse[rows[i + 2]],
            coarse[rows[i + 3]],
        )
        f_0, f_1, f_2, f_3 = f[i], f[i + 1], f[i + 2], f[i + 3]
        k_0, k_1, k_2, k_3 = numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3]
        for j in range(width):
            d_0, d_1 = np.int16(row_0[j] - f_0), np.int16(row_1[j] - f_1)
            d_2, d_3 = np.int16(row_2[j] - f_2), np.int16(row_3[j] - f_3)
            first, last = min(d_0, d_1), min(d_2, d_3)
            of_first, of_last = k_1 if d_1 < d_0 else k_0, k_3 if d_3 < d_2 else k_2
            best, of_best = min(first, last), of_last if last < first else of_first
            nearest[j] = of_best if best < g[j] else nearest[j]
            g[j] = min(g[j], best)
