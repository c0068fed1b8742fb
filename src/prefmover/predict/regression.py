r"""Gaussian process regression over users and items: every rating contributes to similar users and items.

A rating is μ plus parts that it shares with other ratings, plus noise. The covariance of two ratings (u, i)
and (v, j) says how much they share. It has a part for each way to share: by all users, by the same user, by
similar users; for all items, for the same item, for similar items:

=================  ============  ===============  =====================
shared by          all items     the same item    similar items
=================  ============  ===============  =====================
all users          ``level``     ``item``         ``similar_items``
the same user      ``user``      (noise: 1)       ``taste``
similar users                    ``neighbors``    ``shared_taste``
=================  ============  ===============  =====================

.. math:: k = \ell + s_u\delta_{uv} + s_i\delta_{ij} + s_I k_I + s_t\,\delta_{uv} k_I
              + K_{uv}\,(s_n\delta_{ij} + s_s k_I), \qquad k_I(i, j) = e^{-\eta d(i, j)}

Each number is a variance in units of the noise, so that it does not depend on the scale of the ratings. The
prediction is the expected rating given all ratings (the mean of a Gaussian process, or kernel ridge
regression): μ + Σ k α over all ratings (v, j), where (k + 1) α = r - μ is solved by conjugate residuals. The
sum over ratings is a sum over neighbors: K_uv times the *residual* of v for the item.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from prefmover._typing import Bools, Floats, Ints
from prefmover.data.ratings import Ratings
from prefmover.errors import InputError, NotOptimalError
from prefmover.execution.memory import require
from prefmover.execution.threads import run
from prefmover.items.geometry import ItemGeometry
from prefmover.predict.item_kernel import LANDMARKS, MAX_EXACT, ItemKernel
from prefmover.predict.row_sums import row_parts, sum_rows
from prefmover.predict.user_kernel import Singles, UserKernel, check_array

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Covariance", "Effort", "Regression", "UserCoefficients", "require_room", "solve"]

ITEM_BYTES = 32
"""Memory for each item and direction of items while fitting: features, sums and temporary arrays. (Measured
on 4,000 users x 20,000 items: 25 with 600 directions, and 29 with 160.)"""

USER_BYTES, LARGE_USER_BYTES = 48, 24
"""Memory for each user and landmark: values, weights, features and temporary arrays. (Measured: 44, and 21
with :data:`LARGE_RANK` directions.)"""

TOLERANCE = 1e-3
"""Norm of the residual, relative to that of the ratings, at which conjugate residuals end. On MovieLens-100K,
predictions at 1e-2 and at 1e-4 differ by less than .0003 of MAE."""

LARGE = 4_000_000
"""Ratings beyond which a fit saves work: see :class:`Effort`."""

LARGE_RANK, LARGE_TOLERANCE = 160, 2e-2

ITERATIONS = 400
BLOCK_ITEMS = 2048
SWEEPS = 2  # of the preconditioner, over users and items


@dataclass(frozen=True, slots=True)
class Covariance:
    """Variances of the parts that ratings share, in units of the noise: the table at the top of this module.

    The defaults were chosen on held-out ratings of 900 users of MovieLens-1M, half of them at the sparsest
    training share of the figures and half at a medium one; no other data set was used
    (docs/guide/predictions.md).

    Attributes
    ----------
    level, item, similar_items
        Shared by all users: for all items, the same item, similar items.
    user, taste
        Shared by the ratings of the same user: for all items, similar items.
    neighbors, shared_taste
        Shared by similar users: for the same item, similar items.
    item_rate
        η in k_I = exp(-η d): how fast the similarity of items decreases with their distance.
    """

    level: float = 0.1
    user: float = 0.2
    item: float = 0.25
    similar_items: float = 0.25
    taste: float = 0.125
    neighbors: float = 0.125
    shared_taste: float = 0.5
    item_rate: float = 1.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 <= value < np.inf:
                raise InputError(f"{field.name} is {value!r}; give a number from 0")
        if not (self.item > 0 and self.user > 0):
            raise InputError(f"user is {self.user!r} and item is {self.item!r}; both must be above 0")


class Effort(NamedTuple):
    """How much work a fit of many ratings takes.

    Every rating is used, however many there are. Beyond :data:`LARGE` ratings, users and items are compared
    only in their 160 largest common directions (the rest of each counts as its own), and conjugate residuals
    end at a residual of 2e-2. Forced on MovieLens-100K, with four fifths of the ratings for training, that
    costs .0003 and .0009 of MAE on two splits (.7071 to .7074, .7081 to .7090), all through the directions.

    Attributes
    ----------
    max_rank
        The largest rank of the covariances of users and of items; None means all.
    tolerance
        Norm of the residual, relative to that of the ratings, at which conjugate residuals end.
    """

    max_rank: int | None
    tolerance: float

    @classmethod
    def of(cls, ratings: Ratings) -> Effort:
        """Return the effort for a number of ratings."""
        return cls(LARGE_RANK, LARGE_TOLERANCE) if ratings.n_ratings > LARGE else cls(None, TOLERANCE)


class UserCoefficients(NamedTuple):
    """The regression of one user: a user of the data, a guest, or an unknown user without ratings.

    Attributes
    ----------
    items, alpha
        Positions of the rated items, and the coefficients of the ratings.
    features
        (rank,) the user in the kernel.
    rest
        The part of the user's variance that is not in the features of the data's users: ψ_u; 1 for a guest,
        whose ratings are not among the data.
    offset
        The part that the user adds to all predictions.
    """

    items: Ints
    alpha: Floats
    features: Singles
    rest: float
    offset: float


@dataclass(frozen=True, eq=False)
class Regression:
    """A solved regression: coefficients, and the sums of them that predictions need.

    Attributes
    ----------
    ratings
        Training ratings.
    items
        The covariance k_I of items.
    kernel
        The covariance of users.
    covariance
        The variances.
    mean
        The intercept: μ and the part that all ratings share.
    alpha
        (n_ratings,) one coefficient for each rating, (rating - fitted) in units of the noise.
    user, item, similar_items
        (n_users,), (n_items,), (n_items,) offsets of users, of items, and of items through similar ones.
    item_factors
        (n_items, rank): times a user's features, the contribution of similar users to each item.
    """

    ratings: Ratings
    items: ItemKernel
    kernel: UserKernel
    covariance: Covariance
    mean: float
    alpha: Floats
    user: Floats
    item: Floats
    similar_items: Floats
    item_factors: Singles

    def check(self) -> None:
        """Raise an error unless the arrays fit the ratings and each other; for models from files."""
        n, m = self.ratings.n_users, self.ratings.n_items
        self.kernel.check(n)
        self.items.check(m)
        sizes = {"alpha": self.ratings.n_ratings, "user": n, "item": m, "similar_items": m}
        for name, size in sizes.items():
            check_array(name, getattr(self, name), np.float64, (size,))
        check_array("item_factors", self.item_factors, np.float32, (m, self.kernel.rank))
        if not isinstance(self.mean, float) or not np.isfinite(self.mean):
            raise InputError(f"mean is damaged: {self.mean!r} is not a finite number")

    def baseline(self, offsets: Floats, items: Ints) -> Floats:
        """Return the ratings to expect before neighbors contribute; -1 is an unknown item."""
        item_offsets = self.item + self.similar_items
        return self.mean + offsets + np.where(items >= 0, item_offsets[items], 0.0)

    def coefficients(self, user: int) -> UserCoefficients:
        """Return the coefficients of a user by position; those of an unknown user for -1."""
        if user < 0:
            nothing = np.empty(0, np.int64), np.empty(0), np.zeros(self.kernel.rank, np.float32)
            return UserCoefficients(*nothing, 0.0, 0.0)
        items, _ = self.ratings.row(user)
        first, last = self.ratings.matrix.indptr[user : user + 2]
        rest, offset = float(self.kernel.rest[user]), float(self.user[user])
        return UserCoefficients(items, self.alpha[first:last], self.kernel.features[user], rest, offset)

    def new_coefficients(self, items: Ints, values: Floats, features: Singles) -> UserCoefficients:
        """Return the coefficients of one more user with these ratings, given those of all others.

        The mean and the offsets of items stay as they are.
        """
        s = self.covariance
        expected = self.baseline(np.zeros(len(items)), items) + self.item_factors[items] @ features
        similarity = self.items.block(items, items)
        k = s.user + (s.taste + s.shared_taste) * similarity + (s.neighbors + 1) * np.eye(len(items))
        alpha: Floats = np.linalg.solve(k, values - expected).astype(np.float64)
        return UserCoefficients(items, alpha, features, 1.0, s.user * float(alpha.sum()))

    def updated(self, ratings: Ratings, users: Ints, features: Singles, rest: Floats) -> Regression:
        """Return the regression with other ratings of some users, known or new.

        These users are solved for, one after the other, given all others: they get the coefficients of a
        guest, and contribute to others as neighbors. The coefficients of others, the mean and the offsets
        of items stay as they are.

        Parameters
        ----------
        ratings
            All ratings. Present users have their positions, and new ones come after them.
        users
            Positions of the users whose ratings are new.
        features, rest
            (users, rank) and (users,) their places in the kernel.
        """
        n_before, n = self.ratings.n_users, ratings.n_users
        user = np.concatenate([self.user, np.zeros(n - n_before)])
        now = replace(self, item_factors=self.item_factors.copy())
        alpha = np.empty(ratings.n_ratings)
        alpha[~np.isin(ratings.rows(), users)] = self.alpha[~np.isin(self.ratings.rows(), users)]
        for u, place in zip(users.tolist(), features, strict=True):
            if u < n_before:
                before = self.coefficients(u)
                now._add_neighbor(before.items, -before.alpha, before.features)
            one = now.new_coefficients(*ratings.row(u), place)
            now._add_neighbor(one.items, one.alpha, place)
            user[u] = one.offset
            alpha[ratings.matrix.indptr[u] : ratings.matrix.indptr[u + 1]] = one.alpha
        kernel = self.kernel.replaced(users, features, rest, n)
        return replace(now, ratings=ratings, kernel=kernel, alpha=alpha, user=user)

    def _add_neighbor(self, items: Ints, alpha: Floats, features: Singles) -> None:
        """Add the contributions of a user to the item factors, in place."""
        s, everything = self.covariance, np.arange(len(self.item_factors))
        spread = s.shared_taste * self.items.sums(items, alpha, everything)
        self.item_factors[:] += np.outer(spread, features).astype(np.float32)
        self.item_factors[items] += np.outer(s.neighbors * alpha, features).astype(np.float32)

    def with_items(self, ratings: Ratings, geometry: ItemGeometry | None) -> Regression:
        """Return the regression with more items, which nobody has rated: those at the end of ``ratings``."""
        s, n = self.covariance, len(self.item)
        items = self.items.with_items(geometry, s.item_rate, ratings.n_items)
        before, more = items.features[:n], items.features[n:]
        by_user = np.asarray(_like(self.ratings.matrix, self.alpha).T @ self.kernel.features)
        similar = s.similar_items * (more @ (before.T @ (self.item / s.item)))
        factors = (s.shared_taste * (more @ (before.T @ by_user))).astype(np.float32)
        return replace(
            self,
            ratings=ratings,
            items=items,
            item=np.concatenate([self.item, np.zeros(len(more))]),
            similar_items=np.concatenate([self.similar_items, similar.astype(np.float64)]),
            item_factors=np.concatenate([self.item_factors, factors]),
        )

    def personal(self, user: UserCoefficients, items: Ints) -> Floats:
        """Return the sum of the contributions of similar users and of the user's taste to items."""
        neighbors = (self.item_factors[items] @ user.features).astype(np.float64)
        return neighbors + self.taste(user, items)

    def taste(self, user: UserCoefficients, items: Ints) -> Floats:
        """Return the contribution of a user's own ratings to items, without the part in the features."""
        s, own = self.covariance, np.zeros(self.ratings.n_items)
        own[user.items] = user.alpha
        taste = (s.taste + user.rest * s.shared_taste) * self.items.sums(user.items, user.alpha, items)
        return taste + user.rest * s.neighbors * own[items]

    def item_weights(self, items: Ints) -> Floats:
        """Return how much ratings of all items count for some: s_n δ + s_s k_I, (n_items, items)."""
        weights = self.covariance.shared_taste * self.items.columns(items)
        weights[items, np.arange(len(items))] += self.covariance.neighbors
        return weights

    def residuals(self, item_weights: Floats) -> Floats:
        """Return how much more than expected all users like items, (n_users, items), given their weights."""
        return np.asarray(_like(self.ratings.matrix, self.alpha) @ item_weights)

    @property
    def reaches_all_items(self) -> bool:
        """Whether a user with a residual for one item has one for every item, through similar items."""
        return self.items.rank > 0 and self.covariance.shared_taste > 0

    @cached_property
    def has_any_residual(self) -> Bools:
        """(n_users,) which users have a coefficient other than 0."""
        before = np.concatenate([[0], np.cumsum(self.alpha != 0)])
        return np.diff(before[self.ratings.matrix.indptr]) > 0

    @cached_property
    def _rated_residuals(self) -> csr_array:
        """(n_users, n_items) 1 where a user has a residual for an item by rating it, for counting."""
        weight = self.covariance.neighbors + self.covariance.shared_taste
        return _like(self.ratings.matrix, ((self.alpha != 0) & (weight > 0)).astype(np.int64))

    def has_residual(self, items: Ints) -> Bools:
        """Return which users have a residual for each item, (n_users, items)."""
        if self.reaches_all_items:
            return np.repeat(self.has_any_residual[:, None], len(items), axis=1)
        return self._rated_residuals[:, items].toarray() > 0

    def count_residuals(self, chosen: Bools, items: Ints) -> Ints | int:
        """Return how many of the chosen users, a mask, have a residual for each item."""
        if self.reaches_all_items:
            return int(np.count_nonzero(chosen & self.has_any_residual))
        return (self._rated_residuals.T @ chosen.astype(np.int64))[items]


def solve(
    ratings: Ratings,
    geometry: ItemGeometry | None,
    kernel: UserKernel,
    covariance: Covariance,
    start: Floats | None = None,
    n_threads: int | None = None,
) -> Regression:
    """Return the regression of some ratings, which begins with the coefficients ``start``."""
    require_room(ratings, len(kernel.landmarks))
    n_ratings = np.bincount(ratings.matrix.indices, minlength=ratings.n_items)
    effort = Effort.of(ratings)
    items = ItemKernel.from_geometry(geometry, covariance.item_rate, n_ratings, effort.max_rank)
    system = _System(ratings, items, kernel, covariance, n_threads)
    mean = float(ratings.matrix.data.mean())
    alpha = _conjugate_residuals(system, ratings.matrix.data - mean, start, effort.tolerance)
    per_user, per_item = system.sums(alpha)
    intercept = mean + covariance.level * float(alpha.sum())
    user, item = covariance.user * per_user, covariance.item * per_item
    similar_items = covariance.similar_items * system.over_items(per_item)
    solved = intercept, alpha, user, item, similar_items, system.item_factors(alpha)
    return Regression(ratings, items, kernel, covariance, *solved)


def require_room(ratings: Ratings, n_landmarks: int) -> None:
    """Raise an error if a regression of this size is too large; called before users are compared."""
    n_users, n_items, most = ratings.n_users, ratings.n_items, Effort.of(ratings).max_rank
    directions = min(n_items if n_items <= MAX_EXACT else LANDMARKS, most or n_items)
    per_user = n_landmarks * (USER_BYTES if most is None else LARGE_USER_BYTES)
    require(
        n_users * per_user + n_items * directions * ITEM_BYTES,
        f"the kernel model of {n_users:,} users and {n_items:,} items with {n_landmarks:,} landmarks",
        "lower `landmarks`, use KNNRecommender, or leave out items with few ratings",
    )


class _System:
    """(k + 1) as a linear map on coefficients, with a preconditioner.

    Sums over all ratings are never formed for pairs of items. With S = ΦᵀV (rank, items), where V has the
    coefficients of the ratings, the covariance of rating (u, i) with all ratings is a product of two rows:
    φ_u · (s_n + s_s χ_i) S_i of similar users and the same item, plus ψ_i · z_u of similar items.
    """

    def __init__(
        self,
        ratings: Ratings,
        items: ItemKernel,
        kernel: UserKernel,
        covariance: Covariance,
        n_threads: int | None,
    ) -> None:
        self.matrix, self.kernel, self.items, self.covariance = ratings.matrix, kernel, items, covariance
        self.n_threads = n_threads
        self.rows = ratings.rows()
        self.columns = ratings.matrix.indices.astype(np.int64)
        self.by_item = np.argsort(self.columns, kind="stable")
        n_ratings = np.bincount(self.columns, minlength=ratings.n_items)
        self.item_first = np.concatenate([[0], np.cumsum(n_ratings)])
        self.item_raters = self.rows[self.by_item]
        self._factorize(n_ratings)

    def sums(self, values: Floats) -> tuple[Floats, Floats]:
        """Return the sums of values, one for each rating, by user and by item."""
        return self.sums_by_user(values), self.sums_by_item(values)

    def sums_by_user(self, values: Floats) -> Floats:
        """Return the sums of values, one for each rating, by user."""
        return np.bincount(self.rows, values, self.matrix.shape[0]).astype(np.float64, copy=False)

    def sums_by_item(self, values: Floats) -> Floats:
        """Return the sums of values, one for each rating, by item."""
        return np.bincount(self.columns, values, self.matrix.shape[1]).astype(np.float64, copy=False)

    def over_items(self, values: Floats) -> Floats:
        """Return values (n_items,) times k_I: spread over similar items."""
        features = self.items.features
        through = (features @ (features.T @ values.astype(np.float32))).astype(np.float64)
        return through + self.items.rest * values

    def item_sums(self, alpha: Floats) -> Singles:
        """Return (ΦᵀV)ᵀ, (n_items, rank): the coefficients of each item's raters, times their features."""
        values = alpha[self.by_item].astype(np.float32)
        return sum_rows(
            self.item_first, self.item_raters, values, self.kernel.features, n_threads=self.n_threads
        )

    def user_sums(self, alpha: Floats) -> Singles:
        """Return VΨ, (n_users, item rank): the coefficients of each user's ratings, times items' features."""
        m, singles = self.matrix, alpha.astype(np.float32)
        return sum_rows(m.indptr, m.indices, singles, self.items.features, n_threads=self.n_threads)

    def item_factors(self, alpha: Floats) -> Singles:
        """Return (Φᵀ V (s_n + s_s k_I))ᵀ, (n_items, rank)."""
        s, sums = self.covariance, self.item_sums(alpha)
        through = self._through(sums, self.user_sums(alpha))
        sums *= (s.neighbors + s.shared_taste * self.items.rest).astype(np.float32)[:, None]
        for first in range(0, len(sums), BLOCK_ITEMS):
            block = slice(first, first + BLOCK_ITEMS)
            sums[block] += self.items.features[block] @ through.T
        return sums

    def _through(self, item_sums: Singles, user_sums: Singles) -> Singles:
        """Return s_s ΦᵀVΨ, (rank, item rank), by users or by items, whichever are fewer."""
        by_users = len(user_sums) < len(item_sums)
        product = self.kernel.features.T @ user_sums if by_users else item_sums.T @ self.items.features
        return np.asarray(np.float32(self.covariance.shared_taste) * product)

    def multiply(self, alpha: Floats) -> Floats:
        """Return (k + 1) α."""
        s, rest, items = self.covariance, self.kernel.rest, self.items
        per_user, per_item = self.sums(alpha)
        by_item = s.item * per_item + s.similar_items * self.over_items(per_item)
        out: Floats = alpha + s.level * alpha.sum() + s.user * per_user[self.rows] + by_item[self.columns]
        # What a user's ratings share with each other and with nobody else's.
        own, same = s.taste + rest * s.shared_taste, rest * s.neighbors
        out += (own[self.rows] * items.rest[self.columns] + same[self.rows]) * alpha
        sums, through = self.item_sums(alpha), self.user_sums(alpha)
        common = self._through(sums, through)
        through *= own.astype(np.float32)[:, None]
        through += self.kernel.features @ common
        sums *= (s.neighbors + s.shared_taste * items.rest).astype(np.float32)[:, None]
        out += self._products(through, items.features, self.kernel.features, sums)
        return out

    def _products(self, *rows: Singles) -> Singles:
        from prefmover.execution.jit import for_work
        from prefmover.predict._regression import products

        indptr, indices, out = self.matrix.indptr, self.matrix.indices, np.empty(len(self.rows), np.float32)
        multiply = for_work(products, 10 * len(out))
        run(
            lambda part: multiply(indptr, indices, *rows, *part, out),
            row_parts(len(indptr) - 1),
            n_threads=self.n_threads,
        )
        return out

    def _factorize(self, n_ratings: Ints) -> None:
        """Factorize a simpler model: users, items, and the taste that all users share.

        The rest of the covariance is replaced by its diagonal. The covariance of items is then
        A = diag(a) + WWᵀ in low rank. With N the numbers of ratings per unit of noise,

            (A⁻¹ + N)⁻¹ = a / (1 + aN) + B (I + Wᵀ N / (1 + aN) W)⁻¹ Bᵀ,   B = W / (1 + aN).
        """
        from scipy.linalg import cho_factor

        s, common = self.covariance, max(self.kernel.mean(), 0.0)
        self.noise = 1.0 + (1.0 - common) * (s.neighbors + s.shared_taste) + s.taste
        self.user_share = 1.0 / (np.diff(self.matrix.indptr) + self.noise / s.user)
        shared, n = s.similar_items + common * s.shared_taste, n_ratings / self.noise
        own = s.item + common * s.neighbors + shared * self.items.rest
        rank, share = self.items.rank, 1.0 / (1.0 + own * n)
        W = np.empty((len(n), rank + 1))
        np.multiply(self.items.features, shared**0.5, out=W[:, :rank])
        W[:, rank] = s.level**0.5
        W *= np.sqrt(share)[:, None]
        inner = np.eye(rank + 1)
        for first in range(0, len(n), BLOCK_ITEMS):
            block = slice(first, first + BLOCK_ITEMS)
            inner += W[block].T @ (n[block, None] * W[block])
        self.factor = cho_factor(inner, lower=True, overwrite_a=True)
        W *= np.sqrt(share)[:, None]
        self.item_share, self.through = own * share, W

    def precondition(self, values: Floats) -> Floats:
        """Return about the solution of the simpler model: offsets of users and items, in turn."""
        from scipy.linalg import cho_solve

        left = values
        for _ in range(SWEEPS):
            per_item = self.sums_by_item(values - self._user_offsets(left)) / self.noise
            items = self.through @ cho_solve(self.factor, self.through.T @ per_item)
            items += self.item_share * per_item
            left = values - items[self.columns]
        rest: Floats = (left - self._user_offsets(left)) / self.noise
        return rest

    def _user_offsets(self, values: Floats) -> Floats:
        """Return the offsets of users given what is left to them, for each rating."""
        return (self.user_share * self.sums_by_user(values))[self.rows]


def _conjugate_residuals(system: _System, target: Floats, start: Floats | None, tolerance: float) -> Floats:
    """Return the solution of A α = target, by conjugate residuals with the preconditioner M.

    Each step minimizes the norm of the residual rᵀMr over all steps so far. (Conjugate gradients minimize
    the error in the norm of A, while the residual goes up and down: they take half as many steps again.)
    """
    alpha = np.zeros_like(target) if start is None else start.copy()
    left = target - system.multiply(alpha) if alpha.any() else target.copy()
    enough = tolerance * float(np.linalg.norm(target))
    direction = system.precondition(left)
    step = direction.copy()
    image = system.multiply(direction)
    step_image, value = image.copy(), float(direction @ image)
    for _ in range(ITERATIONS):
        if np.linalg.norm(left) <= enough:
            return alpha
        preconditioned = system.precondition(step_image)
        length = value / float(step_image @ preconditioned)
        alpha += length * step
        left -= length * step_image
        direction -= length * preconditioned
        image = system.multiply(direction)
        before, value = value, float(direction @ image)
        step *= value / before
        step += direction
        step_image *= value / before
        step_image += image
    raise NotOptimalError(
        f"the regression did not converge: residual {np.linalg.norm(left) / np.linalg.norm(target):.1e} "
        f"after {ITERATIONS} steps; lower the variances in `covariance`"
    )


def _like(matrix: csr_array, values: npt.NDArray[Any]) -> csr_array:
    """Return a matrix with the pattern of another, and other values."""
    from scipy.sparse import csr_array

    return csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)
