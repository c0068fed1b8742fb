"""One measure over one set of ratings, asked by its users or by a guest who has just arrived."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from prefmover.data.ids import Ids
from prefmover.data.preferences import Preferences, preferences
from prefmover.data.ratings import Ratings
from prefmover.execution.threads import Progress
from prefmover.items.geometry import ItemGeometry
from prefmover.measures import Measure, find_measure, similarities
from prefmover.measures.pmd import distances_of
from prefmover.predict.centering import Floats, Index
from prefmover.search import NeighborIndex, exhaustive, exhaustive_raters

__all__ = ["Likeness", "one_user", "stacked"]

LARGE_GROUP = 50  # users whose masses are kept for the next guest: everybody is compared with the landmarks


@dataclass(frozen=True, slots=True, eq=False)
class Likeness:
    """A measure between users, by position.

    Attributes
    ----------
    ratings, geometry
        Over the same items in the same order; the geometry may be None for measures without.
    measure, convention
        A row of the table of measures.
    n_threads
        Threads.
    """

    ratings: Ratings
    geometry: ItemGeometry | None
    measure: Measure
    convention: str | None = None
    n_threads: int | None = None
    _made: dict[str, NeighborIndex] = field(default_factory=dict)
    _groups: dict[str, tuple[Index, Preferences]] = field(default_factory=dict)

    @property
    def has_bounds(self) -> bool:
        """Whether search can pass over most pairs: exact PMD."""
        row = self.measure
        return row is find_measure("pmd") and row.convention(self.convention) == row.default

    @property
    def index(self) -> NeighborIndex:
        """The search index, made on first use."""
        if "index" not in self._made:
            assert self.geometry is not None
            self._made["index"] = NeighborIndex(self.ratings, self.geometry)
        return self._made["index"]

    def values(self, users: Index, others: Index, progress: Progress | None = None) -> Floats:
        """Return the measure of ``users`` x ``others``, NaN where undefined."""
        if self.has_bounds and len(users) == 1:  # everybody is prepared already
            assert self.geometry is not None
            return distances_of(self.index.preferences, self.geometry, int(users[0]), others)[None]
        return self._between(self.ratings, self.ratings.users[users], self.ratings.users[others], progress)

    def own_values(self, users: Index) -> Floats:
        """Return the measure of users with themselves."""
        if not self.measure.larger_is_closer:
            return np.zeros(len(users))
        out = np.empty(len(users))
        for first in range(0, len(users), 256):
            some = users[first : first + 256]
            out[first : first + 256] = np.diagonal(self.values(some, some))
        return out

    def guest_values(self, guest: Ratings, others: Index) -> tuple[Floats, float]:
        """Return a guest's measure with ``others``, and with themselves."""
        if self.has_bounds:  # PMD of two users depends on nobody else
            return self._guest_distances(guest, others), 0.0
        whole = stacked(self.ratings, guest)  # other measures use the means of items
        ids = np.concatenate([self.ratings.users[others].astype(object), guest.users])
        both = self._between(whole, guest.users, ids, None)
        return both[0, :-1], 0.0 if not self.measure.larger_is_closer else float(both[0, -1])

    def _guest_distances(self, guest: Ratings, others: Index) -> Floats:
        """Return exact PMD, without preparing everybody anew for each guest."""
        assert self.geometry is not None
        some, one = self._preferences_of(others), preferences(guest)
        both = Preferences(
            np.concatenate([some.indptr, some.indptr[-1] + one.indptr[1:]]),
            np.concatenate([some.indices, one.indices]),
            np.concatenate([some.mass, one.mass]),
            np.concatenate([some.total, one.total]),
        )
        return distances_of(both, self.geometry, len(others), np.arange(len(others)))

    def _preferences_of(self, users: Index) -> Preferences:
        """Return some users' masses; those of the last large group asked for are kept."""
        kept = self._groups.get("users")
        if kept is not None and kept[0] is users:
            return kept[1]
        made = preferences(self.ratings.take(users=users))
        if len(users) >= LARGE_GROUP:
            self._groups["users"] = users, made
        return made

    def nearest(self, users: Index | Ratings, k: int, progress: Progress | None = None) -> Any:
        """Return the k nearest of users, or of a guest, as a :class:`~prefmover.search.Neighbors`."""
        guest = isinstance(users, Ratings)
        if self.has_bounds:
            asked = users if isinstance(users, Ratings) else self.ratings.users[users]
            return self.index.nearest(asked, k, n_threads=self.n_threads, progress=progress)
        return exhaustive(
            stacked(self.ratings, users) if isinstance(users, Ratings) else self.ratings,
            self.measure,
            geometry=self.geometry,
            k=k,
            users=users.users if isinstance(users, Ratings) else self.ratings.users[users],
            convention=self.convention,
            n_threads=1 if guest else self.n_threads,
            progress=progress,
        )

    def raters(
        self,
        users: Index,
        items: Index,
        k: int,
        guest: Ratings | None = None,
        progress: Progress | None = None,
    ) -> Any:
        """Return the k nearest among the raters of each item, of users or of a guest.

        With a guest, ``users`` is not looked at.
        """
        wanted = self.ratings.items[items]
        if guest is None:
            who: Ids = self.ratings.users[users]
        else:
            who = np.repeat(guest.users, len(items))
        if self.has_bounds:
            return self.index.raters(who, wanted, k, new=guest, n_threads=self.n_threads, progress=progress)
        return exhaustive_raters(
            self.ratings if guest is None else stacked(self.ratings, guest),
            who,
            wanted,
            k,
            self.measure,
            geometry=self.geometry,
            convention=self.convention,
            n_threads=self.n_threads,
            progress=progress,
        )

    def _between(self, ratings: Ratings, users: Ids, others: Ids, progress: Progress | None) -> Floats:
        values: Floats = similarities(
            ratings,
            self.measure,
            geometry=self.geometry,
            users=users,
            others=others,
            convention=self.convention,
            n_threads=self.n_threads,
            progress=progress,
        )
        return values


def one_user(ratings: Ratings, name: Any, items: Index, values: Floats) -> Ratings:
    """Return the ratings of one more user over the same items, on the same scale."""
    from scipy.sparse import csr_array

    order = np.argsort(items)
    matrix = csr_array(
        (
            values[order].astype(np.float64),
            items[order].astype(ratings.matrix.indices.dtype),
            [0, len(items)],
        ),
        shape=(1, ratings.n_items),
    )
    return Ratings(matrix, np.array([name], dtype=object), ratings.items, ratings.scale)


def stacked(ratings: Ratings, more: Ratings) -> Ratings:
    """Return the users of both, in this order; items and scale are the first's."""
    from scipy.sparse import csr_array, vstack

    whole = csr_array(vstack([ratings.matrix, more.matrix]))
    users = np.concatenate([ratings.users.astype(object), more.users.astype(object)])
    if ratings.users.dtype == more.users.dtype == np.int64:
        users = users.astype(np.int64)
    return Ratings(whole, users, ratings.items, ratings.scale)
