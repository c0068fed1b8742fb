r"""The item side of a ranking: what a user's own likes say about other items, by ratings and by content.

Each column of a matrix Z, with one column per item, is predicted from the others by ridge regression, all at
once and in closed form (EASE; Steck, "Embarrassingly Shallow Autoencoders for Sparse Data", WWW 2019):

.. math:: P = (Z^T Z + \lambda I)^{-1}, \qquad B_{ij} = -P_{ij} / P_{jj}\;(i \ne j), \qquad B_{jj} = 0.

Z has a row for each user: the likes, times :math:`n_u^{-\beta / 2}` where n_u is the number of ratings. So a
user who rates everything does not outvote the others (DAN; Park et al., SIGIR 2025). Below these it has a row
for each feature of the items: a tag is like a user who likes the items that have it (CEASE; Jeunen et al.,
RecSys 2020). The features are the vectors whose angles are the item distances.

The score of item j for a user with likes y is Σ_i y_i B_ij: a sum over the items that the user has rated,
which is the reason to recommend j. With fewer rows than items the same numbers come from a smaller inverse,
G = (ZZᵀ + λI)⁻¹ over rows:

.. math:: B = Z^T M - \mathrm{diag}(c), \qquad M_{uj} = (GZ)_{uj} / (1 - c'_j), \qquad
          c'_j = \sum_u Z_{uj} (GZ)_{uj}, \qquad c_j = c'_j / (1 - c'_j).

With more than :data:`MAX_DENSE` rows and more items than that, the inverse is over the items that are rated
most, the *head*. Each other item, of the *tail*, is predicted from the :data:`NEAR` items of the head that it
has most in common with, H, by a ridge regression of its own:

.. math:: B_{Hj} = (Z_H^T Z_H + \lambda I)^{-1} Z_H^T Z_j, \qquad j \text{ in the tail}.

So every item with ratings has a score. Ratings of items of the tail predict nothing here; the user side knows
them.

Two more kinds of weights come from the distances d between items. With :math:`N_j` the k items nearest to
item j among some others, and a rate γ,

.. math:: w_{ij} = \frac{e^{-\gamma d_{ij}}}{\sum_{l \in N_j} e^{-\gamma d_{lj}}} \quad (i \in N_j).

**Similar content.** Over the 300 rated items nearest to j, other than j itself, with γ = 4,
:math:`\sum_i y_i w_{ij}` is the mean like of the items nearest to j; items that the user has not rated count
as 0. It is added to B, times a number that is chosen on held-out ratings. Features say what items have in
common in general; this says which are close.

**Items without ratings** get half the mean score of the ten nearest items with ratings, with γ = 3. Which
items had ratings is decided once, in the fit. Ratings that arrive later add to the score.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from prefmover._pickled import PickledFields
from prefmover._typing import Bools, Floats, Ints, Singles, Sparse
from prefmover.data.preferences import indptr_from_counts
from prefmover.errors import InputError
from prefmover.execution.jit import LazyModule
from prefmover.execution.memory import require
from prefmover.execution.threads import run, slices
from prefmover.items.geometry import ItemGeometry
from prefmover.predict.low_rank import item_kernel
from prefmover.predict.solver import sum_rows

kernels = LazyModule("prefmover.predict._sparse_sums")

__all__ = ["MAX_DENSE", "ItemSide", "SimilarItems", "feature_rows", "similar_content"]

MAX_DENSE = 12_000
"""The largest matrix to invert. With more users and more items, the items rated most are the head."""

NEAR = 20
"""Items of the head from which an item of the tail is predicted."""

MANY_USERS = 64  # whose scores are one product of our own
BLOCK_COLUMNS = 2048
BLOCK_TAIL = 512  # items of the tail at a time

FEATURE_RATE, MAX_FEATURES = 2.0, 200  # of features that are made from distances
N_NEAREST, CONTENT_RATE = 300, 4.0
N_SIMILAR, SIMILAR_RATE, SIMILAR_SHARE = 10, 3.0, 0.5

BLOCK_ITEMS = 256
ENTRIES = 2**23  # distances that a thread has in memory at once
RIGHT_ANGLE = 1e-6  # cosine from which items have something in common


@dataclass(frozen=True, eq=False)
class ItemSide(PickledFields):
    """B = L R - diag(c) over the modeled items, in one of two forms.

    Examples
    --------
    Two users like a and b, one likes c:

    >>> from scipy.sparse import csr_array
    >>> side = ItemSide.fit(csr_array([[1.0, 1, 0], [1, 1, 0], [0, 0, 1]]), penalty=1.0)
    >>> side.weights(np.arange(3), np.arange(3)).round(4) + 0.0
    array([[0.    , 0.6667, 0.    ],
           [0.6667, 0.    , 0.    ],
           [0.    , 0.    , 0.    ]], dtype=float32)
    """

    n_items: int  # the number of all items; the scores of items outside the model are 0
    # Positions of the modeled items: those with ratings, at most MAX_DENSE (the head) if B is dense.
    items: Ints
    likes: Sparse | None  # (n_users, items) the users' rows of Z if L = Zᵀ; None if L = I and R is B
    features: Singles  # (n_features, items) the other rows of Z if L = Zᵀ; else none
    right: Singles  # R: (items, items) or (rows of Z, items)
    diagonal: Singles  # (items,) c
    # (n_items, n_items) weights to add, if there are any: of similar content, and the columns of the tail.
    sparse: Sparse | None = None

    @classmethod
    def fit(
        cls,
        likes: Sparse,
        penalty: float | None,
        features: Singles | None = None,
        content: Sparse | None = None,
    ) -> Self:
        """Return the item side of the users' rows of Z, (n_users, n_items), and of ``features``.

        ``penalty`` is λ, above 0; None leaves the regression out. ``features`` are the other rows of Z,
        (n_features, n_items), and ``content`` are weights of similar content, (n_items, n_items), to add.
        """
        n_items = likes.shape[1]
        if penalty is None:
            none = np.zeros((0, 0), np.float32)
            return cls(n_items, np.empty(0, np.int64), None, none, none, none.ravel(), content)
        if not 0 < penalty < np.inf:
            raise InputError(f"the penalty of the item side is {penalty!r}; give a number above 0")
        n_rated = np.bincount(likes.indices, minlength=n_items)
        items = np.flatnonzero(n_rated)
        T = np.zeros((0, n_items), np.float32) if features is None else features
        n_rows = likes.shape[0] + len(T)
        if n_rows < len(items) and n_rows <= MAX_DENSE:
            some = likes if len(items) == n_items else likes[:, items]
            return cls(n_items, items, some, T[:, items], *_over_rows(some, T[:, items], penalty), content)
        if len(items) > MAX_DENSE:
            items = np.sort(np.argsort(-n_rated, kind="stable")[:MAX_DENSE])
        some = likes if len(items) == n_items else likes[:, items]
        gram, none = _gram(some), T[:0, items]
        gram += T[:, items].T @ T[:, items]
        if len(items) < np.count_nonzero(n_rated):
            rest = np.setdiff1d(np.flatnonzero(n_rated), items)
            tail = _tail(likes, some, T, gram, items, rest, penalty)
            added = tail if content is None else (tail + content).tocsr()
            return cls(n_items, items, None, none, *_over_items(gram, penalty), added)
        weights, diagonal = _over_items(gram, penalty)
        if content is not None:
            weights += content[items][:, items].toarray()
        return cls(n_items, items, None, none, weights, diagonal)

    def with_items(self, n_items: int) -> Self:
        """Return the item side with more items, the last, which are outside the model."""
        from scipy.sparse import csr_array

        sparse: Any = None if self.sparse is None else csr_array(self.sparse)  # the same entries
        if sparse is not None:
            sparse.resize(n_items, n_items)
        return replace(self, n_items=n_items, sparse=sparse)

    def scores(self, rows: Sparse, items: Ints | None = None) -> Singles:
        """Return Σ_i y_i B_ij of users with likes (n, n_items), for all items or some: (n, items)."""
        all_modeled, at = len(self.items) == self.n_items, None if items is None else self._at[items]
        some = (rows if all_modeled else rows[:, self.items]).astype(np.float32)
        # Most users have some item in common: dense products of them are faster than sparse ones.
        left: Any = some
        if self.likes is not None:
            users = (some @ self.likes.T.astype(np.float32)).toarray()
            left = np.concatenate([users, some @ self.features.T], axis=1)
        inside: Any = at[at >= 0] if at is not None else slice(None)
        if left is some and at is None and rows.shape[0] >= MANY_USERS:
            part = sum_rows(some, self.right, n_threads=1)  # faster than SciPy, once it is compiled
        else:
            part = np.asarray(left @ self.right[:, inside])
        if self.likes is not None:
            part -= some.multiply(self.diagonal[None, :]).tocsr()[:, inside].toarray()
        if at is not None or not all_modeled:
            whole = np.zeros((rows.shape[0], self.n_items if at is None else len(at)), np.float32)
            whole[:, self.items if at is None else at >= 0] = part
            part = whole
        if self.sparse is not None:
            columns: Any = items
            sparse = self.sparse if items is None else self.sparse[:, columns]
            part += (rows.astype(np.float32) @ sparse).toarray()
        return part

    def mixed(self, columns: Singles, n_threads: int | None = None) -> Singles:
        """Return Bᵀ times dense columns (n_items, n): rows times B, all transposed."""
        all_modeled = len(self.items) == self.n_items
        some, likes = columns if all_modeled else columns[self.items], self.likes
        left = some
        if likes is not None:
            left = np.concatenate([sum_rows(likes, some, n_threads=n_threads), self.features @ some])
        part: Singles = self.right.T @ left
        part -= some * self.diagonal[:, None]
        out = part
        if not all_modeled:
            out = np.zeros(columns.shape, np.float32)
            out[self.items] = part
        if self.sparse is not None:
            sum_rows(self.sparse.tocsc(), columns, out, n_threads)
        return out

    def weights(self, rated: Ints, items: Ints) -> Singles:
        """Return B between rated items and items, (rated, items)."""
        out = np.zeros((len(rated), len(items)), np.float32)
        at_rated, at_items = self._at[rated], self._at[items]
        a, b = np.flatnonzero(at_rated >= 0), np.flatnonzero(at_items >= 0)
        if self.likes is None:
            out[np.ix_(a, b)] = self.right[np.ix_(at_rated[a], at_items[b])]
        else:
            users = self.likes[:, at_rated[a]].T.astype(np.float32).toarray()
            left = np.concatenate([users, self.features[:, at_rated[a]].T], axis=1)
            out[np.ix_(a, b)] = left @ self.right[:, at_items[b]]
            out[rated[:, None] == items[None, :]] = 0.0
        if self.sparse is not None:
            out += self.sparse[rated][:, items].toarray()
        return out

    @cached_property
    def _at(self) -> npt.NDArray[np.int32]:
        """(n_items,) where each item is among the modeled ones; -1 for others."""
        at = np.full(self.n_items, -1, np.int32)
        at[self.items] = np.arange(len(self.items))
        return at


def _gram(likes: Sparse) -> Floats:
    """Return the part of ZᵀZ that the users' rows make."""
    m = likes.shape[1]
    require(16 * m**2, f"the item side of {m:,} items", "leave out items with few ratings")
    out = np.zeros((m, m))
    kernels.add_gram(likes.indptr, likes.indices, likes.data, out)
    _mirror(out)
    return out


def _over_items(gram: Floats, penalty: float) -> tuple[Singles, Singles]:
    """Return the form with an inverse over items; ZᵀZ is overwritten."""
    m = len(gram)
    weights = _inverse(gram, penalty)
    weights /= -np.diagonal(weights).copy()
    np.fill_diagonal(weights, 0.0)
    return weights.astype(np.float32), np.zeros(m, np.float32)


def _tail(
    likes: Sparse, head: Sparse, features: Singles, gram: Floats, items: Ints, rest: Ints, penalty: float
) -> Sparse:
    """Return the columns of B of the items ``rest``, which are not in the head, (n_items, n_items)."""
    from scipy.sparse import csr_array

    n_items, scale = likes.shape[1], np.sqrt(np.maximum(np.diagonal(gram), 1e-12))
    columns = likes[:, rest].tocsc()
    rows, values = np.full((len(rest), NEAR), -1, np.int64), np.zeros((len(rest), NEAR), np.float32)
    for block in slices(len(rest), BLOCK_TAIL):
        common = (columns[:, block].T.tocsr() @ head).toarray()  # (block, head)
        common += features[:, rest[block]].T @ features[:, items]
        for row, values_of in zip(range(block.start, block.stop), common, strict=True):
            at = np.flatnonzero(values_of)
            if len(at) > NEAR:
                at = at[np.argpartition(-np.abs(values_of[at]) / scale[at], NEAR)[:NEAR]]
            value = values_of[at]
            block_gram = gram[np.ix_(at, at)]
            block_gram[np.diag_indices_from(block_gram)] += penalty
            rows[row, : len(at)] = at
            values[row, : len(at)] = np.linalg.solve(block_gram, value)
    there = rows >= 0
    to = np.repeat(rest, NEAR).reshape(rows.shape)[there]
    return csr_array((values[there], (items[rows[there]], to)), shape=(n_items, n_items))


def _over_rows(likes: Sparse, features: Singles, penalty: float) -> tuple[Singles, Singles]:
    """Return the form with an inverse over the rows of Z."""
    (n_users, m), n = likes.shape, len(likes.indptr) - 1 + len(features)
    require(4 * n * (m + 5 * n), f"the item side of {n_users:,} users and {m:,} items", "leave out users")
    square = np.empty((n, n))
    square[:n_users, :n_users] = (likes @ likes.T).toarray()
    square[n_users:, :n_users] = (likes @ features.T).T
    square[:n_users, n_users:] = square[n_users:, :n_users].T
    square[n_users:, n_users:] = features @ features.T
    G = _inverse(square, penalty)
    right, captured, columns = np.empty((n, m), np.float32), np.empty(m), likes.tocsc()
    for block in slices(m, BLOCK_COLUMNS):
        some, dense = columns[:, block], features[:, block].astype(np.float64)
        part = np.asarray(some.T @ G[:n_users] + dense.T @ G[n_users:]).T  # G is symmetric
        captured[block] = np.asarray(some.multiply(part[:n_users]).sum(axis=0)).ravel()
        captured[block] += np.einsum("fi,fi->i", dense, part[n_users:])
        right[:, block] = part / (1.0 - captured[block])
    return right, (captured / (1.0 - captured)).astype(np.float32)


def _inverse(matrix: Floats, penalty: float) -> Floats:
    """Return (matrix + λI)⁻¹ of a symmetric matrix, which is overwritten."""
    from scipy.linalg.lapack import dpotrf, dpotri

    if not len(matrix):
        return matrix
    matrix[np.diag_indices_from(matrix)] += penalty
    factor, failed = dpotrf(matrix.T, lower=1, overwrite_a=1)  # its transpose is in Fortran's order
    if not failed:
        factor, failed = dpotri(factor, lower=1, overwrite_c=1)
    if failed:
        raise InputError(f"the likes cannot be inverted with a penalty of {penalty:g}; raise it")
    _mirror(factor)
    return np.asarray(factor.T)


def _mirror(lower: Floats) -> None:
    """Fill the upper triangle with the lower one, in blocks: no large index arrays."""
    for block in slices(len(lower), BLOCK_COLUMNS):
        corner = lower[block, block]
        lower[block, block] = np.tril(corner) + np.tril(corner, -1).T
        lower[block, block.stop :] = lower[block.stop :, block].T


def _weighted_nearest(
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

    With ``angles``, distances are scaled so that the largest is a right angle. Then items at a right angle,
    which have nothing in common, weigh nothing, and neither does an item for itself. Weights are computed in
    double precision and returned as ``dtype``.
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


def feature_rows(geometry: ItemGeometry, rated: Ints) -> Singles:
    """Return the features of rated items as rows, (n_features, n_items); they are 0 for other items.

    These are the unit vectors of the geometry. Distances that came without vectors are made into features by
    the kernel exp(-2 d).

    >>> feature_rows(ItemGeometry.from_vectors(["a", "b"], [[3, 4], [1, 0]]), np.array([0]))
    array([[0.6, 0. ],
           [0.8, 0. ]], dtype=float32)
    """
    vectors: Any = geometry.vectors
    if vectors is None:
        n_ratings = np.bincount(rated, minlength=geometry.n_items)
        vectors = item_kernel(geometry, FEATURE_RATE, n_ratings, MAX_FEATURES).features
    out = np.zeros((vectors.shape[1], geometry.n_items), np.float32)
    out[:, rated] = vectors[rated].T
    return out


def similar_content(geometry: ItemGeometry, rated: Ints, n_threads: int | None = None) -> Sparse:
    """Return the weights of similar content between rated items, (n_items, n_items), in single precision.

    Items at a right angle have nothing in common, and no weight. Other distances are scaled so that the
    largest is a right angle.

    >>> geometry = ItemGeometry.from_vectors(["a", "b", "c", "d"], [[1, 0], [1, 1], [1, 2], [0, 1]])
    >>> similar_content(geometry, np.array([0, 1, 3])).toarray().round(3)
    array([[0. , 0.5, 0. , 0. ],
           [1. , 0. , 0. , 1. ],
           [0. , 0. , 0. , 0. ],
           [0. , 0.5, 0. , 0. ]], dtype=float32)
    """
    from scipy.sparse import csc_array

    k = min(N_NEAREST + 1, len(rated))  # one more: an item has no weight for itself
    nearest, w = _weighted_nearest(
        geometry, rated, rated, k, CONTENT_RATE, angles=True, dtype=np.float32, n_threads=n_threads
    )
    there, counts = w > 0, np.zeros(geometry.n_items, np.int64)
    counts[rated] = there.sum(axis=1)
    shape = (geometry.n_items, geometry.n_items)
    return csc_array((w[there], nearest[there], indptr_from_counts(counts)), shape=shape).tocsr()


@dataclass(frozen=True, eq=False)
class SimilarItems(PickledFields):
    """The mixtures that items without ratings are scored by.

    Examples
    --------
    Nobody has rated c, which is as near to a as b is:

    >>> geometry = ItemGeometry.from_vectors(["a", "b", "c"], [[1, 0], [0, 1], [1, 1]])
    >>> similar = SimilarItems.fit(np.array([0, 1]), geometry)
    >>> similar.filled(np.array([[4.0, 2.0, 0.0]], np.float32))
    array([[4. , 2. , 1.5]], dtype=float32)
    """

    # (n_items, n_items) the identity; rows of items without ratings have the weights of similar items, too
    weights: Sparse

    @classmethod
    def fit(cls, rated: Ints, geometry: ItemGeometry | None) -> Self | None:
        """Return the mixtures of all items but ``rated``; None if there are none, or no distances."""
        from scipy.sparse import csr_array

        if geometry is None or not 0 < len(rated) < geometry.n_items:
            return None
        n = geometry.n_items
        unrated, k = np.setdiff1d(np.arange(n), rated), min(N_SIMILAR, len(rated))
        similar, w = _weighted_nearest(geometry, unrated, rated, k, SIMILAR_RATE, n_threads=1)
        rows = np.concatenate([np.arange(n), np.repeat(unrated, k)])
        columns = np.concatenate([np.arange(n), similar.ravel()])
        values = np.concatenate([np.ones(n), (SIMILAR_SHARE * w).ravel()])
        return cls(csr_array((values, (rows, columns)), shape=(n, n)))

    @cached_property
    def is_unrated(self) -> Bools:
        """(n_items,) which items had no ratings."""
        return np.asarray(np.diff(self.weights.indptr) > 1)

    @cached_property
    def _mixtures(self) -> tuple[Ints, Any]:
        """The items that had no ratings, and their weights as columns, (n_items, unrated)."""
        unrated = np.flatnonzero(self.is_unrated)
        return unrated, self.weights[unrated].T.astype(np.float32)

    def filled(self, scores: Singles) -> Singles:
        """Return scores (users, n_items), which are changed in place, with those of unrated items added."""
        unrated, mixtures = self._mixtures
        scores[:, unrated] = scores @ mixtures
        return scores

    def mixtures(self, items: Ints) -> tuple[Ints, Floats]:
        """Return the items whose columns are needed for those of ``items``, and their weights in them."""
        weights = self.weights[items]
        needed = np.unique(weights.indices).astype(np.int64)
        return needed, weights[:, needed].toarray().T
