"""From (user, item, rating) triples to sparse rows that compiled code can trust.

An *explicit* rating is an opinion on a scale. *Implicit* feedback is what people did: clicks, plays,
purchases, with or without counts. Counts differ by orders of magnitude (1 to 352,698 plays), so they are
damped:

==========  ======================  =================================================
damping     strength of count c     for
==========  ======================  =================================================
``log``     log₂(1 + c)             counts of any size: one event is 1, three are 2
``sqrt``    √c                      the same, with more weight on large counts
``none``    c                       strengths that are good as they are
``binary``  1                       data whose counts mean nothing
==========  ======================  =================================================

Numba kernels do not check bounds: an index that is too large would read or write unrelated memory. Every
matrix of ratings, from a caller or from a model folder, is checked here once.
"""

from __future__ import annotations

import logging
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from prefmover._typing import Bools, Floats, Ids, Ints
from prefmover.data.file_options import Damping, Duplicates, Zeros, check_choice
from prefmover.data.ids import show
from prefmover.data.raw_files import Origin
from prefmover.data.scale import LARGEST, SMALLEST, Scale
from prefmover.errors import InputError, ZeroRatingsWarning

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Meaning", "Triples", "check_rows", "checked_coo", "numbers"]


LOG = logging.getLogger(__name__)

MANY_ZEROS = 0.3  # a share of ratings of 0 beyond which they are likely to mean "no rating" ...
TELLING = 100  # ... if there are as many ratings
TIMES = (1e8, 1e14)  # seconds or milliseconds since 1970, from 1973 on


@dataclass(frozen=True, slots=True)
class Meaning:
    """What values stand for: ratings on a scale, or counts with a damping."""

    duplicates: Duplicates
    scale: Scale | None
    damping: Damping | None
    zeros: Zeros | None

    @classmethod
    def checked(
        cls,
        implicit: bool,
        duplicates: Duplicates,
        scale: Scale | None,
        damping: Damping | None,
        zeros: Zeros | None,
    ) -> Meaning:
        """Return the choices of a caller; one that would be ignored is an error."""
        check_choice("duplicates", duplicates, Duplicates, optional=False)
        check_choice("damping", damping, Damping)
        check_choice("zeros", zeros, Zeros)
        if not implicit:
            if damping is not None:
                remedy = "pass feedback='implicit' too if these are counts, or leave it out"
                raise InputError(
                    f"damping={damping!r} is for counts, and these are ratings; {remedy}", argument="damping"
                )
            if scale is not None and scale.implicit:
                raise InputError(
                    "scale= has implicit=True; pass feedback='implicit' instead", argument="scale"
                )
            return cls(duplicates, scale, None, zeros)
        for name, value, why in (
            ("duplicates", None if duplicates == "error" else duplicates, "repeated counts are added up"),
            ("scale", scale, "counts have no scale"),
            ("zeros", zeros if zeros == "rating" else None, "a count of 0 is no interaction"),
        ):
            if value is not None:
                remedy = "leave it out, or pass feedback='explicit' if these are ratings"
                raise InputError(
                    f"{name}= does not go with implicit feedback ({why}); {remedy}", argument=name
                )
        return cls(duplicates, None, damping or "log", "missing")

    @property
    def noun(self) -> str:
        """The name of a value in messages."""
        return "rating" if self.damping is None else "count"

    def kept(self, values: Floats, table: str) -> Bools:
        """Return which values are kept: all, or those that are not 0; many zeros are worth a warning."""
        kept: Bools = values != 0
        n_zeros = len(values) - int(kept.sum())
        if self.zeros == "missing":
            if n_zeros == len(values):
                raise InputError(
                    f"{table}: all {n_zeros:,} {self.noun}s are 0, and 0 means none here; give one above 0"
                )
            if n_zeros:
                LOG.info(
                    "%s: %s of %s rows have a %s of 0 and are dropped",
                    table,
                    f"{n_zeros:,}",
                    f"{len(values):,}",
                    self.noun,
                )
            return kept
        is_large = len(values) >= TELLING and n_zeros > MANY_ZEROS * len(values)
        if self.zeros is None and is_large and len(np.unique(values)) > 2:  # 0 and 1 are a scale, too
            warnings.warn(
                f"{table}: {n_zeros:,} of {len(values):,} ratings ({n_zeros / len(values):.0%}) are 0. If 0 "
                'means that there is no rating, pass zeros="missing" (--zeros missing) to drop them; '
                'zeros="rating" says that it is one',
                ZeroRatingsWarning,
                stacklevel=4,
            )
        return np.ones(len(values), dtype=bool)

    def refuse_times(self, values: Floats, where: str) -> None:
        """Raise an error if a column that was taken by its position alone has times instead of ratings."""
        if self.damping == "binary" or not ((values > TIMES[0]) & (values < TIMES[1])).all():
            return
        remedy = (
            "pass rating= with the position of another column, or feedback='implicit' and damping='binary'"
        )
        raise InputError(
            f"{where}: {values[0]:.0f} looks like a time, not a {self.noun}; {remedy}", argument="rating"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Triples:
    """Ratings in the order of their source: positions in `users` and `items`, and values (NaN if missing).

    For error messages: `origin` and `name`, the source of the rows and its column of ratings, and `noun`,
    "rating" or "count".
    """

    rows: npt.NDArray[Any]
    columns: npt.NDArray[Any]
    values: Floats
    users: Ids
    items: Ids
    origin: Origin
    name: str | int | None = None
    noun: str = "rating"

    def check(self, scale: Scale | None) -> None:
        """Raise for the first rating (or count) that is missing, negative, too large or off the scale."""
        values = self.values
        self._refuse(np.isnan(values), "is missing; fill it in or drop the row")
        self._refuse(np.isinf(values), "is infinite; replace it or drop the row")
        shift = "drop the row" if self.noun == "count" else "shift the scale so that it starts at 0"
        self._refuse(values < 0, f"is negative; {shift}")
        unit = "is it damaged? Otherwise choose another unit"
        self._refuse(values > LARGEST, f"is above {LARGEST:g}, too large to compute with; {unit}")
        tiny = (values > 0) & (values < SMALLEST)
        self._refuse(
            tiny, f"is below {SMALLEST:g}, too small to compute with; round it to 0, or choose another unit"
        )
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
        value = "" if np.isnan(self.values[k]) else f" {self.values[k]:g}"
        where, more = self.origin.at(k, self.name), _more(int(wrong.sum()) - 1)
        raise InputError(f"{where}: the {self.noun}{value} {self._by(k)} {reason}{more}")

    def _by(self, k: int) -> str:
        """Return "of item i by user u" for one rating."""
        return f"of item {show(self.items[self.columns[k]])} by user {show(self.users[self.rows[k]])}"

    def to_csr(self, duplicates: Duplicates | Literal["sum"] = "error") -> csr_array[Any, tuple[int, int]]:
        """Return users x items with sorted indices; one rating, or one sum of counts, per user and item."""
        from scipy.sparse import csr_array

        n_items = len(self.items)
        ordered, values = self._keys(), self.values
        # MovieLens is in the order of users and items already.
        if not bool((ordered[1:] >= ordered[:-1]).all()):
            order = np.argsort(ordered)
            ordered, values = ordered[order], self.values[order]
            del order  # these arrays are the largest of a file that is read
        is_first = np.r_[True, ordered[1:] != ordered[:-1]]
        if not is_first.all():
            starts = np.flatnonzero(is_first)
            values = self._one_each(self._keys(), starts, duplicates)
            ordered = ordered[starts]
        del is_first
        width = np.int32 if max(len(ordered), n_items) < 2**31 else np.int64
        indptr = np.searchsorted(ordered, np.arange(len(self.users) + 1) * n_items).astype(width)
        ordered %= max(n_items, 1)
        columns: Any = ordered.astype(width)
        del ordered
        if values is self.values:
            values = values.copy()
        values += 0.0  # no negative zeros
        matrix = csr_array((values, columns, indptr), shape=(len(self.users), n_items))
        matrix.has_canonical_format = True
        return matrix

    def _keys(self) -> Ints:
        """Return one number for each user and item, in the order of users, then of items."""
        key: Ints = self.rows.astype(np.int64)
        key *= len(self.items)
        key += self.columns
        return key

    def _one_each(self, key: Ints, starts: Ints, duplicates: Duplicates | Literal["sum"]) -> Floats:
        """Return one rating per group of equal keys; `starts` are the groups' first positions."""
        ends = np.r_[starts[1:], len(key)]
        if duplicates in ("mean", "sum"):
            # Summed in ascending order, so that the order of the rows does not change a bit of the result.
            order = np.lexsort((self.values, key))
            sums = np.add.reduceat(self.values[order], starts)
            return np.asarray(sums if duplicates == "sum" else sums / (ends - starts))
        order = np.argsort(key, kind="stable")
        if duplicates == "last":
            return np.asarray(self.values[order[ends - 1]])
        again = np.setdiff1d(np.arange(len(key)), starts)
        k = again[np.argmin(order[again])]  # the first one in the file
        a, b = int(order[k - 1]), int(order[k])
        both, more = f"({self.values[a]:g} and {self.values[b]:g})", _more(len(again) - 1)
        remedy = "drop one, or pass duplicates='last' or duplicates='mean'"
        problem = f"{self.origin.both(a, b)}: two ratings {self._by(a)} {both}{more}"
        raise InputError(f"{problem}; {remedy}", argument="duplicates")


def _more(n: int) -> str:
    return f" ({n:,} more like it)" if n else ""


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
    problem = f"{value!r} is a {type(value).__name__}, not a number; convert the column"
    return InputError(f"{origin.at(row, name)}: {'the rating is missing' if value is None else problem}")


def check_rows(matrix: Any) -> None:
    """Raise unless a CSR matrix is intact: consecutive rows, columns in range and ascending.

    Values must be finite and not negative. The check takes about 5 ms for a million entries.

    >>> from scipy.sparse import csr_array
    >>> matrix = csr_array(([4.0, 2.0], [0, 1], [0, 1, 2]), shape=(2, 2))
    >>> check_rows(matrix)
    >>> matrix.indices[1] = 7
    >>> check_rows(matrix)
    Traceback (most recent call last):
    prefmover.errors.InputError: the matrix of ratings is damaged: a column is not one of the 2 (0 to 7)
    """
    if defect := _defect(matrix.data, matrix.indices, matrix.indptr, *matrix.shape):
        raise InputError(f"the matrix of ratings is damaged: {defect}")


def _defect(data: Any, indices: Any, indptr: Any, n_rows: int, n_columns: int) -> str:
    if not (data.ndim == indices.ndim == indptr.ndim == 1) or data.dtype != np.float64:
        return f"{data.dtype} values where float64 are expected"
    if indices.dtype.kind != "i" or indptr.dtype.kind != "i":
        return f"positions are {indices.dtype}, not integers"
    if len(indptr) != n_rows + 1 or len(indices) != len(data):
        return (
            f"{len(indptr):,} pointers, {len(indices):,} columns and {len(data):,} values for {n_rows:,} rows"
        )
    if indptr[0] != 0 or indptr[-1] != len(data) or (indptr[1:] < indptr[:-1]).any():
        return "its pointers do not ascend"
    if not len(data):
        return ""
    if not 0 <= indices.min() <= indices.max() < n_columns:
        return f"a column is not one of the {n_columns:,} ({indices.min()} to {indices.max()})"
    descends = indices[1:] <= indices[:-1]
    starts = indptr[1:-1]
    descends[starts[(starts > 0) & (starts < len(data))] - 1] = False  # a new row starts over
    if descends.any():
        row = int(np.searchsorted(indptr, int(descends.argmax()), side="right")) - 1
        return f"the columns of row {row:,} do not ascend"
    if not (data.min() >= 0 and data.max() <= LARGEST):  # NaN is neither
        return f"a value is missing, negative or above {LARGEST:g}"
    return ""


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
