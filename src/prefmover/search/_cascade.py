"""Kernels of the cascade: one query against all users. ``cascade.py`` calls them in turn.

Everything is in units of the item grid. A user is skipped only if a lower bound, less a margin for the
rounding of its sum, exceeds the distance that can still enter a list. So the lists are those of exhaustive
search.

A measure may add a term to the transport of a pair. The term is known, so it is added to every bound, and the
transport itself has what is left of the limit.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from prefmover.execution.jit import kernel
from prefmover.measures._pmd import as_distance, gather, gather_turned, reduce_pair
from prefmover.ot._dual import ascend, copy, transform_columns
from prefmover.ot._simplex import OPTIMAL, Workspace, finish, solve, workspace
from prefmover.search._bounds import (
    COARSE,
    COARSE_BITS,
    LANES,
    backward_bound,
    backward_bounds,
    coarsen,
    extend,
    fill_up,
    forward_bounds,
    priced,
)
from prefmover.search._climb import climb
from prefmover.search._topk import expected_of, offer_to, reach_of, sift

# Relative error of the sums of a bound: thousands of terms at 2^-53 each.
MARGIN = 1e-9
# Absolute error in grid units: prices of up to 2^30 on either side cancel where the distance is tiny.
SLACK = 2.0**-6

# Dual steps that raise the bound of a pair, once; a second round costs more than it saves.
STEPS = 12
# Dual steps before the simplex, on the mass that is left after canceling.
EXACT_STEPS = 16
EXACT_RATE = 0.4

# Pairs whose prices are remembered, and room for their numbers; other pairs start from the shared prices.
ROWS = 2048
ROOM = 2**20
NO_ROW = -1

# Whether the bound of a pair was raised, up to which distance: the expected reach, or the reach.
NOT_RAISED, EXPECTED, AIMED = range(3)

# Units of mass of an item in a sample of the mixture, as a power of 2: enough for the smallest shares.
SAMPLE_BITS = 32

# The step that dealt with a user.
RWMD, PRICES, ABANDONED, SOLVED, KNOWN, UNDEFINED, PIVOTS = range(7)


class Candidates(NamedTuple):
    """Preferences of the users searched, as CSR; and their distances to items, if there is room."""

    indptr: npt.NDArray[np.int64]
    items: npt.NDArray[np.int32]
    mass: npt.NDArray[np.int64]
    total: npt.NDArray[np.int64]
    table: npt.NDArray[np.int16]  # (n_items, n_users) coarse distance to the nearest item of a user; or empty


class CompactPreferences(NamedTuple):
    """The preferences again, in few bytes: a pass over all users is a pass over memory."""

    indptr: npt.NDArray[np.int64]
    items: npt.NDArray[np.uint16] | npt.NDArray[np.int32]
    mass: npt.NDArray[np.uint8] | npt.NDArray[np.int64]
    total: npt.NDArray[np.int64]


class Query(NamedTuple):
    """The query: its preferences, and the distances between its items and every item.

    ``distance[lines[j], x]`` is the distance from its j-th item to item x; ``coarse[x, j]`` is the same, in
    coarse units, with the rows filled up.
    """

    items: npt.NDArray[np.int32]
    mass: npt.NDArray[np.int64]
    total: int
    distance: npt.NDArray[np.int32]
    lines: npt.NDArray[np.int32]
    coarse: npt.NDArray[np.int16]
    unit: float
    cancel: bool
    itself: int  # position among the users, or -1
    radius: float


class TopLists(NamedTuple):
    """The nearest users so far, one sorted list a row; and the lists that a user belongs to, as CSR."""

    users: npt.NDArray[np.int64]
    distances: npt.NDArray[np.float64]
    counts: npt.NDArray[np.int64]  # length of each list
    expected: npt.NDArray[np.float64]  # estimated distance of the last user of each full list, or infinite
    first: npt.NDArray[np.int64]
    member: npt.NDArray[np.int32]


class Scratch(NamedTuple):
    """Arrays for one thread."""

    bound: npt.NDArray[np.float64]
    other: npt.NDArray[np.float64]
    known: npt.NDArray[np.float64]  # distances solved from the other side; negative if none
    term: npt.NDArray[np.float64]  # what a measure adds to the transport with a user; 0 for PMD
    alive: npt.NDArray[np.int64]
    f: npt.NDArray[np.float64]  # whole numbers of 16 bits
    mixture: npt.NDArray[np.float64]
    rows: npt.NDArray[np.int32]
    columns: npt.NDArray[np.int32]
    sequence: npt.NDArray[np.int32]  # 0, 1, 2, ...
    numbers: npt.NDArray[np.int16]  # the same, in 16 bits
    lines: npt.NDArray[np.int32]
    g: npt.NDArray[np.int16]  # shared prices; coarse, as all below
    best_g: npt.NDArray[np.int16]  # the best of the last climb
    pair_f: npt.NDArray[np.int16]
    pair_g: npt.NDArray[np.int16]
    nearest: npt.NDArray[np.int16]
    p: npt.NDArray[np.int64]
    q: npt.NDArray[np.int64]
    share_v: npt.NDArray[np.float64]
    share_u: npt.NDArray[np.float64]
    inverse: npt.NDArray[np.float64]  # 1 / share of the side whose prices move
    excess: npt.NDArray[np.float64]
    way: npt.NDArray[np.float64]  # the direction of the last dual step
    raised: npt.NDArray[np.int8]  # how a user's bound was raised by steps on the pair
    row: npt.NDArray[np.int32]  # row of ``prices`` for the pair with a user, or NO_ROW
    prices: npt.NDArray[np.int16]  # rows of the query's length, one after the other
    free: npt.NDArray[np.int32]  # rows of prices without a user
    buffer: npt.NDArray[np.int32]
    solved_users: npt.NDArray[np.int64]
    solved_distances: npt.NDArray[np.float64]
    w: Workspace


def scratch(n_users: int, n_items: int, longest: int, sample: int) -> Scratch:
    """Return scratch for a search among n_users, with at most ``longest`` ratings on either side."""
    L = filled_up(longest + 1)
    wide = L + sample
    return Scratch(
        bound=np.empty(n_users),
        other=np.empty(n_users),
        known=np.full(n_users, -1.0),
        term=np.zeros(n_users),
        alive=np.empty(n_users, np.int64),
        f=np.empty(n_items),
        mixture=np.empty(n_items),
        rows=np.empty(L, np.int32),
        columns=np.empty(L, np.int32),
        sequence=np.arange(L, dtype=np.int32),
        numbers=np.arange(L, dtype=np.int32).astype(np.int16),
        lines=np.empty(L, np.int32),
        g=np.empty(L, np.int16),
        best_g=np.empty(L, np.int16),
        pair_f=np.empty(L, np.int16),
        pair_g=np.empty(L, np.int16),
        nearest=np.empty(L, np.int16),
        p=np.empty(wide, np.int64),
        q=np.empty(L, np.int64),
        share_v=np.empty(L),
        share_u=np.empty(L),
        inverse=np.empty(L),
        excess=np.empty(L),
        way=np.empty(L),
        raised=np.empty(n_users, np.int8),
        row=np.empty(n_users, np.int32),
        prices=np.empty(min(ROOM, n_users * L), np.int16),
        free=np.empty(min(ROWS, n_users), np.int32),
        buffer=np.empty(wide * L, np.int32),
        solved_users=np.empty(n_users, np.int64),
        solved_distances=np.empty(n_users),
        w=workspace(wide, wide),
    )


def filled_up(m: int) -> int:
    """Return the length of a coarse row of m columns."""
    return -(-m // LANES) * LANES


@kernel
def membership(targets, raters_first, raters, itself, first, member):
    """Fill the CSR of the lists that a user belongs to: list a ranks the raters of targets[a]."""
    first[:] = 0
    for a in range(targets.size):
        for t in range(raters_first[targets[a]], raters_first[targets[a] + 1]):
            if raters[t] != itself:
                first[raters[t] + 1] += 1
    for v in range(1, first.size):
        first[v] += first[v - 1]
    for a in range(targets.size):  # afterward first[v] is where v's lists end
        for t in range(raters_first[targets[a]], raters_first[targets[a] + 1]):
            if raters[t] != itself:
                member[first[raters[t]]] = a
                first[raters[t]] += 1
    for v in range(first.size - 1, 0, -1):
        first[v] = first[v - 1]
    first[0] = 0


@kernel
def enlist(query, users, lists, s, stats):
    """Offer the users whose distance is known, put all others into s.alive, and return their number."""
    n = 0
    for v in range(users.total.size):
        if v == query.itself:
            continue
        if users.total[v] == 0:
            stats[UNDEFINED] += 1
        elif s.known[v] >= 0:
            stats[KNOWN] += 1
            offer_to(v, s.known[v], lists, query.radius)
        elif lists.first.size == 0 or lists.first[v] < lists.first[v + 1]:
            s.alive[n] = v
            n += 1
    return n


@kernel
def exceeds(bound, limit):
    """Whether a bound, less the margin and the slack, is beyond a limit (both in grid units)."""
    return bound * (1.0 - MARGIN) - SLACK > limit


@kernel
def bound_all(query, users, compact, s):
    """Set s.bound to RWMD, the larger of the two one-sided bounds, plus the term of each pair."""
    m = query.items.size
    for j in range(m):
        s.g[j] = 0
    fill_up(s.g, m, query.coarse.shape[1])
    extend(query.coarse, s.g, s.f)
    forward_bounds(s.f, compact, s.bound)
    if users.table.size:
        backward_bounds(users.table, query.items, query.mass, query.total, s.bound, s.other)
    else:
        for v in range(users.total.size):
            if users.total[v] > 0:
                other = backward_bound(
                    query.coarse, query.mass, query.total, users.indptr, users.items, v, s.best_g
                )
                s.bound[v] = max(s.bound[v], other)
    for v in range(users.total.size):
        s.bound[v] += s.term[v] / query.unit


@kernel
def drop(query, lists, s, n, reason, stats):
    """Keep those of the first n alive whose bound is within reach; return their number."""
    left = 0
    for k in range(n):
        v = s.alive[k]
        if exceeds(s.bound[v], reach_of(v, lists, query.radius) / query.unit):
            stats[reason] += 1
        else:
            s.alive[left] = v
            left += 1
    return left


@kernel
def mix(users, chosen, mixture):
    """Set mixture to the sum of the preferences of the chosen users."""
    for i in range(mixture.size):
        mixture[i] = 0.0
    for k in range(chosen.size):
        v = chosen[k]
        for t in range(users.indptr[v], users.indptr[v + 1]):
            mixture[users.items[t]] += np.float64(users.mass[t]) / np.float64(users.total[v])


@kernel
def shape_prices(query, items, counts, s):
    """Set s.g and s.f to the prices of the transport between the query and a sample of the mixture's mass."""
    n, m = items.size, query.items.size
    c = s.buffer[: m * n].reshape(n, m)
    gather_turned(query.distance, query.lines, items, c)
    total = np.int64(0)
    for i in range(n):
        s.p[i] = counts[i] << SAMPLE_BITS
        total += s.p[i]
    rest, largest = total, 0
    for j in range(m):
        s.q[j] = max(1, np.int64(np.float64(total) * (np.float64(query.mass[j]) / np.float64(query.total))))
        rest -= s.q[j]
        if s.q[j] > s.q[largest]:
            largest = j
        s.w.g[j] = np.int32(s.g[j]) << COARSE_BITS
    s.q[largest] += rest
    status, _, _, _ = solve(c, s.p, s.q, n, m, s.w)
    if status == OPTIMAL:  # else the prices outgrow 32 bits, and the old ones stay
        coarsen(s.w.price[n : n + m], m, query.coarse.shape[1], s.g)
    extend(query.coarse, s.g, s.f)


@kernel
def apply_prices(query, compact, s, n):
    """Raise the bounds of the first n alive by the prices s.g and s.f."""
    sold = np.int64(0)
    for j in range(query.items.size):
        sold += query.mass[j] * s.g[j]
    base = np.float64(sold) * COARSE / np.float64(query.total)
    for k in range(n):
        v = s.alive[k]
        value = base + priced(s.f, compact.indptr, compact.items, compact.mass, compact.total, v)
        s.bound[v] = max(s.bound[v], value + s.term[v] / query.unit)


@kernel
def raise_some(chosen, query, users, s, out):
    """Set out[k] to the bound of the k-th chosen user, raised as far as a few dual steps on the pair can."""
    for k in range(chosen.size):
        v = chosen[k]
        out[k] = climb(v, s.g, STEPS, np.inf, query, users, s) + s.term[v] / query.unit


@kernel
def visit(query, users, lists, n, solved, s, stats):
    """Abandon or solve the first n alive, sorted by bound; return the number solved so far, or -1 - v.

    Best first: the user with the least bound has it raised by a few dual steps on the pair and goes back into
    the queue, and is solved if the bound is still the least. So no user is solved whose raised bound is
    beyond the final reach. While a list has room, steps aim at the distance that its last user is expected to
    have. Users beyond it wait, and most of them are out of reach when the list is full.
    Solved pairs are left in the scratch, for the other side's query. -1 - v: user v needs 64 bits.
    """
    width = query.coarse.shape[1]
    free = min(s.free.size, s.prices.size // width)
    for k in range(free):
        s.free[k] = k
    for k in range(n):
        s.raised[s.alive[k]] = NOT_RAISED
        s.row[s.alive[k]] = NO_ROW
    while n > 0:
        v = s.alive[0]  # sorted, and thereby a heap
        limit = reach_of(v, lists, query.radius) / query.unit
        expected = expected_of(v, lists) / query.unit
        term = s.term[v] / query.unit
        row = s.row[v]
        prices = s.g if row == NO_ROW else s.prices[row * width : (row + 1) * width]
        aim = np.inf
        if s.raised[v] == NOT_RAISED:
            aim = min(limit, expected)
        elif s.raised[v] == EXPECTED and s.bound[v] > expected:
            aim = limit
        waits = False
        if exceeds(s.bound[v], limit):
            stats[ABANDONED if s.raised[v] else PRICES] += 1
        elif aim < np.inf:
            if aim > s.bound[v]:
                s.bound[v] = max(s.bound[v], climb(v, prices, STEPS, aim - term, query, users, s) + term)
                if row == NO_ROW and free > 0:
                    free -= 1
                    row = s.row[v] = s.free[free]
                if row != NO_ROW:
                    copy(s.best_g, width, s.prices[row * width : (row + 1) * width])
            s.raised[v] = EXPECTED if aim < limit else AIMED
            waits = True
        else:
            solved = solve_one(v, limit - term, prices, query, users, lists, solved, s, stats)
            if solved < 0:
                return solved
        if not waits:
            if row != NO_ROW:
                s.free[free] = row
                free += 1
            n -= 1
            s.alive[0] = s.alive[n]
        if n > 0:
            sift(s.alive, n, s.bound)
    return solved


@kernel
def solve_one(v, limit, prices, query, users, lists, solved, s, stats):
    """Solve one pair, or abandon it on the way; return the number solved so far, or -1 - v."""
    theirs = slice(users.indptr[v], users.indptr[v + 1])
    n, m = reduce_pair(
        users.items[theirs], users.mass[theirs], users.total[v],
        query.items, s.sequence, query.mass, query.total, query.cancel, s.rows, s.columns, s.p, s.q,
    )  # fmt: skip
    distance = 0.0
    if n > 0:
        w, p, q = s.w, s.p, s.q
        for j in range(m):
            s.lines[j] = query.lines[s.columns[j]]
        if n > m:  # the fewer rows, the fewer pivots
            c = s.buffer[: m * n].reshape(m, n)
            gather(query.distance, s.lines, s.rows, c)
            n, m, p, q = m, n, s.q, s.p
            for i in range(n):
                w.f[i] = np.int32(prices[s.columns[i]]) << COARSE_BITS
            transform_columns(c, w.f, n, m, w.g, w.nearest)
        else:
            c = s.buffer[: m * n].reshape(n, m)
            gather_turned(query.distance, s.lines, s.rows, c)
            for j in range(m):
                w.g[j] = np.int32(prices[s.columns[j]]) << COARSE_BITS
        total = np.float64(query.total) * np.float64(users.total[v])
        value = ascend(
            c, p, q, n, m, EXACT_STEPS, EXACT_RATE, limit * (1.0 + 2 * MARGIN) * total,
            w.f, w.g, w.best_f, w.nearest, w.p_left,
        )  # fmt: skip
        if exceeds(value / total, limit):
            stats[ABANDONED] += 1
            return solved
        status, pivots, high, low = finish(c, p, q, n, m, w)
        stats[PIVOTS] += pivots
        if status != OPTIMAL:
            return -1 - v
        distance = as_distance(high, low, query.total * users.total[v], query.unit)
    distance += s.term[v]
    stats[SOLVED] += 1
    s.solved_users[solved] = v
    s.solved_distances[solved] = distance
    offer_to(v, distance, lists, query.radius)
    return solved + 1
