"""Nearest users by any measure: by the cascade if the measure has bounds, else from every pair."""

from collections.abc import Iterable
from os import PathLike
from typing import Any

import numpy as np

from prefmover._typing import Ids, Ints, Progress
from prefmover.data.ratings import Ratings
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.execution import Executor
from prefmover.measures import Measure, find_measure
from prefmover.search.exhaustive import exhaustive, exhaustive_raters
from prefmover.search.index import NeighborIndex, checked_k, checked_new
from prefmover.search.result import NeighborPositions, Neighbors

__all__ = ["nearest", "nearest_positions", "nearest_raters", "raters_positions", "within"]


def nearest(
    data: Dataset,
    k: int = 10,
    users: Iterable[Any] | None = None,
    measure: str | Measure = "pmd",
    *,
    new: Ratings | None = None,
    convention: str | None = None,
    n_threads: int | None = None,
    progress: Progress | None = None,
    checkpoint: str | PathLike[str] | None = None,
    executor: str | Executor | None = None,
) -> Neighbors:
    """Return the k nearest users of each query, exactly.

    Parameters
    ----------
    data
        The users to search.
    k
        Number of neighbors.
    users
        Ids of the queries; None means all users.
    measure, convention
        A row of the table of measures; see :func:`~prefmover.measures.similarities`.
    new
        Ratings of new users over the data's items: the queries, in place of users of the data.
    n_threads
        Number of threads; None means all cores. The result does not depend on it.
    progress
        Called with (queries done, all queries).
    checkpoint
        A folder for finished parts, as Parquet. A run that was killed resumes from there, with the same
        result.
    executor
        ``"threads"`` of this process, ``"ray"``, or a :class:`~prefmover.execution.RayExecutor` with the
        address of a cluster. The result does not depend on it.

    Examples
    --------
    >>> from prefmover import ItemGeometry
    >>> data = Dataset(
    ...     Ratings.from_arrays(["ann", "bob", "cid"], ["x", "y", "z"], [5, 4, 3]),
    ...     ItemGeometry.from_vectors(["x", "y", "z"], [[1, 0], [1, 0.5], [0, 1]]),
    ... )
    >>> nearest(data, k=1).ids.tolist()  # no two users have an item in common
    [['bob'], ['ann'], ['bob']]
    """
    row, new = find_measure(measure), checked_new(data, new)
    if checkpoint is None and executor is None:
        queries = _queries(data, users, new)
        lists = nearest_positions(data, row, convention, queries, new, k, n_threads, progress)
        return _neighbors(lists, data, row, _ids(data, new)[queries])
    if not row.searches_by_bounds(convention):
        option = "executor" if checkpoint is None else "checkpoint"
        raise InputError(f"{option} works with PMD only; {row.label} is computed for every pair")
    index = NeighborIndex(data)
    return index.nearest(
        users, k, new=new, n_threads=n_threads, progress=progress, executor=executor, checkpoint=checkpoint
    )


def within(
    data: Dataset,
    radius: float,
    users: Iterable[Any] | None = None,
    measure: str | Measure = "pmd",
    *,
    new: Ratings | None = None,
    convention: str | None = None,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> Neighbors:
    """Return all users within a distance of each query (or with at least a similarity), exactly.

    Examples
    --------
    >>> from prefmover import ItemGeometry
    >>> data = Dataset(
    ...     Ratings.from_arrays(["ann", "bob", "cid"], ["x", "y", "z"], [5, 4, 3]),
    ...     ItemGeometry.from_vectors(["x", "y", "z"], [[1, 0], [1, 0.5], [0, 1]]),
    ... )
    >>> within(data, 0.5).counts
    array([1, 1, 0])
    """
    row, new = find_measure(measure), checked_new(data, new)
    if row.searches_by_bounds(convention):
        return NeighborIndex(data).within(radius, users, new=new, n_threads=n_threads, progress=progress)
    if np.isnan(radius):
        raise InputError(f"radius is {radius!r}; pass a number")
    queries = _queries(data, users, new)
    lists = exhaustive(
        data, row, convention, queries, new=new, radius=radius, n_threads=n_threads, progress=progress
    )
    return _neighbors(lists, data, row, _ids(data, new)[queries])


def nearest_raters(
    data: Dataset,
    users: Iterable[Any],
    items: Iterable[Any],
    k: int = 10,
    measure: str | Measure = "pmd",
    *,
    new: Ratings | None = None,
    convention: str | None = None,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> Neighbors:
    """Return, for each pair (user, item), the k nearest users among the raters of the item.

    The first j of the k are the j nearest, for every j.

    Examples
    --------
    >>> from prefmover import ItemGeometry
    >>> data = Dataset(
    ...     Ratings.from_arrays(["ann", "bob", "cid"], ["x", "y", "z"], [5, 4, 3]),
    ...     ItemGeometry.from_vectors(["x", "y", "z"], [[1, 0], [1, 0.5], [0, 1]]),
    ... )
    >>> nearest_raters(data, ["ann", "ann"], ["y", "z"])["ann", "z"]
    [Neighbor('cid', distance 1.5708)]
    """
    row, new = find_measure(measure), checked_new(data, new)
    queries, columns = _queries(data, users, new), data.ratings.item_positions(items)
    if queries.size != columns.size:
        raise InputError(f"{queries.size} users but {columns.size} items; pass one item for each user")
    lists = raters_positions(data, row, convention, queries, columns, k, new, n_threads, progress)
    return _neighbors(lists, data, row, _ids(data, new)[queries], data.ratings.items[columns])


def nearest_positions(
    data: Dataset,
    measure: Measure,
    convention: str | None,
    users: Ints | None,
    new: Ratings | None,
    k: int,
    n_threads: int | None = None,
    progress: Progress | None = None,
    index: NeighborIndex | None = None,
) -> NeighborPositions:
    """Return :func:`nearest` of queries by position: of the data's users, or of ``new``.

    Parameters
    ----------
    index
        An index of the data, to search it again without preparing it again.
    """
    k, new = min(checked_k(k), data.n_users), checked_new(data, new)
    if measure.searches_by_bounds(convention):
        index = index or NeighborIndex(data)
        return index.nearest_positions(users, k, new=new, n_threads=n_threads, progress=progress)
    return exhaustive(data, measure, convention, users, new=new, k=k, n_threads=n_threads, progress=progress)


def raters_positions(
    data: Dataset,
    measure: Measure,
    convention: str | None,
    users: Ints,
    items: Ints,
    k: int,
    new: Ratings | None = None,
    n_threads: int | None = None,
    progress: Progress | None = None,
    index: NeighborIndex | None = None,
) -> NeighborPositions:
    """Return :func:`nearest_raters` by position; users are those of ``new``, if there are new ones."""
    k, new = min(checked_k(k), data.n_users), checked_new(data, new)
    if measure.searches_by_bounds(convention):
        index = index or NeighborIndex(data)
        return index.raters_positions(users, items, k, new=new, n_threads=n_threads, progress=progress)
    return exhaustive_raters(
        data, measure, convention, users, items, k, new=new, n_threads=n_threads, progress=progress
    )


def _queries(data: Dataset, users: Iterable[Any] | None, new: Ratings | None) -> Ints:
    return (data.ratings if new is None else new).user_positions(users)


def _ids(data: Dataset, new: Ratings | None) -> Ids:
    return data.ratings.users if new is None else new.users


def _neighbors(
    lists: NeighborPositions, data: Dataset, row: Measure, users: Ids, items: Ids | None = None
) -> Neighbors:
    return Neighbors.from_positions(lists, users, data.ratings.users, row.larger_is_closer, items)
