"""VoteRanker: the ranking of a neighbor average. The k nearest users vote with their likes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from prefmover._typing import Floats, Ints
from prefmover.dataset import geometry_if
from prefmover.measures import Weight
from prefmover.predict.predictor import UserState
from prefmover.predict.similarity import UserSimilarity
from prefmover.rank.content import SimilarItems
from prefmover.rank.ranker import NearerThan, Ranker, ScoreTerms, SideScores, likes_from

__all__ = ["VoteRanker"]


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

    weight: Weight
    k: int
    similar: SimilarItems | None = None

    @classmethod
    def fit(cls, similarity: UserSimilarity, weight: Weight, k: int) -> Self:
        """Return the ranker of the users of the data."""
        data = similarity.data
        geometry = geometry_if(data, similarity.measure.needs_geometry)
        return cls(similarity, weight, k, SimilarItems.from_likes(likes_from(data.ratings), geometry))

    def place(self, state: UserState) -> tuple[Ints, Floats]:
        """Return the nearest users of one user, and their weights."""
        nearest = self.similarity.nearest(state.who, self.k)
        return nearest.neighbors, self.weight(nearest.values)

    def _neighbors(self, state: UserState) -> tuple[Ints, Floats]:
        neighbors, weights = self.place(state) if state.ranking is None else state.ranking
        return neighbors, weights

    def _block(self, users: Ints) -> SideScores:
        nearest = self.similarity.nearest(users, self.k)
        return self._votes(nearest.indptr, nearest.neighbors, self.weight(nearest.values))

    def _scores(self, state: UserState) -> SideScores:
        neighbors, weights = self._neighbors(state)
        return self._votes(np.array([0, len(neighbors)]), neighbors, weights)

    def like_minded(self, state: UserState, k: int) -> Ints:
        """Return the nearest k of the users who vote."""
        return self._neighbors(state)[0][:k]

    def nearer_than(self, state: UserState, users: Ints, values: Floats | None) -> NearerThan:
        """Return how near some of the users who vote are: all others are less near than those after them."""
        neighbors, n_others = self._neighbors(state)[0], self.similarity.data.n_users - (state.position >= 0)
        order = np.argsort(neighbors, kind="stable")
        rank = order[np.searchsorted(neighbors, users, sorter=order)]
        return NearerThan((n_others - 1 - rank) / n_others, estimated=False)

    def _terms(self, state: UserState, items: Ints, users: Ints | None) -> ScoreTerms:
        neighbors, some = self._neighbors(state)
        likes, some = self.own_likes(state).data, np.nan_to_num(some)
        weights = np.zeros(self.similarity.data.n_users)
        weights[neighbors] = some / (np.abs(some).sum() or 1.0)
        rows = slice(None) if users is None else users
        weights, given = weights[rows], self.likes[rows]

        def votes(some: Ints) -> Floats:
            return np.asarray(weights[:, None] * given[:, some].toarray())

        terms = votes(items) if self.similar is None else self.similar.columns(items, votes)
        return ScoreTerms(likes, np.zeros((len(likes), len(items))), weights, terms)

    def with_data(
        self, similarity: UserSimilarity, users: Ints, compared: list[tuple[Floats, float]] | None
    ) -> Self:
        """Return the ranker of other data."""
        return self.fit(similarity, self.weight, self.k)

    def with_items(self, similarity: UserSimilarity) -> Self:
        """Return the ranker of data with more items, which are ranked through similar ones."""
        geometry = similarity.data.require_geometry("a new item")
        rated = np.arange(self.similarity.data.n_items)
        similar = self.similar.with_items(geometry) if self.similar else SimilarItems.fit(rated, geometry)
        return replace(self, similarity=similarity, similar=similar)

    def _votes(self, indptr: Ints, neighbors: Ints, weights: Floats) -> SideScores:
        from scipy.sparse import csr_array

        shape = (len(indptr) - 1, self.similarity.data.n_users)
        matrix = csr_array((np.nan_to_num(weights), neighbors, indptr), shape=shape)
        total = np.bincount(np.repeat(np.arange(shape[0]), np.diff(indptr)), np.abs(matrix.data), shape[0])
        votes = np.asarray((matrix @ self.likes).toarray(), np.float32)
        votes /= np.where(total > 0, total, 1.0)[:, None].astype(np.float32)
        return SideScores(np.zeros_like(votes), votes if self.similar is None else self.similar.filled(votes))
