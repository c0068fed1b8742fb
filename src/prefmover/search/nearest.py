"""Nearest users by any measure: the cascade for PMD, every pair for the others."""

from collections.abc import Iterable
from os import PathLike
from typing import Any, Literal, cast

from prefmover.data.ratings import Ratings
from prefmover.errors import InputError
from prefmover.execution import Executor
from prefmover.execution.threads import Progress
from prefmover.items.geometry import ItemGeometry
from prefmover.measures import Measure, find_measure
from prefmover.search.exhaustive import exhaustive, exhaustive_raters
from prefmover.search.index import Asked, NeighborIndex, RaterNeighbors, new_ratings
from prefmover.search.result import Neighbors

__all__ = ["nearest", "nearest_raters", "within"]


def nearest(
    ratings: Ratings,
    geometry: ItemGeometry | None = None,
    k: int = 10,
    measure: str | Measure = "pmd",
    users: Asked = None,
    *,
    convention: str | None = None,
    n_threads: int | None = None,
    progress: Progress | None = None,
    checkpoint: str | PathLike[str] | None = None,
    missing: Literal["error", "drop"] = "error",
    executor: str | Executor | None = None,
) -> Neighbors:
    """Return the k nearest users of each asker, exactly.

    Parameters
    ----------
    ratings
        Whom to search.
    geometry
        The distance between items, for the measures that need one.
    k
        How many; fewer where there are not so many.
    measure, convention
        A row of the table of measures; :func:`~prefmover.measures.similarities` tells more.
    users
        Who asks: ids, or None for everybody; for PMD also a new user's ratings, ``{item: rating}`` or a
        frame with columns item and rating, or a :class:`~prefmover.data.ratings.Ratings` of new users.
    n_threads
        Threads; None means all cores. The answer does not depend on it.
    progress
        Called with (askers done, askers in all).
    checkpoint
        A folder for finished parts, as Parquet: a run that was killed goes on from there, to the same answer.
    missing
        Rated items that the geometry does not know: ``"error"``, or ``"drop"`` their ratings.
    executor
        Who does the work: ``"threads"`` of this process, ``"ray"``, or a
        :class:`~prefmover.execution.RayExecutor` with the address of a cluster. The answer does not depend
        on it.

    Examples
    --------
    >>> ratings = Ratings.from_arrays(["ann", "bob", "cid"], ["x", "y", "z"], [5, 4, 3])
    >>> geometry = ItemGeometry.from_vectors(["x", "y", "z"], [[1, 0], [1, 0.5], [0, 1]])
    >>> nearest(ratings, geometry, k=1).ids.tolist()  # nobody has an item in common
    [['bob'], ['ann'], ['bob']]
    """
    row = find_measure(measure)
    if not _has_bounds(row, convention):
        for option, value in (("checkpoint", checkpoint), ("executor", executor)):
            if value is not None:
                raise InputError(f"{option} is for PMD; {row.label} computes every pair and is soon done")
        return exhaustive(
            ratings,
            row,
            geometry=geometry,
            k=k,
            users=_ids_only(users, row),
            convention=convention,
            n_threads=n_threads,
            progress=progress,
        )
    index = NeighborIndex(ratings, _needed(geometry), missing=missing)
    return index.nearest(users, k, n_threads=n_threads, progress=progress, executor=executor, checkpoint=checkpoint)


def within(
    ratings: Ratings,
    geometry: ItemGeometry | None,
    radius: float,
    measure: str | Measure = "pmd",
    users: Asked = None,
    *,
    convention: str | None = None,
    n_threads: int | None = None,
    progress: Progress | None = None,
    missing: Literal["error", "drop"] = "error",
) -> Neighbors:
    """Return all users within a distance of each asker (or of at least a similarity), exactly.

    Examples
    --------
    >>> ratings = Ratings.from_arrays(["ann", "bob", "cid"], ["x", "y", "z"], [5, 4, 3])
    >>> geometry = ItemGeometry.from_vectors(["x", "y", "z"], [[1, 0], [1, 0.5], [0, 1]])
    >>> within(ratings, geometry, 0.5).counts
    array([1, 1, 0])
    """
    row = find_measure(measure)
    if not _has_bounds(row, convention):
        return exhaustive(
            ratings,
            row,
            geometry=geometry,
            radius=radius,
            users=_ids_only(users, row),
            convention=convention,
            n_threads=n_threads,
            progress=progress,
        )
    index = NeighborIndex(ratings, _needed(geometry), missing=missing)
    return index.within(radius, users, n_threads=n_threads, progress=progress)


def nearest_raters(
    ratings: Ratings,
    geometry: ItemGeometry | None,
    users: Iterable[Any],
    items: Iterable[Any],
    k: int = 60,
    measure: str | Measure = "pmd",
    *,
    convention: str | None = None,
    n_threads: int | None = None,
    progress: Progress | None = None,
    missing: Literal["error", "drop"] = "error",
) -> RaterNeighbors:
    """Return, for each pair (user, item), the k nearest users among the raters of the item.

    This is what predicting a rating needs. The first j of the k are the j nearest, for every j.

    Examples
    --------
    >>> ratings = Ratings.from_arrays(["ann", "bob", "cid"], ["x", "y", "z"], [5, 4, 3])
    >>> geometry = ItemGeometry.from_vectors(["x", "y", "z"], [[1, 0], [1, 0.5], [0, 1]])
    >>> nearest_raters(ratings, geometry, ["ann", "ann"], ["y", "z"]).neighbors
    array([1, 2])
    """
    row = find_measure(measure)
    if not _has_bounds(row, convention):
        return exhaustive_raters(
            ratings,
            users,
            items,
            k,
            row,
            geometry=geometry,
            convention=convention,
            n_threads=n_threads,
            progress=progress,
        )
    index = NeighborIndex(ratings, _needed(geometry), missing=missing)
    return index.raters(users, items, k, n_threads=n_threads, progress=progress)


def _has_bounds(row: Measure, convention: str | None) -> bool:
    return row is find_measure("pmd") and row.convention(convention) == row.default


def _ids_only(users: Asked, row: Measure) -> Iterable[Any] | None:
    if users is not None and new_ratings(users) is not None:
        raise InputError(
            f"{row.label} searches for users of the ratings only; add the new user's ratings to them"
        )
    return cast(Iterable[Any] | None, users)


def _needed(geometry: ItemGeometry | None) -> ItemGeometry:
    if geometry is None:
        raise InputError(
            "PMD needs the distances between items: pass geometry=ItemGeometry.from_vectors(...)"
        )
    return geometry
