"""A shard of the users, and the search in it: arrays in, lists out, no ids and no state.

A shard holds the users at positions ``first``, ``first + 1``, ... A search in one process has one shard, a
search that is spread over machines has several. A list that was begun on other shards continues here: its
last distance rules out the same users as in a search of one shard, and ties are broken by position. So the
lists do not depend on how the users are divided into shards.
"""

import threading
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ints, Progress
from prefmover.data.preferences import Preferences
from prefmover.execution.threads import run
from prefmover.items.geometry import ItemGeometry
from prefmover.measures.pmd import query_major, wide_distance
from prefmover.search.result import NeighborPositions, SearchStats

__all__ = [
    "Exchange",
    "Queries",
    "Scratches",
    "Shard",
    "SolvedPairs",
    "empty_lists",
    "nearest_item_table",
    "search_shard",
]

Table = npt.NDArray[np.int32]
NO_TABLE: Table = np.empty((0, 0), np.int32)
NO_TABLE.flags.writeable = False
ONE_LIST, NO_MEMBERS = np.empty(0, np.int64), np.empty(0, np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class Shard:
    """The users at positions ``first`` and following.

    Attributes
    ----------
    first
        Position of the first one among all users.
    preferences
        Their preferences; ``items`` are its indices in four bytes.
    longest
        Largest number of ratings of a user.
    table
        (n_items, n_users) distance from an item to the nearest of a user's, in units; or empty.
    """

    first: int
    preferences: Preferences
    items: npt.NDArray[np.int32]
    longest: int
    table: Table = field(default_factory=lambda: NO_TABLE)

    @classmethod
    def from_preferences(cls, everyone: Preferences, start: int = 0, stop: int | None = None) -> Self:
        """Return the users from ``start`` to before ``stop``."""
        stop = everyone.total.size if stop is None else stop
        part = slice(everyone.indptr[start], everyone.indptr[stop])
        items = everyone.indices[part].astype(np.int32)
        items.flags.writeable = False  # as arrays of an object store are: one type, one compiled kernel
        indptr = everyone.indptr[start : stop + 1] - everyone.indptr[start]
        some = Preferences(indptr, items, everyone.mass[part], everyone.total[start:stop])
        return cls(start, some, items, int(np.diff(indptr).max(initial=0)))

    @property
    def n_users(self) -> int:
        """Number of users."""
        return self.preferences.total.size

    def candidates(self) -> Any:
        """Return the users as the kernels take them."""
        from prefmover.search import _cascade as kernels

        p = self.preferences
        return kernels.Candidates(p.indptr, self.items, p.mass, p.total, self.table)


class Queries(NamedTuple):
    """Preferences of the queries, and their positions among all users searched; -1 for new users."""

    preferences: Preferences
    positions: Ints


class SolvedPairs(NamedTuple):
    """Pairs of users, by position, whose distance is known."""

    queries: Ints
    users: Ints
    distances: Floats

    def take(self, chosen: npt.NDArray[Any]) -> Self:
        """Return some of the pairs, by a mask or by positions."""
        return type(self)(self.queries[chosen], self.users[chosen], self.distances[chosen])

    @classmethod
    def concatenate(cls, parts: "list[SolvedPairs]") -> Self:
        """Return the pairs of all parts."""
        none = cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        return cls(*(np.concatenate(column) for column in zip(none, *parts, strict=True)))


class Scratches(threading.local):
    """The scratch of each thread: allocated on first use, and as large as the largest use so far."""

    size = (-1, -1)
    longest = -1
    arrays: Any = None

    def get(self, shard: Shard, n_items: int, m: int) -> Any:
        """Return scratch for a query of m items."""
        from prefmover.search import _cascade as kernels
        from prefmover.search.cascade import CROWD_ITEMS

        longest = max(m, shard.longest)
        if self.size != (shard.n_users, n_items) or self.longest < longest:
            self.arrays = kernels.scratch(shard.n_users, n_items, longest, CROWD_ITEMS)
            self.size, self.longest = (shard.n_users, n_items), longest
        return self.arrays


class Exchange:
    """Hands a distance that one query solved to the query of the other user. Twelve bytes a pair.

    Parameters
    ----------
    shard
        The users searched.
    waiting
        Positions of the queries that have not run yet.
    known
        Pairs that other tasks solved.
    record
        Whether to record all pairs that are solved here, for other tasks.
    """

    def __init__(
        self, shard: Shard, waiting: set[int], known: SolvedPairs | None = None, record: bool = False
    ) -> None:
        self.first, self.stop = shard.first, shard.first + shard.n_users
        self.waiting = waiting
        self.lock = threading.Lock()
        self.users: dict[int, array[int]] = {}
        self.distances: dict[int, array[float]] = {}
        self.recorded: list[SolvedPairs] | None = [] if record else None
        if known is not None:
            for u, v, distance in zip(*(column.tolist() for column in known), strict=True):
                self._add(u, v - self.first, distance)

    def take(self, u: int) -> tuple[Ints, Floats]:
        """Return the users to whom query u has a known distance, by row of the shard, and the distances."""
        with self.lock:
            self.waiting.discard(u)
            users, distances = self.users.pop(u, array("i")), self.distances.pop(u, array("d"))
        return np.array(users, dtype=np.int64), np.array(distances, dtype=np.float64)

    def give(self, u: int, solved: Ints, distances: Floats) -> None:
        """Leave the distances from query u to users, by row of the shard, for the queries that wait."""
        with self.lock:
            if self.recorded is not None and solved.size:
                self.recorded.append(SolvedPairs(np.full(solved.size, u), solved + self.first, distances))
            if not self.first <= u < self.stop:
                return
            for v, distance in zip(solved.tolist(), distances.tolist(), strict=True):
                if v + self.first in self.waiting:
                    self._add(v + self.first, u - self.first, distance)

    def _add(self, query: int, row: int, distance: float) -> None:
        self.users.setdefault(query, array("i")).append(row)
        self.distances.setdefault(query, array("d")).append(distance)


def empty_lists(n: int, k: int, first: Ints = ONE_LIST, member: npt.NDArray[np.int32] = NO_MEMBERS) -> Any:
    """Return n empty lists of at most k; a CSR says which users belong to which list (all to the first)."""
    from prefmover.search import _cascade as kernels

    return kernels.TopLists(
        np.empty((n, k), np.int64), np.empty((n, k)), np.zeros(n, np.int64), first, member
    )


def search_shard(
    shard: Shard,
    geometry: ItemGeometry,
    queries: Queries,
    rows: Ints,
    lists_for: Callable[[int, int], Any],
    solve_first: int,
    radius: float,
    exchange: Exchange,
    scratches: Scratches,
    *,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[dict[int, NeighborPositions], SearchStats]:
    """Run some queries, heavy ones first, and hand solved pairs to the other side.

    Parameters
    ----------
    queries, rows
        The possible queries, and the rows of those to run.
    lists_for
        Called with the row of a query and its row in the shard (-1 if not there). Returns the lists to
        fill, in rows of the shard.
    solve_first
        Number of users to solve before looking for better bounds.
    """
    candidates = shard.candidates()
    total, results, lock = SearchStats(), dict[int, NeighborPositions](), threading.Lock()

    def work(row: int) -> None:
        nonlocal total
        position = int(queries.positions[row])
        known = exchange.take(position)
        itself = position - shard.first if shard.first <= position < shard.first + shard.n_users else -1
        lists, solved, stats = _search_query(
            shard,
            geometry,
            queries,
            row,
            itself,
            candidates,
            lists_for,
            solve_first,
            radius,
            known,
            scratches,
        )
        exchange.give(position, *solved)
        with lock:
            results[row] = lists
            total = total + stats

    sizes = np.diff(queries.preferences.indptr)[rows]
    run(work, rows[np.argsort(-sizes, kind="stable")].tolist(), n_threads=n_threads, progress=progress)
    return results, total


def _search_query(
    shard: Shard,
    geometry: ItemGeometry,
    queries: Queries,
    row: int,
    itself: int,
    candidates: Any,
    lists_for: Callable[[int, int], Any],
    solve_first: int,
    radius: float,
    known: tuple[Ints, Floats],
    scratches: Scratches,
) -> tuple[NeighborPositions, tuple[Ints, Floats], SearchStats]:
    from prefmover.search import _cascade as kernels
    from prefmover.search.cascade import WidePairError, cascade

    p = queries.preferences
    part = slice(p.indptr[row], p.indptr[row + 1])
    items = p.indices[part].astype(np.int32)
    if p.total[row] == 0:
        none = np.empty(0, np.int64), np.empty(0)
        undefined = SearchStats(undefined=shard.n_users - (itself >= 0))
        return _collect(lists_for(row, itself), shard), none, undefined
    start = time.perf_counter()
    query = kernels.Query(
        items,
        p.mass[part],
        int(p.total[row]),
        query_major(geometry, items),
        geometry.unit,
        bool(geometry.is_metric),
        itself,
        radius,
    )
    s = scratches.get(shard, geometry.n_items, items.size)
    seconds = {"layout": time.perf_counter() - start}
    s.known.fill(-1.0)  # here, not at the end: an interrupted query must leave nothing to the next
    s.known[known[0]] = known[1]
    while True:
        lists = lists_for(row, itself)
        try:
            solved, counts, stages = cascade(query, candidates, lists, solve_first, s)
            break
        except WidePairError as pair:  # beyond 32 bits: solved separately, then known
            s.known[pair.v] = wide_distance(p, shard.preferences, geometry, row, pair.v)
    pairs = s.solved_users[:solved].copy(), s.solved_distances[:solved].copy()
    return _collect(lists, shard), pairs, SearchStats.from_counts(counts, {**seconds, **stages})


def _collect(lists: Any, shard: Shard) -> NeighborPositions:
    """Return the filled lists, with positions among all users."""
    filled = np.arange(lists.users.shape[1]) < lists.counts[:, None]
    indptr = np.concatenate(([0], np.cumsum(lists.counts)))
    return NeighborPositions(indptr, lists.users[filled] + shard.first, lists.distances[filled])


def nearest_item_table(
    geometry: ItemGeometry, shard: Shard, *, n_threads: int | None = None, progress: Progress | None = None
) -> Table:
    """Return the shard's table: the distance from every item to the nearest of each user's items."""
    from prefmover.search._bounds import STRIP, nearest_table

    assert geometry.grid is not None
    table, p, n = np.empty((geometry.n_items, shard.n_users), np.int32), shard.preferences, shard.n_users
    strips = [(a, min(a + 8 * STRIP, n)) for a in range(0, n, 8 * STRIP)]
    run(
        lambda strip: nearest_table(p.indptr, shard.items, geometry.grid, *strip, table),
        strips,
        n_threads=n_threads,
        progress=progress,
    )
    table.flags.writeable = False
    return table
