r"""Gaussian process regression over users and items: every rating contributes to similar users and items.

A rating is μ plus parts that it shares with other ratings, plus noise. The covariance of two ratings (u, i)
and (v, j) says how much they share. It has a part for each way to share: by all users, by the same user, by
similar users; for all items, for the same item, for similar items:

=================  ============  ===============  =====================
shared by          all items     the same item    similar items
=================  ============  ===============  =====================
all users          ``level``     ``item``         ``similar_items``
the same user      ``user``      (noise: 1)       ``taste``
similar users                    ``neighbors``    ``shared_taste``
=================  ============  ===============  =====================

.. math:: k = \ell + s_u\delta_{uv} + s_i\delta_{ij} + s_I k_I + s_t\,\delta_{uv} k_I
              + K_{uv}\,(s_n\delta_{ij} + s_s k_I), \qquad k_I(i, j) = e^{-\eta d(i, j)}

K_uv is the weight of the measure between two users, smaller if they have few ratings
(:func:`~prefmover.predict.low_rank.shrunk`). Each s is a variance in units of the noise, so that it does
not depend on the scale of the ratings. The prediction is the expected rating given all ratings (the mean of a
Gaussian process, or kernel ridge regression): μ + Σ k α over all ratings (v, j), where (k + 1) α = r - μ is
solved by conjugate residuals. The sum over ratings is a sum over neighbors: K_uv times the *residual* of v
for the item.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from math import fsum
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from prefmover._typing import Bools, Floats, Ints, Progress, Singles, Sparse
from prefmover.data.ratings import Ratings
from prefmover.errors import InputError
from prefmover.execution.memory import require
from prefmover.execution.threads import slices
from prefmover.measures import Weight, weight
from prefmover.predict.low_rank import (
    ITEM_LANDMARKS,
    MAX_EXACT,
    LowRankKernel,
    item_kernel,
    item_weights,
    normalized_weights,
    self_scale,
    shrunk,
    user_kernel,
)
from prefmover.predict.predictor import Baseline, Contribution, Evidence, Predictor, Scores, UserState
from prefmover.predict.similarity import LandmarkValues, UserSimilarity
from prefmover.predict.solver import Coefficients, like, solve, sum_rows, work_limits

__all__ = ["KernelPredictor", "RatingSettings", "UserCoefficients", "require_room"]

ITEM_BYTES = 32
"""Memory for each item and direction of items while fitting: features, sums and temporary arrays. (Measured
on 4,000 users x 20,000 items: 25 with 600 directions, and 29 with 160.)"""

USER_BYTES, LARGE_USER_BYTES = 48, 24
"""Memory for each user and landmark: values, weights, features and temporary arrays. (Measured: 44, and 21
with the directions of many ratings, see :func:`~prefmover.predict.solver.work_limits`.)"""

N_EVIDENCE = 3  # ratings named for each neighbor in an explanation
N_WITH_EVIDENCE = 10  # neighbors for whom they are named, and whose distances are computed
MIN_WEIGHT = 1e-5  # weights are inner products in single precision: smaller ones may as well be 0
FEW_USERS = 64  # users whose weights to all users are in memory at once
BLOCK_USERS, BLOCK_PAIRS = 4096, 4096  # users, and pairs, whose features are
SOLVE_AGAIN = 0.05  # share of the ratings that an update changes, from which on others are solved for again


@dataclass(frozen=True, slots=True)
class RatingSettings:
    """How ratings are predicted: the table and the formula at the top of this module.

    The defaults were chosen on held-out ratings of 900 users of MovieLens-1M, half of them at the sparsest
    training share of the figures and half at a medium one. That shrinkage is needed was seen on
    MovieTweetings; its value was chosen on MovieLens-1M, too (docs/guide/predictions.md).

    Attributes
    ----------
    weight
        The rule that turns values of the measure into covariances K of users. None is
        ``"exponential(2.5)"`` for PMD, ``"exponential(0.5)"`` for PMD-agreement, and the measure's own rule
        for others.
    level, item, similar_items
        Variances in units of the noise, shared by all users: for all items, the same item, similar items.
    user, taste
        Shared by the ratings of the same user: for all items, similar items.
    neighbors, shared_taste
        Shared by similar users: for the same item, similar items.
    item_rate
        η in k_I = exp(-η d): how fast the similarity of items decreases with their distance.
    shrinkage
        β: K_uv is multiplied by √(n_u / (n_u + β)) √(n_v / (n_v + β)), where n_u is the number of ratings
        of u. The fewer ratings a user has, the less is known about which users are similar.
    """

    weight: str | Weight | None = None
    level: float = 0.1
    user: float = 0.2
    item: float = 0.25
    similar_items: float = 0.25
    taste: float = 0.125
    neighbors: float = 0.125
    shared_taste: float = 0.5
    item_rate: float = 1.0
    shrinkage: float = 20.0

    def __post_init__(self) -> None:
        if self.weight is not None:
            weight(self.weight)
        for field in fields(self)[1:]:
            value = getattr(self, field.name)
            if not 0 <= value < np.inf:
                raise InputError(f"{field.name} is {value!r}; give a number from 0")
        if not (self.item > 0 and self.user > 0):
            raise InputError(f"user is {self.user!r} and item is {self.item!r}; both must be above 0")


class UserCoefficients(NamedTuple):
    """The regression of one user: a user of the data, a guest, or an unknown user without ratings."""

    items: Ints  # positions of the rated items
    alpha: Floats  # the coefficients of the ratings
    features: Singles  # (rank,) the user in the kernel
    # ψ_u, the part of the user's variance that is not in the features; 1 for a guest, who is not in the data
    rest: float
    offset: float  # the part that the user adds to all predictions
    former: UserCoefficients | None = None  # the user's row in the data, which is no neighbor of the user


@dataclass(frozen=True, eq=False)
class KernelPredictor(Predictor):
    """A solved regression, and the measure that places new users in it."""

    settings: RatingSettings  # the variances
    landmark_self_values: Floats  # (landmarks,) the measure between each landmark and itself
    items: LowRankKernel  # the covariances k_I of items
    kernel: LowRankKernel  # those of users
    solved: Coefficients

    @classmethod
    def fit(cls, similarity: UserSimilarity, settings: RatingSettings, compared: LandmarkValues) -> Self:
        """Return the predictor, given the measure between all users and the landmarks."""
        assert settings.weight is not None
        ratings = similarity.data.ratings
        kernel = user_kernel(compared, weight(settings.weight), max_rank=work_limits(ratings)[0])
        n_ratings = np.diff(ratings.matrix.indptr)
        features, unexplained = shrunk(kernel.features, kernel.unexplained, n_ratings, settings.shrinkage)
        kernel = replace(kernel, features=features, unexplained=unexplained)
        return cls._solved(similarity, settings, compared.self_values[compared.landmarks], kernel)

    @classmethod
    def _solved(
        cls,
        similarity: UserSimilarity,
        settings: RatingSettings,
        self_values: Floats,
        kernel: LowRankKernel,
        start: Floats | None = None,
    ) -> Self:
        ratings, geometry = similarity.data.ratings, similarity.data.geometry
        n_ratings = np.bincount(ratings.matrix.indices, minlength=ratings.n_items)
        items = item_kernel(geometry, settings.item_rate, n_ratings, work_limits(ratings)[0])
        solved = solve(ratings, items, kernel, settings, start, similarity.n_threads)
        return cls(similarity, settings, self_values, items, kernel, solved)

    def predict(self, users: Ints, items: Ints, progress: Progress | None = None) -> Scores:
        """Return the scores of pairs of positions; -1 is an unknown user or item."""
        baselines = self._baseline(np.where(users >= 0, self.solved.user[users], 0.0), items)
        values, has_neighbors = baselines.copy(), np.zeros(len(users), bool)
        known = np.flatnonzero((users >= 0) & (items >= 0))
        queries, at = np.unique(users[known], return_inverse=True)
        order = np.argsort(at, kind="stable")
        for block in slices(len(queries), BLOCK_USERS):
            part = order[slice(*np.searchsorted(at, (block.start, block.stop), sorter=order))]
            pairs, some = known[part], queries[block]
            if len(queries) == 1:  # the same bits as alone
                values[pairs] += self._personal(self.coefficients(int(some[0])), items[pairs])
            else:
                values[pairs] += self._personal_of_pairs(some, at[part] - block.start, items[pairs])
            has_neighbors[pairs] = self._have_neighbors(some)[at[part] - block.start]
        if progress is not None:
            progress(len(users), len(users))
        if not self._reaches_all_items:  # who has neighbors depends on the item
            counts = self._count_neighbors(users, items)
            return Scores(values, baselines, counts > 0, counts.copy)
        return Scores(values, baselines, has_neighbors, partial(self._count_neighbors, users, items))

    def _personal_of_pairs(self, queries: Ints, at: Ints, items: Ints) -> Floats:
        """Return :meth:`_personal` of pairs of users, ``queries[at]``, and items."""
        s, users, psi = self.settings, queries[at], self.kernel.unexplained[queries[at]]
        alpha = like(self.ratings.matrix, self.solved.alpha)
        through = sum_rows(alpha[queries], self.items.features, n_threads=self.similarity.n_threads)
        own = np.asarray(alpha[users, items]).ravel() if len(users) else np.empty(0)
        out = np.empty(len(users))
        for part in slices(len(users), BLOCK_PAIRS):
            i, taste = items[part], s.taste + psi[part] * s.shared_taste
            similar = np.einsum("pr,pr->p", self.items.features[i], through[at[part]])
            similar = similar.astype(np.float64) + self.items.unexplained[i] * own[part]
            neighbors = np.einsum("pr,pr->p", self.solved.item_factors[i], self.kernel.features[users[part]])
            out[part] = neighbors + (taste * similar + psi[part] * s.neighbors * own[part])
        return out

    def _have_neighbors(self, queries: Ints) -> Bools:
        """Return which users of the data have a weight for somebody who has residuals.

        Nearly always, the first users are such. So nobody is compared with everybody.
        """
        out, features = np.zeros(len(queries), bool), self.kernel.features
        for block in slices(len(features), FEW_USERS):
            left = np.flatnonzero(~out)
            if not len(left):
                break
            weights = features[queries[left]] @ features[block].T
            weights[queries[left][:, None] == np.arange(block.start, block.stop)] = 0.0
            out[left] = ((np.abs(weights) > MIN_WEIGHT) & self._has_any_residual[block]).any(axis=1)
        return out

    def _count_neighbors(self, users: Ints, items: Ints) -> Ints:
        """Return the number of neighbors of pairs of positions, each user's among all users."""
        out, features = np.zeros(len(users), np.int64), self.kernel.features
        known = np.flatnonzero((users >= 0) & (items >= 0))
        order = known[np.argsort(users[known], kind="stable")]
        queries, first = np.unique(users[order], return_index=True)
        pairs_of = np.split(order, first[1:])
        for block in slices(len(queries), FEW_USERS):
            weights = features[queries[block]] @ features.T
            for u, row, pairs in zip(queries[block].tolist(), weights, pairs_of[block], strict=True):
                out[pairs] = self._count_residuals(_has_weight(row, u), items[pairs])
        return out

    def scores(self, state: UserState, items: Ints) -> Scores:
        """Return the scores of items for one user; -1 is an unknown item."""
        user, known = self._user(state), np.flatnonzero(items >= 0)
        values, baselines = self._values(user, items)
        n_neighbors = np.zeros(len(items), np.int64)
        has_weight = _has_weight(self.kernel.features @ user.features, state.position)
        n_neighbors[known] = self._count_residuals(has_weight, items[known])
        return Scores(values, baselines, n_neighbors > 0, n_neighbors.copy)

    def expected(self, state: UserState, items: Ints) -> tuple[Floats, Bools]:
        """Return the scores of items for one user, and which of them have neighbors.

        To count the neighbors, all features are read. Nearly always, the first users have some already.
        """
        user, features = self._user(state), self.kernel.features
        if not self._reaches_all_items:
            return super().expected(state, items)
        found = False
        for block in slices(len(features), FEW_USERS):
            has_weight = _has_weight(features[block] @ user.features, state.position - block.start)
            if (has_weight & self._has_any_residual[block]).any():
                found = True
                break
        return self._values(user, items)[0], (items >= 0) & found

    def explain(self, state: UserState, item: int) -> tuple[tuple[Baseline, ...], tuple[Contribution, ...]]:
        """Return the baselines and contributions that sum to the score of an item."""
        solved = self.solved
        parts = [
            Baseline("mean", solved.mean, "overall mean, fitted with the offsets"),
            Baseline("user", self._user(state).offset, "offset of the user"),
        ]
        if item >= 0:
            parts.append(Baseline("item", float(solved.item[item]), "offset of the item"))
            similar = float(solved.similar_items[item])
            parts.append(Baseline("similar items", similar, "offset of similar items"))
        if item < 0 or not state.is_known:
            return tuple(parts), ()
        contributions = self._contributions(state, item)
        # The user's ratings of similar items make up the rest. The rounding of inner products in single
        # precision, about 1e-6, is counted here too, so that the sum is the prediction.
        score = float(self.scores(state, np.array([item])).values[0])
        neighbors = fsum(one.value for one in contributions)
        rest = fsum([score, *(-part.value for part in parts), -neighbors])
        return (*parts, Baseline("taste", rest, "the user's ratings of similar items")), contributions

    def guest(self, state: UserState) -> UserCoefficients:
        """Return the coefficients of a guest, given the measure to the landmarks."""
        assert state.to_landmarks is not None
        features, _ = self._place(len(state.rated), *state.to_landmarks)
        former = self.coefficients(state.position) if state.position >= 0 else None
        return self._new_coefficients(state.rated, state.given, features, former)

    def with_data(
        self, similarity: UserSimilarity, users: Ints, compared: list[tuple[Floats, float]] | None
    ) -> Self:
        """Return the predictor with other ratings of some users, and with more users.

        These users are placed and solved for, one after the other, given all others: they get the
        coefficients of a guest, and contribute to others as neighbors. The coefficients of others, the mean
        and the offsets of items stay as they are. If the users are several and have a good part of all
        ratings, everybody is solved for again.
        """
        assert compared is not None
        before, ratings = self.ratings, similarity.data.ratings
        counts = np.diff(ratings.matrix.indptr)[users]
        places = [self._place(int(n), *values) for n, values in zip(counts, compared, strict=True)]
        features, rest = np.stack([one for one, _ in places]), np.array([one for _, one in places])
        kernel = self.kernel.with_rows(users, features, rest, ratings.n_users)
        alpha = np.empty(ratings.n_ratings)
        alpha[~np.isin(ratings.rows(), users)] = self.solved.alpha[~np.isin(before.rows(), users)]
        offsets = np.concatenate([self.solved.user, np.zeros(ratings.n_users - before.n_users)])
        now = replace(self, solved=self.solved._replace(item_factors=self.solved.item_factors.copy()))
        for u, place in zip(users.tolist(), features, strict=True):
            if u < before.n_users:
                now._add_neighbor(self.coefficients(u), -1)
            one = now._new_coefficients(*ratings.row(u), place)
            now._add_neighbor(one)
            offsets[u] = one.offset
            alpha[ratings.matrix.indptr[u] : ratings.matrix.indptr[u + 1]] = one.alpha
        if len(users) > 1 and counts.sum() > SOLVE_AGAIN * ratings.n_ratings:
            return self._solved(similarity, self.settings, self.landmark_self_values, kernel, alpha)
        solved = now.solved._replace(alpha=alpha, user=offsets)
        return replace(self, similarity=similarity, kernel=kernel, solved=solved)

    def with_items(self, similarity: UserSimilarity) -> Self:
        """Return the predictor with more items, which nobody has rated."""
        s, solved, data = self.settings, self.solved, similarity.data
        n = len(solved.item)
        new = np.arange(n, data.n_items)
        weights = item_weights(data.geometry, s.item_rate, self.items.landmarks, new)
        items = self.items.with_rows(new, *self.items.project(weights), data.n_items)
        before, more = items.features[:n], items.features[n:]
        by_user = np.asarray(like(self.ratings.matrix, solved.alpha).T @ self.kernel.features)
        similar = s.similar_items * (more @ (before.T @ (solved.item / s.item)))
        factors = (s.shared_taste * (more @ (before.T @ by_user))).astype(np.float32)
        solved = solved._replace(
            item=np.concatenate([solved.item, np.zeros(len(more))]),
            similar_items=np.concatenate([solved.similar_items, similar.astype(np.float64)]),
            item_factors=np.concatenate([solved.item_factors, factors]),
        )
        return replace(self, similarity=similarity, items=items, solved=solved)

    def _user(self, state: UserState) -> UserCoefficients:
        if state.guest is None:
            return self.coefficients(state.position)
        return self.guest(state) if state.rating is None else state.rating

    def coefficients(self, user: int) -> UserCoefficients:
        """Return the coefficients of a user by position; those of an unknown user for -1."""
        if user < 0:
            nothing = np.empty(0, np.int64), np.empty(0), np.zeros(self.kernel.rank, np.float32)
            return UserCoefficients(*nothing, 0.0, 0.0)
        items, _ = self.ratings.row(user)
        first, last = self.ratings.matrix.indptr[user : user + 2]
        alpha, features = self.solved.alpha[first:last], self.kernel.features[user]
        rest, offset = float(self.kernel.unexplained[user]), float(self.solved.user[user])
        return UserCoefficients(items, alpha, features, rest, offset)

    def _new_coefficients(
        self, items: Ints, values: Floats, features: Singles, former: UserCoefficients | None = None
    ) -> UserCoefficients:
        """Return the coefficients of one more user with these ratings, given those of all others.

        The mean and the offsets of items stay as they are.
        """
        s = self.settings
        expected = self._baseline(np.zeros(len(items)), items) + self._neighbors(items, features, former)
        similarity = self.items.block(items, items)
        k = s.user + (s.taste + s.shared_taste) * similarity + (s.neighbors + 1) * np.eye(len(items))
        alpha: Floats = np.linalg.solve(k, values - expected).astype(np.float64)
        return UserCoefficients(items, alpha, features, 1.0, s.user * float(alpha.sum()), former)

    def _neighbors(self, items: Ints, features: Singles, former: UserCoefficients | None) -> Floats:
        """Return what users of the data add to items for a user with these features, who is none of them."""
        added = (self.solved.item_factors[items] @ features).astype(np.float64)
        if former is not None:
            added -= float(former.features @ features) * self._spread(former, items)
        return added

    def _spread(self, user: UserCoefficients, items: Ints) -> Floats:
        """Return what the coefficients of a user add to items."""
        s, own = self.settings, np.zeros(self.ratings.n_items)
        own[user.items] = user.alpha
        return s.shared_taste * self.items.sums(user.items, user.alpha, items) + s.neighbors * own[items]

    def _add_neighbor(self, user: UserCoefficients, sign: int = 1) -> None:
        """Add the contributions of a user to the item factors, or take them out, in place."""
        factors = self.solved.item_factors
        factors += np.outer(sign * self._spread(user, np.arange(len(factors))), user.features)

    def _place(self, n_ratings: int, values: Floats, self_value: float) -> tuple[Singles, float]:
        """Return the features of a user, and the part of the user that the landmarks do not explain."""
        assert self.settings.weight is not None
        rule = weight(self.settings.weight)
        scales = (self_scale(rule, one) for one in (np.array([self_value]), self.landmark_self_values))
        places = self.kernel.project(normalized_weights(values[None], rule, *scales))
        features, rest = shrunk(*places, np.array([n_ratings]), self.settings.shrinkage)
        return features[0], float(rest[0])

    def _values(self, user: UserCoefficients, items: Ints) -> tuple[Floats, Floats]:
        """Return the scores of items for one user, and their baselines."""
        known = np.flatnonzero(items >= 0)
        baselines = self._baseline(np.full(len(items), user.offset), items)
        values = baselines.copy()
        values[known] += self._personal(user, items[known])
        return values, baselines

    def _baseline(self, offsets: Floats, items: Ints) -> Floats:
        """Return the ratings to expect before neighbors contribute; -1 is an unknown item."""
        item_offsets = self.solved.item + self.solved.similar_items
        return self.solved.mean + offsets + np.where(items >= 0, item_offsets[items], 0.0)

    def _personal(self, user: UserCoefficients, items: Ints) -> Floats:
        """Return what similar users, and the user's own ratings, without the part in the features, add."""
        s, own = self.settings, np.zeros(self.ratings.n_items)
        neighbors = self._neighbors(items, user.features, user.former)
        own[user.items] = user.alpha
        taste = (s.taste + user.rest * s.shared_taste) * self.items.sums(user.items, user.alpha, items)
        return neighbors + (taste + user.rest * s.neighbors * own[items])

    @property
    def _reaches_all_items(self) -> bool:
        """Whether a user with a residual for one item has one for every item, through similar items."""
        return self.items.rank > 0 and self.settings.shared_taste > 0

    @cached_property
    def _has_any_residual(self) -> Bools:
        """(n_users,) which users have a coefficient other than 0."""
        before = np.concatenate([[0], np.cumsum(self.solved.alpha != 0)])
        return np.diff(before[self.ratings.matrix.indptr]) > 0

    @cached_property
    def _rated_residuals(self) -> Sparse:
        """(n_users, n_items) 1 where a user has a residual for an item by rating it, for counting."""
        counts = self.settings.neighbors + self.settings.shared_taste > 0
        return like(self.ratings.matrix, ((self.solved.alpha != 0) & counts).astype(np.int64))

    def _count_residuals(self, chosen: Bools, items: Ints) -> Ints | int:
        """Return how many of the chosen users, a mask, have a residual for each item."""
        if self._reaches_all_items:
            return int(np.count_nonzero(chosen & self._has_any_residual))
        return (self._rated_residuals.T @ chosen.astype(np.int64))[items]

    def _contributions(self, state: UserState, item: int) -> tuple[Contribution, ...]:
        """Return all contributions to the score of an item, the largest first.

        Those of :data:`N_WITH_EVIDENCE` users have the value of the measure, and their evidence.
        """
        s, m = self.settings, self.ratings.matrix
        weights = (self.kernel.features @ self._user(state).features).astype(np.float64)
        of_items = s.shared_taste * self.items.column(item)
        of_items[item] += s.neighbors
        residuals = like(m, self.solved.alpha) @ of_items
        there = self._has_any_residual
        if not self._reaches_all_items:
            there = self._rated_residuals[:, [item]].toarray()[:, 0] > 0
        users = np.flatnonzero(_has_weight(weights, state.position) & there)
        users = users[np.argsort(-np.abs(weights[users] * residuals[users]), kind="stable")]
        first = np.sort(users[:N_WITH_EVIDENCE])
        values = self.similarity.exact_values(state.who, first)[0].tolist() if len(first) else []
        measured = {v: value for v, value in zip(first.tolist(), values, strict=True) if value == value}
        entries = np.flatnonzero(m.indices == item)
        raters = np.searchsorted(m.indptr, entries, side="right") - 1
        given = dict(zip(raters.tolist(), m.data[entries].tolist(), strict=True))
        contributions = []
        columns = zip(users.tolist(), weights[users].tolist(), residuals[users].tolist(), strict=True)
        for rank, (v, w, residual) in enumerate(columns):
            evidence = self._evidence(of_items, v, w) if rank < N_WITH_EVIDENCE else ()
            one = Contribution(v, w, given.get(v), residual, w * residual, measured.get(v), evidence)
            contributions.append(one)
        return tuple(contributions)

    def _evidence(self, of_items: Floats, user: int, w: float) -> tuple[Evidence, ...]:
        """Return the ratings through which a neighbor contributes: those that add most to the sum."""
        items, ratings = self.ratings.row(user)
        values = w * self.coefficients(user).alpha * of_items[items]
        top = np.argsort(-values * np.sign(values.sum()), kind="stable")[:N_EVIDENCE]
        columns = items[top], ratings[top], values[top]
        return tuple(Evidence(*row) for row in zip(*(column.tolist() for column in columns), strict=True))


def require_room(ratings: Ratings, n_landmarks: int) -> None:
    """Raise an error if a regression of this size is too large; called before users are compared."""
    n_users, n_items, (most, _) = ratings.n_users, ratings.n_items, work_limits(ratings)
    directions = min(n_items if n_items <= MAX_EXACT else ITEM_LANDMARKS, most or n_items)
    per_user = n_landmarks * (USER_BYTES if most is None else LARGE_USER_BYTES)
    require(
        n_users * per_user + n_items * directions * ITEM_BYTES,
        f"the kernel model of {n_users:,} users and {n_items:,} items with {n_landmarks:,} landmarks",
        "lower `landmarks`, use KNNRecommender, or leave out items with few ratings",
    )


def _has_weight(weights: npt.NDArray[Any], user: int) -> Bools:
    """Return which users have a weight, without the user itself (-1: a guest)."""
    has_weight: Bools = np.abs(weights) > MIN_WEIGHT
    if 0 <= user < len(weights):
        has_weight[user] = False
    return has_weight
