"""UserKernel: the covariance of users in low rank, from their distances to landmarks.

A weight such as exp(-γ D(u, v)) is made into a covariance K of users with K_uu = 1. It is stored in factors,
K = ΦΦᵀ + diag(ψ): all users are compared with *landmarks* only, so that a fit takes landmarks x users
distances instead of users x users, and a new user costs as many distances as there are landmarks (Nyström's
method; Williams and Seeger, 2001). If all users are landmarks, nothing is approximated. ψ_u is the part of
user u that the landmarks do not explain.

A kernel does not depend on the target of the predictions; several models can share one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ints
from prefmover.data.ratings import Ratings
from prefmover.errors import InputError
from prefmover.execution.threads import slices
from prefmover.measures.weights import Weight

__all__ = [
    "Singles",
    "UserKernel",
    "check_array",
    "choose_landmarks",
    "normalized_weights",
    "quick_checks",
    "scaled_weights",
    "self_scale",
    "shrunk",
]

Singles: TypeAlias = npt.NDArray[np.float32]

MIN_EIGENVALUE = 1e-4
"""Directions in which landmarks differ by less than this are noise; they are left to ψ."""

SKETCH = 64
"""Directions that choose candidates for the largest entries of a row of K ..."""

CANDIDATES = 1000
"""... and the least number of candidates."""

BLOCK_USERS = 4096  # users whose weights are in memory at once


@dataclass(frozen=True, slots=True, eq=False)
class UserKernel:
    """K = ΦΦᵀ + diag(ψ).

    Attributes
    ----------
    landmarks
        Positions of the users that all users are compared with.
    whitening
        (landmarks, rank): turns weights to the landmarks into features.
    features
        (n_users, rank) Φ.
    rest
        (n_users,) ψ, nonnegative.
    """

    landmarks: Ints
    whitening: Singles
    features: Singles
    rest: Floats
    _sketch: list[Singles] = field(default_factory=list, init=False, repr=False)

    def check(self, n_users: int) -> None:
        """Raise an error unless the arrays fit the number of users; compiled code does not check bounds."""
        m, rank = len(self.landmarks), self.whitening.shape[-1]
        check_array("landmarks", self.landmarks, np.int64, (m,))
        if m and not 0 <= self.landmarks.min() <= self.landmarks.max() < n_users:
            raise InputError(f"landmarks is damaged: positions beyond the {n_users:,} users")
        check_array("whitening", self.whitening, np.float32, (m, rank))
        check_array("features", self.features, np.float32, (n_users, rank))
        check_array("rest", self.rest, np.float64, (n_users,))
        # As large as from_weights makes them, with some slack for rounding: products cannot overflow.
        limits = {"whitening": 1.01 / np.sqrt(MIN_EIGENVALUE), "features": 1.01, "rest": 1.01}
        for name, limit in limits.items():
            array = getattr(self, name)
            if not skips_numbers(array) and np.abs(array).max(initial=0.0) > limit:
                raise InputError(f"{name} is damaged: a number is not within {limit:g} of 0")

    @classmethod
    def from_weights(cls, weights: Floats | Singles, landmarks: Ints, max_rank: int | None = None) -> Self:
        """Return the kernel of (n_users, landmarks) weights, which are 1 between a user and itself.

        Weights need not be a covariance: the symmetric part of those among landmarks is taken, and its
        negative eigenvalues are dropped. With ``max_rank``, only the largest are kept.

        Examples
        --------
        >>> kernel = UserKernel.from_weights(np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([0, 1]))
        >>> (kernel.features @ kernel.features.T).round(3)
        array([[1. , 0.5],
               [0.5, 1. ]], dtype=float32)
        """
        return cls.from_blocks(len(weights), landmarks, lambda users: weights[users], max_rank)

    @classmethod
    def from_blocks(
        cls,
        n_users: int,
        landmarks: Ints,
        weights: Callable[[Ints], Floats | Singles],
        max_rank: int | None = None,
    ) -> Self:
        """Return :meth:`from_weights` of a function of users, which is called for some users at a time."""
        among = weights(landmarks).astype(np.float64)
        values, vectors = np.linalg.eigh((among + among.T) / 2)
        large = values > MIN_EIGENVALUE
        if max_rank is not None:
            large[: max(0, len(large) - max_rank)] = False  # eigenvalues ascend
        whitening = np.ascontiguousarray(vectors[:, large] / np.sqrt(values[large]), np.float32)
        features, rest = np.empty((n_users, whitening.shape[1]), np.float32), np.empty(n_users)
        kernel = cls(landmarks, whitening, features, rest)
        for block in slices(n_users, BLOCK_USERS):
            features[block], rest[block] = kernel.project(weights(np.arange(block.start, block.stop)))
        return kernel

    @property
    def rank(self) -> int:
        """The number of features."""
        return int(self.whitening.shape[1])

    def project(self, weights: Floats | Singles) -> tuple[Singles, Floats]:
        """Return Φ and ψ of users with these weights to the landmarks, (users, landmarks)."""
        features = weights.astype(np.float32, copy=False) @ self.whitening
        # Landmarks explain at most the whole of a user.
        size = np.einsum("ur,ur->u", features, features, dtype=np.float64)
        features *= (1 / np.sqrt(np.maximum(size, 1.0))).astype(np.float32)[:, None]
        return features, np.maximum(0.0, 1.0 - size)

    def replaced(self, users: Ints, features: Singles, rest: Floats, n_users: int) -> Self:
        """Return the kernel with other places of some users, and with more users at the end."""
        n, rank = self.features.shape
        all_features, all_rest = np.zeros((n_users, rank), np.float32), np.ones(n_users)
        all_features[:n], all_rest[:n] = self.features, self.rest
        all_features[users], all_rest[users] = features, rest
        return replace(self, features=all_features, rest=all_rest)

    def between(self, features: Singles) -> Floats:
        """Return K between a user with these features, (rank,), and all users of the kernel."""
        return (self.features @ features).astype(np.float64)

    def largest(self, features: Singles, k: int, without: int = -1) -> Ints:
        """Return the k users with the largest K to a user with these features, those above 0, largest first.

        ``without`` is the position of a user to leave out. Among many users, the :data:`SKETCH` largest
        directions choose candidates, at least :data:`CANDIDATES` and a hundredth of all, whose K is computed.
        (On MovieLens-1M and on 16,000 synthetic users, these had all of the 40 largest of 100 random users.)

        >>> kernel = UserKernel.from_weights(np.array([[1.0, 0.5], [0.5, 1.0], [0.4, 0.9]]), np.array([0, 1]))
        >>> kernel.largest(kernel.features[0], 2, without=0).tolist()
        [1, 2]
        """
        some = np.arange(len(self.features))
        n = max(CANDIDATES, len(some) // 100, 4 * k)
        if len(some) > 4 * n and self.rank > 2 * SKETCH:  # eigenvalues ascend: the last ones are the largest
            if not self._sketch:  # once, side by side in memory
                self._sketch.append(np.ascontiguousarray(self.features[:, -SKETCH:]))
            sketch = self._sketch[0] @ features[-SKETCH:]
            some = np.sort(np.argpartition(-sketch, n)[:n])
        weights = (self.features if len(some) == len(self.features) else self.features[some]) @ features
        weights[some == without] = 0.0
        order = np.argsort(-weights, kind="stable")[:k]
        return some[order[weights[order] > 0]]

    def mean(self) -> float:
        """Return the mean of K over pairs of different users."""
        n = len(self.features)
        if n < 2:
            return 0.0
        total = self.features.sum(axis=0, dtype=np.float64)
        diagonal = np.einsum("ur,ur->", self.features, self.features, dtype=np.float64)
        return float((total @ total - diagonal) / (n * (n - 1)))


def check_array(
    name: str, array: npt.NDArray[Any], dtype: npt.DTypeLike, shape: tuple[int, ...], *, finite: bool = True
) -> None:
    """Raise an error unless an array has this type and shape, and is finite."""
    if array.dtype != dtype or array.shape != shape:
        raise InputError(
            f"{name} is damaged: {array.dtype} of shape {array.shape}; expected {np.dtype(dtype)} of {shape}"
        )
    if finite and array.dtype.kind == "f" and not skips_numbers(array) and not np.isfinite(array).all():
        raise InputError(f"{name} is damaged: a number is missing or infinite")


LARGE_ARRAY = 2**24
"""Bytes of an array from a file whose numbers are read only if they are to be verified."""

_QUICK: ContextVar[bool] = ContextVar("quick", default=False)


@contextmanager
def quick_checks() -> Iterator[None]:
    """Within this context, the numbers in large arrays are not checked, so that a file is not read.

    Types, shapes and positions always are: compiled code relies on them.
    """
    token = _QUICK.set(True)
    try:
        yield
    finally:
        _QUICK.reset(token)


def skips_numbers(array: npt.NDArray[Any]) -> bool:
    """Return whether the numbers in an array need not be checked; see :func:`quick_checks`."""
    return _QUICK.get() and array.nbytes > LARGE_ARRAY


def choose_landmarks(ratings: Ratings, limit: int, seed: int) -> Ints:
    """Return users with ratings by position: all if they are up to twice ``limit``, else a sample."""
    eligible = np.flatnonzero(np.diff(ratings.matrix.indptr))
    if len(eligible) <= 2 * limit:
        return eligible
    return np.sort(np.random.default_rng(seed).choice(eligible, limit, replace=False))


def normalized_weights(
    values: Floats, weight: Weight, self_values: Floats, landmark_self_values: Floats
) -> Floats:
    """Return weights, scaled so that the weight between a user and itself is 1, within [-1, 1].

    Parameters
    ----------
    values
        (users, landmarks) values of a measure, NaN where undefined.
    weight
        The rule that turns values into weights.
    self_values, landmark_self_values
        The measure between each user, and each landmark, and itself.
    """
    scales = (self_scale(weight, some) for some in (self_values, landmark_self_values))
    return scaled_weights(values, weight, *scales)


def scaled_weights(values: Floats, weight: Weight, scale: Floats, landmark_scale: Floats) -> Floats:
    """Return :func:`normalized_weights`, given :func:`self_scale` of users and landmarks."""
    both = scale[:, None] * landmark_scale[None, :]
    out: Floats = np.clip(np.nan_to_num(weight(values), nan=0.0) / both, -1.0, 1.0)
    return out


def shrunk(features: Singles, rest: Floats, n_ratings: Ints, shrinkage: float) -> tuple[Singles, Floats]:
    r"""Return Φ and ψ of users, with the covariances of those with few ratings closer to 0.

    .. math:: K'_{uv} = \rho_u \rho_v K_{uv} \quad (u \ne v), \qquad K'_{uu} = 1, \qquad
              \rho_u^2 = \frac{n_u}{n_u + \beta}

    A distance between users with one rating each says that these two items are near, and little about the
    users: a single film that both rated makes it 0. (Bell and Koren, 2007, shrink similarities of items by
    the number of their common raters.)

    Parameters
    ----------
    features, rest
        (users, rank) Φ, which is overwritten, and (users,) ψ.
    n_ratings
        (users,) numbers of ratings.
    shrinkage
        β, the number of ratings at which ρ² is one half; 0 changes nothing.

    Examples
    --------
    >>> phi, psi = shrunk(np.ones((2, 1), np.float32), np.zeros(2), np.array([1, 9]), 3.0)
    >>> (phi @ phi.T + np.diag(psi)).round(3)
    array([[1.   , 0.433],
           [0.433, 1.   ]])
    """
    if not shrinkage:
        return features, rest
    share = n_ratings / (n_ratings + shrinkage)
    features *= np.sqrt(share).astype(np.float32)[:, None]
    return features, 1.0 - share * (1.0 - rest)


def self_scale(weight: Weight, self_values: Floats) -> Floats:
    """Return √ of the weight between users and themselves; if it is not positive, the mean of the others."""
    weights = weight(self_values)
    good = weights > 0  # False for NaN
    return np.sqrt(np.where(good, weights, weights[good].mean() if good.any() else 1.0))
