"""The engine: rows of masses on points, searched by position, whatever the rows stand for.

Queries run on threads, one query per thread at a time, heavy ones first. Distances are computed from exact
integers, so the result does not depend on the number of threads or on the side from which a pair was solved.
Only the counts in the statistics do.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real
from os import PathLike

import numpy as np

from prefmover._typing import Floats, Ids, Ints, Progress
from prefmover.data.file_options import check_whole_number
from prefmover.data.preferences import Preferences
from prefmover.errors import InputError
from prefmover.execution import Executor, open_executor
from prefmover.execution.memory import require, trim_memory
from prefmover.items.geometry import Ground
from prefmover.measures.pmd import GroundMetric
from prefmover.search.distributed import search_blocks
from prefmover.search.result import NeighborPositions, SearchStats
from prefmover.search.shard import (
    MANY,
    Exchange,
    ListsFor,
    Queries,
    Shard,
    ShardSearch,
    empty_lists,
    nearest_item_table,
)

TABLE_BUDGET = 2**28
MANY_FOR_GRID = 128  # queries from which a dense matrix of distances pays (measured with 9,000 items)
_TABLE_LOCK = threading.Lock()  # not in the index, which could not be pickled with it


@dataclass(slots=True, eq=False, kw_only=True)
class Job:
    """What to find for the queries at some positions, and where to run; subclasses say what a row is."""

    k: int | None = None  # most neighbors of a list; None means all
    radius: float | None = None  # largest distance, or least similarity
    n_threads: int | None = None
    progress: Progress | None = None
    executor: str | Executor | None = None
    checkpoint: str | PathLike[str] | None = None

    def check(self, n_queries: int, n_rows: int, noun: str, least: float = 0.0) -> None:
        """Raise for a k or radius that is none, and for lists that do not fit in memory."""
        if self.radius is None:
            check_whole_number("k", self.k)
        elif not isinstance(self.radius, Real) or not float(self.radius) >= least:
            raise InputError(f"radius is {self.radius!r}; pass a number from {least:g} up")
        if self.k is not None:
            most = self.most_of(n_rows)
            what = f"the {most:,} nearest of each of {n_queries:,} {noun}s"
            require(16 * n_queries * most, what, f"ask for a smaller k, or for fewer {noun}s")

    def most_of(self, n_rows: int) -> int:
        """Return the largest number of neighbors in a list, of so many rows."""
        return n_rows if self.k is None else min(int(self.k), n_rows)

    @property
    def in_blocks(self) -> bool:
        """Whether an executor runs the search, block by block."""
        return self.executor is not None or self.checkpoint is not None


class Engine:
    """Rows of masses on points, and the distances of the points: prepared once, searched many times."""

    def __init__(
        self,
        masses: Preferences,
        ground: GroundMetric,
        *,
        table_budget: int = TABLE_BUDGET,
        grid_queries: int = MANY_FOR_GRID,
    ) -> None:
        self.masses, self.ground, self.given = masses, ground, ground
        self.table_budget, self.grid_queries = table_budget, grid_queries
        self._shard = Shard.from_preferences(masses)

    @property
    def ids(self) -> Ids:
        """The names of the rows in the files of a checkpoint."""
        return np.arange(len(self.masses))

    def search(
        self,
        job: Job,
        positions: Ints,
        new: Preferences | None = None,
        *,
        lists: tuple[Ints, ListsFor] | None = None,
        space: tuple[GroundMetric, Shard, Queries] | None = None,
        term_for: Callable[[int], Floats] | None = None,
    ) -> NeighborPositions:
        """Return the lists of the queries at some positions, among the rows or among ``new`` ones.

        ``lists`` says, for each query, which of its row's lists it has, and makes a row's lists. ``space`` is
        for queries that bring points of their own, ``term_for`` for what a measure adds to the transport.
        """
        rows, k = np.unique(positions), job.most_of(len(self.masses))
        self.prepare(rows.size, job.n_threads)
        if job.in_blocks:
            with open_executor(job.executor, job.n_threads) as runs:
                return search_blocks(self, positions, k, runs, job.checkpoint, new=new, progress=job.progress)
        start = time.perf_counter()
        shard = self.shard(space is None and rows.size >= MANY, job.n_threads)
        ground, shard, queries = space or (self.ground, shard, self.queries(new))
        table = SearchStats(seconds={"table": time.perf_counter() - start})
        exchange = Exchange(shard, queries.positions[rows])
        radius = np.inf if job.radius is None else float(job.radius)
        numbers, lists_for = lists or (np.zeros(positions.size, np.int64), lambda *_: empty_lists(1, k))
        solve_first = k if lists is None else 0
        search = ShardSearch(shard, ground, queries, lists_for, solve_first, radius, exchange, term_for)
        results, stats = search.run(rows, job.n_threads, job.progress)
        found = (results[u].row(k) for u, k in zip(positions.tolist(), numbers.tolist(), strict=True))
        return NeighborPositions.from_lists(found, table + stats)

    def prepare(self, n_queries: int, n_threads: int | None = None) -> None:
        """Make a dense matrix of distances if there is none and many queries will read it."""
        if n_queries >= self.grid_queries and isinstance(self.ground, Ground):
            with _TABLE_LOCK:
                self.ground = self.ground.with_grid(n_threads)

    def queries(self, new: Preferences | None = None) -> Queries:
        """Return the possible queries: the rows of the index, or new ones."""
        if new is None:
            return Queries(self._shard.preferences, np.arange(len(self.masses)))
        return Queries(new, np.full(len(new), -1))

    def shard(self, with_table: bool, n_threads: int | None = None) -> Shard:
        """Return all rows as one shard: with a table if it is requested and fits, or exists already."""
        with _TABLE_LOCK:
            if with_table and not self._shard.table.size and self.has_room_for_table(len(self.masses)):
                trim_memory()  # memory that was freed after reading the data and making the distances
                table = nearest_item_table(self.ground, self._shard, n_threads=n_threads)
                self._shard = replace(self._shard, table=table)
            return self._shard

    def has_room_for_table(self, n_rows: int) -> bool:
        """Whether the table of a number of rows fits the budget."""
        return self.ground.grid is not None and 2 * self.ground.n_items * n_rows <= self.table_budget
