"""How much say users have in each other's predictions, as inner products.

A weight such as exp(-γ D(u, v)) is made into a covariance K of users, K_uu = 1. It is kept in factors,
K = ΦΦᵀ + diag(ψ): each user is compared with *landmarks* only, so that fitting takes landmarks x users
distances and not users x users, and a new user costs as many distances as there are landmarks (Nyström's
method; Williams and Seeger, 2001). While all users are landmarks nothing is approximated. ψ_u is the part of
user u that landmarks do not explain.
"""

from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from prefmover.errors import InputError
from prefmover.measures.weights import Weight

__all__ = ["UserKernel", "check_array", "choose_landmarks", "say"]

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
Singles: TypeAlias = npt.NDArray[np.float32]

LEAST_EIGENVALUE = 1e-4
"""Directions in which landmarks differ by less than this are noise, and are left to ψ."""


@dataclass(frozen=True, slots=True, eq=False)
class UserKernel:
    """K = ΦΦᵀ + diag(ψ).

    Attributes
    ----------
    landmarks
        Positions of the users everybody is compared with.
    whitening
        (landmarks, rank): weights to the landmarks, times this, are features.
    features
        (n_users, rank) Φ.
    rest
        (n_users,) ψ, from 0.
    """

    landmarks: Index
    whitening: Singles
    features: Singles
    rest: Floats

    def check(self, n_users: int) -> None:
        """Raise unless the arrays fit so many users: landmarks go where no bounds are checked."""
        m, rank = len(self.landmarks), self.whitening.shape[-1]
        check_array("landmarks", self.landmarks, np.int64, (m,))
        if m and not 0 <= self.landmarks.min() <= self.landmarks.max() < n_users:
            raise InputError(f"landmarks is damaged: positions beyond the {n_users:,} users")
        check_array("whitening", self.whitening, np.float32, (m, rank))
        check_array("features", self.features, np.float32, (n_users, rank))
        check_array("rest", self.rest, np.float64, (n_users,))

    @classmethod
    def of(cls, weights: Floats, landmarks: Index) -> Self:
        """Return the kernel of (n_users, landmarks) weights, 1 at equal users, 0 where undefined.

        Weights need not be a covariance: of the landmarks' own, the symmetric part is taken, and negative
        eigenvalues are cut off.

        Examples
        --------
        >>> kernel = UserKernel.of(np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([0, 1]))
        >>> (kernel.features @ kernel.features.T).round(3)
        array([[1. , 0.5],
               [0.5, 1. ]], dtype=float32)
        """
        own = weights[landmarks]
        values, vectors = np.linalg.eigh((own + own.T) / 2)
        kept = values > LEAST_EIGENVALUE
        whitening = vectors[:, kept] / np.sqrt(values[kept])
        empty = np.empty((0, int(kept.sum())), np.float32)
        none = cls(landmarks, whitening.astype(np.float32), empty, np.empty(0))
        return none.extended(weights)

    @property
    def rank(self) -> int:
        """The number of features."""
        return int(self.whitening.shape[1])

    def place(self, weights: Floats) -> tuple[Singles, Floats]:
        """Return Φ and ψ of users with these weights to the landmarks, (users, landmarks)."""
        features = weights.astype(np.float32) @ self.whitening
        # No user is explained by more than all of themselves.
        size = np.einsum("ur,ur->u", features, features, dtype=np.float64)
        features *= (1 / np.sqrt(np.maximum(size, 1.0))).astype(np.float32)[:, None]
        return features, np.maximum(0.0, 1.0 - size)

    def extended(self, weights: Floats) -> Self:
        """Return the kernel with more users, given by their weights to the landmarks."""
        features, rest = self.place(weights)
        return replace(
            self,
            features=np.concatenate([self.features, features]),
            rest=np.concatenate([self.rest, rest]),
        )

    def between(self, features: Singles) -> Floats:
        """Return K between a user with these features, (rank,), and everybody of the kernel."""
        with_all: Floats = (self.features @ features).astype(np.float64)
        return with_all

    def mean(self) -> float:
        """Return the mean of K over pairs of different users."""
        n = len(self.features)
        if n < 2:
            return 0.0
        total = self.features.sum(axis=0, dtype=np.float64)
        own = np.einsum("ur,ur->", self.features, self.features, dtype=np.float64)
        return float((total @ total - own) / (n * (n - 1)))


def check_array(
    name: str, array: npt.NDArray[Any], dtype: npt.DTypeLike, shape: tuple[int, ...], *, finite: bool = True
) -> None:
    """Raise unless an array is of this type and shape, and finite."""
    if array.dtype != dtype or array.shape != shape:
        raise InputError(
            f"{name} is damaged: {array.dtype} of shape {array.shape}; expected {np.dtype(dtype)} of {shape}"
        )
    if finite and array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError(f"{name} is damaged: a number is missing or infinite")


def choose_landmarks(counts: Index, most: int, seed: int) -> Index:
    """Return positions of users who have ratings: all, if up to twice ``most``, else a sample of ``most``."""
    able = np.flatnonzero(counts > 0)
    if len(able) <= 2 * most:
        return able
    return np.sort(np.random.default_rng(seed).choice(able, most, replace=False))


def say(values: Floats, weight: Weight, own: Floats, landmark_own: Floats) -> Floats:
    """Return weights scaled so that everybody's weight to themselves is 1, within [-1, 1].

    Parameters
    ----------
    values
        (users, landmarks) of a measure, NaN where undefined.
    own, landmark_own
        The measure's value of users, and of landmarks, with themselves.
    """
    scale = np.sqrt(_size(weight(own)))[:, None] * np.sqrt(_size(weight(landmark_own)))[None, :]
    out: Floats = np.clip(np.nan_to_num(weight(values), nan=0.0) / scale, -1.0, 1.0)
    return out


def _size(own: Floats) -> Floats:
    """Return a user's weight to themselves; where it is undefined or 0 that of the rest, or 1."""
    good = own > 0  # False for NaN
    return np.where(good, own, own[good].mean() if good.any() else 1.0)
