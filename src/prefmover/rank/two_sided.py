r"""What to see next: items ranked by what a user likes, and by what people with the user's taste like.

An expected rating answers "how would I like it". A list of recommendations answers another question, and is
ranked by a score of two parts, each of which is a sum that can be shown:

.. math:: \mathrm{score}(u, j) = \underbrace{\sum_{i \in I_u} y_{ui} B_{ij}}_{\text{because you liked } i}
          + \underbrace{\sum_{v \ne u} (K_{uv} A_{vj} + p y_{vj})}_{\text{because } v
          \text{, who is like you, liked it}}

The weights B are those of regressions over items; to them are added, for each user, the weights of taste
factors (:mod:`prefmover.rank.factors`). p is what everybody's like adds, however different they are: with one
rating or two, what most people like says more than anything else, and it counts less and less as a user's
ratings add up.

The item side (:mod:`prefmover.rank.item_side`) is fitted to the likes, the user side to what the item side
leaves. Items without ratings are scored through similar ones. Users without ratings get the mean likes of all
users.

**The user side** is kernel ridge regression over users. The target R (users x items) is what the item side
leaves of the likes. With a kernel of users K = ΦΦᵀ and a penalty λ,

.. math:: S = K (K + \lambda I)^{-1} R = \Phi W, \qquad W = (\Phi^T\Phi + \lambda I)^{-1} \Phi^T R,
          \qquad A = (K + \lambda I)^{-1} R = (R - \Phi W) / \lambda,

so the score of item j for user u is Σ_v K_uv A_vj, a sum over users: the closer v and the more v likes j
beyond what was expected, the larger the part.

A user's own row is left out of the user's own score, as if the user had come after the fit. With the leverage
h_u = φ_uᵀ (ΦᵀΦ + λI)⁻¹ φ_u, that is

.. math:: S_u^{(-u)} = (S_u - h_u R_u) / (1 - h_u), \qquad
          A_v^{(-u)} = A_v + \frac{K^{-}_{vu}}{1 - h_u} A_u, \qquad
          K^{-}_{vu} = \phi_v^T (\Phi^T\Phi + \lambda I)^{-1} \phi_u.

For items that the user has not rated, the item side plus this is 1 / (1 - h_u) times the item side plus S_u:
the order of the items is the same. But now users of the data and guests are treated alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from prefmover._typing import Floats, Ints, Singles, Sparse
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.items.geometry import ItemGeometry
from prefmover.measures import weight
from prefmover.predict.low_rank import LowRankKernel, normalized_weights, self_scale, user_kernel
from prefmover.predict.predictor import UserState
from prefmover.predict.similarity import LandmarkValues, UserSimilarity
from prefmover.predict.solver import sum_rows
from prefmover.rank.factors import TasteFactors
from prefmover.rank.item_side import ItemSide, Predictors, SimilarItems, feature_rows
from prefmover.rank.ranker import LIKES, Likes, NearerThan, Ranker, SideScores, likes_from

__all__ = [
    "RankingSettings",
    "TwoSidedRanker",
    "UserSide",
    "everybody_adds",
    "find_predictors",
    "fit_factors",
    "fit_item_side",
    "fit_user_side",
    "mean_squared_like",
    "user_weights",
]


@dataclass(frozen=True, slots=True)
class RankingSettings:
    """The numbers of the two sides.

    Attributes
    ----------
    likes
        What ratings are taken as: ``"centered"``, ``"given"`` or ``"seen"``; see
        :mod:`prefmover.rank.ranker`.
    item_penalty
        λ of the item side, in units of the mean squared like. None leaves its regression out.
    discount
        β: a user with n ratings has the weight n^-β in the item side's regressions.
    features
        The weight of the items' features in these, in units of the mean squared like.
    weight
        The rule that turns values of the measure into the kernel of users. None is ``"exponential(2.5)"``
        for PMD, and the measure's own rule for others.
    user_penalty
        λ of the user side. None leaves it out.
    factors
        What scores of taste factors are multiplied by, in units of the root mean squared like; see
        :mod:`prefmover.rank.factors`. 0 leaves them out.
    factor_penalty
        λ of the taste factors, in mean ratings.
    popularity
        What the most liked item gets for that, in units of the root mean squared like; others get less in
        proportion to the sum of their likes.
    """

    likes: Likes = "centered"
    item_penalty: float | None = 150.0
    discount: float = 0.5
    features: float = 10.0
    weight: str | None = None
    user_penalty: float | None = 10.0
    factors: float = 0.3
    factor_penalty: float = 6.0
    popularity: float = 0.03

    def __post_init__(self) -> None:
        if self.likes not in LIKES:
            raise InputError(f"likes is {self.likes!r}; choose one of {', '.join(LIKES)}")
        if self.weight is not None:
            weight(self.weight)
        for name in ("discount", "features", "factors", "popularity"):
            value = getattr(self, name)
            if not 0 <= value < np.inf:
                raise InputError(f"{name} is {value!r}; give a number from 0")
        for name in ("item_penalty", "user_penalty", "factor_penalty"):
            value, may_be_none = getattr(self, name), name != "factor_penalty"
            if (value is None and not may_be_none) or (value is not None and not 0 < value < np.inf):
                leave_out = ", or None to leave the side out" if may_be_none else ""
                raise InputError(f"{name} is {value!r}; give a number above 0{leave_out}")


def mean_squared_like(likes: Sparse) -> float:
    """Return the mean square of all likes, the unit of the item penalty; 1 if it is 0."""
    return float(np.sum(likes.data**2) / max(len(likes.data), 1)) or 1.0


def everybody_adds(likes: Sparse, settings: RankingSettings) -> float:
    """Return p, what a like of 1 of any user adds to the score of an item."""
    most = float(np.abs(np.bincount(likes.indices, likes.data, likes.shape[1])).max(initial=0.0))
    unit: float = mean_squared_like(likes) ** 0.5
    return settings.popularity * unit / max(most, 1e-12)


def user_weights(
    values: Floats, self_values: Floats, landmark_self_values: Floats, s: RankingSettings
) -> Floats:
    """Return the kernel between users and landmarks, from values of the measure."""
    assert s.weight is not None
    rule = weight(s.weight)
    scales = (self_scale(rule, one) for one in (self_values, landmark_self_values))
    return normalized_weights(values, rule, *scales)


@dataclass(frozen=True, eq=False)
class UserSide:
    """A solved regression over users."""

    kernel: LowRankKernel  # the users as features
    penalty: float  # λ; infinite if the side is left out
    inverse: Singles  # (rank, rank) (ΦᵀΦ + λI)⁻¹
    weights: Singles  # (rank, n_items) W

    @classmethod
    def fit(cls, kernel: LowRankKernel, moment: Singles, penalty: float | None) -> Self:
        """Return the user side, given ΦᵀR, (rank, n_items); without a penalty, one that says nothing.

        Examples
        --------
        >>> kernel = LowRankKernel.fit(np.array([0, 1]), np.array([[1.0, 0.5], [0.5, 1.0]]).__getitem__, 2)
        >>> side = UserSide.fit(kernel, kernel.features.T, penalty=1.0)  # R is the identity
        >>> (kernel.features @ side.weights).round(4)  # K (K + I)^-1
        array([[0.4667, 0.1333],
               [0.1333, 0.4667]], dtype=float32)
        """
        from scipy.linalg import cho_factor, cho_solve

        if penalty is None:
            return cls(
                kernel, np.inf, np.zeros((kernel.rank, kernel.rank), np.float32), np.zeros_like(moment)
            )
        if not 0 < penalty < np.inf:
            raise InputError(f"the penalty of the user side is {penalty!r}; give a number above 0")
        gram = (kernel.features.T @ kernel.features).astype(np.float64)
        gram[np.diag_indices_from(gram)] += penalty
        inverse = cho_solve(cho_factor(gram, lower=True), np.eye(len(gram)))
        symmetric: Singles = ((inverse + inverse.T) / 2).astype(np.float32)
        return cls(kernel, penalty, symmetric, symmetric @ moment)

    def scores(self, features: Singles) -> Singles:
        """Return the scores of users with these features who are not in the data, (n, n_items)."""
        return features @ self.weights

    def own_scores(self, users: Ints, target: Singles, features: Singles | None = None) -> Singles:
        """Return the scores of users of the data, without their own rows; ``target`` is R of these users.

        The users may be at another place now, which has these ``features``.
        """
        some = self.kernel.features[users]
        through, scores = some @ self.inverse, self.scores(some)
        h = np.einsum("ur,ur->u", through, some, dtype=np.float64)[:, None].astype(np.float32)
        left = np.asarray((target - scores) / (1 - h), np.float32)
        if features is None:
            return np.asarray(scores - h * left, np.float32)
        moved = np.einsum("ur,ur->u", through, features, dtype=np.float64)[:, None].astype(np.float32)
        return np.asarray(self.scores(features) - moved * left, np.float32)

    def parts(self, features: Singles, position: int, residuals: Singles, users: Ints) -> Floats:
        """Return the part of each of some users in a user's score of items, (users, items): K_uv A_vj.

        The user has these features and this position, -1 for a guest; a user of the data, who must be among
        ``users``, has no part in their own score. ``residuals`` are R of ``users`` less the scores Φ W: λ A.
        """
        phi = self.kernel.features[users]
        coefficients = residuals.astype(np.float64) / self.penalty
        own = np.flatnonzero(users == position)
        if len(own):
            through = (phi @ (self.inverse @ phi[own[0]])).astype(np.float64)
            coefficients += np.outer(through / (1 - through[own[0]]), coefficients[own[0]])
        parts = (phi @ features).astype(np.float64)[:, None] * coefficients
        parts[own] = 0.0
        return parts

    def updated(
        self, kernel: LowRankKernel, users: Ints, targets: Iterable[tuple[Singles | None, Singles]]
    ) -> Self:
        """Return the side with some rows changed or added: users of ``kernel``, which has them all.

        The targets of each, (n_items,), are the one to take out, None for a new user, and the one to put in.
        """
        inverse, weights = self.inverse, self.weights
        for user, (old, new) in zip(users.tolist(), targets, strict=True):
            if old is not None:
                inverse, weights = _with_row(inverse, weights, self.kernel.features[user], old, -1)
            inverse, weights = _with_row(inverse, weights, kernel.features[user], new, 1)
        return replace(self, kernel=kernel, inverse=inverse, weights=weights)


def _with_row(
    inverse: Singles, weights: Singles, phi: Singles, target: Singles, sign: int
) -> tuple[Singles, Singles]:
    """Add a row φ, with its target, by the formula of Sherman and Morrison; with sign -1, take it out."""
    step = inverse @ phi
    gain = sign * step / (1 + sign * (phi @ step))
    return inverse - np.outer(gain, step), weights + np.outer(gain, target - phi @ weights)


def find_predictors(
    likes: Sparse,
    geometry: ItemGeometry | None,
    discount: float,
    features: float,
    n_threads: int | None = None,
) -> Predictors:
    """Return what the items are regressed on, given likes (n_users, n_items) and two of the settings."""
    rows, counts, users = None, np.diff(likes.indptr), likes
    if geometry is not None and features and likes.nnz:
        rows = feature_rows(geometry, np.unique(likes.indices).astype(np.int64))
        rows *= np.float32((features * mean_squared_like(likes)) ** 0.5)
    if discount:
        shares = np.maximum(counts, 1.0) ** -discount
        shares *= likes.nnz / max(float(shares @ counts), 1e-12)  # the mean over ratings is 1
        users = likes.copy()
        users.data = likes.data * np.repeat(np.sqrt(shares), counts)
    return Predictors.of(users, rows, n_threads)


def fit_item_side(
    likes: Sparse, geometry: ItemGeometry | None, settings: RankingSettings, n_threads: int | None = None
) -> ItemSide:
    """Return the item side of likes (n_users, n_items)."""
    if settings.item_penalty is None:
        return ItemSide.empty(likes.shape[1])
    predictors = find_predictors(likes, geometry, settings.discount, settings.features, n_threads)
    return predictors.regress(settings.item_penalty * mean_squared_like(likes), n_threads)


def fit_factors(data: Dataset, penalty: float, n_threads: int | None = None) -> TasteFactors:
    """Return the taste factors of the ratings of a data set, with the features of its items."""
    ratings, geometry, features = data.ratings, data.geometry, None
    if geometry is not None and ratings.n_ratings:
        features = feature_rows(geometry, np.unique(ratings.matrix.indices).astype(np.int64))
    return TasteFactors.fit(ratings.matrix, penalty, features, n_threads=n_threads)


def fit_user_side(
    likes: Sparse,
    item_side: ItemSide,
    kernel: LowRankKernel,
    penalty: float | None,
    n_threads: int | None = None,
) -> UserSide:
    """Return the user side of what the item side leaves of likes (n_users, n_items)."""
    if penalty is None:
        return UserSide.fit(kernel, np.zeros((kernel.rank, likes.shape[1]), np.float32), None)
    # ΦᵀR = ΦᵀY - (ΦᵀY)B: the rows of R, users x items, are never made.
    moment = sum_rows(likes.astype(np.float32).tocsc(), kernel.features, n_threads=n_threads)
    moment -= item_side.mixed(moment, n_threads)
    return UserSide.fit(kernel, moment.T, penalty)


@dataclass(frozen=True, eq=False)
class TwoSidedRanker(Ranker):
    """The ranking of the default model: an item side and a user side."""

    settings: RankingSettings
    landmark_self_values: Floats  # (landmarks,) the measure between each landmark and itself
    item_side: ItemSide
    user_side: UserSide
    adds: float  # what a like of 1 of any user adds to the score of an item
    factors: TasteFactors | None = None

    @classmethod
    def fit(cls, similarity: UserSimilarity, settings: RankingSettings, compared: LandmarkValues) -> Self:
        """Return the ranker, given the measure between all users and the landmarks."""
        assert settings.weight is not None
        data, n_threads, geometry = similarity.data, similarity.n_threads, similarity.data.geometry
        likes = likes_from(data.ratings, settings.likes)
        kernel = user_kernel(compared, weight(settings.weight))
        item_side = fit_item_side(likes, geometry, settings, n_threads)
        user_side = fit_user_side(likes, item_side, kernel, settings.user_penalty, n_threads)
        similar = SimilarItems.fit(np.unique(likes.indices).astype(np.int64), geometry)
        own_values = compared.self_values[compared.landmarks]
        adds, factors = everybody_adds(likes, settings), None
        if settings.factors:
            scale = settings.factors * mean_squared_like(likes) ** 0.5
            factors = replace(fit_factors(data, settings.factor_penalty, n_threads), scale=scale)
        return cls(similarity, similar, settings, own_values, item_side, user_side, adds, factors)

    @property
    def taken(self) -> Likes:
        """What ratings are taken as."""
        return self.settings.likes

    def place(self, state: UserState) -> Singles:
        """Return the features of a user."""
        if state.guest is None:
            return np.asarray(self.user_side.kernel.features[state.position])
        assert state.to_landmarks is not None
        return self._place(*state.to_landmarks)[0]

    def _place(self, values: Floats, self_value: float) -> tuple[Singles, float]:
        """Return the features of one user, and the part of the user that the landmarks do not explain."""
        weights = user_weights(values[None], np.array([self_value]), self.landmark_self_values, self.settings)
        features, unexplained = self.user_side.kernel.project(weights)
        return features[0], float(unexplained[0])

    def _block(self, users: Ints) -> SideScores:
        rows = self.likes[users]
        own, items = rows.toarray().astype(np.float32), self.item_side.scores(rows)
        others = self.user_side.own_scores(users, own - items)
        if self.factors is not None:
            items += self.factors.scores(self.similarity.data.ratings.matrix[users])
        return SideScores(items, others + np.float32(self.adds) * (self.total_likes - own))

    def _scores(self, state: UserState) -> SideScores:
        if state.guest is None:
            return self._block(np.array([state.position]))
        features, likes = self.placed(state)[None], self.total_likes
        if state.position < 0:
            users = self.user_side.scores(features)
        else:
            row, user = self.likes[[state.position]], np.array([state.position])
            users = self.user_side.own_scores(user, self._left(row)[None], features)
            likes = likes - row.toarray()[0].astype(np.float32)
        users = users + np.float32(self.adds) * likes
        items = self.item_side.scores(self.own_likes(state))
        if self.factors is not None:
            items += self.factors.scores(state.guest.matrix)
        return SideScores(items, users)

    def like_minded(self, state: UserState, k: int) -> Ints:
        """Return the k users with the largest K_uv, largest first, if the measure is defined for them."""
        best = self.user_side.kernel.largest(self.placed(state), k, state.position)
        if self.similarity.calibration is not None or not len(best):
            return best
        # Through others, a user may have a weight for whom the measure itself is undefined.
        undefined = np.isnan(self.similarity.exact_values(state.who, best)[0])
        return np.asarray(best[~undefined])

    def nearer_than(self, state: UserState, users: Ints, values: Floats | None) -> NearerThan:
        """Return how near some users are among the landmarks, who are all users or a random sample.

        The landmarks' distances are those that the scores use: estimated if there is a calibration. Values
        of the users take their place.
        """
        similarity, landmarks = self.similarity, self.similarity.landmarks
        sample = self._to_landmarks(state)
        if values is None:
            values = similarity.estimated_values(state.who, users)[0]
        at = np.searchsorted(landmarks, users)
        there = landmarks[np.minimum(at, len(landmarks) - 1)] == users
        sample[at[there]] = values[there]
        sample = sample[landmarks != state.position]
        sign = 1 if similarity.measure.larger_is_closer else -1
        closeness, those = (np.where(np.isnan(some), -np.inf, sign * some) for some in (sample, values))
        n_less_near = np.searchsorted(np.sort(closeness), those)
        n_others = similarity.data.n_users - (state.position >= 0)
        estimated = similarity.calibration is not None or len(sample) < n_others
        return NearerThan(n_less_near / np.where(there, len(sample), len(sample) + 1), estimated)

    def _to_landmarks(self, state: UserState) -> Floats:
        """Return the measure between a user and the landmarks, as the scores use it."""
        if state.to_landmarks is not None:
            return state.to_landmarks[0].copy()
        if self.similarity.calibration is None:
            return np.asarray(self.similarity.exact_values(state.who, self.similarity.landmarks)[0])
        return self.similarity.to_landmarks(self.similarity.data.ratings.take(users=[state.position]))[0]

    def _terms(self, state: UserState, items: Ints, users: Ints) -> tuple[Any, Floats]:
        own = self.own_likes(state)
        terms: Floats = own.data[:, None] * self.item_side.weights(own.indices.astype(np.int64), items)
        if self.factors is not None:
            terms = terms + self.factors.weights(self.own_ratings(state), items)
        rows = np.append(users, max(state.position, 0))  # also the user's own row
        likes, features = self.likes[rows], self.user_side.kernel.features[rows]
        some = likes[:, items].toarray().astype(np.float32)
        rest = some - self.item_side.scores(likes, items)
        rest -= features @ self.user_side.weights[:, items]  # R - ΦW
        parts = self.user_side.parts(self.placed(state), state.position, rest, rows)
        parts += self.adds * some * (rows != state.position)[:, None]
        return terms, parts

    def with_data(
        self, similarity: UserSimilarity, users: Ints, compared: list[tuple[Floats, float]] | None
    ) -> Self:
        """Return the ranker of data with more users, or with other ratings of some.

        The item side and the places of all other users stay as they are; the user side is updated row by row.
        """
        assert compared is not None
        likes, kernel = likes_from(similarity.data.ratings, self.taken), self.user_side.kernel
        known = users < self.likes.shape[0]
        places = [self._place(*values) for values in compared]
        features, unexplained = zip(*places, strict=True)
        kernel = kernel.with_rows(users, np.stack(features), np.array(unexplained), likes.shape[0])
        targets = (
            (self._left(self.likes[[u]]) if was_there else None, self._left(likes[[u]]))
            for u, was_there in zip(users, known, strict=True)
        )
        return replace(self, similarity=similarity, user_side=self.user_side.updated(kernel, users, targets))

    def _left(self, row: Sparse) -> Singles:
        """Return what the item side leaves of a row of likes, (n_items,)."""
        return np.asarray((row.toarray().astype(np.float32) - self.item_side.scores(row))[0])

    def with_items(self, similarity: UserSimilarity) -> Self:
        """Return the ranker of data with more items, which are ranked through similar ones."""
        item_side, side = self.item_side.with_items(similarity.data.n_items), self.user_side
        none = np.zeros((len(side.weights), item_side.n_items - self.item_side.n_items), np.float32)
        side = replace(side, weights=np.concatenate([side.weights, none], axis=1))
        factors = None if self.factors is None else self.factors.with_items(similarity.data.n_items)
        return replace(super().with_items(similarity), item_side=item_side, user_side=side, factors=factors)
