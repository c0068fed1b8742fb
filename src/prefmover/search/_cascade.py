"""One query against all users: bounds first, exact distances last.

::

    RWMD, all users ─ prices for the crowd ─ a few solved ─ prices for the survivors ─ in order of bound:
      one pass        (one set of prices       (how near       (again, until few      dual steps on the pair,
                       bounds everybody)        is near?)       survive)              abandoned or solved

Everything is in units of the item grid. A user is passed over only if a lower bound, less a margin for
the rounding of its sum, exceeds what can still enter a list: the lists are those of exhaustive search.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from prefmover._jit import kernel
from prefmover.measures._pmd import as_distance, gather, reduce_pair
from prefmover.search._bounds import backward_bound, backward_bounds, extend, forward_bounds, priced
from prefmover.search._topk import offer_to, reach_of
from prefmover.transport._dual import ascend, row_minimum
from prefmover.transport._simplex import OPTIMAL, Workspace, finish, solve, workspace

# What the sums of a bound can be off by, relative: thousands of terms at 2^-53 each.
MARGIN = 1e-9

CROWD = 256  # how many of the likeliest users shape the prices
CROWD_ITEMS = 512  # and how many items they are shaped on
ROUNDS = 3
FEW = 40  # survivors for whom prices do not pay
PAIR_STEPS = 8  # dual steps on one pair before it is solved
EXACT_STEPS = 12  # and further ones on what is left after cancelling

# Where a user was dealt with.
RWMD, PRICES, ABANDONED, SOLVED, KNOWN, UNDEFINED, PIVOTS = range(7)


class Users(NamedTuple):
    """Preferences of the users searched, as CSR; and their distances to items, if there is room."""

    indptr: npt.NDArray[np.int64]
    items: npt.NDArray[np.int32]
    mass: npt.NDArray[np.int64]
    total: npt.NDArray[np.int64]
    table: npt.NDArray[np.int32]  # (n_items, n_users) distance to the nearest item of a user; or empty


class Query(NamedTuple):
    """The user who asks: preferences, and distances from every item to theirs (query-major)."""

    items: npt.NDArray[np.int32]
    mass: npt.NDArray[np.int64]
    total: int
    distance: npt.NDArray[np.int32]
    unit: float
    cancel: bool
    itself: int  # position among the users, or -1
    radius: float


class Lists(NamedTuple):
    """Nearest users found, one sorted list a row; which lists a user belongs to, as CSR."""

    users: npt.NDArray[np.int64]
    distances: npt.NDArray[np.float64]
    found: npt.NDArray[np.int64]  # length of each list
    first: npt.NDArray[np.int64]
    member: npt.NDArray[np.int32]


class Scratch(NamedTuple):
    """Arrays for one thread."""

    bound: npt.NDArray[np.float64]
    other: npt.NDArray[np.float64]
    known: npt.NDArray[np.float64]  # exact distances found from the other side; negative if none
    alive: npt.NDArray[np.int64]
    f: npt.NDArray[np.int32]
    crowd: npt.NDArray[np.float64]
    rows: npt.NDArray[np.int32]
    columns: npt.NDArray[np.int32]
    places: npt.NDArray[np.int32]  # 0, 1, 2, ...
    g: npt.NDArray[np.int32]
    best_g: npt.NDArray[np.int32]
    p: npt.NDArray[np.int64]
    q: npt.NDArray[np.int64]
    excess: npt.NDArray[np.float64]
    buffer: npt.NDArray[np.int32]
    solved_users: npt.NDArray[np.int64]
    solved_distances: npt.NDArray[np.float64]
    w: Workspace


def scratch(n_users: int, n_items: int, longest: int) -> Scratch:
    """Return scratch for a search among n_users, with at most ``longest`` ratings on either side."""
    L, wide = longest + 1, max(longest + 1, CROWD_ITEMS)
    return Scratch(
        bound=np.empty(n_users),
        other=np.empty(n_users),
        known=np.full(n_users, -1.0),
        alive=np.empty(n_users, np.int64),
        f=np.empty(n_items, np.int32),
        crowd=np.empty(n_items),
        rows=np.empty(L, np.int32),
        columns=np.empty(L, np.int32),
        places=np.arange(L, dtype=np.int32),
        g=np.empty(L, np.int32),
        best_g=np.empty(L, np.int32),
        p=np.empty(wide, np.int64),
        q=np.empty(L, np.int64),
        excess=np.empty(wide),
        buffer=np.empty(wide * L, np.int32),
        solved_users=np.empty(n_users, np.int64),
        solved_distances=np.empty(n_users),
        w=workspace(wide, wide),
    )


@kernel
def membership(targets, raters_first, raters, itself, first, member):
    """Fill the CSR that says which lists a user belongs to: list a holds the raters of targets[a]."""
    first[:] = 0
    for a in range(targets.size):
        for t in range(raters_first[targets[a]], raters_first[targets[a] + 1]):
            if raters[t] != itself:
                first[raters[t] + 1] += 1
    for v in range(1, first.size):
        first[v] += first[v - 1]
    for a in range(targets.size):  # afterwards first[v] is where v's lists end
        for t in range(raters_first[targets[a]], raters_first[targets[a] + 1]):
            if raters[t] != itself:
                member[first[raters[t]]] = a
                first[raters[t]] += 1
    for v in range(first.size - 1, 0, -1):
        first[v] = first[v - 1]
    first[0] = 0


@kernel
def shortlist(query, users, lists, s, stats):
    """Bound everybody, offer what is known, and leave in s.alive who may still be near; return how many."""
    n_users = users.total.size
    bound_everybody(query, users, s)
    n = 0
    for v in range(n_users):
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
    n = drop(query, lists, s, n, RWMD, stats)
    sort_alive(s, n)
    if n > FEW:
        front = min(n, 2 * CROWD)
        shape_prices(query, users, s, n)
        apply_prices(query, users, s, front)
        sort_alive(s, front)
    return n


@kernel
def settle(query, users, lists, n, solve_first, s, stats):
    """Fill the lists from the n users on the shortlist; return how many pairs were solved, or -1 - v.

    The first few are solved to learn how near is near. Then the prices bound all who are left, and are
    shaped anew to those who survive, while that pays. Solved pairs are left in the scratch, for the other
    side's query. -1 - v says that user v needs 64 bits.
    """
    solved = 0
    head = min(n, solve_first)
    for k in range(head):
        solved = visit(s.alive[k], query, users, lists, solved, s, stats)
        if solved < 0:
            return solved
    for k in range(head, n):
        s.alive[k - head] = s.alive[k]
    n = drop(query, lists, s, n - head, RWMD, stats)
    if n > FEW:
        apply_prices(query, users, s, n)
        n = drop(query, lists, s, n, PRICES, stats)
    for _ in range(ROUNDS):
        if n <= FEW:
            break
        sort_alive(s, n)
        shape_prices(query, users, s, n)
        apply_prices(query, users, s, n)
        before = n
        n = drop(query, lists, s, n, PRICES, stats)
        if n > 0.7 * before:
            break
    sort_alive(s, n)
    for k in range(n):
        solved = visit(s.alive[k], query, users, lists, solved, s, stats)
        if solved < 0:
            return solved
    return solved


@kernel
def exceeds(bound, limit):
    """Whether a bound, less the margin, is beyond a limit (both in grid units)."""
    return bound * (1.0 - MARGIN) > limit


@kernel
def bound_everybody(query, users, s):
    """Set s.bound to RWMD, the larger of the two one-sided bounds."""
    m = query.items.size
    s.g[:m] = 0
    extend(query.distance, s.g, s.f)
    forward_bounds(s.f, users.indptr, users.items, users.mass, users.total, s.bound)
    if users.table.size:
        backward_bounds(users.table, query.items, query.mass, query.total, s.bound, s.other)
    else:
        for v in range(users.total.size):
            if users.total[v] > 0:
                other = backward_bound(
                    query.distance, query.mass, query.total, users.indptr, users.items, v, s.best_g
                )
                s.bound[v] = max(s.bound[v], other)


@kernel
def drop(query, lists, s, n, reason, stats):
    """Keep of the first n alive those whose bound is within reach; return how many."""
    kept = 0
    for k in range(n):
        v = s.alive[k]
        if exceeds(s.bound[v], reach_of(v, lists, query.radius) / query.unit):
            stats[reason] += 1
        else:
            s.alive[kept] = v
            kept += 1
    return kept


@kernel
def sort_alive(s, n):
    """Sort the alive by bound; equal bounds stay in user order."""
    alive = np.sort(s.alive[:n])
    s.alive[:n] = alive[np.argsort(s.bound[alive], kind="mergesort")]


@kernel
def shape_prices(query, users, s, n):
    """Set s.g and s.f to prices that are good for the first of the n alive on the whole.

    The prices that maximise the *sum* of the bounds are those of the transport from the query to the mean
    of these users. It is solved on the items that carry most of the mean, as exactly as any other: the
    bounds are much tighter than after dual steps.
    """
    n_items, m = query.distance.shape
    s.crowd[:n_items] = 0.0
    for k in range(min(n, CROWD)):
        v = s.alive[k]
        for t in range(users.indptr[v], users.indptr[v + 1]):
            s.crowd[users.items[t]] += np.float64(users.mass[t]) / np.float64(users.total[v])
    popular = np.argsort(s.crowd[:n_items])[::-1][:CROWD_ITEMS]
    popular = np.sort(popular[s.crowd[popular] > 0])
    c = gather(query.distance, popular, popular, popular.size, m, s.buffer)
    whole_shares(s.crowd[popular], s.p)
    whole_shares(query.mass, s.q)
    largest = np.argmax(s.q[:m])
    s.q[largest] += s.p[: popular.size].sum() - s.q[:m].sum()
    s.w.g[:m] = s.g[:m]
    status, _, _, _ = solve(c, s.p, s.q, popular.size, m, s.w)
    if status == OPTIMAL:  # else the prices outgrow 32 bits, and the old ones stay
        s.g[:m] = s.w.price[popular.size : popular.size + m]
    extend(query.distance, s.g, s.f)


@kernel
def apply_prices(query, users, s, n):
    """Raise the bounds of the first n alive by the prices s.g and s.f."""
    m = query.items.size
    base = 0.0
    for j in range(m):
        base += np.float64(query.mass[j]) * s.g[j]
    base /= np.float64(query.total)
    for k in range(n):
        v = s.alive[k]
        value = base + priced(s.f, users.indptr, users.items, users.mass, users.total, v)
        s.bound[v] = max(s.bound[v], value)


@kernel
def whole_shares(values, out):
    """Set out to whole masses in the proportions of the values, about 2^40 in all and none zero."""
    total = 0.0
    for i in range(values.size):
        total += values[i]
    for i in range(values.size):
        out[i] = max(1, np.int64(values[i] / total * 2.0**40))


@kernel
def visit(v, query, users, lists, solved, s, stats):
    """Abandon or solve one pair; return the number solved so far, or -1 - v."""
    limit = reach_of(v, lists, query.radius) / query.unit
    if exceeds(s.bound[v], limit):
        stats[PRICES] += 1
        return solved
    if limit < np.inf and abandon(v, query, users, limit, s):
        stats[ABANDONED] += 1
        return solved
    theirs = slice(users.indptr[v], users.indptr[v + 1])
    n, m = reduce_pair(
        users.items[theirs], users.mass[theirs], users.total[v],
        query.items, s.places, query.mass, query.total, query.cancel, s.rows, s.columns, s.p, s.q,
    )  # fmt: skip
    distance = 0.0
    if n > 0:
        c = gather(query.distance, s.rows, s.columns, n, m, s.buffer)
        w = s.w
        prices = s.g if limit == np.inf else s.best_g
        for j in range(m):
            w.g[j] = prices[s.columns[j]]
        total = np.float64(query.total) * np.float64(users.total[v])
        value = ascend(
            c, s.p, s.q, n, m, EXACT_STEPS, limit * (1.0 + 2 * MARGIN) * total,
            w.f, w.g, w.best_f, w.nearest, w.p_left,
        )  # fmt: skip
        if exceeds(value / total, limit):
            stats[ABANDONED] += 1
            return solved
        status, pivots, high, low = finish(c, s.p, s.q, n, m, w)
        stats[PIVOTS] += pivots
        if status != OPTIMAL:
            return -1 - v
        distance = as_distance(high, low, query.total * users.total[v], query.unit)
    stats[SOLVED] += 1
    s.solved_users[solved] = v
    s.solved_distances[solved] = distance
    offer_to(v, distance, lists, query.radius)
    return solved + 1


@kernel
def abandon(v, query, users, limit, s):
    """Whether a few dual steps, on the query's own rows without a copy, show the pair to be too far.

    The steps are those of ``transport._dual.ascend`` from the crowd's prices s.g; the best prices are left
    in s.best_g.
    """
    start, n, m = users.indptr[v], users.indptr[v + 1] - users.indptr[v], query.items.size
    f, nearest, distance = s.w.f, s.w.nearest, query.distance
    narrow = distance.dtype.type
    inverse_v, inverse_u = 1.0 / np.float64(users.total[v]), 1.0 / np.float64(query.total)
    for i in range(n):
        f[i] = row_minimum(distance, s.g, users.items[start + i], m)
    best = -np.inf
    g = s.w.g
    first_step = 0.0
    for t in range(PAIR_STEPS + 1):
        g[:m] = 2**30
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
            s.best_g[:m] = g[:m]
            if exceeds(value, limit):
                return True
        if t == PAIR_STEPS:
            break
        if t == 0:
            first_step = 0.1 * best
        step = first_step / (1.0 + t)
        for i in range(n):
            s.excess[i] = users.mass[start + i] * inverse_v
        for j in range(m):
            s.excess[nearest[j]] -= query.mass[j] * inverse_u
        for i in range(n):
            imbalance = s.excess[i] / (users.mass[start + i] * inverse_v)
            f[i] += narrow(step * max(-2.0, min(1.0, imbalance)))
    return False
