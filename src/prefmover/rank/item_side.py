r"""The item side of a ranking: what a user's own likes say about other items, by ratings and by content.

Each column of a matrix Z, with one column per item, is predicted from a few others, its *predictors* H, by a
regression with weights that are not negative:

.. math:: B_{Hj} = \arg\min_{b \ge 0} |Z_H b - Z_j|^2 + \lambda |b|^2, \qquad j \notin H .

Z has a row for each user: the likes, times :math:`n_u^{-\beta / 2}` where n_u is the number of ratings. So a
user who rates everything does not outvote the others (DAN; Park et al., SIGIR 2025). Below these it has a row
for each feature of the items: a tag is like a user who likes the items that have it. The features are the
vectors whose angles are the item distances. The predictors of j are the :data:`N_PREDICTORS` items i with the
largest :math:`Z_i^T Z_j / |Z_i|`, if that is above 0.

The score of item j for a user with likes y is Σ_i y_i B_ij: a sum over the items that the user has rated,
which is the reason to recommend j. Weights below 0 would let a film be recommended because another was *not*
seen; without them, lists of books are better, and those of films and music as good (docs/decisions.md).

These are sparse linear methods (SLIM; Ning and Karypis, ICDM 2011), with side information (the same, RecSys
2012), with ridge regression and near items instead of an elastic net over all.

With more than :data:`MAX_HEAD` items, the items that are rated most, the *head*, are the predictors of all.
Ratings of other items, the *tail*, predict nothing here; the user side knows them.

**Items without ratings** get half the mean score of the ten nearest items with ratings, with weights in
proportion to :math:`e^{-3 d}` of the distance d. Which items had ratings is decided once, in the fit.
Ratings that arrive later add to the score.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from prefmover._pickled import PickledFields
from prefmover._typing import Bools, Floats, Ints, Singles, Sparse
from prefmover.errors import InputError
from prefmover.execution.jit import LazyModule
from prefmover.execution.memory import require
from prefmover.execution.threads import run, slices
from prefmover.items.geometry import ItemGeometry
from prefmover.predict.low_rank import item_kernel
from prefmover.predict.solver import sum_rows

kernels = LazyModule("prefmover.rank._item_side")

__all__ = ["MAX_HEAD", "N_PREDICTORS", "ItemSide", "Predictors", "SimilarItems", "feature_rows", "gram"]

N_PREDICTORS = 200
"""Items that an item is predicted from."""

MAX_HEAD = 12_000
"""Items that can be predictors: a table of the products of all is in memory."""

TOLERANCE, MAX_ROUNDS = 1e-6, 1000  # of a regression

BLOCK_ITEMS = 256
BLOCK_COLUMNS = 2048
ENTRIES = 2**23  # distances in memory at once

FEATURE_RATE, MAX_FEATURES = 2.0, 200  # of features that are made from distances
N_SIMILAR, SIMILAR_RATE, SIMILAR_SHARE = 10, 3.0, 0.5


@dataclass(frozen=True, eq=False)
class ItemSide(PickledFields):
    """The weights B between items, (n_items, n_items).

    Examples
    --------
    Two users like a and b, one likes c:

    >>> from scipy.sparse import csr_array
    >>> side = Predictors.of(csr_array([[1.0, 1, 0], [1, 1, 0], [0, 0, 1]])).regress(penalty=1.0)
    >>> side.matrix.toarray().round(4)
    array([[0.    , 0.6667, 0.    ],
           [0.6667, 0.    , 0.    ],
           [0.    , 0.    , 0.    ]], dtype=float32)
    """

    matrix: Sparse

    @classmethod
    def empty(cls, n_items: int) -> Self:
        """Return the item side that says nothing."""
        from scipy.sparse import csr_array

        nothing: Any = csr_array((n_items, n_items), dtype=np.float32)
        return cls(nothing)

    @property
    def n_items(self) -> int:
        """The number of items."""
        return self.matrix.shape[0]

    def with_items(self, n_items: int) -> Self:
        """Return the item side with more items, the last, of which it says nothing."""
        from scipy.sparse import csr_array

        matrix: Any = csr_array(self.matrix)  # the same entries
        matrix.resize(n_items, n_items)
        return replace(self, matrix=matrix)

    def scores(self, rows: Sparse, items: Ints | None = None) -> Singles:
        """Return Σ_i y_i B_ij of users with likes (n, n_items), for all items or some: (n, items)."""
        columns: Any = items
        matrix = self.matrix if items is None else self.matrix[:, columns]
        return np.asarray((rows.astype(np.float32) @ matrix).toarray())

    def mixed(self, columns: Singles, n_threads: int | None = None) -> Singles:
        """Return Bᵀ times dense columns (n_items, n): rows times B, all transposed."""
        return sum_rows(self.matrix.tocsc(), columns, n_threads=n_threads)

    def weights(self, rated: Ints, items: Ints) -> Singles:
        """Return B between rated items and items, (rated, items)."""
        return np.asarray(self.matrix[rated][:, items].toarray())


@dataclass(frozen=True, eq=False)
class Predictors:
    """What the regressions of all items need, whatever the penalty is."""

    n_items: int
    head: Ints  # positions of the items that can be predictors
    gram: Floats  # (head, head) ZᵀZ
    items: Ints  # positions of the items with ratings
    chosen: npt.NDArray[np.int32]  # (items, k) the predictors of each, places in the head; -1: none
    products: Floats  # (items, k) ZᵢᵀZⱼ with these

    @classmethod
    def of(cls, likes: Sparse, features: Singles | None = None, n_threads: int | None = None) -> Self:
        """Choose predictors, given the users' rows of Z, (n_users, n_items), and the other rows, if any."""
        n_items = likes.shape[1]
        n_rated = np.bincount(likes.indices, minlength=n_items)
        items = np.flatnonzero(n_rated)
        head = np.sort(np.argsort(-n_rated, kind="stable")[: min(MAX_HEAD, len(items))])
        T = np.zeros((0, n_items), np.float32) if features is None else features
        some = likes if len(head) == n_items else likes[:, head]
        Z = gram(some)
        Z += T[:, head].T @ T[:, head]
        k, place, columns = min(N_PREDICTORS, max(len(head) - 1, 0)), np.full(n_items, -1), likes.tocsc()
        place[head] = np.arange(len(head))
        length = np.sqrt(np.maximum(np.diagonal(Z), 1e-12))
        chosen, products = np.full((len(items), k), -1, np.int32), np.zeros((len(items), k))

        def choose(block: slice) -> None:
            at = place[items[block]]
            if (at >= 0).all():
                common = Z[at]
            else:
                common = (columns[:, items[block]].T @ some).toarray() + T[:, items[block]].T @ T[:, head]
            closeness = common / length
            closeness[np.flatnonzero(at >= 0), at[at >= 0]] = 0.0  # no item predicts itself
            best = np.argpartition(-closeness, k - 1, axis=1)[:, :k]
            values = np.take_along_axis(closeness, best, axis=1)
            order = np.argsort(-values, axis=1, kind="stable")
            best, values = (np.take_along_axis(one, order, axis=1) for one in (best, values))
            products[block] = np.take_along_axis(common, best, axis=1)
            chosen[block] = np.where(values > 0, best, -1)

        if k:
            run(choose, slices(len(items), BLOCK_ITEMS), n_threads=n_threads)
        return cls(n_items, head, Z, items, chosen, products)

    def regress(self, penalty: float, n_threads: int | None = None) -> ItemSide:
        """Return the item side with the penalty λ, above 0."""
        from scipy.sparse import csr_array

        if not 0 < penalty < np.inf:
            raise InputError(f"the penalty of the item side is {penalty!r}; give a number above 0")
        weights = np.zeros(self.chosen.shape)

        def work(block: slice) -> None:
            k = self.chosen.shape[1]
            how = self.gram, self.chosen, self.products, float(penalty), TOLERANCE, MAX_ROUNDS
            kernels.regress(*how, block.start, block.stop, np.empty((k, k)), np.empty(k), weights)

        run(work, slices(len(self.items), BLOCK_ITEMS), n_threads=n_threads)
        there = weights > 0
        to = np.repeat(self.items, there.sum(axis=1))
        entries = weights[there].astype(np.float32), (self.head[self.chosen[there]], to)
        return ItemSide(csr_array(entries, shape=(self.n_items, self.n_items)))


def gram(likes: Sparse) -> Floats:
    """Return YᵀY of a sparse matrix, (n_items, n_items)."""
    m = likes.shape[1]
    likes.sort_indices()  # the kernel relies on it
    require(8 * m**2, f"a table of {m:,} x {m:,} items", "leave out items with few ratings")
    out = np.zeros((m, m))
    kernels.add_gram(likes.indptr, likes.indices, likes.data, out)
    for block in slices(m, BLOCK_COLUMNS):  # the upper triangle from the lower one: no large index arrays
        corner = out[block, block]
        out[block, block] = np.tril(corner) + np.tril(corner, -1).T
        out[block, block.stop :] = out[block.stop :, block].T
    return out


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
        w, similar = np.empty((len(unrated), k)), np.empty((len(unrated), k), np.int64)
        for block in slices(len(unrated), max(16, min(BLOCK_ITEMS, ENTRIES // len(rated)))):
            at, distances = geometry.nearest(unrated[block], rated, k)
            similar[block] = rated[at]
            # Relative to the nearest: not all are 0.
            w[block] = np.exp(-SIMILAR_RATE * (distances - distances[:, :1]))
        w /= w.sum(axis=1, keepdims=True)
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
