"""What a rating is compared with: the habits of users, and of items, taken out before neighbors speak.

A 4 from someone who gives 5 to everything is faint praise. Each rule splits a rating into a *base*, what
to expect of this user and this item, and a *deviation* from it; neighbors lend deviations.

==============  ============================  ==========================
name            base of (u, i)                deviation
==============  ============================  ==========================
``none``        0                             r
``mean``        μ_u                           r - μ_u (the paper's)
``z-score``     μ_u                           (r - μ_u) / σ_u
``baseline``    μ + b_u + b_i                 r - μ - b_u - b_i
==============  ============================  ==========================
"""

from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from prefmover.data.ratings import Ratings
from prefmover.errors import InputError

__all__ = ["CENTERINGS", "Centering", "CenteringName"]

CenteringName: TypeAlias = Literal["none", "mean", "z-score", "baseline"]
CENTERINGS: tuple[CenteringName, ...] = ("none", "mean", "z-score", "baseline")

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

USER_SHRINKAGE, ITEM_SHRINKAGE = 5.0, 2.0
"""Ratings' worth of doubt about a bias: the ratio of the variance of ratings to that of biases.

Taken from a sample of MovieLens-1M users (docs/guide/predictions.md), not from MovieLens-100K.
"""

ROUNDS = 100
CONVERGED = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class Centering:
    """The base of every user and item under one rule.

    Attributes
    ----------
    name
        One of :data:`CENTERINGS`.
    mean
        μ, the mean of all ratings.
    user
        (n_users,) what to add for a user: μ_u - μ, or b_u; 0 for a user without ratings.
    item
        (n_items,) b_i, or 0.
    spread
        (n_users,) what deviations are divided by: σ_u for ``z-score``, else 1.

    Examples
    --------
    >>> ratings = Ratings.from_arrays(["ann", "ann", "bob"], ["x", "y", "y"], [5, 3, 2])
    >>> centering = Centering.of(ratings, "mean")
    >>> centering.base(np.array([0, 1]), np.array([1, 0]))
    array([4., 2.])
    >>> centering.deviations(ratings)
    array([ 1., -1.,  0.])
    """

    name: CenteringName
    mean: float
    user: Floats
    item: Floats
    spread: Floats

    @classmethod
    def of(cls, ratings: Ratings, name: str = "baseline") -> Self:
        """Return the centering of some ratings."""
        rule = _checked(name)
        mean = float(ratings.matrix.data.mean())
        n = np.diff(ratings.matrix.indptr)
        ones, none = np.ones(ratings.n_users), np.zeros(ratings.n_items)
        if rule == "none":
            return cls(rule, mean, np.full(ratings.n_users, -mean), none, ones)
        if rule == "baseline":
            return cls(rule, mean, *biases(ratings, mean), ones)
        rows = np.repeat(np.arange(ratings.n_users), n)
        own = np.bincount(rows, ratings.matrix.data - mean, ratings.n_users) / np.maximum(n, 1)
        if rule == "z-score":
            squares = np.bincount(rows, (ratings.matrix.data - mean - own[rows]) ** 2, ratings.n_users)
            deviation = np.sqrt(squares / np.maximum(n, 1))
            # A user who gives one same rating to everything has no unit of their own.
            ones = np.where(deviation > 1e-9 * max(1.0, ratings.scale.highest), deviation, 1.0)
        return cls(rule, mean, own, none, ones)

    def base(self, users: Index, items: Index) -> Floats:
        """Return the base of pairs of positions; -1 is an unknown user or item, of whom nothing is known."""
        user = np.where(users >= 0, self.user[users], 0.0)
        item = np.where(items >= 0, self.item[items], 0.0)
        if self.name == "none":  # no habits: an unknown user still deserves the mean as a fallback
            return np.where(users >= 0, 0.0, self.mean)
        return self.mean + user + item

    def fallback(self, users: Index, items: Index) -> Floats:
        """Return what to say when no neighbor speaks: the base, or the mean where there is none."""
        return np.full(len(users), self.mean) if self.name == "none" else self.base(users, items)

    def deviations(self, ratings: Ratings) -> Floats:
        """Return the deviation of each rating, in the order of ``ratings.matrix.data``."""
        rows = np.repeat(np.arange(ratings.n_users), np.diff(ratings.matrix.indptr))
        base = self.base(rows, ratings.matrix.indices.astype(np.int64))
        centered: Floats = (ratings.matrix.data - base) / self.spread[rows]
        return centered

    def of_new_user(self, items: Index, values: Floats) -> tuple[float, float]:
        """Return (user, spread) of one more user, from their ratings, all else left as it is."""
        if self.name == "none":
            return -self.mean, 1.0
        if not len(items):
            return 0.0, 1.0
        rest = values - self.mean - self.item[items]
        if self.name == "baseline":
            return float(rest.sum() / (len(items) + USER_SHRINKAGE)), 1.0
        spread = float(values.std()) if self.name == "z-score" else 1.0
        return float(rest.mean()), spread if spread > 0 else 1.0


def biases(
    ratings: Ratings,
    mean: float,
    user_shrinkage: float = USER_SHRINKAGE,
    item_shrinkage: float = ITEM_SHRINKAGE,
) -> tuple[Floats, Floats]:
    r"""Return b_u and b_i, shrunk toward 0.

    They are the minimum of

    .. math:: \sum (r_{ui} - \mu - b_u - b_i)^2 + \lambda_u \sum b_u^2 + \lambda_i \sum b_i^2

    found by turns, each exact given the other, until nothing moves (Koren, 2010; Surprise's ``als`` stops
    after ten rounds).
    """
    matrix = ratings.matrix
    n_u, n_i = np.diff(matrix.indptr), np.bincount(matrix.indices, minlength=ratings.n_items)
    rows = np.repeat(np.arange(ratings.n_users), n_u)
    rest = matrix.data - mean
    user, item = np.zeros(ratings.n_users), np.zeros(ratings.n_items)
    for _ in range(ROUNDS):
        item = np.bincount(matrix.indices, rest - user[rows], ratings.n_items) / (item_shrinkage + n_i)
        before = user
        user = np.bincount(rows, rest - item[matrix.indices], ratings.n_users) / (user_shrinkage + n_u)
        if np.abs(user - before).max(initial=0.0) <= CONVERGED:
            break
    return user, item


def _checked(name: Any) -> CenteringName:
    for known in CENTERINGS:
        if name == known:
            return known
    choices = ", ".join(f'"{known}"' for known in CENTERINGS)
    raise InputError(f"centering is {name!r}; choose one of {choices}")
