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
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ints, Progress
from prefmover.data.preferences import indptr_from_counts
from prefmover.data.ratings import Ratings
from prefmover.errors import InputError
from prefmover.execution.jit import LazyModule, compiled_or_interpreted
from prefmover.execution.threads import run, slices
from prefmover.measures import Weight
from prefmover.predict.centering import Centering
from prefmover.predict.predictor import Baseline, Contribution, Predictor, Scores, UserState
from prefmover.predict.similarity import UserSimilarity, Who

_knn = LazyModule("prefmover.predict._knn")

__all__ = ["AllK", "KNNPredictor", "Neighborhood"]

Neighborhood = Literal["raters", "global"]

PAIRS_AT_ONCE = 400_000  # pairs whose neighbor lists are in memory at once: up to 60 x 8 bytes, four times
ENTRIES_AT_ONCE = 1_000_000  # neighbors whose ratings are looked up at once
THREAD_ROWS = 32


class AllK(NamedTuple):
    """Predictions of pairs for several numbers of neighbors."""

    values: Floats  # (pairs, len(ks)) predictions, not clipped to the scale
    used: npt.NDArray[np.int32]  # (pairs, len(ks)) the number of neighbors that each mean is taken over
    n_neighbors: npt.NDArray[np.int32]  # (pairs, len(ks)) the number of those whose weight is not 0
    solved: int  # the number of pairs of users whose value was computed


class RatingsByItem(NamedTuple):
    """The ratings by item (CSC)."""

    indptr: Ints
    raters: Ints  # of each item in ascending order
    residuals: Floats
    ratings: Floats
    keys: Ints  # item * n_users + rater, in ascending order


class NeighborRatings(NamedTuple):
    """The neighbors of the pairs in a slice, nearest first (CSR)."""

    pairs: slice
    indptr: Ints
    entries: Ints  # positions in RatingsByItem; -1 for a neighbor who has not rated the item
    values: Floats  # of the measure
    solved: int  # the number of pairs of users who were compared to find them


@dataclass(frozen=True, eq=False)
class KNNPredictor(Predictor):
    """The neighbor average over a fitted data set; the attributes are those of the formula above."""

    weight: Weight
    centering: Centering
    k: int
    neighborhood: Neighborhood = "raters"
    shrinkage: float = 0.0

    @cached_property
    def _by_item(self) -> RatingsByItem:
        matrix = self.ratings.matrix
        order = np.argsort(matrix.indices, kind="stable")
        counts = np.bincount(matrix.indices, minlength=matrix.shape[1])
        indptr, raters = indptr_from_counts(counts), self.ratings.rows()[order]
        keys = matrix.indices[order].astype(np.int64) * self.ratings.n_users + raters
        residuals = self.centering.residuals(self.ratings)[order]
        return RatingsByItem(indptr, raters, residuals, matrix.data[order], keys)

    def predict(self, users: Ints, items: Ints, progress: Progress | None = None) -> Scores:
        """Return the scores of pairs of positions; -1 is an unknown user or item."""
        return self._scores(users, items, progress=progress)

    def scores(self, state: UserState, items: Ints) -> Scores:
        """Return the scores of items for one user; -1 is an unknown item."""
        return self._scores(np.full(len(items), state.position), items, state.guest)

    def predict_all_k(
        self, users: Ints, items: Ints, ks: tuple[int, ...], progress: Progress | None = None
    ) -> AllK:
        """Return the predictions of pairs of positions for every K, ascending; -1 is an unknown user or item.

        ``progress`` is called with (users done, users in all).
        """
        if not ks or list(ks) != sorted(set(ks)) or ks[0] < 1:
            raise InputError(f"k is {list(ks)}; give whole numbers from 1, ascending")
        return self._averages(users, items, ks, None, progress)[0]

    def explain(self, state: UserState, item: int) -> tuple[tuple[Baseline, ...], tuple[Contribution, ...]]:
        """Return the baselines and contributions that sum to the score of an item."""
        centering = self.centering
        contributions = self._contributions(state, item) if item >= 0 and state.is_known else ()
        if centering.name == "none" or not contributions:
            value = float(self.scores(state, np.array([item])).baselines[0])
            return (Baseline("baseline", value, "rating to expect"),), contributions
        parts = [
            Baseline("mean", centering.mean, "mean of all ratings"),
            Baseline("user", self._offset_and_spread(state)[0], "offset of the user"),
        ]
        if centering.name == "baseline":
            parts.append(Baseline("item", float(centering.item[item]), "offset of the item"))
        return tuple(parts), contributions

    def with_data(
        self, similarity: UserSimilarity, users: Ints, compared: list[tuple[Floats, float]] | None
    ) -> Self:
        """Return the predictor with other ratings or more users; means and biases are up to date."""
        ratings = similarity.data.ratings
        more = np.arange(self.ratings.n_users, ratings.n_users)
        similarity.exact_values(more, more[:1])  # a measure that cannot compare a new user is an error here
        return replace(self, similarity=similarity, centering=Centering.fit(ratings, self.centering.name))

    def with_items(self, similarity: UserSimilarity) -> Self:
        """Return the predictor with more items; nobody has rated them, so they get the baseline."""
        offsets = np.zeros(similarity.data.n_items - len(self.centering.item))
        centering = replace(self.centering, item=np.concatenate([self.centering.item, offsets]))
        return replace(self, similarity=similarity, centering=centering)

    def _scores(
        self, users: Ints, items: Ints, guest: Ratings | None = None, progress: Progress | None = None
    ) -> Scores:
        """Return the scores for the one K; without neighbors and centering, the baseline is the mean."""
        all_k, baselines = self._averages(users, items, (self.k,), guest, progress)
        n_neighbors = all_k.n_neighbors[:, 0].astype(np.int64)
        if self.centering.name == "none":
            baselines = np.where(n_neighbors > 0, baselines, self.centering.mean)
        return Scores(all_k.values[:, 0], baselines, n_neighbors > 0, n_neighbors.copy)

    def _averages(
        self, users: Ints, items: Ints, ks: tuple[int, ...], guest: Ratings | None, progress: Progress | None
    ) -> tuple[AllK, Floats]:
        """Return baselines plus mean residuals, for pairs of users or of a guest, and the baselines."""
        centering = self.centering
        known = users if guest is None else np.full(len(users), -1)
        baselines, spread = centering.baseline(known, items), np.where(known >= 0, centering.spread[known], 1)
        if guest is not None:
            offset, spread[:] = centering.new_user(*guest.row(0))
            baselines += offset
        known = np.flatnonzero((items >= 0) & ((users >= 0) | (guest is not None)))
        order = known[np.argsort(users[known], kind="stable")]
        shape, solved = (len(users), len(ks)), 0
        values, used, contributing = np.zeros(shape), np.zeros(shape, np.int32), np.zeros(shape, np.int32)
        for part in self._neighbors(users[order], items[order], ks[-1], guest, progress):
            pairs = order[part.pairs]
            out = values[pairs], used[pairs], contributing[pairs]
            weights, residuals = self.weight(part.values), self._by_item.residuals
            mean = compiled_or_interpreted(_knn.average, 10 * len(part.entries))
            mean(part.indptr, part.entries, weights, residuals, self.shrinkage, np.array(ks), *out)
            values[pairs], used[pairs], contributing[pairs] = out
            solved += part.solved
        values *= spread[:, None]
        values += baselines[:, None]
        if self.centering.name == "none":
            values[used == 0] = self.centering.mean
        return AllK(values, used, contributing, solved), baselines

    def _neighbors(
        self, users: Ints, items: Ints, k: int, guest: Ratings | None, progress: Progress | None = None
    ) -> Iterator[NeighborRatings]:
        """Yield the k nearest users for portions of the pairs, which are sorted by user.

        All pairs of a guest have one position, -1 or that of a user of the data, who is no neighbor.
        """
        but = -1 if guest is None or not len(users) else int(users[0])
        queries, first, query = np.unique(users, return_index=True, return_inverse=True)
        first = np.append(first, len(users))
        if self.neighborhood == "global":
            nearest = self.similarity.nearest(queries if guest is None else guest, k, progress, but=but)
            counts = nearest.counts[query]
            indptr = indptr_from_counts(counts)
            slot = np.arange(indptr[-1]) + np.repeat(nearest.indptr[query] - indptr[:-1], counts)
            entries = self._entries(nearest.neighbors[slot], np.repeat(items, counts))
            pairs = slice(0, len(users))
            yield NeighborRatings(pairs, indptr, entries, nearest.values[slot], nearest.stats.solved)
        elif self.similarity.searches_by_bounds:  # only the pairs of users that matter are solved
            low = 0
            while low < len(queries):
                high = max(int(np.searchsorted(first, first[low] + PAIRS_AT_ONCE, "right")) - 1, low + 1)
                pairs = slice(first[low], first[high])

                def report(done: int, _: int, before: int = low) -> None:
                    if progress is not None:
                        progress(before + done, len(queries))

                low = high
                who: Who = users[pairs] if guest is None else guest
                lists = self.similarity.nearest(who, k, report, raters_of=items[pairs], but=but)
                entries = self._entries(lists.neighbors, np.repeat(items[pairs], lists.counts))
                yield NeighborRatings(pairs, lists.indptr, entries, lists.values, lists.stats.solved)
        else:
            done = 0
            for positions, values in self.similarity.exact_blocks(queries if guest is None else guest, but):
                begin = first[done : done + len(positions) + 1]
                pairs, row = slice(begin[0], begin[-1]), query[begin[0] : begin[-1]] - done
                indptr, entries = self._raters_in_rows(values, positions, begin - begin[0], items[pairs], k)
                near = values[np.repeat(row, np.diff(indptr)), self._by_item.raters[entries]]
                solved = len(positions) * (self.ratings.n_users - 1)
                yield NeighborRatings(pairs, indptr, entries, near, solved)
                done += len(positions)
                if progress is not None:
                    progress(done, len(queries))

    def _raters_in_rows(
        self, values: Floats, users: Ints, first: Ints, items: Ints, k: int
    ) -> tuple[Ints, Ints]:
        """Return the nearest raters as lists of entries (CSR), from rows of the measure."""
        k, by_item = min(k, self.ratings.n_users), self._by_item
        nearest, counts = np.empty((len(items), k), np.int64), np.zeros(len(items), np.int64)
        larger = self.similarity.measure.larger_is_closer

        def work(part: slice) -> None:
            begin = first[part.start : part.stop + 1]
            args = values[part], larger, users[part], begin, items, by_item.indptr, by_item.raters
            _knn.nearest_raters(*args, nearest, counts)

        run(work, slices(len(users), THREAD_ROWS), n_threads=self.similarity.n_threads)
        return indptr_from_counts(counts), nearest[np.arange(k) < counts[:, None]]

    def _entries(self, users: Ints, items: Ints) -> Ints:
        """Return the position of each (user, item) in the ratings by item; -1 where there is no rating."""
        keys, out = self._by_item.keys, np.empty(len(users), np.int64)
        for part in slices(len(users), ENTRIES_AT_ONCE):
            queries = items[part] * self.ratings.n_users + users[part]
            at = np.searchsorted(keys, queries)
            out[part] = np.where(keys[np.minimum(at, len(keys) - 1)] == queries, at, -1)
        return out

    def _offset_and_spread(self, state: UserState) -> tuple[float, float]:
        if state.guest is not None:
            return self.centering.new_user(state.rated, state.given)
        return float(self.centering.user[state.position]), float(self.centering.spread[state.position])

    def _contributions(self, state: UserState, item: int) -> tuple[Contribution, ...]:
        """Return the contributions of the neighbors whose weight is not 0, the largest first."""
        query, by_item = np.array([state.position]), self._by_item
        (part,) = self._neighbors(query, np.array([item]), self.k, state.guest)
        rated = part.entries >= 0
        entries, values = part.entries[rated], part.values[rated]
        weights = self.weight(values)
        # Added in order, as the kernel does.
        total = float(np.bincount(np.zeros(len(weights), np.int64), np.abs(weights), 1)[0] + self.shrinkage)
        users, ratings = by_item.raters[entries].tolist(), by_item.ratings[entries].tolist()
        residuals = self._offset_and_spread(state)[1] * by_item.residuals[entries]
        parts = []
        for e in np.flatnonzero(weights).tolist():
            w, residual = float(weights[e]), float(residuals[e])
            part_of_mean = w / total * residual
            parts.append(Contribution(users[e], w, ratings[e], residual, part_of_mean, float(values[e])))
        return tuple(sorted(parts, key=lambda one: -abs(one.value)))
