"""(user, item, rating) triples: made numbers, checked, sorted into CSR, duplicates resolved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from prefmover.data.ids import Ids, show
from prefmover.data.readers import Origin
from prefmover.data.scale import Scale
from prefmover.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Duplicates", "Triples", "numbers"]

Duplicates = Literal["error", "last", "mean"]


@dataclass(frozen=True, slots=True, eq=False)
class Triples:
    """Ratings in the order of their source, with what an error message needs.

    Attributes
    ----------
    rows, columns : int ndarray of shape (n,)
        Positions in `users` and `items`.
    values : float64 ndarray of shape (n,)
        The ratings; NaN where one is missing.
    users, items : ndarray
        The ids.
    origin : Origin
        Where each row comes from.
    name : str, int or None
        What the column of ratings is called there.
    """

    rows: npt.NDArray[Any]
    columns: npt.NDArray[Any]
    values: npt.NDArray[np.float64]
    users: Ids
    items: Ids
    origin: Origin
    name: str | int | None = None

    def check(self, scale: Scale | None) -> None:
        """Raise for the first rating that is missing, infinite, negative or off the scale."""
        values = self.values
        self._refuse(np.isnan(values), "is missing; fill it in or drop the row")
        self._refuse(np.isinf(values), "is infinite; replace it or drop the row")
        self._refuse(values < 0, "is negative; shift the scale so that it begins at 0")
        if scale is None:
            return
        ends = f"the scale from {scale.lowest:g} to {scale.highest:g}"
        self._refuse((values < scale.lowest) | (values > scale.highest), f"is outside {ends}")
        if scale.step:
            steps = (values - scale.lowest) / scale.step
            off = np.abs(steps - np.round(steps)) > 1e-6
            self._refuse(off, f"is no level of {ends} in steps of {scale.step:g}")

    def _refuse(self, wrong: npt.NDArray[np.bool_], reason: str) -> None:
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
            raise InputError(f"duplicates={duplicates!r} is not known; choose one of {get_args(Duplicates)}")
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

    def _one_each(
        self, key: npt.NDArray[np.int64], starts: npt.NDArray[np.int64], duplicates: Duplicates
    ) -> npt.NDArray[np.float64]:
        """Return one rating per group of equal keys; `starts` are the groups' first positions."""
        ends = np.r_[starts[1:], len(key)]
        if duplicates == "mean":
            # Summed from the smallest up, so that the order of the rows cannot change a bit.
            order = np.lexsort((self.values, key))
            return np.asarray(np.add.reduceat(self.values[order], starts) / (ends - starts))
        order = np.argsort(key, kind="stable")
        if duplicates == "last":
            return np.asarray(self.values[order[ends - 1]])
        again = np.setdiff1d(np.arange(len(key)), starts)
        k = again[np.argmin(order[again])]  # the first one that a reader would come across
        a, b = int(order[k - 1]), int(order[k])
        user, item = self.users[self.rows[a]], self.items[self.columns[a]]
        others = f" ({len(again) - 1:,} more like it)" if len(again) > 1 else ""
        raise InputError(
            f"{self.origin.both(a, b)}: user {show(user)} rated item {show(item)} twice "
            f"({self.values[a]:g} and {self.values[b]:g}){others}; "
            "drop one, or pass duplicates='last' or duplicates='mean'"
        )


def numbers(values: Any, origin: Origin, name: str | int | None) -> npt.NDArray[np.float64]:
    """Return ratings as float64; what is no number is an error, what is missing becomes NaN.

    4-byte floats become the decimal number that they stand for:

    >>> numbers(np.array([3.7], dtype=np.float32), Origin(), "rating").tolist()
    [3.7]
    """
    import pyarrow as pa

    if isinstance(values, np.ndarray) and values.dtype == np.float64:
        return values.copy()  # Arrow would look for pandas first, and importing that takes long
    if not isinstance(values, pa.Array | pa.ChunkedArray):
        try:
            values = pa.array(values, from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            number = int | float | np.number | None
            strange = [k for k, value in enumerate(values) if not isinstance(value, number)]
            if strange:
                raise _no_number(values[strange[0]], strange[0], origin, name) from None
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
    raise _no_number(values[k].as_py(), k, origin, name)


def _no_number(value: Any, row: int, origin: Origin, name: str | int | None) -> InputError:
    if value is None:
        return InputError(f"{origin.at(row, name)}: the rating is missing")
    return InputError(
        f"{origin.at(row, name)}: {value!r} is of type {type(value).__name__}, not a number; "
        "convert the column"
    )
