"""KernelPredictor: Gaussian process regression over users by a measure and items by distance."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self
from uuid import uuid4

import numpy as np

from prefmover._typing import Bools, Floats, Ints, Progress
from prefmover.data.ratings import Ratings
from prefmover.dataset import Dataset
from prefmover.measures.weights import Weight
from prefmover.predict.base import Baseline, Contribution, Evidence, Scores, UserState, best
from prefmover.predict.regression import Covariance, Regression, UserCoefficients, require_room, solve
from prefmover.predict.similarity import UserSimilarity
from prefmover.predict.user_kernel import UserKernel, check_array, choose_landmarks, normalized_weights

__all__ = ["KernelPredictor", "KernelState", "LandmarkValues"]

N_EVIDENCE = 3  # ratings named for each neighbor in an explanation
N_WITH_EVIDENCE = 10  # neighbors for whom they are named, and whose distances are computed
MIN_WEIGHT = 1e-5  # weights are inner products in single precision: smaller ones may as well be 0
BLOCK_USERS = 64  # users whose weights to all users are in memory at once
NONE = np.empty(0, np.int64)

KERNEL_ARRAYS = ("landmarks", "whitening", "features", "rest")
REGRESSION_ARRAYS = ("alpha", "user", "item", "similar_items", "item_factors")


class LandmarkValues(NamedTuple):
    """Landmarks, and the measure between all users and them, (n_users, landmarks)."""

    landmarks: Ints
    values: Floats

    @classmethod
    def compute(
        cls, similarity: UserSimilarity, limit: int, seed: int, progress: Progress | None = None
    ) -> Self:
        """Choose up to twice ``limit`` landmarks and compare all users with them."""
        ratings = similarity.data.ratings
        landmarks = choose_landmarks(np.diff(ratings.matrix.indptr), limit, seed)
        require_room(ratings.n_users, ratings.n_items, len(landmarks))
        everyone = np.arange(ratings.n_users)
        if len(landmarks) == len(everyone):
            return cls(landmarks, similarity.values(everyone, everyone, progress))
        if similarity.measure.symmetric:
            values = similarity.values(landmarks, everyone, progress)
            return cls(landmarks, np.ascontiguousarray(values.T))
        return cls(landmarks, similarity.values(everyone, landmarks, progress))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KernelState(UserState):
    """A user of the kernel model.

    Attributes
    ----------
    guest
        The ratings of a guest; None for a user of the data.
    coefficients
        The user in the regression.
    """

    guest: Ratings | None
    coefficients: UserCoefficients


@dataclass(frozen=True, slots=True, eq=False)
class KernelPredictor:
    """A solved regression, and the measure that places new users in it.

    Attributes
    ----------
    similarity, weight
        The measure, and the rule that turns its values into weights to landmarks.
    landmark_self_values
        (landmarks,) the measure between each landmark and itself.
    regression
        The solved regression.
    """

    similarity: UserSimilarity
    weight: Weight
    landmark_self_values: Floats
    regression: Regression
    fit_id: str = field(default_factory=lambda: uuid4().hex)

    @classmethod
    def fit(
        cls,
        similarity: UserSimilarity,
        weight: Weight,
        covariance: Covariance,
        landmark_values: LandmarkValues,
    ) -> Self:
        """Return the predictor, given the measure between all users and the landmarks."""
        data, (landmarks, values) = similarity.data, landmark_values
        self_values = similarity.self_values(np.arange(data.n_users))
        weights = normalized_weights(values, weight, self_values, self_values[landmarks])
        weights[landmarks, np.arange(len(landmarks))] = 1.0
        kernel = UserKernel.from_weights(weights, landmarks)
        regression = solve(data.ratings, data.geometry, kernel, covariance)
        return cls(similarity, weight, self_values[landmarks], regression)

    @property
    def ratings(self) -> Ratings:
        """The training ratings."""
        return self.similarity.data.ratings

    def predict(self, users: Ints, items: Ints, progress: Progress | None = None) -> Scores:
        """Return the scores of pairs of positions; -1 is an unknown user or item."""
        r = self.regression
        baselines = r.baseline(r.offsets(users), items)
        values = baselines.copy()
        known = np.flatnonzero((users >= 0) & (items >= 0))
        order = known[np.argsort(users[known], kind="stable")]
        queries, first = np.unique(users[order], return_index=True)
        for u, pairs in zip(queries.tolist(), np.split(order, first[1:]), strict=False):
            values[pairs] += r.personal(r.coefficients(u), items[pairs])
        n_neighbors = self._n_neighbors(users, items)
        if progress is not None:
            progress(len(users), len(users))
        return Scores(values, baselines, n_neighbors)

    def state(self, position: int, name: Any = None) -> KernelState:
        """Return the state of a user of the data; that of an unknown user for position -1."""
        items, values = self.ratings.row(position) if position >= 0 else (NONE, np.empty(0))
        coefficients = self.regression.coefficients(position)
        return KernelState(name, position, items, values, self.fit_id, None, coefficients)

    def guest_state(self, guest: Ratings) -> KernelState:
        """Return the state of a guest, who is compared with the landmarks once."""
        r, (items, values) = self.regression, guest.row(0)
        to_landmarks, to_self = self.similarity.guest_values(guest, r.kernel.landmarks)
        weights = normalized_weights(
            to_landmarks[None], self.weight, np.array([to_self]), self.landmark_self_values
        )
        features, _ = r.kernel.project(weights)
        coefficients = r.new_coefficients(items, values, features[0])
        return KernelState(guest.users.tolist()[0], -1, items, values, self.fit_id, guest, coefficients)

    def scores(self, state: KernelState, items: Ints) -> Scores:
        """Return the scores of items for one user; -1 is an unknown item."""
        r, known = self.regression, np.flatnonzero(items >= 0)
        baselines = r.baseline(np.full(len(items), state.coefficients.offset), items)
        n_neighbors = np.zeros(len(items), np.int64)
        has_weight = self._has_weight(state, self._weights(state))[None]
        n_neighbors[known] = self._counts(has_weight, np.zeros(len(known), np.int64), items[known])
        return Scores(r.predict(state.coefficients, items), baselines, n_neighbors)

    def contributions(self, state: KernelState, items: Ints, n: int) -> list[tuple[Contribution, ...]]:
        """Return the n strongest contributions to the score of each item, those in favor first."""
        weights, residuals = self._weights(state), self.regression.residuals(items)
        contributing = self._contributing(state, weights, items)
        chosen = [
            users[_strongest(weights[users] * residuals[users, k], n)] for k, users in enumerate(contributing)
        ]
        values = self._measure_values(state, np.unique(np.concatenate([NONE, *chosen])))
        return [
            self._as_contributions(item, users, weights, residuals[:, k], values)
            for k, (item, users) in enumerate(zip(items.tolist(), chosen, strict=True))
        ]

    def explain(self, state: KernelState, item: int) -> tuple[tuple[Baseline, ...], tuple[Contribution, ...]]:
        """Return the baselines and contributions that sum to the score of an item."""
        if item < 0 or not state.is_known:
            return self._baselines(state, item, 0.0, 0.0), ()
        weights = self._weights(state)
        residuals = self.regression.residuals(np.array([item]))[:, 0]
        (users,) = self._contributing(state, weights, np.array([item]))
        parts = weights * residuals
        order = users[np.argsort(-np.abs(parts[users]), kind="stable")]
        through_features = float(parts[state.position]) if state.position >= 0 else 0.0
        baselines = self._baselines(state, item, through_features, float(parts[users].sum()))
        values = self._measure_values(state, order[:N_WITH_EVIDENCE])
        return baselines, self._as_contributions(item, order, weights, residuals, values)

    def with_users(self, data: Dataset) -> KernelPredictor:
        """Return the predictor with more users, who are compared with the landmarks; solved again."""
        r, n = self.regression, self.ratings.n_users
        similarity = self.similarity.with_data(data)
        more = np.arange(n, data.n_users)
        values = similarity.values(more, r.kernel.landmarks)
        weights = normalized_weights(
            values, self.weight, similarity.self_values(more), self.landmark_self_values
        )
        start = np.concatenate([r.alpha, np.zeros(data.ratings.n_ratings - len(r.alpha))])
        kernel = r.kernel.extended(weights)
        solved = solve(data.ratings, data.geometry, kernel, r.covariance, start=start)
        return KernelPredictor(similarity, self.weight, self.landmark_self_values, solved)

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the numbers and the arrays that :meth:`from_arrays` takes."""
        r = self.regression
        arrays = {"landmark_self_values": self.landmark_self_values}
        arrays |= {f"kernel.{name}": getattr(r.kernel, name) for name in KERNEL_ARRAYS}
        arrays |= {f"regression.{name}": getattr(r, name) for name in REGRESSION_ARRAYS}
        return {"mean": r.mean}, arrays

    @classmethod
    def from_arrays(
        cls,
        similarity: UserSimilarity,
        weight: Weight,
        covariance: Covariance,
        facts: Mapping[str, Any],
        arrays: Mapping[str, Any],
    ) -> Self:
        """Return a predictor from the numbers and arrays of :meth:`to_arrays`, checked."""
        data = similarity.data
        kernel = UserKernel(**{name: arrays[f"kernel.{name}"] for name in KERNEL_ARRAYS})
        solved = {name: arrays[f"regression.{name}"] for name in REGRESSION_ARRAYS}
        regression = Regression(data.ratings, data.geometry, kernel, covariance, facts["mean"], **solved)
        regression.check()
        self_values = arrays["landmark_self_values"]  # NaN where the measure is undefined
        check_array("landmark_self_values", self_values, np.float64, kernel.landmarks.shape, finite=False)
        return cls(similarity, weight, self_values, regression)

    def _weights(self, state: KernelState) -> Floats:
        """Return the weights of all users in the predictions for one; 0 for an unknown user."""
        return self.regression.kernel.between(state.coefficients.features)

    def _has_weight(self, state: KernelState, weights: Floats) -> Bools:
        """Return which users have a weight, without the user of the state."""
        has_weight = np.abs(weights) > MIN_WEIGHT
        if state.position >= 0:
            has_weight[state.position] = False
        return has_weight

    def _contributing(self, state: KernelState, weights: Floats, items: Ints) -> list[Ints]:
        """Return the users who contribute to the score of each item."""
        has_weight = self._has_weight(state, weights)
        return [np.flatnonzero(has_weight & column) for column in self.regression.has_residual(items).T]

    def _baselines(
        self, state: KernelState, item: int, through_features: float, contributed: float
    ) -> tuple[Baseline, ...]:
        """Return the parts of a score that no neighbor contributes.

        Parameters
        ----------
        through_features
            The user's own part that passes through the features, like a neighbor's.
        contributed
            The sum of the neighbors' contributions.
        """
        r, user = self.regression, state.coefficients
        parts = [
            Baseline("mean", r.mean, "mean of all ratings"),
            Baseline("user", user.offset, "offset of the user"),
        ]
        if item < 0:
            return tuple(parts)
        parts.append(Baseline("item", float(r.item[item]), "offset of the item"))
        parts.append(Baseline("similar items", float(r.similar_items[item]), "offset of similar items"))
        if not state.is_known:
            return tuple(parts)
        taste = float(r.taste(user, np.array([item]))[0]) + through_features
        # Inner products in single precision are summed here in another order than in the prediction. The
        # difference, about 1e-6, is counted as taste, so that the sum is the prediction.
        score = float(r.predict(user, np.array([item]))[0])
        rounding = score - sum(part.value for part in parts) - taste - contributed
        parts.append(Baseline("taste", taste + rounding, "the user's ratings of similar items"))
        return tuple(parts)

    def _measure_values(self, state: KernelState, others: Ints) -> dict[int, float]:
        """Return the measure between a user and some others, by position; undefined values are left out."""
        if not len(others):
            return {}
        if state.guest is not None:
            values = self.similarity.guest_values(state.guest, others)[0]
        else:
            values = self.similarity.values(np.array([state.position]), others)[0]
        pairs = zip(others.tolist(), values.tolist(), strict=True)
        return {v: value for v, value in pairs if not np.isnan(value)}

    def _as_contributions(
        self, item: int, users: Ints, weights: Floats, residuals: Floats, values: dict[int, float]
    ) -> tuple[Contribution, ...]:
        """Return the contributions of users; evidence for the first of them only."""
        columns = (
            self.ratings.users[users].tolist(),
            users.tolist(),
            weights[users].tolist(),
            residuals[users].tolist(),
            self._ratings_of(users, item),
        )
        return tuple(
            Contribution(
                user,
                weight,
                rating,
                residual,
                weight * residual,
                values.get(v),
                self._evidence(item, v, weight) if rank < N_WITH_EVIDENCE else (),
            )
            for rank, (user, v, weight, residual, rating) in enumerate(zip(*columns, strict=True))
        )

    def _evidence(self, item: int, user: int, weight: float) -> tuple[Evidence, ...]:
        """Return the ratings through which a neighbor contributes: those that add most to the sum."""
        r, ratings = self.regression, self.ratings
        coefficients = r.coefficients(user)
        values = weight * coefficients.alpha * r.item_weights(item, coefficients.items)
        top = np.argsort(-values * np.sign(values.sum()), kind="stable")[:N_EVIDENCE]
        items = ratings.items[coefficients.items[top]].tolist()
        stars = ratings.row(user)[1][top].tolist()
        return tuple(Evidence(*row) for row in zip(items, stars, values[top].tolist(), strict=True))

    def _ratings_of(self, users: Ints, item: int) -> list[float | None]:
        """Return the users' ratings of an item, None where there is none."""
        m, ratings = self.ratings.matrix, list[float | None]()
        for first, last in zip(m.indptr[users].tolist(), m.indptr[users + 1].tolist(), strict=True):
            at = bisect_left(m.indices, item, first, last)
            ratings.append(float(m.data[at]) if at < last and m.indices[at] == item else None)
        return ratings

    def _n_neighbors(self, users: Ints, items: Ints) -> Ints:
        """Return the number of neighbors who contribute to each pair: as many as :meth:`explain` lists."""
        features, counts = self.regression.kernel.features, np.zeros(len(users), np.int64)
        known = np.flatnonzero((users >= 0) & (items >= 0))
        known = known[np.argsort(users[known], kind="stable")]
        queries, row = np.unique(users[known], return_inverse=True)
        for first in range(0, len(queries), BLOCK_USERS):
            some = queries[first : first + BLOCK_USERS]
            pairs = slice(*np.searchsorted(row, [first, first + len(some)]))
            has_weight = np.abs(features[some] @ features.T) > MIN_WEIGHT
            has_weight[np.arange(len(some)), some] = False
            counts[known[pairs]] = self._counts(has_weight, row[pairs] - first, items[known[pairs]])
        return counts

    def _counts(self, has_weight: Bools, rows: Ints, items: Ints) -> Ints:
        """Return the number of users with a weight who also have a residual for an item.

        Parameters
        ----------
        has_weight
            (queries, n_users).
        rows, items
            (pairs,) the query, as a row of ``has_weight``, and the item.
        """
        r = self.regression
        if r.reaches_all_items:
            counts: Ints = np.count_nonzero(has_weight & r.has_any_residual, axis=1)[rows]
        else:
            counts = (r.rated_residuals.T @ has_weight.T.astype(np.int64))[items, rows]
        return counts


def _strongest(parts: Floats, n: int) -> Ints:
    """Return the positions of the n largest parts; if too few are positive, of the most negative ones too.

    >>> _strongest(np.array([0.1, -0.9, 0.3, -0.2]), 3)
    array([2, 0, 1])
    """
    positive = parts > 0
    top = best(np.where(positive, parts, np.nan), NONE, n)
    if len(top) < n:
        top = np.concatenate([top, best(np.where(positive, np.nan, -parts), NONE, n)])[:n]
    return top
