r"""Taste factors: users and items as a few numbers each, fitted to who rated what (iALS), with content.

Every item j has a vector :math:`v_j` of :data:`N_FACTORS` numbers, and every user a vector :math:`x_u`. With
confidences c, the ratings divided by their mean, the fit minimizes

.. math:: \sum_{u} \sum_{j \in I_u} c_{uj} (1 - x_u \cdot v_j)^2 + \alpha \sum_{u, j} (x_u \cdot v_j)^2
          + \lambda \sum_u |x_u|^2 + \lambda \sum_j |v_j - W t_j|^2 ,

by solving for users and items in turn (Hu, Koren and Volinsky, ICDM 2008). What a user has not rated counts
as a 0 with the small weight α. The penalty λ is chosen on held-out ratings. It is the same for everybody, so
that few ratings move a vector less than many. An item's vector is drawn to what its features t_j say, W t_j,
so that an item with one rating has a sensible one.

Given the items, a user's vector is a function of the user's ratings alone. So guests are treated as users
are, and the score is a sum over the items that the user has rated, which are its reasons:

.. math:: x_u \cdot v_j = \sum_{i \in I_u} c_{ui} \, v_i^T A_u^{-1} v_j, \qquad
          A_u = \alpha V^T V + \sum_{i \in I_u} c_{ui} v_i v_i^T + \lambda I .
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from prefmover._pickled import PickledFields
from prefmover._typing import Floats, Ints, Singles, Sparse
from prefmover.execution.threads import slices
from prefmover.predict.solver import sum_rows

__all__ = ["TasteFactors"]

N_FACTORS = 32
UNRATED = 0.1  # α
N_ROUNDS = 12
CONTENT_PENALTY = 0.2  # of W, in units of the mean square of the features' columns
BLOCK_ROWS, BLOCK_OTHERS = 2**12, 2**16  # that are solved, or summed over, at once


@dataclass(frozen=True, eq=False)
class TasteFactors(PickledFields):
    """The vectors of items.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> seen = csr_array([[1.0, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 0]])
    >>> factors = TasteFactors.fit(seen, penalty=1.0)
    >>> scores = factors.scores(seen)[3]  # of who has seen the first
    >>> bool(scores[1] > 5 * abs(scores[2]))
    True
    """

    vectors: Singles  # (n_items, N_FACTORS) v; 0 for items without ratings
    unit: float  # the mean rating, by which ratings are divided
    penalty: float  # λ
    scale: float = 1.0  # what scores are multiplied by

    @classmethod
    def fit(
        cls,
        ratings: Sparse,
        penalty: float,
        features: Singles | None = None,
        seed: int = 0,
        n_threads: int | None = None,
    ) -> Self:
        """Return the factors of ratings (n_users, n_items), and of ``features`` (n_features, n_items)."""
        n_items = ratings.shape[1]
        unit = float(ratings.data.mean()) if ratings.nnz else 1.0
        confidence = (ratings / (unit or 1.0)).tocsr()
        by_item = confidence.T.tocsr()
        rated = np.flatnonzero(np.diff(by_item.indptr))
        V = np.zeros((n_items, N_FACTORS))
        V[rated] = np.random.default_rng(seed).normal(0.0, 0.1 / N_FACTORS**0.5, (len(rated), N_FACTORS))
        T = None if features is None else features.T.astype(np.float64)
        for _ in range(N_ROUNDS if ratings.nnz else 0):
            X = _solved(confidence, V, UNRATED * (V.T @ V), penalty, None, n_threads)
            prior = _from_content(T, V)
            solved = _solved(by_item, X, UNRATED * (X.T @ X), penalty, prior, n_threads)
            V[rated] = solved[rated]
        return cls(V.astype(np.float32), unit or 1.0, penalty)

    def users(self, rows: Sparse, n_threads: int | None = None) -> Singles:
        """Return the vectors x of users with these ratings, (n, N_FACTORS)."""
        confidence, vectors = (rows / self.unit).tocsr(), self.vectors
        if rows.shape[0] == 1:  # only the items of one user are looked at
            confidence, vectors = confidence[:, rows.indices], vectors[rows.indices]
        X = _solved(confidence, vectors, self._everywhere, self.penalty, None, n_threads)
        return X.astype(np.float32)

    def scores(self, rows: Sparse, items: Ints | None = None, n_threads: int | None = None) -> Singles:
        """Return the scaled x · v of users with these ratings, for all items or some: (n, items)."""
        vectors = self.vectors if items is None else self.vectors[items]
        return np.asarray(np.float32(self.scale) * self.users(rows, n_threads) @ vectors.T)

    def weights(self, row: Sparse, items: Ints) -> Floats:
        """Return what each rating of one user adds to the scores of items, (rated, items)."""
        V, confidence = self.vectors.astype(np.float64), row.data / self.unit
        rated = V[row.indices]
        A = self._everywhere + (rated * confidence[:, None]).T @ rated
        A[np.diag_indices_from(A)] += self.penalty
        return np.asarray(self.scale * confidence[:, None] * (rated @ np.linalg.solve(A, V[items].T)))

    @cached_property
    def _everywhere(self) -> Floats:
        """α VᵀV, what all items add to the equations of every user."""
        V = self.vectors.astype(np.float64)
        return np.asarray(UNRATED * (V.T @ V))

    def with_items(self, n_items: int) -> Self:
        """Return the factors with more items, the last, which nobody has rated."""
        none = np.zeros((n_items - len(self.vectors), N_FACTORS), np.float32)
        return replace(self, vectors=np.concatenate([self.vectors, none]))


def _from_content(features: Floats | None, V: Floats) -> Floats | None:
    """Return W t_j of all items, where W is the ridge regression of their vectors on their features."""
    if features is None:
        return None
    gram = features.T @ features
    gram[np.diag_indices_from(gram)] += CONTENT_PENALTY * np.diagonal(gram).mean() + 1e-9
    return np.asarray(features @ np.linalg.solve(gram, features.T @ V))


def _solved(
    confidence: Sparse,
    others: Floats | Singles,
    everywhere: Floats,
    penalty: float,
    prior: Floats | None,
    n_threads: int | None,
) -> Floats:
    """Return the vectors of rows, given the vectors of what they have rated, or of who has rated them."""
    n, k = confidence.shape[0], N_FACTORS
    some, (a, b) = others.astype(np.float32), np.tril_indices(N_FACTORS)
    out = np.empty((n, k))
    for block in slices(n, BLOCK_ROWS):
        rows, size = confidence[block], block.stop - block.start
        moments, targets = np.zeros((size, len(a)), np.float32), np.zeros((size, k), np.float32)
        for part in slices(len(some), BLOCK_OTHERS):
            entries = rows if len(some) <= BLOCK_OTHERS else rows[:, part]
            sum_rows(entries, some[part][:, a] * some[part][:, b], moments, n_threads)
            sum_rows(entries, some[part], targets, n_threads)
        A = np.empty((size, k, k))
        A[:, a, b] = A[:, b, a] = moments
        A += everywhere
        A[:, np.arange(k), np.arange(k)] += penalty
        right = targets.astype(np.float64)
        if prior is not None:
            right += penalty * prior[block]
        out[block] = np.linalg.solve(A, right[:, :, None])[:, :, 0]
    return out
