"""The paper's predictor, and its variants, over a fitted set of ratings."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from prefmover.data.ids import Ids
from prefmover.data.ratings import Ratings
from prefmover.execution.threads import Progress
from prefmover.measures.weights import Weight
from prefmover.predict.base import Lists, NeighborPart, average, ratings_of
from prefmover.predict.centering import Centering, Floats, Index
from prefmover.predict.explanations import BasePart, Through
from prefmover.predict.similarity import Likeness

if TYPE_CHECKING:
    from prefmover.predict.regression import NewUser

__all__ = ["Answer", "Averaging", "Neighborhood", "Parts", "Placed"]

Neighborhood = Literal["raters", "global"]


class Answer(NamedTuple):
    """Predictions of pairs, before clipping."""

    values: Floats
    base: Floats
    n_neighbors: Index
    details: Callable[[int], tuple[NeighborPart, ...]]

    def some(self, chosen: Index) -> "Answer":
        """Return those of the chosen pairs."""
        return Answer(
            self.values[chosen],
            self.base[chosen],
            self.n_neighbors[chosen],
            partial(_chosen_details, self.details, chosen),
        )


def _chosen_details(
    details: Callable[[int], tuple[NeighborPart, ...]], chosen: Index, k: int
) -> tuple[NeighborPart, ...]:
    return details(int(chosen[k]))


class Parts(NamedTuple):
    """What one prediction is made of."""

    base: tuple[BasePart, ...]
    neighbors: tuple[NeighborPart, ...]
    through: dict[Any, tuple[Through, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """A guest, and where the default predictor has put them: once for all that is asked of them.

    Attributes
    ----------
    ratings
        What they gave.
    new, weights
        Of the default predictor: the user it has made of them, and everybody's say.
    """

    ratings: Ratings
    new: "NewUser | None" = None
    weights: Floats | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Averaging:
    """Weighted mean of what the K nearest said.

    Attributes
    ----------
    likeness
        Who is near.
    centering
        What to expect of a user and an item.
    weight, k, neighborhood, shrinkage
        As in :mod:`prefmover.predict.base`.
    """

    likeness: Likeness
    centering: Centering
    weight: Weight
    k: int
    neighborhood: Neighborhood = "raters"
    shrinkage: float = 0.0
    _deviations: list[Floats] = field(default_factory=list)

    @property
    def ratings(self) -> Ratings:
        """The training ratings."""
        return self.likeness.ratings

    def answer(self, users: Index, items: Index, progress: Progress | None = None) -> Answer:
        """Return predictions for pairs of positions; -1 is an unknown user or item."""
        known = np.flatnonzero((users >= 0) & (items >= 0))
        found = self._lists(users[known], items[known], None, progress)
        spread = np.where(users >= 0, self.centering.spread[users], 1.0)
        return self._combine(self.centering.base(users, items), spread, items, known, found, users)

    def place(self, guest: Ratings) -> Placed:
        """Return a guest as the other methods take them."""
        return Placed(guest)

    def guest_answer(self, placed: Placed, items: Index) -> Answer:
        """Return predictions for a guest; -1 is an unknown item."""
        guest = placed.ratings
        rated, given = guest.matrix.indices.astype(np.int64), guest.matrix.data
        user, spread = self.centering.of_new_user(rated, given)
        known = np.flatnonzero(items >= 0)
        found = self._lists(np.empty(0, np.int64), items[known], guest, None)
        nobody = np.full(len(items), -1)
        base = self.centering.base(nobody, items) + user
        return self._combine(base, np.full(len(items), spread), items, known, found, nobody)

    def parts(self, user: int | Placed, item: int) -> Parts:
        """Return the parts of one prediction; user -1 and item -1 are unknown."""
        at = np.array([item])
        if isinstance(user, Placed):
            answer, m = self.guest_answer(user, at), user.ratings.matrix
            own = float(self.centering.of_new_user(m.indices.astype(np.int64), m.data)[0])
        else:
            answer = self.answer(np.array([user]), at)
            own = float(self.centering.user[user]) if user >= 0 else 0.0
        c, neighbors = self.centering, answer.details(0)
        if c.name == "none" or not neighbors:
            base: tuple[BasePart, ...] = (BasePart("base", float(answer.base[0]), "what is usual"),)
        else:
            base = (BasePart("mean", c.mean, "of all ratings"), BasePart("user", own, "the user's habit"))
            if c.name == "baseline":
                standing = float(c.item[item]) if item >= 0 else 0.0
                base = (*base, BasePart("item", standing, "the item's standing"))
        return Parts(base, tuple(sorted(neighbors, key=lambda part: -abs(part.value))), {})

    def reasons(self, user: int | Placed, items: Index, most: int) -> list[Parts]:
        """Return ``most`` parts of several predictions, found in one search: those for it, largest first."""
        if isinstance(user, Placed):
            answer = self.guest_answer(user, items)
        else:
            answer = self.answer(np.full(len(items), user), items)
        found = [
            sorted(answer.details(k), key=lambda part: (part.value <= 0, -abs(part.value)))
            for k in range(len(items))
        ]
        return [Parts((), tuple(some[:most]), {}) for some in found]

    def _lists(self, users: Index, items: Index, guest: Ratings | None, progress: Progress | None) -> Lists:
        if not len(items):
            nothing = np.empty(0)
            return Lists(np.zeros(1, np.int64), np.empty(0, np.int64), nothing, nothing, nothing)
        if self.neighborhood == "raters":
            found = self.likeness.raters(users, items, self.k, guest, progress)
            indptr, neighbors, values = found.indptr, found.neighbors, found.values
            place = self._places(neighbors, np.repeat(items, np.diff(indptr)))
        else:
            indptr, neighbors, values, place = self._nearest_overall(users, items, guest, progress)
        return Lists(
            indptr, neighbors, values, self._all_deviations()[place], self.ratings.matrix.data[place]
        )

    def _nearest_overall(
        self, users: Index, items: Index, guest: Ratings | None, progress: Progress | None
    ) -> tuple[Index, Index, Floats, Index]:
        """Return, for each pair, those of the user's K nearest who rated the item."""
        asking, which = np.unique(users, return_inverse=True)
        if guest is not None:
            which = np.zeros(len(items), np.int64)
        near = self.likeness.nearest(asking if guest is None else guest, self.k, progress)
        counts = np.diff(near.indptr)[which]
        pair = np.repeat(np.arange(len(items)), counts)
        first = np.cumsum(counts) - counts
        slot = np.arange(len(pair)) - first[pair] + near.indptr[which[pair]]
        neighbors = near.neighbors[slot]
        place = self._places(neighbors, items[pair])
        rated = place >= 0
        indptr = np.concatenate(([0], np.cumsum(np.bincount(pair[rated], minlength=len(items)))))
        return indptr, neighbors[rated], near.values[slot][rated], place[rated]

    def _places(self, users: Index, items: Index) -> Index:
        return ratings_of(self.ratings, users, items)

    def _all_deviations(self) -> Floats:
        if not self._deviations:
            self._deviations.append(self.centering.deviations(self.ratings))
        return self._deviations[0]

    def _combine(
        self, base: Floats, spread: Floats, items: Index, known: Index, found: Lists, users: Index
    ) -> Answer:
        values, parts, spoke = average(base[known], spread[known], found, self.weight, self.shrinkage)
        out, counts = base.copy(), np.zeros(len(base), np.int64)
        out[known], counts[known] = values, spoke
        silent = counts == 0
        if self.centering.name == "none":
            out[silent] = base[silent] = self.centering.mean
        row = {int(pair): k for k, pair in enumerate(known)}
        details = _Details(self.ratings.users, found, row, counts, spread, self.weight(found.values), parts)
        return Answer(out, base, counts, details)


@dataclass(frozen=True, slots=True, eq=False)
class _Details:
    """The neighbors' parts of each pair, made when asked for; a class, since closures cannot be pickled.

    Attributes
    ----------
    users
        Ids by position.
    found, weights, parts
        Neighbors of the known pairs, their say, and what they add.
    row
        From a pair to its place among the known ones.
    counts, spread
        Of all pairs: how many speak, and the user's spread.
    """

    users: Ids
    found: Lists
    row: dict[int, int]
    counts: Index
    spread: Floats
    weights: Floats
    parts: Floats

    def __call__(self, pair: int) -> tuple[NeighborPart, ...]:
        if pair not in self.row or self.counts[pair] == 0:
            return ()
        found = self.found
        first, last = found.indptr[self.row[pair]], found.indptr[self.row[pair] + 1]
        span = first + np.flatnonzero(self.weights[first:last])  # a weight of 0 is no say: not counted either
        return tuple(
            NeighborPart(
                user,
                float(found.values[k]),
                float(self.weights[k]),
                float(found.ratings[k]),
                float(self.spread[pair] * found.deviations[k]),
                float(self.parts[k]),
            )
            for user, k in zip(self.users[found.neighbors[span]].tolist(), span.tolist(), strict=True)
        )
