"""UserKernel: the covariance of users in low rank, from their distances to landmarks.

A weight such as exp(-γ D(u, v)) is made into a covariance K of users with K_uu = 1. It is stored in factors,
K = ΦΦᵀ + diag(ψ): all users are compared with *landmarks* only, so that a fit takes landmarks x users
distances instead of users x users, and a new user costs as many distances as there are landmarks (Nyström's
method; Williams and Seeger, 2001). If all users are landmarks, nothing is approximated. ψ_u is the part of
user u that the landmarks do not explain.

A kernel does not depend on the target of the predictions; several models can share one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ints
from prefmover.data.ratings import Ratings
from prefmover.errors import InputError
from prefmover.measures.weights import Weight

__all__ = ["Singles", "UserKernel", "check_array", "choose_landmarks", "normalized_weights"]

Singles: TypeAlias = npt.NDArray[np.float32]

MIN_EIGENVALUE = 1e-4
"""Directions in which landmarks differ by less than this are noise; they are left to ψ."""


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
            if np.abs(getattr(self, name)).max(initial=0.0) > limit:
                raise InputError(f"{name} is damaged: a number is not within {limit:g} of 0")

    @classmethod
    def from_weights(cls, weights: Floats | Singles, landmarks: Ints) -> Self:
        """Return the kernel of (n_users, landmarks) weights, which are 1 between a user and itself.

        Weights need not be a covariance: the symmetric part of those among landmarks is taken, and its
        negative eigenvalues are dropped.

        Examples
        --------
        >>> kernel = UserKernel.from_weights(np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([0, 1]))
        >>> (kernel.features @ kernel.features.T).round(3)
        array([[1. , 0.5],
               [0.5, 1. ]], dtype=float32)
        """
        among = weights[landmarks].astype(np.float64)
        values, vectors = np.linalg.eigh((among + among.T) / 2)
        large = values > MIN_EIGENVALUE
        whitening = np.ascontiguousarray(vectors[:, large] / np.sqrt(values[large]), np.float32)
        no_features = np.empty((0, int(large.sum())), np.float32)
        empty = cls(landmarks, whitening, no_features, np.empty(0))
        return empty.extended(weights)

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

    def extended(self, weights: Floats | Singles) -> Self:
        """Return the kernel with more users, given by their weights to the landmarks."""
        features, rest = self.project(weights)
        return replace(
            self,
            features=np.concatenate([self.features, features]),
            rest=np.concatenate([self.rest, rest]),
        )

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
    if finite and array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError(f"{name} is damaged: a number is missing or infinite")


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
    users, landmarks = (_self_weights(weight(some)) for some in (self_values, landmark_self_values))
    scale = np.sqrt(users)[:, None] * np.sqrt(landmarks)[None, :]
    out: Floats = np.clip(np.nan_to_num(weight(values), nan=0.0) / scale, -1.0, 1.0)
    return out


def _self_weights(weights: Floats) -> Floats:
    """Return weights of users to themselves; where one is not positive, the mean of the others, or 1."""
    good = weights > 0  # False for NaN
    return np.where(good, weights, weights[good].mean() if good.any() else 1.0)
