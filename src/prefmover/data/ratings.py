"""Ratings: a sparse table of users x items with the original ids.

Everything else in prefmover starts from :class:`Ratings`. They are checked once, here, so that no other code
has to check for missing, negative or repeated ratings.

>>> ratings = Ratings.from_arrays(["ann", "ann", "bob"], [10, 20, 10], [5, 3, 4])
>>> ratings
Ratings(2 users x 2 items, 3 ratings from 3 to 5 in steps of 1)
>>> ratings["ann"]
{10: 5.0, 20: 3.0}

Clicks, plays and purchases are implicit ratings: what counts is how often (:mod:`prefmover.data.scale`).

>>> Ratings.from_arrays(["ann", "ann", "bob"], [10, 10, 20], feedback="implicit")
Ratings(2 users x 2 items, 2 interactions, strengths from 1 to 1.58496, counts damped by log)
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from prefmover._table import Tabular
from prefmover._typing import Floats, Ids, Ints
from prefmover.data.columns import Columns, frame_columns, numbers, read_columns
from prefmover.data.delimited import Origin
from prefmover.data.file_options import (
    Damping,
    Duplicates,
    Feedback,
    FileOptions,
    Zeros,
    check_choice,
    named_in_file_options,
)
from prefmover.data.ids import IdIndex, as_ids, as_positions, encode, frozen
from prefmover.data.preferences import Triples, check_rows, checked_coo, indptr_where, matrix_of_keys
from prefmover.data.scale import LARGEST, Meaning, Scale, damped
from prefmover.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Ratings", "Scale", "from_columns", "one_user", "row_numbers"]

SAMPLED = 100_000  # counts among which the usual one is searched


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ratings(Tabular):
    """An immutable table of ratings, users x items.

    Build one with :meth:`read`, :meth:`from_frame`, :meth:`from_arrays` or :meth:`from_csr`.

    Attributes
    ----------
    matrix : scipy.sparse.csr_array of shape (n_users, n_items)
        float64, indices sorted within rows, buffers read-only. A stored 0 is a rating of 0,
        which is not the same as no rating.
    users, items : ndarray
        Ids of rows and columns, int64 or strings, read-only. Integers are sorted by value and strings by
        code point, unless the caller chose an order (:meth:`from_csr`, :meth:`take`, :meth:`with_items`).
    scale : Scale
        The scale of the ratings, by default inferred from them. ``scale.implicit`` says that the values are
        strengths of implicit feedback.
    user_index, item_index : IdIndex
        The positions of the ids.
    """

    matrix: csr_array[Any, tuple[int, int]]
    users: Ids
    items: Ids
    scale: Scale
    user_index: IdIndex = field(init=False)
    item_index: IdIndex = field(init=False)

    def __post_init__(self) -> None:
        if self.matrix.shape != (len(self.users), len(self.items)):
            sizes = f"{len(self.users):,} users and {len(self.items):,} items"
            raise InputError(f"a matrix of shape {self.matrix.shape} does not fit {sizes}")
        check_rows(self.matrix)
        object.__setattr__(self, "user_index", IdIndex("user", self.users))
        object.__setattr__(self, "item_index", IdIndex("item", self.items))
        for buffer in (self.matrix.data, self.matrix.indices, self.matrix.indptr):
            frozen(buffer)

    def __repr__(self) -> str:
        s, size = self.scale, f"{self.n_users:,} users x {self.n_items:,} items"
        kind = f"in steps of {s.step:g}" if s.step else "on a continuous scale"
        values = f"{self.n_ratings:,} ratings from {s.lowest:g} to {s.highest:g} {kind}"
        if s.implicit:
            values = f"{self.n_ratings:,} interactions"
            if s.lowest < s.highest:
                values += f", strengths from {s.lowest:g} to {s.highest:g}, counts damped by {s.damping}"
        return f"Ratings({size}, {values})"

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.users)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.items)

    @property
    def n_ratings(self) -> int:
        """Number of ratings, including ratings of 0."""
        return len(self.matrix.data)

    @property
    def implicit(self) -> bool:
        """Whether the values are strengths of implicit feedback, not ratings that people gave."""
        return self.scale.implicit

    @property
    def usual_count(self) -> float:
        """For implicit feedback, a usual count: what "liked it" stands for if somebody gives no count.

        It is the median of the counts, of at most some 100,000 of them.

        >>> Ratings.from_arrays(["u", "u", "v"], [1, 2, 1], [3, 40, 500], feedback="implicit").usual_count
        40.0
        """
        some = self.matrix.data[:: 1 + len(self.matrix.data) // SAMPLED]
        return float(self.scale.counts(np.quantile(some, 0.5, method="lower")))

    @classmethod
    def read(cls, path: str | PathLike[str], options: FileOptions | None = None) -> Ratings:
        r"""Read ratings from a file: CSV, TSV, any separator of one or two characters, Parquet, JSON Lines.

        Gzip is decompressed. All of them are recognized by the content of the file, not by its name.
        Ids are integers if the whole column has canonical integers; one "007" makes it strings. Spaces
        around ids are removed. Most files need no options.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "ratings.dat")
        ...     _ = path.write_text("1::1193::5::978300760\n1::661::3::978302109\n")
        ...     Ratings.read(path)[1], Ratings.read(path, FileOptions(rating=3))[1][661]
        ({661: 3.0, 1193: 5.0}, 978302109.0)
        """
        with named_in_file_options():
            options = options or FileOptions()
            roles = {"user": options.user, "item": options.item, "rating": options.rating}
            return from_columns(
                read_columns(path, roles, options), duplicates=options.duplicates, scale=options.scale,
                damping=options.damping, zeros=options.zeros,
            )  # fmt: skip

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        user: str = "user",
        item: str = "item",
        rating: str | None = None,
        *,
        duplicates: Duplicates = "error",
        scale: Scale | None = None,
        feedback: Feedback | None = None,
        damping: Damping | None = None,
        zeros: Zeros | None = None,
    ) -> Ratings:
        """Take ratings from a data frame, one row per rating.

        The frame is from pandas or polars, an Arrow table, or any other that narwhals supports. Only the
        columns that are used are collected from a lazy frame. Other parameters are as in
        :class:`~prefmover.FileOptions`.

        >>> import pyarrow as pa
        >>> table = pa.table({"user": ["ann", "bob"], "item": [7, 7], "rating": [4.5, 2]})
        >>> Ratings.from_frame(table)["bob"]
        {7: 2.0}
        >>> Ratings.from_frame(pa.table({"user": ["ann", "bob"], "item": [7, 7], "plays": [3, 1]}))["ann"]
        {7: 2.0}
        """
        check_choice("feedback", feedback, Feedback)
        columns = frame_columns(frame, user, item, rating, feedback)
        return from_columns(columns, duplicates=duplicates, scale=scale, damping=damping, zeros=zeros)

    @classmethod
    def from_arrays(
        cls,
        users: Any,
        items: Any,
        ratings: Any = None,
        *,
        duplicates: Duplicates = "error",
        scale: Scale | None = None,
        feedback: Feedback | None = None,
        damping: Damping | None = None,
        zeros: Zeros | None = None,
    ) -> Ratings:
        """Take ratings from three equally long sequences.

        Without ratings, every pair of a user and an item is one interaction. With ``feedback="implicit"``,
        ratings are counts. Other parameters are as in :class:`~prefmover.FileOptions`.

        >>> Ratings.from_arrays([1, 1], [7, 7], [2, 5], duplicates="last")[1]
        {7: 5.0}
        >>> Ratings.from_arrays([1, 1, 1], [7, 7, 8], [5, 2, 1], feedback="implicit")[1]
        {7: 3.0, 8: 1.0}
        """
        check_choice("feedback", feedback, Feedback)
        if ratings is None and feedback == "explicit":
            raise InputError("feedback is 'explicit', and there are no ratings; pass a list of ratings")
        given = (users, items) if ratings is None else (users, items, ratings)
        try:
            sizes = tuple(map(len, given))
        except TypeError:
            kinds = ", ".join(type(values).__name__ for values in given)
            raise InputError(f"users, items and ratings must be lists or arrays, not {kinds}") from None
        if len(set(sizes)) > 1:
            problem = f"users, items and ratings differ in length: {sizes}"
            raise InputError(f"{problem}; give one of each per rating")
        implicit = ratings is None or feedback == "implicit"
        names = ("users", "items", None if ratings is None else "ratings")
        columns = Columns((users, items, ratings), names, Origin(), implicit=implicit)
        return from_columns(columns, duplicates=duplicates, scale=scale, damping=damping, zeros=zeros)

    @classmethod
    def from_csr(
        cls,
        matrix: Any,
        users: Any = None,
        items: Any = None,
        *,
        scale: Scale | None = None,
        feedback: Feedback | None = None,
        damping: Damping | None = None,
        zeros: Zeros | None = None,
    ) -> Ratings:
        """Take ratings from a sparse matrix, users x items; stored zeros are ratings of 0.

        Parameters
        ----------
        matrix : scipy.sparse array or matrix of shape (n_users, n_items)
            CSR or any other format. It is copied.
        users, items : sequence of int or of str, optional
            Ids of the rows and columns; 0, 1, 2, ... by default.
        scale, feedback, damping, zeros
            As in :class:`~prefmover.FileOptions`; values are ratings unless ``feedback="implicit"``.

        Examples
        --------
        >>> from scipy.sparse import csr_array
        >>> Ratings.from_csr(csr_array([[5, 0], [1, 2]]), items=["tea", "milk"])[1]
        {'tea': 1.0, 'milk': 2.0}
        """
        from scipy import sparse

        check_choice("feedback", feedback, Feedback)
        meaning = Meaning(feedback == "implicit", "error", scale, damping, zeros)
        is_sparse: bool = sparse.issparse(matrix)  # a bool: the stubs' narrowing loses `.shape`
        if not is_sparse:
            remedy = "scipy.sparse.csr_array(dense) makes one, without ratings of 0"
            raise InputError(f"expected a scipy.sparse matrix, got {type(matrix).__name__}; {remedy}")
        if matrix.ndim != 2:
            raise InputError(f"expected a matrix of users x items, got {matrix.ndim} dimension(s)")
        entries = checked_coo(matrix)
        ids = []
        for axis, n, kind in zip((users, items), matrix.shape, ("user", "item"), strict=True):
            ids.append(as_ids(np.arange(n) if axis is None else axis, kind))
            if len(ids[-1]) != n:
                sizes = f"{len(ids[-1]):,} {kind} ids for a matrix with {n:,} {kind}s"
                raise InputError(f"{sizes}; give one id per {kind}")
        if not len(entries.data):
            raise InputError("the matrix has no ratings")
        origin = Origin("the matrix", "stored value")
        values, (user_ids, item_ids) = numbers(entries.data, origin, None), ids
        kept = np.flatnonzero(meaning.kept(values, origin.file))
        rows, columns, origin = entries.row[kept], entries.col[kept], origin.take(kept)
        triples = Triples(rows, columns, values[kept], user_ids, item_ids, origin, None, meaning.noun)
        return _from_triples(triples, meaning)

    def user_position(self, user: Any, *, from_text: bool = False) -> int:
        """Return the row of a user id.

        With ``from_text``, an integer id may be given as text, as people type it.
        :class:`~prefmover.errors.UnknownIdError` names similar ids.
        """
        return self.user_index.position(user, from_text=from_text)

    def item_position(self, item: Any, *, from_text: bool = False) -> int:
        """Return the column of an item id; see :meth:`user_position`."""
        return self.item_index.position(item, from_text=from_text)

    def user_positions(self, users: Iterable[Any] | None) -> Ints:
        """Return the rows of many user ids, in their order; None means all users."""
        return self.user_index.positions(users)

    def item_positions(self, items: Iterable[Any] | None) -> Ints:
        """Return the columns of many item ids, in their order; None means all items."""
        return self.item_index.positions(items)

    def __contains__(self, user: object) -> bool:
        """Whether a user has this id."""
        return user in self.user_index

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the user ids."""
        return iter(self.users.tolist())

    def __getitem__(self, user: Any) -> dict[Any, float]:
        """Return the ratings of one user id as a dictionary from item id to rating."""
        items, values = self.row(self.user_position(user))
        return dict(zip(self.items[items].tolist(), values.tolist(), strict=True))

    def row(self, position: int) -> tuple[Ints, Floats]:
        """Return the item positions, ascending, and the ratings of the user at a position."""
        part = slice(self.matrix.indptr[position], self.matrix.indptr[position + 1])
        return self.matrix.indices[part].astype(np.int64), self.matrix.data[part]

    def n_common(self, items: Ints) -> Ints:
        """Return, for each user, how many of some items (positions) the user has rated.

        >>> Ratings.from_arrays(["a", "a", "b"], [1, 2, 2], [5, 3, 4]).n_common(np.array([0, 1]))
        array([2, 1])
        """
        among = np.zeros(self.n_items, np.bool_)
        among[items] = True
        return np.diff(indptr_where(self.matrix.indptr, among[self.matrix.indices])).astype(np.int64)

    def rows(self) -> Ints:
        """Return the user position of every stored rating, in the order of ``matrix.data``."""
        return np.repeat(np.arange(self.n_users), np.diff(self.matrix.indptr))

    def take(self, users: npt.ArrayLike | None = None, items: npt.ArrayLike | None = None) -> Ratings:
        """Return the ratings of some users on some items, by masks or positions, on the same scale.

        The result has the order of the positions. Users and items that are left without ratings stay.

        >>> ratings = Ratings.from_arrays(["a", "a", "b"], [1, 2, 2], [5, 3, 4])
        >>> ratings.take(users=[1])["b"]
        {2: 4.0}
        """
        rows = _positions(users, self.n_users, "user")
        columns = _positions(items, self.n_items, "item")
        part = self.matrix[rows][:, columns] if items is not None else self.matrix[rows]
        part.sort_indices()
        return Ratings(part, frozen(self.users[rows]), frozen(self.items[columns]), self.scale)

    def with_items(self, items: Ids, *, missing: Literal["error", "drop"] = "error") -> Ratings:
        """Return these ratings over other item ids; items that are not among them are errors or dropped.

        >>> ratings = Ratings.from_arrays(["ann"], ["x"], [5])
        >>> ratings.with_items(np.array(["y", "x"], dtype=object)).matrix.toarray()
        array([[0., 5.]])
        """
        from scipy.sparse import csr_array

        if items is self.items or np.array_equal(items, self.items):
            return self
        index = IdIndex("item", items)
        columns = index.positions(self.items) if missing == "error" else index.get(self.items)
        if (columns < 0).any():
            return self.take(items=columns >= 0).with_items(items)
        m = self.matrix
        is_ascending = bool((columns[1:] > columns[:-1]).all())
        data = m.data if is_ascending else m.data.copy()  # sorting needs a copy that can be written
        indices = columns.astype(m.indices.dtype)[m.indices]
        moved = csr_array((data, indices, m.indptr), shape=(self.n_users, len(items)))
        moved.sort_indices()
        return Ratings(moved, self.users, items, self.scale)

    def stack(self, other: Ratings) -> Ratings:
        """Return these users and those of another table over the same items, on this scale.

        >>> ratings = Ratings.from_arrays(["ann", "bob"], ["x", "y"], [5, 3])
        >>> ratings.stack(one_user(ratings, "cid", np.array([1]), np.array([4.0])))
        Ratings(3 users x 2 items, 3 ratings from 3 to 5 in steps of 2)
        """
        from scipy.sparse import csr_array, vstack

        if other.items is not self.items and not np.array_equal(other.items, self.items):
            raise InputError("the two tables of ratings have different items; call with_items first")
        if other.scale.damping != self.scale.damping:
            kinds = [
                f"counts damped by {scale.damping}" if scale.implicit else "explicit ratings"
                for scale in (self.scale, other.scale)
            ]
            raise InputError(f"one table has {kinds[0]}, the other {kinds[1]}; read both in the same way")
        users = np.concatenate([self.users.astype(object), other.users.astype(object)])
        if self.users.dtype == other.users.dtype == np.int64:
            users = users.astype(np.int64)
        return Ratings(csr_array(vstack([self.matrix, other.matrix])), users, self.items, self.scale)

    def updated(self, other: Ratings) -> Ratings:
        """Return these ratings with those of another table, over the same items, changed or added.

        Users of the other table who are not here come after those who are. The scale of ratings stays; that
        of implicit feedback covers all strengths.

        >>> ratings = Ratings.from_arrays(["ann", "ann", "bob"], ["x", "y", "y"], [5, 3, 2])
        >>> more = Ratings.from_arrays(["cid", "ann"], ["x", "y"], [1, 4]).with_items(ratings.items)
        >>> grown = ratings.updated(more)
        >>> grown["ann"], grown["cid"], grown.users.tolist()
        ({'x': 5.0, 'y': 4.0}, {'x': 1.0}, ['ann', 'bob', 'cid'])
        """
        row, n = self.user_index.get(other.users), self.n_items
        is_new = row < 0
        row[is_new] = self.n_users + np.arange(int(is_new.sum()))
        whole = self.stack(other.take(users=is_new))
        keys = np.concatenate(
            [self.rows() * n + self.matrix.indices, row[other.rows()] * n + other.matrix.indices]
        )
        order = np.argsort(keys, kind="stable")  # of two equal keys, the change is the later one
        order = order[np.append(np.diff(keys[order]) > 0, True)]
        keys, data = keys[order], np.concatenate([self.matrix.data, other.matrix.data])[order]
        scale = self.scale
        if scale.implicit:
            assert scale.damping is not None
            scale = Scale.from_strengths(data, scale.damping)
        matrix = matrix_of_keys(keys, data, (whole.n_users, n))
        return Ratings(matrix, whole.users, self.items, scale)

    def digest(self) -> str:
        """Return 16 hexadecimal digits that identify the ratings and the ids."""
        digest = hashlib.sha256()
        for part in (self.matrix.indptr, self.matrix.indices):
            digest.update(part.astype(np.int64).data)
        digest.update(self.matrix.data.data)
        digest.update(repr((self.users.tolist(), self.items.tolist())).encode())
        if self.implicit:
            digest.update(str(self.scale.damping).encode())
        return digest.hexdigest()[:16]

    def to_arrow(self) -> Any:
        """Return a `pyarrow.Table` with columns user, item and rating, sorted by user and item.

        For implicit feedback, the third column is ``strength``.
        """
        import pyarrow as pa

        users = pa.array(self.users).take(pa.array(self.rows()))
        items = pa.array(self.items).take(pa.array(self.matrix.indices))
        name = "strength" if self.implicit else "rating"
        return pa.table({"user": users, "item": items, name: pa.array(self.matrix.data)})


def from_columns(
    columns: Columns,
    *,
    duplicates: Duplicates = "error",
    scale: Scale | None = None,
    damping: Damping | None = None,
    zeros: Zeros | None = None,
) -> Ratings:
    """Build the table from columns of users, items and ratings, whose origin error messages name."""
    meaning = Meaning(columns.implicit, duplicates, scale, damping, zeros)
    origin, (user_name, item_name, rating_name) = columns.origin, columns.names
    table, n = origin.file or "the table", len(columns.values[0])
    if not n:
        raise InputError(f"{table} has no ratings")
    given = columns.values[2]
    values = np.ones(n) if given is None else numbers(given, origin, rating_name)
    if columns.guessed:
        meaning.refuse_times(values, f"{table}, column {rating_name}")
    if origin.file:
        meaning.refuse_stray(values, lambda row: origin.at(row, rating_name))
    kept = meaning.kept(values, table)
    if not kept.all():
        columns, values = columns.take(kept), values[kept]
        origin = columns.origin
    users, items, _ = columns.values
    user_ids, rows = encode(users, "user", lambda k: origin.at(k, user_name), parse=columns.are_texts)
    item_ids, cols = encode(items, "item", lambda k: origin.at(k, item_name), parse=columns.are_texts)
    triples = Triples(rows, cols, values, user_ids, item_ids, origin, rating_name, meaning.noun)
    return _from_triples(triples, meaning)


def row_numbers(columns: Columns) -> Ratings:
    """Return a table with the row, from 0, of each rating; two ratings of one user and item are an error.

    >>> row_numbers(Columns((["b", "a"], [7, 7]), ("user", "item"), Origin()))["a"]
    {7: 1.0}
    """
    users, items = columns.values[:2]
    numbered = replace(
        columns, values=(users, items, np.arange(len(users), dtype=np.float64)),
        names=(*columns.names[:2], "row"), implicit=False, guessed=False,
    )  # fmt: skip
    return from_columns(numbered, zeros="rating")


def _from_triples(triples: Triples, meaning: Meaning) -> Ratings:
    triples.check(meaning.scale)
    if meaning.damping is None:
        matrix = triples.to_csr(meaning.duplicates)
        scale = meaning.scale or Scale.from_ratings(matrix.data)
    else:
        matrix = triples.to_csr("sum")
        if not (matrix.data <= LARGEST).all():
            raise InputError(f"the counts of one user and item add up to more than {LARGEST:g}")
        matrix.data = damped(matrix.data, meaning.damping)
        scale = Scale.from_strengths(matrix.data, meaning.damping)
    return Ratings(matrix, triples.users, triples.items, scale)


def one_user(ratings: Ratings, name: Any, items: Ints, values: Floats) -> Ratings:
    """Return the ratings of another user over the same items, given by position, on the same scale.

    For implicit feedback, values are strengths: ``scale.strengths`` makes them from counts.

    >>> ratings = Ratings.from_arrays(["ann", "bob"], ["x", "y"], [5, 3])
    >>> one_user(ratings, "cid", np.array([1]), np.array([4.0]))["cid"]
    {'y': 4.0}
    """
    from scipy.sparse import csr_array

    order, m = np.argsort(items), ratings.matrix
    data, indices = np.asarray(values, dtype=np.float64), np.asarray(items, dtype=m.indices.dtype)
    indptr = np.array([0, len(items)], dtype=m.indptr.dtype)
    matrix = csr_array((data[order], indices[order], indptr), shape=(1, ratings.n_items))
    return Ratings(matrix, np.array([name], dtype=object), ratings.items, ratings.scale)


def _positions(chosen: npt.ArrayLike | None, n: int, kind: str) -> Ints:
    """Return a mask or an array of positions as checked positions."""
    if chosen is None:
        return np.arange(n)
    array = np.asarray(chosen)
    if array.dtype == np.bool_:
        if array.shape != (n,):
            raise InputError(f"a mask of shape {array.shape} does not fit {n:,} {kind}s; give one entry each")
        return np.flatnonzero(array)
    positions = as_positions(array, n, kind)
    if array.ndim != 1 or len(np.unique(positions)) < len(positions):
        raise InputError(f"positions of {kind}s must be a flat list without repeats, got {array!r:.60}")
    return positions
