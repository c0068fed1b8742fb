"""Any measure between many users: whole arrays, or block after block."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from prefmover.errors import InputError
from prefmover.execution.memory import require
from prefmover.execution.threads import Progress, run
from prefmover.measures.mover import preference_mover
from prefmover.measures.pairs import Floats, Index, Pairs, Rows
from prefmover.measures.table import Measure, find_measure

if TYPE_CHECKING:
    from prefmover.data.ratings import Ratings
    from prefmover.items.geometry import ItemGeometry

__all__ = ["BLOCK_ROWS", "bind", "blocks", "similarities"]

BLOCK_ROWS = 256
"""Rows of a block: on MovieLens-1M, 256 users x 6,040 others x 8 bytes = 12 MB."""

THREAD_ROWS = 64
"""Rows that a thread takes at a time."""


def similarities(
    ratings: "Ratings",
    measure: str | Measure,
    *,
    geometry: "ItemGeometry | None" = None,
    users: Iterable[Any] | None = None,
    others: Iterable[Any] | None = None,
    convention: str | None = None,
    n_threads: int | None = None,
    progress: Progress | None = None,
    dtype: npt.DTypeLike = np.float64,
) -> npt.NDArray[Any]:
    """Return a measure between ``users`` and ``others``.

    Values are in the measure's own direction: MSD and PMD are distances, where smaller is closer (the
    measure's ``larger_is_closer`` says which).

    Parameters
    ----------
    ratings
        Item means and the scale are taken from all of them.
    measure
        A name in :data:`~prefmover.measures.MEASURES`, in any case, or a
        :class:`~prefmover.measures.Measure` of your own.
    geometry
        Item similarities, for BCF, HUSM, their normalized forms, and PMD.
    users, others
        Ids; None means all users.
    convention
        One of the measure's named conventions; by default that of its publication. ``"table-1"`` is the
        reconstruction of the paper's Table 1, for every measure.
    n_threads
        Threads; None means all cores. The result does not depend on it.
    progress
        Called with (rows done, rows in all); PMD counts pairs.
    dtype
        ``float64``, or ``float32`` for half the memory.

    Returns
    -------
    array of shape (len(users), len(others))
        NaN where the measure is undefined: such a user is never a neighbor.

    See Also
    --------
    blocks : the same rows, a few hundred at a time.
    prefmover.measures.compare : one pair, with its parts.

    Examples
    --------
    >>> from prefmover.data.ratings import Ratings
    >>> ratings = Ratings.from_arrays(
    ...     ["ann", "ann", "bob", "bob", "cid"], ["x", "y", "y", "z", "z"], [5, 3, 3, 1, 2]
    ... )
    >>> similarities(ratings, "jaccard").round(3)
    array([[1.   , 0.333, 0.   ],
           [0.333, 1.   , 0.5  ],
           [0.   , 0.5  , 1.   ]])
    >>> similarities(ratings, "cos", users=["ann"])  # nothing in common with cid
    array([[ 1.,  1., nan]])
    """
    rows, pairs = bind(ratings, measure, geometry, users, others, convention, whole=True)
    n, m = len(pairs.users), len(pairs.others)
    require(
        n * m * np.dtype(dtype).itemsize,
        f"a measure between {n:,} x {m:,} users",
        "ask for fewer users at a time, or take them block by block (prefmover.measures.blocks)",
    )
    if isinstance(rows, preference_mover):
        return rows.block(pairs.users, n_threads, progress).astype(dtype, copy=False)
    out = np.empty((len(pairs.users), len(pairs.others)), dtype)
    _fill(out, rows, pairs.users, n_threads, progress)
    if pairs.upper:
        _mirror(out, n_threads)
    return out


def blocks(
    ratings: "Ratings",
    measure: str | Measure,
    *,
    geometry: "ItemGeometry | None" = None,
    users: Iterable[Any] | None = None,
    others: Iterable[Any] | None = None,
    convention: str | None = None,
    n_threads: int | None = None,
    progress: Progress | None = None,
    block_rows: int = BLOCK_ROWS,
) -> Iterator[tuple[Index, Floats]]:
    """Yield the rows of :func:`similarities` block by block, in order, in the memory of a block.

    Yields
    ------
    positions
        Which users the rows are, as positions in ``ratings.users``.
    values
        (len(positions), len(others)) float64 array, yours to change.

    Examples
    --------
    The closest other user of each, in the memory of a block:

    >>> from prefmover.data.ratings import Ratings
    >>> ratings = Ratings.from_arrays([1, 1, 2, 2, 3, 3], list("xyxyyz"), [5, 3, 4, 3, 1, 5])
    >>> for positions, values in blocks(ratings, "jmsd", block_rows=2):
    ...     values[np.arange(len(positions)), positions] = -1  # not oneself
    ...     print(ratings.users[positions], ratings.users[np.nanargmax(values, axis=1)])
    [1 2] [2 1]
    [3] [1]
    """
    if block_rows < 1:
        raise InputError(f"block_rows is {block_rows!r}; give a whole number from 1")
    rows, pairs = bind(ratings, measure, geometry, users, others, convention)
    return _yield_blocks(rows, pairs, n_threads, progress, block_rows)


def bind(
    ratings: "Ratings",
    measure: str | Measure,
    geometry: "ItemGeometry | None" = None,
    users: Iterable[Any] | None = None,
    others: Iterable[Any] | None = None,
    convention: str | None = None,
    *,
    whole: bool = False,
) -> tuple[Rows, Pairs]:
    """Check the arguments, let the measure prepare, and return its function from users to rows.

    With ``whole``, the rows may lack their lower half if the result is symmetric: see ``pairs.upper``.
    """
    row = find_measure(measure)
    options = row.options(convention)
    if row.needs_geometry:
        if geometry is None:
            raise InputError(
                f"measure {row.name!r} compares different items and needs their similarities: "
                "pass geometry=ItemGeometry.from_vectors(...) or another geometry"
            )
        from prefmover.items.geometry import align

        ratings, geometry = align(ratings, geometry)
    rows, columns = ratings.user_positions(users), ratings.user_positions(others)
    same = np.array_equal(rows, columns) and len(np.unique(rows)) == len(rows)
    pairs = Pairs(
        ratings,
        geometry if row.needs_geometry else None,
        rows,
        columns,
        upper=whole and row.halves and same,
    )
    return row.kernel(pairs, **options), pairs


def _yield_blocks(
    rows: Rows, pairs: Pairs, n_threads: int | None, progress: Progress | None, block_rows: int
) -> Iterator[tuple[Index, Floats]]:
    total = len(pairs.users)
    for first in range(0, total, block_rows):
        some = pairs.users[first : first + block_rows]
        if isinstance(rows, preference_mover):
            values = rows.block(some, n_threads)
        else:
            values = np.empty((len(some), len(pairs.others)))
            _fill(values, rows, some, n_threads, None)
        if progress is not None:
            progress(first + len(some), total)
        yield some, values


def _fill(
    out: npt.NDArray[Any],
    rows: Callable[[Index], Floats],
    users: Index,
    n_threads: int | None,
    progress: Progress | None,
) -> None:
    parts = [slice(k, k + THREAD_ROWS) for k in range(0, len(users), THREAD_ROWS)]

    def work(part: slice) -> None:
        out[part] = rows(users[part])

    run(work, parts, n_threads=n_threads, sizes=[len(users[part]) for part in parts], progress=progress)


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
