"""An index for exact search by PMD: prepared once, searched many times.

Queries run on threads, one query per thread at a time, heavy ones first. Distances are computed from exact
integers, so the result does not depend on the number of threads or on the side from which a pair was solved.
Only the counts in the statistics do.
"""

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from prefmover._typing import Ids, Ints, Progress
from prefmover.data.preferences import preferences
from prefmover.data.ratings import Ratings
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.execution import Executor
from prefmover.execution.memory import require
from prefmover.search.result import NeighborPositions, Neighbors, SearchStats
from prefmover.search.shard import (
    Exchange,
    Queries,
    Scratches,
    Shard,
    empty_lists,
    nearest_item_table,
    search_shard,
)

__all__ = ["NeighborIndex", "checked_k", "checked_new"]

TABLE_BUDGET = 2**28
MANY = 64  # queries from which the table pays


class NeighborIndex:
    """Exact nearest users by PMD, among the users of a data set.

    Parameters
    ----------
    data
        The users to search, and the distances between items.
    table_budget
        Bytes for a table of distances between items and users (4 n_items n_users), which makes one of the
        bounds cheaper. It is built for searches with many queries. 0 means no table.

    Examples
    --------
    >>> from prefmover import ItemGeometry
    >>> data = Dataset(
    ...     Ratings.from_arrays(["ann", "bob", "cid"], ["x", "y", "z"], [5, 4, 3]),
    ...     ItemGeometry.from_vectors(["x", "y", "z"], [[1, 0], [1, 0.5], [0, 1]]),
    ... )
    >>> index = NeighborIndex(data)
    >>> index.nearest(["ann"], k=1)["ann"]
    [Neighbor('bob', distance 0.463648)]
    >>> new = Ratings.from_arrays(["dan", "dan"], ["z", "y"], [5, 1])
    >>> index.nearest(k=1, new=new)["dan"]
    [Neighbor('cid', distance 0.184525)]
    """

    def __init__(self, data: Dataset, *, table_budget: int = TABLE_BUDGET) -> None:
        self.data = data
        self.geometry = data.require_geometry("PMD")
        self.table_budget = table_budget
        self._shard = Shard.from_preferences(data.preferences)
        self._table_lock = threading.Lock()
        self._raters: tuple[Ints, Ints] | None = None
        self._scratches = Scratches()

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: everything but the lock and the threads' scratch."""
        state = self.__dict__.copy()
        del state["_table_lock"], state["_scratches"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled index, with a new lock and new scratch."""
        self.__dict__.update(state)
        self._table_lock = threading.Lock()
        self._scratches = Scratches()

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
        """Return the k nearest users of each query, without the query itself.

        The parameters are those of :func:`~prefmover.search.nearest`.
        """
        k, new = min(checked_k(k), self.data.n_users), checked_new(self.data, new)
        queries = self._queries(users, new)
        if executor is None and checkpoint is None:
            lists = self.nearest_positions(queries, k, new=new, n_threads=n_threads, progress=progress)
            return self._result(lists, queries, new)
        if new is not None and checkpoint is not None:
            raise InputError("checkpoint works with users of the data only; search new users without it")
        from prefmover.execution import opened
        from prefmover.search.distributed import search_blocks

        with opened(executor, n_threads) as opened_executor:
            lists = search_blocks(self, queries, k, opened_executor, checkpoint, new=new, progress=progress)
        return self._result(lists, queries, new)

    def within(
        self,
        radius: float,
        users: Iterable[Any] | None = None,
        *,
        new: Ratings | None = None,
        n_threads: int | None = None,
        progress: Progress | None = None,
    ) -> Neighbors:
        """Return all users within a distance of each query, without the query itself."""
        if not radius >= 0:
            raise InputError(f"radius is {radius!r}; pass a distance from 0 up")
        new = checked_new(self.data, new)
        queries = self._queries(users, new)
        lists = self._search(queries, self.data.n_users, float(radius), new, n_threads, progress)
        return self._result(lists, queries, new)

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
        """Return, for each pair (user, item), the k nearest users among the raters of the item.

        The parameters are those of :func:`~prefmover.search.nearest_raters`.
        """
        k, new = min(checked_k(k), self.data.n_users), checked_new(self.data, new)
        queries, columns = self._queries(users, new), self.data.ratings.item_positions(items)
        if queries.size != columns.size:
            raise InputError(f"{queries.size} users but {columns.size} items; pass one item for each user")
        lists = self.raters_positions(queries, columns, k, new=new, n_threads=n_threads, progress=progress)
        return self._result(lists, queries, new, self.data.ratings.items[columns])

    def nearest_positions(
        self,
        users: Ints | None,
        k: int,
        *,
        new: Ratings | None = None,
        n_threads: int | None = None,
        progress: Progress | None = None,
    ) -> NeighborPositions:
        """Return :meth:`nearest` of queries by position; None means all."""
        n = self.data.n_users if users is None else users.size
        what = f"the {k:,} nearest of each of {n:,} users"
        require(16 * n * k, what, "ask for a smaller k, or for fewer users")
        return self._search(users, k, np.inf, new, n_threads, progress)

    def raters_positions(
        self,
        users: Ints,
        items: Ints,
        k: int,
        *,
        new: Ratings | None = None,
        n_threads: int | None = None,
        progress: Progress | None = None,
    ) -> NeighborPositions:
        """Return :meth:`raters` by position.

        One walk over a user's candidates serves all of that user's items: a candidate is skipped when they
        are too far for every item that they rated.
        """
        from prefmover.search import _cascade as kernels

        order = np.argsort(users, kind="stable")
        rows, starts = np.unique(users[order], return_index=True)
        ends = np.append(starts, users.size)[1:]
        pairs_of = {int(u): order[a:b] for u, a, b in zip(rows, starts, ends, strict=True)}
        raters_first, raters = self._raters_of_items()

        def lists_for(row: int, itself: int) -> Any:
            targets = items[pairs_of[row]]
            n = int((raters_first[targets + 1] - raters_first[targets]).sum())
            first, member = np.empty(self.data.n_users + 1, np.int64), np.empty(n, np.int32)
            kernels.membership(targets, raters_first, raters, itself, first, member)
            return empty_lists(targets.size, k, first, member)

        results, stats = self._run(self.queries(new), rows, lists_for, 2 * k, np.inf, n_threads, progress)
        counts = np.zeros(users.size, np.int64)
        for u in rows.tolist():
            counts[pairs_of[u]] = results[u].counts
        indptr = np.concatenate(([0], np.cumsum(counts)))
        neighbors, values = np.empty(indptr[-1], np.int64), np.empty(indptr[-1])
        for u in rows.tolist():
            lists = results.pop(u)
            for number, pair in enumerate(pairs_of[u].tolist()):
                part = slice(indptr[pair], indptr[pair + 1])
                neighbors[part], values[part] = lists.row(number)
        return NeighborPositions(indptr, neighbors, values, stats)

    def queries(self, new: Ratings | None = None) -> Queries:
        """Return the possible queries: the users of the index, or new ones."""
        if new is None:
            return Queries(self.data.preferences, np.arange(self.data.n_users))
        return Queries(preferences(new), np.full(new.n_users, -1))

    def shard(self, with_table: bool, n_threads: int | None = None) -> Shard:
        """Return all users as one shard: with a table if it is requested and fits, or exists already."""
        with self._table_lock:
            if with_table and not self._shard.table.size and self.has_room_for_table(self.data.n_users):
                table = nearest_item_table(self.geometry, self._shard, n_threads=n_threads)
                self._shard = replace(self._shard, table=table)
            return self._shard

    def has_room_for_table(self, n_users: int) -> bool:
        """Whether the table of a number of users fits the budget."""
        return self.geometry.grid is not None and 4 * self.data.n_items * n_users <= self.table_budget

    def _search(
        self,
        users: Ints | None,
        k: int,
        radius: float,
        new: Ratings | None,
        n_threads: int | None,
        progress: Progress | None,
    ) -> NeighborPositions:
        queries = self.queries(new)
        rows = np.arange(queries.positions.size) if users is None else users
        results, stats = self._run(
            queries, np.unique(rows), lambda row, itself: empty_lists(1, k), k, radius, n_threads, progress
        )
        lists = [results[u] for u in rows.tolist()]
        return NeighborPositions.from_lists((x.neighbors for x in lists), (x.values for x in lists), stats)

    def _run(
        self,
        queries: Queries,
        rows: Ints,
        lists_for: Callable[[int, int], Any],
        solve_first: int,
        radius: float,
        n_threads: int | None,
        progress: Progress | None,
    ) -> tuple[dict[int, NeighborPositions], SearchStats]:
        """Run the queries on threads; count the time of the table too."""
        from prefmover.execution.jit import announce_compilation

        announce_compilation()
        start = time.perf_counter()
        shard = self.shard(rows.size >= MANY, n_threads)
        table = SearchStats(seconds={"table": time.perf_counter() - start})
        exchange = Exchange(shard, set(queries.positions[rows].tolist()) - {-1})
        results, stats = search_shard(
            shard, self.geometry, queries, rows, lists_for, solve_first, radius, exchange, self._scratches,
            n_threads=n_threads, progress=progress,
        )  # fmt: skip
        return results, table + stats

    def _raters_of_items(self) -> tuple[Ints, Ints]:
        """Return the raters of each item, as CSR."""
        if self._raters is None:
            by_item = self.data.ratings.matrix.tocsc()
            self._raters = by_item.indptr.astype(np.int64), by_item.indices.astype(np.int64)
        return self._raters

    def _queries(self, users: Iterable[Any] | None, new: Ratings | None) -> Ints:
        return (self.data.ratings if new is None else new).user_positions(users)

    def _result(
        self, lists: NeighborPositions, queries: Ints, new: Ratings | None, items: Ids | None = None
    ) -> Neighbors:
        reference = self.data.ratings.users
        users = (reference if new is None else new.users)[queries]
        return Neighbors.from_positions(lists, users, reference, False, items)


def checked_k(k: int) -> int:
    """Return k, or raise an error unless it is a whole number from 1."""
    if k != int(k) or k < 1:
        raise InputError(f"k is {k!r}; pass a whole number from 1 up")
    return int(k)


def checked_new(data: Dataset, new: Ratings | None) -> Ratings | None:
    """Return the ratings of new users over the items of the data."""
    if new is None:
        return None
    if not isinstance(new, Ratings):
        raise InputError(f"new is of type {type(new).__name__}; pass Ratings (see Ratings.from_arrays)")
    return new.with_items(data.ratings.items)
