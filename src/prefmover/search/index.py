"""An index for exact search by PMD, or by a measure that is made of it: prepared once, searched many times.

Queries run on threads, one query per thread at a time, heavy ones first. Distances are computed from exact
integers, so the result does not depend on the number of threads or on the side from which a pair was solved.
Only the counts in the statistics do.
"""

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from os import PathLike
from typing import Any, Self

import numpy as np

from prefmover._typing import Floats, Ints, Progress
from prefmover.data.file_options import check_whole_number
from prefmover.data.preferences import preferences
from prefmover.data.ratings import Ratings
from prefmover.dataset import Dataset, check_dataset
from prefmover.errors import InputError
from prefmover.execution import Executor, open_executor
from prefmover.execution.jit import LazyModule
from prefmover.execution.memory import require, trim_memory
from prefmover.measures import Measure, find_measure
from prefmover.measures.pairs import Pairs
from prefmover.measures.pmd import GroundMetric, item_space
from prefmover.search.distributed import search_blocks
from prefmover.search.result import NeighborPositions, Neighbors, Recall, SearchStats
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

_cascade = LazyModule("prefmover.search._cascade")

TABLE_BUDGET = 2**28
MANY_FOR_GRID = 128  # queries from which a dense matrix of distances pays (measured with 9,000 items)
_TABLE_LOCK = threading.Lock()  # not in the index, which could not be pickled with it


@dataclass(slots=True, eq=False)
class Request:
    """One search by position, checked: the queries, the lists to fill, and where to run."""

    data: Dataset
    measure: Measure
    convention: str | None
    users: Ints  # positions of the queries: among the new users, if there are some
    items: Ints | None = None  # for a search among the raters of an item: an item's position for each query
    new: Ratings | None = None
    k: int | None = None  # most neighbors of a list; None means all
    radius: float | None = None  # largest distance, or least similarity
    n_threads: int | None = None
    progress: Progress | None = None
    executor: str | Executor | None = None
    checkpoint: str | PathLike[str] | None = None

    def __post_init__(self) -> None:
        least = float("-inf" if self.measure.larger_is_closer else 0)
        if self.radius is None:
            check_whole_number("k", self.k)
        elif not isinstance(self.radius, Real) or not float(self.radius) >= least:
            raise InputError(f"radius is {self.radius!r}; pass a number from {least:g} up")
        if self.items is not None and self.items.size != self.users.size:
            raise InputError(
                f"{self.users.size} users but {self.items.size} items; pass one item for each user"
            )
        if self.measure.name != "pmd" and self.in_blocks:
            option = "executor" if self.checkpoint is None else "checkpoint"
            raise InputError(f"{option} works with PMD only; search {self.measure.label} without it")
        if self.new is not None:
            if self.checkpoint is not None:
                raise InputError("checkpoint works with users of the data only; search new users without it")
            self.new = self.new.with_items(self.data.ratings.items)
        if self.k is not None and self.items is None:
            what = f"the {self.most:,} nearest of each of {self.users.size:,} users"
            require(16 * self.users.size * self.most, what, "ask for a smaller k, or for fewer users")

    @classmethod
    def from_ids(
        cls,
        data: Dataset,
        users: Iterable[Any] | None,
        measure: str | Measure = "pmd",
        convention: str | None = None,
        *,
        items: Iterable[Any] | None = None,
        new: Ratings | None = None,
        **options: Any,
    ) -> Self:
        """Return the search of queries and items by id; ``users=None`` means all."""
        check_dataset(data)
        if new is not None and not isinstance(new, Ratings):
            raise InputError(f"new is of type {type(new).__name__}; pass Ratings (see Ratings.from_arrays)")
        if options.get("radius", 0) is None:
            raise InputError("radius is None; pass a number")
        queries = (data.ratings if new is None else new).user_positions(users)
        columns = None if items is None else data.ratings.item_positions(items)
        return cls(data, find_measure(measure), convention, queries, columns, new, **options)

    @property
    def in_blocks(self) -> bool:
        """Whether an executor runs the search, block by block."""
        return self.executor is not None or self.checkpoint is not None

    @property
    def most(self) -> int:
        """The largest number of neighbors in a list."""
        return self.data.n_users if self.k is None else min(int(self.k), self.data.n_users)

    def result(self, lists: NeighborPositions, recall: Recall | None = None) -> Neighbors:
        """Return the lists with ids."""
        ratings = self.data.ratings
        users = (ratings if self.new is None else self.new).users[self.users]
        items = None if self.items is None else ratings.items[self.items]
        larger = self.measure.larger_is_closer
        return Neighbors(
            users, ratings.users, lists.indptr, lists.neighbors, lists.values, larger, lists.stats, items,
            self.new is not None, recall,
        )  # fmt: skip


class NeighborIndex:
    """Exact nearest users by PMD, among the users of a data set.

    Parameters
    ----------
    data
        The users to search, and the distances between items.
    measure
        PMD, or another measure that is searched by bounds on a transport.
    table_budget
        Bytes for a table of distances between items and users (2 n_items n_users), which makes one of the
        bounds cheaper. It is built for searches with many queries. 0 means no table.
    grid_queries
        Number of queries from which a dense matrix of item distances is made, if there is none.

    Examples
    --------
    >>> from prefmover import datasets
    >>> index = NeighborIndex(datasets.load("cinema"))
    >>> index.nearest(["ada-b"], k=1)["ada-b"]
    [Neighbor('olga-r', distance 0.651934)]
    """

    def __init__(
        self,
        data: Dataset,
        measure: str | Measure = "pmd",
        *,
        table_budget: int = TABLE_BUDGET,
        grid_queries: int = MANY_FOR_GRID,
    ) -> None:
        check_dataset(data)
        self.data, self.measure = data, find_measure(measure)
        if self.measure.space is None:
            raise InputError(f"{self.measure.label} has no bounds to search by; use prefmover.nearest")
        self.geometry = data.require_geometry(self.measure.label)
        space = self.measure.space(data)
        self._ground = space.ground
        self.table_budget, self.grid_queries = table_budget, grid_queries
        self._shard = Shard.from_preferences(space.preferences)

    def nearest(
        self,
        users: Iterable[Any] | None = None,
        k: int = 10,
        *,
        new: Ratings | None = None,
        n_threads: int | None = None,
        progress: Progress | None = None,
        executor: str | Executor | None = None,
        checkpoint: str | PathLike[str] | None = None,
    ) -> Neighbors:
        """Return the k nearest users of each query; see :func:`~prefmover.search.nearest`."""
        return self._find(
            users, k=k, new=new, n_threads=n_threads, progress=progress,
            executor=executor, checkpoint=checkpoint,
        )  # fmt: skip

    def within(
        self,
        radius: float,
        users: Iterable[Any] | None = None,
        *,
        new: Ratings | None = None,
        n_threads: int | None = None,
        progress: Progress | None = None,
    ) -> Neighbors:
        """Return all users within a distance of each query; see :func:`~prefmover.search.within`."""
        return self._find(users, radius=radius, new=new, n_threads=n_threads, progress=progress)

    def raters(
        self,
        users: Iterable[Any],
        items: Iterable[Any],
        k: int = 10,
        *,
        new: Ratings | None = None,
        n_threads: int | None = None,
        progress: Progress | None = None,
    ) -> Neighbors:
        """Return the k nearest raters of each pair; see :func:`~prefmover.search.nearest_raters`."""
        return self._find(users, items=items, k=k, new=new, n_threads=n_threads, progress=progress)

    def _find(self, users: Iterable[Any] | None, **options: Any) -> Neighbors:
        request = Request.from_ids(self.data, users, self.measure, **options)
        return request.result(self.search(request))

    def search(self, request: Request) -> NeighborPositions:
        """Return the lists of a search, by position."""
        rows, k, new = np.unique(request.users), request.most, request.new
        self.prepare(rows.size, request.n_threads)
        if request.in_blocks:
            with open_executor(request.executor, request.n_threads) as runs:
                return search_blocks(
                    self, request.users, k, runs, request.checkpoint, new=new, progress=request.progress
                )
        start = time.perf_counter()
        ground, shard, queries = self._space(new, rows.size, request.n_threads)
        table = SearchStats(seconds={"table": time.perf_counter() - start})
        exchange = Exchange(shard, queries.positions[rows])
        radius = np.inf if request.radius is None else float(request.radius)
        numbers, lists_for = self._lists(request)
        solve_first = k if request.items is None else 0
        search = ShardSearch(
            shard, ground, queries, lists_for, solve_first, radius, exchange, self._term_for(new, rows)
        )
        results, stats = search.run(rows, request.n_threads, request.progress)
        lists = (results[u].row(k) for u, k in zip(request.users.tolist(), numbers.tolist(), strict=True))
        return NeighborPositions.from_lists(lists, table + stats)

    def prepare(self, n_queries: int, n_threads: int | None = None) -> None:
        """Make a dense matrix of item distances if there is none and many queries will read it."""
        if n_queries < self.grid_queries or self.measure.space is not item_space:
            return
        with _TABLE_LOCK:
            if self.geometry.grid is None:
                self.geometry = self._ground = self.geometry.with_grid(n_threads)

    def queries(self, new: Ratings | None = None) -> Queries:
        """Return the possible queries: the users of the index, or new ones."""
        if new is None:
            return Queries(self._shard.preferences, np.arange(self.data.n_users))
        return Queries(preferences(new), np.full(new.n_users, -1))

    def _space(
        self, new: Ratings | None, n_queries: int, n_threads: int | None
    ) -> tuple[GroundMetric, Shard, Queries]:
        """Return distances, users and queries: new ones may bring points of their own."""
        space = self.measure.space
        if new is None or space is None or space is item_space:
            return self._ground, self.shard(n_queries >= MANY, n_threads), self.queries(new)
        p, ground = space(self.data.with_guests(new))
        n = self.data.n_users
        theirs = p.take(np.arange(n, len(p)))
        return ground, Shard.from_preferences(p, 0, n), Queries(theirs, np.full(new.n_users, -1))

    def _term_for(self, new: Ratings | None, rows: Ints) -> Callable[[int], Floats] | None:
        """Return a function from a query to what the measure adds to the transport with each user."""
        if self.measure.extra_term is None:
            return None
        data, first = (self.data, 0) if new is None else (self.data.with_guests(new), self.data.n_users)
        pairs = Pairs(data, rows + first, np.arange(self.data.n_users))
        terms = self.measure.extra_term(pairs)
        return lambda row: terms(np.array([row + first]))[0]

    def shard(self, with_table: bool, n_threads: int | None = None) -> Shard:
        """Return all users as one shard: with a table if it is requested and fits, or exists already."""
        with _TABLE_LOCK:
            if with_table and not self._shard.table.size and self.has_room_for_table(self.data.n_users):
                trim_memory()  # memory that was freed after reading the data and making the distances
                table = nearest_item_table(self.geometry, self._shard, n_threads=n_threads)
                self._shard = replace(self._shard, table=table)
            return self._shard

    def has_room_for_table(self, n_users: int) -> bool:
        """Whether the table of a number of users fits the budget."""
        has_grid = self.measure.space is item_space and self.geometry.grid is not None
        return has_grid and 2 * self.data.n_items * n_users <= self.table_budget

    def _lists(self, request: Request) -> tuple[Ints, ListsFor]:
        """Return, for each query, which of its user's lists it has; and a function that makes a user's lists.

        One walk over a user's candidates serves all of that user's items: a candidate is skipped when they
        are too far for every item that they rated.
        """
        users, items, k = request.users, request.items, request.most
        if items is None:
            return np.zeros(users.size, np.int64), lambda row, itself: empty_lists(1, k)
        order = np.argsort(users, kind="stable")
        rows, starts, counts = np.unique(users[order], return_index=True, return_counts=True)
        numbers = np.empty(users.size, np.int64)
        numbers[order] = np.arange(users.size) - np.repeat(starts, counts)
        items_of = dict(zip(rows.tolist(), np.split(items[order], starts)[1:], strict=True))
        raters_first, raters = self._raters_of_items

        def lists_for(row: int, itself: int) -> Any:
            targets = items_of[row]
            n = int((raters_first[targets + 1] - raters_first[targets]).sum())
            first, member = np.empty(self.data.n_users + 1, np.int64), np.empty(n, np.int32)
            _cascade.membership(targets, raters_first, raters, itself, first, member)
            return empty_lists(targets.size, k, first, member)

        return numbers, lists_for

    @cached_property
    def _raters_of_items(self) -> tuple[Ints, Ints]:
        by_item = self.data.ratings.matrix.tocsc()
        return by_item.indptr.astype(np.int64), by_item.indices.astype(np.int64)
