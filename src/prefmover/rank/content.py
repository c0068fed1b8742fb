r"""What a user's likes say about items of similar content, and about items that nobody has rated.

With :math:`N_j` the k items nearest to item j among some others, and a rate γ,

.. math:: w_{ij} = \frac{e^{-\gamma d_{ij}}}{\sum_{l \in N_j} e^{-\gamma d_{lj}}} \quad (i \in N_j).

**Similar content.** Over the 300 rated items nearest to j, other than j itself, with γ = 4,
:math:`\sum_i y_i w_{ij}` is the mean like of the items nearest to j; items that the user has not rated count
as 0. The item side adds it to EASE's weights, times a number that is chosen on held-out ratings. EASE learns
from ratings which items go together and knows nothing about items that few people rated; the geometry knows
them all.

**Items without ratings** get half the mean score of the ten nearest items with ratings, with γ = 3. Which
items had ratings is decided once, in the fit. Ratings that arrive later add to the score.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from prefmover._pickled import PickledFields
from prefmover._typing import Bools, Floats, Ints, Singles
from prefmover.data.preferences import indptr_from_counts
from prefmover.execution.threads import run
from prefmover.items.geometry import ItemGeometry

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    Sparse: TypeAlias = csr_array[Any, tuple[int, int]]

__all__ = ["SimilarContent", "SimilarItems", "weighted_nearest"]

N_NEAREST, CONTENT_RATE = 300, 4.0
N_SIMILAR, SIMILAR_RATE, SIMILAR_SHARE = 10, 3.0, 0.5

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


class SimilarContent(NamedTuple):
    """The weights of similar content between rated items.

    Attributes
    ----------
    geometry, rated
        The distances between items, and the positions of the rated ones.
    weights
        (n_items, n_items) w in single precision; 0 for items without ratings.
    """

    geometry: ItemGeometry
    rated: Ints
    weights: Sparse

    @classmethod
    def fit(
        cls,
        geometry: ItemGeometry,
        rated: Ints,
        n_threads: int | None = None,
        known: SimilarContent | None = None,
    ) -> SimilarContent:
        """Return the weights between rated items; ``known`` ones if they are of the same items.

        Items at a right angle have nothing in common, and no weight. Other distances are scaled so that the
        largest is a right angle.

        >>> geometry = ItemGeometry.from_vectors(["a", "b", "c", "d"], [[1, 0], [1, 1], [1, 2], [0, 1]])
        >>> SimilarContent.fit(geometry, np.array([0, 1, 3])).weights.toarray().round(3)
        array([[0. , 0.5, 0. , 0. ],
               [1. , 0. , 0. , 1. ],
               [0. , 0. , 0. , 0. ],
               [0. , 0.5, 0. , 0. ]], dtype=float32)
        """
        from scipy.sparse import csc_array

        if known is not None and known.geometry is geometry and np.array_equal(known.rated, rated):
            return known
        k = min(N_NEAREST + 1, len(rated))  # one more: an item has no weight for itself
        nearest, w = weighted_nearest(
            geometry, rated, rated, k, CONTENT_RATE, angles=True, dtype=np.float32, n_threads=n_threads
        )
        there, counts = w > 0, np.zeros(geometry.n_items, np.int64)
        counts[rated] = there.sum(axis=1)
        shape = (geometry.n_items, geometry.n_items)
        weights = csc_array((w[there], nearest[there], indptr_from_counts(counts)), shape=shape)
        return cls(geometry, rated, weights.tocsr())

    def times(self, factor: float) -> Sparse:
        """Return the weights, multiplied."""
        from scipy.sparse import csr_array

        w = self.weights
        return csr_array((np.float32(factor) * w.data, w.indices, w.indptr), shape=w.shape)


@dataclass(frozen=True, eq=False)
class SimilarItems(PickledFields):
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
        similar, w = weighted_nearest(geometry, unrated, rated, k, SIMILAR_RATE, n_threads=1)
        rows = np.concatenate([np.arange(n), np.repeat(unrated, k)])
        columns = np.concatenate([np.arange(n), similar.ravel()])
        values = np.concatenate([np.ones(n), (SIMILAR_SHARE * w).ravel()])
        return cls(csr_array((values, (rows, columns)), shape=(n, n)))

    @classmethod
    def from_likes(cls, likes: Sparse, geometry: ItemGeometry | None) -> Self | None:
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
