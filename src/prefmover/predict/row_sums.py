"""Sums of dense rows over the entries of a sparse matrix, on threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from prefmover.execution.threads import run
from prefmover.predict.user_kernel import Singles

__all__ = ["row_parts", "sum_rows"]

BLOCK_ROWS = 128


def sum_rows(
    indptr: npt.NDArray[Any],
    indices: npt.NDArray[Any],
    values: Singles,
    rows: Singles,
    out: Singles | None = None,
    n_threads: int | None = None,
) -> Singles:
    """Return a sparse matrix (CSR) times a dense one, ``rows``, in single precision.

    With ``out``, the product is added to it.

    >>> indptr, indices, values = np.array([0, 2, 2]), np.array([0, 1]), np.array([2, 1], np.float32)
    >>> sum_rows(indptr, indices, values, np.eye(2, dtype=np.float32))
    array([[2., 1.],
           [0., 0.]], dtype=float32)
    """
    from prefmover.execution.jit import for_work
    from prefmover.predict import _regression as kernels

    total = np.zeros((len(indptr) - 1, rows.shape[1]), np.float32) if out is None else out
    add = for_work(kernels.add_rows, len(values) * rows.shape[1])
    run(
        lambda part: add(indptr, indices, values, rows, *part, total),
        row_parts(len(total)),
        n_threads=n_threads,
    )
    return total


def row_parts(n: int) -> list[tuple[int, int]]:
    """Return the blocks of rows, (first, last + 1), that threads take."""
    return [(first, min(first + BLOCK_ROWS, n)) for first in range(0, n, BLOCK_ROWS)]
