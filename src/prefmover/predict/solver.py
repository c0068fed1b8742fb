"""The regression over all ratings as a linear system, (k + 1) α = r - μ, solved by conjugate residuals.

The system has one row for each rating, and is never formed: a product with it is made of sums over the
entries of a sparse matrix (:class:`Entries`), on threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ints, Singles, Sparse
from prefmover.data.ratings import Ratings
from prefmover.errors import NotOptimalError
from prefmover.execution.jit import LazyModule, compiled_or_interpreted
from prefmover.execution.threads import run, slices
from prefmover.predict.low_rank import LowRankKernel

if TYPE_CHECKING:
    from prefmover.predict.gaussian_process import RatingSettings

kernels = LazyModule("prefmover.predict._sparse_sums")

__all__ = ["Coefficients", "Entries", "like", "solve", "sum_rows", "work_limits"]

TOLERANCE = 1e-3
"""Norm of the residual, relative to that of the ratings, at which conjugate residuals end. On MovieLens-100K,
predictions at 1e-2 and at 1e-4 differ by less than .0003 of MAE."""

MANY = 500_000
"""From so many ratings on, inner products are added in any order. (Fewer may be interpreted, which needs the
same bits as compiled code.)"""

LARGE = 4_000_000
"""Ratings beyond which a fit saves work: see :func:`work_limits`."""

LARGE_RANK, LARGE_TOLERANCE = 160, 2e-2

ITERATIONS = 400
BLOCK_ROWS, BLOCK_ITEMS, CHUNK = 128, 2048, 2**16
SWEEPS = 2  # of the preconditioner, over users and items
FOR_THREADS = 300_000  # steps; starting threads takes longer than fewer

CACHE = 2**24
"""Bytes of dense rows that are read again and again: as many as stay in a cache of common size."""


class Coefficients(NamedTuple):
    """A solved regression: coefficients, and the sums of them that predictions need."""

    mean: float  # the intercept: μ and the part that all ratings share
    alpha: Floats  # (n_ratings,) one coefficient for each rating, (rating - fitted) in units of the noise
    user: Floats  # (n_users,) offsets of users
    item: Floats  # (n_items,) those of items
    similar_items: Floats  # (n_items,) those of items through similar ones
    # (n_items, rank): times a user's features, the contribution of similar users to each item
    item_factors: Singles


def work_limits(ratings: Ratings) -> tuple[int | None, float]:
    """Return the largest rank of the covariances (None means all), and the residual at which a solve ends.

    Every rating is used, however many there are. Beyond :data:`LARGE` ratings, users and items are compared
    only in their 160 largest common directions (the rest of each counts as its own), and conjugate residuals
    end at a residual of 2e-2. Forced on MovieLens-100K, with four fifths of the ratings for training, that
    costs .0003 and .0009 of MAE on two splits (.7071 to .7074, .7081 to .7090), all through the directions.
    """
    return (LARGE_RANK, LARGE_TOLERANCE) if ratings.n_ratings > LARGE else (None, TOLERANCE)


def solve(
    ratings: Ratings,
    items: LowRankKernel,
    kernel: LowRankKernel,
    settings: RatingSettings,
    start: Floats | None = None,
    n_threads: int | None = None,
) -> Coefficients:
    """Return the solution, given the covariances of items and users, beginning with the alpha ``start``."""
    system = _System(ratings, items, kernel, settings, n_threads)
    mean = float(ratings.matrix.data.mean())
    alpha = _conjugate_residuals(system, ratings.matrix.data - mean, start, work_limits(ratings)[1])
    per_user = system.by_user.sum_entries(alpha)
    per_item = system.by_item.sum_entries(system.in_order_of_items(alpha))
    intercept = mean + settings.level * float(alpha.sum())
    user, item = settings.user * per_user, settings.item * per_item
    similar_items = settings.similar_items * system.over_items(per_item)
    return Coefficients(intercept, alpha, user, item, similar_items, system.item_factors(alpha))


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
        turned = like(m, positions).tocsc()
        self.by_user = Entries(m.indptr.astype(np.int64), m.indices, m.shape[1], n_threads)
        self.by_item = Entries(turned.indptr.astype(np.int64), turned.indices, m.shape[0], n_threads)
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

    def in_order_of_items(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return values, one for each rating, in the order of items."""
        out = np.empty_like(values)

        def work(part: slice) -> None:
            np.take(values, self.order[part], out=out[part], mode="clip")

        run(work, slices(len(out), CHUNK), n_threads=self.n_threads)
        return out

    def over_items(self, values: Floats) -> Floats:
        """Return values (n_items,) times k_I: spread over similar items."""
        features = self.items.features
        through = (features @ (features.T @ values.astype(np.float32))).astype(np.float64)
        return through + self.items.unexplained * values

    def item_factors(self, alpha: Floats) -> Singles:
        """Return (Φᵀ V (s_n + s_s k_I))ᵀ, (n_items, rank)."""
        singles = alpha.astype(np.float32)
        sums, _, common = self._shared(singles, self.in_order_of_items(singles))
        for block in slices(len(sums), BLOCK_ITEMS):
            sums[block] += self.items.features[block] @ common.T
        return sums

    def _shared(self, alpha: Singles, in_order: Singles) -> tuple[Singles, Singles, Singles]:
        """Return what similar users, with features Φ, and similar items, with Ψ, share of coefficients V.

        These are ((s_n + s_s χ_i) S_i), (n_items, rank), for the same item; VΨ, (n_users, item rank), for
        the same user; and s_s ΦᵀVΨ, (rank, item rank). ``in_order`` is ``alpha`` in the order of items.
        """
        users, items, s = self.kernel.features, self.items, self.settings
        by_item = np.zeros((len(self.by_item), users.shape[1]), np.float32)
        self.by_item.add_rows(in_order, users, by_item, self.item_strips)
        by_user = np.zeros((len(self.by_user), items.rank), np.float32)
        self.by_user.add_rows(alpha, items.features, by_user, self.user_strips)
        fewer_users = len(by_user) < len(by_item)
        product = users.T @ by_user if fewer_users else by_item.T @ items.features
        by_item *= (s.neighbors + s.shared_taste * items.unexplained).astype(np.float32)[:, None]
        return by_item, by_user, np.asarray(np.float32(s.shared_taste) * product)

    def multiply(self, alpha: Floats) -> Floats:
        """Return (k + 1) α."""
        # By the number of ratings alone, so that results do not depend on what a process has compiled.
        products = kernels.products if len(alpha) < MANY else kernels.many_products
        s, rest, items = self.settings, self.kernel.unexplained, self.items
        in_order = self.in_order_of_items(alpha)
        per_user, per_item = self.by_user.sum_entries(alpha), self.by_item.sum_entries(in_order)
        by_item = s.item * per_item + s.similar_items * self.over_items(per_item)
        base = s.level * per_user.sum() + s.user * per_user
        # What a user's ratings share with each other and with nobody else's.
        own, same = s.taste + rest * s.shared_taste, rest * s.neighbors
        sums, through, common = self._shared(alpha.astype(np.float32), in_order.astype(np.float32))
        through *= own.astype(np.float32)[:, None]
        through += self.kernel.features @ common
        self.left[:, : items.rank], self.right[:, items.rank :] = through, sums
        out, indices = np.empty_like(alpha), self.by_user.indices
        given = indices, alpha, own, same, base, items.unexplained, by_item, self.left, self.right
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
        for block in slices(len(n), BLOCK_ITEMS):
            inner += W[block].T @ (n[block, None] * W[block])
        self.factor = cho_factor(inner, lower=True, overwrite_a=True)
        W *= np.sqrt(share)[:, None]
        self.item_share, self.through = own * share, W

    def precondition(self, values: Floats) -> Floats:
        """Return about the solution of the simpler model: offsets of users and items, in turn."""
        from scipy.linalg import cho_solve

        by_user = self.by_user.sum_entries(values)
        by_item = self.by_item.sum_entries(self.in_order_of_items(values))
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


def like(matrix: Sparse, values: npt.NDArray[Any]) -> Sparse:
    """Return a matrix with the pattern of another, and other values."""
    from scipy.sparse import csr_array

    return csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """The pattern of a sparse matrix, by rows; the columns of a row ascend."""

    indptr: Ints  # this and the next as in SciPy
    indices: npt.NDArray[Any]
    n_columns: int
    n_threads: int | None = None  # threads; None means all cores

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def strips(self, row_bytes: int) -> list[tuple[Ints, Ints]]:
        """Return the first and last entries of each row in strips of columns.

        The dense rows of the columns of a strip, ``row_bytes`` each, stay in the cache.
        """
        n = max(1, -(-self.n_columns * row_bytes // CACHE)) if len(self.indices) > 2 * self.n_columns else 1
        ends = [self.indptr[:-1]]
        for k in range(1, n):
            below = np.concatenate([[0], np.cumsum(self.indices < k * self.n_columns // n)])
            ends.append(self.indptr[:-1] + np.diff(below[self.indptr]))
        ends.append(self.indptr[1:])
        return list(pairwise(ends))

    def call(self, kernel: Any, steps: float, strip: tuple[Ints, Ints], *arrays: Any) -> None:
        """Call a kernel for all rows: with a strip of entries, the first of the arrays, blocks, the last."""
        compute: Callable[..., Any] = compiled_or_interpreted(kernel, steps)
        *given, out = arrays
        blocks = slices(len(self), BLOCK_ROWS)
        n_threads = self.n_threads if steps >= FOR_THREADS else 1
        run(lambda block: compute(*strip, *given, block.start, block.stop, out), blocks, n_threads=n_threads)

    @property
    def whole(self) -> tuple[Ints, Ints]:
        """The first and last entries of each row."""
        return self.indptr[:-1], self.indptr[1:]

    def sum_entries(self, values: npt.NDArray[Any]) -> Floats:
        """Return the sum of values, one for each entry, by row."""
        out = np.empty(len(self))
        self.call(kernels.sum_entries, len(self.indices), self.whole, values, out)
        return out

    def sum_numbers(self, numbers: Floats) -> Floats:
        """Return the sums of numbers, one for each column, over the entries of each row."""
        out = np.empty(len(self))
        self.call(kernels.sum_numbers, len(self.indices), self.whole, self.indices, numbers, out)
        return out

    def add_rows(
        self, values: Singles, rows: Singles, out: Singles, strips: list[tuple[Ints, Ints]] | None = None
    ) -> Singles:
        """Add the matrix with these values, times dense ``rows``, to ``out``; return it."""
        for strip in [self.whole] if strips is None else strips:
            steps = len(values) * rows.shape[1]
            self.call(kernels.add_rows, steps, strip, self.indices, values, rows, out)
        return out


def sum_rows(matrix: Any, rows: Singles, out: Singles | None = None, n_threads: int | None = None) -> Singles:
    """Return a sparse matrix (CSR) times a dense one, ``rows``, in single precision.

    With ``out``, the product is added to it. A CSC matrix stands for its transpose.

    >>> from scipy.sparse import csr_array
    >>> sum_rows(csr_array([[2.0, 1.0], [0.0, 0.0]]), np.eye(2, dtype=np.float32))
    array([[2., 1.],
           [0., 0.]], dtype=float32)
    """
    entries = Entries(matrix.indptr.astype(np.int64), matrix.indices, len(rows), n_threads)
    total = np.zeros((len(entries), rows.shape[1]), np.float32) if out is None else out
    return entries.add_rows(matrix.data.astype(np.float32, copy=False), rows, total)
