r"""Kernel ridge regression of the rating matrix over users, with any distance between users: controls.

.. math:: S = K (K + \lambda I)^{-1} X = X - \lambda (K + \lambda I)^{-1} X,
          \qquad K_{uv} = \exp(-\gamma\, D(u, v) / \bar D)

with X the ratings, 0 where there is none, and D̄ the median distance, so that one grid of γ suits all
distances. The same regression with another distance says what the distance is worth:

===============  ======================================================================================
distance         what it knows
===============  ======================================================================================
pmd              ratings, the item geometry, and transport (exact; estimated with many users)
rwmd             ratings and geometry; each unit goes to the nearest item, so masses need not match
mean-vector      ratings and geometry; the angle between users' mean item vectors, no transport
total-variation  ratings, no geometry: PMD where every two items are equally far apart
cosine           ratings, no geometry: the angle between rows of ratings
jaccard          which items were rated: 1 - J
===============  ======================================================================================

The seventh control, ``ntk``, is another kernel (:func:`neural_tangent`): that of an infinitely wide
autoencoder, ∞-AE (N. Sachdeva et al., "Infinite Recommendation Networks: A Data-Centric Approach", NeurIPS
2022).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from prefmover._typing import Floats, Singles, Sparse
from prefmover.dataset import Dataset
from prefmover.evaluation.baselines.rankers import LEAVE_OUT, ByScores, Scorer, Values, cosines, interactions
from prefmover.evaluation.baselines.rating_controls import mean_vector
from prefmover.execution.memory import require
from prefmover.measures import find_measure, pairwise
from prefmover.predict.similarity import UserSimilarity

NTK_VALUES: tuple[Values, ...] = ("ratings", "seen")


def kernel_ridge(
    distance: str, *, rate: float = 4.0, penalty: float = 3.0, n_threads: int | None = None
) -> ByScores:
    """Return kernel ridge regression over users, unfitted; ``rate`` is γ and ``penalty`` λ."""

    def in_medians(data: Dataset) -> Floats:
        n_users, n_items = data.n_users, data.n_items
        require(24 * n_users**2 + 8 * n_users * n_items, f"kernel ridge of {n_users:,} users", LEAVE_OUT)
        D = user_distances(data, distance, n_threads)
        middle = float(np.median(D[np.triu_indices(len(D), 1)])) if len(D) > 1 else 1.0
        return D / (middle or 1.0)

    return ByScores(partial(_regression, rate=rate, penalty=penalty), in_medians)


def neural_tangent(*, penalty: float = 1.0, values: Values = "ratings") -> ByScores:
    r"""Return kernel ridge regression over users with the kernel of ∞-AE, unfitted.

    It is the neural tangent kernel of a network with one layer of ReLUs, of infinite width. With unit rows of
    X, and s the cosine of two of them,

    .. math:: K = s \kappa_0(s) + \kappa_1(s), \quad
              \kappa_0(s) = \frac{\pi - \arccos s}{\pi}, \quad
              \kappa_1(s) = \frac{s (\pi - \arccos s) + \sqrt{1 - s^2}}{\pi},

    and the penalty is λ times the mean of the diagonal of K. The paper has ones in X (``"seen"``).
    """

    def both(data: Dataset) -> Floats:
        n_users = data.n_users
        require(32 * n_users**2, f"kernel ridge of {n_users:,} users", LEAVE_OUT)
        some = np.arange(n_users)
        return np.stack([cosines(interactions(data.ratings, one), some) for one in NTK_VALUES])

    def learn(data: Dataset, cosine: Floats) -> Scorer:
        s = np.clip(cosine[NTK_VALUES.index(values)], -1, 1)
        K = np.clip(np.pi - np.arccos(s), 0, np.pi)
        K = (2 * s * K + np.sqrt(1 - s**2)) / np.pi
        empty = np.diff(data.ratings.matrix.indptr) == 0
        K[empty] = K[:, empty] = 0.0  # the kernel of two rows grows with their lengths
        shift = penalty * float(np.trace(K)) / max(len(K), 1) or 1.0
        return _solve(K, data, shift, values)

    return ByScores(learn, both)


def _regression(data: Dataset, distances: Floats, rate: float, penalty: float) -> Scorer:
    return _solve(np.exp(-rate * distances), data, penalty)


def _solve(K: Floats | Singles, data: Dataset, penalty: float, values: Values = "ratings") -> Scorer:
    """Return X - λ (K + λI)⁻¹ X."""
    from scipy.linalg import cho_factor, cho_solve

    K = K.astype(np.float32)
    X = interactions(data.ratings, values).astype(np.float32).toarray()
    # Not every distance gives a positive definite kernel: shift the spectrum as far as it takes.
    shift = np.float32(penalty)
    K[np.diag_indices_from(K)] += shift
    while True:
        try:
            factor = cho_factor(K, lower=True, check_finite=False)
            break
        except np.linalg.LinAlgError:
            K[np.diag_indices_from(K)] += shift
    # For unrated items X is 0, so that the scores are -λA; the factor does not change the order.
    scores = X - penalty * cho_solve(factor, X, check_finite=False)
    return lambda users: np.asarray(scores[users])


def user_distances(data: Dataset, distance: str, n_threads: int | None = None) -> Floats:
    """Return all distances between users, (n_users, n_users); the largest where one has rated nothing."""
    D = DISTANCES[distance](data, n_threads)
    D = np.where(np.isfinite(D), D, np.nanmax(D, initial=0.0))
    np.fill_diagonal(D, 0.0)
    return D


def _shares(data: Dataset) -> Sparse:
    """Return users as distributions, p_u(i) = r_ui / Σ r_uj; a row of zeros without ratings."""
    X = interactions(data.ratings, "ratings")
    total = np.asarray(X.sum(axis=1)).ravel()
    X.data /= np.repeat(np.where(total > 0, total, 1.0), np.diff(X.indptr))
    return X


def _without(D: Floats, P: Sparse) -> Floats:
    """Return distances with NaN for users without ratings."""
    empty = np.diff(P.indptr) == 0
    D[empty] = D[:, empty] = np.nan
    return D


def _pmd(data: Dataset, n_threads: int | None) -> Floats:
    """Return PMD as the default model sees it: exact between few users, estimated between many."""
    data.require_geometry("kernel:pmd")
    everyone = np.arange(data.n_users)
    similarity = UserSimilarity(data, find_measure("pmd"), None, n_threads).calibrated()
    return similarity.estimated_values(everyone, everyone)


def _rwmd(data: Dataset, n_threads: int | None) -> Floats:
    geometry, P = data.require_geometry("kernel:rwmd"), _shares(data)
    # The distance of each item to the nearest item of each user.
    nearest = np.zeros((data.n_items, data.n_users), np.float32)
    for u in np.flatnonzero(np.diff(P.indptr)).tolist():
        items = P.indices[P.indptr[u] : P.indptr[u + 1]]
        nearest[:, u] = geometry.units(items, None).min(axis=0) * geometry.unit
    one_sided = np.asarray(P.astype(np.float32) @ nearest).astype(np.float64)
    return _without(np.maximum(one_sided, one_sided.T), P)


def _mean_vector(data: Dataset, n_threads: int | None) -> Floats:
    data.require_geometry("kernel:mean-vector")
    cosine: Floats = np.clip(pairwise(data, mean_vector().measure, n_threads=n_threads), -1, 1)
    return np.arccos(cosine)


def _total_variation(data: Dataset, n_threads: int | None) -> Floats:
    """Return ½ Σ |p - q| = 1 - Σ min(p, q), by blocks of users."""
    P = _shares(data)
    dense, D = P.toarray().astype(np.float32), np.empty((data.n_users, data.n_users))
    for u in range(data.n_users):
        items = P.indices[P.indptr[u] : P.indptr[u + 1]]
        D[u] = 1 - np.minimum(dense[:, items], dense[u, items]).sum(axis=1)
    return _without(D, P)


def _cosine(data: Dataset, n_threads: int | None) -> Floats:
    X = interactions(data.ratings, "ratings")
    C = cosines(X, np.arange(data.n_users)).astype(np.float64)
    np.fill_diagonal(C, 0.0)  # the largest distance is a right angle, that of users without ratings
    return _without(np.arccos(np.clip(C, -1, 1)), X)


def _jaccard(data: Dataset, n_threads: int | None) -> Floats:
    X = interactions(data.ratings, "seen")
    common, n = (X @ X.T).toarray(), np.diff(X.indptr)
    return _without(1 - common / np.maximum(n + n[:, None] - common, 1), X)


DISTANCES: dict[str, Callable[[Dataset, int | None], Floats]] = {
    "pmd": _pmd,
    "rwmd": _rwmd,
    "mean-vector": _mean_vector,
    "total-variation": _total_variation,
    "cosine": _cosine,
    "jaccard": _jaccard,
}
"""The distances between users, by name."""
