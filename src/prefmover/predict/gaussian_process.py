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

K_uv is the weight of the measure between two users, smaller if they have few ratings
(:func:`~prefmover.predict.low_rank.shrunk`). Each s is a variance in units of the noise, so that it does
not depend on the scale of the ratings. The prediction is the expected rating given all ratings (the mean of a
Gaussian process, or kernel ridge regression): μ + Σ k α over all ratings (v, j), where (k + 1) α = r - μ is
solved by conjugate residuals. The sum over ratings is a sum over neighbors: K_uv times the *residual* of v
for the item.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from prefmover._pickled import PickledFields
from prefmover._typing import Bools, Floats, Ints, Singles
from prefmover.data.ratings import Ratings
from prefmover.errors import InputError, NotOptimalError
from prefmover.execution.jit import LazyModule
from prefmover.execution.memory import require
from prefmover.execution.threads import run, slices
from prefmover.items.geometry import ItemGeometry
from prefmover.measures import Weight, weight
from prefmover.predict.low_rank import ITEM_LANDMARKS, MAX_EXACT, LowRankKernel, item_kernel, with_more_items
from prefmover.predict.sparse_sums import Entries

if TYPE_CHECKING:
    from scipy.sparse import csr_array

kernels = LazyModule("prefmover.predict._sparse_sums")

__all__ = ["RatingSettings", "Regression", "UserCoefficients", "WorkLimits", "require_room", "solve"]

ITEM_BYTES = 32
"""Memory for each item and direction of items while fitting: features, sums and temporary arrays. (Measured
on 4,000 users x 20,000 items: 25 with 600 directions, and 29 with 160.)"""

USER_BYTES, LARGE_USER_BYTES = 48, 24
"""Memory for each user and landmark: values, weights, features and temporary arrays. (Measured: 44, and 21
with :data:`LARGE_RANK` directions.)"""

TOLERANCE = 1e-3
"""Norm of the residual, relative to that of the ratings, at which conjugate residuals end. On MovieLens-100K,
predictions at 1e-2 and at 1e-4 differ by less than .0003 of MAE."""

MANY = 500_000
"""From so many ratings on, inner products are added in any order. (Fewer may be interpreted, which needs the
same bits as compiled code.)"""

LARGE = 4_000_000
"""Ratings beyond which a fit saves work: see :class:`WorkLimits`."""

LARGE_RANK, LARGE_TOLERANCE = 160, 2e-2

ITERATIONS = 400
BLOCK_ITEMS, CHUNK = 2048, 2**16
SWEEPS = 2  # of the preconditioner, over users and items


@dataclass(frozen=True, slots=True)
class RatingSettings:
    """How ratings are predicted: the table and the formula at the top of this module.

    The defaults were chosen on held-out ratings of 900 users of MovieLens-1M, half of them at the sparsest
    training share of the figures and half at a medium one. That shrinkage is needed was seen on
    MovieTweetings; its value was chosen on MovieLens-1M, too (docs/guide/predictions.md).

    Attributes
    ----------
    weight
        The rule that turns values of the measure into covariances K of users. None is
        ``"exponential(2.5)"`` for PMD, ``"exponential(0.5)"`` for PMD-agreement, and the measure's own rule
        for others.
    level, item, similar_items
        Variances in units of the noise, shared by all users: for all items, the same item, similar items.
    user, taste
        Shared by the ratings of the same user: for all items, similar items.
    neighbors, shared_taste
        Shared by similar users: for the same item, similar items.
    item_rate
        η in k_I = exp(-η d): how fast the similarity of items decreases with their distance.
    shrinkage
        β: K_uv is multiplied by √(n_u / (n_u + β)) √(n_v / (n_v + β)), where n_u is the number of ratings
        of u. The fewer ratings a user has, the less is known about which users are similar.
    """

    weight: str | Weight | None = None
    level: float = 0.1
    user: float = 0.2
    item: float = 0.25
    similar_items: float = 0.25
    taste: float = 0.125
    neighbors: float = 0.125
    shared_taste: float = 0.5
    item_rate: float = 1.0
    shrinkage: float = 20.0

    def __post_init__(self) -> None:
        if self.weight is not None:
            weight(self.weight)
        for field in fields(self)[1:]:
            value = getattr(self, field.name)
            if not 0 <= value < np.inf:
                raise InputError(f"{field.name} is {value!r}; give a number from 0")
        if not (self.item > 0 and self.user > 0):
            raise InputError(f"user is {self.user!r} and item is {self.item!r}; both must be above 0")


class WorkLimits(NamedTuple):
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
    def for_ratings(cls, ratings: Ratings) -> WorkLimits:
        """Return the limits for a number of ratings."""
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
class Regression(PickledFields):
    """A solved regression: coefficients, and the sums of them that predictions need.

    Attributes
    ----------
    ratings
        Training ratings.
    items
        The covariance k_I of items.
    kernel
        The covariance of users.
    settings
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
    items: LowRankKernel
    kernel: LowRankKernel
    settings: RatingSettings
    mean: float
    alpha: Floats
    user: Floats
    item: Floats
    similar_items: Floats
    item_factors: Singles

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
        rest, offset = float(self.kernel.unexplained[user]), float(self.user[user])
        return UserCoefficients(items, self.alpha[first:last], self.kernel.features[user], rest, offset)

    def new_coefficients(self, items: Ints, values: Floats, features: Singles) -> UserCoefficients:
        """Return the coefficients of one more user with these ratings, given those of all others.

        The mean and the offsets of items stay as they are.
        """
        s = self.settings
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
        kernel = self.kernel.with_rows(users, features, rest, n)
        return replace(now, ratings=ratings, kernel=kernel, alpha=alpha, user=user)

    def _add_neighbor(self, items: Ints, alpha: Floats, features: Singles) -> None:
        """Add the contributions of a user to the item factors, in place."""
        s, everything = self.settings, np.arange(len(self.item_factors))
        spread = s.shared_taste * self.items.sums(items, alpha, everything)
        self.item_factors[:] += np.outer(spread, features).astype(np.float32)
        self.item_factors[items] += np.outer(s.neighbors * alpha, features).astype(np.float32)

    def with_items(self, ratings: Ratings, geometry: ItemGeometry | None) -> Regression:
        """Return the regression with more items, which nobody has rated: those at the end of ``ratings``."""
        s, n = self.settings, len(self.item)
        items = with_more_items(self.items, geometry, s.item_rate, ratings.n_items)
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
        s, own = self.settings, np.zeros(self.ratings.n_items)
        own[user.items] = user.alpha
        taste = (s.taste + user.rest * s.shared_taste) * self.items.sums(user.items, user.alpha, items)
        return taste + user.rest * s.neighbors * own[items]

    def item_weights(self, items: Ints) -> Floats:
        """Return how much ratings of all items count for some: s_n δ + s_s k_I, (n_items, items)."""
        weights = self.settings.shared_taste * self.items.columns(items)
        weights[items, np.arange(len(items))] += self.settings.neighbors
        return weights

    def residuals(self, item_weights: Floats) -> Floats:
        """Return how much more than expected all users like items, (n_users, items), given their weights."""
        return np.asarray(_like(self.ratings.matrix, self.alpha) @ item_weights)

    @property
    def reaches_all_items(self) -> bool:
        """Whether a user with a residual for one item has one for every item, through similar items."""
        return self.items.rank > 0 and self.settings.shared_taste > 0

    @cached_property
    def has_any_residual(self) -> Bools:
        """(n_users,) which users have a coefficient other than 0."""
        before = np.concatenate([[0], np.cumsum(self.alpha != 0)])
        return np.diff(before[self.ratings.matrix.indptr]) > 0

    @cached_property
    def _rated_residuals(self) -> csr_array:
        """(n_users, n_items) 1 where a user has a residual for an item by rating it, for counting."""
        weight = self.settings.neighbors + self.settings.shared_taste
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
    kernel: LowRankKernel,
    settings: RatingSettings,
    start: Floats | None = None,
    n_threads: int | None = None,
) -> Regression:
    """Return the regression of some ratings, which begins with the coefficients ``start``."""
    require_room(ratings, len(kernel.landmarks))
    n_ratings = np.bincount(ratings.matrix.indices, minlength=ratings.n_items)
    limits = WorkLimits.for_ratings(ratings)
    items = item_kernel(geometry, settings.item_rate, n_ratings, limits.max_rank)
    system = _System(ratings, items, kernel, settings, n_threads)
    mean = float(ratings.matrix.data.mean())
    alpha = _conjugate_residuals(system, ratings.matrix.data - mean, start, limits.tolerance)
    per_user, per_item = system.by_user.sum_entries(alpha), system.sums_by_item(alpha)
    intercept = mean + settings.level * float(alpha.sum())
    user, item = settings.user * per_user, settings.item * per_item
    similar_items = settings.similar_items * system.over_items(per_item)
    solved = intercept, alpha, user, item, similar_items, system.item_factors(alpha)
    return Regression(ratings, items, kernel, settings, *solved)


def require_room(ratings: Ratings, n_landmarks: int) -> None:
    """Raise an error if a regression of this size is too large; called before users are compared."""
    n_users, n_items, most = ratings.n_users, ratings.n_items, WorkLimits.for_ratings(ratings).max_rank
    directions = min(n_items if n_items <= MAX_EXACT else ITEM_LANDMARKS, most or n_items)
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
        items: LowRankKernel,
        kernel: LowRankKernel,
        settings: RatingSettings,
        n_threads: int | None,
    ) -> None:
        self.kernel, self.items, self.settings = kernel, items, settings
        self.n_threads, m = n_threads, ratings.matrix
        positions = np.arange(m.nnz, dtype=np.int32 if m.nnz < 2**31 else np.int64)
        turned = _like(m, positions).tocsc()
        self.by_user = Entries.from_arrays(m.indptr, m.indices, m.shape[1], n_threads)
        self.by_item = Entries.from_arrays(turned.indptr, turned.indices, m.shape[0], n_threads)
        self.order = turned.data  # the ratings in the order of items
        self.item_strips = self.by_item.strips(4 * kernel.rank)
        self.user_strips = self.by_user.strips(4 * items.rank)
        self.product_strips = self.by_user.strips(4 * (kernel.rank + items.rank))
        # Rows whose products are taken: these parts of them stay.
        self.left = np.empty((m.shape[0], items.rank + kernel.rank), np.float32)
        self.left[:, items.rank :] = kernel.features
        self.right = np.empty((m.shape[1], items.rank + kernel.rank), np.float32)
        self.right[:, : items.rank] = items.features
        self._factorize(np.diff(self.by_item.indptr))

    def sums_by_item(self, values: npt.NDArray[Any]) -> Floats:
        return self.by_item.sum_entries(self._in_order_of_items(values))

    def _in_order_of_items(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return values, one for each rating, in the order of items."""
        out = np.empty_like(values)
        run(
            lambda part: np.take(values, self.order[part], out=out[part], mode="clip"),
            slices(len(out), CHUNK),
            n_threads=self.n_threads,
        )
        return out

    def over_items(self, values: Floats) -> Floats:
        """Return values (n_items,) times k_I: spread over similar items."""
        features = self.items.features
        through = (features @ (features.T @ values.astype(np.float32))).astype(np.float64)
        return through + self.items.unexplained * values

    def item_sums(self, values: Singles) -> Singles:
        """Return (ΦᵀV)ᵀ, (n_items, rank): the coefficients of each item's raters, times their features.

        ``values`` are the coefficients in the order of items.
        """
        out = np.zeros((len(self.by_item), self.kernel.rank), np.float32)
        return self.by_item.add_rows(values, self.kernel.features, out, self.item_strips)

    def user_sums(self, alpha: Singles) -> Singles:
        """Return VΨ, (n_users, item rank): the coefficients of each user's ratings, times items' features."""
        out = np.zeros((len(self.by_user), self.items.rank), np.float32)
        return self.by_user.add_rows(alpha, self.items.features, out, self.user_strips)

    def item_factors(self, alpha: Floats) -> Singles:
        """Return (Φᵀ V (s_n + s_s k_I))ᵀ, (n_items, rank)."""
        s, singles = self.settings, alpha.astype(np.float32)
        sums = self.item_sums(self._in_order_of_items(singles))
        through = self._through(sums, self.user_sums(singles))
        sums *= (s.neighbors + s.shared_taste * self.items.unexplained).astype(np.float32)[:, None]
        for first in range(0, len(sums), BLOCK_ITEMS):
            block = slice(first, first + BLOCK_ITEMS)
            sums[block] += self.items.features[block] @ through.T
        return sums

    def _through(self, item_sums: Singles, user_sums: Singles) -> Singles:
        """Return s_s ΦᵀVΨ, (rank, item rank), by users or by items, whichever are fewer."""
        by_users = len(user_sums) < len(item_sums)
        product = self.kernel.features.T @ user_sums if by_users else item_sums.T @ self.items.features
        return np.asarray(np.float32(self.settings.shared_taste) * product)

    def multiply(self, alpha: Floats) -> Floats:
        """Return (k + 1) α."""
        # By the number of ratings alone, so that results do not depend on what a process has compiled.
        products = kernels.products if len(alpha) < MANY else kernels.many_products
        s, rest, items = self.settings, self.kernel.unexplained, self.items
        in_order = self._in_order_of_items(alpha)
        per_user, per_item = self.by_user.sum_entries(alpha), self.by_item.sum_entries(in_order)
        by_item = s.item * per_item + s.similar_items * self.over_items(per_item)
        base = s.level * per_user.sum() + s.user * per_user
        # What a user's ratings share with each other and with nobody else's.
        own, same = s.taste + rest * s.shared_taste, rest * s.neighbors
        sums = self.item_sums(in_order.astype(np.float32, copy=False))
        through = self.user_sums(alpha.astype(np.float32, copy=False))
        common = self._through(sums, through)
        through *= own.astype(np.float32)[:, None]
        through += self.kernel.features @ common
        self.left[:, : items.rank] = through
        sums *= (s.neighbors + s.shared_taste * items.unexplained).astype(np.float32)[:, None]
        self.right[:, items.rank :] = sums
        out = np.empty_like(alpha)
        given = (
            self.by_user.indices,
            alpha,
            own,
            same,
            base,
            items.unexplained,
            by_item,
            self.left,
            self.right,
        )
        for strip in self.product_strips:
            self.by_user.call(products, 10 * len(alpha), strip, *given, out)
        return out

    def _factorize(self, n_ratings: Ints) -> None:
        """Factorize a simpler model: users, items, and the taste that all users share.

        The rest of the covariance is replaced by its diagonal. The covariance of items is then
        A = diag(a) + WWᵀ in low rank. With N the numbers of ratings per unit of noise,

            (A⁻¹ + N)⁻¹ = a / (1 + aN) + B (I + Wᵀ N / (1 + aN) W)⁻¹ Bᵀ,   B = W / (1 + aN).
        """
        from scipy.linalg import cho_factor

        s, common = self.settings, max(self.kernel.mean(), 0.0)
        self.noise = 1.0 + (1.0 - common) * (s.neighbors + s.shared_taste) + s.taste
        self.user_share = 1.0 / (np.diff(self.by_user.indptr) + self.noise / s.user)
        shared, n = s.similar_items + common * s.shared_taste, n_ratings / self.noise
        own = s.item + common * s.neighbors + shared * self.items.unexplained
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

        by_user, by_item = self.by_user.sum_entries(values), self.sums_by_item(values)
        users, items = self.user_share * by_user, np.empty(0)
        for _ in range(SWEEPS):
            per_item = (by_item - self.by_item.sum_numbers(users)) / self.noise
            items = self.through @ cho_solve(self.factor, self.through.T @ per_item)
            items += self.item_share * per_item
            users = self.user_share * (by_user - self.by_user.sum_numbers(items))
        entries, out = self.by_user, np.empty_like(values)
        given = entries.indices, values, users, items, 1.0 / self.noise
        entries.call(kernels.subtract, len(values), entries.whole, *given, out)
        return out


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
    step_image, value, chunks = image.copy(), float(direction @ image), slices(len(target), CHUNK)
    for _ in range(ITERATIONS):
        if np.linalg.norm(left) <= enough:
            return alpha
        preconditioned = system.precondition(step_image)
        length = value / float(step_image @ preconditioned)

        def move(part: slice, preconditioned: Any = preconditioned, length: Any = length) -> None:
            alpha[part] += length * step[part]
            left[part] -= length * step_image[part]
            direction[part] -= length * preconditioned[part]

        run(move, chunks, n_threads=system.n_threads)
        image = system.multiply(direction)
        before, value = value, float(direction @ image)
        ratio = value / before

        def turn(part: slice, image: Any = image, ratio: Any = ratio) -> None:
            step[part] = ratio * step[part] + direction[part]
            step_image[part] = ratio * step_image[part] + image[part]

        run(turn, chunks, n_threads=system.n_threads)
    raise NotOptimalError(
        f"the regression did not converge: residual {np.linalg.norm(left) / np.linalg.norm(target):.1e} "
        f"after {ITERATIONS} steps; lower the variances of RatingSettings"
    )


def _like(matrix: csr_array, values: npt.NDArray[Any]) -> csr_array:
    """Return a matrix with the pattern of another, and other values."""
    from scipy.sparse import csr_array

    return csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)
