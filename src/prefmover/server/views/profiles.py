"""What can be said about one user or one item: the taste of a user, and how an item was rated."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from prefmover._typing import Floats, Ints
from prefmover.dataset import Dataset
from prefmover.server.views.item_groups import genre_table

__all__ = ["Fan", "ItemProfile", "Taste", "Tastes", "item_profile"]

PRIOR = 6.0  # ratings of an average user that are added to those of the user
LEAST_LIFT = 1.1
LEAST_ITEMS = 2


class Taste(NamedTuple):
    """A genre that a user prefers: the share of the user's preference, and that of all users together."""

    genre: str
    share: float
    usual: float


class Tastes:
    """The tastes of users of a data set, against that of all users together.

    The rating of an item counts in equal parts for each of its genres.

    Examples
    --------
    >>> from prefmover import datasets
    >>> data = datasets.load("cinema")
    >>> [one.genre for one in Tastes(data).of(*data.ratings.row(0))]
    ['Horror', 'Thriller', 'Fantasy']
    """

    def __init__(self, data: Dataset) -> None:
        self.genres, self._table = genre_table(data.catalog)
        self._parts = self._table / np.maximum(self._table.sum(axis=1, keepdims=True), 1)
        matrix = data.ratings.matrix
        usual = np.bincount(matrix.indices, matrix.data, minlength=data.n_items) @ self._parts
        self._usual = usual / usual.sum() if usual.sum() > 0 else usual

    def of(self, items: Ints, ratings: Floats, n: int = 3) -> list[Taste]:
        """Return up to n genres on which a user's preference is above the usual, the most typical first.

        Genres are ordered by the share of the preference times the logarithm of its ratio to the usual
        share. With few ratings, the share is drawn toward the usual one.

        Parameters
        ----------
        items, ratings
            Positions of the rated items, and the ratings.
        """
        mine = ratings @ self._parts[items]
        if not self.genres or mine.sum() <= 0 or self._usual.sum() <= 0:
            return []
        mine, usual, n_rated = mine / mine.sum(), self._usual, len(items)
        drawn = (n_rated * mine + PRIOR * usual) / (n_rated + PRIOR)
        lift = drawn / np.where(usual > 0, usual, 1.0)
        fits = (lift > LEAST_LIFT) & (self._table[items].sum(axis=0) >= min(LEAST_ITEMS, n_rated))
        order = np.argsort(-drawn * np.log(np.maximum(lift, 1e-12)), kind="stable")
        chosen = [k for k in order.tolist() if fits[k]][:n]
        return [Taste(self.genres[k], float(mine[k]), float(usual[k])) for k in chosen]


class Fan(NamedTuple):
    """A user who liked an item: position, rating, and how far that is above the user's mean."""

    user: int
    rating: float
    above: float


class ItemProfile(NamedTuple):
    """How an item was rated.

    ``counts`` says how often each rating was given, lowest first. The ``n_fans`` fans are the users who rated
    it above their own mean (all, for implicit feedback); ``fans`` are some, the farthest above first.
    """

    counts: list[tuple[float, int]]
    fans: list[Fan]
    n_fans: int


def item_profile(data: Dataset, item: int, n: int = 10) -> ItemProfile:
    """Return how an item, given by position, was rated, with up to n fans."""
    matrix = data.ratings.matrix
    entries = np.flatnonzero(matrix.indices == item)
    users = np.searchsorted(matrix.indptr, entries, side="right") - 1
    ratings = matrix.data[entries]
    means = (matrix.sum(axis=1) / np.maximum(np.diff(matrix.indptr), 1))[users]
    above, fan = ratings - means, data.ratings.implicit | (ratings > means)
    order = np.lexsort((users, -ratings, -above))
    fans = [Fan(int(users[k]), float(ratings[k]), float(above[k])) for k in order[fan[order]][:n]]
    steps, counts = np.unique(ratings, return_counts=True)
    return ItemProfile(list(zip(steps.tolist(), counts.tolist(), strict=True)), fans, int(fan.sum()))
