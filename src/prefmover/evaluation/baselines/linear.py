r"""Peers that are ridge regressions of items on items, in closed form.

All of them learn weights B between items with a zero diagonal, and score items by X B, where X (users x
items) holds what people gave (:func:`~prefmover.evaluation.baselines.rankers.interactions`). With G = XᵀX,
T the unit content vectors of the items (items x features), nᵢ the number of ratings of item i, and nᵤ that of
user u:

=======  ===========================================================================================
name     weights
=======  ===========================================================================================
ease     EASE: :math:`P = (G + \lambda I)^{-1},\; B = I - P\,\mathrm{diag}(P)^{-1}`
edlae    EASE with :math:`\lambda + \frac{p}{1-p} G_{ii}` for item i: a share p of the inputs is dropped
dan      EDLAE with :math:`G = X^T \mathrm{diag}(n_u^{-\beta}) X`; then :math:`B_{ij} (n_i / n_j)^\alpha`
cease    EASE on :math:`G + \alpha TT^T`: features are further users
addease  :math:`(1 - \alpha)` EASE(X) + :math:`\alpha` EASE(Tᵀ)
l3ae     :math:`\min \|X - XB\|^2 + \lambda \|B\|^2 + \delta \|B - C\|^2` with weights C of the content
=======  ===========================================================================================

The penalties λ, δ and the weight α of CEASE are in units of the mean square of what X holds, so that one grid
suits ratings, ones and counts. With fewer rows than items, P comes from a matrix over rows:

.. math:: (Z^T Z + D)^{-1} = D^{-1} - D^{-1} Z^T (I + Z D^{-1} Z^T)^{-1} Z D^{-1}.

References: H. Steck, "Embarrassingly Shallow Autoencoders for Sparse Data", WWW 2019 (EASE); H. Steck,
"Autoencoders that don't overfit towards the Identity", NeurIPS 2020 (EDLAE); S. Park et al., "Why is
Normalization Necessary for Linear Recommenders?", SIGIR 2025 (DAN); O. Jeunen et al., "Closed-Form Models for
Collaborative Filtering with Side-Information", RecSys 2020 (CEASE, AddEASE); J. Moon et al., "LLM-Enhanced
Linear Autoencoders for Recommendation", CIKM 2025 (L3AE).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from prefmover._typing import Floats, Ints, Singles, Sparse
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.evaluation.baselines.content import item_vectors
from prefmover.evaluation.baselines.rankers import (
    LEAVE_OUT,
    SHARED_ITEMS,
    Scorer,
    Values,
    interactions,
    shared,
    shared_gram,
)
from prefmover.execution.memory import require
from prefmover.execution.threads import slices
from prefmover.rank.item_side import gram

Prior = Literal["ease", "cosine"]

BLOCK = 2048


@dataclass(frozen=True)
class Inverse:
    """P = (ZᵀZ + D)⁻¹, as its diagonal and what multiplies rows with it."""

    diagonal: Floats
    times: Callable[[Any], Singles]

    def from_others(self, rows: Sparse) -> Singles:
        """Return rows B, B = I - P / diag P: every entry predicted from the other entries of its row."""
        out = self.times(rows)
        out /= -self.diagonal
        return _add(out, rows)


def inverse(Z: Sparse, penalty: Floats, make_gram: Callable[[], Floats]) -> Inverse:
    """Return (ZᵀZ + diag penalty)⁻¹ by way of the smaller matrix, over columns or rows.

    ``make_gram`` returns ZᵀZ, which is overwritten; it is called only if that is the smaller one. Columns of
    zeros need no inverse.

    >>> from scipy.sparse import csr_array
    >>> Z = csr_array([[1.0, 1.0, 0.0]])
    >>> P = inverse(Z, np.ones(3), lambda: (Z.T @ Z).toarray())
    >>> P.diagonal.round(3), P.times(csr_array([[1.0, 0.0, 3.0]])).round(3)
    (array([0.667, 0.667, 1.   ]), array([[ 0.667, -0.333,  3.   ]], dtype=float32))
    """
    (n, m), some = Z.shape, np.unique(Z.indices)
    if n < len(some):
        return _over_rows(Z, penalty)
    require(12 * m**2, f"a regression of {m:,} items", LEAVE_OUT)
    G = make_gram()
    if len(some) < m:
        G = G[np.ix_(some, some)]
    G[np.diag_indices_from(G)] += penalty[some]
    P = _inverted(G)
    diagonal = 1 / penalty
    diagonal[some] = np.diagonal(P)
    P = P.astype(np.float32)

    def times(rows: Any) -> Singles:
        if len(some) == m:
            return np.asarray(rows.astype(np.float32) @ P)
        out = _dense(rows)
        out /= penalty.astype(np.float32)
        out[:, some] = rows[:, some].astype(np.float32) @ P
        return out

    return Inverse(diagonal, times)


def _over_rows(Z: Sparse, penalty: Floats) -> Inverse:
    n, m = Z.shape
    require(16 * n**2 + 4 * n * m, f"a regression of {m:,} items for {n:,} users", LEAVE_OUT)
    left = Z.multiply(1 / penalty).tocsr()
    A = (left @ Z.T).toarray()
    A[np.diag_indices_from(A)] += 1.0
    A = _inverted(A)
    right, captured, columns = np.empty((n, m), np.float32), np.empty(m), left.tocsc()
    for block in slices(m, BLOCK):
        part = (columns[:, block].T @ A).T  # A is symmetric
        captured[block] = Z[:, block].multiply(part).sum(axis=0)
        right[:, block] = part
    weight, back = (1 / penalty).astype(np.float32), left.T.astype(np.float32).tocsr()

    def times(rows: Any) -> Singles:
        some = rows.astype(np.float32)
        out = _dense(some @ back) @ right
        out *= -1
        return _add(out, some * weight if isinstance(some, np.ndarray) else some.multiply(weight))

    return Inverse((1 - captured) / penalty, times)


def _dense(rows: Any) -> Singles:
    dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
    return np.asarray(dense, np.float32)


def _add(out: Singles, rows: Any) -> Singles:
    """Add rows, sparse or dense, in place."""
    if isinstance(rows, np.ndarray):
        out += rows
        return out
    entries = rows.tocoo()
    out[entries.row, entries.col] += entries.data
    return out


def _inverted(A: Floats) -> Floats:
    """Return the inverse of a symmetric matrix, which is overwritten."""
    from scipy.linalg.lapack import dpotrf, dpotri

    factor, failed = dpotrf(A.T, lower=1, overwrite_a=1)  # its transpose is in Fortran's order
    if not failed:
        factor, failed = dpotri(factor, lower=1, overwrite_c=1)
    if failed:
        raise InputError("a regression of items has no unique solution; raise its penalty")
    P: Floats = np.asarray(factor.T)  # the upper triangle
    for block in slices(len(P), BLOCK):
        corner = P[block, block]
        P[block, block] = np.triu(corner) + np.triu(corner, 1).T
        P[block.stop :, block] = P[block, block.stop :].T
    return P


class Interactions(NamedTuple):
    """What people gave: X, the mean square of its entries, and the sum of the squares of each column."""

    X: Sparse
    unit: float
    squares: Floats


def _learned_from(data: Dataset, values: Values) -> Interactions:
    def make() -> Interactions:
        X = interactions(data.ratings, values)
        squares = np.asarray(np.bincount(X.indices, X.data**2, X.shape[1]), np.float64)
        return Interactions(X, float(squares.sum()) / max(X.nnz, 1) or 1.0, squares)

    return shared(data, ("interactions", values), make)


def _own_gram(data: Dataset, values: Values) -> Floats:
    """Return XᵀX that may be overwritten."""
    G = shared_gram(data, values)
    return G.copy() if data.n_items <= SHARED_ITEMS else G


def _check(*penalties: float, share: float = 0.0) -> None:
    if not all(0 < one < np.inf for one in penalties) or not 0 <= share < 1:
        raise InputError(
            f"penalties are {penalties}, and p is {share}; give penalties above 0, and 0 <= p < 1"
        )


def ease(data: Dataset, penalty: float = 300.0, values: Values = "ratings") -> Scorer:
    """Regress every item on all others (EASE)."""
    return edlae(data, penalty, 0.0, values)


def edlae(data: Dataset, penalty: float = 300.0, p: float = 0.3, values: Values = "ratings") -> Scorer:
    """EASE that expects a share p of the inputs to be missing; p = 0 is EASE."""
    _check(penalty, share=p)
    X, unit, squares = _learned_from(data, values)
    P = inverse(X, penalty * unit + p / (1 - p) * squares, lambda: _own_gram(data, values))
    return lambda users: P.from_others(X[users])


def dan(
    data: Dataset,
    penalty: float = 100.0,
    p: float = 0.2,
    alpha: float = 0.1,
    beta: float = 0.3,
    values: Values = "ratings",
) -> Scorer:
    """EDLAE with data-adaptive normalization: heavy users count less (β), and popular items gain less (α).

    The paper has ones in X. For others, the sum of squares of a column stands for nᵢ beside G.
    """
    _check(penalty, share=p)
    X, unit, squares = _learned_from(data, values)
    Z, n_user = X.copy(), np.diff(X.indptr)
    Z.data *= np.repeat(np.maximum(n_user, 1) ** (-beta / 2.0), n_user)
    P = inverse(Z, penalty * unit + p / (1 - p) * squares, lambda: gram(Z))
    strength = np.maximum(data.ratings_per_item, 1.0) ** alpha
    gain, loss = X.multiply(strength).tocsr(), strength.astype(np.float32)
    return lambda users: P.from_others(gain[users]) / loss


def cease(data: Dataset, penalty: float = 300.0, alpha: float = 30.0, values: Values = "ratings") -> Scorer:
    """EASE on users and the items' features (CEASE); α = 0 is EASE."""
    from scipy.sparse import csr_array, vstack

    _check(penalty)
    T = item_vectors(data, "CEASE")
    X, unit, _ = _learned_from(data, values)
    Z = vstack([X, csr_array(np.sqrt(alpha * unit) * T.T)]).tocsr()

    def make_gram() -> Floats:
        G = (alpha * unit * T) @ T.T
        G += shared_gram(data, values)
        return G

    P = inverse(Z, np.full(data.n_items, penalty * unit), make_gram)
    return lambda users: P.from_others(X[users])


class ContentWeights(NamedTuple):
    """Weights C = left rightᵀ - diag(own) between items by their content; their diagonal is 0."""

    left: Floats  # (items, features)
    right: Floats  # (items, features)
    own: Floats  # (items,)

    def times(self, rows: Any) -> Singles:
        """Return rows C."""
        out = np.asarray((rows @ self.left) @ self.right.T, np.float32)
        if isinstance(rows, np.ndarray):
            out -= rows * self.own
            return out
        return _add(out, rows.multiply(-self.own))


def content_weights(T: Floats, penalty: float, prior: Prior = "ease") -> ContentWeights:
    r"""Return weights of content vectors (items, features).

    ``"ease"`` is EASE on Tᵀ, where :math:`W = (T^T T + \lambda I)^{-1}` is over features, and :math:`h_j` the
    diagonal of :math:`T W T^T`: :math:`C_{ij} = (T W T^T)_{ij} / (1 - h_j)`. ``"cosine"`` is the cosine of
    i and j, over the sum of those of j with all others (at least 1).

    >>> content_weights(np.eye(3)[[0, 0, 1]], 1.0).times(np.array([[1.0, 0, 0], [0, 0, 1]])).round(2) + 0.0
    array([[0. , 0.5, 0. ],
           [0. , 0. , 0. ]], dtype=float32)
    """
    square = np.einsum("ij,ij->i", T, T)
    if prior == "cosine":
        weight = 1 / np.maximum(T @ T.sum(axis=0) - square, 1.0)
        return ContentWeights(T, T * weight[:, None], square * weight)
    left = np.asarray(np.linalg.solve(T.T @ T + penalty * np.eye(T.shape[1]), T.T).T, np.float64)
    h = np.einsum("ij,ij->i", left, T)
    return ContentWeights(left, T / (1 - h)[:, None], h / (1 - h))


def addease(
    data: Dataset,
    penalty: float = 300.0,
    alpha: float = 0.2,
    content_penalty: float = 10.0,
    values: Values = "ratings",
) -> Scorer:
    """Mix EASE on users with EASE on the items' features (AddEASE); α = 0 is EASE."""
    _check(penalty, content_penalty)
    C = content_weights(item_vectors(data, "AddEASE"), content_penalty)
    X, of_users = _learned_from(data, values).X, ease(data, penalty, values)
    return lambda users: (1 - alpha) * of_users(users) + alpha * C.times(X[users])


def l3ae(
    data: Dataset,
    penalty: float = 100.0,
    delta: float = 300.0,
    content_penalty: float = 10.0,
    prior: Prior = "ease",
    values: Values = "ratings",
) -> Scorer:
    r"""EASE whose weights are drawn to those of the content, C (L3AE); δ = 0 is EASE.

    With :math:`P = (G + (\lambda + \delta) I)^{-1}`, the minimum is

    .. math:: B = I + \delta P C - P\,\mathrm{diag}(1 + \delta\,\mathrm{diag}(PC))\,\mathrm{diag}(P)^{-1}.

    The paper has vectors of a language model; here they are those of the data set's geometry.
    """
    _check(penalty, content_penalty)
    C = content_weights(item_vectors(data, "L3AE"), content_penalty, prior)
    X, unit, _ = _learned_from(data, values)
    delta *= unit
    P = inverse(X, np.full(data.n_items, penalty * unit + delta), lambda: _own_gram(data, values))
    drawn = np.einsum("ji,ij->i", P.times(C.left.T), C.right) - P.diagonal * C.own  # the diagonal of PC
    scale = ((1 + delta * drawn) / P.diagonal).astype(np.float32)

    def scores(users: Ints) -> Singles:
        rows = X[users]
        product = P.times(rows)
        out = C.times(product)
        out *= delta
        product *= scale
        out -= product
        return _add(out, rows)

    return scores
