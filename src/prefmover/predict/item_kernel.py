"""ItemKernel: the covariance of items in low rank, from their distances to landmarks.

k_I(i, j) = exp(-η d(i, j)) is stored in factors, ΨΨᵀ + diag(χ), as the covariance of users is
(:mod:`prefmover.predict.low_rank`). So nothing is as large as all pairs of items, neither while fitting
nor afterward. Up to :data:`MAX_EXACT` items, all are landmarks, and nothing is approximated. Beyond that,
items with more ratings are more likely to be landmarks. On MovieLens-100K, where all 1,682 items could be
landmarks, 512 of them cost .0003 of MAE.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from prefmover._typing import Floats, Ints
from prefmover.execution.threads import slices
from prefmover.items.geometry import ItemGeometry
from prefmover.predict.low_rank import Singles, UserKernel

__all__ = ["LANDMARKS", "MAX_EXACT", "ItemKernel"]

LANDMARKS = 600
MAX_EXACT = 1000

BLOCK_ITEMS = 512


class ItemKernel(UserKernel):
    """k_I = ΨΨᵀ + diag(χ): ``features`` are Ψ, and ``rest`` is χ.

    If different items have nothing in common, the rank is 0 and χ is 1.

    Examples
    --------
    >>> geometry = ItemGeometry.from_distance(["a", "b", "c"], [[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    >>> kernel = ItemKernel.from_geometry(geometry, 1.0, np.array([5, 1, 2]))
    >>> kernel.block(np.arange(3), np.arange(3)).round(3)
    array([[1.   , 0.368, 0.135],
           [0.368, 1.   , 0.368],
           [0.135, 0.368, 1.   ]])
    """

    __slots__ = ()

    @classmethod
    def from_geometry(
        cls, geometry: ItemGeometry | None, rate: float, n_ratings: Ints, max_rank: int | None = None
    ) -> Self:
        """Return the kernel exp(-rate d); ``n_ratings`` are the numbers of ratings of all items."""
        n = len(n_ratings)
        if geometry is None:
            nothing = np.empty(0, np.int64), np.empty((0, 0), np.float32)
            return cls(*nothing, np.empty((n, 0), np.float32), np.ones(n))
        landmarks = np.arange(n)
        if n > MAX_EXACT:
            likely = np.sqrt(n_ratings + 1.0)
            random = np.random.default_rng(0)
            landmarks = np.sort(random.choice(n, LANDMARKS, replace=False, p=likely / likely.sum()))
        return cls.from_blocks(n, landmarks, lambda some: _weights(geometry, rate, some, landmarks), max_rank)

    def with_items(self, geometry: ItemGeometry | None, rate: float, n_items: int) -> Self:
        """Return the kernel with more items: the last of the geometry."""
        more = np.arange(len(self.rest), n_items)
        weights = np.empty((len(more), 0), np.float32)
        if geometry is not None:
            weights = _weights(geometry, rate, more, self.landmarks)
        return self.replaced(more, *self.project(weights), n_items)

    def block(self, rows: Ints, columns: Ints) -> Floats:
        """Return k_I between items, (rows, columns)."""
        out: Floats = (self.features[rows] @ self.features[columns].T).astype(np.float64)
        at, to = np.nonzero(rows[:, None] == columns[None, :])
        out[at, to] += self.rest[columns[to]]
        return out

    def columns(self, columns: Ints) -> Floats:
        """Return k_I between all items and some, (n_items, columns)."""
        out: Floats = (self.features @ self.features[columns].T).astype(np.float64)
        out[columns, np.arange(len(columns))] += self.rest[columns]
        return out

    def sums(self, items: Ints, values: Floats, targets: Ints) -> Floats:
        """Return Σ_j values_j k_I(i, j) over items j, for each target i."""
        through = self.features[items].T @ values.astype(np.float32)
        own = np.zeros(len(self.rest))
        own[items] = values
        sums: Floats = (self.features[targets] @ through).astype(np.float64)
        return sums + self.rest[targets] * own[targets]


def _weights(geometry: ItemGeometry, rate: float, items: Ints, landmarks: Ints) -> Singles:
    out = np.empty((len(items), len(landmarks)), np.float32)
    for block in slices(len(items), BLOCK_ITEMS):
        out[block] = np.exp(-rate * geometry.block(items[block], landmarks))
    return out
