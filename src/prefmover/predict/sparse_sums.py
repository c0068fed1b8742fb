"""Sums over the entries of a sparse matrix, on threads: of dense rows, and of numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ints, Singles
from prefmover.execution.jit import LazyModule, compiled_or_interpreted
from prefmover.execution.threads import run, slices

kernels = LazyModule("prefmover.predict._sparse_sums")

__all__ = ["Entries", "sum_rows"]

BLOCK_ROWS = 128
FOR_THREADS = 300_000  # steps; starting threads takes longer than fewer

CACHE = 2**24
"""Bytes of dense rows that are read again and again: as many as stay in a cache of common size."""


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """The pattern of a sparse matrix, by rows; the columns of a row ascend.

    Attributes
    ----------
    indptr, indices
        As in SciPy.
    n_columns
        The number of columns.
    n_threads
        Threads; None means all cores.
    """

    indptr: Ints
    indices: npt.NDArray[Any]
    n_columns: int
    n_threads: int | None = None

    @classmethod
    def from_arrays(cls, indptr: Any, indices: Any, n_columns: int, n_threads: int | None = None) -> Self:
        """Return the entries, given arrays of any integer type."""
        return cls(np.asarray(indptr, np.int64), indices, n_columns, n_threads)

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
    entries = Entries.from_arrays(matrix.indptr, matrix.indices, len(rows), n_threads)
    total = np.zeros((len(entries), rows.shape[1]), np.float32) if out is None else out
    return entries.add_rows(matrix.data.astype(np.float32, copy=False), rows, total)
