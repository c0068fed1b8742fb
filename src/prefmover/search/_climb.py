"""Dual steps on one pair of users, aimed at a limit: they show that a pair is too far, without solving it."""

import numpy as np

from prefmover.execution.jit import kernel
from prefmover.measures._pmd import reduce_pair
from prefmover.ot._dual import copy
from prefmover.search._bounds import COARSE, HIGHEST_F, HIGHEST_G, LOWEST_F, LOWEST_G, least

# Steps aim at this multiple of the limit, a little beyond it.
AIM = 1.005
# Without a limit, the first step moves a price by this share of the bound, and each further one by less.
FIRST_STEP, SHORTER = 0.3, 0.82
LEAST_BOUND = 512.0  # by which it is multiplied, at least; coarse
# Steps end at this multiple of the limit plus one unit, which is more than the margins of `exceeds`.
BEYOND = 1.0 + 1e-8
# Lower clip of an item's imbalance, relative to its mass.
LEAST_IMBALANCE = -3.0
MOST = 2**15 - 4  # numbers of rows and columns are kept in 16 bits


@kernel
def climb(v, prices, steps, limit, query, users, s):
    """Raise the dual bound of the pair with user v from these prices of the query's items; return it.

    The steps go along the imbalance of masses, as in ``ot._dual.ascend``, on the query's coarse rows
    without a copy. They move the prices of the user with fewer items; those of the other follow. There are
    fewer prices to find then, and the same number of steps leaves less than half of the gap. Mass that is
    canceled is left out.
    Since all that matters is whether the bound gets beyond the limit, the length of a step is
    Polyak's: as far as the limit would be if the dual were linear. A direction that turns back on the
    last one is mixed with it (Camerini, Fratta and Maffioli, 1975), which keeps them from zigzagging. Ends
    early beyond the limit. An infinite limit asks for the highest bound that the steps can reach: they
    become shorter. The best prices are left in s.best_g.
    """
    n, m = prepare(v, query, users, s)
    copy(prices, query.coarse.shape[1], s.best_g)
    if n == 0 or max(n, query.items.size) > MOST:
        return 0.0
    if n > m:
        return climb_columns(prices, steps, limit, n, query, s)
    return climb_rows(prices, steps, limit, n, query, s)


@kernel
def climb_rows(prices, steps, limit, n, query, s):
    """Move the prices of the n rows, the other user's items."""
    m, width = query.items.size, query.coarse.shape[1]
    f, g, p, q = s.pair_f, s.pair_g, s.share_v, s.share_u
    for i in range(n):
        f[i] = max(LOWEST_F, min(HIGHEST_F, least(query.coarse[s.rows[i]], prices, width)))
        s.inverse[i] = 1.0 / p[i]
        s.way[i] = 0.0
    filled = fill_four(s.rows, n)
    for i in range(n, filled):
        f[i] = LOWEST_F  # nobody's nearest
    best, length, pace = -np.inf, 0.0, FIRST_STEP
    for t in range(steps + 1):
        serve(query.coarse, s.rows, s.numbers, filled, f, g, s.nearest)
        value = 0.0
        for i in range(n):
            value += p[i] * f[i]
            s.excess[i] = p[i]
        for j in range(m):
            value += q[j] * g[j]
            s.excess[s.nearest[j]] -= q[j]
        if value > best:
            best = value
            copy(g, m, s.best_g)
        if t == steps or best > enough(limit):
            break
        length = turn(p, n, length, limit, s)
        if length == 0.0:
            break  # in balance: this is the distance
        move(f, n, step_length(value, best, length, limit, pace), LOWEST_F, HIGHEST_F, s)
        pace *= SHORTER
    return best * COARSE


@kernel
def climb_columns(prices, steps, limit, n, query, s):
    """Move the prices of the columns, the query's items."""
    m, width = query.items.size, query.coarse.shape[1]
    f, g, p, q = s.pair_f, s.pair_g, s.share_v, s.share_u
    copy(prices, width, g)
    filled = fill_four(s.rows, n)
    for j in range(m):
        s.inverse[j] = 1.0 / q[j] if q[j] > 0.0 else 0.0
        s.way[j] = 0.0
        if q[j] == 0.0:
            g[j] = LOWEST_G  # nobody's nearest
    best, length, pace = -np.inf, 0.0, FIRST_STEP
    for t in range(steps + 1):
        value = 0.0
        for j in range(m):
            value += q[j] * g[j]
            s.excess[j] = q[j]
        demand(query.coarse, s.rows, s.numbers, filled, g, f, s.nearest)
        for i in range(n):
            value += p[i] * f[i]
            s.excess[s.nearest[i]] -= p[i]
        if value > best:
            best = value
            copy(g, m, s.best_g)
        if t == steps or best > enough(limit):
            break
        length = turn(q, m, length, limit, s)
        if length == 0.0:
            break
        move(g, m, step_length(value, best, length, limit, pace), LOWEST_G, HIGHEST_G, s)
        pace *= SHORTER
    return best * COARSE


@kernel
def enough(limit):
    """Return the bound at which steps toward a limit end; coarse."""
    return (BEYOND * limit + 1.0) / COARSE


@kernel
def turn(mass, n, length, limit, s):
    """Set s.way to the direction of the next step from s.excess; return the square of its length.

    ``length`` is that of the last one.
    """
    way, excess, inverse = s.way, s.excess, s.inverse
    if limit == np.inf:
        length = 0.0
        for i in range(n):
            way[i] = max(-2.0, min(1.0, excess[i] * inverse[i]))
            length += mass[i] * way[i] * way[i]
        return length
    along = 0.0
    for i in range(n):
        excess[i] = max(LEAST_IMBALANCE, excess[i] * inverse[i])
        along += mass[i] * excess[i] * way[i]
    back = max(0.0, -1.5 * along / length) if length > 0.0 else 0.0
    length = 0.0
    for i in range(n):
        way[i] = excess[i] + back * way[i]
        length += mass[i] * way[i] * way[i]
    return length


@kernel
def step_length(value, best, length, limit, pace):
    """Return the length of a step along s.way; coarse."""
    if limit == np.inf:
        return pace * max(best, LEAST_BOUND)
    return (AIM * limit / COARSE - value) / length


@kernel
def move(prices, n, step, lowest, highest, s):
    """Move prices along s.way, within their ends."""
    for i in range(n):
        prices[i] = np.int16(max(lowest, min(highest, prices[i] + step * s.way[i])))


@kernel
def prepare(v, query, users, s):
    """Set the shares of mass that are left to move, s.share_v of s.rows and s.share_u of all columns.

    Returns the numbers of rows and of columns with mass.
    """
    theirs = slice(users.indptr[v], users.indptr[v + 1])
    n, m = reduce_pair(
        users.items[theirs], users.mass[theirs], users.total[v],
        query.items, s.sequence, query.mass, query.total, query.cancel, s.rows, s.columns, s.p, s.q,
    )  # fmt: skip
    inverse = 1.0 / (np.float64(users.total[v]) * np.float64(query.total))
    for i in range(n):
        s.share_v[i] = s.p[i] * inverse
    for j in range(query.items.size):
        s.share_u[j] = 0.0
    for j in range(m):
        s.share_u[s.columns[j]] = s.q[j] * inverse
    return n, m


@kernel
def fill_four(rows, n):
    """Fill up n rows to a multiple of four, and return it."""
    filled = n + -n % 4
    for i in range(n, filled):
        rows[i] = rows[0]
    return filled


@kernel
def demand(coarse, rows, numbers, n, g, f, nearest):
    """Set f_i = min_j (d_ij - g_j), and nearest_i to the number of the first column that attains it.

    Four rows at a time, as in :func:`serve`. n is a multiple of four.
    """
    width, none = coarse.shape[1], np.int16(2**15 - 1)
    for i in range(0, n, 4):
        row_0, row_1 = coarse[rows[i]], coarse[rows[i + 1]]
        row_2, row_3 = coarse[rows[i + 2]], coarse[rows[i + 3]]
        f_0 = f_1 = f_2 = f_3 = none
        for j in range(width):
            f_0, f_1 = min(f_0, np.int16(row_0[j] - g[j])), min(f_1, np.int16(row_1[j] - g[j]))
            f_2, f_3 = min(f_2, np.int16(row_2[j] - g[j])), min(f_3, np.int16(row_3[j] - g[j]))
        k_0 = k_1 = k_2 = k_3 = none
        for j in range(width):
            k = numbers[j]
            k_0 = min(k_0, k if np.int16(row_0[j] - g[j]) == f_0 else none)
            k_1 = min(k_1, k if np.int16(row_1[j] - g[j]) == f_1 else none)
            k_2 = min(k_2, k if np.int16(row_2[j] - g[j]) == f_2 else none)
            k_3 = min(k_3, k if np.int16(row_3[j] - g[j]) == f_3 else none)
        f[i], f[i + 1], f[i + 2], f[i + 3] = f_0, f_1, f_2, f_3
        nearest[i], nearest[i + 1], nearest[i + 2], nearest[i + 3] = k_0, k_1, k_2, k_3


@kernel
def serve(coarse, rows, numbers, n, f, g, nearest):
    """Set g_j = min_i (d_ij - f_i) over n rows, and nearest_j to the number of the first that attains it.

    Four rows at a time: g and nearest are then read and written a quarter as often. n is a multiple of four.
    """
    width = coarse.shape[1]
    for j in range(width):
        g[j] = 2**15 - 1
    for i in range(0, n, 4):
        row_0, row_1 = coarse[rows[i]], coarse[rows[i + 1]]
        row_2, row_3 = coarse[rows[i + 2]], coarse[rows[i + 3]]
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
