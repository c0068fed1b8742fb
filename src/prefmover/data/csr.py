"""Sparse rows that compiled code may trust.

Numba's kernels do not check bounds: an index that is too large reads, or writes, somebody else's memory. So
every matrix of ratings, wherever it comes from (a caller, a model folder from a stranger), passes here once.
"""

from typing import Any

import numpy as np

from prefmover.errors import InputError

__all__ = ["check_rows", "checked_coo"]


def check_rows(matrix: Any) -> None:
    """Raise unless a CSR matrix is whole: rows one after the other, columns in range and ascending.

    Values must be finite and not negative. Takes some 5 ms for a million entries.

    >>> from scipy.sparse import csr_array
    >>> matrix = csr_array(([4.0, 2.0], [0, 1], [0, 1, 2]), shape=(2, 2))
    >>> check_rows(matrix)
    >>> matrix.indices[1] = 7
    >>> check_rows(matrix)
    Traceback (most recent call last):
    prefmover.errors.InputError: the matrix of ratings is damaged: a column 7 where there are 2
    """
    n_rows, n_columns = matrix.shape
    data, indices, indptr = matrix.data, matrix.indices, matrix.indptr
    if not (data.ndim == indices.ndim == indptr.ndim == 1) or data.dtype != np.float64:
        raise InputError(f"the matrix of ratings is damaged: {data.dtype} values where float64 are expected")
    if indices.dtype.kind != "i" or indptr.dtype.kind != "i":
        raise InputError(f"the matrix of ratings is damaged: positions are {indices.dtype}, not integers")
    if len(indptr) != n_rows + 1 or len(indices) != len(data):
        raise InputError(
            f"the matrix of ratings is damaged: {len(indptr):,} row ends for {n_rows:,} rows, "
            f"{len(indices):,} columns for {len(data):,} values"
        )
    if indptr[0] != 0 or indptr[-1] != len(data) or (indptr[1:] < indptr[:-1]).any():
        raise InputError("the matrix of ratings is damaged: its rows do not follow one another")
    if not len(data):
        return
    for column in (indices.min(), indices.max()):
        if not 0 <= column < n_columns:
            raise InputError(
                f"the matrix of ratings is damaged: a column {column} where there are {n_columns:,}"
            )
    falls = indices[1:] <= indices[:-1]
    starts = indptr[1:-1]
    falls[starts[(starts > 0) & (starts < len(data))] - 1] = False  # a new row begins anew
    if falls.any():
        row = int(np.searchsorted(indptr, int(falls.argmax()), side="right")) - 1
        raise InputError(f"the matrix of ratings is damaged: the columns of row {row:,} do not ascend")
    lowest, highest = data.min(), data.max()
    if not (lowest >= 0 and highest < np.inf):  # NaN is neither
        raise InputError("the matrix of ratings is damaged: a value is missing, infinite or negative")


def checked_coo(matrix: Any) -> Any:
    """Return a SciPy matrix of any format as triples, all within its shape; duplicates stay apart.

    SciPy believes whoever fills its arrays, and its compiled conversions do not check bounds either.
    """
    try:
        if matrix.format in ("csr", "csc", "bsr"):
            # Before SciPy's own check: that leaves this out when the last pointer is 0, and its difference of
            # two pointers can overflow.
            if (matrix.indptr[1:] < matrix.indptr[:-1]).any():
                raise ValueError("its pointers do not ascend")
            matrix.check_format(full_check=True)
        elif matrix.format == "lil" and any(
            not isinstance(row, list) or not isinstance(values, list) or len(row) != len(values)
            for row, values in zip(matrix.rows, matrix.data, strict=True)
        ):
            raise ValueError("a row has other columns than values")
        triples = matrix.tocoo()
        for places, n, what in zip((triples.row, triples.col), triples.shape, ("row", "column"), strict=True):
            if len(places) != len(triples.data):
                raise ValueError(f"{len(places):,} {what}s for {len(triples.data):,} values")
            if len(places) and not 0 <= places.min() <= places.max() < n:
                raise ValueError(f"a {what} beyond its {n:,}")
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise InputError(f"the matrix is damaged: {error}; make it anew from rows and columns") from None
    return triples
