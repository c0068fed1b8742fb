"""Who and what is in a model: ids as text, names for people, counts, and search as you type."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from prefmover.data.ids import Ids, close_names
from prefmover.data.ratings import Ratings
from prefmover.errors import UnknownIdError
from prefmover.server import schemas

__all__ = ["Directory", "Names", "plain"]

MOST_CLOSE = 20_000  # ids among which similar ones are looked for; more would take too long


def plain(text: str) -> str:
    """Return a text as it is searched: no case, no accents.

    >>> plain("Amélie")
    'amelie'
    """
    folded = unicodedata.normalize("NFKD", text).casefold()
    return "".join(c for c in folded if not unicodedata.combining(c))


class Names:
    """The ids of users, or of items: text to position, position to name, and search.

    Parameters
    ----------
    kind
        "user" or "item", for messages.
    labels
        Names for people, by id; the id itself where there is none.
    first
        Positions in the order in which a search lists equally good matches.
    """

    def __init__(
        self, kind: str, ids: Ids, labels: Mapping[Any, str], first: npt.NDArray[np.int64] | None = None
    ) -> None:
        self.kind = kind
        self.ids: list[Any] = ids.tolist()
        self.texts = [str(id_) for id_ in self.ids]
        self.labels = [str(labels.get(id_, id_)) for id_ in self.ids]
        self._at = {text: k for k, text in enumerate(self.texts)}
        self._order = list(range(len(self.ids))) if first is None else first.tolist()
        self._plain = [plain(label) for label in self.labels]
        self._plain_ids = [plain(text) for text in self.texts]

    def __len__(self) -> int:
        return len(self.ids)

    def at(self, text: str) -> int:
        """Return the position of an id given as text."""
        found = self._at.get(text)
        if found is None:
            close = close_names(text, self.texts) if len(self) <= MOST_CLOSE else []
            hint = f"; close: {', '.join(map(repr, close))}" if close else ""
            raise UnknownIdError(f"there is no {self.kind} {text!r}{hint}")
        return found

    def search(self, text: str) -> list[int]:
        """Return positions whose name or id begins with a text, then those that contain it."""
        wanted = plain(text.strip())
        if not wanted:
            return self._order
        begins: list[int] = []
        contains: list[int] = []
        for k in self._order:
            name, id_ = self._plain[k], self._plain_ids[k]
            if name.startswith(wanted) or id_.startswith(wanted):
                begins.append(k)
            elif wanted in name or wanted in id_:
                contains.append(k)
        return begins + contains


class Directory:
    """Users and items of a model, as the service shows them."""

    def __init__(self, ratings: Ratings, item_labels: Mapping[Any, str]) -> None:
        matrix = ratings.matrix
        self.ratings = ratings
        self.per_user = np.diff(matrix.indptr)
        self.per_item = np.bincount(matrix.indices, minlength=ratings.n_items)
        sums = np.bincount(matrix.indices, matrix.data, minlength=ratings.n_items)
        self.item_means = np.divide(sums, self.per_item, out=np.zeros(len(sums)), where=self.per_item > 0)
        self._users: dict[int, schemas.User] = {}  # made when first shown
        self._items: dict[int, schemas.Item] = {}
        self.users = Names("user", ratings.users, {})
        self.items = Names("item", ratings.items, item_labels, np.argsort(-self.per_item, kind="stable"))

    def user(self, position: int) -> schemas.User:
        """Return a user as the service shows them."""
        if position not in self._users:
            self._users[position] = schemas.User(
                id=self.users.texts[position],
                label=self.users.labels[position],
                n_ratings=int(self.per_user[position]),
            )
        return self._users[position]

    def item(self, position: int) -> schemas.Item:
        """Return an item as the service shows it."""
        if position not in self._items:
            self._items[position] = schemas.Item(
                id=self.items.texts[position], title=self.items.labels[position]
            )
        return self._items[position]

    def user_of(self, id_: Any) -> schemas.User:
        """Return the user with an id of the data."""
        return self.user(self.users.at(str(id_)))

    def item_of(self, id_: Any) -> schemas.Item:
        """Return the item with an id of the data."""
        return self.item(self.items.at(str(id_)))

    def item_details(self, position: int) -> schemas.ItemDetails:
        """Return an item, and how it is rated."""
        n = int(self.per_item[position])
        return schemas.ItemDetails(
            id=self.items.texts[position],
            title=self.items.labels[position],
            n_ratings=n,
            mean_rating=float(self.item_means[position]) if n else None,
        )

    def row(self, user: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
        """Return a user's items, by position, and ratings."""
        matrix = self.ratings.matrix
        span = slice(matrix.indptr[user], matrix.indptr[user + 1])
        return matrix.indices[span], matrix.data[span]

    def in_common(self, items: npt.NDArray[Any], users: Iterable[int]) -> list[int]:
        """Return how many of some items each user has rated."""
        asked = np.zeros(self.ratings.n_items, np.bool_)
        asked[items] = True
        return [int(asked[self.row(user)[0]].sum()) for user in users]
