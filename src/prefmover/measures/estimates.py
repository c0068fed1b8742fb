r"""Estimated PMD between many users, calibrated on pairs that are solved exactly.

A kernel over all users needs all distances, but not exactly. PMD is nearly a function of quantities that
cost almost nothing: the one-sided bounds (each unit of u's preference goes to the nearest item of v,
regardless of how much v likes it)

.. math:: R(u, v) = \sum_x p_u(x) \min_{j \in I_v} d(x, j) \;\le\; D(u, v),

in both directions, the angle between the mean item vectors, and the numbers of ratings. A polynomial of them
is fitted by least squares to a few thousand exact distances between random users. Its error is measured on
other pairs, and goes with the result. Distances that people see, neighbors and proofs are always exact.

An estimate is the same number on every machine, alone or in a block, on any number of threads. BLAS adds the
terms of a product in an order that depends on its shape and on the processor, so it is only given *whole
numbers*: unit vectors, times 2²⁵ and rounded. All their sums are below 2⁵³ and exact in any order. Everything
else is computed by kernels in a fixed order, from sums, products, quotients and square roots, which IEEE 754
defines to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ints, Singles
from prefmover.data.preferences import Preferences, entries_of_rows
from prefmover.dataset import Dataset, check_dataset
from prefmover.errors import InputError
from prefmover.execution.jit import LazyModule
from prefmover.execution.memory import require
from prefmover.execution.threads import run, slices
from prefmover.items.geometry import ItemGeometry
from prefmover.measures.pmd import distances_from
from prefmover.measures.ties import on_grid

kernels = LazyModule("prefmover.measures._estimates")

N_FEATURES = 15  # terms of the polynomial
SOURCES = 400  # users that are compared exactly ...
TARGETS = 10  # ... with this many others each
HELD_OUT = 100  # the sources whose pairs measure the error
COLUMNS = 1024  # users, or items, whose distances to a strip are in memory at once
STRIP = 64  # users whose nearest-item tables are in memory at once, for each thread
LENGTH = 2.0**25  # of a unit vector in whole numbers: |a - b|² of two is at most 2⁵², an exact double


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """The fitted polynomial, and its error on pairs that it was not fitted to.

    Attributes
    ----------
    coefficients
        (15,) of the features in ``_estimates.py``.
    r
        Correlation of estimated and exact distances.
    mean_error, p99_error
        Mean and 99th percentile of |estimate - exact| / exact.
    n_fitted, n_held_out
        Numbers of pairs.
    """

    coefficients: Floats
    r: float
    mean_error: float
    p99_error: float
    n_fitted: int
    n_held_out: int

    def __str__(self) -> str:
        return (
            f"estimated distances: r {self.r:.3f}, mean error {self.mean_error:.1%}, 99 % within "
            f"{self.p99_error:.1%} on {self.n_held_out:,} held-out pairs"
        )


class EstimatedDistances(NamedTuple):
    """Estimated distances, and how far from the exact ones they are."""

    values: Floats
    calibration: Calibration


class UserRows(NamedTuple):
    """Some users as CSR rows of shares, with their mean vectors and log numbers of ratings.

    ``means`` are unit vectors in whole numbers (of length 2²⁵), (users, d).
    """

    indptr: Ints
    items: npt.NDArray[np.int32]
    share: Singles
    means: Floats
    logs: Floats

    @classmethod
    def take(cls, preferences: Preferences, geometry: ItemGeometry, users: Ints) -> UserRows:
        """Return the rows of users by position; a user without a distribution has an empty row."""
        rows, entries = entries_of_rows(preferences.indptr, users)
        lengths = np.bincount(rows, minlength=len(users))
        indptr = np.concatenate(([0], np.cumsum(lengths)))
        items = preferences.indices[entries].astype(np.int32)
        total = np.maximum(preferences.total[users], 1)
        share = (preferences.mass[entries] / total[rows]).astype(np.float32)
        means = np.zeros((len(users), 0 if geometry.vectors is None else geometry.vectors.shape[1]))
        if geometry.vectors is not None:
            kernels.mean_directions(indptr, items, share, geometry.vectors, LENGTH, means)
        return cls(
            indptr,
            items,
            share,
            means,
            on_grid(np.log(np.maximum(lengths, 1))),  # libraries differ in the last bits of a logarithm
        )

    def part(self, block: slice) -> UserRows:
        """Return a range of the users."""
        indptr = self.indptr[block.start : block.stop + 1]
        entries = slice(indptr[0], indptr[-1])
        return UserRows(
            indptr - indptr[0], self.items[entries], self.share[entries], self.means[block], self.logs[block]
        )

    def __len__(self) -> int:
        return len(self.logs)


def estimated_distances(
    data: Dataset,
    users: Iterable[Any] | None = None,
    others: Iterable[Any] | None = None,
    *,
    seed: int = 0,
    n_threads: int | None = None,
) -> EstimatedDistances:
    """Return estimated PMD of ``users`` x ``others``, by id, at a hundredth of the cost of the exact values.

    The estimates come with their error, measured on exact distances; see :mod:`prefmover.measures.estimates`.
    None means all users. ``seed`` chooses the pairs that are solved exactly.

    Examples
    --------
    >>> from prefmover import datasets
    >>> about = estimated_distances(datasets.load("cinema"), ["ada-b"], ["ada-b", "olga-r", "lina-r"])
    >>> about.values.round(1), about.calibration.mean_error < 0.02
    (array([[0. , 0.7, 0.6]]), True)
    """
    check_dataset(data)
    rows, columns = data.ratings.user_positions(users), data.ratings.user_positions(others)
    what = f"estimated distances of {rows.size:,} x {columns.size:,} users"
    require(8 * rows.size * columns.size, what, "ask for fewer users at a time")
    return estimates_at(data, rows, columns, seed=seed, n_threads=n_threads)


def estimates_at(
    data: Dataset, users: Ints, others: Ints, *, seed: int = 0, n_threads: int | None = None
) -> EstimatedDistances:
    """Return :func:`estimated_distances` of users by position."""
    calibration, geometry = calibrate(data, seed=seed, n_threads=n_threads), data.require_geometry("PMD")
    rows = UserRows.take(data.preferences, geometry, users)
    columns = rows if np.array_equal(users, others) else UserRows.take(data.preferences, geometry, others)
    values = estimate(calibration, geometry, rows, columns, n_threads=n_threads)
    values[users[:, None] == others[None, :]] = 0.0
    return EstimatedDistances(values, calibration)


def calibrate(data: Dataset, *, seed: int = 0, n_threads: int | None = None) -> Calibration:
    """Fit the polynomial to exact distances between random users, and measure its error on others."""
    geometry, everyone = data.require_geometry("PMD"), data.preferences
    eligible = np.flatnonzero(everyone.total)
    if len(eligible) < 2:
        raise InputError("estimated distances need two users with a positive rating")
    rng = np.random.default_rng(seed)
    sources = rng.choice(eligible, SOURCES)
    targets = rng.choice(eligible, (SOURCES, TARGETS))
    exact = np.empty((SOURCES, TARGETS))

    def work(k: int) -> None:
        exact[k] = distances_from(everyone, geometry, int(sources[k]), targets[k])

    run(work, range(SOURCES), n_threads=n_threads)
    u, v, y = np.repeat(sources, TARGETS), targets.ravel(), exact.ravel()
    chosen, at = np.unique(np.concatenate([u, v]), return_inverse=True)
    a, b = at[: len(u)], at[len(u) :]
    rows = UserRows.take(everyone, geometry, chosen)
    bound = _one_sided(rows, rows, geometry, n_threads)
    X = np.empty((len(u), N_FEATURES))
    kernels.design(a, b, bound, rows.means, rows.logs, X)
    held_out = np.repeat(np.arange(SOURCES) >= SOURCES - HELD_OUT, TARGETS)
    usable = (u != v) & (y > 0)
    pair = np.minimum(u, v) * np.int64(data.n_users) + np.maximum(u, v)
    fitted = usable & ~held_out
    other = usable & held_out & ~np.isin(pair, pair[fitted])
    if fitted.sum() < N_FEATURES or not other.any():
        fitted = other = usable if usable.any() else np.ones(len(u), bool)
    coefficients = fit_polynomial(X[fitted], y[fitted])
    guess = evaluate_polynomial(X[other], coefficients)
    error = np.abs(guess - y[other]) / np.where(y[other] > 0, y[other], 1.0)
    spread = guess.std() * y[other].std()
    r = float(np.mean((guess - guess.mean()) * (y[other] - y[other].mean())) / spread) if spread > 0 else 1.0
    p99 = float(np.quantile(error, 0.99))
    return Calibration(coefficients, r, float(error.mean()), p99, int(fitted.sum()), int(other.sum()))


def fit_polynomial(X: Floats, y: Floats) -> Floats:
    """Return the coefficients with the least squared error, for features X (pairs, 15) and distances y."""
    return np.asarray(kernels.least_squares(X, y))


def evaluate_polynomial(X: Floats, coefficients: Floats) -> Floats:
    """Return the distances of pairs with features X: at least the larger one-sided bound, X[:, 1]."""
    return np.asarray(np.maximum(kernels.times(X, coefficients), X[:, 1]))


def estimate(
    calibration: Calibration,
    geometry: ItemGeometry,
    users: UserRows,
    others: UserRows,
    *,
    n_threads: int | None = None,
    dtype: npt.DTypeLike = np.float64,
) -> npt.NDArray[Any]:
    """Return estimated distances of ``users`` x ``others``; NaN where a user has no distribution.

    A user is not recognized as itself: set such entries to 0 yourself.
    """
    forward = _one_sided(users, others, geometry, n_threads)
    backward = forward if users is others else _one_sided(others, users, geometry, n_threads)
    largest = _largest_distance(geometry)
    return _combined(calibration, largest, users, others, forward, backward, n_threads, dtype)


class Landmarks(NamedTuple):
    """Landmark users with their precomputed nearest-item distances.

    Attributes
    ----------
    rows
        The users.
    nearest
        (n_items, users) distance from each item to the nearest item of each user.
    largest
        The largest distance between items.
    """

    rows: UserRows
    nearest: Singles
    largest: float

    @classmethod
    def prepare(
        cls,
        rows: UserRows,
        geometry: ItemGeometry,
        n_threads: int | None = None,
        nearest: Singles | None = None,
    ) -> Landmarks:
        """Return landmarks, prepared; ``nearest`` is theirs if it is known."""
        if nearest is not None:
            return cls(rows, nearest, _largest_distance(geometry))
        nearest = np.empty((geometry.n_items, len(rows)), np.float32)

        def work(block: slice) -> None:
            nearest[:, block] = nearest_items(rows.part(block), geometry)

        run(work, slices(len(rows), STRIP), n_threads=n_threads)
        return cls(rows, nearest, _largest_distance(geometry))


def estimate_to_landmarks(
    calibration: Calibration, geometry: ItemGeometry, user: UserRows, landmarks: Landmarks
) -> Floats:
    """Return :func:`estimate` between one user and landmarks, (1, landmarks), to the last bit."""
    rows, nearest = landmarks.rows, nearest_items(user, geometry)
    forward, backward = np.empty((1, len(rows)), np.float32), np.empty((len(rows), 1), np.float32)
    kernels.expected(user.indptr, user.items, user.share, landmarks.nearest, forward)
    kernels.expected(rows.indptr, rows.items, rows.share, nearest, backward)
    return _combined(calibration, landmarks.largest, user, rows, forward, backward, 1)


def _combined(
    calibration: Calibration,
    largest: float,
    users: UserRows,
    others: UserRows,
    forward: Singles,
    backward: Singles,
    n_threads: int | None,
    dtype: npt.DTypeLike = np.float64,
) -> npt.NDArray[Any]:
    """Return the polynomial of the bounds in both directions, (users, others) and (others, users)."""
    out = np.empty((len(users), len(others)), dtype)

    sizes = kernels.squared_lengths(users.means), kernels.squared_lengths(others.means)

    def work(block: slice) -> None:
        inner = users.means[block] @ others.means.T  # whole numbers: exact
        given = forward[block], np.ascontiguousarray(backward[:, block]), inner
        lengths, logs = (sizes[0][block], sizes[1]), (users.logs[block], others.logs)
        kernels.estimate(calibration.coefficients, largest, *given, *lengths, *logs, out[block])

    run(work, slices(len(users), STRIP), n_threads=n_threads)
    out[np.diff(users.indptr) == 0] = np.nan
    out[:, np.diff(others.indptr) == 0] = np.nan
    return out


def _one_sided(users: UserRows, others: UserRows, geometry: ItemGeometry, n_threads: int | None) -> Singles:
    """Return R(u, v), (users, others): u's preference goes to the nearest items of v."""
    if geometry.grid is None and len(others) > STRIP:
        return _one_sided_by_vectors(users, others, geometry, n_threads)
    out = np.empty((len(users), len(others)), np.float32)

    def work(block: slice) -> None:
        nearest = nearest_items(others.part(block), geometry)
        part = np.empty((len(users), nearest.shape[1]), np.float32)
        kernels.expected(users.indptr, users.items, users.share, nearest, part)
        out[:, block] = part

    run(work, slices(len(others), STRIP), n_threads=n_threads)
    return out


def _one_sided_by_vectors(
    users: UserRows, others: UserRows, geometry: ItemGeometry, n_threads: int | None
) -> Singles:
    """Return the same from vectors, a strip of the users' items at a time: nothing is items x items.

    For each strip, the cosines of all items of ``others`` with it are one product of whole numbers. The
    nearest item has the largest cosine.
    """
    out = np.zeros((len(users), len(others)), np.float32)
    sources, at = np.unique(users.items, return_inverse=True)
    targets, to = np.unique(others.items, return_inverse=True)
    order = np.argsort(at, kind="stable")  # the users' entries by item
    owner = np.repeat(np.arange(len(users)), np.diff(users.indptr))[order]
    share, first = users.share[order], np.searchsorted(at[order], np.arange(len(sources) + 1))
    to, blocks = to.astype(np.int32), slices(len(others), COLUMNS)
    for strip, cosines in _cosines(geometry, sources, targets, STRIP):

        def work(block: slice, cosines: Floats = cosines, strip: slice = strip) -> None:
            nearest = np.empty((cosines.shape[1], block.stop - block.start), np.float32)
            kernels.nearest_by_cosines(
                others.indptr[block.start : block.stop + 1], to, cosines, LENGTH**2, nearest
            )
            entries = first[strip.start : strip.stop + 1]
            kernels.spread(entries, owner, share, nearest, block.start, out)

        run(work, blocks, n_threads=n_threads)
    return out


def nearest_items(users: UserRows, geometry: ItemGeometry) -> Singles:
    """Return the distance from each item to the nearest item of each user, (n_items, users)."""
    if geometry.grid is None:  # the nearest item has the largest cosine
        out = np.zeros((geometry.n_items, len(users)), np.float32)
        targets, to = np.unique(users.items, return_inverse=True)
        for strip, cosines in _cosines(geometry, np.arange(geometry.n_items), targets, COLUMNS):
            kernels.nearest_by_cosines(users.indptr, to.astype(np.int32), cosines, LENGTH**2, out[strip])
        return out
    table = np.empty((geometry.n_items, len(users)), np.int32)
    scratch = np.empty(geometry.n_items, np.int32)
    kernels.nearest(users.indptr, users.items.astype(np.int64), geometry.grid, scratch, table)
    return (table * geometry.unit).astype(np.float32)


def _cosines(
    geometry: ItemGeometry, sources: npt.NDArray[Any], targets: npt.NDArray[Any], size: int
) -> Iterator[tuple[slice, Floats]]:
    """Yield the cosines of all targets with a strip of the sources, as products of whole numbers."""
    assert geometry.vectors is not None  # a geometry without distances has vectors
    right = np.rint(LENGTH * geometry.vectors[targets])
    for strip in slices(len(sources), size):
        cosines = right @ np.rint(LENGTH * geometry.vectors[sources[strip]]).T
        _, row, column = np.intersect1d(targets, sources[strip], assume_unique=True, return_indices=True)
        cosines[row, column] = LENGTH**2  # zero vectors are near to themselves only
        yield strip, cosines


def _largest_distance(geometry: ItemGeometry) -> float:
    return float(geometry.grid.max() * geometry.unit) if geometry.grid is not None else np.pi / 2
