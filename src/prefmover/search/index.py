"""Users prepared for exact search by PMD: made once, asked many times.

Queries run on threads, one query at a time each, heavy ones first. Distances are functions of exact whole
numbers, so that the answer does not depend on the number of threads or on which side a pair was solved
from; only the counts in the statistics do.
"""

import threading
import time
from array import array
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from prefmover.errors import InputError
from prefmover.items import ItemGeometry, align
from prefmover.measures.pmd import query_major, wide_distance
from prefmover.parallel import Progress, run
from prefmover.preferences import Preferences, preferences
from prefmover.ratings import Ratings
from prefmover.search.neighbors import Floats, Index, Neighbors, SearchStats

__all__ = ["Asked", "NeighborIndex", "RaterNeighbors"]

Asked = Iterable[Any] | Mapping[Any, float] | Ratings | None
"""Who asks: user ids, or None for everybody; or new users by their ratings: ``{item: rating}`` for one, a
frame with columns item and rating (and user, for several), or :class:`Ratings`."""

TABLE_BUDGET = 2**28
MANY = 64  # queries from which the table pays
NEW_USER = "new user"


class Found(NamedTuple):
    """What one query gives: its lists, one after the other, and the pairs it solved."""

    counts: Index
    users: Index
    distances: Floats


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
        CSR: the k-th pair's neighbours, nearest first, ties in user order.
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
        self._items = self.preferences.indices.astype(np.int32)
        self._table_budget = table_budget
        self._table: npt.NDArray[np.int32] = np.empty((0, 0), np.int32)
        self._table_lock = threading.Lock()
        self._raters: tuple[Index, Index] | None = None
        self._local = threading.local()

    def nearest(
        self, users: Asked = None, k: int = 10, *, n_jobs: int | None = None, progress: Progress | None = None
    ) -> Neighbors:
        """Return the k nearest users of each asker, never the asker."""
        return self._search(users, min(_whole(k), self.ratings.n_users), np.inf, n_jobs, progress)

    def within(
        self,
        radius: float,
        users: Asked = None,
        *,
        n_jobs: int | None = None,
        progress: Progress | None = None,
    ) -> Neighbors:
        """Return all users at most ``radius`` away from each asker, never the asker."""
        if not radius >= 0:
            raise InputError(f"radius is {radius!r}; give a distance from 0")
        return self._search(users, self.ratings.n_users, float(radius), n_jobs, progress)

    def raters(
        self,
        users: Iterable[Any],
        items: Iterable[Any],
        k: int = 60,
        *,
        new: Ratings | None = None,
        n_jobs: int | None = None,
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
        askers = _Askers(self, new)
        who = np.array([askers.ratings.user_index(user) for user in users], dtype=np.int64)
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
            return self._lists(targets.size, k, first, member)

        found, stats = self._run(askers, asking, lists_for, 2 * k, np.inf, n_jobs, progress)
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
            askers.ratings.users[who],
            np.asarray(wanted, dtype=object),
            self.ratings.users,
            indptr,
            neighbors,
            values,
            stats=stats,
        )

    def _search(
        self, users: Asked, k: int, radius: float, n_jobs: int | None, progress: Progress | None
    ) -> Neighbors:
        new = new_ratings(users)
        askers = _Askers(self, new)
        asking = askers.ratings.user_indices(None if new is not None else users)  # type: ignore[arg-type]
        everyone, nobody = np.empty(0, np.int64), np.empty(0, np.int32)

        def lists_for(u: int, itself: int) -> Any:
            return self._lists(1, k, everyone, nobody)

        found, stats = self._run(askers, np.unique(asking), lists_for, k, radius, n_jobs, progress)
        answers = [found[u] for u in asking.tolist()]
        counts = np.array([answer.counts[0] for answer in answers], dtype=np.int64)
        return Neighbors(
            askers.ratings.users[asking],
            self.ratings.users,
            np.concatenate(([0], np.cumsum(counts))),
            np.concatenate([np.empty(0, np.int64), *(answer.users for answer in answers)]),
            np.concatenate([np.empty(0), *(answer.distances for answer in answers)]),
            stats=stats,
        )

    def _run(
        self,
        askers: "_Askers",
        asking: Index,
        lists_for: Callable[[int, int], Any],
        solve_first: int,
        radius: float,
        n_jobs: int | None,
        progress: Progress | None,
    ) -> tuple[dict[int, Found], SearchStats]:
        """Run one query for each asker, heavy ones first, and hand solved pairs to the other side."""
        from prefmover._jit import announce_compilation

        announce_compilation()
        start = time.perf_counter()
        users = self._users(asking.size >= MANY, n_jobs)
        total = SearchStats(seconds={"table": time.perf_counter() - start})
        found: dict[int, Found] = {}
        lock = threading.Lock()
        waiting = askers.exchange(asking)

        def work(u: int) -> None:
            nonlocal total
            known = waiting.take(u)
            answer, solved, stats = self._query(askers, u, users, lists_for, solve_first, radius, known)
            waiting.give(u, *solved)
            with lock:
                found[u] = answer
                total = total + stats

        weight = np.diff(askers.preferences.indptr)[asking]
        order = asking[np.argsort(-weight, kind="stable")]
        run(work, order.tolist(), n_jobs=n_jobs, progress=progress)
        return found, total

    def _query(
        self,
        askers: "_Askers",
        u: int,
        users: Any,
        lists_for: Callable[[int, int], Any],
        solve_first: int,
        radius: float,
        known: tuple[Index, Floats],
    ) -> tuple[Found, tuple[Index, Floats], SearchStats]:
        from prefmover.search import _cascade as kernels
        from prefmover.search.cascade import WidePairError, cascade

        theirs = askers.preferences
        itself = u if askers.same else -1
        mine = slice(theirs.indptr[u], theirs.indptr[u + 1])
        items = theirs.indices[mine].astype(np.int32)
        if theirs.total[u] == 0:
            lists = lists_for(u, itself)
            none = np.empty(0, np.int64), np.empty(0)
            undefined = self.ratings.n_users - askers.same
            return _collect(lists), none, SearchStats(undefined=undefined)
        start = time.perf_counter()
        query = kernels.Query(
            items,
            theirs.mass[mine],
            int(theirs.total[u]),
            query_major(self.geometry, items),
            self.geometry.unit,
            bool(self.geometry.is_metric),
            itself,
            radius,
        )
        s = self._scratch(items.size)
        seconds = {"layout": time.perf_counter() - start}
        s.known.fill(-1.0)  # here, not at the end: an interrupted query must leave nothing to the next
        s.known[known[0]] = known[1]
        while True:
            lists = lists_for(u, itself)
            try:
                solved, counts, stages = cascade(query, users, lists, solve_first, s)
                break
            except WidePairError as pair:  # beyond 32 bits: solved apart, then known
                s.known[pair.v] = wide_distance(theirs, self.preferences, self.geometry, u, pair.v)
        pairs = s.solved_users[:solved].copy(), s.solved_distances[:solved].copy()
        return _collect(lists), pairs, SearchStats.of(counts, {**seconds, **stages})

    def _lists(self, n: int, k: int, first: Index, member: npt.NDArray[np.int32]) -> Any:
        from prefmover.search import _cascade as kernels

        return kernels.Lists(
            np.empty((n, k), np.int64), np.empty((n, k)), np.zeros(n, np.int64), first, member
        )

    def _scratch(self, m: int) -> Any:
        """Return this thread's scratch, large enough for a query of m items."""
        from prefmover.search import _cascade as kernels
        from prefmover.search.cascade import CROWD_ITEMS

        longest = max(m, int(np.diff(self.preferences.indptr).max(initial=0)))
        if getattr(self._local, "longest", -1) < longest:
            self._local.scratch = kernels.scratch(
                self.ratings.n_users, self.ratings.n_items, longest, CROWD_ITEMS
            )
            self._local.longest = longest
        return self._local.scratch

    def _users(self, with_table: bool, n_jobs: int | None) -> Any:
        from prefmover.search import _cascade as kernels

        p, shape = self.preferences, (self.ratings.n_items, self.ratings.n_users)
        fits = self.geometry.grid is not None and 4 * shape[0] * shape[1] <= self._table_budget
        with self._table_lock:
            if with_table and fits and not self._table.size:
                from prefmover.search._bounds import STRIP, nearest_table

                table, grid = np.empty(shape, np.int32), self.geometry.grid
                strips = [(a, min(a + 8 * STRIP, shape[1])) for a in range(0, shape[1], 8 * STRIP)]
                run(
                    lambda strip: nearest_table(p.indptr, self._items, grid, *strip, table),
                    strips,
                    n_jobs=n_jobs,
                )
                self._table = table
        return kernels.Users(p.indptr, self._items, p.mass, p.total, self._table)

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


class _Askers:
    """Those who ask: the users of the index themselves, or new ones over the same items."""

    def __init__(self, index: NeighborIndex, new: Ratings | None) -> None:
        self.same = new is None
        if new is None:
            self.ratings, self.preferences = index.ratings, index.preferences
        else:
            self.ratings, self.preferences = new, _on_items_of(index, new)

    def exchange(self, asking: Index) -> "_Exchange":
        return _Exchange(set(asking.tolist()) if self.same else set())


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
        new = new.select(items=positions >= 0)
        positions = positions[positions >= 0]
    kept = preferences(new)
    moved = positions[kept.indices]
    row = np.repeat(np.arange(new.n_users), np.diff(kept.indptr))
    order = np.lexsort((moved, row))
    return Preferences(kept.indptr, moved[order].astype(np.int32), kept.mass[order], kept.total)


class _Exchange:
    """Pairs solved from one side, kept until the other side asks. Twelve bytes a pair."""

    def __init__(self, waiting: set[int]) -> None:
        self.waiting = waiting
        self.lock = threading.Lock()
        self.users: dict[int, array[int]] = {}
        self.distances: dict[int, array[float]] = {}

    def take(self, u: int) -> tuple[Index, Floats]:
        with self.lock:
            self.waiting.discard(u)
            users, distances = self.users.pop(u, array("i")), self.distances.pop(u, array("d"))
        return np.array(users, dtype=np.int64), np.array(distances, dtype=np.float64)

    def give(self, u: int, solved: Index, distances: Floats) -> None:
        with self.lock:
            for v, distance in zip(solved.tolist(), distances.tolist(), strict=True):
                if v in self.waiting:
                    self.users.setdefault(v, array("i")).append(u)
                    self.distances.setdefault(v, array("d")).append(distance)


def _collect(lists: Any) -> Found:
    kept = np.arange(lists.users.shape[1]) < lists.found[:, None]
    return Found(lists.found.copy(), lists.users[kept], lists.distances[kept])
