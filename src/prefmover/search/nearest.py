"""Nearest users by any measure: by the cascade if the measure has bounds, else from every pair."""

from collections.abc import Iterable
from os import PathLike
from typing import Any

import numpy as np

from prefmover._typing import Ints, Progress
from prefmover.data.ratings import Ratings
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.execution import Executor
from prefmover.measures import Measure
from prefmover.search.exhaustive import exhaustive
from prefmover.search.index import NeighborIndex
from prefmover.search.request import Request
from prefmover.search.result import NeighborPositions, Neighbors

FEW_PAIRS = 200
"""Up to this number of pairs of users, each is solved. Bounds would save little, and on a machine that has
not compiled their kernels yet, the answer would take twice as long."""


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
    request = Request.from_ids(
        data, users, measure, convention, new=new, k=k, n_threads=n_threads, progress=progress
    )
    return request.result(_search(request, executor=executor, checkpoint=checkpoint))


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

    The other parameters are those of :func:`nearest`.

    Examples
    --------
    >>> from prefmover import datasets
    >>> within(datasets.load("cinema"), 0.7, ["ada-b", "olga-r"]).counts
    array([10,  8])
    """
    request = Request.from_ids(
        data, users, measure, convention, new=new, radius=radius, n_threads=n_threads, progress=progress
    )
    return request.result(_search(request))


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

    The first j of the k are the j nearest, for every j. The other parameters are those of :func:`nearest`.

    Examples
    --------
    >>> from prefmover import datasets
    >>> nearest_raters(datasets.load("cinema"), ["ada-b"], ["1917-2019"], k=1)["ada-b", "1917-2019"]
    [Neighbor('samir-b', distance 0.746182)]
    """
    request = Request.from_ids(
        data, users, measure, convention, items=items, new=new, k=k, n_threads=n_threads, progress=progress
    )
    return request.result(_search(request))


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

    An index of the data saves preparing the data again.
    """
    queries = (data.ratings if new is None else new).user_positions(None) if users is None else users
    request = Request(data, measure, convention, queries, None, new, k, None, n_threads, progress)
    return _search(request, index)


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
    request = Request(data, measure, convention, users, items, new, k, None, n_threads, progress)
    return _search(request, index)


def _search(
    request: Request,
    index: NeighborIndex | None = None,
    executor: str | Executor | None = None,
    checkpoint: str | PathLike[str] | None = None,
) -> NeighborPositions:
    """Search by the cascade if the measure has bounds and it pays, else compute every pair."""
    few = np.unique(request.users).size * request.data.n_users <= FEW_PAIRS
    alone = executor is None and checkpoint is None
    if request.measure.searches_by_bounds(request.convention) and not (few and alone):
        return (index or NeighborIndex(request.data)).search(request, executor, checkpoint)
    if checkpoint is not None or executor is not None:
        option = "executor" if checkpoint is None else "checkpoint"
        raise InputError(f"{option} works with PMD only; {request.measure.label} is computed for every pair")
    return exhaustive(request)
