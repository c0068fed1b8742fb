"""Users and items as responses show them: ids as text, titles, counts, tastes."""

from __future__ import annotations

from typing import Any

import numpy as np

from prefmover._typing import Floats, Ints
from prefmover.data.ids import IdIndex
from prefmover.dataset import Dataset
from prefmover.errors import UnknownIdError
from prefmover.items.catalog import Names
from prefmover.server.item_groups import genre_table

SHOWN = 60  # characters of an unknown id that an error message repeats
TASTES = 3  # genres that are named for a user
PRIOR = 6.0  # ratings of an average user that are added to those of the user
LEAST_LIFT = 1.1
LEAST_ITEMS = 2


class _Facts:
    """The users or items of a data set: ids, ids as text, and numbers of ratings, by position."""

    def __init__(self, kind: str, index: IdIndex, n_ratings: Ints) -> None:
        self.n_ratings = n_ratings
        self.ids = index.ids.tolist()
        self.texts = [str(id_) for id_ in self.ids]
        self._kind, self._index, self._names = kind, index, Names(self.texts)
        self._longest = max(map(len, self.texts), default=0)

    def position(self, text: str) -> int:
        """Return the position of a user or an item, given by the text of the id."""
        if len(text) > max(2 * self._longest, SHOWN):  # a search for similar ids could take seconds
            known = f"the longest id has {self._longest:,} characters"
            raise UnknownIdError(f"there is no {self._kind} {text[:SHOWN]!r}...; {known}")
        return self._index.position(text, from_text=True)


class UserFacts(_Facts):
    """The users of a data set.

    Their tastes, in the genres of the items, are measured against that of all users together. The rating of
    an item counts in equal parts for each of its genres. ``means`` are the mean ratings.
    """

    def __init__(self, data: Dataset) -> None:
        self._data, matrix = data, data.ratings.matrix
        super().__init__("user", data.ratings.user_index, np.diff(matrix.indptr))
        self.means = matrix.sum(axis=1) / np.maximum(self.n_ratings, 1)
        self.genres, self._table = genre_table(data.catalog)
        self._parts = self._table / np.maximum(self._table.sum(axis=1, keepdims=True), 1)
        usual = np.bincount(matrix.indices, matrix.data, minlength=data.n_items) @ self._parts
        self._usual = usual / usual.sum() if usual.sum() > 0 else usual

    def search(self, text: str) -> list[int]:
        """Return the positions of the users whose id contains a text, the best matches first."""
        ranks = self._names.ranks(text)
        return sorted(ranks, key=ranks.__getitem__)

    def taste(self, position: int) -> list[str]:
        """Return up to three genres that a user prefers more than others do, the most typical first.

        Genres are ordered by the share of the preference times the logarithm of its ratio to the usual
        share. With few ratings, the share is drawn toward the usual one.

        >>> from prefmover import datasets
        >>> UserFacts(datasets.load("cinema")).taste(0)
        ['Horror', 'Thriller', 'Fantasy']
        """
        items, ratings = self._data.ratings.row(position)
        mine, usual, n_rated = ratings @ self._parts[items], self._usual, len(items)
        if not self.genres or mine.sum() <= 0 or usual.sum() <= 0:
            return []
        drawn = (n_rated * (mine / mine.sum()) + PRIOR * usual) / (n_rated + PRIOR)
        lift = drawn / np.where(usual > 0, usual, 1.0)
        fits = (lift > LEAST_LIFT) & (self._table[items].sum(axis=0) >= min(LEAST_ITEMS, n_rated))
        order = np.argsort(-drawn * np.log(np.maximum(lift, 1e-12)), kind="stable")
        return [self.genres[k] for k in order[fits[order]][:TASTES].tolist()]

    def facts(self, position: int) -> dict[str, Any]:
        """Return the fields that all responses about a user have."""
        return {
            "id": self.texts[position],
            "n_ratings": int(self.n_ratings[position]),
            "taste": self.taste(position),
        }


class ItemFacts(_Facts):
    """The items of a data set."""

    def __init__(self, data: Dataset) -> None:
        self._data, matrix = data, data.ratings.matrix
        n_ratings = np.bincount(matrix.indices, minlength=data.n_items)
        super().__init__("item", data.ratings.item_index, n_ratings)
        self._means = None
        if not data.ratings.implicit:
            sums = np.bincount(matrix.indices, matrix.data, minlength=data.n_items)
            self._means = sums / np.maximum(n_ratings, 1)
        # The ratings of an item are found by the positions of its entries: 4 bytes for each rating.
        kind: Any = np.int32 if matrix.nnz < 2**31 else np.int64
        entries = type(matrix)(
            (np.arange(matrix.nnz, dtype=kind), matrix.indices, matrix.indptr), matrix.shape
        )
        by_item = entries.tocsc()
        self._entries, self._ends = by_item.data, by_item.indptr

    def id_of(self, text: str) -> Any:
        """Return the id of an item, given as text."""
        return self.ids[self.position(text)]

    def search(self, text: str) -> list[int]:
        """Return the positions of the items whose title or id contains a text.

        The best matches come first; among equal ones, those with most ratings.
        """
        titles, ids = self._data.catalog.ranks(text), self._names.ranks(text)
        ranks = {k: min(titles.get(k, 3), ids.get(k, 3)) for k in titles | ids}
        return sorted(ranks, key=lambda k: (ranks[k], -self.n_ratings[k], k))

    def raters(self, position: int) -> tuple[Ints, Floats]:
        """Return the users who rated an item, and their ratings."""
        matrix, (first, last) = self._data.ratings.matrix, self._ends[position : position + 2]
        entries = self._entries[first:last]
        return np.searchsorted(matrix.indptr, entries, side="right") - 1, matrix.data[entries]

    def titled(self, position: int) -> dict[str, str]:
        """Return the id and the title of an item."""
        return {"item": self.texts[position], "title": self._data.catalog.label(position)}

    def facts(self, position: int) -> dict[str, Any]:
        """Return the fields that all responses about an item have."""
        n = int(self.n_ratings[position])
        return {
            "id": self.texts[position],
            "title": self._data.catalog.label(position),
            "n_ratings": n,
            "mean_rating": float(self._means[position]) if n and self._means is not None else None,
        }
