"""One measure over one set of ratings, asked by its users or by a guest who has just arrived."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from prefmover.ids import Ids
from prefmover.items import ItemGeometry
from prefmover.measures import Measure, find_measure, similarities
from prefmover.parallel import Progress
from prefmover.ratings import Ratings
from prefmover.recommend.centering import Floats, Index
from prefmover.search import NeighborIndex, exhaustive, exhaustive_raters

__all__ = ["Likeness", "one_user", "stacked"]


@dataclass(frozen=True, slots=True, eq=False)
class Likeness:
    """A measure between users, by position.

    Attributes
    ----------
    ratings, geometry
        Over the same items in the same order; the geometry may be None for measures without.
    measure, convention
        A row of the table of measures.
    n_jobs
        Threads.
    """

    ratings: Ratings
    geometry: ItemGeometry | None
    measure: Measure
    convention: str | None = None
    n_jobs: int | None = None
    _made: dict[str, NeighborIndex] = field(default_factory=dict)

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
        # PMD of two users depends on nobody else; other measures use the means of items.
        among = self.ratings.select(users=others) if self.has_bounds else self.ratings
        whole = stacked(among, guest)
        ids = whole.users[:-1] if self.has_bounds else self.ratings.users[others]
        both = self._between(whole, guest.users, np.concatenate([ids.astype(object), guest.users]), None)
        return both[0, :-1], 0.0 if not self.measure.larger_is_closer else float(both[0, -1])

    def nearest(self, users: Index | Ratings, k: int, progress: Progress | None = None) -> Any:
        """Return the k nearest of users, or of a guest, as a :class:`~prefmover.search.Neighbors`."""
        guest = isinstance(users, Ratings)
        if self.has_bounds:
            asked = users if isinstance(users, Ratings) else self.ratings.users[users]
            return self.index.nearest(asked, k, n_jobs=self.n_jobs, progress=progress)
        return exhaustive(
            stacked(self.ratings, users) if isinstance(users, Ratings) else self.ratings,
            self.measure,
            geometry=self.geometry,
            k=k,
            users=users.users if isinstance(users, Ratings) else self.ratings.users[users],
            convention=self.convention,
            n_jobs=1 if guest else self.n_jobs,
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
            return self.index.raters(who, wanted, k, new=guest, n_jobs=self.n_jobs, progress=progress)
        return exhaustive_raters(
            self.ratings if guest is None else stacked(self.ratings, guest),
            who,
            wanted,
            k,
            self.measure,
            geometry=self.geometry,
            convention=self.convention,
            n_jobs=self.n_jobs,
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
            n_jobs=self.n_jobs,
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
