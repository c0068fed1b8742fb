r"""Lending opinions: every rating speaks for similar users and similar items, all ratings at once.

A rating is μ plus parts that are shared with other ratings, and noise. How much two ratings (u, i) and
(v, j) share is a covariance: a table of who shares it (everyone, the same user, similar users) by what for
(everything, the same item, similar items):

=================  ============  ===============  =====================
shared by          everything    the same item    similar items
=================  ============  ===============  =====================
everyone           ``level``     ``item``         ``similar_items``
the same user      ``user``      (noise: 1)       ``own_taste``
similar users                    ``neighbors``    ``lending``
=================  ============  ===============  =====================

.. math:: k = \ell + s_u\delta_{uv} + s_i\delta_{ij} + s_I k_I + s_o\,\delta_{uv} k_I
              + K_{uv}\,(s_n\delta_{ij} + s_l k_I), \qquad k_I(i, j) = e^{-\eta d(i, j)}

Each number is a variance in units of the noise, so that they do not depend on the scale of the ratings. The
prediction is the expected rating given all ratings (kernel ridge regression, or the mean of a Gaussian
process): μ + Σ k α over all ratings (v, j), with (k + 1) α = r - μ, solved by conjugate gradients. It is a
sum over ratings, hence over neighbors: K_uv times v's *opinion* of the item.
"""

from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from prefmover.data.ratings import Ratings
from prefmover.errors import InputError, NotOptimalError
from prefmover.execution.memory import require
from prefmover.items.geometry import ItemGeometry
from prefmover.predict.user_kernel import Floats, Index, Singles, UserKernel, check_array

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["MOST_ITEMS", "Regression", "Shared", "require_room", "solve"]

MOST_ITEMS = 20_000
"""Item kernels are dense while fitting: some 15 GB at this number."""

ITEM_PAIR_BYTES = 40
"""Of memory for each pair of items while fitting: the item kernel, and matrices to invert (measured: 37)."""

USER_BYTES = 48
"""For each user and landmark: the measure, weights, features, and what is made on the way (measured: 44)."""

TOLERANCE = 1e-4
ITERATIONS = 200
USERS_AT_A_TIME = 512


@dataclass(frozen=True, slots=True)
class Shared:
    """How much ratings share, in units of the noise: see the table at the top of this module.

    The default was chosen on held-out ratings of 900 users of MovieLens-1M, half of the figures'
    sparsest and half of a middling training share; no other data set was looked at
    (docs/guide/predictions.md).

    Attributes
    ----------
    item_rate
        η in k_I = exp(-η d): how fast the likeness of items fades.
    """

    level: float = 0.1
    user: float = 0.2
    item: float = 0.25
    similar_items: float = 0.25
    own_taste: float = 0.125
    neighbors: float = 0.125
    lending: float = 0.5
    item_rate: float = 1.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 <= value < np.inf:
                raise InputError(f"{field.name} is {value!r}; give a number from 0")
        if not (self.item > 0 and self.user > 0):
            raise InputError("user and item must be above 0: users and items do differ")

    def scaled(self, **factors: float) -> Self:
        """Return a copy with some of the numbers multiplied.

        >>> Shared().scaled(lending=0.5).lending
        0.25
        """
        return replace(self, **{name: getattr(self, name) * factor for name, factor in factors.items()})

    def to_dict(self) -> dict[str, float]:
        """Return the numbers by name."""
        return asdict(self)


@dataclass(frozen=True, slots=True, eq=False)
class Regression:
    """A solved model: coefficients, and what predictions need of them.

    Attributes
    ----------
    ratings, geometry
        Training ratings, over the items of the geometry (None: items are alike or not at all).
    kernel
        Of users.
    shared
        The variances.
    mean
        Where predictions start: μ and what all ratings share.
    alpha
        (n_ratings,) one coefficient for each rating, (rating - fitted) in units of the noise.
    user, item, similar_items
        (n_users,), (n_items,), (n_items,) what a user adds to all their ratings, an item to all of its,
        and items like it.
    lent
        (n_items, rank): times a user's features, what similar users lend to each item.
    """

    ratings: Ratings
    geometry: ItemGeometry | None
    kernel: UserKernel
    shared: Shared
    mean: float
    alpha: Floats
    user: Floats
    item: Floats
    similar_items: Floats
    lent: Singles

    def check(self) -> None:
        """Raise unless the arrays fit the ratings and each other; for models that come from a file."""
        n, m = self.ratings.n_users, self.ratings.n_items
        self.kernel.check(n)
        for name, size in (("alpha", self.ratings.n_ratings), ("user", n), ("item", m)):
            check_array(name, getattr(self, name), np.float64, (size,))
        exact = np.float64 if self.geometry is None else np.float32
        check_array("similar_items", self.similar_items, exact, (m,))
        check_array("lent", self.lent, np.float32, (m, self.kernel.rank))
        if not isinstance(self.mean, float) or not np.isfinite(self.mean):
            raise InputError(f"mean is damaged: {self.mean!r} is no number")

    def base(self, users: Index, items: Index) -> Floats:
        """Return what is expected of pairs of positions before neighbors speak; -1 is unknown."""
        of_items = self.item + self.similar_items
        user, item = np.where(users >= 0, self.user[users], 0.0), np.where(items >= 0, of_items[items], 0.0)
        return self.mean + user + item

    def predict(self, users: Index, items: Index) -> Floats:
        """Return predictions for pairs of positions, not clipped; -1 is an unknown user or item."""
        out = self.base(users, items)
        known = np.flatnonzero((users >= 0) & (items >= 0))
        order = known[np.argsort(users[known], kind="stable")]
        asking, starts = np.unique(users[order], return_index=True)
        ends = np.append(starts[1:], len(order))
        for u, first, last in zip(asking.tolist(), starts, ends[: len(asking)], strict=True):
            places = order[first:last]
            out[places] += self.personal(u, items[places])
        return out

    def personal(self, u: int, items: Index) -> Floats:
        """Return what neighbors and a user's own ratings add for items."""
        lent = (self.lent[items] @ self.kernel.features[u]).astype(np.float64)
        mine, alpha = self.of_user(u)
        personal: Floats = lent + self.own(mine, alpha, float(self.kernel.rest[u]), items)
        return personal

    def own(self, mine: Index, alpha: Floats, rest: float, items: Index) -> Floats:
        """Return what a user's ratings add to items by the user's own taste.

        ``rest`` is the part of the user that similar users do not explain.
        """
        s = self.shared
        near = _item_kernel(self.geometry, s.item_rate, mine, items)
        taste = alpha @ near * (s.own_taste + rest * s.lending)
        if rest > 0:
            taste += rest * s.neighbors * (alpha @ (mine[:, None] == items[None, :]))
        own: Floats = taste
        return own

    def of_user(self, u: int) -> tuple[Index, Floats]:
        """Return a user's rated items, and their coefficients."""
        span = slice(self.ratings.matrix.indptr[u], self.ratings.matrix.indptr[u + 1])
        return self.ratings.matrix.indices[span].astype(np.int64), self.alpha[span]

    def opinions(self, items: Index) -> Floats:
        """Return everybody's opinions of items, (n_users, items): how much more than expected they like them.

        All at once, so that the coefficients are read one time.
        """
        from scipy.sparse import csr_array

        everything = np.arange(self.ratings.n_items)
        speaks = np.empty((len(everything), len(items)))  # no columns for a user who has rated everything
        for k, item in enumerate(items.tolist()):
            speaks[:, k] = self.likeness_to(item, everything)
        matrix = self.ratings.matrix
        spoken = csr_array((self.alpha, matrix.indices, matrix.indptr), shape=matrix.shape)
        opinions: Floats = np.asarray(spoken @ speaks)
        return opinions

    @property
    def lends(self) -> bool:
        """Whether who has an opinion of one item has one of every item, through similar ones."""
        return self.geometry is not None and self.shared.lending > 0

    @property
    def spoken(self) -> "csr_array":
        """(n_users, n_items) 1 where a user has an opinion of an item by rating it, for counting."""
        from scipy.sparse import csr_array

        matrix, weight = self.ratings.matrix, self.shared.neighbors + self.shared.lending
        says = ((self.alpha != 0) & (weight > 0)).astype(np.int64)
        return csr_array((says, matrix.indices, matrix.indptr), shape=matrix.shape)

    def has_opinion(self, items: Index) -> npt.NDArray[np.bool_]:
        """Return who has an opinion of each item, (n_users, items)."""
        if self.lends:
            return np.repeat(self.voiced[:, None], len(items), axis=1)
        rated: npt.NDArray[np.bool_] = self.spoken[:, items].toarray() > 0
        return rated

    @property
    def voiced(self) -> npt.NDArray[np.bool_]:
        """(n_users,) who has any opinion: a coefficient that is not 0."""
        before = np.concatenate([[0], np.cumsum(self.alpha != 0)])
        return np.diff(before[self.ratings.matrix.indptr]) > 0

    def likeness_to(self, item: int, items: Index) -> Floats:
        """Return how much an opinion of each of ``items`` says about ``item``: s_n δ + s_l k_I."""
        # One row of distances, not a column: they are the same, and a row is contiguous.
        near = _item_kernel(self.geometry, self.shared.item_rate, np.array([item]), items)[0]
        out: Floats = self.shared.lending * near + self.shared.neighbors * (items == item)
        return out

    def of_new_user(self, items: Index, values: Floats, features: Singles) -> "NewUser":
        """Return one more user, with everybody else's coefficients as they are.

        Parameters
        ----------
        items, values
            What they rated.
        features
            Where they stand: ``kernel.place`` of their weights to the landmarks.
        """
        s = self.shared
        expected = self.base(np.full(len(items), -1), items) + self.lent[items] @ features
        near = _item_kernel(self.geometry, s.item_rate, items, items)
        own = s.user + (s.own_taste + s.lending) * near + (s.neighbors + 1) * np.eye(len(items))
        alpha: Floats = np.linalg.solve(own, values - expected).astype(np.float64)
        return NewUser(self, items, alpha, features)


@dataclass(frozen=True, slots=True, eq=False)
class NewUser:
    """A user who was not there when the model was fitted; predictions as for the others."""

    model: Regression
    items: Index
    alpha: Floats
    features: Singles

    def base(self, items: Index) -> Floats:
        """Return what is expected before neighbors and own ratings speak; -1 is an unknown item."""
        nobody = np.full(len(items), -1)
        return self.model.base(nobody, items) + self.model.shared.user * float(self.alpha.sum())

    def predict(self, items: Index) -> Floats:
        """Return predictions for positions of items, not clipped; -1 is an unknown item."""
        out = self.base(items)
        known = np.flatnonzero(items >= 0)
        out[known] += self.model.lent[items[known]] @ self.features + self.own(items[known])
        return out

    def own(self, items: Index) -> Floats:
        """Return what the user's own ratings add to items."""
        return self.model.own(self.items, self.alpha, 1.0, items)


def solve(
    ratings: Ratings,
    geometry: ItemGeometry | None,
    kernel: UserKernel,
    shared: Shared | None = None,
    *,
    tolerance: float = TOLERANCE,
    start: Floats | None = None,
) -> Regression:
    """Return the regression of some ratings.

    Parameters
    ----------
    ratings, geometry
        Over the same items in the same order.
    kernel
        Of the users of the ratings.
    tolerance
        Conjugate gradients end when the residual, relative to the ratings', is below.
    start
        Coefficients to begin with, one for each rating.
    """
    shared = shared or Shared()
    require_room(ratings.n_users, ratings.n_items, len(kernel.landmarks))
    system = _System(ratings, geometry, kernel, shared)
    mean = float(ratings.matrix.data.mean())
    alpha = _conjugate_gradients(system, ratings.matrix.data - mean, tolerance, start)
    V = system.sparse(alpha)
    per_user, per_item = system.sums(alpha)
    return Regression(
        ratings,
        geometry,
        kernel,
        shared,
        mean + shared.level * float(alpha.sum()),
        alpha,
        shared.user * per_user,
        shared.item * per_item,
        shared.similar_items * system.over_items(per_item),
        np.ascontiguousarray(system.lent(V).T),
    )


def require_room(n_users: int, n_items: int, n_landmarks: int) -> None:
    """Raise an error if a regression of that size is too large; to be called before users are compared."""
    remedy = 'use predictor="average", or leave items with few ratings out'
    if n_items > MOST_ITEMS:
        raise InputError(
            f'{n_items:,} items are too many for predictor="kernel" (up to {MOST_ITEMS:,}); {remedy}'
        )
    require(
        n_landmarks * (n_users * USER_BYTES + n_items * 16) + n_items**2 * ITEM_PAIR_BYTES,
        f'predictor="kernel" for {n_users:,} users and {n_items:,} items with {n_landmarks:,} landmarks',
        f"lower `landmarks`, {remedy}",
    )


class _System:
    """(k + 1) as a linear map on coefficients, and something near it that is easily inverted."""

    def __init__(
        self, ratings: Ratings, geometry: ItemGeometry | None, kernel: UserKernel, shared: Shared
    ) -> None:
        self.matrix, self.kernel, self.shared = ratings.matrix, kernel, shared
        self.rows = np.repeat(np.arange(ratings.n_users), np.diff(ratings.matrix.indptr))
        self.columns = ratings.matrix.indices.astype(np.int64)
        self.near = None if geometry is None else _dense_item_kernel(geometry, shared.item_rate)
        self._prepare()

    def sparse(self, alpha: Floats) -> "csr_array":
        """Return coefficients as a users x items matrix."""
        from scipy.sparse import csr_array

        return csr_array((alpha, self.matrix.indices, self.matrix.indptr), shape=self.matrix.shape)

    def sums(self, values: Floats) -> tuple[Floats, Floats]:
        """Return the sums of values, one for each rating, by user and by item."""
        n, m = self.matrix.shape
        return _sums(self.rows, values, n), _sums(self.columns, values, m)

    def over_items(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return values (..., n_items) spread over similar items: times k_I."""
        return values if self.near is None else values.astype(np.float32) @ self.near

    def lent(self, V: "csr_array") -> Singles:
        """Return Φᵀ V (s_n + s_l k_I), (rank, n_items)."""
        spoken = np.ascontiguousarray((V.astype(np.float32).T @ self.kernel.features).T)
        whole = self.shared.neighbors * spoken + self.shared.lending * self.over_items(spoken)
        lent: Singles = whole.astype(np.float32, copy=False)
        return lent

    def __call__(self, alpha: Floats) -> Floats:
        s, V = self.shared, self.sparse(alpha)
        per_user, per_item = self.sums(alpha)
        of_item = s.item * per_item + s.similar_items * self.over_items(per_item)
        out: Floats = alpha + s.level * alpha.sum() + s.user * per_user[self.rows] + of_item[self.columns]
        lent, features = self.lent(V), self.kernel.features
        indptr = self.matrix.indptr
        for first in range(0, len(features), USERS_AT_A_TIME):
            last = min(first + USERS_AT_A_TIME, len(features))
            part = slice(indptr[first], indptr[last])
            out[part] += (features[first:last] @ lent)[self.rows[part] - first, self.columns[part]]
        self._add_own(alpha, out)
        return out

    def _add_own(self, alpha: Floats, out: Floats) -> None:
        """Add what a user's ratings share with each other and with nobody else's."""
        s, rest, indptr = self.shared, self.kernel.rest, self.matrix.indptr
        out += rest[self.rows] * s.neighbors * alpha
        for u in range(len(rest)):
            part = slice(indptr[u], indptr[u + 1])
            mine, share = self.columns[part], s.own_taste + rest[u] * s.lending
            if self.near is None:
                out[part] += share * alpha[part]
            else:
                near = self.near.take(mine, axis=0).take(mine, axis=1)
                out[part] += share * (near @ alpha[part].astype(np.float32))

    def _prepare(self) -> None:
        """Factorize the model of users and items without tastes, plus what all users' tastes share.

        The rest of the covariance is replaced by its diagonal. What remains to be found takes some ten
        steps of conjugate gradients.
        """
        from scipy.linalg import cho_factor

        s, common = self.shared, max(self.kernel.mean(), 0.0)
        m = self.matrix.shape[1]
        self.noise = 1.0 + (1.0 - common) * (s.neighbors + s.lending) + s.own_taste
        diagonal = np.arange(m), np.arange(m)
        prior = np.eye(m) if self.near is None else self.near.astype(np.float64)
        # In place, here and below: these matrices are the largest of the whole library.
        prior *= s.similar_items + common * s.lending
        prior[diagonal] += s.item + common * s.neighbors
        prior += s.level
        counts_u, counts_i = np.diff(self.matrix.indptr), np.bincount(self.columns, minlength=m)
        self.user_share = 1.0 / (counts_u + self.noise / s.user)
        self.seen = self.sparse(np.ones(len(self.columns)))
        left = np.linalg.inv(prior)
        del prior
        left *= self.noise
        left[diagonal] += counts_i
        left -= (self.seen.T @ (self.seen * self.user_share[:, None])).toarray()
        self.factor = cho_factor(left, lower=True, overwrite_a=True)

    def nearly_solve(self, values: Floats) -> Floats:
        """Return the solution of the simpler model."""
        from scipy.linalg import cho_solve

        per_user, per_item = self.sums(values)
        of_item = cho_solve(self.factor, per_item - self.seen.T @ (self.user_share * per_user))
        of_user = self.user_share * (per_user - self.seen @ of_item)
        rest: Floats = (values - of_user[self.rows] - of_item[self.columns]) / self.noise
        return rest


def _conjugate_gradients(system: _System, target: Floats, tolerance: float, start: Floats | None) -> Floats:
    size = float(np.linalg.norm(target))
    x = np.zeros_like(target) if start is None else start.copy()
    residual = target - system(x) if start is not None else target.copy()
    if size == 0 or np.linalg.norm(residual) <= tolerance * size:
        return x
    z = system.nearly_solve(residual)
    direction, product = z, float(residual @ z)
    for _ in range(ITERATIONS):
        image = system(direction)
        step = product / float(direction @ image)
        x += step * direction
        residual -= step * image
        if np.linalg.norm(residual) <= tolerance * size:
            return x
        z = system.nearly_solve(residual)
        product, before = float(residual @ z), product
        direction = z + (product / before) * direction
    left = float(np.linalg.norm(residual)) / size
    raise NotOptimalError(
        f"the regression did not converge: residual {left:.1e} after {ITERATIONS} steps; "
        "lower the variances in `shared`"
    )


def _sums(places: Index, values: Floats, n: int) -> Floats:
    out: Floats = np.bincount(places, values, n).astype(np.float64, copy=False)
    return out


def _item_kernel(geometry: ItemGeometry | None, rate: float, rows: Index, columns: Index) -> Floats:
    near: Floats = (
        (rows[:, None] == columns[None, :]).astype(np.float64)
        if geometry is None
        else np.exp(-rate * geometry.block(rows, columns))
    )
    return near


def _dense_item_kernel(geometry: ItemGeometry, rate: float) -> Singles:
    out = np.empty((geometry.n_items, geometry.n_items), np.float32)
    for first in range(0, len(out), USERS_AT_A_TIME):
        rows = np.arange(first, min(first + USERS_AT_A_TIME, len(out)))
        out[rows] = np.exp(-rate * geometry.block(rows, None))
    return out
