"""Users as distributions over points: where a transport between two users takes place.

PMD's points are the items. Another measure may have other points, such as items with their ratings. Whatever
solves, bounds or searches a transport needs the masses and the distances of the points, and nothing else.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from prefmover.data.preferences import Preferences
from prefmover.dataset import Dataset

__all__ = ["Ground", "Space", "item_space"]


class Ground(Protocol):
    """The distances between points, in whole units; :class:`~prefmover.items.geometry.ItemGeometry` is one.

    Attributes
    ----------
    unit
        The step of the grid of distances, which are at most 2²⁶ steps.
    is_metric
        Whether the triangle inequality holds; None if it is unknown.
    grid
        (n, n) int32 distances in units, or None if they are computed on demand.
    n_items
        The number of points.
    """

    @property
    def unit(self) -> float: ...  # noqa: D102 - an attribute, described above

    @property
    def is_metric(self) -> bool | None: ...  # noqa: D102

    @property
    def grid(self) -> npt.NDArray[np.int32] | None: ...  # noqa: D102

    @property
    def n_items(self) -> int: ...  # noqa: D102

    def units(self, rows: Any, columns: Any) -> npt.NDArray[np.int32]:
        """Return distances in units as an int32 array (rows, columns); None means all points."""


class Space(NamedTuple):
    """The masses of all users on points, and the distances of the points."""

    preferences: Preferences
    ground: Ground


def item_space(data: Dataset) -> Space:
    """Return the space of PMD: the shares of the ratings on the items."""
    return Space(data.preferences, data.require_geometry("PMD"))
