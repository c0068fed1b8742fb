"""Centering: the offsets of users and items, which are taken out of ratings before neighbors are averaged.

A 4 from a user who gives 5 to everything is faint praise. Each rule splits a rating into a *baseline*, the
rating to expect of this user for this item, and a *residual*; neighbors contribute residuals.

==============  ============================  ==========================
name            baseline of (u, i)            residual
==============  ============================  ==========================
``none``        0                             r
``mean``        μ_u                           r - μ_u (as in the paper)
``z-score``     μ_u                           (r - μ_u) / σ_u
``baseline``    μ + b_u + b_i                 r - μ - b_u - b_i
==============  ============================  ==========================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self, TypeAlias, get_args

import numpy as np

from prefmover._typing import Floats, Ints
from prefmover.data.ratings import Ratings
from prefmover.errors import InputError

__all__ = ["CENTERINGS", "Centering", "CenteringName", "biases", "check_centering"]

CenteringName: TypeAlias = Literal["none", "mean", "z-score", "baseline"]
CENTERINGS: tuple[CenteringName, ...] = get_args(CenteringName)

USER_SHRINKAGE, ITEM_SHRINKAGE = 5.0, 2.0
"""Shrinkage of biases, in ratings: the ratio of the variance of ratings to that of biases.

Taken from a sample of MovieLens-1M users (docs/guide/predictions.md), not from MovieLens-100K.
"""

ROUNDS = 100
CONVERGED = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class Centering:
    """The baselines of all users and items under one rule.

    Attributes
    ----------
    name
        One of :data:`CENTERINGS`.
    mean
        μ, the mean of all ratings.
    user
        (n_users,) user offsets: μ_u - μ, or b_u; 0 for a user without ratings.
    item
        (n_items,) item offsets: b_i, or 0.
    spread
        (n_users,) the units of residuals: σ_u for ``z-score``, else 1.

    Examples
    --------
    >>> ratings = Ratings.from_arrays(["ann", "ann", "bob"], ["x", "y", "y"], [5, 3, 2])
    >>> centering = Centering.fit(ratings, "mean")
    >>> centering.baseline(np.array([0, 1]), np.array([1, 0]))
    array([4., 2.])
    >>> centering.residuals(ratings)
    array([ 1., -1.,  0.])
    """

    name: CenteringName
    mean: float
    user: Floats
    item: Floats
    spread: Floats

    @classmethod
    def fit(cls, ratings: Ratings, name: CenteringName = "baseline") -> Self:
        """Return the centering of some ratings."""
        check_centering(name)
        mean = float(ratings.matrix.data.mean())
        n = np.diff(ratings.matrix.indptr)
        ones, zeros = np.ones(ratings.n_users), np.zeros(ratings.n_items)
        if name == "none":
            return cls(name, mean, np.full(ratings.n_users, -mean), zeros, ones)
        if name == "baseline":
            return cls(name, mean, *biases(ratings, mean), ones)
        rows = ratings.rows()
        offsets = np.bincount(rows, ratings.matrix.data - mean, ratings.n_users) / np.maximum(n, 1)
        if name == "z-score":
            squares = np.bincount(rows, (ratings.matrix.data - mean - offsets[rows]) ** 2, ratings.n_users)
            deviation = np.sqrt(squares / np.maximum(n, 1))
            # A user who gives the same rating to everything has no unit.
            ones = np.where(deviation > 1e-9 * max(1.0, ratings.scale.highest), deviation, 1.0)
        return cls(name, mean, offsets, zeros, ones)

    def baseline(self, users: Ints, items: Ints) -> Floats:
        """Return the baseline of pairs of positions; -1 is an unknown user or item, whose offset is 0."""
        if self.name == "none":  # there are no offsets; an unknown user gets the mean as a fallback
            return np.where(users >= 0, 0.0, self.mean)
        user = np.where(users >= 0, self.user[users], 0.0)
        item = np.where(items >= 0, self.item[items], 0.0)
        return self.mean + user + item

    def residuals(self, ratings: Ratings) -> Floats:
        """Return the residual of each rating, in the order of ``ratings.matrix.data``."""
        rows = ratings.rows()
        baseline = self.baseline(rows, ratings.matrix.indices.astype(np.int64))
        return (ratings.matrix.data - baseline) / self.spread[rows]

    def new_user(self, items: Ints, values: Floats) -> tuple[float, float]:
        """Return the offset and the spread of one more user, from the user's ratings."""
        if self.name == "none":
            return -self.mean, 1.0
        if not len(items):
            return 0.0, 1.0
        rest = values - self.mean - self.item[items]
        if self.name == "baseline":
            return float(rest.sum() / (len(items) + USER_SHRINKAGE)), 1.0
        spread = float(values.std()) if self.name == "z-score" else 1.0
        return float(rest.mean()), spread if spread > 0 else 1.0


def biases(ratings: Ratings, mean: float) -> tuple[Floats, Floats]:
    r"""Return the biases b_u and b_i, shrunk toward 0.

    They minimize

    .. math:: \sum (r_{ui} - \mu - b_u - b_i)^2 + \lambda_u \sum b_u^2 + \lambda_i \sum b_i^2

    and are found by alternating, each exact given the other, until nothing changes (Koren, 2010; Surprise's
    ``als`` stops after ten rounds).
    """
    matrix = ratings.matrix
    n_u, n_i = np.diff(matrix.indptr), np.bincount(matrix.indices, minlength=ratings.n_items)
    rows, rest = ratings.rows(), matrix.data - mean
    user, item = np.zeros(ratings.n_users), np.zeros(ratings.n_items)
    for _ in range(ROUNDS):
        item = np.bincount(matrix.indices, rest - user[rows], ratings.n_items) / (ITEM_SHRINKAGE + n_i)
        before = user
        user = np.bincount(rows, rest - item[matrix.indices], ratings.n_users) / (USER_SHRINKAGE + n_u)
        if np.abs(user - before).max(initial=0.0) <= CONVERGED:
            break
    return user, item


def check_centering(name: object) -> None:
    """Raise an error that lists the names, unless this is one of them."""
    if name not in CENTERINGS:
        choices = ", ".join(f'"{known}"' for known in CENTERINGS)
        raise InputError(f"centering is {name!r}; choose one of {choices}")
