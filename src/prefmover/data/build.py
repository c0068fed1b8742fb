"""From (user, item, rating) triples to sparse rows that compiled code can trust.

Numba kernels do not check bounds: an index that is too large would read, or write, foreign memory. Every
matrix of ratings, from a caller or from a model folder, is checked here once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from prefmover._typing import Bools, Floats, Ids, Ints
from prefmover.data.ids import show
from prefmover.data.origin import Origin
from prefmover.data.scale import Scale
from prefmover.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Duplicates", "Triples", "check_rows", "checked_coo", "numbers"]

Duplicates = Literal["error", "last", "mean"]


@dataclass(frozen=True, slots=True, eq=False)
class Triples:
    """Ratings in the order of their source, and their origin for error messages.

    Attributes
    ----------
    rows, columns : int ndarray of shape (n,)
        Positions in `users` and `items`.
    values : float64 ndarray of shape (n,)
        The ratings; NaN where one is missing.
    users, items : ndarray
        The ids.
    origin : Origin
        The source of the rows.
    name : str, int or None
        The name of the column of ratings there.
    """

    rows: npt.NDArray[Any]
    columns: npt.NDArray[Any]
    values: Floats
    users: Ids
    items: Ids
    origin: Origin
    name: str | int | None = None

    def check(self, scale: Scale | None) -> None:
        """Raise for the first rating that is missing, infinite, negative or off the scale."""
        values = self.values
        self._refuse(np.isnan(values), "is missing; fill it in or drop the row")
        self._refuse(np.isinf(values), "is infinite; replace it or drop the row")
        self._refuse(values < 0, "is negative; shift the scale so that it starts at 0")
        if scale is None:
            return
        ends = f"the scale from {scale.lowest:g} to {scale.highest:g}"
        self._refuse((values < scale.lowest) | (values > scale.highest), f"is outside {ends}")
        if scale.step:
            steps = (values - scale.lowest) / scale.step
            off = np.abs(steps - np.round(steps)) > 1e-6
            self._refuse(off, f"is not a level of {ends} in steps of {scale.step:g}")

    def _refuse(self, wrong: Bools, reason: str) -> None:
        if not wrong.any():
            return
        k = int(np.argmax(wrong))
        user, item = self.users[self.rows[k]], self.items[self.columns[k]]
        value = "" if np.isnan(self.values[k]) else f" {self.values[k]:g}"
        others = int(wrong.sum()) - 1
        raise InputError(
            f"{self.origin.at(k, self.name)}: the rating{value} of item {show(item)} by user {show(user)} "
            f"{reason}{f' ({others:,} more like it)' if others else ''}"
        )

    def to_csr(self, duplicates: Duplicates = "error") -> csr_array[Any, tuple[int, int]]:
        """Return users x items with sorted indices; one rating per user and item."""
        from scipy.sparse import csr_array

        if duplicates not in get_args(Duplicates):
            raise InputError(f"duplicates is {duplicates!r}; choose one of {get_args(Duplicates)}")
        n_items = len(self.items)
        key = self.rows.astype(np.int64) * n_items + self.columns
        order = np.argsort(key)
        ordered, values = key[order], self.values[order]
        is_first = np.r_[True, ordered[1:] != ordered[:-1]]
        if not is_first.all():
            starts = np.flatnonzero(is_first)
            values = self._one_each(key, starts, duplicates)
            ordered = ordered[starts]
        width = np.int32 if max(len(ordered), n_items) < 2**31 else np.int64
        bounds = np.arange(len(self.users) + 1) * n_items
        matrix = csr_array(
            (
                values + 0.0,  # no negative zeros
                (ordered % n_items).astype(width),
                np.searchsorted(ordered, bounds).astype(width),
            ),
            shape=(len(self.users), n_items),
        )
        matrix.has_canonical_format = True
        return matrix

    def _one_each(self, key: Ints, starts: Ints, duplicates: Duplicates) -> Floats:
        """Return one rating per group of equal keys; `starts` are the groups' first positions."""
        ends = np.r_[starts[1:], len(key)]
        if duplicates == "mean":
            # Summed in ascending order, so that the order of the rows does not change a bit of the result.
            order = np.lexsort((self.values, key))
            return np.asarray(np.add.reduceat(self.values[order], starts) / (ends - starts))
        order = np.argsort(key, kind="stable")
        if duplicates == "last":
            return np.asarray(self.values[order[ends - 1]])
        again = np.setdiff1d(np.arange(len(key)), starts)
        k = again[np.argmin(order[again])]  # the first one in the file
        a, b = int(order[k - 1]), int(order[k])
        user, item = self.users[self.rows[a]], self.items[self.columns[a]]
        others = f" ({len(again) - 1:,} more like it)" if len(again) > 1 else ""
        raise InputError(
            f"{self.origin.both(a, b)}: user {show(user)} rated item {show(item)} twice "
            f"({self.values[a]:g} and {self.values[b]:g}){others}; "
            "drop one, or pass duplicates='last' or duplicates='mean'",
            argument="duplicates",
        )


def numbers(values: Any, origin: Origin, name: str | int | None) -> Floats:
    """Return ratings as float64, NaN where one is missing; anything but a number is an error.

    Floats of 4 bytes become the decimal number that they stand for:

    >>> numbers(np.array([3.7], dtype=np.float32), Origin(), "rating").tolist()
    [3.7]
    """
    import pyarrow as pa

    if isinstance(values, np.ndarray) and values.dtype == np.float64:
        return values.copy()  # Arrow would import pandas, which is slow
    if not isinstance(values, pa.Array | pa.ChunkedArray):
        try:
            values = pa.array(values, from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            number = int | float | np.number | None
            others = [k for k, value in enumerate(values) if not isinstance(value, number)]
            if others:
                raise _not_a_number(values[others[0]], others[0], origin, name) from None
            raise InputError(f"the ratings cannot be read as numbers: {values!r:.80}") from None
    kind = values.type
    if pa.types.is_float16(kind) or pa.types.is_float32(kind):
        exact = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
        decimal = np.round(exact * 1e6) / 1e6
        narrow = np.float16 if pa.types.is_float16(kind) else np.float32
        return np.asarray(np.where(decimal.astype(narrow) == exact.astype(narrow), decimal, exact))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return np.array(values.cast(pa.float64(), safe=False), dtype=np.float64)
    k = next((k for k, value in enumerate(values) if value.is_valid), 0)
    raise _not_a_number(values[k].as_py(), k, origin, name)


def _not_a_number(value: Any, row: int, origin: Origin, name: str | int | None) -> InputError:
    if value is None:
        return InputError(f"{origin.at(row, name)}: the rating is missing")
    return InputError(
        f"{origin.at(row, name)}: {value!r} is of type {type(value).__name__}, not a number; "
        "convert the column"
    )


def check_rows(matrix: Any) -> None:
    """Raise unless a CSR matrix is intact: consecutive rows, columns in range and ascending.

    Values must be finite and not negative. The check takes about 5 ms for a million entries.

    >>> from scipy.sparse import csr_array
    >>> matrix = csr_array(([4.0, 2.0], [0, 1], [0, 1, 2]), shape=(2, 2))
    >>> check_rows(matrix)
    >>> matrix.indices[1] = 7
    >>> check_rows(matrix)
    Traceback (most recent call last):
    prefmover.errors.InputError: the matrix of ratings is damaged: column 7 of 2
    """
    n_rows, n_columns = matrix.shape
    data, indices, indptr = matrix.data, matrix.indices, matrix.indptr
    if not (data.ndim == indices.ndim == indptr.ndim == 1) or data.dtype != np.float64:
        raise InputError(f"the matrix of ratings is damaged: {data.dtype} values where float64 are expected")
    if indices.dtype.kind != "i" or indptr.dtype.kind != "i":
        raise InputError(f"the matrix of ratings is damaged: positions are {indices.dtype}, not integers")
    if len(indptr) != n_rows + 1 or len(indices) != len(data):
        raise InputError(
            f"the matrix of ratings is damaged: {len(indptr):,} pointers for {n_rows:,} rows, "
            f"{len(indices):,} columns for {len(data):,} values"
        )
    if indptr[0] != 0 or indptr[-1] != len(data) or (indptr[1:] < indptr[:-1]).any():
        raise InputError("the matrix of ratings is damaged: its pointers do not ascend")
    if not len(data):
        return
    for column in (indices.min(), indices.max()):
        if not 0 <= column < n_columns:
            raise InputError(f"the matrix of ratings is damaged: column {column} of {n_columns:,}")
    descends = indices[1:] <= indices[:-1]
    starts = indptr[1:-1]
    descends[starts[(starts > 0) & (starts < len(data))] - 1] = False  # a new row starts over
    if descends.any():
        row = int(np.searchsorted(indptr, int(descends.argmax()), side="right")) - 1
        raise InputError(f"the matrix of ratings is damaged: the columns of row {row:,} do not ascend")
    lowest, highest = data.min(), data.max()
    if not (lowest >= 0 and highest < np.inf):  # NaN is neither
        raise InputError("the matrix of ratings is damaged: a value is missing, infinite or negative")


def checked_coo(matrix: Any) -> Any:
    """Return a SciPy matrix of any format as triples within its shape; duplicates are kept.

    SciPy does not check its arrays, and its compiled conversions do not check bounds either.
    """
    try:
        if matrix.format in ("csr", "csc", "bsr"):
            # Before SciPy's check, which is skipped if the last pointer is 0, and whose differences of
            # pointers can overflow.
            if (matrix.indptr[1:] < matrix.indptr[:-1]).any():
                raise ValueError("its pointers do not ascend")
            matrix.check_format(full_check=True)
        elif matrix.format == "lil" and any(
            not isinstance(row, list) or not isinstance(values, list) or len(row) != len(values)
            for row, values in zip(matrix.rows, matrix.data, strict=True)
        ):
            raise ValueError("a row has more columns than values, or fewer")
        triples = matrix.tocoo()
        for index, n, axis in zip((triples.row, triples.col), triples.shape, ("row", "column"), strict=True):
            if len(index) != len(triples.data):
                raise ValueError(f"{len(index):,} {axis}s for {len(triples.data):,} values")
            if len(index) and not 0 <= index.min() <= index.max() < n:
                raise ValueError(f"a {axis} beyond its {n:,}")
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise InputError(f"the matrix is damaged: {error}; build it again from rows and columns") from None
    return triples
