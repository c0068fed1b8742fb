"""Any measure between many users: the whole array, or block after block."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from prefmover._typing import Floats, Ints, Progress
from prefmover.dataset import Dataset, check_dataset
from prefmover.execution.memory import require
from prefmover.measures.pairs import Pairs, Rows, compute
from prefmover.measures.table import Measure, find_measure

BLOCK_ROWS = 256
"""Rows of a block: on MovieLens-1M, 256 users x 6,040 others x 8 bytes = 12 MB."""


def similarities(
    data: Dataset,
    measure: str | Measure = "pmd",
    users: Iterable[Any] | None = None,
    others: Iterable[Any] | None = None,
    *,
    convention: str | None = None,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> Floats:
    """Return a measure between ``users`` and ``others``.

    Values are in the measure's own direction: MSD and PMD are distances, where smaller is closer. The
    measure's ``larger_is_closer`` says which.

    Parameters
    ----------
    data
        Item means and the rating scale are those of all its ratings.
    measure
        A name in :data:`~prefmover.measures.MEASURES`, in any case, or a
        :class:`~prefmover.measures.Measure` of your own.
    users, others
        User ids; None means all users.
    convention
        One of the measure's named conventions; by default that of its publication. ``"table-1"`` is the
        reconstruction of the paper's Table 1, for every measure.
    n_threads
        Number of threads; None means all cores. The result does not depend on it.
    progress
        Called with (users done, all users).

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
    >>> similarities(data, "jaccard").round(3)
    array([[1.   , 0.333, 0.   ],
           [0.333, 1.   , 0.5  ],
           [0.   , 0.5  , 1.   ]])
    >>> similarities(data, "cos", users=["ann"])  # ann and cid have no item in common
    array([[ 1.,  1., nan]])
    """
    check_dataset(data)
    row, at = find_measure(measure), data.ratings.user_positions
    return values(data, row, convention, at(users), at(others), n_threads, progress)


def values(
    data: Dataset,
    measure: Measure,
    convention: str | None,
    users: Ints,
    others: Ints,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> Floats:
    """Return :func:`similarities` of users by position."""
    same = measure.halves and np.array_equal(users, others) and len(np.unique(users)) == len(users)
    pairs = Pairs(data, users, others, upper=same)
    rows = _prepare(pairs, measure, convention)
    what = f"a measure between {len(users):,} x {len(others):,} users"
    remedy = "ask for fewer users at a time, or take them block by block (prefmover.measures.value_blocks)"
    require(8 * len(users) * len(others), what, remedy)
    return compute(rows, pairs, task_rows=measure.task_rows, n_threads=n_threads, progress=progress)


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
    >>> from prefmover import Dataset, Ratings
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
        yield some.users, compute(rows, some, task_rows=measure.task_rows, n_threads=n_threads)
        if progress is not None:
            progress(first + len(some.users), len(users))


def _prepare(pairs: Pairs, measure: Measure, convention: str | None) -> Rows:
    """Check the convention and the geometry, and let the kernel prepare."""
    options = measure.options(convention)
    if measure.needs_geometry:
        pairs.data.require_geometry(measure.label)
    return measure.kernel(pairs, **options)
