"""A shard of the users, and the search in it: arrays in, lists out, no ids and no state.

A shard holds the users at positions ``first``, ``first + 1``, ... A search in one process has one shard, a
search that is spread over machines has several. A list that was begun on other shards continues here: its
last distance rules out the same users as in a search of one shard, and ties are broken by position. So the
lists do not depend on how the users are divided into shards.
"""

import threading
import time
from array import array
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ints, Progress
from prefmover.data.ids import frozen
from prefmover.data.preferences import Preferences
from prefmover.execution.jit import LazyModule
from prefmover.execution.memory import has_room, require
from prefmover.execution.threads import resolve_threads, run, slices
from prefmover.measures.pmd import GroundMetric, distance_in_64_bits
from prefmover.search.result import NeighborPositions, SearchStats

_bounds = LazyModule("prefmover.search._bounds")
_cascade = LazyModule("prefmover.search._cascade")
cascade = LazyModule("prefmover.search.cascade")

Table = npt.NDArray[np.int16]
NO_TABLE: Table = frozen(np.empty((0, 0), np.int16))
MANY = 64  # queries from which the table pays
ListsFor: TypeAlias = Callable[[int, int], Any]
"""From the row of a query, and its row in the shard (-1 if not there), to the lists to fill."""

ONE_LIST, NO_MEMBERS = np.empty(0, np.int64), np.empty(0, np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class Shard:
    """The users at positions ``first`` and following."""

    first: int
    preferences: Preferences  # with indices of four bytes
    compact_items: npt.NDArray[Any]  # items and masses again, in fewer bytes if they fit
    compact_mass: npt.NDArray[Any]
    longest: int  # largest number of ratings of a user
    # (n_items, n_users) distances from an item to the nearest of a user's, in units; or empty
    table: Table = field(default_factory=lambda: NO_TABLE)

    @classmethod
    def from_preferences(cls, everyone: Preferences, start: int = 0, stop: int | None = None) -> Self:
        """Return the users from ``start`` to before ``stop``."""
        stop = everyone.total.size if stop is None else stop
        part = slice(everyone.indptr[start], everyone.indptr[stop])
        items = everyone.indices[part].astype(np.int32)
        indptr = everyone.indptr[start : stop + 1] - everyone.indptr[start]
        # Read-only, as arrays of an object store are: one type, one compiled kernel.
        some = Preferences(indptr, items, everyone.mass[part], everyone.total[start:stop])
        compact = _narrowed(items, np.uint16), _narrowed(some.mass, np.uint8)
        return cls(start, some, *compact, int(some.counts.max(initial=0)))

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.preferences)

    def row_of(self, position: int) -> int:
        """Return the row of a user; -1 if the user is in another shard."""
        return position - self.first if self.first <= position < self.first + self.n_users else -1

    def candidates(self) -> Any:
        """Return the users as the kernels take them."""
        p = self.preferences
        return _cascade.Candidates(p.indptr, p.indices, p.mass, p.total, self.table)

    def compact(self) -> Any:
        """Return the users in few bytes, as the kernels take them."""
        p = self.preferences
        return _cascade.CompactPreferences(p.indptr, self.compact_items, self.compact_mass, p.total)


def _narrowed(whole: npt.NDArray[Any], kind: type[np.unsignedinteger[Any]]) -> npt.NDArray[Any]:
    """Return integers in a narrower type if all fit, else themselves; read-only."""
    if whole.max(initial=0) > np.iinfo(kind).max:
        return whole
    return frozen(whole.astype(kind))


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

    sizes: tuple[int, ...] = (-1, -1, -1)
    arrays: Any = None
    coarse = np.empty(0, np.int16)

    def get(self, shard: Shard, n_items: int, m: int) -> Any:
        """Return scratch for a query of m items against all users of a shard."""
        longest = max(m, shard.longest)
        if self.sizes[:2] != (shard.n_users, n_items) or self.sizes[2] < longest:
            sizes = shard.n_users, n_items, longest
            self.arrays, self.sizes = _cascade.scratch(*sizes, cascade.SAMPLE), sizes
        return self.arrays

    def at_least(self, *sizes: int) -> Any:
        """Return scratch for a query against so many users, items and ratings, without shared prices."""
        larger = tuple(map(max, self.sizes, sizes))
        if larger != self.sizes:
            self.arrays, self.sizes = _cascade.scratch(*larger, 0), larger
        return self.arrays

    def coarse_rows(self, n_items: int, width: int) -> npt.NDArray[np.int16]:
        """Return a buffer for the coarse distances of a query, (n_items, width).

        It is kept: memory that is freed and taken again for each query, in other sizes, gets fragmented.
        """
        if self.coarse.size < n_items * width:
            self.coarse = np.empty(0, np.int16)  # freed first
            self.coarse = np.empty(n_items * width, np.int16)
        return self.coarse[: n_items * width].reshape(n_items, width)

    def release(self) -> None:
        """Free all memory."""
        self.__dict__.clear()


_SCRATCHES = Scratches()
_WIDE_LOCK = threading.Lock()  # such pairs are few and take much memory: one at a time
_TURN = threading.Lock()  # for queries that fit in memory once, but not on every thread


class Exchange:
    """Passes each solved distance to the query of the other user. Twelve bytes a pair.

    ``waiting`` are the positions of the queries that have not run yet, ``known`` pairs that other tasks
    solved. With ``record``, all pairs that are solved here are recorded for other tasks.
    """

    def __init__(
        self, shard: Shard, positions: Ints, known: SolvedPairs | None = None, record: bool = False
    ) -> None:
        self.shard, self.waiting, self.lock = shard, set(positions.tolist()) - {-1}, threading.Lock()
        self.pairs: dict[int, tuple[array[int], array[float]]]
        self.pairs = defaultdict(lambda: (array("i"), array("d")))
        self.recorded: list[SolvedPairs] | None = [] if record else None
        if known is not None:
            for u, v, distance in zip(*(column.tolist() for column in known), strict=True):
                self._add(u, v - shard.first, distance)

    def take(self, u: int) -> tuple[Ints, Floats]:
        """Return the users to whom query u has a known distance, by row of the shard, and the distances."""
        with self.lock:
            self.waiting.discard(u)
            users, distances = self.pairs.pop(u, ((), ()))
        return np.array(users, dtype=np.int64), np.array(distances, dtype=np.float64)

    def give(self, u: int, solved: Ints, distances: Floats) -> None:
        """Leave the distances from query u to users, by row of the shard, for the queries that wait."""
        row, first = self.shard.row_of(u), self.shard.first
        with self.lock:
            if self.recorded is not None and solved.size:
                self.recorded.append(SolvedPairs(np.full(solved.size, u), solved + first, distances))
            if row < 0:
                return
            for v, distance in zip(solved.tolist(), distances.tolist(), strict=True):
                if v + first in self.waiting:
                    self._add(v + first, row, distance)

    def _add(self, query: int, row: int, distance: float) -> None:
        users, distances = self.pairs[query]
        users.append(row)
        distances.append(distance)


def empty_lists(n: int, k: int, first: Ints = ONE_LIST, member: npt.NDArray[np.int32] = NO_MEMBERS) -> Any:
    """Return n empty lists of at most k; a CSR says which users belong to which list (all to the first)."""
    return _cascade.TopLists(
        np.empty((n, k), np.int64), np.empty((n, k)), np.zeros(n, np.int64), np.full(n, np.inf), first, member
    )


@dataclass(frozen=True, slots=True, eq=False)
class ShardSearch:
    """The search for the nearest users of some queries in one shard."""

    shard: Shard
    geometry: GroundMetric
    queries: Queries
    lists_for: ListsFor
    solve_first: int  # number of users to solve before looking for better bounds
    radius: float
    exchange: Exchange
    # from the row of a query to what the measure adds to the transport with each user of the shard
    term_for: Callable[[int], Floats] | None = None

    def run(
        self, rows: Ints, n_threads: int | None, progress: Progress | None
    ) -> tuple[dict[int, NeighborPositions], SearchStats]:
        """Run the queries of some rows, heavy ones first, and hand solved pairs to the other side."""
        total, results, lock = SearchStats(), dict[int, NeighborPositions](), threading.Lock()
        sizes, at_once = self.queries.preferences.counts, min(resolve_threads(n_threads), rows.size)

        def work(row: int) -> None:
            nonlocal total
            lists, stats = self._search(row)
            with lock:
                results[row] = lists
                total = total + stats

        def work_alone(row: int) -> None:
            with _TURN:
                _SCRATCHES.release()  # what this thread has kept is not free otherwise
                try:
                    one, entry, point = self.geometry.words
                    what = f"a search by one {one}'s {sizes[row]:,} {entry}s"
                    what += f" among {self.geometry.n_items:,} {point}s"
                    remedy = f"leave {entry}s of this {one} out, or compare single pairs"
                    require(self._bytes(int(sizes[row])), what, remedy)
                    work(row)
                finally:
                    _SCRATCHES.release()

        heavy_first = rows[np.argsort(-sizes[rows], kind="stable")].tolist()
        # Decided before any query takes memory: while others run, nobody knows what they are about to take.
        fits = (n for n, row in enumerate(heavy_first) if has_room(at_once * self._bytes(int(sizes[row]))))
        n_alone = next(fits, len(heavy_first))
        done = 0

        def report(*_: int) -> None:
            nonlocal done
            done += 1
            if progress is not None:
                progress(done, len(heavy_first))

        run(work_alone, heavy_first[:n_alone], n_threads=1, progress=report)
        run(work, heavy_first[n_alone:], n_threads=n_threads, progress=report)
        return results, total

    def _bytes(self, n_rated: int) -> int:
        """Return the memory of a query: its distances, fine and coarse, and a pair with the largest user.

        Fine distances are those of the geometry, if it has a dense matrix. For 30,000 ratings of 60,000 items
        and another such user, this gives 21.6 GB; 21.4 GB were measured.
        """
        distances = 2 if self.geometry.grid is not None else 6
        return n_rated * (distances * self.geometry.n_items + 12 * max(n_rated, self.shard.longest))

    def _search(self, row: int) -> tuple[NeighborPositions, SearchStats]:
        shard, geometry, (p, positions) = self.shard, self.geometry, self.queries
        position, total = int(positions[row]), int(p.total[row])
        itself = shard.row_of(position)
        known, distances = self.exchange.take(position)
        if total == 0:
            lists = _collect(self.lists_for(row, itself), shard)
            return lists, SearchStats(undefined=shard.n_users - (itself >= 0))
        indices, mass = p.row(row)
        items = indices.astype(np.int32)
        start = time.perf_counter()
        query = lay_out(geometry, items, mass, total, itself, self.radius, _SCRATCHES)
        s = _SCRATCHES.get(shard, geometry.n_items, items.size)
        seconds = {"layout": time.perf_counter() - start}
        s.known.fill(-1.0)  # here, not at the end: an interrupted query must leave nothing to the next
        s.known[known] = distances
        s.term[:] = 0.0 if self.term_for is None else self.term_for(row)
        users, compact = shard.candidates(), shard.compact()
        while True:
            lists = self.lists_for(row, itself)
            try:
                solved, counts, stages = cascade.cascade(query, users, compact, lists, self.solve_first, s)
                break
            except cascade.Overflow32Error as pair:  # beyond 32 bits: solved separately, then known
                with _WIDE_LOCK:
                    transport = distance_in_64_bits(p, shard.preferences, geometry, row, pair.v)
                s.known[pair.v] = transport + s.term[pair.v]
        self.exchange.give(position, s.solved_users[:solved].copy(), s.solved_distances[:solved].copy())
        return _collect(lists, shard), SearchStats(*counts, seconds={**seconds, **stages})


def lay_out(
    geometry: GroundMetric,
    items: npt.NDArray[np.int32],
    mass: Ints,
    total: int,
    itself: int,
    radius: float,
    scratches: Scratches,
) -> Any:
    """Return a query as the kernels take it: with the distances between its items and all items.

    It is valid until the next query of this thread.
    """
    n, width = geometry.n_items, _cascade.filled_up(items.size)
    if geometry.grid is not None:
        distance, lines = geometry.grid, items
    else:
        distance, lines = frozen(geometry.units(items, None)), np.arange(items.size, dtype=np.int32)
    coarse = scratches.coarse_rows(n, width)
    _bounds.lay_out(distance, lines, coarse)
    metric = bool(geometry.is_metric)
    return _cascade.Query(items, mass, total, distance, lines, coarse, geometry.unit, metric, itself, radius)


def _collect(lists: Any, shard: Shard) -> NeighborPositions:
    """Return the filled lists, with positions among all users."""
    return NeighborPositions.from_table(lists.users + shard.first, lists.distances, lists.counts)


def nearest_item_table(
    geometry: GroundMetric, shard: Shard, *, n_threads: int | None = None, progress: Progress | None = None
) -> Table:
    """Return the shard's table: the distance from every item to the nearest of each user's items."""
    assert geometry.grid is not None
    table, p = np.empty((geometry.n_items, shard.n_users), np.int16), shard.preferences

    def work(strip: slice) -> None:
        _bounds.nearest_table(p.indptr, p.indices, geometry.grid, strip.start, strip.stop, table)

    strips = slices(shard.n_users, 8 * _bounds.STRIP)
    run(work, strips, n_threads=n_threads, progress=progress)
    return frozen(table)
