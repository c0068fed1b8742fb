"""Recommenders that score all items: controls, and peers in a few lines each, that ranking has to beat.

================  =======================================================================================
name              score of item i for user u
================  =======================================================================================
popularity        the number of training ratings of i
liked-popularity  the number of training ratings of i that are relevant (4 and 5 stars of 1 to 5)
random            a hash of (u, i)
bias              the bias of i, as in the baseline μ + b_u + b_i
item-knn          Σ_j x_uj s_ji over the k items nearest to i by cosine, shrunk: c / (c + shrinkage)
user-knn          Σ_v s_uv x_vi over the k users nearest to u by cosine
bm25              Σ_j x_uj s_ji over the k items with the largest s_ji, products of BM25 weights
rp3beta           Σ_j x_uj s_ji over the k largest s_ji of j: random walks from j by a user to i, over n_i^β
================  =======================================================================================

X has what people gave, and 0 where there is no rating (:func:`interactions`). These are written out here
because other packages' versions differ from what the literature tests, or predict ratings. Each is a function
that learns from the data and returns a :data:`Scorer`; :class:`ByScores` makes a recommender of it. What the
trials of a search have in common is computed once (:func:`shared`).

All have one fallback: users without training ratings, and users all of whose scores are equal, get the most
liked items (:func:`most_liked`). The same order decides between equal scores.

References: B. Paudel et al., "Updatable, Accurate, Diverse, and Scalable Recommendations for Interactive
Applications", TiiS 2017 (RP3β); S. Robertson, H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and
Beyond", 2009, with items as documents and users as terms, as in the package implicit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ints, Singles, Sparse
from prefmover.data.file_options import check_whole_number
from prefmover.data.ratings import Ratings
from prefmover.data.scale import Scale
from prefmover.data.splits import hashed
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.execution.memory import require
from prefmover.execution.threads import slices
from prefmover.predict.centering import Centering
from prefmover.rank.item_side import gram

Scores: TypeAlias = npt.NDArray[np.float32] | npt.NDArray[np.float64]
Scorer: TypeAlias = Callable[[Ints], Scores]
"""The scores of all items, (n_users, n_items), for some users by position."""

Values: TypeAlias = Literal["ratings", "seen", "liked", "centered"]

Made = TypeVar("Made")

SHARED_ITEMS = 5000  # more items than this do not share matrices of items x items between trials
_SHARED: WeakKeyDictionary[Dataset, dict[Any, Any]] = WeakKeyDictionary()

BLOCK_ENTRIES = 4_000_000  # scores in memory at once
BLOCK_ITEMS = 1000  # that item-knn compares with all at a time
LEAVE_OUT = "leave this recommender out"


def relevant_from(scale: Scale, threshold: float | None = None) -> float | None:
    """Return the lowest rating that makes an item relevant; None for implicit data, where every item is.

    By default it is three quarters up the scale.

    >>> relevant_from(Scale(1, 5, 1)), relevant_from(Scale(0.5, 5, 0.5)), relevant_from(Scale(1, 5, 1), 3)
    (4.0, 3.875, 3.0)
    """
    if threshold is None:
        return scale.liked_from
    if scale.implicit:
        raise InputError(f"relevant is {threshold:g}, but the data are implicit; all test items are relevant")
    return float(threshold)


def interactions(ratings: Ratings, values: Values = "ratings", threshold: float | None = None) -> Sparse:
    """Return the matrix X that a recommender learns from: zero where there is no rating.

    ``"ratings"`` keeps the ratings, ``"seen"`` has 1 for each, and ``"liked"`` 1 for the relevant ones.
    ``"centered"`` has r - r̄_u / 2, as the default model; counts, which have no middle, become log(1 + x).
    """
    from scipy.sparse import csr_array

    matrix, data = ratings.matrix, ratings.matrix.data
    if values == "seen":
        data = np.ones_like(data)
    elif values == "liked":
        least = relevant_from(ratings.scale, threshold)
        data = np.ones_like(data) if least is None else (data >= least).astype(np.float64)
    elif values == "centered" and ratings.scale.implicit:
        data = np.log1p(data)
    elif values == "centered":
        counts = np.diff(matrix.indptr)
        means = np.bincount(ratings.rows(), data, ratings.n_users) / np.maximum(counts, 1)
        data = data - np.repeat(means / 2, counts)
    X = csr_array((data.copy(), matrix.indices.copy(), matrix.indptr.copy()), shape=matrix.shape)
    X.eliminate_zeros()
    return X


def shared(data: Dataset, key: Any, make: Callable[[], Made]) -> Made:
    """Return what all trials on a data set have in common; that of another data set is forgotten."""
    if data not in _SHARED:
        _SHARED.clear()
    known = _SHARED.setdefault(data, {})
    if key not in known:
        known[key] = make()
    made: Made = known[key]
    return made


def shared_gram(data: Dataset, values: Values) -> Floats:
    """Return XᵀX, (n_items, n_items), which a caller must not change."""

    def make() -> Floats:
        return gram(interactions(data.ratings, values))

    return shared(data, ("gram", values), make) if data.n_items <= SHARED_ITEMS else make()


def top_positions(scores: Scores, order: Ints, n: int) -> Ints:
    """Return the positions of the n highest scores of each row, -1 where fewer are finite.

    Equal scores are taken in the order of ``order``, a permutation of the columns.

    >>> top_positions(np.array([[1.0, 3.0, 3.0, -np.inf]]), np.array([2, 1, 0, 3]), 4)
    array([[ 2,  1,  0, -1]])
    """
    n = min(n, scores.shape[1])
    shuffled = -scores[:, order]
    last = np.partition(shuffled, n - 1, axis=1)[:, n - 1]
    best = np.empty((len(scores), n), np.int64)
    for row, values, worst in zip(best, shuffled, last, strict=True):
        some = np.flatnonzero(values <= worst)  # more than n if the last ones are equal
        row[:] = some[np.argsort(values[some], kind="stable")[:n]]
    return np.where(np.isfinite(np.take_along_axis(shuffled, best, axis=1)), order[best], -1)


def most_liked(ratings: Ratings, relevant: float | None = None) -> Ints:
    """Return all items by how many relevant ratings they have, most first; of equal ones, in a hashed order.

    For implicit feedback, that is how many users have them. (Any order with a meaning, such as that of ids,
    would favor old items.)

    >>> most_liked(Ratings.from_arrays([1, 1, 2, 2], list("abbc"), [1, 5, 4, 2])).tolist()[0]
    1
    """
    counts = np.asarray(interactions(ratings, "liked", relevant).sum(axis=0)).ravel()
    return np.lexsort((hashed(0, np.arange(ratings.n_items)), -counts))


@dataclass
class ByScores:
    """A recommender that ranks by the scores of all items; ``learn`` returns the scorer of a data set.

    Users without ratings get the most liked items, and so do users all of whose scores are equal: equal
    scores are in the order of :func:`most_liked`, where ratings from ``relevant`` on are likes.

    With ``distances`` between users, it learns from a data set and these. All settings of a search share
    them, and a search fits to a sample of the users: the cost of such a fit grows with the cube of the users.

    Examples
    --------
    >>> data = Dataset(Ratings.from_arrays([1, 1, 2], list("aba"), [5, 2, 3]))
    >>> ByScores(popularity).fit(data).recommend([2, 1])
    [['b'], []]
    """

    learn: Callable[..., Scorer]
    distances: Callable[[Dataset], Floats] | None = None
    relevant: float | None = None

    def fit(self, data: Dataset, distances: Floats | None = None) -> Self:
        """Learn from the ratings; ``distances`` are those of these data, if they are known."""
        self.data_ = data
        if self.distances is None:
            self.scores_ = self.learn(data)
        else:
            self.scores_ = self.learn(data, self.distances(data) if distances is None else distances)
        return self

    def recommend(self, users: Sequence[Any], n: int = 10) -> list[list[Any]]:
        """Return the ids of n unrated items for each user, best first."""
        check_whole_number("n", n)
        ratings = self.data_.ratings
        at, matrix = ratings.user_positions(users), ratings.matrix
        order = most_liked(ratings, self.relevant)
        out = np.tile(order[:n], (len(at), 1))  # for users without ratings
        warm = np.flatnonzero(np.diff(matrix.indptr)[at])
        for block in slices(len(warm), max(1, BLOCK_ENTRIES // max(1, ratings.n_items))):
            some = at[warm[block]]
            scores: Any = np.array(self.scores_(some))
            rated = matrix[some]
            scores[np.repeat(np.arange(len(scores)), np.diff(rated.indptr)), rated.indices] = -np.inf
            scores[np.isnan(scores)] = -np.inf
            out[warm[block]] = top_positions(scores, order, n)
        return [ratings.items[row[row >= 0]].tolist() for row in out]


def _same_for_all(scores: Floats) -> Scorer:
    return lambda users: np.tile(scores, (len(users), 1))


def popularity(data: Dataset, values: Values = "seen", relevant: float | None = None) -> Scorer:
    """Score items by their number of training ratings, or of relevant ones (``values="liked"``)."""
    return _same_for_all(np.asarray(interactions(data.ratings, values, relevant).sum(axis=0), float))


def random_order(data: Dataset, seed: int = 0) -> Scorer:
    """Put all items in a random order, another one for each user."""

    def scores(users: Ints) -> Scores:
        keys = users[:, None] * data.n_items + np.arange(data.n_items)
        return (hashed(seed + 1, keys) >> np.uint64(11)).astype(np.float64)

    return scores


def item_bias(data: Dataset) -> Scorer:
    """Score items by their bias: how far they are rated above what their raters give, regularized."""
    centering, items = Centering.fit(data.ratings, "baseline"), np.arange(data.n_items)
    return _same_for_all(centering.baseline(np.zeros(data.n_items, np.int64), items))


def item_knn(data: Dataset, k: int = 50, shrinkage: float = 10.0, values: Values = "ratings") -> Scorer:
    """Sum over the k nearest items by the cosine of their columns, shrunk by the number of common raters."""
    X = interactions(data.ratings, values)
    length = np.sqrt(np.bincount(X.indices, X.data**2, data.n_items))
    length[length == 0] = 1.0
    products, common = _products(data, values), _products(data, "seen")

    def similar(items: Ints) -> Singles:
        S: Floats = products(items) / (length[items][:, None] * length)
        if shrinkage:
            both = common(items)
            S *= both / (both + shrinkage)
        return S.astype(np.float32)

    return by_nearest(X, similar, k)


def bm25(data: Dataset, k: int = 50, k1: float = 1.2, b: float = 0.75, values: Values = "ratings") -> Scorer:
    r"""Sum over the k nearest items by the product of their columns, weighted by BM25.

    .. math:: w_{ui} = \frac{x_{ui} (k_1 + 1)}{x_{ui} + k_1 (1 - b + b\, l_i / \bar l)}
              \log \frac{n}{1 + n_u}, \qquad l_i = \sum_u x_{ui},

    with n the number of items. An item is not its own neighbor; that changes the scores of rated items only.
    """
    X = interactions(data.ratings, values)
    total, n_user = np.bincount(X.indices, X.data, data.n_items), np.diff(X.indptr)
    norm = 1 - b + b * total / (total.mean() or 1.0)
    W, rarity = X.copy(), np.log(data.n_items / (1.0 + n_user))
    W.data = X.data * (k1 + 1) / (k1 * norm[X.indices] + X.data) * np.repeat(rarity, n_user)
    items, W = W.T.tocsr().astype(np.float32), W.astype(np.float32)
    return by_nearest(X, lambda some: (items[some] @ W).toarray(), k)


def rp3beta(
    data: Dataset, k: int = 400, alpha: float = 1.0, beta: float = 0.3, values: Values = "ratings"
) -> Scorer:
    r"""Follow the k likeliest walks from each item j of a user, by other users, to items i; β favors rare i.

    .. math:: s_{ji} = \frac{1}{n_i^\beta} \sum_u \frac{x_{uj}^\alpha}{\sum_v x_{vj}^\alpha} \cdot
              \frac{x_{ui}^\alpha}{\sum_l x_{ul}^\alpha}
    """
    X = interactions(data.ratings, values)
    Z = X.copy()
    Z.data **= alpha
    to_user = np.bincount(Z.indices, Z.data, data.n_items)
    to_user[to_user == 0] = 1.0
    to_item = np.asarray(Z.sum(axis=1)).ravel()
    to_item[to_item == 0] = 1.0
    penalty = np.maximum(data.ratings_per_item, 1.0) ** -beta
    ahead, back = Z.copy(), Z.copy()
    ahead.data = Z.data / np.repeat(to_item, np.diff(Z.indptr)) * penalty[Z.indices]
    back.data = Z.data / to_user[Z.indices]
    back, ahead = back.T.tocsr().astype(np.float32), ahead.astype(np.float32)
    return by_nearest(X, lambda some: (back[some] @ ahead).toarray(), k, of_source=True)


def _products(data: Dataset, values: Values) -> Callable[[Ints], Floats]:
    """Return what gives some rows of XᵀX."""
    if data.n_items <= SHARED_ITEMS:
        G = shared_gram(data, values)
        return lambda items: G[items]
    X = interactions(data.ratings, values)
    columns = X.T.tocsr()
    return lambda items: (columns[items] @ X).toarray()


def by_nearest(X: Sparse, similar: Callable[[Ints], Singles], k: int, *, of_source: bool = False) -> Scorer:
    """Return Σ_j x_uj s_ji over the k largest s_ji of each item i; ``similar`` gives those of some i, (i, j).

    With ``of_source`` it gives those of some j, (j, i), and each j keeps its k largest.
    """
    from scipy.sparse import csr_array, vstack

    m = X.shape[1]
    require(24 * (BLOCK_ITEMS * m + min(k, m) * m), f"the nearest of {m:,} items", LEAVE_OUT)
    blocks = []
    for block in slices(m, BLOCK_ITEMS):
        some = np.arange(block.start, block.stop)
        S = similar(some)
        S[np.arange(len(some)), some] = 0.0
        blocks.append(csr_array(_strongest(S, k)))
    kept, rows = vstack(blocks), X.astype(np.float32)
    weights = kept.tocsr() if of_source else kept.T.tocsr()
    return lambda users: np.asarray((rows[users] @ weights).toarray())


def user_knn(data: Dataset, k: int = 80, values: Values = "ratings") -> Scorer:
    """Sum over the k nearest users by the cosine of their rows."""
    X = interactions(data.ratings, values).astype(np.float32)
    return lambda users: np.ascontiguousarray((X.T @ _strongest(_other_cosines(X, users), k).T).T)


def cosines(X: Any, rows: Ints) -> Singles:
    """Return cosines between some rows of a sparse matrix and all; 0 with a zero row."""
    length = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    length[length == 0] = 1.0
    S: Singles = (X[rows] @ X.T).toarray().astype(np.float32)
    S /= length[rows][:, None]
    S /= length
    return S


def _other_cosines(X: Any, rows: Ints) -> Singles:
    """Return the cosines with the other rows; 0 with the row itself."""
    S = cosines(X, rows)
    S[np.arange(len(rows)), rows] = 0.0
    return S


def _strongest(S: Singles, k: int) -> Singles:
    """Return a matrix with the k largest entries of each row, and 0 elsewhere."""
    if k >= S.shape[1]:
        return S
    out, best = np.zeros_like(S), np.argpartition(-S, k, axis=1)[:, :k]
    np.put_along_axis(out, best, np.take_along_axis(S, best, axis=1), axis=1)
    return out
