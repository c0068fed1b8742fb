r"""The results of a search: neighbors with their values, the work that finding them took, and its recall.

The recall of a query is the share of its k nearest users that its list has. The estimate is the mean over the
sample. Its interval is Wilson's for a proportion,

.. math:: \frac{\hat p + z^2 / 2n \pm z \sqrt{\hat p (1 - \hat p) / n + z^2 / 4n^2}}{1 + z^2 / n},

with n the number of independent trials that the sample is worth: neighbors of one query are found or missed
together, so that n is less than the number of neighbors, and at least the number of queries. The interval
does not collapse if the sample misses no neighbor, and is narrower if the sample is a good part of all.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np
import numpy.typing as npt

from prefmover._format import counted
from prefmover._table import SHOWN, Tabular, html_table
from prefmover._typing import Floats, Ids, Ints
from prefmover.data.ids import IdIndex
from prefmover.data.preferences import Csr, indptr_from_counts
from prefmover.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ValueName = Literal["distance", "similarity"]
Z = 1.959963984540054  # 95 %


@dataclass(frozen=True, slots=True)
class SearchStats:
    """The number of pairs that each step dealt with, and the time it took.

    Attributes
    ----------
    rwmd, prices, abandoned
        Pairs ruled out by RWMD, by prices shared by many pairs, and by dual steps on the pair.
    solved, known
        Pairs whose distance was computed exactly, and pairs for which it had been computed from the other
        side.
    undefined
        Pairs without a value: one side has no distribution, or the measure needs an overlap.
    pivots
        Simplex steps in all.
    seconds
        Time by stage, summed over threads: ``table`` (nearest points of every row), ``layout`` (query-major
        distances), ``bounds``, ``exact``. A search among candidates has the time of its tasks instead:
        ``sample`` (the exact search of some queries), ``shortlist``, ``exact``.
    """

    rwmd: int = 0
    prices: int = 0
    abandoned: int = 0
    solved: int = 0
    known: int = 0
    undefined: int = 0
    pivots: int = 0
    seconds: dict[str, float] = field(default_factory=dict, kw_only=True)

    @property
    def pairs(self) -> int:
        """Pairs considered."""
        return self.rwmd + self.prices + self.abandoned + self.solved + self.known + self.undefined

    @property
    def counts(self) -> list[int]:
        """All counts, in the order of the attributes."""
        return [getattr(self, count.name) for count in fields(self)[:-1]]

    def __add__(self, other: Self) -> Self:
        stages = {**self.seconds, **other.seconds}
        seconds = {name: self.seconds.get(name, 0.0) + other.seconds.get(name, 0.0) for name in stages}
        return type(self)(*map(sum, zip(self.counts, other.counts, strict=True)), seconds=seconds)


@dataclass(frozen=True, slots=True)
class Recall:
    """Recall of an approximate search, measured against the exact one.

    Attributes
    ----------
    estimate
        Mean share of the k nearest that a list has.
    low, high
        95 % confidence interval.
    queries
        Number of queries in the sample.
    asked
        The recall that was asked for.

    Examples
    --------
    >>> Recall.from_sample(np.array([1.0, 0.9, 1.0, 1.0]), k=10, population=1000, asked=0.95)
    Recall(.975, 95 % interval .869 to .996, from 4 queries; asked for .950)
    """

    estimate: float
    low: float
    high: float
    queries: int
    asked: float

    @classmethod
    def from_sample(cls, recalls: Floats, k: int, population: int, asked: float) -> Self:
        """Return the recall of a sample of queries, drawn from a population of queries."""
        n = len(recalls)
        p = float(np.mean(recalls)) if n else math.nan
        if not 0 < n < population:
            return cls(p, p, p, n, asked)
        trials = float(n)
        if n > 1 and 0 < p < 1:
            variance = float(np.var(recalls, ddof=1))
            trials = n * k if variance == 0 else min(max(p * (1 - p) * n / variance, n), n * k)
        low, high = wilson(p, trials / (1 - n / population))
        return cls(p, low, high, n, asked)

    @property
    def reached(self) -> bool:
        """Whether the estimate is what was asked for, or more."""
        return self.estimate >= self.asked

    def to_dict(self) -> dict[str, float | int | bool]:
        """Return plain Python, ready for JSON."""
        return {
            "recall": self.estimate, "low": self.low, "high": self.high,
            "queries": self.queries, "asked": self.asked, "reached": self.reached,
        }  # fmt: skip

    def __str__(self) -> str:
        interval = f"95 % interval {_short(self.low)} to {_short(self.high)}"
        return f"{_short(self.estimate)}, {interval}, from {self.queries:,} queries"

    def __repr__(self) -> str:
        return f"Recall({self}; asked for {_short(self.asked)})"


def wilson(p: float, n: float) -> tuple[float, float]:
    """Return the 95 % interval of a proportion p of n trials.

    >>> low, high = wilson(1.0, 100)
    >>> round(low, 3), high
    (0.963, 1.0)
    """
    center, slack = p + Z**2 / (2 * n), Z * math.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
    return max(0.0, (center - slack) / (1 + Z**2 / n)), min(1.0, (center + slack) / (1 + Z**2 / n))


def recall_of_lists(found: Floats, exact: Floats) -> float:
    """Return the share of an exact list that a list found, by their sorted distances.

    Equally far users are as good as each other.

    >>> recall_of_lists(np.array([0.1, 0.3, 0.4]), np.array([0.1, 0.2, 0.3]))
    0.6666666666666666
    """
    if not len(exact):
        return 1.0
    return min(int(np.count_nonzero(found <= exact[-1])), len(exact)) / len(exact)


def _short(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


@dataclass(frozen=True, slots=True, eq=False)
class NeighborPositions(Csr):
    """Lists of neighbors by position, as CSR: nearest first, ties in the order of the users."""

    neighbors: Ints
    values: Floats
    stats: SearchStats = SearchStats()

    ENTRY = ("neighbors", "values")

    @classmethod
    def from_lists(cls, lists: Iterable[tuple[npt.NDArray[Any], ...]], stats: SearchStats) -> Self:
        """Return one CSR from separate lists of neighbors and values."""
        neighbors, values = zip(*lists, strict=True) if (lists := list(lists)) else ((), ())
        joined = np.concatenate([np.empty(0, np.int64), *neighbors])
        indptr = indptr_from_counts([len(part) for part in neighbors])
        return cls(indptr, joined, np.concatenate([np.empty(0), *values]), stats)

    @classmethod
    def from_table(cls, users: Ints, values: Floats, counts: Ints, stats: SearchStats | None = None) -> Self:
        """Return the lists in the rows of a table, of which the first ``counts`` entries are filled."""
        filled = np.arange(users.shape[1]) < counts[:, None]
        return cls(indptr_from_counts(counts), users[filled], values[filled], stats or SearchStats())

    @classmethod
    def empty(cls, n: int) -> Self:
        """Return n empty lists."""
        return cls(np.zeros(n + 1, np.int64), np.empty(0, np.int64), np.empty(0))

    def cells(self) -> tuple[Ints, Ints]:
        """Return the row and the rank, from 0, of each entry."""
        rows = self.rows()
        return rows, np.arange(len(rows)) - self.indptr[rows]

    def table(self, content: npt.NDArray[Any], empty: Any) -> npt.NDArray[Any]:
        """Return the content of the entries as (n, longest); ``empty`` where a list is shorter."""
        out = np.full((len(self), int(self.counts.max(initial=0))), empty, content.dtype)
        out[self.cells()] = content
        return out

    def graph(self, itself: Ints, n: int) -> "csr_array":
        """Return the distances as a sparse (lists, n), sorted by distance in each row.

        The row of a list begins with its query at distance 0, if ``itself`` has its position (-1 if not).
        """
        from scipy.sparse import csr_array

        first = itself >= 0
        indptr = self.indptr + indptr_from_counts(first)
        indices, data = np.empty(indptr[-1], np.int64), np.zeros(indptr[-1])
        rest = np.ones(indptr[-1], bool)
        rest[indptr[:-1][first]] = False
        indices[~rest], indices[rest] = itself[first], self.neighbors
        data[rest] = self.values
        return csr_array((data, indices, indptr), shape=(len(self), n))

    def without(self, user: int, k: int) -> Self:
        """Return the lists without one user, each cut to its first k neighbors.

        >>> near = NeighborPositions(np.array([0, 3]), np.array([4, 2, 7]), np.array([0.1, 0.2, 0.3]))
        >>> near.without(4, 1).neighbors
        array([2])
        """
        parts = []
        for first, last in pairwise(self.indptr.tolist()):
            at = first + np.flatnonzero(self.neighbors[first:last] != user)[:k]
            parts.append((self.neighbors[at], self.values[at]))
        return self.from_lists(parts, self.stats)


@dataclass(frozen=True, slots=True, repr=False)
class Neighbor:
    """A neighbor, and the value of the measure between them and the query.

    ``value_name`` is ``"distance"`` or ``"similarity"``; the attribute of that name has the value as well.

    Examples
    --------
    >>> near = Neighbor("bob", 0.25, "distance")
    >>> near.distance
    0.25
    >>> near.similarity
    Traceback (most recent call last):
    AttributeError: the value of this neighbor is a distance, not a similarity
    """

    user: Any
    value: float
    value_name: ValueName

    @property
    def distance(self) -> float:
        """The value, if the measure is a distance."""
        return self._value("distance")

    @property
    def similarity(self) -> float:
        """The value, if the measure is a similarity."""
        return self._value("similarity")

    def _value(self, name: ValueName) -> float:
        if self.value_name != name:
            raise AttributeError(f"the value of this neighbor is a {self.value_name}, not a {name}")
        return self.value

    def __repr__(self) -> str:
        return f"Neighbor({self.user!r}, {self.value_name} {self.value:.6g})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NeighborList(Sequence[Neighbor], Tabular):
    """The neighbors of the query ``user``, nearest first: a sequence of :class:`Neighbor`.

    ``users`` are the neighbors' ids, and ``values`` their distances or similarities (``value_name``).
    """

    user: Any
    users: Ids
    values: Floats
    value_name: ValueName

    def __len__(self) -> int:
        return len(self.users)

    @overload
    def __getitem__(self, index: int) -> Neighbor: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> Neighbor | Self:
        """Return the neighbor at a rank from 0, or the list of a slice."""
        if isinstance(index, slice):
            return type(self)(self.user, self.users[index], self.values[index], self.value_name)
        return Neighbor(self.users[[index]].tolist()[0], float(self.values[index]), self.value_name)

    def to_arrow(self) -> Any:
        """Return a `pyarrow.Table` with columns rank (from 1), neighbor, and distance or similarity."""
        import pyarrow as pa

        ranks = np.arange(1, len(self) + 1)
        return pa.table({"rank": ranks, "neighbor": self.users.tolist(), self.value_name: self.values})

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python, ready for JSON."""
        neighbors = [{"user": near.user, self.value_name: near.value} for near in self]
        return {"user": self.user, "neighbors": neighbors}

    def _repr_html_(self) -> str:
        rows = [(k, near.user, f"{near.value:.4f}") for k, near in enumerate(self, 1)]
        return html_table(f"Nearest to {self.user}", ("", "neighbor", self.value_name), rows)

    def __repr__(self) -> str:
        return f"[{', '.join(map(repr, self))}]"


@dataclass(frozen=True, eq=False, repr=False)
class Neighbors(Tabular):
    """The neighbors of many users: nearest first, ties in the order of the users.

    Attributes
    ----------
    users, reference
        Ids of the queries, and of the users that were searched.
    indptr, neighbors, values
        CSR: the neighbors of query k are ``neighbors[indptr[k]:indptr[k + 1]]`` (positions in
        ``reference``), with distances or similarities ``values[...]``.
    larger_is_closer
        True if the values are similarities, False if they are distances.
    stats
        The work that the search did.
    items
        For searches among the raters of an item: the item ids, one for each query.
    new
        Whether the queries are new users, even if some have the ids of searched users.
    recall
        The measured :class:`~prefmover.search.Recall` of a search among candidates. None if the search was
        exact.

    Examples
    --------
    >>> from prefmover import datasets, nearest
    >>> neighbors = nearest(datasets.load("cinema"), k=2)
    >>> neighbors["ada-b"]
    [Neighbor('olga-r', distance 0.651934), Neighbor('lina-r', distance 0.655312)]
    >>> neighbors.ids[0].tolist(), neighbors.values_table[0].round(2).tolist()
    (['olga-r', 'lina-r'], [0.65, 0.66])
    >>> neighbors.to_arrow().slice(0, 2).to_pylist()[0]
    {'user': 'ada-b', 'rank': 1, 'neighbor': 'olga-r', 'distance': 0.6519...}
    >>> neighbors.to_graph().shape  # sparse; for scikit-learn
    (800, 800)
    """

    users: Ids
    reference: Ids
    indptr: Ints
    neighbors: Ints
    values: Floats
    larger_is_closer: bool = False
    stats: SearchStats = field(default_factory=SearchStats)
    items: Ids | None = None
    new: bool = False
    recall: Recall | None = None

    @property
    def value_name(self) -> ValueName:
        """Whether a value is a ``"distance"`` or a ``"similarity"``."""
        return "similarity" if self.larger_is_closer else "distance"

    @property
    def counts(self) -> Ints:
        """Number of neighbors of each query; less than k if there are not as many users."""
        return np.diff(self.indptr)

    @property
    def ids(self) -> Ids:
        """(n, longest) neighbor ids; None where a list is shorter."""
        return self._lists.table(self.reference[self.neighbors].astype(object), None)

    @property
    def values_table(self) -> Floats:
        """(n, longest) distances or similarities; NaN where a list is shorter."""
        return self._lists.table(self.values, np.nan)

    def __len__(self) -> int:
        return len(self.users)

    def __getitem__(self, query: Any) -> NeighborList:
        """Return the neighbors of a user id; or of (user id, item id), for searches among raters."""
        if self.items is None:
            return self._list(self._index.position(query))
        try:
            return self._list(self._by_pair[query])
        except (KeyError, TypeError):
            raise InputError(f"{query!r} is not a (user, item) pair that was searched") from None

    @cached_property
    def _index(self) -> IdIndex:
        return IdIndex("user", self.users)

    @cached_property
    def _by_pair(self) -> dict[tuple[Any, Any], int]:
        assert self.items is not None
        numbers: dict[tuple[Any, Any], int] = {}
        for k, pair in enumerate(zip(self.users.tolist(), self.items.tolist(), strict=True)):
            numbers.setdefault(pair, k)  # the first, if it occurs twice
        return numbers

    def __iter__(self) -> Iterator[NeighborList]:
        """Iterate over the queries' lists."""
        return map(self._list, range(len(self.users)))

    def to_arrow(self) -> Any:
        """Return a `pyarrow.Table` with columns user, rank (from 1), neighbor, and distance or similarity.

        Searches among the raters of an item have a column item as well.
        """
        import pyarrow as pa

        rows, ranks = self._lists.cells()
        columns: dict[str, Any] = {"user": self.users[rows].tolist()}
        if self.items is not None:
            columns["item"] = self.items[rows].tolist()
        columns |= {"rank": ranks + 1, "neighbor": self.reference[self.neighbors].tolist()}
        return pa.table({**columns, self.value_name: self.values})

    def to_graph(self, *, include_self: bool = True) -> "csr_array":
        """Return the distances as a sparse graph (queries x reference), as scikit-learn expects it.

        Rows are sorted by distance, and zeros are stored. With ``include_self``, every query that is one of
        the searched users comes first in its own row, at distance 0. scikit-learn's
        ``metric="precomputed"`` relies on it (and removes it where it needs *other* users).
        """
        if self.larger_is_closer:
            raise InputError("a graph needs distances; this measure is a similarity")
        known = IdIndex("user", self.reference).get(self.users)
        itself = known if include_self and not self.new else np.full(len(known), -1)
        return self._lists.graph(itself, len(self.reference))

    @property
    def _lists(self) -> NeighborPositions:
        return NeighborPositions(self.indptr, self.neighbors, self.values)

    def _list(self, k: int) -> NeighborList:
        part = slice(self.indptr[k], self.indptr[k + 1])
        user = self.users[k : k + 1].tolist()[0]
        return NeighborList(user, self.reference[self.neighbors[part]], self.values[part], self.value_name)

    def _repr_html_(self) -> str:
        lists = [self._list(k)[:5] for k in range(min(SHOWN, len(self)))]
        n = max(map(len, lists), default=0)
        rows = [
            [one.user, *(f"{near.user} ({near.value:.4f})" for near in one), *[""] * (n - len(one))]
            for one in lists
        ]
        shown = f"the nearest {n} of each of the first {len(rows)}, with {self.value_name}"
        title = f"Neighbors of {counted(len(self), 'user')}: {shown}"
        return html_table(title, ("user", *range(1, n + 1)), rows)

    def __repr__(self) -> str:
        sizes = f"{len(self.users):,} users, {len(self.neighbors):,} neighbors"
        work = f"{self.stats.solved / (self.stats.pairs or 1):.1%} of pairs solved"
        return f"Neighbors({sizes}, {work if self.recall is None else f'recall {self.recall}'})"
