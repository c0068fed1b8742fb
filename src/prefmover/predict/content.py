r"""What a user's likes say about items of similar content.

With :math:`N_j` the rated items nearest to item j, other than j itself,

.. math:: c_{ij} = \frac{e^{-4 d_{ij}}}{\sum_{l \in N_j} e^{-4 d_{lj}}} \quad (i \in N_j), \qquad
          \sum_i y_i\,c_{ij}

is the mean like of the items nearest to j; items that the user has not rated count as 0. The item side adds
it to EASE's weights, times a number that is chosen on held-out ratings. EASE learns from ratings which items
go together and knows nothing about items that few people rated; the geometry knows them all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from prefmover._typing import Ints
from prefmover.items.geometry import ItemGeometry

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    Sparse: TypeAlias = csr_array[Any, tuple[int, int]]

__all__ = ["content_weights"]

N_NEAREST = 300
RATE = 4.0
BLOCK_ITEMS = 512
RIGHT_ANGLE = 1e-6  # cosine from which items have something in common


def content_weights(geometry: ItemGeometry, rated: Ints) -> Sparse:
    """Return c between rated items, (n_items, n_items) in single precision; 0 for all others.

    Items at a right angle have nothing in common, and no weight. Other distances are scaled so that the
    largest is a right angle.

    >>> geometry = ItemGeometry.from_vectors(["a", "b", "c", "d"], [[1, 0], [1, 1], [1, 2], [0, 1]])
    >>> content_weights(geometry, np.array([0, 1, 3])).toarray().round(3)
    array([[0. , 0.5, 0. , 0. ],
           [1. , 0. , 0. , 1. ],
           [0. , 0. , 0. , 0. ],
           [0. , 0.5, 0. , 0. ]], dtype=float32)
    """
    from scipy.sparse import csr_array

    to_angles = np.pi / 2 / (geometry.farthest or 1.0)
    k = min(N_NEAREST + 1, len(rated))  # one more: the item itself is dropped
    rows, columns, values = [], [], []
    for first in range(0, len(rated), BLOCK_ITEMS):
        block = rated[first : first + BLOCK_ITEMS]
        at, near = geometry.nearest_of(block, rated, k)
        others, angles = rated[at], near * to_angles
        w = np.exp(-RATE * (angles - angles[:, :1]))  # relative to the nearest: they cannot all be 0
        w *= (others != block[:, None]) & (np.cos(angles) > RIGHT_ANGLE)
        total = w.sum(axis=1, keepdims=True)
        w /= np.where(total > 0, total, 1.0)
        there = w > 0
        rows.append(others[there])
        columns.append(np.broadcast_to(block[:, None], w.shape)[there])
        values.append(w[there].astype(np.float32))
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    return csr_array(entries, shape=(geometry.n_items, geometry.n_items))
