r"""Peers that know what the items are about, other than the regressions.

T are the unit vectors of the items that the geometry of the data set is made of: the same tags and genres
that the default model knows. A geometry that follows the ratings is no content, and is refused.

===========  ========================================================================================
name         score of item i for user u
===========  ========================================================================================
content-knn  Σ_j x_uj s_ji over the k rated items with the largest cosine s_ji of their vectors
hybrid-svd   factors of ratings in which similar items count as partly the same
wcf          what arrives at i when the user's distribution moves to items of similar content
===========  ========================================================================================

References: E. Frolov, I. Oseledets, "HybridSVD: When Collaborative Information is Not Enough", RecSys 2019;
Y. Meng et al., "Wasserstein Collaborative Filtering for Item Cold-start Recommendation", UMAP 2020.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from prefmover._typing import Floats, Ints, Singles, Sparse
from prefmover.dataset import Dataset, geometry_follows_ratings
from prefmover.errors import InputError
from prefmover.evaluation.baselines.rankers import (
    BLOCK_ITEMS,
    LEAVE_OUT,
    Scorer,
    Values,
    by_nearest,
    interactions,
    shared,
)
from prefmover.execution.threads import slices

RANK = 200  # singular vectors that the trials of a search share


def item_vectors(data: Dataset, what: str) -> Floats:
    """Return the unit vectors of the items, (n_items, features); zero for items without content.

    Data without vectors of their own are an error.
    """
    geometry = None if geometry_follows_ratings(data) else data.geometry
    if geometry is not None and geometry.vectors is not None:
        return geometry.vectors
    raise InputError(
        f"{what} needs vectors that describe the items, and {data.name or 'this data set'} has none; "
        f"{LEAVE_OUT}, or give files of tags, genres or vectors"
    )


def content_knn(data: Dataset, k: int = 50, values: Values = "ratings") -> Scorer:
    """Sum over the k nearest rated items by the cosine of their content; negative cosines count as 0."""
    T = item_vectors(data, "content-knn").astype(np.float32)
    unrated = data.ratings_per_item == 0

    def similar(items: Ints) -> Singles:
        S: Singles = np.maximum(T[items] @ T.T, 0)
        S[:, unrated] = 0.0
        return S

    return by_nearest(interactions(data.ratings, values), similar, k)


def hybrid_svd(data: Dataset, rank: int = 50, alpha: float = 0.5, values: Values = "ratings") -> Scorer:
    r"""Factors of X L, where :math:`L L^T = (1 - \alpha) I + \alpha S` and S are cosines of content.

    With V the first right singular vectors of X L, the scores are :math:`X L V V^T L^{-1}`. They are the same
    for every L with this product. Here it is the symmetric root, which differs from a diagonal only in the
    directions of the features: no matrix of items x items is needed. α = 0 is the truncated SVD. Items
    without ratings have the score 0.
    """
    T = item_vectors(data, "HybridSVD")
    if not 0 <= alpha < 1:
        raise InputError(f"alpha of HybridSVD is {alpha}; give 0 <= alpha < 1")
    X = interactions(data.ratings, values)
    L = _Root(T, alpha)

    V = shared(data, ("hybrid-svd", values, alpha), lambda: _right_singular_vectors(X, L))[:, :rank]
    left, right = L.times(V).astype(np.float32), L.times(V, -0.5).T.astype(np.float32)
    rows = X.astype(np.float32)
    return lambda users: np.asarray((rows[users] @ left) @ right)


def wcf(data: Dataset, rank: int = 50, epsilon: float = 0.1, values: Values = "ratings") -> Scorer:
    r"""Move what a user likes to items of similar content, for users of low rank: a variant of WCF.

    A user is a distribution p over rated items. It moves at the cost d, the content's distances, blurred by
    an entropy, to whichever distribution q over other items is nearest:

    .. math:: \min_q \min_{W 1 = p,\, W^T 1 = q} \sum_{ij} W_{ij} d_{ij} + \varepsilon W_{ij} \log W_{ij}
              \quad\Rightarrow\quad q_j = \sum_i p_i \frac{e^{-d_{ij} / \varepsilon}}
              {\sum_l e^{-d_{il} / \varepsilon}}.

    Only one marginal is given, so the transport has this closed form. Items without ratings are one such
    target, as in the paper; the other rated items are another, so that one list can have both: a target gets
    mass in proportion to its number of items. The collaborative part is that users have few dimensions: p is
    replaced by its projection on the first singular vectors of all p. In the paper, the factors of q minimize
    the Wasserstein distance itself, which takes iterations; here they are the image of those of p.
    """
    if epsilon <= 0:
        raise InputError(f"epsilon of WCF is {epsilon}; give a number above 0")
    item_vectors(data, "WCF")
    P = interactions(data.ratings, values)
    total = np.asarray(P.sum(axis=1)).ravel()
    P.data /= np.repeat(total, np.diff(P.indptr))
    V = shared(data, ("wcf", values), lambda: _right_singular_vectors(P))[:, :rank]
    moved = _moved(data, V, epsilon).astype(np.float32)
    rows, left = P.astype(np.float32), V.astype(np.float32)
    return lambda users: np.asarray((rows[users] @ left) @ moved)


def _moved(data: Dataset, V: Floats, epsilon: float) -> Floats:
    """Return Vᵀ times the blurred plans, (rank, n_items): where the mass of each rated item goes."""
    geometry, rated = data.require_geometry("WCF"), data.ratings_per_item > 0
    out = np.zeros((V.shape[1], data.n_items))
    for target in (np.flatnonzero(rated), np.flatnonzero(~rated)):
        for block in slices(data.n_items, BLOCK_ITEMS):
            items = np.arange(block.start, block.stop)[rated[block]]
            if not len(items) or not len(target):
                continue
            d = geometry.block(items, target)
            d[items[:, None] == target] = np.inf  # an item stays nowhere
            nearest = d.min(axis=1, keepdims=True)
            W = np.exp((np.where(np.isfinite(nearest), nearest, 0.0) - d) / epsilon)
            W *= len(target) / data.n_items / np.maximum(W.sum(axis=1, keepdims=True), 1e-300)
            out[:, target] += V[items].T @ W
    return out


def _right_singular_vectors(X: Sparse, L: _Root | None = None) -> Floats:
    """Return at most RANK right singular vectors of X, or of X L, the first ones first: (n_items, rank)."""
    from scipy.sparse.linalg import LinearOperator, svds

    least = min(X.shape)
    if least <= 2 * RANK:  # small enough for all
        dense = X.toarray() if L is None else L.times(X.T.toarray()).T
        V: Floats = np.linalg.svd(dense, full_matrices=False)[2][:RANK].T
        return V
    operator: Any = X
    sides: Any = {"return_singular_vectors": "vh"}
    if L is not None:
        columns: Any = X.T.tocsr()
        operator = LinearOperator(
            X.shape,
            lambda x: X @ L.times(x.ravel()),
            lambda y: L.times(columns @ y.ravel()),
            dtype=np.float64,
        )
    start = np.random.default_rng(0).standard_normal(least)  # the same numbers in every run
    found: Floats = svds(operator, RANK, v0=start, **sides)[2]
    return found[::-1].T


class _Root:
    """Powers of (1 - α) I + α S, S = TTᵀ with ones on the diagonal, from the features' directions."""

    def __init__(self, T: Floats, alpha: float) -> None:
        has = T.any(axis=1)
        self.directions, length, _ = np.linalg.svd(T, full_matrices=False)
        self.diagonal = np.where(has, 1 - alpha, 1.0)  # an item without content is similar to itself only
        self.stretched = 1 - alpha + alpha * length**2
        self.alpha = alpha

    def times(self, columns: Floats, power: float = 0.5) -> Floats:
        """Return a power of the matrix times columns (n_items, n)."""
        more = self.stretched**power - (1 - self.alpha) ** power
        along = self.directions.T @ columns
        shape = (-1,) + (1,) * (columns.ndim - 1)
        out: Floats = self.diagonal.reshape(shape) ** power * columns
        out += self.directions @ (more.reshape(shape) * along)
        return out
