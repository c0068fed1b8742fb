"""Users prepared for exact search by PMD: made once, asked many times.

Queries run on threads, one query at a time each, heavy ones first. Distances are functions of exact whole
numbers, so that the answer does not depend on the number of threads or on which side a pair was solved
from; only the counts in the statistics do.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from prefmover.data.preferences import Preferences, preferences
from prefmover.data.ratings import Ratings
from prefmover.errors import InputError
from prefmover.execution import Executor
from prefmover.execution.memory import require
from prefmover.execution.threads import Progress
from prefmover.items.geometry import ItemGeometry, align
from prefmover.search.result import Floats, Index, Neighbors, SearchStats
from prefmover.search.shard import Askers, Exchange, Found, Scratches, Shard, ask, empty_lists, nearest_items

__all__ = ["Asked", "NeighborIndex", "RaterNeighbors"]

Asked = Iterable[Any] | Mapping[Any, float] | Ratings | None
"""Who asks: user ids, or None for everybody; or new users by their ratings: ``{item: rating}`` for one, a
frame with columns item and rating (and user, for several), or :class:`Ratings`."""

TABLE_BUDGET = 2**28
MANY = 64  # queries from which the table pays
NEW_USER = "new user"


@dataclass(frozen=True, slots=True, eq=False)
class RaterNeighbors:
    """For each (user, item), the nearest users among those who rated the item.

    Attributes
    ----------
    users, items
        Ids, one of each for every pair asked for.
    reference
        Ids of the users searched.
    indptr, neighbors, values
        CSR: the k-th pair's neighbors, nearest first, ties in user order.
    """

    users: npt.NDArray[Any]
    items: npt.NDArray[Any]
    reference: npt.NDArray[Any]
    indptr: Index
    neighbors: Index
    values: Floats
    larger_is_closer: bool = False
    stats: SearchStats = field(default_factory=SearchStats)


class NeighborIndex:
    """Exact nearest users by PMD, among the users of some ratings.

    Parameters
    ----------
    ratings, geometry
        Whom to search, and the distance between items.
    missing
        Rated items that the geometry does not know: ``"error"``, or ``"drop"`` their ratings.
    table_budget
        Bytes for a table of distances between items and users (4 n_items n_users) that makes one of the
        bounds cheaper; built when many users ask at once. 0 for none.

    Examples
    --------
    >>> ratings = Ratings.from_arrays(["ann", "bob", "cid"], ["x", "y", "z"], [5, 4, 3])
    >>> geometry = ItemGeometry.from_vectors(["x", "y", "z"], [[1, 0], [1, 0.5], [0, 1]])
    >>> index = NeighborIndex(ratings, geometry)
    >>> index.nearest(["ann"], k=1).of("ann")
    [Neighbor(id='bob', distance=0.4636476...)]
    >>> index.nearest({"z": 5, "y": 1}, k=1).ids
    array([['cid']], dtype=object)
    """

    def __init__(
        self,
        ratings: Ratings,
        geometry: ItemGeometry,
        *,
        missing: Literal["error", "drop"] = "error",
        table_budget: int = TABLE_BUDGET,
    ) -> None:
        self.ratings, self.geometry = align(ratings, geometry, missing)
        self.missing = missing
        self.preferences = preferences(self.ratings)
        self.table_budget = table_budget
        self._shard = Shard.of(self.preferences)
        self._table_lock = threading.Lock()
        self._raters: tuple[Index, Index] | None = None
        self._scratches = Scratches()

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: all but the lock and the threads' work space, which are this process's."""
        state = self.__dict__.copy()
        del state["_table_lock"], state["_scratches"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over what was pickled, with a lock and work space of its own."""
        self.__dict__.update(state)
        self._table_lock = threading.Lock()
        self._scratches = Scratches()

    def nearest(
        self,
        users: Asked = None,
        k: int = 10,
        *,
        n_threads: int | None = None,
        progress: Progress | None = None,
        executor: str | Executor | None = None,
        checkpoint: str | PathLike[str] | None = None,
    ) -> Neighbors:
        """Return the k nearest users of each asker, never the asker.

        Parameters
        ----------
        executor, checkpoint
            As in :func:`~prefmover.search.nearest`.
        """
        k = min(_whole(k), self.ratings.n_users)
        if users is None:
            what = f"the {k:,} nearest of each of {self.ratings.n_users:,} users"
            require(16 * self.ratings.n_users * k, what, "ask for a smaller k, or for fewer users")
        if executor is None and checkpoint is None:
            return self._search(users, k, np.inf, n_threads, progress)
        from prefmover.execution import opened
        from prefmover.search.distributed import in_blocks

        with opened(executor, n_threads) as opened_executor:
            return in_blocks(self, users, k, opened_executor, checkpoint, progress=progress)

    def within(
        self,
        radius: float,
        users: Asked = None,
        *,
        n_threads: int | None = None,
        progress: Progress | None = None,
    ) -> Neighbors:
        """Return all users at most ``radius`` away from each asker, never the asker."""
        if not radius >= 0:
            raise InputError(f"radius is {radius!r}; give a distance from 0")
        return self._search(users, self.ratings.n_users, float(radius), n_threads, progress)

    def raters(
        self,
        users: Iterable[Any],
        items: Iterable[Any],
        k: int = 60,
        *,
        new: Ratings | None = None,
        n_threads: int | None = None,
        progress: Progress | None = None,
    ) -> RaterNeighbors:
        """Return, for each pair (user, item), the k nearest users among the raters of the item.

        One walk over a user's candidates serves all of that user's items: a candidate is passed over when
        too far for every item that they rated. What holds for k holds for any smaller one.

        Parameters
        ----------
        users, items
            Ids, equally long; the items must have been rated by somebody (others have no raters, and get
            an empty list if the geometry knows them).
        new
            Ratings of the users who ask, if they are not those of this index.
        """
        asking_ratings, askers = self.askers(new)
        who = np.array([asking_ratings.user_position(user) for user in users], dtype=np.int64)
        wanted = items.tolist() if isinstance(items, np.ndarray) else list(items)
        which = self._rated_positions(wanted)
        k = min(_whole(k), self.ratings.n_users)
        if who.size != which.size:
            raise InputError(f"{who.size} users but {which.size} items; give one item for each user")
        order = np.argsort(who, kind="stable")
        asking, starts = np.unique(who[order], return_index=True)
        ends = np.append(starts, who.size)[1:]
        places = {int(u): order[a:b] for u, a, b in zip(asking, starts, ends, strict=True)}
        raters_first, raters = self._raters_of_items()

        from prefmover.search import _cascade as kernels

        def lists_for(u: int, itself: int) -> Any:
            targets = which[places[u]]
            known = np.where(targets >= 0, targets, self.ratings.n_items)  # the last one has no raters
            n = int((raters_first[known + 1] - raters_first[known]).sum())
            first, member = np.empty(self.ratings.n_users + 1, np.int64), np.empty(n, np.int32)
            kernels.membership(known, raters_first, raters, itself, first, member)
            return empty_lists(targets.size, k, first, member)

        found, stats = self._run(askers, asking, lists_for, 2 * k, np.inf, n_threads, progress)
        counts = np.zeros(who.size, np.int64)
        for u in asking.tolist():
            counts[places[u]] = found[u].counts
        indptr = np.concatenate(([0], np.cumsum(counts)))
        neighbors, values = np.empty(indptr[-1], np.int64), np.empty(indptr[-1])
        for u in asking.tolist():
            answer = found.pop(u)
            begin = 0
            for place, count in zip(places[u].tolist(), answer.counts.tolist(), strict=True):
                slot = slice(indptr[place], indptr[place] + count)
                neighbors[slot] = answer.users[begin : begin + count]
                values[slot] = answer.distances[begin : begin + count]
                begin += count
        return RaterNeighbors(
            asking_ratings.users[who],
            np.asarray(wanted, dtype=object),
            self.ratings.users,
            indptr,
            neighbors,
            values,
            stats=stats,
        )

    def _search(
        self, users: Asked, k: int, radius: float, n_threads: int | None, progress: Progress | None
    ) -> Neighbors:
        new = new_ratings(users)
        asking_ratings, askers = self.askers(new)
        asking = asking_ratings.user_positions(None if new is not None else users)  # type: ignore[arg-type]

        def lists_for(u: int, itself: int) -> Any:
            return empty_lists(1, k)

        found, stats = self._run(askers, np.unique(asking), lists_for, k, radius, n_threads, progress)
        answers = [found[u] for u in asking.tolist()]
        counts = np.array([answer.counts[0] for answer in answers], dtype=np.int64)
        return Neighbors(
            asking_ratings.users[asking],
            self.ratings.users,
            np.concatenate(([0], np.cumsum(counts))),
            np.concatenate([np.empty(0, np.int64), *(answer.users for answer in answers)]),
            np.concatenate([np.empty(0), *(answer.distances for answer in answers)]),
            stats=stats,
        )

    def _run(
        self,
        askers: Askers,
        rows: Index,
        lists_for: Callable[[int, int], Any],
        solve_first: int,
        radius: float,
        n_threads: int | None,
        progress: Progress | None,
    ) -> tuple[dict[int, Found], SearchStats]:
        """Run one query for each asker on threads; count the time of the table too."""
        from prefmover.execution.jit import announce_compilation

        announce_compilation()
        start = time.perf_counter()
        shard = self._searched(rows.size >= MANY, n_threads)
        table = SearchStats(seconds={"table": time.perf_counter() - start})
        waiting = Exchange(shard, set(askers.positions[rows].tolist()) - {-1})
        found, stats = ask(
            shard, self.geometry, askers, rows, lists_for, solve_first, radius, waiting, self._scratches,
            n_threads=n_threads, progress=progress,
        )  # fmt: skip
        return found, table + stats

    def askers(self, new: Ratings | None) -> tuple[Ratings, Askers]:
        """Return those who may ask, the users of the index or new ones: ratings, and preferences."""
        if new is None:
            return self.ratings, Askers(self.preferences, np.arange(self.ratings.n_users))
        return new, Askers(_on_items_of(self, new), np.full(new.n_users, -1))

    def _scratch(self, m: int) -> Any:
        """Return this thread's scratch, large enough for a query of m items."""
        return self._scratches.get(self._shard, self.geometry.n_items, m)

    def _users(self, with_table: bool, n_threads: int | None) -> Any:
        return self._searched(with_table, n_threads).users()

    def _searched(self, with_table: bool, n_threads: int | None) -> Shard:
        """Return all users as one shard; with a table if many ask and there is room, or if there is one."""
        with self._table_lock:
            if with_table and not self._shard.table.size and self.has_room_for_table(self.ratings.n_users):
                table = nearest_items(self.geometry, self._shard, threads=n_threads)
                self._shard = replace(self._shard, table=table)
            return self._shard

    def has_room_for_table(self, n_users: int) -> bool:
        """Whether the table of so many users fits the budget."""
        return self.geometry.grid is not None and 4 * self.ratings.n_items * n_users <= self.table_budget

    def _raters_of_items(self) -> tuple[Index, Index]:
        """Return the raters of each item as CSR, and of one more item that has none."""
        if self._raters is None:
            by_item = self.ratings.matrix.tocsc()
            first = np.append(by_item.indptr, by_item.indptr[-1]).astype(np.int64)
            self._raters = first, by_item.indices.astype(np.int64)
        return self._raters

    def _rated_positions(self, items: list[Any]) -> Index:
        place = {item: k for k, item in enumerate(self.ratings.items.tolist())}
        return np.array([place.get(item, -1) for item in items], dtype=np.int64)


def _whole(k: int) -> int:
    if k != int(k) or k < 1:
        raise InputError(f"k is {k!r}; give a whole number from 1")
    return int(k)


def new_ratings(users: Asked) -> Ratings | None:
    """Return the ratings of new users, in whatever form they are given; None for ids.

    >>> new_ratings({"Alien": 5, "Heat": 3}).users
    array(['new user'], dtype=object)
    """
    import narwhals as nw

    if users is None or isinstance(users, Ratings):
        return users
    if isinstance(users, Mapping):
        return Ratings.from_arrays([NEW_USER] * len(users), list(users), list(users.values()))
    frame = nw.from_native(users, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return None
    if "user" not in frame.columns:
        frame = frame.with_columns(nw.lit(NEW_USER).alias("user"))
    return Ratings.from_frame(frame.to_native())


def _on_items_of(index: NeighborIndex, new: Ratings) -> Preferences:
    """Return new users' preferences over the items of the index."""
    import warnings

    from prefmover.errors import MissingItemsWarning

    place = {item: k for k, item in enumerate(index.ratings.items.tolist())}
    positions = np.array([place.get(item, -1) for item in new.items.tolist()], dtype=np.int64)
    if (positions < 0).any():
        lost = ", ".join(repr(item) for item in new.items[positions < 0][:5].tolist())
        report = f"{(positions < 0).sum()} of {new.n_items} rated items are not known here: {lost}"
        if index.missing == "error":
            raise InputError(f'{report}; leave them out, or make the index with missing="drop"')
        warnings.warn(f"{report}; their ratings are left out", MissingItemsWarning, stacklevel=4)
        new = new.take(items=positions >= 0)
        positions = positions[positions >= 0]
    kept = preferences(new)
    moved = positions[kept.indices]
    row = np.repeat(np.arange(new.n_users), np.diff(kept.indptr))
    order = np.lexsort((moved, row))
    return Preferences(kept.indptr, moved[order].astype(np.int32), kept.mass[order], kept.total)
