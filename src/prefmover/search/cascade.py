"""One query against all users: bounds first, exact distances last.

::

    RWMD, all users ─ shared prices ─── a few solved ─ shared prices again ─ in order of bound:
      one pass        (one set bounds    (a first        (for those left)      dual steps on the pair,
                       all users)         limit)                               abandoned or solved

Shared prices are good for the *mixture* of the likeliest candidates left, the mean of their preferences. The
prices that maximize the sum of these users' bounds are those of the transport from the query to the mixture.
It is solved for a systematic sample of the mixture's mass: the tail of rarely rated items counts, too.

With a list for each of many items (nearest raters), hundreds of pairs are solved before every list is full
and can prune. Until then, the distance at which a list is expected to end is what dual steps aim at.
"""

import time
from dataclasses import dataclass

import numpy as np

from prefmover._typing import Ints
from prefmover.search import _cascade as kernels
from prefmover.search._cascade import Candidates, CompactPreferences, Query, Scratch, TopLists

MIXED = 256  # likeliest candidates in the mixture
SAMPLE = 128  # points of the mixture's mass for which its prices are solved, beside one per item of the query
MOST_ITEMS = 1024  # items of the query that count in this
PROBED = 48  # users from whom the last distances of lists are estimated
CLOSE = 0.99  # times the raised bounds: the last user of a list is nearer than a line through all would say
FEW = 40  # number of users for which shared prices do not pay


@dataclass(frozen=True, slots=True)
class Overflow32Error(Exception):
    """The pair with user v needs 64 bits."""

    v: int


def cascade(
    query: Query,
    users: Candidates,
    compact: CompactPreferences,
    lists: TopLists,
    solve_first: int,
    s: Scratch,
) -> tuple[int, list[int], dict[str, float]]:
    """Fill the lists with the query's nearest users; solve some pairs before the survivors are counted.

    Returns the number of solved pairs (they are left in the scratch, for the other side's query), the counts
    of :class:`~prefmover.search.SearchStats`, and the seconds by stage.
    """
    begin = time.perf_counter()
    counts = np.zeros(kernels.PIVOTS + 1, np.int64)
    kernels.bound_all(query, users, compact, s)
    n = kernels.enlist(query, users, lists, s, counts)
    n = kernels.drop(query, lists, s, n, kernels.RWMD, counts)
    front = min(n, max(2 * MIXED, solve_first))
    _bring_forward(s, n, front)
    if n > FEW:
        _shape_prices(query, users, s, s.alive[: min(n, MIXED)])
        kernels.apply_prices(query, compact, s, front)
        _sort(s, front)
    bounded = time.perf_counter()
    head = min(n, solve_first)
    solved = _visit(query, users, lists, head, 0, s, counts)
    s.alive[: n - head] = s.alive[head:n].copy()
    n = kernels.drop(query, lists, s, n - head, kernels.RWMD, counts)
    if n > FEW:
        kernels.apply_prices(query, compact, s, n)
        n = kernels.drop(query, lists, s, n, kernels.PRICES, counts)
    if lists.first.size and n > FEW:
        _expect(query, users, lists, s, n)
    if n > FEW:
        _bring_forward(s, n, min(n, MIXED))
        _shape_prices(query, users, s, s.alive[: min(n, MIXED)])
        kernels.apply_prices(query, compact, s, n)
        n = kernels.drop(query, lists, s, n, kernels.PRICES, counts)
    _sort(s, n)
    solved = _visit(query, users, lists, n, solved, s, counts)
    seconds = {"bounds": bounded - begin, "exact": time.perf_counter() - bounded}
    return solved, counts.tolist(), seconds


def _expect(query: Query, users: Candidates, lists: TopLists, s: Scratch, n: int) -> None:
    """Estimate the last distance of every list that will be full, from the bounds of the first n alive.

    Dual steps on a few of them, spread over the nearer half, nearly reach their distances. A line through
    these takes the bounds of all to estimates, which decide the order of work, not results.
    """
    k, alive = lists.users.shape[1], s.alive[:n]
    order = alive[np.argsort(s.bound[alive], kind="stable")]
    some = order[np.linspace(0, n // 2, min(n, PROBED)).astype(np.int64)]
    raised = np.empty(some.size)
    kernels.raise_some(some, query, users, s, raised)
    middle, mean = s.bound[some].mean(), CLOSE * raised.mean()
    away = s.bound[some] - middle
    slope = CLOSE * (away @ raised) / max(away @ away, 1.0)  # grid units: less than 1 is no difference
    estimates = np.full(s.bound.size, np.inf)
    estimates[alive] = (mean + slope * (s.bound[alive] - middle)) * query.unit
    estimates = np.where(s.known >= 0, s.known, estimates)
    member = lists.member[: lists.first[-1]]
    by_list, sizes = np.argsort(member, kind="stable"), np.bincount(member, minlength=lists.expected.size)
    members = estimates[np.repeat(np.arange(s.bound.size), np.diff(lists.first))[by_list]]
    for a, theirs in enumerate(np.split(members, np.cumsum(sizes)[:-1])):
        if theirs.size > k:
            lists.expected[a] = np.partition(theirs, k - 1)[k - 1]


def _sort(s: Scratch, n: int) -> None:
    """Sort the alive by bound; equal bounds stay in user order."""
    alive = np.sort(s.alive[:n])
    s.alive[:n] = alive[np.argsort(s.bound[alive], kind="stable")]


def _bring_forward(s: Scratch, n: int, front: int) -> None:
    """Put the alive with the least bounds in front, sorted; the others stay in their order."""
    if front < n:
        alive = s.alive[:n]
        nearest = np.argpartition(s.bound[alive], front)[:front]
        others = np.ones(n, np.bool_)
        others[nearest] = False
        s.alive[:n] = np.concatenate([alive[nearest], alive[others]])
    _sort(s, front)


def _shape_prices(query: Query, users: Candidates, s: Scratch, likeliest: Ints) -> None:
    """Set prices that are good for some users on the whole."""
    kernels.mix(users, likeliest, s.mixture)
    sums = np.cumsum(s.mixture)
    n = SAMPLE + min(query.items.size, MOST_ITEMS)
    points = (np.arange(n) + 0.5) * (sums[-1] / n)
    kernels.shape_prices(query, *np.unique(np.searchsorted(sums, points), return_counts=True), s)


def _visit(
    query: Query, users: Candidates, lists: TopLists, n: int, solved: int, s: Scratch, counts: Ints
) -> int:
    reached: int = kernels.visit(query, users, lists, n, solved, s, counts)
    if reached < 0:
        raise Overflow32Error(-1 - reached)
    return reached
