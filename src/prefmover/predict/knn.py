r"""KNNPredictor: the weighted mean of the residuals of the K nearest users.

.. math:: \hat r_{ui} = b_{ui} + \sigma_u
          \frac{\sum_{v} w_{uv} e_{vi}}{\sum_{v} |w_{uv}| + \lambda}

over the K nearest among the users who rated i (``neighborhood="raters"``), or over those of the K nearest of
all users who rated it (``"global"``). Baselines b, residuals e and units σ are those of a
:class:`~prefmover.predict.centering.Centering`. With ``"mean"`` and λ = 0 this is the predictor of the paper.

Similarities are weights as they are: a neighbor with a negative correlation counts with a minus sign, and
|w| in the denominator. For distances, the table of measures states a rule: exp(-4 D) for PMD, 1 - MSD for
MSD. If no neighbor has a defined weight other than 0, the prediction is the baseline alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ints, Progress
from prefmover.data.ratings import Ratings
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.execution.threads import run
from prefmover.measures.weights import Weight
from prefmover.predict.base import Baseline, Contribution, Scores, UserState
from prefmover.predict.centering import Centering
from prefmover.predict.similarity import UserSimilarity
from prefmover.search.result import NeighborPositions

__all__ = ["AllK", "KNNPredictor", "KNNState", "Neighborhood"]

Neighborhood = Literal["raters", "global"]

PAIRS_AT_ONCE = 620_000  # pairs whose neighbor lists are in memory at once: 60 x 16 bytes each, three times
THREAD_ROWS = 32


class AllK(NamedTuple):
    """Predictions of pairs for several numbers of neighbors.

    Attributes
    ----------
    ks
        Numbers of neighbors, ascending.
    values
        (pairs, len(ks)) predictions, not clipped to the scale.
    used
        (pairs, len(ks)) the number of neighbors that each mean is taken over.
    n_neighbors
        (pairs, len(ks)) the number of those whose weight is not 0.
    solved
        The number of pairs of users whose value was computed.
    """

    ks: tuple[int, ...]
    values: Floats
    used: npt.NDArray[np.int32]
    n_neighbors: npt.NDArray[np.int32]
    solved: int


class RatingsByItem(NamedTuple):
    """The ratings by item (CSC): raters in ascending order, residuals, and the ratings.

    ``keys`` are item * n_users + rater, in ascending order.
    """

    indptr: Ints
    raters: Ints
    residuals: Floats
    ratings: Floats
    keys: Ints


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KNNState(UserState):
    """A user of the neighbor average.

    Attributes
    ----------
    guest
        The ratings of a guest; None for a user of the data.
    offset, spread
        The user's offset and unit under the centering.
    """

    guest: Ratings | None
    offset: float
    spread: float


@dataclass(frozen=True, eq=False)
class KNNPredictor:
    """The neighbor average over a fitted data set.

    Attributes
    ----------
    similarity
        The measure, over the users of the data.
    centering
        Baselines and residuals.
    weight
        The rule that turns values of the measure into weights.
    k
        Number of neighbors.
    neighborhood
        ``"raters"`` or ``"global"``.
    shrinkage
        λ.
    """

    similarity: UserSimilarity
    centering: Centering
    weight: Weight
    k: int
    neighborhood: Neighborhood = "raters"
    shrinkage: float = 0.0
    fit_id: str = field(default_factory=lambda: uuid4().hex)

    @property
    def ratings(self) -> Ratings:
        """The training ratings."""
        return self.similarity.data.ratings

    @cached_property
    def _by_item(self) -> RatingsByItem:
        matrix = self.ratings.matrix
        order = np.argsort(matrix.indices, kind="stable")
        counts = np.bincount(matrix.indices, minlength=matrix.shape[1])
        raters = self.ratings.rows()[order]
        return RatingsByItem(
            np.concatenate(([0], np.cumsum(counts))),
            raters,
            self.centering.residuals(self.ratings)[order],
            matrix.data[order],
            matrix.indices[order].astype(np.int64) * self.ratings.n_users + raters,
        )

    def predict(self, users: Ints, items: Ints, progress: Progress | None = None) -> Scores:
        """Return the scores of pairs of positions; -1 is an unknown user or item."""
        all_k = self.predict_all_k(users, items, (self.k,), progress)
        n_neighbors = all_k.n_neighbors[:, 0].astype(np.int64)
        return Scores(all_k.values[:, 0], self._baselines(users, items, n_neighbors), n_neighbors)

    def predict_all_k(
        self, users: Ints, items: Ints, ks: tuple[int, ...], progress: Progress | None = None
    ) -> AllK:
        """Return the predictions of pairs of positions for every K; -1 is an unknown user or item.

        Parameters
        ----------
        ks
            Numbers of neighbors, ascending.
        progress
            Called with (users done, users in all).
        """
        if not ks or list(ks) != sorted(set(ks)) or ks[0] < 1:
            raise InputError(f"k is {list(ks)}; give whole numbers from 1, ascending")
        known = np.flatnonzero((users >= 0) & (items >= 0))
        order = known[np.argsort(users[known], kind="stable")]
        part = _Averages.empty(len(order), ks, self.ratings.n_users)
        solved = self._average(users[order], items[order], part, progress)
        whole = _Averages.empty(len(users), ks, self.ratings.n_users)
        whole.shift[order], whole.used[order] = part.shift, part.used
        whole.contributing[order] = part.contributing
        spread = np.where(users >= 0, self.centering.spread[users], 1.0)
        values = self._finish(whole, spread, self.centering.baseline(users, items))
        return AllK(tuple(ks), values, whole.used, whole.contributing, solved)

    def state(self, position: int, name: Any = None) -> KNNState:
        """Return the state of a user of the data; that of an unknown user for position -1."""
        if position < 0:
            return KNNState(name, -1, np.empty(0, np.int64), np.empty(0), self.fit_id, None, 0.0, 1.0)
        items, values = self.ratings.row(position)
        offset, spread = float(self.centering.user[position]), float(self.centering.spread[position])
        return KNNState(name, position, items, values, self.fit_id, None, offset, spread)

    def guest_state(self, guest: Ratings) -> KNNState:
        """Return the state of a guest: the ratings of one user over the items of the data."""
        items, values = guest.row(0)
        offset, spread = self.centering.new_user(items, values)
        return KNNState(guest.users.tolist()[0], -1, items, values, self.fit_id, guest, offset, spread)

    def scores(self, state: KNNState, items: Ints) -> Scores:
        """Return the scores of items for one user; -1 is an unknown item."""
        if state.guest is None:
            return self.predict(np.full(len(items), state.position), items)
        known = np.flatnonzero(items >= 0)
        averages = _Averages.empty(len(items), (self.k,), self.ratings.n_users)
        part = _Averages.empty(len(known), (self.k,), self.ratings.n_users)
        if self.neighborhood == "global" or self.similarity.searches_by_bounds:
            self._average_lists(self._lists(state, items[known], self.k), items[known], part)
        else:
            row = self.similarity.guest_values(state.guest, np.arange(self.ratings.n_users))[0][None]
            self._average_rows(row, np.array([-1]), np.array([0, len(known)]), items[known], part)
        averages.shift[known], averages.used[known] = part.shift, part.used
        n_neighbors = np.zeros(len(items), np.int64)
        n_neighbors[known] = part.contributing[:, 0]
        baselines = self._guest_baselines(state, items)
        values = self._finish(averages, np.full(len(items), state.spread), baselines)[:, 0]
        if self.centering.name == "none":
            baselines = np.where(n_neighbors > 0, baselines, self.centering.mean)
        return Scores(values, baselines, n_neighbors)

    def contributions(self, state: KNNState, items: Ints, n: int) -> list[tuple[Contribution, ...]]:
        """Return the n strongest contributions to the score of each item, those in favor first."""
        return [
            tuple(sorted(some, key=lambda one: (one.value <= 0, -abs(one.value)))[:n])
            for some in self._all_contributions(state, items)
        ]

    def explain(self, state: KNNState, item: int) -> tuple[tuple[Baseline, ...], tuple[Contribution, ...]]:
        """Return the baselines and contributions that sum to the score of an item."""
        contributions: list[Contribution] = []
        if item >= 0 and state.is_known:
            contributions = self._all_contributions(state, np.array([item]))[0]
        contributions.sort(key=lambda one: -abs(one.value))
        centering = self.centering
        if centering.name == "none" or not contributions:
            value = float(self.scores(state, np.array([item])).baselines[0])
            return (Baseline("baseline", value, "rating to expect"),), tuple(contributions)
        parts = [
            Baseline("mean", centering.mean, "mean of all ratings"),
            Baseline("user", state.offset, "offset of the user"),
        ]
        if centering.name == "baseline":
            parts.append(Baseline("item", float(centering.item[item]), "offset of the item"))
        return tuple(parts), tuple(contributions)

    def with_users(self, data: Dataset) -> KNNPredictor:
        """Return the predictor over more users, with means and biases brought up to date."""
        return replace(
            self,
            similarity=self.similarity.with_data(data),
            centering=Centering.fit(data.ratings, self.centering.name),
            fit_id=uuid4().hex,
        )

    def _average(self, users: Ints, items: Ints, out: _Averages, progress: Progress | None) -> int:
        """Average the neighbors of pairs, sorted by user; return how many pairs of users were solved."""
        queries, first = np.unique(users, return_index=True)
        first = np.append(first, len(users))
        if self.neighborhood == "global":
            for column, k in enumerate(out.ks.tolist()):
                lists = self._global_lists(
                    self.similarity.nearest(queries, k, progress=progress),
                    np.searchsorted(queries, users),
                    items,
                )
                self._average_lists(lists, items, out.column(column))
            return len(queries) * (self.ratings.n_users - 1)
        if self.similarity.searches_by_bounds:
            return self._average_by_search(users, items, first, out, progress)
        done = 0
        for positions, values in self.similarity.blocks(queries):
            begin = first[done : done + len(positions) + 1]
            self._average_rows(values, positions, begin, items, out)
            done += len(positions)
            if progress is not None:
                progress(done, len(queries))
        return len(queries) * (self.ratings.n_users - 1)

    def _average_by_search(
        self, users: Ints, items: Ints, first: Ints, out: _Averages, progress: Progress | None
    ) -> int:
        """Average over lists from an exact search, which solves only the pairs of users that matter."""
        solved, n = 0, len(first) - 1
        for low, high in _portions(first):
            pairs = slice(first[low], first[high])

            def report(done: int, _: int, before: int = low) -> None:
                if progress is not None:
                    progress(before + done, n)

            lists = self.similarity.raters(users[pairs], items[pairs], int(out.ks[-1]), progress=report)
            solved += lists.stats.solved
            self._average_lists(lists, items[pairs], out.rows(pairs))
        return solved

    def _average_lists(self, lists: NeighborPositions, items: Ints, out: _Averages) -> None:
        from prefmover.predict._knn import average_lists

        by_item = self._by_item
        average_lists(
            lists.indptr, lists.neighbors, self.weight(lists.values), items,
            by_item.indptr, by_item.raters, by_item.residuals,
            self.shrinkage, out.ks, out.shift, out.used, out.contributing,
        )  # fmt: skip

    def _average_rows(self, values: Floats, users: Ints, first: Ints, items: Ints, out: _Averages) -> None:
        from prefmover.predict._knn import average_rows

        weights, by_item = self.weight(values), self._by_item
        larger = self.similarity.measure.larger_is_closer

        def work(part: slice) -> None:
            average_rows(
                values[part], weights[part], larger,
                users[part], first[part.start : min(part.stop, len(users)) + 1], items,
                by_item.indptr, by_item.raters, by_item.residuals,
                self.shrinkage, out.ks, out.shift, out.used, out.contributing,
            )  # fmt: skip

        parts = [slice(k, k + THREAD_ROWS) for k in range(0, len(users), THREAD_ROWS)]
        run(work, parts, n_threads=self.similarity.n_threads)

    def _finish(self, averages: _Averages, spread: Floats, baselines: Floats) -> Floats:
        """Return baseline plus mean residual; the baseline, or the mean of all ratings, without neighbors."""
        values = averages.shift
        values *= spread[:, None]
        values += baselines[:, None]
        if self.centering.name == "none":
            values[averages.used == 0] = self.centering.mean
        return values

    def _baselines(self, users: Ints, items: Ints, n_neighbors: Ints) -> Floats:
        baseline, fallback = self.centering.baseline(users, items), self.centering.fallback(users, items)
        return np.where(n_neighbors > 0, baseline, fallback)

    def _guest_baselines(self, state: KNNState, items: Ints) -> Floats:
        return self.centering.baseline(np.full(len(items), -1), items) + state.offset

    def _lists(self, state: KNNState, items: Ints, k: int) -> NeighborPositions:
        """Return the neighbors of one user for each item."""
        users = np.full(len(items), state.position)
        if self.neighborhood == "raters":
            return self.similarity.raters(users, items, k, state.guest)
        nearest = self.similarity.nearest(users[:1], k, state.guest)
        return self._global_lists(nearest, np.zeros(len(items), np.int64), items)

    def _global_lists(self, nearest: NeighborPositions, query: Ints, items: Ints) -> NeighborPositions:
        """Return, for each pair of a query and an item, those of the query's nearest users who rated it."""
        counts = np.diff(nearest.indptr)[query]
        pair = np.repeat(np.arange(len(items)), counts)
        slot = np.arange(len(pair)) - (np.cumsum(counts) - counts)[pair] + nearest.indptr[query[pair]]
        neighbors = nearest.neighbors[slot]
        rated = self._rating_positions(neighbors, items[pair]) >= 0
        indptr = np.concatenate(([0], np.cumsum(np.bincount(pair[rated], minlength=len(items)))))
        return NeighborPositions(indptr, neighbors[rated], nearest.values[slot][rated], nearest.stats)

    def _rating_positions(self, users: Ints, items: Ints) -> Ints:
        """Return the position of each (user, item) in the ratings by item; -1 where there is no rating."""
        keys, queries = self._by_item.keys, items * self.ratings.n_users + users
        at = np.searchsorted(keys, queries)
        return np.where(keys[np.minimum(at, len(keys) - 1)] == queries, at, -1)

    def _all_contributions(self, state: KNNState, items: Ints) -> list[list[Contribution]]:
        """Return the contributions of the neighbors whose weight is not 0, nearest first, for each item."""
        if not len(items):
            return []
        lists = self._lists(state, items, self.k)
        pair = np.repeat(np.arange(len(items)), np.diff(lists.indptr))
        weights = self.weight(lists.values)
        total = np.bincount(pair, np.abs(weights), len(items)) + self.shrinkage
        at = self._rating_positions(lists.neighbors, items[pair])
        residuals, ratings = state.spread * self._by_item.residuals[at], self._by_item.ratings[at]
        out: list[list[Contribution]] = [[] for _ in range(len(items))]
        users = self.ratings.users[lists.neighbors].tolist()
        for e in np.flatnonzero(weights).tolist():
            w, residual = float(weights[e]), float(residuals[e])
            value = w / float(total[pair[e]]) * residual
            out[pair[e]].append(
                Contribution(users[e], w, float(ratings[e]), residual, value, float(lists.values[e]))
            )
        return out


class _Averages(NamedTuple):
    """Output of the kernels for some pairs, and the numbers of neighbors, which no list exceeds."""

    ks: Ints
    shift: Floats
    used: npt.NDArray[np.int32]
    contributing: npt.NDArray[np.int32]

    @classmethod
    def empty(cls, n: int, ks: tuple[int, ...], n_users: int) -> _Averages:
        shape = (n, len(ks))
        capped = np.minimum(np.array(ks, np.int64), max(n_users, 1))
        return cls(capped, np.zeros(shape), np.zeros(shape, np.int32), np.zeros(shape, np.int32))

    def rows(self, part: slice) -> _Averages:
        return _Averages(self.ks, self.shift[part], self.used[part], self.contributing[part])

    def column(self, k: int) -> _Averages:
        part = slice(k, k + 1)
        return _Averages(self.ks[part], self.shift[:, part], self.used[:, part], self.contributing[:, part])


def _portions(first: Ints) -> Iterator[tuple[int, int]]:
    """Yield ranges of users with a bounded number of pairs together, at least one user each."""
    low, n = 0, len(first) - 1
    while low < n:
        high = int(np.searchsorted(first, first[low] + PAIRS_AT_ONCE, "right")) - 1
        high = min(max(high, low + 1), n)
        yield low, high
        low = high
