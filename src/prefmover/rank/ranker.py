"""Rankers: the scores that a list of recommendations is ordered by, and the parts that they are sums of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ints
from prefmover.data.ratings import Ratings
from prefmover.dataset import Dataset, geometry_if
from prefmover.errors import InputError
from prefmover.measures.weights import weight
from prefmover.predict.low_rank import Singles, UserKernel, check_array, scaled_weights, self_scale
from prefmover.predict.predictor import UserState
from prefmover.predict.similarity import UserSimilarity
from prefmover.rank.co_likes import CoLikes
from prefmover.rank.ease import ItemSide
from prefmover.rank.similar_items import SimilarItems
from prefmover.rank.two_sided import (
    Ranking,
    RankingSettings,
    SideScores,
    likes_of,
    mean_likes,
    row_angles,
    user_weights,
)
from prefmover.rank.user_ridge import UserSide

__all__ = ["Parts", "Ranker", "TwoSidedRanker", "VoteRanker"]

KERNEL_ARRAYS = ("landmarks", "whitening", "features", "rest")
SPARSE_ARRAYS = ("data", "indices", "indptr")


class NearerThan(NamedTuple):
    """How near some users are among all.

    Attributes
    ----------
    shares
        (users,) the share of the other users who are less near than each.
    estimated
        Whether the shares are estimates: the others are a sample, or their distances are estimated.
    """

    shares: Floats
    estimated: bool


class Parts(NamedTuple):
    """The parts of the scores of some items for one user.

    Attributes
    ----------
    likes
        (rated,) the user's likes, in the order of the state's items.
    items
        (rated, items) what each of the user's ratings adds.
    weights
        (users,) K between the user and other users.
    users
        (users, items) what each of these users adds.
    """

    likes: Floats
    items: Floats
    weights: Floats
    users: Floats


@dataclass(frozen=True, eq=False)
class Ranker(ABC):
    """A fitted ranking. Users and items are positions."""

    similarity: UserSimilarity

    @abstractmethod
    def _block(self, users: Ints) -> SideScores:
        """Return the scores of users of the data who have ratings, (users, n_items)."""

    @abstractmethod
    def guest(self, guest: Ratings) -> Any:
        """Return what the ranker needs to know about a guest; a state carries it."""

    @abstractmethod
    def guest_scores(self, state: UserState) -> SideScores:
        """Return the scores of a guest, (1, n_items)."""

    @abstractmethod
    def _parts(self, state: UserState, items: Ints, users: Ints | None) -> Parts:
        """Return the parts of the scores of items for a user with ratings."""

    @abstractmethod
    def like_minded(self, state: UserState, k: int) -> Ints:
        """Return the k users with the largest weights in the scores of a user with ratings, largest first.

        They are fewer if fewer have a weight.
        """

    @abstractmethod
    def nearer_than(self, state: UserState, users: Ints, values: Floats | None) -> NearerThan:
        """Return how near some of the like-minded users are, given the exact values of the measure.

        Without values, those that the scores use are taken.
        """

    @abstractmethod
    def with_data(self, data: Dataset, changed: Ints) -> Self:
        """Return the ranker of data with more users, or with other ratings of the users ``changed``."""

    @abstractmethod
    def with_items(self, data: Dataset) -> Self:
        """Return the ranker of data with more items, which nobody has rated."""

    @cached_property
    def likes(self) -> Any:
        """(n_users, n_items) likes of the data."""
        return likes_of(self.similarity.data.ratings)

    @cached_property
    def mean_likes(self) -> Singles:
        """(n_items,) the scores of a user without ratings: everybody adds the same amount."""
        return mean_likes(self.likes).astype(np.float32)

    @cached_property
    def co_likes(self) -> CoLikes:
        """Who liked what, for reasons."""
        return CoLikes.of(self.similarity.data.ratings)

    @cached_property
    def near_limits(self) -> dict[int, tuple[float, float]]:
        """By item: the distances up to which others are near, and up to which they are not far."""
        return {}

    def block(self, users: Ints) -> SideScores:
        """Return the scores of users of the data, (users, n_items); without ratings, mean likes."""
        scores, empty = self._block(users), np.diff(self.likes.indptr)[users] == 0
        if empty.any():
            scores.items[empty], scores.users[empty] = 0.0, self.mean_likes
        return scores

    def scores(self, state: UserState) -> SideScores:
        """Return the scores of one user, (1, n_items); those of an unknown user are mean likes."""
        if state.position >= 0:
            return self.block(np.array([state.position]))
        if state.guest is not None:
            return self.guest_scores(state)
        return SideScores(np.zeros((1, len(self.mean_likes)), np.float32), self.mean_likes[None])

    def parts(self, state: UserState, items: Ints, users: Ints | None = None) -> Parts:
        """Return all parts of the scores of items; the sums over both kinds are the scores.

        With ``users``, the positions of some users, only their parts are computed.
        """
        if state.position < 0 and state.guest is None:
            raise InputError(f"nothing is known about {state.name!r}, so there are no reasons")
        if len(state.items):
            return self._parts(state, items, users)
        rows, n_users = slice(None) if users is None else users, self.similarity.data.n_users
        likes = self.likes[rows][:, items].toarray() / n_users
        return Parts(np.empty(0), np.empty((0, len(items))), np.full(len(likes), 1 / n_users), likes)


@dataclass(frozen=True, eq=False)
class TwoSidedRanker(Ranker):
    """The ranking of the default model: an item side and a user side (:mod:`prefmover.rank.two_sided`).

    Attributes
    ----------
    landmark_self_values
        (landmarks,) the measure between each landmark and itself.
    ranking
        The two sides.
    """

    landmark_self_values: Floats
    ranking: Ranking

    @classmethod
    def fit(
        cls, similarity: UserSimilarity, settings: RankingSettings, landmarks: Ints, values: Floats | Singles
    ) -> Self:
        """Return the ranker, given the measure between all users and the landmarks."""
        data, rule = similarity.data, weight(settings.weight)
        likes, self_values = likes_of(data.ratings), similarity.self_values(np.arange(data.n_users))
        scale, own = self_scale(rule, self_values), self_scale(rule, self_values[landmarks])
        rows = likes[landmarks]

        def weights(users: Ints) -> Floats:
            block = scaled_weights(values[users].astype(np.float64), rule, scale[users], own)
            if settings.overlap:
                block *= np.exp(-settings.overlap * row_angles(likes[users], rows))
            block[users[:, None] == landmarks[None, :]] = 1.0
            return block

        kernel = UserKernel.from_blocks(data.n_users, landmarks, weights)
        ranking = Ranking.fit(likes, data.geometry, kernel, settings, similarity.n_threads)
        return cls(similarity, self_values[landmarks], ranking)

    @cached_property
    def likes(self) -> Any:
        """(n_users, n_items) likes of the data."""
        return self.ranking.likes

    def _block(self, users: Ints) -> SideScores:
        return self.ranking.scores(users)

    def guest(self, guest: Ratings) -> Singles:
        """Return the features of a guest."""
        return self._place(guest, likes_of(guest))[0]

    def guest_scores(self, state: UserState) -> SideScores:
        """Return the scores of a guest, (1, n_items)."""
        assert state.guest is not None
        return self.ranking.guest_scores(likes_of(state.guest), state.ranking)

    def like_minded(self, state: UserState, k: int) -> Ints:
        """Return the k users with the largest K_uv, largest first, if the measure is defined for them."""
        kernel = self.ranking.user_side.kernel
        own = kernel.features[state.position] if state.guest is None else state.ranking
        best = kernel.largest(own, k, state.position)
        if self.similarity.calibration is not None:
            return best
        # Through others, a user may have a weight for whom the measure itself is undefined.
        return best[~np.isnan(self.similarity.exact_values(state.position, state.guest, best))]

    def nearer_than(self, state: UserState, users: Ints, values: Floats | None) -> NearerThan:
        """Return how near some users are among the landmarks, who are all users or a random sample.

        The landmarks' distances are those that the scores use: estimated if there is a calibration. Values
        of the users take their place.
        """
        similarity, landmarks = self.similarity, self.ranking.user_side.kernel.landmarks
        unknown = users if values is None else users[:0]
        sample, estimates = similarity.estimates_from(state.position, state.guest, landmarks, unknown)
        values = estimates if values is None else values
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

    def _parts(self, state: UserState, items: Ints, users: Ints | None) -> Parts:
        known = state.guest is None
        rows = self.likes[[state.position]] if state.guest is None else likes_of(state.guest)
        features = self.ranking.user_side.kernel.features
        own = features[state.position] if known else state.ranking
        everyone = np.arange(len(features)) if users is None else users
        weights = (features[everyone] @ own).astype(np.float64)
        weights[everyone == state.position] = 0.0
        return Parts(
            rows.data,
            self.ranking.item_parts(rows.indices.astype(np.int64), rows.data, items),
            weights,
            self.ranking.user_parts(own, state.position, items, users),
        )

    def with_data(self, data: Dataset, changed: Ints) -> Self:
        """Return the ranker of data with more users, or with other ratings of the users ``changed``.

        The item side and the places of all other users stay as they are; the user side is updated row by row.
        """
        old, likes = self.ranking, likes_of(data.ratings)
        n_before, side = old.likes.shape[0], old.user_side
        for user in changed.tolist():
            row = likes[[user]]
            features, rest = self._place(data.ratings.take(users=[user]), row)
            before, after = (_left(old.item_side, some) for some in (old.likes[[user]], row))
            side = side.replaced(user, features, rest, before, after)
        if data.n_users > n_before:
            more = np.arange(n_before, data.n_users)
            placed = [self._place(data.ratings.take(users=[u]), likes[[u]]) for u in more.tolist()]
            places = np.stack([one for one, _ in placed]), np.array([one for _, one in placed])
            kernel = side.kernel.replaced(more, *places, data.n_users)
            side = side.extended(kernel, (_left(old.item_side, likes[[u]]) for u in more.tolist()))
        ranking = replace(old, likes=likes, user_side=side)
        return replace(self, similarity=self.similarity.updated(data), ranking=ranking)

    def with_items(self, data: Dataset) -> Self:
        """Return the ranker of data with more items, which are ranked through similar ones."""
        ranking = self.ranking.with_items(likes_of(data.ratings), data.require_geometry("a new item"))
        return replace(self, similarity=self.similarity.with_items(data), ranking=ranking)

    def _place(self, ratings: Ratings, likes: Any) -> tuple[Singles, float]:
        """Return the features of one user, and the part of the user that the landmarks do not explain."""
        r, landmarks = self.ranking, self.ranking.user_side.kernel.landmarks
        values, self_value = self.similarity.landmark_estimates(ratings, landmarks)
        angles = None
        if r.settings.overlap:
            angles = row_angles(likes, likes_of(self.similarity.landmark_data.ratings)[landmarks])
        self_values = np.array([self_value])
        weights = user_weights(values[None], self_values, self.landmark_self_values, angles, r.settings)
        features, rest = r.user_side.kernel.project(weights)
        return features[0], float(rest[0])

    def to_arrays(self) -> dict[str, Any]:
        """Return the arrays that :meth:`from_arrays` takes."""
        r = self.ranking
        arrays: dict[str, Any] = {
            f"kernel.{name}": getattr(r.user_side.kernel, name) for name in KERNEL_ARRAYS
        }
        arrays |= {"landmark_self_values": self.landmark_self_values}
        arrays |= {"inverse": r.user_side.inverse, "user_weights": r.user_side.weights}
        arrays |= {"items": r.item_side.items, "right": r.item_side.right, "diagonal": r.item_side.diagonal}
        similar = None if r.similar is None else r.similar.weights
        for name, matrix in (
            ("similar", similar),
            ("likes", r.item_side.likes),
            ("sparse", r.item_side.sparse),
        ):
            if matrix is not None:
                arrays |= {f"{name}.{part}": getattr(matrix, part) for part in SPARSE_ARRAYS}
        return {f"ranking.{name}": array for name, array in arrays.items()}

    def to_facts(self) -> dict[str, Any]:
        """Return the numbers that :meth:`from_arrays` takes."""
        return {"settings": asdict(self.ranking.settings)}

    @classmethod
    def from_arrays(
        cls, similarity: UserSimilarity, facts: Mapping[str, Any], arrays: Mapping[str, Any]
    ) -> Self:
        """Return a ranker from :meth:`to_facts` and :meth:`to_arrays`, checked."""
        data = similarity.data
        a = {name.removeprefix("ranking."): array for name, array in arrays.items()}
        settings, likes = RankingSettings(**facts["settings"]), likes_of(data.ratings)
        kernel = UserKernel(**{name: a[f"kernel.{name}"] for name in KERNEL_ARRAYS})
        user_side = UserSide(kernel, float(settings.user_penalty), a["inverse"], a["user_weights"])
        user_side.check(data.n_users, data.n_items)
        used = _stored(a, "likes", (len(a["right"]), len(a["items"])))
        sparse = _stored(a, "sparse", (data.n_items, data.n_items), np.float32)
        item_side = ItemSide(data.n_items, a["items"], used, a["right"], a["diagonal"], sparse)
        item_side.check(data.n_items)
        self_values = a["landmark_self_values"]  # NaN where the measure is undefined
        check_array("landmark_self_values", self_values, np.float64, kernel.landmarks.shape, finite=False)
        weights = _stored(a, "similar", (data.n_items, data.n_items))
        similar = None if weights is None else SimilarItems(weights)
        if similar is not None:
            similar.check(data.n_items)
        return cls(similarity, self_values, Ranking(likes, settings, item_side, user_side, similar))


@dataclass(frozen=True, eq=False)
class VoteRanker(Ranker):
    """The ranking of a neighbor average: the k nearest users vote with their likes, Σ_v w_uv y_vj.

    An item that one neighbor gave five stars gets one vote; one that many liked gets many. Weights are
    divided by the sum of their sizes, so that a score is a mean like.

    Attributes
    ----------
    weight
        The rule that turns values of the measure into weights.
    k
        The number of neighbors.
    similar
        For items without ratings, similar items; None if there is no such item, or no geometry.
    """

    weight: Any
    k: int
    similar: SimilarItems | None = None

    def _block(self, users: Ints) -> SideScores:
        if len(users) == 1:  # remembered for the reasons
            neighbors, values = self.similarity.nearest_to(int(users[0]), self.k)
            return self._votes(np.array([0, len(neighbors)]), neighbors, self.weight(values))
        nearest = self.similarity.nearest(users, self.k)
        return self._votes(nearest.indptr, nearest.neighbors, self.weight(nearest.values))

    def guest(self, guest: Ratings) -> tuple[Ints, Floats]:
        """Return the nearest users of a guest, and their weights."""
        nearest = self.similarity.nearest(None, self.k, guest)
        return nearest.neighbors, self.weight(nearest.values)

    def guest_scores(self, state: UserState) -> SideScores:
        """Return the scores of a guest, (1, n_items)."""
        neighbors, weights = state.ranking
        return self._votes(np.array([0, len(neighbors)]), neighbors, weights)

    def _neighbors(self, state: UserState) -> tuple[Ints, Floats]:
        """Return the nearest users, and their weights."""
        if state.guest is not None:
            neighbors, weights = state.ranking
            return neighbors, weights
        neighbors, values = self.similarity.nearest_to(state.position, self.k)
        return neighbors, self.weight(values)

    def like_minded(self, state: UserState, k: int) -> Ints:
        """Return the nearest k of the users who vote."""
        return self._neighbors(state)[0][:k]

    def nearer_than(self, state: UserState, users: Ints, values: Floats | None) -> NearerThan:
        """Return how near some of the users who vote are: all others are less near than those after them."""
        neighbors, n_others = self._neighbors(state)[0], self.similarity.data.n_users - (state.position >= 0)
        order = np.argsort(neighbors, kind="stable")
        rank = order[np.searchsorted(neighbors, users, sorter=order)]
        return NearerThan((n_others - 1 - rank) / n_others, estimated=False)

    def _parts(self, state: UserState, items: Ints, users: Ints | None) -> Parts:
        neighbors, some = self._neighbors(state)
        likes = (self.likes[[state.position]] if state.guest is None else likes_of(state.guest)).data
        some = np.nan_to_num(some)
        weights = np.zeros(self.similarity.data.n_users)
        weights[neighbors] = some / (np.abs(some).sum() or 1.0)
        rows = slice(None) if users is None else users
        weights, given = weights[rows], self.likes[rows]

        def votes(some: Ints) -> Floats:
            return np.asarray(weights[:, None] * given[:, some].toarray())

        parts = votes(items) if self.similar is None else self.similar.columns(items, votes)
        return Parts(likes, np.zeros((len(likes), len(items))), weights, parts)

    def with_data(self, data: Dataset, changed: Ints) -> Self:
        """Return the ranker of other data."""
        similarity = self.similarity.with_data(data)
        geometry = geometry_if(data, similarity.measure.needs_geometry)
        return replace(
            self, similarity=similarity, similar=SimilarItems.of_likes(likes_of(data.ratings), geometry)
        )

    def with_items(self, data: Dataset) -> Self:
        """Return the ranker of data with more items, which are ranked through similar ones."""
        geometry, rated = data.require_geometry("a new item"), np.arange(self.similarity.data.n_items)
        similar = self.similar.with_items(geometry) if self.similar else SimilarItems.fit(rated, geometry)
        return replace(self, similarity=self.similarity.with_items(data), similar=similar)

    def _votes(self, indptr: Ints, neighbors: Ints, weights: Floats) -> SideScores:
        from scipy.sparse import csr_array

        shape = (len(indptr) - 1, self.similarity.data.n_users)
        matrix = csr_array((np.nan_to_num(weights), neighbors, indptr), shape=shape)
        total = np.bincount(np.repeat(np.arange(shape[0]), np.diff(indptr)), np.abs(matrix.data), shape[0])
        votes = np.asarray((matrix @ self.likes).toarray(), np.float32)
        votes /= np.where(total > 0, total, 1.0)[:, None].astype(np.float32)
        return SideScores(np.zeros_like(votes), votes if self.similar is None else self.similar.filled(votes))


def _stored(
    arrays: Mapping[str, Any], name: str, shape: tuple[int, int], dtype: npt.DTypeLike = np.float64
) -> Any:
    """Return a sparse matrix from its stored arrays, checked; None if it was not stored."""
    from scipy.sparse import csr_array

    if f"{name}.data" not in arrays:
        return None
    parts = tuple(arrays[f"{name}.{part}"] for part in SPARSE_ARRAYS)
    try:
        matrix = csr_array(parts, shape=shape)
        matrix.check_format(full_check=True)
        check_array(name, matrix.data, dtype, matrix.data.shape)
    except (ValueError, TypeError) as error:
        raise InputError(f"{name} is damaged: {error}") from None
    return matrix


def _left(item_side: ItemSide, row: Any) -> Singles:
    """Return what the item side leaves of a row of likes, (n_items,)."""
    rest: Singles = (row.toarray().astype(np.float32) - item_side.scores(row))[0]
    return rest
