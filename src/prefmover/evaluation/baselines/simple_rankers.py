"""Recommenders that a model has to beat in ranking: controls, and peers in a few lines each.

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
because other packages' versions differ from what the literature tests, or predict ratings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from prefmover._typing import Ints
from prefmover.data.splits import hashed
from prefmover.dataset import Dataset
from prefmover.evaluation.baselines.by_scores import (
    LEAVE_OUT,
    Scores,
    ScoringRecommender,
    Values,
    interactions,
)
from prefmover.execution.memory import require
from prefmover.execution.threads import slices
from prefmover.predict.centering import Centering
from prefmover.rank.ease import ItemSide

BLOCK_ITEMS = 1000  # that item-knn compares with all at a time

__all__ = ["EASE", "ItemBias", "ItemKNN", "Popularity", "RandomOrder", "UserKNN"]


@dataclass
class Popularity(ScoringRecommender):
    """The items with the most training ratings, or with the most relevant ones (``values="liked"``).

    >>> from prefmover import Ratings
    >>> data = Dataset(Ratings.from_arrays([1, 1, 2], list("aba"), [5, 2, 3]))
    >>> list(Popularity().fit(data).recommend([2, 1]))
    [['b'], []]
    """

    values: Values = "seen"
    relevant: float | None = None

    def _learn(self, data: Dataset, prepared: Any) -> None:
        self.counts_ = np.asarray(interactions(data.ratings, self.values, self.relevant).sum(axis=0), float)

    def _scores(self, users: Ints) -> Scores:
        return np.tile(self.counts_, (len(users), 1))


@dataclass
class RandomOrder(ScoringRecommender):
    """All items in a random order, another one for each user."""

    seed: int = 0

    def _learn(self, data: Dataset, prepared: Any) -> None:
        pass

    def _scores(self, users: Ints) -> Scores:
        n = self.data_.n_items
        keys = users[:, None] * n + np.arange(n)
        return (hashed(self.seed + 1, keys) >> np.uint64(11)).astype(np.float64)


@dataclass
class ItemBias(ScoringRecommender):
    """The items with the highest bias: those rated above what their raters give, regularized."""

    def _learn(self, data: Dataset, prepared: Any) -> None:
        items = np.arange(data.n_items)
        centering = Centering.fit(data.ratings, "baseline")
        self.bias_ = centering.baseline(np.zeros(data.n_items, np.int64), items)

    def _scores(self, users: Ints) -> Scores:
        return np.tile(self.bias_, (len(users), 1))


@dataclass
class EASE(ScoringRecommender):
    """Ridge regression of every item on all others, in closed form."""

    penalty: float = 1000.0
    values: Values = "ratings"

    def _learn(self, data: Dataset, prepared: Any) -> None:
        self.rows_ = interactions(data.ratings, self.values)
        self.side_ = ItemSide.fit(self.rows_, self.penalty)

    def _scores(self, users: Ints) -> Scores:
        return self.side_.scores(self.rows_[users])


@dataclass
class ItemKNN(ScoringRecommender):
    """The k nearest items by the cosine of their columns, shrunk by the number c of common raters."""

    k: int = 50
    shrinkage: float = 10.0
    values: Values = "ratings"

    def _learn(self, data: Dataset, prepared: Any) -> None:
        from scipy.sparse import csr_array, vstack

        n_stored, what = min(self.k, data.n_items) * data.n_items, f"item-knn of {data.n_items:,} items"
        require(24 * (BLOCK_ITEMS * data.n_items + n_stored), what, LEAVE_OUT)
        X, seen = interactions(data.ratings, self.values), interactions(data.ratings, "seen")
        items, raters, blocks = X.T.tocsr(), seen.T.tocsr(), []
        for block in slices(data.n_items, BLOCK_ITEMS):
            some = np.arange(block.start, block.stop)
            S = _cosines(items, some)
            S[np.arange(len(some)), some] = 0.0
            if self.shrinkage:
                common = (raters[some] @ seen).toarray()
                S *= common / (common + self.shrinkage)
            blocks.append(csr_array(_strongest(S, self.k)))
        self.weights_ = vstack(blocks).T.tocsr()  # column i has the neighbors of item i
        self.rows_ = X.astype(np.float32)

    def _scores(self, users: Ints) -> Scores:
        return np.asarray((self.rows_[users] @ self.weights_).toarray())


@dataclass
class UserKNN(ScoringRecommender):
    """The k nearest users by the cosine of their rows."""

    k: int = 80
    values: Values = "ratings"

    def _learn(self, data: Dataset, prepared: Any) -> None:
        self.rows_ = interactions(data.ratings, self.values).astype(np.float32)

    def _scores(self, users: Ints) -> Scores:
        X = self.rows_
        S = _cosines(X, users)
        S[np.arange(len(users)), users] = 0.0
        return np.ascontiguousarray((X.T @ _strongest(S, self.k).T).T)


def _cosines(X: Any, rows: Ints) -> npt.NDArray[np.float32]:
    """Return cosines between some rows of a sparse matrix and all; 0 with a zero row."""
    length = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    length[length == 0] = 1.0
    S = (X[rows] @ X.T).toarray().astype(np.float32)
    S /= length[rows][:, None]
    S /= length
    cosines: npt.NDArray[np.float32] = S
    return cosines


def _strongest(S: npt.NDArray[np.float32], k: int) -> npt.NDArray[np.float32]:
    """Return a matrix with the k largest entries of each row, and 0 elsewhere."""
    if k >= S.shape[1]:
        return S
    out, best = np.zeros_like(S), np.argpartition(-S, k, axis=1)[:, :k]
    np.put_along_axis(out, best, np.take_along_axis(S, best, axis=1), axis=1)
    return out
