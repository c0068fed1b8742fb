"""What a search returns: neighbors with their distances, and what it took to find them."""

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from prefmover.data.ids import IdIndex
from prefmover.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Neighbor", "Neighbors", "SearchStats"]

Index = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Neighbor(NamedTuple):
    """A user and their distance from the one who asked (or the similarity, for such a measure)."""

    id: Any
    distance: float


@dataclass(frozen=True, slots=True)
class SearchStats:
    """How many pairs each step dealt with, and how long it took.

    Attributes
    ----------
    rwmd, prices, abandoned
        Pairs ruled out by RWMD, by the prices for the crowd, and by dual steps on the pair.
    solved
        Pairs whose distance was computed exactly.
    known
        Pairs whose distance had been computed from the other side.
    undefined
        Pairs without a value: a user has no distribution, or the measure needs an overlap.
    pivots
        Simplex steps in all.
    seconds
        Time by stage, summed over threads: ``table`` (nearest items of every user), ``layout`` (query-major
        distances), ``bounds``, ``exact``.
    """

    rwmd: int = 0
    prices: int = 0
    abandoned: int = 0
    solved: int = 0
    known: int = 0
    undefined: int = 0
    pivots: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def pairs(self) -> int:
        """Pairs considered."""
        return self.rwmd + self.prices + self.abandoned + self.solved + self.known + self.undefined

    @property
    def counts(self) -> list[int]:
        """All counts, in the order of the attributes."""
        return [getattr(self, f.name) for f in fields(self) if f.name != "seconds"]

    @classmethod
    def of(cls, counts: list[int], seconds: dict[str, float]) -> Self:
        """Return statistics from counts in the order of the attributes."""
        names = [f.name for f in fields(cls) if f.name != "seconds"]
        return cls(**dict(zip(names, counts, strict=True)), seconds=seconds)

    def __add__(self, other: Self) -> Self:
        """Add up two searches."""
        stages = {**self.seconds, **other.seconds}
        seconds = {name: self.seconds.get(name, 0.0) + other.seconds.get(name, 0.0) for name in stages}
        return self.of([a + b for a, b in zip(self.counts, other.counts, strict=True)], seconds)


@dataclass(frozen=True, slots=True, eq=False)
class Neighbors:
    """The neighbors of some users: nearest first, ties in the order of the users.

    Attributes
    ----------
    users
        Ids of those who asked.
    reference
        Ids of all users among whom neighbors were looked for.
    indptr, neighbors, values
        CSR: the neighbors of the k-th asker are ``neighbors[indptr[k]:indptr[k + 1]]`` (positions in
        ``reference``), at distances ``values[...]``.
    larger_is_closer
        False for distances; True if the measure is a similarity and ``values`` are similarities.
    stats
        What the search did.

    Examples
    --------
    >>> from prefmover import ItemGeometry, Ratings, nearest
    >>> ratings = Ratings.from_arrays(["ann", "bob", "cid"], ["x", "y", "z"], [5, 4, 3])
    >>> geometry = ItemGeometry.from_vectors(["x", "y", "z"], [[1, 0], [1, 0.5], [0, 1]])
    >>> found = nearest(ratings, geometry, k=2)
    >>> found.of("ann")
    [Neighbor(id='bob', distance=0.4636...), Neighbor(id='cid', distance=1.5707...)]
    >>> found.ids[0].tolist(), found.distances[0].round(2).tolist()
    (['bob', 'cid'], [0.46, 1.57])
    >>> found.to_graph().shape  # sparse; for scikit-learn
    (3, 3)
    """

    users: npt.NDArray[Any]
    reference: npt.NDArray[Any]
    indptr: Index
    neighbors: Index
    values: Floats
    larger_is_closer: bool = False
    stats: SearchStats = field(default_factory=SearchStats)

    @property
    def counts(self) -> Index:
        """How many neighbors each asker has; fewer than k where there are not so many."""
        return np.diff(self.indptr)

    @property
    def ids(self) -> npt.NDArray[Any]:
        """(n, longest) neighbor ids; None where a list is shorter."""
        out = np.full((len(self.users), int(self.counts.max(initial=0))), None, dtype=object)
        out[self._slots()] = self.reference[self.neighbors]
        return out

    @property
    def distances(self) -> Floats:
        """(n, longest) distances (or similarities); NaN where a list is shorter."""
        out = np.full((len(self.users), int(self.counts.max(initial=0))), np.nan)
        out[self._slots()] = self.values
        return out

    def of(self, user: Any) -> list[Neighbor]:
        """Return one asker's neighbors with their distances."""
        k = IdIndex("user", self.users).position(user)
        part = slice(self.indptr[k], self.indptr[k + 1])
        ids = self.reference[self.neighbors[part]].tolist()
        return [Neighbor(*pair) for pair in zip(ids, self.values[part].tolist(), strict=True)]

    def to_graph(self, *, include_self: bool = True) -> "csr_array":
        """Return the distances as a sparse graph (askers x reference), as scikit-learn expects it.

        Rows are sorted by distance, zeros are stored. With ``include_self`` every asker who is in the
        reference is there at distance 0, first, which scikit-learn's ``metric="precomputed"`` counts on
        (and takes out again where it means *other* users).
        """
        from scipy.sparse import csr_array

        if self.larger_is_closer:
            raise InputError("a graph is made of distances; this measure is a similarity")
        place = {user: k for k, user in enumerate(self.reference.tolist())}
        own = np.array([place.get(user, -1) for user in self.users.tolist()], dtype=np.int64)
        first = (own >= 0) if include_self else np.zeros(len(own), bool)
        indptr = self.indptr + np.concatenate(([0], np.cumsum(first)))
        indices, data = np.empty(indptr[-1], np.int64), np.zeros(indptr[-1])
        rest = np.ones(indptr[-1], bool)
        rest[indptr[:-1][first]] = False
        indices[~rest], indices[rest] = own[first], self.neighbors
        data[rest] = self.values
        return csr_array((data, indices, indptr), shape=(len(self.users), len(self.reference)))

    def _slots(self) -> tuple[Index, Index]:
        rows = np.repeat(np.arange(len(self.users)), self.counts)
        return rows, np.arange(len(self.neighbors)) - self.indptr[rows]

    def __repr__(self) -> str:
        """Askers, neighbors, and the share of pairs that was solved."""
        share = self.stats.solved / self.stats.pairs if self.stats.pairs else 0.0
        return (
            f"Neighbors({len(self.users):,} users, {len(self.neighbors):,} neighbors, "
            f"{share:.1%} of pairs solved)"
        )
