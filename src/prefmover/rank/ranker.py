"""Rankers: the scores that a list of recommendations is ordered by, and the terms that they are sums of.

The *likes* y are 0 where there is no rating. For ratings, y_ui = r_ui - r̄_u / 2: a rating below half of the
user's mean counts against. For implicit feedback, y is the strength of the interaction.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

import numpy as np

from prefmover._pickled import PickledFields
from prefmover._typing import Floats, Ints, Singles
from prefmover.data.ratings import Ratings
from prefmover.errors import InputError
from prefmover.predict.predictor import UserState
from prefmover.predict.similarity import UserSimilarity

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    Likes: TypeAlias = csr_array[Any, tuple[int, int]]

__all__ = ["NearerThan", "Ranker", "ScoreTerms", "SideScores", "likes_from"]


class SideScores(NamedTuple):
    """The two parts of scores, (users, items) each; a score is their sum."""

    items: Singles
    users: Singles

    @property
    def total(self) -> Singles:
        """The scores."""
        return self.items + self.users


class ScoreTerms(NamedTuple):
    """The terms of the scores of some items for one user.

    Attributes
    ----------
    likes
        (rated,) the user's likes, in the order of the state's items.
    item_terms
        (rated, items) what each of the user's ratings adds.
    weights
        (users,) K between the user and other users.
    user_terms
        (users, items) what each of these users adds.
    """

    likes: Floats
    item_terms: Floats
    weights: Floats
    user_terms: Floats


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


def likes_from(ratings: Ratings) -> Likes:
    """Return the likes of ratings: r - r̄_u / 2, or the strengths of implicit feedback.

    >>> ratings = Ratings.from_arrays(["ann", "ann", "bob"], ["x", "y", "y"], [5, 1, 4])
    >>> likes_from(ratings).toarray()
    array([[ 3.5, -0.5],
           [ 0. ,  2. ]])
    """
    from scipy.sparse import csr_array

    m = ratings.matrix
    values = m.data
    if not ratings.scale.implicit:
        counts = np.diff(m.indptr)
        means = np.bincount(ratings.rows(), m.data, ratings.n_users) / np.maximum(counts, 1)
        values = m.data - np.repeat(means, counts) / 2
    return csr_array((values, m.indices, m.indptr), shape=m.shape)


@dataclass(frozen=True, eq=False)
class Ranker(PickledFields, ABC):
    """A fitted ranking. Users and items are positions."""

    similarity: UserSimilarity

    @abstractmethod
    def place(self, state: UserState) -> Any:
        """Return what the scores of a user with ratings need; a state carries it as ``ranking``."""

    @abstractmethod
    def _block(self, users: Ints) -> SideScores:
        """Return the scores of users of the data who have ratings, (users, n_items)."""

    @abstractmethod
    def _scores(self, state: UserState) -> SideScores:
        """Return the scores of one user with ratings, (1, n_items)."""

    @abstractmethod
    def _terms(self, state: UserState, items: Ints, users: Ints | None) -> ScoreTerms:
        """Return the terms of the scores of items for a user with ratings."""

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
    def with_data(
        self, similarity: UserSimilarity, users: Ints, compared: list[tuple[Floats, float]] | None
    ) -> Self:
        """Return the ranker of data with other ratings of some users, and with more users.

        ``compared`` is as in :meth:`prefmover.predict.predictor.Predictor.with_data`.
        """

    @abstractmethod
    def with_items(self, similarity: UserSimilarity) -> Self:
        """Return the ranker of data with more items, which nobody has rated."""

    @cached_property
    def likes(self) -> Any:
        """(n_users, n_items) likes of the data."""
        return likes_from(self.similarity.data.ratings)

    @cached_property
    def mean_likes(self) -> Singles:
        """(n_items,) the scores of a user without ratings: everybody adds the same amount."""
        n_users, n_items = self.likes.shape
        totals = np.bincount(self.likes.indices, self.likes.data, n_items)
        return np.asarray(totals / max(n_users, 1), np.float32)

    def own_likes(self, state: UserState) -> Likes:
        """Return the likes of one user, (1, n_items)."""
        return self.likes[[state.position]] if state.guest is None else likes_from(state.guest)

    def block(self, users: Ints) -> SideScores:
        """Return the scores of users of the data, (users, n_items); without ratings, mean likes."""
        scores, empty = self._block(users), np.diff(self.likes.indptr)[users] == 0
        if empty.any():
            scores.items[empty], scores.users[empty] = 0.0, self.mean_likes
        return scores

    def scores(self, state: UserState) -> SideScores:
        """Return the scores of one user, (1, n_items); those of a user without ratings are mean likes."""
        if len(state.rated):
            return self._scores(state)
        return SideScores(np.zeros((1, len(self.mean_likes)), np.float32), self.mean_likes[None])

    def terms(self, state: UserState, items: Ints, users: Ints | None = None) -> ScoreTerms:
        """Return all terms of the scores of items; the sums over both kinds are the scores.

        With ``users``, the positions of some users, only their terms are computed.
        """
        if state.position < 0 and state.guest is None:
            raise InputError(f"nothing is known about {state.name!r}, so there are no reasons")
        if len(state.rated):
            return self._terms(state, items, users)
        rows, n_users = slice(None) if users is None else users, self.similarity.data.n_users
        likes = self.likes[rows][:, items].toarray() / n_users
        return ScoreTerms(np.empty(0), np.empty((0, len(items))), np.full(len(likes), 1 / n_users), likes)
