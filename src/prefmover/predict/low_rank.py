"""Users and items as vectors: covariances in low rank, from distances to landmarks.

A weight such as exp(-γ D(u, v)) is made into a covariance K with K_uu = 1. It is stored in factors,
K = ΦΦᵀ + diag(ψ): all rows are compared with *landmarks* only, so that a fit takes landmarks x users
distances instead of users x users, and a new user costs as many distances as there are landmarks (Nyström's
method; Williams and Seeger, 2001). If all are landmarks, nothing is approximated. ψ_u is the part of user u
that the landmarks do not explain.

The covariance of items, k_I(i, j) = exp(-η d(i, j)), is stored in the same way. So nothing is as large as all
pairs of items, neither while fitting nor afterward. Up to :data:`MAX_EXACT` items, all are landmarks. Beyond
that, items with more ratings are more likely to be landmarks. On MovieLens-100K, where all 1,682 items could
be landmarks, 512 of them cost .0003 of MAE.

A kernel does not depend on the target of the predictions; several models can share one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Self

import numpy as np

from prefmover._pickled import PickledFields
from prefmover._typing import Floats, Ints, Singles
from prefmover.execution.threads import slices
from prefmover.items.geometry import ItemGeometry
from prefmover.measures import Weight
from prefmover.predict.similarity import LandmarkValues

__all__ = [
    "ITEM_LANDMARKS",
    "MAX_EXACT",
    "LowRankKernel",
    "item_kernel",
    "item_weights",
    "normalized_weights",
    "self_scale",
    "shrunk",
    "user_kernel",
]

MIN_EIGENVALUE = 1e-4
"""Directions in which landmarks differ by less than this are noise; they are left to ψ."""

SKETCH = 64
"""Directions that choose candidates for the largest entries of a row of K ..."""

CANDIDATES = 1000
"""... and the least number of candidates."""

ITEM_LANDMARKS = 600
MAX_EXACT = 1000

BLOCK_USERS = 4096  # users whose weights are in memory at once
BLOCK_ITEMS = 512


@dataclass(frozen=True, eq=False)
class LowRankKernel(PickledFields):
    """K = ΦΦᵀ + diag(ψ) over users, or over items.

    Examples
    --------
    >>> weights = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> kernel = LowRankKernel.fit(np.array([0, 1]), weights.__getitem__, 2)
    >>> kernel.block(np.arange(2), np.arange(2)).round(3)
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    landmarks: Ints  # positions of the rows that all rows are compared with
    whitening: Singles  # (landmarks, rank): turns weights to the landmarks into features
    features: Singles  # (n, rank) Φ
    unexplained: Floats  # (n,) ψ, nonnegative

    @classmethod
    def fit(
        cls, landmarks: Ints, weights: Callable[[Ints], Floats | Singles], n: int, max_rank: int | None = None
    ) -> Self:
        """Return the kernel of n rows; ``weights`` of some rows to the landmarks are (rows, landmarks).

        They are 1 between a row and itself, and need not be a covariance: the symmetric part of those among
        landmarks is taken, and its negative eigenvalues are dropped. With ``max_rank``, only the largest are
        kept.
        """
        among = weights(landmarks).astype(np.float64)
        values, vectors = np.linalg.eigh((among + among.T) / 2)
        large = values > MIN_EIGENVALUE
        if max_rank is not None:
            large[: max(0, len(large) - max_rank)] = False  # eigenvalues ascend
        whitening = np.ascontiguousarray(vectors[:, large] / np.sqrt(values[large]), np.float32)
        features, unexplained = np.empty((n, whitening.shape[1]), np.float32), np.empty(n)
        kernel = cls(landmarks, whitening, features, unexplained)
        for block in slices(n, BLOCK_USERS):
            features[block], unexplained[block] = kernel.project(weights(np.arange(block.start, block.stop)))
        return kernel

    @property
    def rank(self) -> int:
        """The number of features."""
        return int(self.whitening.shape[1])

    def project(self, weights: Floats | Singles) -> tuple[Singles, Floats]:
        """Return Φ and ψ of rows with these weights to the landmarks, (rows, landmarks)."""
        features = weights.astype(np.float32, copy=False) @ self.whitening
        # Landmarks explain at most the whole of a row.
        size = np.einsum("ur,ur->u", features, features, dtype=np.float64)
        features *= (1 / np.sqrt(np.maximum(size, 1.0))).astype(np.float32)[:, None]
        return features, np.maximum(0.0, 1.0 - size)

    def with_rows(self, rows: Ints, features: Singles, unexplained: Floats, n: int) -> Self:
        """Return the kernel with other places of some rows, and with more rows at the end."""
        before, rank = self.features.shape
        all_features, all_unexplained = np.zeros((n, rank), np.float32), np.ones(n)
        all_features[:before], all_unexplained[:before] = self.features, self.unexplained
        all_features[rows], all_unexplained[rows] = features, unexplained
        return replace(self, features=all_features, unexplained=all_unexplained)

    def block(self, rows: Ints, columns: Ints) -> Floats:
        """Return K between rows, (rows, columns)."""
        out: Floats = (self.features[rows] @ self.features[columns].T).astype(np.float64)
        at, to = np.nonzero(rows[:, None] == columns[None, :])
        out[at, to] += self.unexplained[columns[to]]
        return out

    def column(self, column: int) -> Floats:
        """Return K between all rows and one, (n,)."""
        out: Floats = (self.features @ self.features[column]).astype(np.float64)
        out[column] += self.unexplained[column]
        return out

    def sums(self, rows: Ints, values: Floats, targets: Ints) -> Floats:
        """Return Σ_j values_j K_ij over rows j, for each target i."""
        through = self.features[rows].T @ values.astype(np.float32)
        own = np.zeros(len(self.unexplained))
        own[rows] = values
        sums: Floats = (self.features[targets] @ through).astype(np.float64)
        return sums + self.unexplained[targets] * own[targets]

    @cached_property
    def _sketch(self) -> Singles:
        """The largest directions, side by side in memory; eigenvalues ascend."""
        return np.ascontiguousarray(self.features[:, -SKETCH:])

    def largest(self, features: Singles, k: int, without: int = -1) -> Ints:
        """Return the k rows with the largest K to a row with these features, those above 0, largest first.

        ``without`` is the position of a row to leave out. Among many rows, the :data:`SKETCH` largest
        directions choose candidates, at least :data:`CANDIDATES` and a hundredth of all, whose K is computed.
        (On MovieLens-1M and on 16,000 synthetic users, these had all of the 40 largest of 100 random users.)

        >>> weights = np.array([[1.0, 0.5], [0.5, 1.0], [0.4, 0.9]])
        >>> kernel = LowRankKernel.fit(np.array([0, 1]), weights.__getitem__, 3)
        >>> kernel.largest(kernel.features[0], 2, without=0).tolist()
        [1, 2]
        """
        some = np.arange(len(self.features))
        n = max(CANDIDATES, len(some) // 100, 4 * k)
        if len(some) > 4 * n and self.rank > 2 * SKETCH:
            sketch = self._sketch @ features[-SKETCH:]
            some = np.sort(np.argpartition(-sketch, n)[:n])
        weights = (self.features if len(some) == len(self.features) else self.features[some]) @ features
        weights[some == without] = 0.0
        order = np.argsort(-weights, kind="stable")[:k]
        return some[order[weights[order] > 0]]

    def mean(self) -> float:
        """Return the mean of K over pairs of different rows."""
        n = len(self.features)
        if n < 2:
            return 0.0
        total = self.features.sum(axis=0, dtype=np.float64)
        diagonal = np.einsum("ur,ur->", self.features, self.features, dtype=np.float64)
        return float((total @ total - diagonal) / (n * (n - 1)))


def user_kernel(compared: LandmarkValues, weight: Weight, max_rank: int | None = None) -> LowRankKernel:
    """Return the kernel of all users."""
    landmarks, values, self_values = compared
    scale, landmark_scale = self_scale(weight, self_values), self_scale(weight, self_values[landmarks])

    def weights(users: Ints) -> Floats:
        some = values[users].astype(np.float64)
        block = normalized_weights(some, weight, scale[users], landmark_scale)
        block[users[:, None] == landmarks[None, :]] = 1.0
        return block

    return LowRankKernel.fit(landmarks, weights, len(values), max_rank)


def normalized_weights(values: Floats, weight: Weight, scale: Floats, landmark_scale: Floats) -> Floats:
    """Return the weights of values, within [-1, 1], 0 where undefined: those of a user with itself are 1.

    ``values`` are (users, landmarks); the scales are :func:`self_scale` of the users and the landmarks.
    """
    both = scale[:, None] * landmark_scale[None, :]
    return np.asarray(np.clip(np.nan_to_num(weight(values), nan=0.0) / both, -1.0, 1.0))


def self_scale(weight: Weight, self_values: Floats) -> Floats:
    """Return √ of the weight between users and themselves; if it is not positive, the mean of the others."""
    weights = weight(self_values)
    good = weights > 0  # False for NaN
    return np.sqrt(np.where(good, weights, weights[good].mean() if good.any() else 1.0))


def shrunk(
    features: Singles, unexplained: Floats, n_ratings: Ints, shrinkage: float
) -> tuple[Singles, Floats]:
    r"""Return Φ and ψ of users, with the covariances of those with few ratings closer to 0.

    .. math:: K'_{uv} = \rho_u \rho_v K_{uv} \quad (u \ne v), \qquad K'_{uu} = 1, \qquad
              \rho_u^2 = \frac{n_u}{n_u + \beta}

    A distance between users with one rating each says that these two items are near, and little about the
    users: a single film that both rated makes it 0. (Bell and Koren, 2007, shrink similarities of items by
    the number of their common raters.)

    ``features``, (users, rank) Φ, are overwritten; ``shrinkage`` is β, the number of ratings at which ρ² is
    one half. 0 changes nothing.

    Examples
    --------
    >>> phi, psi = shrunk(np.ones((2, 1), np.float32), np.zeros(2), np.array([1, 9]), 3.0)
    >>> (phi @ phi.T + np.diag(psi)).round(3)
    array([[1.   , 0.433],
           [0.433, 1.   ]])
    """
    if not shrinkage:
        return features, unexplained
    share = n_ratings / (n_ratings + shrinkage)
    features *= np.sqrt(share).astype(np.float32)[:, None]
    return features, 1.0 - share * (1.0 - unexplained)


def item_kernel(
    geometry: ItemGeometry | None, rate: float, n_ratings: Ints, max_rank: int | None = None
) -> LowRankKernel:
    """Return k_I = exp(-rate d); ``n_ratings`` are the numbers of ratings of all items.

    Without a geometry, different items have nothing in common: the rank is 0 and ψ is 1.

    Examples
    --------
    >>> geometry = ItemGeometry.from_distance(["a", "b", "c"], [[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    >>> kernel = item_kernel(geometry, 1.0, np.array([5, 1, 2]))
    >>> kernel.block(np.arange(3), np.arange(3)).round(3)
    array([[1.   , 0.368, 0.135],
           [0.368, 1.   , 0.368],
           [0.135, 0.368, 1.   ]])
    """
    n = len(n_ratings)
    landmarks = np.arange(0 if geometry is None else n)
    if len(landmarks) > MAX_EXACT:
        likely = np.sqrt(n_ratings + 1.0)
        random = np.random.default_rng(0)
        landmarks = np.sort(random.choice(n, ITEM_LANDMARKS, replace=False, p=likely / likely.sum()))
    weights = partial(item_weights, geometry, rate, landmarks)
    return LowRankKernel.fit(landmarks, weights, n, max_rank)


def item_weights(geometry: ItemGeometry | None, rate: float, landmarks: Ints, items: Ints) -> Singles:
    """Return k_I between items and landmarks, (items, landmarks); there are none without a geometry."""
    out = np.empty((len(items), len(landmarks)), np.float32)
    if geometry is None:
        return out
    for block in slices(len(items), BLOCK_ITEMS):
        out[block] = np.exp(-rate * geometry.block(items[block], landmarks))
    return out
