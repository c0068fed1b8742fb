"""Rankers: the scores that a list is ordered by, and the terms that they are sums of. The votes of neighbors.

The *likes* y are 0 where there is no rating. What a rating is taken as is a setting (:data:`LIKES`):
``"centered"`` is y_ui = r_ui - r̄_u / 2, where a rating below half of the user's mean counts against;
``"given"`` is the rating as it is, or the strength of implicit feedback; ``"seen"`` is 1. The strengths of
implicit feedback are not centered.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np

from prefmover._pickled import PickledFields
from prefmover._typing import Floats, Ints, Singles, Sparse
from prefmover.data.ratings import Ratings
from prefmover.dataset import geometry_if
from prefmover.measures import Weight
from prefmover.predict.predictor import UserState
from prefmover.predict.similarity import UserSimilarity
from prefmover.rank.item_side import SimilarItems

__all__ = ["LIKES", "Likes", "NearerThan", "Ranker", "ScoreTerms", "SideScores", "VoteRanker", "likes_from"]

Likes = Literal["centered", "given", "seen"]
LIKES: tuple[Likes, ...] = get_args(Likes)


class SideScores(NamedTuple):
    """The two parts of scores, (users, items) each; a score is their sum."""

    items: Singles
    users: Singles

    @property
    def total(self) -> Singles:
        """The scores."""
        return self.items + self.users


class ScoreTerms(NamedTuple):
    """The terms of the scores of some items for one user."""

    item_terms: Floats  # (rated, items) what each of the user's ratings adds
    user_terms: Floats  # (users, items) what each user adds


class NearerThan(NamedTuple):
    """How near some users are among all."""

    shares: Floats  # (users,) the share of the other users who are less near than each
    # Whether the shares are estimates: the others are a sample, or their distances are estimated.
    estimated: bool


def likes_from(ratings: Ratings, taken: Likes = "centered") -> Sparse:
    """Return the likes of ratings.

    >>> ratings = Ratings.from_arrays(["ann", "ann", "bob"], ["x", "y", "y"], [5, 1, 4])
    >>> likes_from(ratings).toarray()
    array([[ 3.5, -0.5],
           [ 0. ,  2. ]])
    """
    from scipy.sparse import csr_array

    m = ratings.matrix
    values = np.ones_like(m.data) if taken == "seen" else m.data
    if taken == "centered" and not ratings.scale.implicit:
        counts = np.diff(m.indptr)
        means = np.bincount(ratings.rows(), m.data, ratings.n_users) / np.maximum(counts, 1)
        values = m.data - np.repeat(means, counts) / 2
    return csr_array((values, m.indices, m.indptr), shape=m.shape)


@dataclass(frozen=True, eq=False)
class Ranker(PickledFields, ABC):
    """A fitted ranking. Users and items are positions."""

    similarity: UserSimilarity
    # For items without ratings, similar items; None if there is no such item, or no geometry.
    similar: SimilarItems | None

    @abstractmethod
    def place(self, state: UserState) -> Any:
        """Return what the scores of a user with ratings need; a state carries it as ``ranking``."""

    def placed(self, state: UserState) -> Any:
        """Return :meth:`place`, which the state may carry."""
        return self.place(state) if state.ranking is None else state.ranking

    @abstractmethod
    def _block(self, users: Ints) -> SideScores:
        """Return the scores of users of the data who have ratings, (users, n_items)."""

    @abstractmethod
    def _scores(self, state: UserState) -> SideScores:
        """Return the scores of one user with ratings, (1, n_items)."""

    @abstractmethod
    def _terms(self, state: UserState, items: Ints, users: Ints) -> tuple[Any, Floats]:
        """Return what each rated item, and what each user, adds to scores of items.

        There may be more rows, after those of ``users``.
        """

    @abstractmethod
    def like_minded(self, state: UserState, k: int) -> Ints:
        """Return up to k users with the largest weights in the scores of a user who has ratings, in order."""

    @abstractmethod
    def nearer_than(self, state: UserState, users: Ints, values: Floats | None) -> NearerThan:
        """Return how near some of the like-minded users are, given the exact values of the measure.

        Without values, those that the scores use are taken.
        """

    @abstractmethod
    def with_data(
        self, similarity: UserSimilarity, users: Ints, compared: list[tuple[Floats, float]] | None
    ) -> Self:
        """Return the ranker of data with other ratings of some users, and with more users.

        ``compared`` is as in :meth:`prefmover.predict.predictor.Predictor.with_data`.
        """

    def with_items(self, similarity: UserSimilarity) -> Self:
        """Return the ranker of data with more items, which nobody has rated: they are like similar ones."""
        rated = np.arange(self.similarity.data.n_items)
        if self.similar is not None:
            rated = np.flatnonzero(~self.similar.is_unrated)
        similar = SimilarItems.fit(rated, similarity.data.require_geometry("a new item"))
        return replace(self, similarity=similarity, similar=similar)

    @property
    def taken(self) -> Likes:
        """What ratings are taken as."""
        return "centered"

    @cached_property
    def likes(self) -> Any:
        """(n_users, n_items) likes of the data."""
        return likes_from(self.similarity.data.ratings, self.taken)

    @cached_property
    def total_likes(self) -> Singles:
        """(n_items,) the sums of the likes of each item."""
        return np.bincount(self.likes.indices, self.likes.data, self.likes.shape[1]).astype(np.float32)

    @cached_property
    def mean_likes(self) -> Singles:
        """(n_items,) the scores of a user without ratings: everybody adds the same amount."""
        return np.asarray(self.total_likes / np.float32(max(self.likes.shape[0], 1)), np.float32)

    def own_likes(self, state: UserState) -> Sparse:
        """Return the likes of one user, (1, n_items)."""
        return self.likes[[state.position]] if state.guest is None else likes_from(state.guest, self.taken)

    def own_ratings(self, state: UserState) -> Sparse:
        """Return the ratings of one user, (1, n_items)."""
        matrix = self.similarity.data.ratings.matrix
        return matrix[[state.position]] if state.guest is None else state.guest.matrix

    def block(self, users: Ints) -> SideScores:
        """Return the scores of users of the data, (users, n_items); without ratings, mean likes."""
        scores, empty = self._filled(self._block(users)), np.diff(self.likes.indptr)[users] == 0
        if empty.any():
            scores.items[empty], scores.users[empty] = 0.0, self.mean_likes
        return scores

    def scores(self, state: UserState) -> SideScores:
        """Return the scores of one user, (1, n_items); those of a user without ratings are mean likes."""
        if len(state.rated):
            return self._filled(self._scores(state))
        return SideScores(np.zeros((1, len(self.mean_likes)), np.float32), self.mean_likes[None])

    def _filled(self, scores: SideScores) -> SideScores:
        """Return scores with those of unrated items, which are mixtures."""
        return scores if self.similar is None else SideScores(*map(self.similar.filled, scores))

    def terms(self, state: UserState, items: Ints, users: Ints) -> ScoreTerms:
        """Return terms of the scores of items for a user with ratings: of all ratings, and of some users.

        The sums over the ratings, and over all users, are the scores.
        """
        if self.similar is None or not self.similar.is_unrated[items].any():
            of_likes, of_users = self._terms(state, items, users)
        else:
            needed, mixtures = self.similar.mixtures(items)
            terms = self._terms(state, needed, users)
            of_likes, of_users = (np.asarray(part, np.float64) @ mixtures for part in terms)
        return ScoreTerms(of_likes, of_users[: len(users)])


@dataclass(frozen=True, eq=False)
class VoteRanker(Ranker):
    """The ranking of a neighbor average: the k nearest users vote with their likes, Σ_v w_uv y_vj.

    An item that one neighbor gave five stars gets one vote; one that many liked gets many. Weights are
    divided by the sum of their sizes, so that a score is a mean like.
    """

    weight: Weight  # the rule that turns values of the measure into weights
    k: int  # the number of neighbors

    @classmethod
    def fit(cls, similarity: UserSimilarity, weight: Weight, k: int) -> Self:
        """Return the ranker of the users of the data."""
        data = similarity.data
        geometry = geometry_if(data, similarity.measure.needs_geometry)
        similar = SimilarItems.fit(np.flatnonzero(data.ratings_per_item), geometry)
        return cls(similarity, similar, weight, k)

    def place(self, state: UserState) -> tuple[Ints, Floats]:
        """Return the nearest users of one user, and their weights."""
        nearest = self.similarity.nearest(state.who, self.k, but=state.position)
        return nearest.neighbors, self.weight(nearest.values)

    def _block(self, users: Ints) -> SideScores:
        nearest = self.similarity.nearest(users, self.k)
        return self._votes(nearest.indptr, nearest.neighbors, self.weight(nearest.values))

    def _scores(self, state: UserState) -> SideScores:
        neighbors, weights = self.placed(state)
        return self._votes(np.array([0, len(neighbors)]), neighbors, weights)

    def like_minded(self, state: UserState, k: int) -> Ints:
        """Return the nearest k of the users who vote."""
        return np.asarray(self.placed(state)[0][:k])

    def nearer_than(self, state: UserState, users: Ints, values: Floats | None) -> NearerThan:
        """Return how near some of the users who vote are: all others are less near than those after them."""
        neighbors, n_others = self.placed(state)[0], self.similarity.data.n_users - (state.position >= 0)
        order = np.argsort(neighbors, kind="stable")
        rank = order[np.searchsorted(neighbors, users, sorter=order)]
        return NearerThan((n_others - 1 - rank) / n_others, estimated=False)

    def _terms(self, state: UserState, items: Ints, users: Ints) -> tuple[Any, Floats]:
        neighbors, some = self.placed(state)
        some = np.nan_to_num(some)
        weights = np.zeros(self.similarity.data.n_users)
        weights[neighbors] = some / (np.abs(some).sum() or 1.0)
        votes = weights[users, None] * self.likes[users][:, items].toarray()
        return np.zeros((len(state.rated), len(items))), votes

    def with_data(
        self, similarity: UserSimilarity, users: Ints, compared: list[tuple[Floats, float]] | None
    ) -> Self:
        """Return the ranker of other data."""
        return self.fit(similarity, self.weight, self.k)

    def _votes(self, indptr: Ints, neighbors: Ints, weights: Floats) -> SideScores:
        from scipy.sparse import csr_array

        shape = (len(indptr) - 1, self.similarity.data.n_users)
        matrix = csr_array((np.nan_to_num(weights), neighbors, indptr), shape=shape)
        total = np.bincount(np.repeat(np.arange(shape[0]), np.diff(indptr)), np.abs(matrix.data), shape[0])
        votes = np.asarray((matrix @ self.likes).toarray(), np.float32)
        votes /= np.where(total > 0, total, 1.0)[:, None].astype(np.float32)
        return SideScores(np.zeros_like(votes), votes)
