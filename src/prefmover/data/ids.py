"""Ids of users and items, and their positions.

Outside of prefmover a user or an item is an id, an integer or a string; inside it is a position in an array
of ids. This module converts in both directions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from prefmover._typing import Ids, Ints
from prefmover.errors import InputError, UnknownIdError, close_names

__all__ = ["IdIndex", "as_ids", "as_positions", "encode", "from_arrow", "frozen", "is_integer", "show"]

CANONICAL_INTEGER = r"^(0|-?[1-9][0-9]{0,18})$"

MOST_COMPARED = 200_000  # ids that a misspelled one is compared with; more would take long

MISSING_ID = r"^\s*(|NA|N/A|NULL|Null|null|None|NaN|nan|\\N)\s*$"
"""Texts in files that stand for an id that is missing."""


def show(id_: Any) -> str:
    """Return an id as text for messages: 10 or 'ann', not np.int64(10)."""
    return repr(id_.item() if isinstance(id_, np.generic) else id_)


def is_integer(text: str) -> bool:
    """Whether a text is a whole number in its usual form, within 64 bits: "7", not "007"."""
    return bool(re.fullmatch(CANONICAL_INTEGER, text)) and abs(int(text)) < 2**63


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the array itself, made read-only."""
    array.flags.writeable = False
    return array


def from_arrow(array: Any) -> npt.NDArray[Any]:
    """Return the values of an Arrow array of numbers without nulls, without a copy.

    Arrow's ``to_numpy`` imports pandas if it is installed, which takes longer than reading a file.
    """
    return np.from_dlpack(array)


def as_ids(values: Any, kind: str) -> Ids:
    """Return unique integers or strings as a read-only array of int64 or of str objects, in their order.

    ``kind`` is "user" or "item", for error messages.

    >>> as_ids(["b", "a"], "item")
    array(['b', 'a'], dtype=object)
    """
    if (plain := _plain_ids(values)) is not None:
        return frozen(plain)
    ids = _checked(_to_arrow(values, kind), kind, lambda k: f"{kind} {k + 1} of the list of ids")
    out = _to_numpy(ids)
    if len(ids.unique()) < len(ids):
        _, first, counts = np.unique(out, return_index=True, return_counts=True)
        twice = out[first[counts > 1].min()]
        raise InputError(f"{kind} id {show(twice)} occurs more than once; ids must be unique")
    return frozen(out)


def _plain_ids(values: Any) -> Ids | None:
    """Return a copy of ids that are int64, or texts, and unique; None if they have to be looked at closely.

    Most have been checked before. Arrow, which checks the rest, would import pandas, too.
    """
    if not isinstance(values, np.ndarray | list) or not len(values):
        return None
    if isinstance(values, np.ndarray) and values.dtype == np.int64:
        return values.copy() if values.ndim == 1 and len(np.unique(values)) == len(values) else None
    texts = values if isinstance(values, list) else values.tolist()
    if not all(type(text) is str and text for text in texts) or len({*texts}) < len(texts):
        return None
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return None
    return np.array(texts, dtype=object)


def as_positions(values: npt.ArrayLike, n: int, kind: str) -> Ints:
    """Return positions from 0 to n - 1 as a flat array; anything else is an error."""
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iu":
        raise InputError(f"expected positions of {kind}s (whole numbers), not {array.dtype}")
    positions = array.astype(np.int64).reshape(-1)
    wrong = positions[(positions < 0) | (positions >= n)]
    if wrong.size:
        raise InputError(f"there is no position {wrong[0]}; those of {n:,} {kind}s run from 0 to {n - 1:,}")
    return positions


def encode(values: Any, kind: str, where: Callable[[int], str], *, parse: bool = False) -> tuple[Ids, Ints]:
    """Return the sorted distinct ids of a column, and the position of each row's id in them.

    Integers are sorted by value and strings by code point, so that the result does not depend on the
    order of the rows.

    ``where`` describes the origin of row k (from 0) for error messages. ``parse`` says that the column is
    text from a file: surrounding spaces are removed, "NULL" and the like are missing ids, and if every id is
    a canonical integer ("7", not "007" or "+7"), ids become integers.

    >>> encode(["30", "4", "30"], "user", str, parse=True)
    (array([ 4, 30]), array([1, 0, 1]))
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    column = _to_arrow(values, kind)
    try:
        encoded = column.dictionary_encode()  # a column that was parsed from a file is encoded already
    except pa.ArrowException:  # lists and the like have no dictionary
        raise _wrong_type(column, kind, where) from None
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks() if len(encoded) else pa.array([], encoded.type)
    _refuse_missing(encoded.indices.is_null(), kind, where)
    codes, distinct = from_arrow(encoded.indices), encoded.dictionary
    is_used = np.bincount(codes, minlength=len(distinct)) > 0
    if not is_used.all():  # rows were left out, and some texts with them
        codes, distinct = (np.cumsum(is_used) - 1)[codes], distinct.take(pa.array(np.flatnonzero(is_used)))

    def where_text(k: int) -> str:
        return where(int(np.argmax(codes == k)))

    if parse:
        distinct = pc.utf8_trim_whitespace(distinct)
        missing = pc.match_substring_regex(distinct, MISSING_ID)
        _refuse_missing(missing, kind, where_text, distinct)
    distinct = _checked(distinct, kind, where_text)
    if parse:
        distinct = _integers_if_canonical(distinct)
    # Different texts may become one id (" a" and "a"), hence the second encoding.
    encoded = distinct.dictionary_encode()
    inner, distinct = from_arrow(encoded.indices), encoded.dictionary
    order = pc.array_sort_indices(distinct)
    rank = np.empty(len(order), dtype=np.int64)
    rank[from_arrow(order)] = np.arange(len(order))
    return frozen(_to_numpy(distinct.take(order))), rank[inner][codes]


def _integers_if_canonical(texts: Any) -> Any:
    """Return an Arrow array of strings as int64 if each one is a canonical integer.

    "007" and "+7" are not: as 7 they would merge with other ids.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if len(texts) and pc.all(pc.match_substring_regex(texts, CANONICAL_INTEGER)).as_py():
        with suppress(pa.ArrowInvalid):  # 19 digits may be more than 64 bits hold
            return texts.cast(pa.int64())
    return texts


@dataclass(frozen=True, slots=True, eq=False)
class IdIndex:
    """The positions of unique ids.

    >>> index = IdIndex("user", as_ids(["ann", "bob"], "user"))
    >>> index.position("bob")
    1
    >>> index.position("bop")
    Traceback (most recent call last):
    prefmover.errors.UnknownIdError: there is no user 'bop'; close: 'bob'
    """

    kind: str
    ids: Ids
    _positions: dict[Any, int] = field(default_factory=dict, init=False, repr=False)

    def _by_id(self) -> dict[Any, int]:
        if not self._positions:  # built on first use: files are often read without a lookup
            self._positions.update(zip(self.ids.tolist(), range(len(self.ids)), strict=True))
        return self._positions

    def __contains__(self, id_: object) -> bool:
        """Whether the index has an id."""
        try:
            return id_ in self._by_id() and not isinstance(id_, bool | np.bool_)
        except TypeError:  # not hashable
            return False

    def position(self, id_: Any, *, from_text: bool = False) -> int:
        """Return the position of one id.

        With ``from_text``, an integer id may be given as text, as people type it:

        >>> IdIndex("user", np.array([7, 9])).position("9", from_text=True)
        1
        """
        if from_text and id_ not in self:
            number = self._other_type(id_) if isinstance(id_, str) else None
            if number is not None:
                id_ = number if number in self or self.ids.dtype == np.int64 else id_
            elif not isinstance(id_, str) and str(id_) in self:
                id_ = str(id_)
        if id_ not in self:
            raise UnknownIdError(self._unknown(id_))
        return self._by_id()[id_]

    def check_mistaken(self, id_: Any) -> None:
        """Raise an error for something that is no id, and for a known id of the wrong type ("7" for 7)."""
        if id_ in self:
            return
        is_id = isinstance(id_, str | int | np.integer) and not isinstance(id_, bool)
        if not is_id or self._other_type(id_) in self:
            raise UnknownIdError(self._unknown(id_))

    def free_name(self, name: Any) -> Any:
        """Return a name for a new user: the given one, with a prime or several if it is an id here.

        >>> IdIndex("user", as_ids(["ann", "guest"], "user")).free_name("guest")
        "guest'"
        """
        while name in self:
            name = f"{name}'"
        return name

    def _other_type(self, id_: Any) -> Any:
        """Return the integer that a text stands for, and the text of an integer; None if there is none."""
        if not isinstance(id_, str):
            return str(id_)
        text = id_.strip()  # more than int() would ignore: \x1f, for one
        return int(text) if re.fullmatch(CANONICAL_INTEGER, text) else None

    def positions(self, ids: Iterable[Any] | None) -> Ints:
        """Return the positions of many ids, in their order; None means all."""
        if ids is None:
            return np.arange(len(self.ids))
        if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
            raise InputError(f"expected a list of {self.kind} ids, got the single value {ids!r}")
        by_id = self._by_id()
        listed = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
        try:
            return np.array([by_id[i] for i in listed], dtype=np.int64)
        except (KeyError, TypeError):
            raise UnknownIdError(self._unknown(next(i for i in listed if i not in self))) from None

    def get(self, ids: Iterable[Any]) -> Ints:
        """Return the positions of many ids, -1 for those that are not known.

        >>> IdIndex("user", as_ids(["ann", "bob"], "user")).get(["bob", "zoe"])
        array([ 1, -1])
        """
        by_id = self._by_id()
        listed = ids.tolist() if isinstance(ids, np.ndarray) else ids
        return np.array([by_id[i] if i in self else -1 for i in listed], dtype=np.int64)

    def _unknown(self, id_: Any) -> str:
        sentence = f"there is no {self.kind} {show(id_)}"
        if not len(self.ids):
            return f"{sentence}; there are no {self.kind}s"
        integers = self.ids.dtype == np.int64
        kind = int | np.integer if integers else str
        if isinstance(id_, bool | np.bool_) or not isinstance(id_, kind):
            same = [i for i in self.ids.tolist() if str(i) == str(id_)]
            hint = f", and {same[0]!r} is one of them" if same else ""
            return f"{sentence}; {self.kind} ids are {'integers' if integers else 'strings'} here{hint}"
        close: Sequence[Any]
        if integers:
            apart = np.abs(self.ids.astype(np.float64) - float(max(min(id_, 2**63), -(2**63))))
            close = self.ids[np.argsort(apart, kind="stable")[:3]].tolist()
        else:
            close = close_names(str(id_), self.ids.tolist()) if len(self.ids) <= MOST_COMPARED else []
        if close:
            return f"{sentence}; close: {', '.join(map(repr, close))}"
        few = ", ".join(map(repr, self.ids[:3].tolist()))
        return f"{sentence}; there are {len(self.ids):,}, such as {few}"


def _to_arrow(values: Any, kind: str) -> Any:
    """Return a column as an Arrow array (a chunked one stays chunked)."""
    import pyarrow as pa

    if not isinstance(values, pa.Array | pa.ChunkedArray):
        if isinstance(values, str | bytes):
            raise InputError(f"expected a column of {kind} ids, got the single value {values!r}")
        try:
            values = pa.array(values, from_pandas=True)
        except OverflowError as error:
            raise InputError(f"{kind} ids must fit 64-bit signed integers; make them strings") from error
        except UnicodeEncodeError as error:
            raise InputError(f"a {kind} id is not valid text: {error}; replace it") from None
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise InputError(f"{kind} ids must be all integers or all strings: {error}") from error
    return values


def _checked(ids: Any, kind: str, where: Callable[[int], str]) -> Any:
    """Return ids as int64 or string Arrow array; other types, nulls and "" are errors."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(ids.type):
        ids = ids.cast(ids.type.value_type)
    if isinstance(ids, pa.ChunkedArray):
        ids = ids.combine_chunks()
    _refuse_missing(ids.is_null(), kind, where)
    if pa.types.is_integer(ids.type) or not len(ids):
        try:
            return ids.cast(pa.int64())
        except pa.ArrowInvalid as error:
            raise InputError(f"{kind} ids must fit 64-bit signed integers; make them strings") from error
    is_view = pa.types.is_string_view(ids.type)
    if not (is_view or pa.types.is_string(ids.type) or pa.types.is_large_string(ids.type)):
        raise _wrong_type(ids, kind, where)
    try:
        ids.validate(full=True)
        if is_view:
            ids = pa.array(ids.to_pylist(), pa.string())  # a cast would need a newer Arrow
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise InputError(f"{kind} ids are not UTF-8 text ({error}); write the file again") from error
    _refuse_missing(pc.invert(pc.binary_length(ids).cast(pa.bool_())), kind, where)
    return ids.cast(pa.string())


def _refuse_missing(missing: Any, kind: str, where: Callable[[int], str], texts: Any = None) -> None:
    import pyarrow.compute as pc

    if not missing.true_count:  # pc.index would import pandas
        return
    first = pc.index(missing, True).as_py()
    problem = f"{where(first)}: the {kind} id is missing"
    if texts is None:
        raise InputError(f"{problem}; fill it in or drop the row")
    text = texts[first].as_py()
    shown = f" ({text})" if text else ""
    remedy = "fill it in, or pass on_bad_lines='skip' to leave such lines out"
    raise InputError(f"{problem}{shown}; {remedy}", argument="on_bad_lines")


def _wrong_type(ids: Any, kind: str, where: Callable[[int], str]) -> InputError:
    problem = f"{where(0)}: {kind} ids must be integers or strings, not {ids.type}"
    return InputError(f"{problem} such as {ids[0].as_py()!r}; convert the column")


def _to_numpy(ids: Any) -> Ids:
    import pyarrow as pa

    if pa.types.is_int64(ids.type):
        return from_arrow(ids).copy()
    return np.array(ids.to_pylist(), dtype=object)
