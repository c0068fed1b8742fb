"""Items that nobody has rated get scores through similar items.

An item without ratings gets half the mean score of the ten nearest items with ratings, weighted by exp(-3 d).
Which items had ratings is decided once, in the fit. Ratings that arrive later add to the score.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from prefmover._typing import Bools, Floats, Ints
from prefmover.errors import InputError
from prefmover.items.geometry import ItemGeometry
from prefmover.predict.low_rank import Singles
from prefmover.rank.nearest_items import weighted_nearest

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    Sparse: TypeAlias = csr_array[Any, tuple[int, int]]

__all__ = ["SimilarItems"]

N_SIMILAR = 10
RATE = 3.0
SHARE = 0.5


@dataclass(frozen=True, eq=False)
class SimilarItems:
    """The mixtures that items without ratings are scored by.

    Attributes
    ----------
    weights
        (n_items, n_items) the identity; rows of items without ratings have the weights of similar items, too.

    Examples
    --------
    Nobody has rated c, which is as near to a as b is:

    >>> geometry = ItemGeometry.from_vectors(["a", "b", "c"], [[1, 0], [0, 1], [1, 1]])
    >>> similar = SimilarItems.fit(np.array([0, 1]), geometry)
    >>> similar.filled(np.array([[4.0, 2.0, 0.0]], np.float32))
    array([[4. , 2. , 1.5]], dtype=float32)
    """

    weights: Sparse

    @classmethod
    def fit(cls, rated: Ints, geometry: ItemGeometry) -> Self:
        """Return the mixtures of all items but those at the positions ``rated``."""
        from scipy.sparse import csr_array

        n = geometry.n_items
        unrated, k = np.setdiff1d(np.arange(n), rated), min(N_SIMILAR, len(rated))
        similar, w = weighted_nearest(geometry, unrated, rated, k, RATE, n_threads=1)
        rows = np.concatenate([np.arange(n), np.repeat(unrated, k)])
        columns = np.concatenate([np.arange(n), similar.ravel()])
        values = np.concatenate([np.ones(n), (SHARE * w).ravel()])
        return cls(csr_array((values, (rows, columns)), shape=(n, n)))

    @classmethod
    def of_likes(cls, likes: Sparse, geometry: ItemGeometry | None) -> Self | None:
        """Return the mixtures of the items without likes; None if there are none, or no distances."""
        rated = np.unique(likes.indices).astype(np.int64)
        if geometry is None or not 0 < len(rated) < likes.shape[1]:
            return None
        return cls.fit(rated, geometry)

    @cached_property
    def unrated(self) -> Ints:
        """Positions of the items that had no ratings."""
        return np.flatnonzero(self._is_unrated)

    @cached_property
    def _is_unrated(self) -> Bools:
        """(n_items,) whether an item had no ratings."""
        return np.asarray(np.diff(self.weights.indptr) > 1)

    @cached_property
    def _mixtures(self) -> Any:
        """(n_items, unrated) the weights of the items that had no ratings, as columns."""
        return self.weights[self.unrated].T.astype(np.float32)

    def with_items(self, geometry: ItemGeometry) -> Self:
        """Return the mixtures with more items, the last of the geometry."""
        rated = np.setdiff1d(np.arange(self.weights.shape[0]), self.unrated)
        return self.fit(rated, geometry)

    def filled(self, scores: Singles) -> Singles:
        """Return scores (users, n_items), which are changed in place, with those of unrated items added."""
        scores[:, self.unrated] = scores @ self._mixtures
        return scores

    def columns(self, items: Ints, of: Callable[[Ints], Any]) -> Floats:
        """Return columns of a function of items; those of unrated items are mixtures."""
        if not self._is_unrated[items].any():
            return np.asarray(of(items), np.float64)
        mixture = self.weights[items]
        needed = np.unique(mixture.indices).astype(np.int64)
        return np.asarray(of(needed), np.float64) @ mixture[:, needed].toarray().T

    def check(self, n_items: int) -> None:
        """Raise an error unless the weights fit the data; for models from files."""
        if self.weights.shape != (n_items, n_items) or (np.diff(self.weights.indptr) < 1).any():
            raise InputError(f"similar items are damaged: they do not fit {n_items:,} items")
