"""KernelPredictor: Gaussian process regression over users by a measure and items by distance."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from math import fsum
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from prefmover._typing import Bools, Floats, Ints, Progress, Singles
from prefmover.execution.threads import slices
from prefmover.measures import Weight
from prefmover.predict.gaussian_process import RatingSettings, Regression, UserCoefficients, WorkLimits, solve
from prefmover.predict.low_rank import LandmarkValues, normalized_weights, shrunk, user_kernel
from prefmover.predict.predictions import Baseline, Contribution, Evidence
from prefmover.predict.predictor import Newcomers, Predictor, Scores, UserState
from prefmover.predict.similarity import UserSimilarity

__all__ = ["KernelPredictor"]

N_EVIDENCE = 3  # ratings named for each neighbor in an explanation
N_WITH_EVIDENCE = 10  # neighbors for whom they are named, and whose distances are computed
MIN_WEIGHT = 1e-5  # weights are inner products in single precision: smaller ones may as well be 0
BLOCK_USERS = 64  # users whose weights to all users are in memory at once
SOLVE_AGAIN = 0.05  # share of the ratings that an update changes, from which on others are solved for again


@dataclass(frozen=True, eq=False)
class KernelPredictor(Predictor):
    """A solved regression, and the measure that places new users in it.

    Attributes
    ----------
    landmark_self_values
        (landmarks,) the measure between each landmark and itself.
    regression
        The solved regression.
    """

    landmark_self_values: Floats
    regression: Regression

    @classmethod
    def fit(
        cls, similarity: UserSimilarity, weight: Weight, settings: RatingSettings, compared: LandmarkValues
    ) -> Self:
        """Return the predictor, given the measure between all users and the landmarks."""
        data = similarity.data
        limits = WorkLimits.for_ratings(data.ratings)
        kernel = user_kernel(compared, weight, max_rank=limits.max_rank)
        n_ratings = np.diff(data.ratings.matrix.indptr)
        features, unexplained = shrunk(kernel.features, kernel.unexplained, n_ratings, settings.shrinkage)
        kernel = replace(kernel, features=features, unexplained=unexplained)
        regression = solve(data.ratings, data.geometry, kernel, settings, n_threads=similarity.n_threads)
        return cls(similarity, weight, compared.self_values[compared.landmarks], regression)

    def predict(self, users: Ints, items: Ints, progress: Progress | None = None) -> Scores:
        """Return the scores of pairs of positions; -1 is an unknown user or item."""
        r, features = self.regression, self.regression.kernel.features
        baselines = r.baseline(np.where(users >= 0, r.user[users], 0.0), items)
        values, n_neighbors = baselines.copy(), np.zeros(len(users), np.int64)
        known = np.flatnonzero((users >= 0) & (items >= 0))
        order = known[np.argsort(users[known], kind="stable")]
        queries, first = np.unique(users[order], return_index=True)
        pairs_of = np.split(order, first[1:])
        for block in slices(len(queries), BLOCK_USERS):
            some = queries[block]
            weights = features[some] @ features.T
            for u, row, pairs in zip(some.tolist(), weights, pairs_of[block], strict=True):
                values[pairs] += r.personal(r.coefficients(u), items[pairs])
                n_neighbors[pairs] = r.count_residuals(_has_weight(row, u), items[pairs])
        if progress is not None:
            progress(len(users), len(users))
        return Scores(values, baselines, n_neighbors)

    def scores(self, state: UserState, items: Ints) -> Scores:
        """Return the scores of items for one user; -1 is an unknown item."""
        r, user, known = self.regression, self._coefficients(state), np.flatnonzero(items >= 0)
        values, baselines = self._values(user, items)
        n_neighbors = np.zeros(len(items), np.int64)
        has_weight = _has_weight(r.kernel.covariance_to_all(user.features), state.position)
        n_neighbors[known] = r.count_residuals(has_weight, items[known])
        return Scores(values, baselines, n_neighbors)

    def _values(self, user: UserCoefficients, items: Ints) -> tuple[Floats, Floats]:
        """Return the scores of items for one user, and their baselines."""
        r, known = self.regression, np.flatnonzero(items >= 0)
        baselines = r.baseline(np.full(len(items), user.offset), items)
        values = baselines.copy()
        values[known] += r.personal(user, items[known])
        return values, baselines

    def expected(self, state: UserState, items: Ints) -> tuple[Floats, Bools]:
        """Return the scores of items for one user, and which of them have neighbors.

        To count the neighbors, all features are read. Nearly always, the first users have some already.
        """
        r, user = self.regression, self._coefficients(state)
        if not r.reaches_all_items:
            return super().expected(state, items)
        features, found = r.kernel.features, False
        for block in slices(len(features), BLOCK_USERS):
            has_weight = _has_weight(features[block] @ user.features, state.position - block.start)
            if (has_weight & r.has_any_residual[block]).any():
                found = True
                break
        return self._values(user, items)[0], (items >= 0) & found

    def explain(self, state: UserState, item: int) -> tuple[tuple[Baseline, ...], tuple[Contribution, ...]]:
        """Return the baselines and contributions that sum to the score of an item."""
        r = self.regression
        parts = [
            Baseline("mean", r.mean, "overall mean, fitted with the offsets"),
            Baseline("user", self._coefficients(state).offset, "offset of the user"),
        ]
        if item >= 0:
            parts.append(Baseline("item", float(r.item[item]), "offset of the item"))
            parts.append(Baseline("similar items", float(r.similar_items[item]), "offset of similar items"))
        if item < 0 or not state.is_known:
            return tuple(parts), ()
        one, contributions = np.array([item]), self._contributions(state, item)
        # The user's ratings of similar items make up the rest. The rounding of inner products in single
        # precision, about 1e-6, is counted here too, so that the sum is the prediction.
        score = float(self.scores(state, one).values[0])
        neighbors = fsum(one.value for one in contributions)
        rest = fsum([score, *(-part.value for part in parts), -neighbors])
        return (*parts, Baseline("taste", rest, "the user's ratings of similar items")), contributions

    def with_data(self, similarity: UserSimilarity, newcomers: Newcomers) -> Self:
        """Return the predictor with other ratings of some users, and with more users.

        These users are compared with the landmarks and solved for, given all others, who stay as they are. If
        they are several and have a good part of all ratings, everybody is solved for again.
        """
        data = similarity.data
        users, compared = newcomers
        assert compared is not None
        counts = np.diff(data.ratings.matrix.indptr)[users]
        placed = [self._place(int(n), *values) for n, values in zip(counts, compared, strict=True)]
        places = np.stack([one for one, _ in placed]), np.array([one for _, one in placed])
        r = self.regression.updated(data.ratings, users, *places)
        if len(users) > 1 and counts.sum() > SOLVE_AGAIN * data.ratings.n_ratings:
            r = solve(data.ratings, data.geometry, r.kernel, r.settings, r.alpha, similarity.n_threads)
        return replace(self, similarity=similarity, regression=r)

    def with_items(self, similarity: UserSimilarity) -> Self:
        """Return the predictor with more items, which nobody has rated."""
        data = similarity.data
        regression = self.regression.with_items(data.ratings, data.geometry)
        return replace(self, similarity=similarity, regression=regression)

    def _coefficients(self, state: UserState) -> UserCoefficients:
        if state.guest is None:
            return self.regression.coefficients(state.position)
        coefficients: UserCoefficients = state.rating
        return coefficients

    def guest(self, state: UserState) -> UserCoefficients:
        """Return the coefficients of a guest, given the measure to the landmarks."""
        assert state.to_landmarks is not None
        features, _ = self._place(len(state.rated), *state.to_landmarks)
        return self.regression.new_coefficients(state.rated, state.given, features)

    def _place(self, n_ratings: int, values: Floats, self_value: float) -> tuple[Singles, float]:
        """Return the features of a user, and the part of the user that the landmarks do not explain."""
        r, self_values = self.regression, np.array([self_value])
        weights = normalized_weights(values[None], self.weight, self_values, self.landmark_self_values)
        places = r.kernel.project(weights)
        features, rest = shrunk(*places, np.array([n_ratings]), r.settings.shrinkage)
        return features[0], float(rest[0])

    def _contributions(self, state: UserState, item: int) -> tuple[Contribution, ...]:
        """Return all contributions to the score of an item, the largest first."""
        r, one = self.regression, np.array([item])
        weights = r.kernel.covariance_to_all(self._coefficients(state).features)
        item_weights = r.item_weights(one)
        residuals = r.residuals(item_weights)[:, 0]
        users = np.flatnonzero(_has_weight(weights, state.position) & r.has_residual(one)[:, 0])
        users = users[np.argsort(-np.abs(weights[users] * residuals[users]), kind="stable")]
        values = self._measure_values(state, np.sort(users[:N_WITH_EVIDENCE]))
        return self._as_contributions(
            item, item_weights[:, 0], users, weights[users], residuals[users], values
        )

    def _measure_values(self, state: UserState, others: Ints) -> dict[int, float]:
        """Return the measure between a user and some others, by position; undefined values are left out."""
        values = self.similarity.exact_values(state.who, others)[0] if len(others) else np.empty(0)
        pairs = zip(others.tolist(), values.tolist(), strict=True)
        return {v: value for v, value in pairs if not np.isnan(value)}

    def _as_contributions(
        self,
        item: int,
        item_weights: Floats,
        users: Ints,
        weights: Floats,
        residuals: Floats,
        values: dict[int, float],
    ) -> tuple[Contribution, ...]:
        """Return the contributions of users; values and evidence for the first of them only."""
        ratings = self._ratings_of(users, item)
        columns = zip(users.tolist(), weights.tolist(), ratings, residuals.tolist(), strict=True)
        contributions = []
        for rank, (v, weight, rating, residual) in enumerate(columns):
            evidence = self._evidence(item_weights, v, weight) if rank < N_WITH_EVIDENCE else ()
            part = weight * residual
            contributions.append(Contribution(v, weight, rating, residual, part, values.get(v), evidence))
        return tuple(contributions)

    def _evidence(self, item_weights: Floats, user: int, weight: float) -> tuple[Evidence, ...]:
        """Return the ratings through which a neighbor contributes: those that add most to the sum."""
        r, (items, ratings) = self.regression, self.ratings.row(user)
        values = weight * r.coefficients(user).alpha * item_weights[items]
        top = np.argsort(-values * np.sign(values.sum()), kind="stable")[:N_EVIDENCE]
        columns = items[top], ratings[top], values[top]
        return tuple(Evidence(*row) for row in zip(*(column.tolist() for column in columns), strict=True))

    def _ratings_of(self, users: Ints, item: int) -> list[float | None]:
        """Return the users' ratings of an item, None where there is none."""
        m, ratings = self.ratings.matrix, list[float | None]()
        for first, last in zip(m.indptr[users].tolist(), m.indptr[users + 1].tolist(), strict=True):
            at = bisect_left(m.indices, item, first, last)
            ratings.append(float(m.data[at]) if at < last and m.indices[at] == item else None)
        return ratings


def _has_weight(weights: npt.NDArray[Any], user: int) -> Bools:
    """Return which users have a weight, without the user itself (-1: a guest)."""
    has_weight: Bools = np.abs(weights) > MIN_WEIGHT
    if 0 <= user < len(weights):
        has_weight[user] = False
    return has_weight
