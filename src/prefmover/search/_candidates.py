"""Kernels of the search among candidates: nearest vectors, estimates of a list of users, exact distances.

Scores of vectors are sums of whole numbers, so they do not depend on the order of the sums, the number of
threads or the machine. A query and its candidates are *local*: items are numbered from 0 in the order of
all items, and only their distances to the query's items are laid out.
"""

import numpy as np

from prefmover.execution.jit import kernel
from prefmover.measures._estimates import features
from prefmover.ot._dual import copy
from prefmover.search._bounds import COARSE_BITS, LANES, backward_bound, extend, fill_up, priced
from prefmover.search._cascade import solve_one
from prefmover.search._climb import climb
from prefmover.search._topk import offer

TILE = 512  # users whose vectors are stored together, one row for each coordinate
NOBODY = 2**28  # a score that is never selected
OFFSET = 2**24  # scores are above -OFFSET, and below OFFSET · 3
LOW_BITS = 12
LOW, HIGH = 2**LOW_BITS, 2**14  # bins of the two halves of a score

# arccos c = √(1 - c) · (a + bc + ec² + hc³), to 7e-5 (Abramowitz and Stegun, 4.4.45)
A, B, E, H = np.float32(1.5707288), np.float32(-0.2121144), np.float32(0.074261), np.float32(-0.0187293)
FEW_STEPS = 12  # dual steps to show that a user is too far
NEAR = 1.03  # times the bound of the last near user: bounds are that much too low at most
ROUNDING = np.float32(1e-4)  # more than the errors of an angle in single precision


@kernel
def score_all(x, square, tiles, out):
    """Set out[v] = |y_v|² - 2 x · y_v, which orders users by the distance of their vectors from x."""
    for t in range(tiles.shape[0]):
        first, block = t * TILE, tiles[t]
        scores = out[first : first + TILE]
        for b in range(TILE):
            scores[b] = square[first + b]
        for k in range(0, x.size, 4):
            x_0, x_1 = np.int32(-2 * x[k]), np.int32(-2 * x[k + 1])
            x_2, x_3 = np.int32(-2 * x[k + 2]), np.int32(-2 * x[k + 3])
            y_0, y_1, y_2, y_3 = block[k], block[k + 1], block[k + 2], block[k + 3]
            for b in range(TILE):
                first_two = np.int32(np.int32(x_0 * y_0[b]) + np.int32(x_1 * y_1[b]))
                last_two = np.int32(np.int32(x_2 * y_2[b]) + np.int32(x_3 * y_3[b]))
                scores[b] = np.int32(scores[b] + np.int32(first_two + last_two))


@kernel
def select(scores, m, high, low, out):
    """Set out to the m users with the least scores, in user order, and return how many there are.

    Ties go to earlier users.

    The score of the last one is found by counting, first its upper digits, then the lower ones.
    """
    high[:] = 0
    low[:] = 0
    n = 0
    for v in range(scores.size):
        if scores[v] != NOBODY:
            high[(scores[v] + OFFSET) >> LOW_BITS] += 1
            n += 1
    m = min(m, n)
    if m == 0:
        return 0
    top, before = 0, 0
    while before + high[top] < m:
        before += high[top]
        top += 1
    for v in range(scores.size):
        if (scores[v] + OFFSET) >> LOW_BITS == top:
            low[(scores[v] + OFFSET) & (LOW - 1)] += 1
    bottom = 0
    while before + low[bottom] < m:
        before += low[bottom]
        bottom += 1
    last, ties, count = top * LOW + bottom - OFFSET, m - before, 0
    for v in range(scores.size):
        if scores[v] < last or (scores[v] == last and ties > 0):
            ties -= scores[v] == last
            out[count] = v
            count += 1
    return count


@kernel
def ranks_of(chosen, scores, out):
    """Set out[a] to the number of users that come before user chosen[a] by score, then in user order."""
    for a in range(chosen.size):
        mine, before = scores[chosen[a]], 0
        for v in range(scores.size):
            before += scores[v] < mine or (scores[v] == mine and v < chosen[a])
        out[a] = before


@kernel
def number_items(own, chosen, users, number, items):
    """Give numbers to the items of the query and of the chosen users; return how many there are.

    number[x] is set to the number of item x, or -1; ``items`` to the items by number.
    """
    for x in range(number.size):
        number[x] = -1
    for j in range(own.size):
        number[own[j]] = 0
    for k in range(chosen.size):
        for t in range(users.indptr[chosen[k]], users.indptr[chosen[k] + 1]):
            number[users.items[t]] = 0
    n = 0
    for x in range(number.size):
        if number[x] == 0:
            number[x], items[n] = n, x
            n += 1
    return n


@kernel
def localize(chosen, users, number, local):
    """Fill the CSR of the chosen users, with local items."""
    at = 0
    for k in range(chosen.size):
        v = chosen[k]
        local.indptr[k], local.total[k] = at, users.total[v]
        for t in range(users.indptr[v], users.indptr[v + 1]):
            local.items[at], local.mass[at] = number[users.items[t]], users.mass[t]
            at += 1
    local.indptr[chosen.size] = at


@kernel
def lay_out_grid(grid, items, own, coarse):
    """Set coarse[x, j] to the coarse distance from local item x to the query's j-th; rows stay filled up."""
    for first in range(0, items.size, LANES):
        last = min(first + LANES, items.size)
        for j in range(own.size):
            line = grid[own[j]]
            for x in range(first, last):
                coarse[x, j] = line[items[x]] >> COARSE_BITS


@kernel
def lay_out_angles(vectors, items, own, number, turned, cosine, unit, coarse):
    """Set the same from vectors, in single precision: a little too low at most.

    ``turned`` (d, width) and ``cosine`` (width) are scratch.
    """
    d, width = turned.shape
    turned[:] = 0.0
    for j in range(own.size):
        for k in range(d):
            turned[k, j] = vectors[own[j], k]
    scale, one = np.float32(1.0 / unit), np.float32(1.0)
    for x in range(items.size):
        y, row = vectors[items[x]], coarse[x]
        cosine[:] = 0.0
        for k in range(d):
            y_k, line = y[k], turned[k]
            if y_k != 0.0:
                for j in range(width):
                    cosine[j] += y_k * line[j]
        for j in range(width):
            c = max(np.float32(0.0), min(one, cosine[j]))
            angle = np.sqrt(one - c) * (A + c * (B + c * (E + c * H))) - ROUNDING
            row[j] = np.int16(max(np.float32(0.0), angle) * scale)
        for j in range(own.size, width):
            row[j] = 2**14
    for j in range(own.size):
        coarse[number[own[j]], j] = 0


@kernel
def estimate_all(query, users, gaps, logs, log, coefficients, s, f, values, design):
    """Set values[v] to the estimated distance of every local user, and design[v] to its features.

    ``gaps`` are the distances between vectors, ``logs`` and ``log`` the logarithms of numbers of items. No
    features are recorded if ``design`` is empty.
    """
    m = query.items.size
    for j in range(m):
        s.g[j] = 0
    fill_up(s.g, m, query.coarse.shape[1])
    extend(query.coarse, s.g, s.f)
    for v in range(users.total.size):
        forward = priced(s.f, users.indptr, users.items, users.mass, users.total, v) * query.unit
        backward = query.unit * backward_bound(
            query.coarse, query.mass, query.total, users.indptr, users.items, v, s.best_g
        )
        features(forward, backward, gaps[v], log, logs[v], f)
        value = 0.0
        for k in range(coefficients.size):
            value += coefficients[k] * f[k]
        values[v] = max(value, max(forward, backward))
        if design.size:
            copy(f, coefficients.size, design[v])


@kernel
def climb_all(chosen, steps, query, users, s, nearest, out):
    """Set out[k] to a lower bound of the distance to the k-th chosen user; as a distance.

    Users come in the order of their estimates. The bounds of near ones are raised until they are close. Once
    there are as many near ones as ``nearest`` (scratch) has room for, a user who is farther than all of them
    is given up after a few steps.
    """
    m, k = query.items.size, nearest.size
    for j in range(m):
        s.g[j] = 0
    fill_up(s.g, m, query.coarse.shape[1])
    count = 0
    for a in range(chosen.size):
        v, bound, limit = chosen[a], 0.0, np.inf
        if count == k:
            limit = nearest[k - 1] * NEAR
            bound = climb(v, s.g, FEW_STEPS, limit, query, users, s)
        if bound <= limit:
            bound = max(bound, climb(v, s.g if count < k else s.best_g, steps, np.inf, query, users, s))
            at = count if count < k else k - 1
            if count < k or bound < nearest[k - 1]:
                while at > 0 and nearest[at - 1] > bound:
                    nearest[at] = nearest[at - 1]
                    at -= 1
                nearest[at] = bound
                count = min(count + 1, k)
        out[a] = max(0.0, bound * query.unit)


@kernel
def solve_all(start, limits, query, users, lists, solved, s, stats):
    """Solve or abandon the local users from ``start``; return the number solved so far, or -1 - v."""
    for j in range(query.items.size):
        s.g[j] = 0
    for v in range(start, users.total.size):
        solved = solve_one(v, limits[v] / query.unit, s.g, query, users, lists, solved, s, stats)
        if solved < 0:
            return solved
    return solved


@kernel
def put(users, bounds, count, most, user, bound):
    """Put a user into a list sorted by bound, once, with the larger of two bounds; return the new count."""
    for k in range(count):
        if users[k] == user:
            if bounds[k] >= bound:
                return count
            for j in range(k, count - 1):
                users[j], bounds[j] = users[j + 1], bounds[j + 1]
            count -= 1
            break
    return offer(users, bounds, count, most, user, bound)


@kernel
def join(rows, indptr, others, values, row_of, users, bounds, counts):
    """Put every pair (rows[a], other) into the lists of both of its users, if they are queries."""
    most = users.shape[1]
    for a in range(rows.size):
        u = rows[a]
        for t in range(indptr[a], indptr[a + 1]):
            v = others[t]
            k = row_of[u]
            if k >= 0:
                counts[k] = put(users[k], bounds[k], counts[k], most, v, values[t])
            k = row_of[v]
            if k >= 0:
                counts[k] = put(users[k], bounds[k], counts[k], most, u, values[t])
