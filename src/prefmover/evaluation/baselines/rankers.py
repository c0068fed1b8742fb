"""Recommenders that score all items: controls, and peers in a few lines each, that ranking has to beat.

================  =======================================================================================
name              score of item i for user u
================  =======================================================================================
popularity        the number of training ratings of i
liked-popularity  the number of training ratings of i that are relevant (4 and 5 stars of 1 to 5)
random            a hash of (u, i)
bias              the bias of i, as in the baseline μ + b_u + b_i
ease              Σ_j x_uj B_ji with B of a ridge regression of every item on all others (Steck 2019)
item-knn          Σ_j x_uj s_ji over the k items nearest to i by cosine, shrunk: c / (c + shrinkage)
user-knn          Σ_v s_uv x_vi over the k users nearest to u by cosine
================  =======================================================================================

X has the ratings ("ratings") or ones ("seen"), and 0 where there is no rating. These are written out here
because other packages' versions differ from what the literature tests, or predict ratings. Each is a function
that learns from the data and returns a :data:`Scorer`; :class:`ByScores` makes a recommender of it.

All have one fallback: users without training ratings, and users all of whose scores are equal, get the most
liked items (:func:`most_liked`). The same order decides between equal scores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

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
from prefmover.rank.ease import ItemSide

Scores: TypeAlias = npt.NDArray[np.float32] | npt.NDArray[np.float64]
Scorer: TypeAlias = Callable[[Ints], Scores]
"""The scores of all items, (n_users, n_items), for some users by position."""

Values: TypeAlias = Literal["ratings", "seen", "liked"]

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
    """
    from scipy.sparse import csr_array

    matrix, data = ratings.matrix, ratings.matrix.data
    if values == "seen":
        data = np.ones_like(data)
    elif values == "liked":
        least = relevant_from(ratings.scale, threshold)
        data = np.ones_like(data) if least is None else (data >= least).astype(np.float64)
    X = csr_array((data.copy(), matrix.indices.copy(), matrix.indptr.copy()), shape=matrix.shape)
    X.eliminate_zeros()
    return X


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


def ease(data: Dataset, penalty: float = 1000.0, values: Values = "ratings") -> Scorer:
    """Regress every item on all others, by ridge regression in closed form."""
    X = interactions(data.ratings, values)
    side = ItemSide.fit(X, penalty)
    return lambda users: side.scores(X[users])


def item_knn(data: Dataset, k: int = 50, shrinkage: float = 10.0, values: Values = "ratings") -> Scorer:
    """Sum over the k nearest items by the cosine of their columns, shrunk by the number of common raters."""
    from scipy.sparse import csr_array, vstack

    n_stored, what = min(k, data.n_items) * data.n_items, f"item-knn of {data.n_items:,} items"
    require(24 * (BLOCK_ITEMS * data.n_items + n_stored), what, LEAVE_OUT)
    X, seen = interactions(data.ratings, values), interactions(data.ratings, "seen")
    items, raters, blocks = X.T.tocsr(), seen.T.tocsr(), []
    for block in slices(data.n_items, BLOCK_ITEMS):
        some = np.arange(block.start, block.stop)
        S = _other_cosines(items, some)
        if shrinkage:
            common = (raters[some] @ seen).toarray()
            S *= common / (common + shrinkage)
        blocks.append(csr_array(_strongest(S, k)))
    weights = vstack(blocks).T.tocsr()  # column i has the neighbors of item i
    rows = X.astype(np.float32)
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
