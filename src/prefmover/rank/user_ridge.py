r"""The user side of a ranking: what people with the user's taste like (kernel ridge regression over users).

The target R (users x items) is what the item side leaves of the likes. With a kernel of users K = ΦΦᵀ and a
penalty λ,

.. math:: S = K (K + \lambda I)^{-1} R = \Phi W, \qquad W = (\Phi^T\Phi + \lambda I)^{-1} \Phi^T R,
          \qquad A = (K + \lambda I)^{-1} R = (R - \Phi W) / \lambda,

so the score of item j for user u is Σ_v K_uv A_vj, a sum over users: the closer v and the more v likes j
beyond what was expected, the larger the part.

A user's own row is left out of the user's own score, as if the user had come after the fit. With the leverage
h_u = φ_uᵀ (ΦᵀΦ + λI)⁻¹ φ_u, that is

.. math:: S_u^{(-u)} = (S_u - h_u R_u) / (1 - h_u), \qquad
          A_v^{(-u)} = A_v + \frac{K^{-}_{vu}}{1 - h_u} A_u, \qquad
          K^{-}_{vu} = \phi_v^T (\Phi^T\Phi + \lambda I)^{-1} \phi_u.

For items that the user has not rated, the item side plus this is 1 / (1 - h_u) times the item side plus S_u:
the order of the items is the same. But now users of the data and guests are treated alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from prefmover._typing import Floats, Ints, Singles
from prefmover.errors import InputError
from prefmover.predict.low_rank import LowRankKernel

__all__ = ["UserSide"]


@dataclass(frozen=True, eq=False)
class UserSide:
    """A solved regression over users.

    Attributes
    ----------
    kernel
        The users as features.
    penalty
        λ.
    inverse
        (rank, rank) (ΦᵀΦ + λI)⁻¹.
    weights
        (rank, n_items) W.
    """

    kernel: LowRankKernel
    penalty: float
    inverse: Singles
    weights: Singles

    @classmethod
    def fit(cls, kernel: LowRankKernel, moment: Singles, penalty: float) -> Self:
        """Return the user side, given ΦᵀR, (rank, n_items).

        Examples
        --------
        >>> kernel = LowRankKernel.fit(np.array([0, 1]), np.array([[1.0, 0.5], [0.5, 1.0]]).__getitem__, 2)
        >>> side = UserSide.fit(kernel, kernel.features.T, penalty=1.0)  # R is the identity
        >>> (kernel.features @ side.weights).round(4)  # K (K + I)^-1
        array([[0.4667, 0.1333],
               [0.1333, 0.4667]], dtype=float32)
        """
        from scipy.linalg import cho_factor, cho_solve

        if not 0 < penalty < np.inf:
            raise InputError(f"the penalty of the user side is {penalty!r}; give a number above 0")
        gram = (kernel.features.T @ kernel.features).astype(np.float64)
        gram[np.diag_indices_from(gram)] += penalty
        inverse = cho_solve(cho_factor(gram, lower=True), np.eye(len(gram)))
        symmetric: Singles = ((inverse + inverse.T) / 2).astype(np.float32)
        return cls(kernel, penalty, symmetric, symmetric @ moment)

    def leverage(self, users: Ints) -> Floats:
        """Return h_u of users by position."""
        some = self.kernel.features[users]
        h: Floats = np.einsum("ur,ur->u", some @ self.inverse, some, dtype=np.float64)
        return h

    def scores(self, features: Singles) -> Singles:
        """Return the scores of users with these features who are not in the data, (n, n_items)."""
        return features @ self.weights

    def own_scores(self, users: Ints, target: Singles) -> Singles:
        """Return the scores of users of the data, without their own rows; ``target`` is R of these users."""
        h: Singles = self.leverage(users)[:, None].astype(np.float32)
        scores = self.scores(self.kernel.features[users]) - h * target
        return np.asarray(scores / (1 - h), np.float32)

    def parts(
        self, features: Singles, position: int, residuals: Singles, users: Ints | None = None
    ) -> Floats:
        """Return the part of each user in a user's score of items, (users, items): K_uv A_vj.

        Parameters
        ----------
        features
            (rank,) the user.
        position
            The user's position, -1 for a guest; a user of the data has no part in their own score.
        residuals
            (users, items) R of these users and items, less the scores Φ W: λ A.
        users
            Positions of the users, the user's own among them; all users by default.
        """
        phi = self.kernel.features if users is None else self.kernel.features[users]
        coefficients = residuals.astype(np.float64) / self.penalty
        own = np.flatnonzero(users == position)[0] if users is not None and position >= 0 else position
        if position >= 0:
            through = (phi @ (self.inverse @ features)).astype(np.float64)
            coefficients += np.outer(through / (1 - through[own]), coefficients[own])
        parts = (phi @ features).astype(np.float64)[:, None] * coefficients
        if position >= 0:
            parts[own] = 0.0
        return parts

    def replaced(self, user: int, features: Singles, unexplained: float, old: Singles, new: Singles) -> Self:
        """Return the side with one row changed: features, and target from ``old`` to ``new``, (n_items,).

        Rank-one updates: the row is taken out and put in again.
        """
        phi = self.kernel.features[user]
        inverse, weights = _row_out(self.inverse, self.weights, phi, old)
        inverse, weights = _row_in(inverse, weights, features, new)
        place = np.array([user]), features[None], np.array([unexplained])
        kernel = self.kernel.with_rows(*place, len(self.kernel.features))
        return replace(self, kernel=kernel, inverse=inverse, weights=weights)

    def extended(self, kernel: LowRankKernel, target: Iterable[Singles]) -> Self:
        """Return the side with more users: those of ``kernel``, with the target of the new ones."""
        inverse, weights = self.inverse, self.weights
        for features, row in zip(kernel.features[len(self.kernel.features) :], target, strict=True):
            inverse, weights = _row_in(inverse, weights, features, row)
        return replace(self, kernel=kernel, inverse=inverse, weights=weights)


def _row_in(inverse: Singles, weights: Singles, phi: Singles, target: Singles) -> tuple[Singles, Singles]:
    """Add a row φ, with its target, by the formula of Sherman and Morrison."""
    step = inverse @ phi
    gain = step / (1 + phi @ step)
    return inverse - np.outer(gain, step), weights + np.outer(gain, target - phi @ weights)


def _row_out(inverse: Singles, weights: Singles, phi: Singles, target: Singles) -> tuple[Singles, Singles]:
    """Take a row out."""
    step = inverse @ phi
    gain = step / (1 - phi @ step)
    return inverse + np.outer(gain, step), weights - np.outer(gain, target - phi @ weights)
