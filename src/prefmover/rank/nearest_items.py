r"""Weights of the nearest items: what similar content and items without ratings share.

With :math:`N_j` the k items nearest to item j among some others, and a rate γ,

.. math:: w_{ij} = \frac{e^{-\gamma d_{ij}}}{\sum_{l \in N_j} e^{-\gamma d_{lj}}} \quad (i \in N_j).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ints
from prefmover.execution.threads import run
from prefmover.items.geometry import ItemGeometry

__all__ = ["weighted_nearest"]

BLOCK_ITEMS = 256
ENTRIES = 2**23  # distances that a thread has in memory at once
RIGHT_ANGLE = 1e-6  # cosine from which items have something in common


def weighted_nearest(
    geometry: ItemGeometry,
    items: Ints,
    among: Ints,
    k: int,
    rate: float,
    *,
    angles: bool = False,
    dtype: npt.DTypeLike = np.float64,
    n_threads: int | None = None,
) -> tuple[Ints, npt.NDArray[Any]]:
    """Return the k nearest of the items ``among`` to each of ``items``, and their weights: (items, k) each.

    Parameters
    ----------
    items, among
        Positions.
    rate
        γ.
    angles
        Whether distances are scaled so that the largest is a right angle. Then items at a right angle, which
        have nothing in common, weigh nothing, and neither does an item for itself.
    dtype
        Type of the weights, which are computed in double precision.

    Examples
    --------
    >>> geometry = ItemGeometry.from_distance(["a", "b", "c"], [[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    >>> nearest, weights = weighted_nearest(geometry, np.array([0]), np.array([1, 2]), 2, rate=np.log(3))
    >>> nearest.tolist(), weights.round(4).tolist()
    ([[1, 2]], [[0.75, 0.25]])
    """
    nearest, weights = np.empty((len(items), k), np.int64), np.empty((len(items), k), dtype)
    scale = np.pi / 2 / (geometry.farthest or 1.0) if angles else 1.0
    rows = max(16, min(BLOCK_ITEMS, ENTRIES // max(len(among), 1)))

    def work(first: int) -> None:
        block = slice(first, min(first + rows, len(items)))
        at, distances = geometry.nearest(items[block], among, k)
        nearest[block] = among[at]
        distances *= scale
        w: Floats = np.exp(-rate * (distances - distances[:, :1]))  # relative to the nearest: not all are 0
        if angles:
            w *= (nearest[block] != items[block, None]) & (np.cos(distances) > RIGHT_ANGLE)
        total = w.sum(axis=1, keepdims=True)
        weights[block] = w / np.where(total > 0, total, 1.0)

    run(work, range(0, len(items), rows), n_threads=n_threads)
    return nearest, weights
