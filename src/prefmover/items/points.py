"""Points without ids, and a ground distance between them that anybody may choose."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ids
from prefmover.data.ids import frozen
from prefmover.errors import InputError
from prefmover.execution.memory import require
from prefmover.execution.threads import slices
from prefmover.items.features import finite_rows
from prefmover.items.geometry import (
    ANGLE_UNIT,
    BUDGET,
    CHECKED_ITEMS,
    GRID_BITS,
    SQUARE_BYTES,
    Ground,
    VectorMetric,
    Words,
    obeys_triangle,
    symmetric,
    whole_steps,
)

__all__ = ["Metric", "Points"]

Metric: TypeAlias = str | Callable[[Any, Any], Any] | npt.ArrayLike
"""``"euclidean"``, ``"angle"``, a function of two blocks of points, or a matrix of distances."""

BLOCK = 1024  # points whose distances a function is asked for at a time
ROUNDING = 1e-6  # of the largest distance: what a function's two directions, or its diagonal, may differ by
LARGEST_VECTOR = 1e150  # squares of lengths are finite


@dataclass(frozen=True, slots=True, eq=False)
class Points(Ground):
    """Distances between points, in units of ``unit``, rounded up.

    >>> points = Points.from_metric([[0, 0], [3, 4]], "euclidean", 2)
    >>> points.block().round(6)
    array([[0., 5.],
           [5., 0.]])
    """

    unit: float
    is_metric: bool | None
    grid: npt.NDArray[np.int32] | None = None
    vectors: Floats | None = None
    between: VectorMetric = "angle"

    words = Words("row", "weight", "point")

    @property
    def n_items(self) -> int:
        """The number of points."""
        array = self.vectors if self.grid is None else self.grid
        assert array is not None
        return len(array)

    @property
    def vector_metric(self) -> VectorMetric:
        """How vectors give distances."""
        return self.between

    def _with(self, **changes: Any) -> Self:
        return replace(self, **changes)

    @classmethod
    def from_metric(cls, points: Any, metric: Metric, n: int, n_threads: int | None = None) -> Self:
        """Return the distances of n points; see :class:`~prefmover.search.points.NeighborIndex`."""
        ids = np.arange(n)
        if isinstance(metric, str):
            if metric not in ("euclidean", "angle"):
                raise InputError(
                    f'metric is {metric!r}; choose "euclidean" or "angle", or pass a function or a matrix',
                    argument="metric",
                )
            if points is None:
                raise InputError(f"metric {metric!r} needs points: an array with one row for each column")
            lazy = cls._of_vectors(finite_rows("points", points, ids, "point"), metric)
            return lazy._with(grid=frozen(lazy._dense(n_threads))) if 4 * n**2 <= BUDGET else lazy
        if callable(metric):
            return cls._of_matrix(_called(metric, points, n), ids)
        if points is not None:
            raise InputError(
                "metric is a matrix of distances; leave out the points, which have no meaning then"
            )
        return cls._of_matrix(metric, ids)

    @classmethod
    def _of_vectors(cls, X: Floats, metric: str) -> Self:
        largest = np.abs(X).max(initial=0.0)
        if largest > LARGEST_VECTOR or 0 < largest < 1 / LARGEST_VECTOR:
            raise InputError(f"the largest coordinate of the points is {largest:g}; rescale them")
        if metric == "angle":
            zero = np.flatnonzero(~X.any(axis=1))
            if zero.size:
                raise InputError(f"point {zero[0]} is zero, and has no angle ({zero.size} such points)")
            X /= np.abs(X).max(axis=1, initial=0.0)[:, None]
            X /= np.linalg.norm(X, axis=1)[:, None]
            return cls(2 * ANGLE_UNIT, True, None, frozen(X), "angle")
        # No two points are farther from each other than the corners of the box around them, or than the
        # diameter of a ball.
        center = X.mean(axis=0) if len(X) else 0.0
        ball = 2 * np.sqrt(np.square(X - center).sum(axis=1).max(initial=0.0))
        box = np.linalg.norm(np.ptp(X, axis=0)) if len(X) else 0.0
        most = float(min(ball, box)) * (1 + ROUNDING)
        unit = 2.0 ** (np.frexp(most)[1] - GRID_BITS) if most else ANGLE_UNIT
        return cls(float(unit), True, None, frozen(X), "euclidean")

    @classmethod
    def _of_matrix(cls, distance: Any, ids: Ids) -> Self:
        steps, unit = whole_steps(symmetric("distance", distance, ids, noun="point"), ids, "point")
        is_metric = obeys_triangle(steps) if len(ids) <= CHECKED_ITEMS else None
        return cls(unit, is_metric, frozen(steps))


def _called(metric: Callable[[Any, Any], Any], points: Any, n: int) -> Floats:
    """Return all distances by a function of two blocks of points, symmetric, with zeros on the diagonal."""
    if points is None or len(points) != n:
        given = "none" if points is None else f"{len(points):,} of them"
        raise InputError(f"a function as metric needs {n:,} points, one for each column; there are {given}")
    require(SQUARE_BYTES * n**2, f"a table of the distances of {n:,} points", "leave out points")
    D, everyone = np.empty((n, n)), np.asarray(points) if isinstance(points, list) else points
    for some in slices(n, BLOCK):
        block = np.asarray(metric(everyone[some], everyone), np.float64)
        if block.shape != (some.stop - some.start, n):
            raise InputError(
                f"metric returned shape {block.shape} for {some.stop - some.start} and {n} points; it gets "
                "two blocks of points and returns the distances of all pairs, as scipy's cdist does"
            )
        D[some] = block
    slack = ROUNDING * float(np.abs(D[np.isfinite(D)]).max(initial=0.0))
    upper = np.triu(D, 1)
    rounded = upper + upper.T
    # What differs by more than rounding stays, for the error that names the points.
    return np.where(np.abs(D - rounded) <= slack, rounded, D)
