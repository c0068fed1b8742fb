"""Rows of different lengths in flat arrays (CSR): row k is at ``indptr[k]:indptr[k + 1]``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from prefmover._typing import Bools, Ints

__all__ = ["Csr", "entries_of_rows", "indptr_from_counts", "indptr_where"]


def indptr_from_counts(counts: npt.ArrayLike) -> Ints:
    """Return the pointers of rows with these numbers of entries.

    >>> indptr_from_counts([2, 0, 3])
    array([0, 2, 2, 5])
    """
    lengths = np.asarray(counts, dtype=np.int64)
    indptr = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=indptr[1:])
    return indptr


def indptr_where(indptr: npt.NDArray[Any], kept: Bools) -> npt.NDArray[Any]:
    """Return the pointers, of the same type, after some entries are left out.

    >>> indptr_where(np.array([0, 2, 2, 5]), np.array([True, False, True, True, False]))
    array([0, 1, 1, 3])
    """
    return np.asarray(indptr_from_counts(kept)[indptr], dtype=indptr.dtype)


def entries_of_rows(indptr: npt.NDArray[Any], rows: Ints) -> tuple[Ints, Ints]:
    """Return the places of the entries of some rows, in order: in ``rows``, and in the flat arrays.

    >>> entries_of_rows(np.array([0, 2, 2, 5]), np.array([2, 0]))
    (array([0, 0, 0, 1, 1]), array([2, 3, 4, 0, 1]))
    """
    start = indptr[rows].astype(np.int64)
    length = indptr[np.asarray(rows) + 1] - start
    row = np.repeat(np.arange(len(length)), length)
    before = np.cumsum(length) - length
    return row, np.arange(len(row)) + (start - before)[row]


@dataclass(frozen=True, slots=True, eq=False)
class Csr:
    """Flat arrays with pointers to their rows: a base for carriers, which name their arrays.

    ``ENTRY`` names the fields with one value for each entry, ``ROW`` those with one for each row. Other
    fields stay as they are.

    >>> @dataclass(frozen=True, slots=True, eq=False)
    ... class Baskets(Csr):
    ...     items: Ints
    ...     ENTRY = ("items",)
    >>> baskets = Baskets(np.array([0, 2, 2, 5]), np.array([7, 8, 4, 5, 6]))
    >>> baskets.row(2), baskets.counts, baskets.take(np.array([2, 0])).items
    ((array([4, 5, 6]),), array([2, 0, 3]), array([4, 5, 6, 7, 8]))
    >>> Baskets.stack([baskets, baskets]).indptr
    array([ 0,  2,  2,  5,  7,  7, 10])
    """

    indptr: npt.NDArray[Any]

    ENTRY: ClassVar[tuple[str, ...]] = ()
    ROW: ClassVar[tuple[str, ...]] = ()

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.indptr) - 1

    @property
    def counts(self) -> Ints:
        """(n,) the number of entries of each row."""
        return np.diff(self.indptr)

    def span(self, row: int) -> slice:
        """Return where a row is in the flat arrays."""
        return slice(int(self.indptr[row]), int(self.indptr[row + 1]))

    def row(self, row: int) -> tuple[npt.NDArray[Any], ...]:
        """Return the entries of a row: one view for each name of ``ENTRY``."""
        span = self.span(row)
        return tuple(getattr(self, name)[span] for name in self.ENTRY)

    def rows(self) -> Ints:
        """Return the row of each entry."""
        return np.repeat(np.arange(len(self)), self.counts)

    def take(self, rows: npt.ArrayLike) -> Self:
        """Return some rows by position, in their order."""
        at = np.asarray(rows)
        _, entries = entries_of_rows(self.indptr, at)
        arrays: Any = {name: getattr(self, name)[entries] for name in self.ENTRY}
        arrays |= {name: getattr(self, name)[at] for name in self.ROW}
        return replace(self, indptr=indptr_from_counts(self.counts[at]), **arrays)

    def where(self, kept: Bools) -> Self:
        """Return the same rows without some of their entries."""
        arrays: Any = {name: getattr(self, name)[kept] for name in self.ENTRY}
        return replace(self, indptr=indptr_where(self.indptr, kept), **arrays)

    @classmethod
    def stack(cls, parts: Sequence[Self]) -> Self:
        """Return the rows of several, one after the other; other fields are those of the first."""
        arrays: Any = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in (*cls.ENTRY, *cls.ROW)
        }
        indptr = indptr_from_counts(np.concatenate([part.counts for part in parts]))
        return replace(parts[0], indptr=indptr, **arrays)
