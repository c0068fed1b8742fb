"""The pairs of users that a measure compares, and their values: the whole array, or block after block.

A kernel is a function ``kernel(pairs, **options)``. It prepares once what all rows need (item means, the
raters of each item, item similarities) and returns a function from a block of users to their rows of values.
:func:`compute` calls that function on several threads, so the working memory is that of a few blocks.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ints, Progress, Sparse
from prefmover.data.preferences import entries_of_rows, indptr_from_counts
from prefmover.dataset import Dataset, check_dataset
from prefmover.errors import InputError
from prefmover.execution.memory import require
from prefmover.execution.threads import run, slices
from prefmover.measures.measure import Measure, find_measure

if TYPE_CHECKING:
    from prefmover.data.ratings import Ratings
    from prefmover.items.geometry import ItemGeometry

Rows: TypeAlias = Callable[[Ints], Floats]
"""Takes user positions, (k,), and returns (k, others) values, NaN where undefined."""

BLOCK_ROWS = 256
"""Rows of a block: on MovieLens-1M, 256 users x 6,040 others x 8 bytes = 12 MB."""

Walk: TypeAlias = tuple[Any, Any, Any, Any, Any, Any, Any, Any]  # arrays; see Pairs.walk


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Users x others of one data set.

    ``users`` and ``others`` are positions: the rows and columns of the result. Item means are taken over all
    users of ``data``. ``upper`` says that users and others are the same, and that a row needs only the
    columns from its user on.
    """

    data: Dataset
    users: Ints
    others: Ints
    upper: bool = False

    @property
    def ratings(self) -> "Ratings":
        """All ratings."""
        return self.data.ratings

    @property
    def geometry(self) -> "ItemGeometry":
        """The item distances, for the measures that need them."""
        return self.data.require_geometry("this measure")

    @property
    def matrix(self) -> Sparse:
        """The users x items matrix of ratings."""
        return self.data.ratings.matrix

    def counts(self) -> Ints:
        """Return |I_u|, the number of ratings of each user."""
        return np.diff(self.matrix.indptr).astype(np.int64)

    def spans(self, users: Ints) -> tuple[Ints, Ints]:
        """Return where each user's ratings begin and end in ``matrix.indices`` and ``matrix.data``."""
        indptr = self.matrix.indptr
        return indptr[users].astype(np.int64), indptr[users + 1].astype(np.int64)

    def item_means(self) -> Floats:
        """Return μ_i, the mean rating of each item over its raters; NaN for an item without raters."""
        n = np.bincount(self.matrix.indices, minlength=self.matrix.shape[1])
        total = np.bincount(self.matrix.indices, self.matrix.data, minlength=self.matrix.shape[1])
        means: Floats = np.divide(total, n, out=np.full(len(n), np.nan), where=n > 0)
        return means

    def user_means(self) -> Floats:
        """Return μ_u, the mean rating of each user; NaN for a user without ratings."""
        n, data = self.counts(), self.matrix.data
        total = np.bincount(self.ratings.rows(), data, minlength=len(n))
        mean: Floats = np.divide(total, n, out=np.full(len(n), np.nan), where=n > 0)
        first = self.matrix.indptr[:-1][n > 0]
        if len(first):
            # The mean of equal numbers is that number, also where their sum is rounded (3 x 0.1).
            lowest = np.minimum.reduceat(data, first)
            flat = lowest == np.maximum.reduceat(data, first)
            mean[n > 0] = np.where(flat, lowest, mean[n > 0])
        return mean

    def user_deviations(self) -> Floats:
        """Return σ_u, the standard deviation of each user's ratings; exactly 0 where all are equal."""
        owner, n = self.ratings.rows(), self.counts()
        total = np.bincount(owner, (self.matrix.data - self.user_means()[owner]) ** 2, minlength=len(n))
        deviation: Floats = np.sqrt(np.divide(total, n, out=np.full(len(n), np.nan), where=n > 0))
        return deviation

    def walk(self, values: npt.NDArray[Any] | None = None) -> Callable[[Ints], Walk]:
        """Return a function from users to the first arguments of the kernels in ``_corated``.

        They are the users' ratings (starts, stops, items, values), and the users among ``others`` who rated
        each item (begins, indptr, others, values). ``values`` replaces the ratings, one number for each.
        """
        indices, data = self.matrix.indices, self.matrix.data if values is None else values
        rows, entries = entries_of_rows(self.matrix.indptr, self.others)
        order = np.argsort(indices[entries], kind="stable")
        n = np.bincount(indices[entries], minlength=self.matrix.shape[1])
        indptr = indptr_from_counts(n)
        begins = indptr[indices]
        if self.upper:
            begins[entries[order]] = np.arange(len(order))
        raters = begins, indptr, rows[order].astype(np.int32), data[entries[order]]
        return lambda users: (*self.spans(users), indices, data, *raters)


Kernel: TypeAlias = Callable[..., Rows]
"""``kernel(pairs, **options)`` returns :data:`Rows`."""


def pairwise(
    data: Dataset,
    measure: str | Measure = "pmd",
    users: Iterable[Any] | None = None,
    others: Iterable[Any] | None = None,
    *,
    convention: str | None = None,
    n_threads: int | None = None,
    progress: Progress | None = None,
    dtype: npt.DTypeLike = np.float64,
) -> npt.NDArray[Any]:
    """Return the values of a measure between ``users`` and ``others``.

    They are distances or similarities, as ``find_measure(measure).value_name`` says: PMD, PMD-agreement,
    PMD-opinions and MSD are distances, where smaller is closer, and all others are similarities. A value does
    not depend on the number of threads or the order of the users.

    Parameters
    ----------
    data
        Item means and the rating scale are those of all its ratings.
    measure
        A name in :data:`~prefmover.measures.MEASURES`, in any case, or a
        :class:`~prefmover.measures.Measure` of your own.
    users, others
        User ids; None means all users. If the two are the same, each pair is solved once where the
        measure is symmetric.
    convention
        One of the measure's named conventions; by default that of its publication. ``"table-1"`` is the
        reconstruction of the paper's Table 1, for every measure.
    n_threads
        Number of threads; None means all cores.
    progress
        Called with (users done, all users).
    dtype
        float64, or float32 to halve the memory.

    Returns
    -------
    array of shape (len(users), len(others))
        NaN where the measure is undefined. Such users are never neighbors.

    Examples
    --------
    >>> from prefmover import Dataset, Ratings
    >>> data = Dataset(Ratings.from_arrays(
    ...     ["ann", "ann", "bob", "bob", "cid"], ["x", "y", "y", "z", "z"], [5, 3, 3, 1, 2]
    ... ))
    >>> pairwise(data, "jaccard").round(3)
    array([[1.   , 0.333, 0.   ],
           [0.333, 1.   , 0.5  ],
           [0.   , 0.5  , 1.   ]])
    >>> pairwise(data, "cos", users=["ann"])  # ann and cid have no item in common
    array([[ 1.,  1., nan]])
    """
    check_dataset(data)
    if np.dtype(dtype) not in (np.float64, np.float32):
        raise InputError(f"dtype is {dtype!r}; choose float64 or float32")
    row, at = find_measure(measure), data.ratings.user_positions
    return values(data, row, convention, at(users), at(others), n_threads, progress, dtype)


def values(
    data: Dataset,
    measure: Measure,
    convention: str | None,
    users: Ints,
    others: Ints,
    n_threads: int | None = None,
    progress: Progress | None = None,
    dtype: npt.DTypeLike = np.float64,
) -> npt.NDArray[Any]:
    """Return :func:`~prefmover.measures.pairwise` of users by position."""
    same = (
        measure.fills_upper_triangle and np.array_equal(users, others) and len(np.unique(users)) == len(users)
    )
    pairs = Pairs(data, users, others, upper=same)
    what = f"{measure.label} between {len(users):,} x {len(others):,} users"
    remedy = "ask for fewer users at a time, or for the nearest of each (prefmover.nearest)"
    require(np.dtype(dtype).itemsize * len(users) * len(others), what, remedy)
    rows = _prepare(pairs, measure, convention)
    return compute(
        rows, pairs, rows_per_task=measure.rows_per_task, n_threads=n_threads, progress=progress, dtype=dtype
    )


def value_blocks(
    data: Dataset,
    measure: Measure,
    convention: str | None,
    users: Ints,
    others: Ints,
    *,
    n_threads: int | None = None,
    progress: Progress | None = None,
    block_rows: int = BLOCK_ROWS,
) -> Iterator[tuple[Ints, Floats]]:
    """Yield the rows of :func:`values` block by block, in order, in the memory of a block.

    A block is the positions of its users, and their (len(users), len(others)) values, which the caller may
    change.

    Examples
    --------
    >>> from prefmover import Dataset, Ratings, find_measure
    >>> data = Dataset(Ratings.from_arrays([1, 1, 2, 2, 3, 3], list("xyxyyz"), [5, 3, 4, 3, 1, 5]))
    >>> everyone = np.arange(3)
    >>> for users, block in value_blocks(data, find_measure("jmsd"), None, everyone, everyone, block_rows=2):
    ...     print(users, block.shape)
    [0 1] (2, 3)
    [2] (1, 3)
    """
    pairs = Pairs(data, users, others)
    rows = _prepare(pairs, measure, convention)
    for first in range(0, len(users), block_rows):
        some = Pairs(data, users[first : first + block_rows], others)
        yield some.users, compute(rows, some, rows_per_task=measure.rows_per_task, n_threads=n_threads)
        if progress is not None:
            progress(first + len(some.users), len(users))


def _prepare(pairs: Pairs, measure: Measure, convention: str | None) -> Rows:
    """Check the convention and the geometry, and let the kernel prepare."""
    options = measure.options(convention)
    if measure.needs_geometry:
        pairs.data.require_geometry(measure.label)
    return measure.kernel(pairs, **options)


def compute(
    rows: Rows,
    pairs: Pairs,
    *,
    rows_per_task: int,
    n_threads: int | None = None,
    progress: Progress | None = None,
    dtype: npt.DTypeLike = np.float64,
) -> npt.NDArray[Any]:
    """Return the (users, others) values of a prepared kernel; a thread takes some rows at a time."""
    out = np.empty((len(pairs.users), len(pairs.others)), dtype)
    tasks = slices(len(pairs.users), rows_per_task)

    def work(task: slice) -> None:
        out[task] = rows(pairs.users[task])

    # Heavy users first, so that no thread is left alone with one at the end.
    starts, stops = pairs.spans(pairs.users)
    weight = [-int((stops[task] - starts[task]).sum()) for task in tasks]
    tasks = [tasks[k] for k in np.argsort(weight, kind="stable").tolist()]
    sizes = [len(pairs.users[task]) for task in tasks]
    run(work, tasks, n_threads=n_threads, sizes=sizes, progress=progress)
    if pairs.upper:
        _mirror(out, n_threads)
    return out


def _mirror(out: npt.NDArray[Any], n_threads: int | None) -> None:
    """Copy the part above the diagonal to below it, in tiles that fit the cache."""
    n, tile = len(out), 256

    def work(first: int) -> None:
        rows = slice(first, first + tile)
        for start in range(first + tile, n, tile):
            out[start : start + tile, rows] = out[rows, start : start + tile].T
        corner = out[rows, rows]
        corner[:] = np.where(np.tri(len(corner), k=-1, dtype=bool), corner.T, corner)

    run(work, range(0, n, tile), n_threads=n_threads)
