r"""The fewest ratings of a person without which an item would no longer be recommended.

An item is recommended if it is among the first n of the person's list; n is 1 for "the first recommendation".
For a set R of the person's ratings, the model stays as it is and the person is scored without R
(:meth:`prefmover.model.Recommender.without`). R is a *counterfactual* if the item is then not among the first
n. The items of R are no candidates themselves: the person knows them.

All single ratings are tried, then all pairs, then all triples, as long as there are no more than
:data:`MOST_SETS` sets of that size. If there are more, those are tried that should lower the item most, by
what their ratings did alone. From four ratings on, or if no triple was found, the search is greedy: it takes
out the rating that lowers the item most, of the :data:`CANDIDATES` that lowered it most alone, and again,
until the item is gone. Then each of these ratings is put back that is not needed.

A set is the *smallest* for certain if every smaller one was tried. So one or two ratings always are, and
three ratings if all pairs were tried. The result says so.

Two ratings lower an item together by about as much as they do one after the other, so the order of the search
is by sums of the *margin* that is lost:

.. math:: m(R) = s_j(R) - s_{(n)}(R),

the score of the item less the n-th highest score of the others, given that R is taken out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import numpy as np

from prefmover._format import counted
from prefmover._typing import Floats, Ints
from prefmover.errors import InputError
from prefmover.explain.words import Part, listed, text_of
from prefmover.predict.predictor import UserState
from prefmover.rank.ranker import Ranker

__all__ = ["Counterfactual", "TakenOut", "counterfactual"]

MOST_SETS = 1_000
"""All sets of a size are tried if there are no more than this."""

EXHAUSTIVE = 3
"""Sets of up to this size are tried before the search is greedy."""

CANDIDATES = 20
"""Ratings that each step of the greedy search tries."""


class TakenOut(NamedTuple):
    """A rating that is taken out: the item's id, its title, and the rating."""

    item: Any
    label: str
    rating: float


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """The ratings without which an item would not be recommended.

    Attributes
    ----------
    user, item, label
        The user, the item and its title.
    n
        The item is recommended if it is among the first n.
    place
        The item's place in the person's list now, from 1.
    without
        The ratings to take out; () if none were found.
    place_without
        The item's place without them; None if none were found.
    instead, instead_label
        The best item that is among the first n only without them; None if none were found.
    smallest
        Whether there is no smaller set for certain, because all were tried.
    n_tried
        How many sets of ratings were tried.
    """

    user: Any
    item: Any
    label: str
    n: int
    place: int
    without: tuple[TakenOut, ...]
    place_without: int | None
    instead: Any
    instead_label: str | None
    smallest: bool
    n_tried: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python for JSON."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return fields | {"without": [one._asdict() for one in self.without]}

    def __str__(self) -> str:
        where = "first" if self.n == 1 else f"among the first {self.n}"
        if not self.without:
            return f"{self.label} stays {where}; {counted(self.n_tried, 'set')} of ratings tried"
        names = text_of(listed([(Part(one.label),) for one in self.without]))
        sure = "" if self.smallest else " (perhaps fewer would do)"
        return f"without {names}{sure}, {self.instead_label} would be {where} instead of {self.label}"


class _Found(NamedTuple):
    """What came of taking out a set of ratings."""

    margin: float
    place: int
    first: Ints  # the n best other items


class _Search:
    """Sets of a person's ratings, by their places among the rated items, and what taking them out does."""

    def __init__(self, ranker: Ranker, state: UserState, item: int, n: int) -> None:
        self.ranker, self.state, self.item, self.n = ranker, state, item, n
        self.n_tried = 0
        self.new = np.ones(ranker.similarity.data.n_items, bool)  # which items may be recommended
        self.new[state.seen] = False

    def found(self, some: Iterable[int] = ()) -> _Found:
        """Return what comes of taking out some ratings."""
        chosen, state = np.array(sorted(some), np.int64), self.state
        if len(chosen):
            state = state.without(state.rated[chosen], self.ranker.similarity)
            self.n_tried += 1
        scores = self.ranker.scores(state).total[0].astype(np.float64)
        others = self.new.copy()
        others[self.item] = False
        scores[~others & (np.arange(len(scores)) != self.item)] = -np.inf
        own, scores[self.item] = scores[self.item], -np.inf
        higher = scores > own
        higher[: self.item] |= scores[: self.item] == own  # as lists order equal scores
        first = np.argsort(-scores, kind="stable")[: self.n]
        return _Found(float(own - scores[first[-1]]), 1 + int(higher.sum()), first)

    def search(self) -> tuple[tuple[int, ...], bool]:
        """Return a set after which the item is not among the first n, and whether none is smaller."""
        m = len(self.state.rated)
        before, lost = self.found().margin, np.full(m, -np.inf)
        alone = [self.found([k]) if self._leaves_something([k]) else None for k in range(m)]
        for k, one in enumerate(alone):
            if one is not None:
                lost[k] = before - one.margin
        gone = [k for k, one in enumerate(alone) if one is not None and one.place > self.n]
        if gone:
            return (max(gone, key=lambda k: lost[k]),), True
        all_smaller = True
        for size in range(2, EXHAUSTIVE + 1):
            for some in self._sets(lost, size):
                if self._leaves_something(some) and self.found(some).place > self.n:
                    return some, all_smaller
            all_smaller &= comb(m, size) <= MOST_SETS
        return self._greedy(lost), all_smaller

    def _sets(self, lost: Floats, size: int) -> Iterator[tuple[int, ...]]:
        """Yield sets of ratings, all or the most promising, those first that should lower the item most."""
        order, n = np.argsort(-lost, kind="stable").tolist(), len(lost)
        while n > size and comb(n, size) > MOST_SETS:
            n -= 1
        sets = combinations(order[:n], size)
        return iter(sorted(sets, key=lambda some: -sum(lost[k] for k in some)))

    def _greedy(self, lost: Floats) -> tuple[int, ...]:
        """Return a set after which the item is gone, where each rating is needed; () if there is none."""
        order, taken, gone = np.argsort(-lost, kind="stable").tolist(), list[int](), False
        for _ in range(min(len(order) - 1, MOST_SETS // CANDIDATES)):
            left = [k for k in order if k not in taken][:CANDIDATES]
            found = [(self.found([*taken, k]), k) for k in left if self._leaves_something([*taken, k])]
            if not found:
                break
            best, k = min(found, key=lambda one: (one[0].place <= self.n, one[0].margin))
            taken.append(k)
            if gone := best.place > self.n:
                break
        if not gone:
            return ()
        for k in taken[:-1]:
            fewer = [one for one in taken if one != k]
            if self.found(fewer).place > self.n:
                taken = fewer
        return tuple(taken)

    def _leaves_something(self, some: Iterable[int]) -> bool:
        left = np.delete(self.state.given, list(some))
        return bool(left.any())


def counterfactual(ranker: Ranker, state: UserState, item: int, n: int) -> Counterfactual:
    """Return the fewest ratings of a user without which an item is not among the first n."""
    data, search = ranker.similarity.data, _Search(ranker, state, item, n)
    label, name = data.catalog.label, data.ratings.items
    if not len(state.rated):
        raise InputError(f"{state.name!r} has no ratings that could be taken out", reason="nothing-left")
    if not search.new[item]:
        wrong = f"{state.name!r} has rated {label(item)}, which is therefore not recommended"
        raise InputError(wrong, reason="not-listed")
    if n >= np.count_nonzero(search.new):
        wrong = f"n is {n:,}, and {state.name!r} has no more items to see; give a smaller n"
        raise InputError(wrong, reason="nothing-left")
    before = search.found()
    if before.place > n:
        raise InputError(
            f"{label(item)} is not among the first {n} recommendations for {state.name!r}: its place is "
            f"{before.place:,}; give n={before.place} or more, or an item of the list",
            reason="not-listed",
        )
    chosen, smallest = search.search()
    taken, after, instead = state.rated[list(chosen)], None, None
    if chosen:
        after = search.found(chosen)
        instead = next(one for one in after.first.tolist() if one not in before.first[: n - 1])
        search.n_tried -= 1
    given = state.given[list(chosen)].tolist()
    return Counterfactual(
        user=state.name,
        item=name[[item]].tolist()[0],
        label=label(item),
        n=n,
        place=before.place,
        without=tuple(map(TakenOut, name[taken].tolist(), map(label, taken.tolist()), given)),
        place_without=None if after is None else after.place,
        instead=None if instead is None else name[[instead]].tolist()[0],
        instead_label=None if instead is None else label(instead),
        smallest=bool(chosen) and smallest,
        n_tried=search.n_tried,
    )
