"""What a measure has to beat: predictions that take no account of who is like whom, or little.

=============  ===================================================================================
name           prediction
=============  ===================================================================================
user-mean      the user's mean training rating; no neighbors
bias           μ + b_u + b_i, regularized (``centering="baseline"``); no neighbors
uniform        K raters of the item drawn at random, all with weight 1: what neighbors bring without
               any notion of nearness. (At K beyond the number of raters, all of them.)
mean-vector    neighbors by the cosine of the users' mean item vectors, Σ p(i) x_i against Σ q(j) x_j:
               what item similarity brings without optimal transport
=============  ===================================================================================
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from prefmover.data.ratings import Ratings
from prefmover.data.splits import hashed
from prefmover.items.geometry import ItemGeometry

__all__ = ["mean_vector_blocks", "uniform_blocks"]

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

BLOCK_ROWS = 256


def uniform_blocks(ratings: Ratings, users: Index, seed: int) -> Iterator[tuple[Index, Floats]]:
    """Yield, for blocks of users, a number in [0, 1) for every other user: a fixed random order for each."""
    everyone = np.arange(ratings.n_users)
    for start in range(0, users.size, BLOCK_ROWS):
        some = users[start : start + BLOCK_ROWS]
        keys = some[:, None] * ratings.n_users + everyone
        yield some, (hashed(seed, keys) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def mean_vector_blocks(
    ratings: Ratings, geometry: ItemGeometry, users: Index
) -> Iterator[tuple[Index, Floats]]:
    """Yield, for blocks of users, the cosine of their mean item vector with everybody's; NaN without one.

    A mean vector is Σ p(i) x_i with p(i) the user's share of stars on item i; only inner products are
    needed, so it is pᵀ S q over the item similarities S of the geometry. Both must have the same items.
    """
    from scipy.sparse import csr_array

    matrix = ratings.matrix
    rated = np.unique(matrix.indices)
    P = csr_array((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)[:, rated]
    S = geometry.similarity(rated, rated)
    length = np.empty(ratings.n_users)
    for start in range(0, ratings.n_users, BLOCK_ROWS):
        part = P[start : start + BLOCK_ROWS]
        length[start : start + BLOCK_ROWS] = np.sqrt(part.multiply(part @ S).sum(axis=1))
    length[length == 0] = np.nan
    for start in range(0, users.size, BLOCK_ROWS):
        some = users[start : start + BLOCK_ROWS]
        inner = (P @ np.ascontiguousarray((P[some] @ S).T)).T
        yield some, np.ascontiguousarray(inner) / length / length[some, None]
