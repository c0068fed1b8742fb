r"""Rows of users in flat arrays that compiled code can trust: their ratings, and their preferences.

Row k is at ``indptr[k]:indptr[k + 1]`` (CSR). Numba kernels do not check bounds: an index that is too large
would read or write unrelated memory. Every matrix of ratings, from a caller or from a model folder, is
checked here once.

The paper turns the ratings of user u into a distribution, p_u(i) = r_ui / Σ_j r_uj. Here it is represented by
integer *masses* in exactly these proportions, and their total. Integers add up exactly, so a transport
between two users can be checked to the last unit of mass, and optimality needs no tolerance.

The mixture of the distributions p_u of the n members of a group weights them equally, however many ratings
they have:

.. math:: p_G(i) = \frac1n \sum_{u \in G} p_u(i).

For two people it is also a barycenter of the Preference Mover's Distance D. By the triangle inequality, no
distribution q has a smaller D(q, p_u) + D(q, p_v) than D(u, v), and the mixture has it: it is halfway.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import lcm
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from prefmover._typing import Bools, Floats, Ids, Ints
from prefmover.data.delimited import Origin
from prefmover.data.file_options import Duplicates
from prefmover.data.ids import frozen, show
from prefmover.data.scale import LARGEST, SMALLEST, Scale
from prefmover.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from prefmover.data.ratings import Ratings

__all__ = [
    "Csr",
    "Preferences",
    "Triples",
    "check_rows",
    "checked_coo",
    "entries_of_rows",
    "indptr_from_counts",
    "indptr_where",
    "matrix_of_keys",
    "mixture",
    "preferences",
    "undefined_because",
    "whole_masses",
]

BINARY = 2.0**20  # ratings that are multiples of 2^-20 are exact
DECIMAL = 1e6  # ratings that are multiples of 10^-6 are exact

# The masses of two users get the same total by multiplying each with the total of the other, so the product
# of two totals must fit 63 bits with a bit to spare.
MAX_TOTAL = 2**31 - 1
ROUNDED_TOTAL = 2**30  # one unit is 0.93e-9 of the total


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

    def row(self, row: int) -> tuple[npt.NDArray[Any], ...]:
        """Return the entries of a row: one view for each name of ``ENTRY``."""
        span = slice(int(self.indptr[row]), int(self.indptr[row + 1]))
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
        unit = "round it to 0, or choose another unit"
        self._refuse(tiny, f"is below {SMALLEST:g}, too small to compute with; {unit}")
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
        if values is self.values:
            values = values.copy()
        values += 0.0  # no negative zeros
        return matrix_of_keys(ordered, values, (len(self.users), len(self.items)))

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


def matrix_of_keys(keys: Ints, values: Floats, shape: tuple[int, int]) -> csr_array[Any, tuple[int, int]]:
    """Return users x items from their values and ascending keys: user times the number of items, plus item.

    The keys are overwritten.

    >>> matrix_of_keys(np.array([1, 3, 5]), np.array([4.0, 2.0, 5.0]), (2, 3)).toarray()
    array([[0., 4., 0.],
           [2., 0., 5.]])
    """
    from scipy.sparse import csr_array

    n_users, n_items = shape
    width = np.int32 if max(len(keys), n_items) < 2**31 else np.int64
    indptr = np.searchsorted(keys, np.arange(n_users + 1) * n_items).astype(width)
    keys %= max(n_items, 1)
    columns: Any = keys.astype(width)
    matrix = csr_array((values, columns, indptr), shape=shape)
    matrix.has_canonical_format = True
    return matrix


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
        sizes = f"{len(indptr):,} pointers, {len(indices):,} columns and {len(data):,} values"
        return f"{sizes} for {n_rows:,} rows"
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


@dataclass(frozen=True, slots=True, eq=False)
class Preferences(Csr):
    """The masses of all users as CSR without zeros.

    Attributes
    ----------
    indptr
        (n_users + 1,) int64; user u's items and masses are at ``indptr[u]:indptr[u + 1]``.
    indices
        Columns of the ratings, sorted within a user, with the type of ``ratings.matrix.indices``.
    mass
        int64, positive.
    total
        (n_users,) int64 sum of a user's masses, below 2^31; 0 if the user has no distribution.
    """

    indices: npt.NDArray[Any]
    mass: Ints
    total: Ints

    ENTRY = ("indices", "mass")
    ROW = ("total",)

    def __post_init__(self) -> None:
        for array in (self.indptr, self.indices, self.mass, self.total):
            frozen(array)


def preferences(ratings: Ratings) -> Preferences:
    """Return the masses of all users: whole numbers in the proportions of their ratings, in lowest terms.

    They are exact if the ratings of a user are multiples of 10⁻⁶, or of 2⁻²⁰, below 2³², and these whole
    numbers total less than 2³¹. Otherwise they are rounded to a total of 2³⁰, so that each share is correct
    within 10⁻⁹ (the largest remainders are rounded up). Users without a positive rating have a total of 0.

    >>> from prefmover import Ratings
    >>> p = preferences(Ratings.from_arrays(list("aaab"), [1, 2, 3, 2], [1, 2.5, 5, 0]))
    >>> p.mass, p.total
    (array([ 2,  5, 10]), array([17,  0]))
    """
    return whole_masses(ratings.matrix)


def whole_masses(matrix: csr_array[Any, tuple[int, int]]) -> Preferences:
    """Return the masses of the rows of a sparse matrix with sorted indices; see :func:`preferences`."""
    positive = matrix.data > 0
    indptr = indptr_where(matrix.indptr, positive).astype(np.int64)
    indices, values = matrix.indices[positive], matrix.data[positive]
    has_mass = np.diff(indptr) > 0
    total = np.zeros(matrix.shape[0], dtype=np.int64)
    mass = np.empty(0, dtype=np.int64)
    if len(values):
        mass, total[has_mass] = _integer_rows(values, indptr[:-1][has_mass])
    rows = Preferences(indptr, indices, mass, total)
    return rows if mass.all() else rows.where(mass > 0)  # a share may be too small for the rounded total


def undefined_because(n_ratings: int, user: Any) -> str:
    """Return a message about a user without a distribution."""
    reason = "has no ratings" if n_ratings == 0 else f"has no positive rating among {n_ratings:,}"
    consequence = "and so no distribution over items and no distance; leave this user out"
    return f"user {show(user)} {reason}, {consequence}"


def _integer_rows(values: Floats, starts: Ints) -> tuple[Ints, Ints]:
    """Return masses and totals of rows of positive ratings; row k begins at starts[k]."""
    lengths = np.diff(np.append(starts, len(values)))

    def spread(per_row: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.repeat(per_row, lengths)

    small = values < 2.0**53 / BINARY / 2
    ordinary = np.where(small, values, 0.0)  # the rest would overflow
    on_binary = small & (ordinary * BINARY % 1 == 0)
    decimal = np.round(ordinary * DECIMAL)
    on_decimal = small & (decimal / DECIMAL == values)
    all_binary = np.logical_and.reduceat(on_binary, starts)
    on_grid = all_binary | np.logical_and.reduceat(on_decimal, starts)

    units = np.where(spread(all_binary), ordinary * BINARY, decimal)
    units = np.where(spread(on_grid), units, 1).astype(np.int64)
    units //= spread(np.gcd.reduceat(units, starts))
    # In floats first: the sum of many large integers could wrap around.
    on_grid &= np.add.reduceat(units.astype(np.float64), starts) <= MAX_TOTAL
    off = spread(~on_grid)
    if off.any():
        first = indptr_from_counts(lengths[~on_grid])[:-1]
        rounded = rounded_rows(values[off], first)
        units[off] = rounded // np.repeat(np.gcd.reduceat(rounded, first), lengths[~on_grid])
    return units, np.add.reduceat(units, starts)


def rounded_rows(values: Floats, starts: Ints) -> Ints:
    """Return masses that total 2^30 in each row: floors, plus 1 where the remainder is largest."""
    lengths = np.diff(np.append(starts, len(values)))
    row = np.repeat(np.arange(len(starts)), lengths)
    share = values / np.maximum.reduceat(values, starts)[row]  # no overflow in the sums below
    share *= (ROUNDED_TOTAL / np.add.reduceat(share, starts))[row]
    floors = np.floor(share)
    missing = ROUNDED_TOTAL - np.add.reduceat(floors.astype(np.int64), starts)
    order = np.lexsort((floors - share, row))  # stable: the first of equal remainders is rounded up
    rank = np.arange(len(values)) - starts[row]  # within the row, by remainder
    out = floors.astype(np.int64)
    out[order] += rank < missing[row]
    return out


def mixture(members: Ratings, name: Any) -> Ratings:
    """Return one user over the same items, whose preferences are the mixture of those of all members.

    The values are masses, not ratings on the scale. They are whole numbers in the exact proportions if these
    total less than 2³¹; otherwise each share is correct within 10⁻⁹, as in :func:`preferences`.

    >>> from prefmover import Ratings
    >>> both = Ratings.from_arrays(["ann", "ann", "bob"], ["x", "y", "y"], [5, 5, 2])
    >>> mixture(both, "ann and bob")["ann and bob"]  # ann: 1/2 and 1/2; bob: 1
    {'x': 1.0, 'y': 3.0}
    """
    from scipy.sparse import csr_array

    masses = preferences(members)
    empty = np.flatnonzero(masses.total == 0)
    if len(empty):
        n_ratings = int(np.diff(members.matrix.indptr)[empty[0]])
        raise InputError(undefined_because(n_ratings, members.users[empty[:1]].tolist()[0]))
    whole = lcm(*masses.total.tolist())
    rows = masses.rows()
    if whole * len(masses.total) <= MAX_TOTAL:
        shares: Ints | Floats = masses.mass * (whole // masses.total)[rows]
    else:
        shares = masses.mass / masses.total[rows]
    values = np.bincount(masses.indices, weights=shares, minlength=members.n_items).astype(np.float64)
    items, m = np.flatnonzero(values), members.matrix
    indptr = np.array([0, len(items)], dtype=m.indptr.dtype)
    row = csr_array((values[items], items.astype(m.indices.dtype), indptr), shape=(1, members.n_items))
    return replace(members, matrix=row, users=np.array([name], dtype=object))
