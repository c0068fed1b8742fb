"""An index of users, for exact search by PMD or by a measure that is made of it: ids on top of the engine."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any, Self

import numpy as np

from prefmover._typing import Floats, Ids, Ints, Progress
from prefmover.data.preferences import preferences
from prefmover.data.ratings import Ratings
from prefmover.dataset import Dataset, check_dataset
from prefmover.errors import InputError
from prefmover.execution import Executor
from prefmover.execution.jit import LazyModule
from prefmover.items.geometry import ItemGeometry
from prefmover.measures import Measure, find_measure
from prefmover.measures.pairs import Pairs
from prefmover.measures.pmd import item_space
from prefmover.search.engine import MANY_FOR_GRID, TABLE_BUDGET, Engine, Job
from prefmover.search.result import NeighborPositions, Neighbors, Recall
from prefmover.search.shard import ListsFor, Queries, Shard, empty_lists

_cascade = LazyModule("prefmover.search._cascade")


@dataclass(slots=True, eq=False)
class Request(Job):
    """One search by position, checked: the queries, the lists to fill, and where to run."""

    data: Dataset
    measure: Measure
    convention: str | None
    users: Ints  # positions of the queries: among the new users, if there are some
    items: Ints | None = None  # for a search among the raters of an item: an item's position for each query
    new: Ratings | None = None

    def __post_init__(self) -> None:
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
        least = float("-inf" if self.measure.larger_is_closer else 0)
        self.check(self.users.size if self.items is None else 0, self.data.n_users, "user", least)

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
    def most(self) -> int:
        """The largest number of neighbors in a list."""
        return self.most_of(self.data.n_users)

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


class NeighborIndex(Engine):
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
        data.require_geometry(self.measure.label)
        space = self.measure.space(data)
        super().__init__(*space, table_budget=table_budget, grid_queries=grid_queries)

    @property
    def geometry(self) -> ItemGeometry:
        """The distances between items, with a dense matrix if a search has made one."""
        ground = self.ground
        return ground if isinstance(ground, ItemGeometry) else self.data.require_geometry(self.measure.label)

    @property
    def ids(self) -> Ids:
        """The users."""
        return self.data.ratings.users

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
        return request.result(self.find(request))

    def find(self, request: Request) -> NeighborPositions:
        """Return the lists of a search, by position."""
        new, n, extra = request.new, self.data.n_users, self.measure.extra_term
        space = masses = term_for = None
        if new is not None and self.measure.space not in (None, item_space):  # they bring points of their own
            assert self.measure.space is not None
            p, ground = self.measure.space(self.data.with_guests(new))
            theirs = Queries(p.take(np.arange(n, len(p))), np.full(new.n_users, -1))
            space = ground, Shard.from_preferences(p, 0, n), theirs
        elif new is not None:
            masses = preferences(new)
        if extra is not None:
            data, first = (self.data, 0) if new is None else (self.data.with_guests(new), n)
            terms = extra(Pairs(data, np.unique(request.users) + first, np.arange(n)))

            def term_for(row: int) -> Floats:
                values: Floats = terms(np.array([row + first]))[0]
                return values

        lists = None if request.items is None else self._lists(request.users, request.items, request.most)
        return self.search(request, request.users, masses, lists=lists, space=space, term_for=term_for)

    def _lists(self, users: Ints, items: Ints, k: int) -> tuple[Ints, ListsFor]:
        """Return, for each query, which of its user's lists it has; and a function that makes a user's lists.

        One walk over a user's candidates serves all of that user's items: a candidate is skipped when they
        are too far for every item that they rated.
        """
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
