"""Some of the users, and the search among them: arrays in, lists out, no ids and no state.

A shard holds the reference users at positions ``first``, ``first + 1``, ...; a whole search has one, a
search that is spread over machines has several. A list that was begun on other shards goes on here: its
last distance rules out whom it would have ruled out there, and ties are broken by position, so that the
lists are those of one search whatever the cut.
"""

import threading
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from prefmover.data.preferences import Preferences
from prefmover.execution.threads import Progress, run
from prefmover.items.geometry import ItemGeometry
from prefmover.measures.pmd import query_major, wide_distance
from prefmover.search.result import Floats, Index, SearchStats

__all__ = [
    "Askers",
    "Exchange",
    "Found",
    "Pairs",
    "Scratches",
    "Shard",
    "ask",
    "empty_lists",
    "nearest_items",
]

Table = npt.NDArray[np.int32]
NO_TABLE: Table = np.empty((0, 0), np.int32)
NO_TABLE.flags.writeable = False
EVERYONE, NOBODY = np.empty(0, np.int64), np.empty(0, np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class Shard:
    """Users searched: those at positions ``first`` and following.

    Attributes
    ----------
    first
        Position of the first one among all users.
    preferences
        Theirs; ``items`` are its indices in four bytes.
    longest
        Ratings of the user who has most.
    table
        (n_items, n_users) distance from an item to the nearest of a user's, in units; or empty.
    """

    first: int
    preferences: Preferences
    items: npt.NDArray[np.int32]
    longest: int
    table: Table = field(default_factory=lambda: NO_TABLE)

    @classmethod
    def of(cls, everyone: Preferences, start: int = 0, stop: int | None = None) -> "Shard":
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
        """How many."""
        return self.preferences.total.size

    def users(self) -> Any:
        """Return what the kernels search."""
        from prefmover.search import _cascade as kernels

        p = self.preferences
        return kernels.Users(p.indptr, self.items, p.mass, p.total, self.table)


class Askers(NamedTuple):
    """Those who ask: preferences, and positions among all users searched; -1 for new ones."""

    preferences: Preferences
    positions: Index


class Found(NamedTuple):
    """What one query gives: its lists, one after the other; positions among all users."""

    counts: Index
    users: Index
    distances: Floats


class Pairs(NamedTuple):
    """Distances that are known: of askers and users by position."""

    askers: Index
    users: Index
    distances: Floats

    @classmethod
    def none(cls) -> "Pairs":
        """Return no pairs."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))

    def at(self, chosen: npt.NDArray[Any]) -> "Pairs":
        """Return some of the pairs, by a mask or by places."""
        return Pairs(self.askers[chosen], self.users[chosen], self.distances[chosen])

    @classmethod
    def join(cls, parts: "list[Pairs]") -> "Pairs":
        """Return all pairs of some."""
        return cls(*(np.concatenate(column) for column in zip(cls.none(), *parts, strict=True)))


class Scratches(threading.local):
    """The scratch of each thread, made when it is first needed and as large as was ever needed."""

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
    """Pairs solved from one side, kept until the other side asks. Twelve bytes a pair.

    Parameters
    ----------
    shard
        Whose users may be known to an asker.
    waiting
        Positions of those who have yet to ask, here.
    known
        Pairs that were solved elsewhere.
    keep
        Whether to keep all pairs that are solved, for others than those who wait here.
    """

    def __init__(
        self, shard: Shard, waiting: set[int], known: Pairs | None = None, keep: bool = False
    ) -> None:
        self.first, self.stop = shard.first, shard.first + shard.n_users
        self.waiting = waiting
        self.lock = threading.Lock()
        self.users: dict[int, array[int]] = {}
        self.distances: dict[int, array[float]] = {}
        self.kept: list[Pairs] | None = [] if keep else None
        if known is not None:
            for u, v, distance in zip(*(column.tolist() for column in known), strict=True):
                self._add(u, v - self.first, distance)

    def take(self, u: int) -> tuple[Index, Floats]:
        """Return whom asker u has a known distance to, by place in the shard, and the distances."""
        with self.lock:
            self.waiting.discard(u)
            users, distances = self.users.pop(u, array("i")), self.distances.pop(u, array("d"))
        return np.array(users, dtype=np.int64), np.array(distances, dtype=np.float64)

    def give(self, u: int, solved: Index, distances: Floats) -> None:
        """Leave the distances of asker u to users, by place in the shard, for those who wait."""
        with self.lock:
            if self.kept is not None and solved.size:
                self.kept.append(Pairs(np.full(solved.size, u), solved + self.first, distances))
            if not self.first <= u < self.stop:
                return
            for v, distance in zip(solved.tolist(), distances.tolist(), strict=True):
                if v + self.first in self.waiting:
                    self._add(v + self.first, u - self.first, distance)

    def _add(self, asker: int, place: int, distance: float) -> None:
        self.users.setdefault(asker, array("i")).append(place)
        self.distances.setdefault(asker, array("d")).append(distance)


def empty_lists(n: int, k: int, first: Index = EVERYONE, member: npt.NDArray[np.int32] = NOBODY) -> Any:
    """Return n lists of at most k; everybody belongs to the first unless a CSR says to which."""
    from prefmover.search import _cascade as kernels

    return kernels.Lists(np.empty((n, k), np.int64), np.empty((n, k)), np.zeros(n, np.int64), first, member)


def ask(
    shard: Shard,
    geometry: ItemGeometry,
    askers: Askers,
    rows: Index,
    lists_for: Callable[[int, int], Any],
    solve_first: int,
    radius: float,
    exchange: Exchange,
    scratches: Scratches,
    *,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[dict[int, Found], SearchStats]:
    """Run one query for each of some askers, heavy ones first, and hand solved pairs to the other side.

    Parameters
    ----------
    askers, rows
        Who might ask, and the rows of those who do.
    lists_for
        Called with an asker's row and place in the shard (-1 if not there): the lists to fill, in places
        of the shard.
    solve_first
        How many users to solve before looking for better bounds.
    """
    users = shard.users()
    total, found, lock = SearchStats(), dict[int, Found](), threading.Lock()

    def work(row: int) -> None:
        nonlocal total
        position = int(askers.positions[row])
        known = exchange.take(position)
        place = position - shard.first if shard.first <= position < shard.first + shard.n_users else -1
        answer, solved, stats = _query(
            shard, geometry, askers, row, place, users, lists_for, solve_first, radius, known, scratches
        )
        exchange.give(position, *solved)
        with lock:
            found[row] = answer
            total = total + stats

    weight = np.diff(askers.preferences.indptr)[rows]
    run(work, rows[np.argsort(-weight, kind="stable")].tolist(), n_threads=n_threads, progress=progress)
    return found, total


def _query(
    shard: Shard,
    geometry: ItemGeometry,
    askers: Askers,
    row: int,
    place: int,
    users: Any,
    lists_for: Callable[[int, int], Any],
    solve_first: int,
    radius: float,
    known: tuple[Index, Floats],
    scratches: Scratches,
) -> tuple[Found, tuple[Index, Floats], SearchStats]:
    from prefmover.search import _cascade as kernels
    from prefmover.search.cascade import WidePairError, cascade

    theirs = askers.preferences
    mine = slice(theirs.indptr[row], theirs.indptr[row + 1])
    items = theirs.indices[mine].astype(np.int32)
    if theirs.total[row] == 0:
        none = np.empty(0, np.int64), np.empty(0)
        undefined = SearchStats(undefined=shard.n_users - (place >= 0))
        return _collect(lists_for(row, place), shard), none, undefined
    start = time.perf_counter()
    query = kernels.Query(
        items,
        theirs.mass[mine],
        int(theirs.total[row]),
        query_major(geometry, items),
        geometry.unit,
        bool(geometry.is_metric),
        place,
        radius,
    )
    s = scratches.get(shard, geometry.n_items, items.size)
    seconds = {"layout": time.perf_counter() - start}
    s.known.fill(-1.0)  # here, not at the end: an interrupted query must leave nothing to the next
    s.known[known[0]] = known[1]
    while True:
        lists = lists_for(row, place)
        try:
            solved, counts, stages = cascade(query, users, lists, solve_first, s)
            break
        except WidePairError as pair:  # beyond 32 bits: solved apart, then known
            s.known[pair.v] = wide_distance(theirs, shard.preferences, geometry, row, pair.v)
    pairs = s.solved_users[:solved].copy(), s.solved_distances[:solved].copy()
    return _collect(lists, shard), pairs, SearchStats.of(counts, {**seconds, **stages})


def _collect(lists: Any, shard: Shard) -> Found:
    kept = np.arange(lists.users.shape[1]) < lists.found[:, None]
    return Found(lists.found.copy(), lists.users[kept] + shard.first, lists.distances[kept])


def nearest_items(
    geometry: ItemGeometry, shard: Shard, *, threads: int | None = None, progress: Progress | None = None
) -> Table:
    """Return the shard's table: the distance from every item to the nearest of each user's."""
    from prefmover.search._bounds import STRIP, nearest_table

    assert geometry.grid is not None
    table, p, n = np.empty((geometry.n_items, shard.n_users), np.int32), shard.preferences, shard.n_users
    strips = [(a, min(a + 8 * STRIP, n)) for a in range(0, n, 8 * STRIP)]
    run(
        lambda strip: nearest_table(p.indptr, shard.items, geometry.grid, *strip, table),
        strips,
        n_threads=threads,
        progress=progress,
    )
    table.flags.writeable = False
    return table
