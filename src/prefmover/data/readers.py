r"""Files of ratings: bytes in, three columns and the place of each row out.

::

    bytes -> text -> header -> Arrow's CSV parser -> columns
      \-> Parquet ---------------------------------^
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from prefmover.data.columns import find_alike, find_column, find_usual
from prefmover.data.delimited import Sheet, file_bytes, to_utf8
from prefmover.data.ids import from_arrow
from prefmover.data.parquet import open_parquet, read_parquet
from prefmover.errors import InputError

__all__ = ["Columns", "Origin", "read_columns", "read_pairs"]

LOG = logging.getLogger(__name__)

ROLES = ("user", "item", "rating")

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none"})


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """Where rows come from, so that an error can name the place.

    Parameters
    ----------
    file : str
        Name of the file, or "" for data that was in memory.
    unit : str
        What a row is called there: "line", "row" or "value".
    numbers : callable
        Turns positions of rows (from 0) into the numbers (from 1) that a person would count.

    Examples
    --------
    >>> Origin("a.csv", "line", lambda rows: [r + 2 for r in rows]).at(0, "rating")
    "a.csv, line 2, column 'rating'"
    """

    file: str = ""
    unit: str = "row"
    numbers: Callable[[Sequence[int]], list[int]] = lambda rows: [r + 1 for r in rows]

    def at(self, row: int, column: str | int | None = None) -> str:
        """Return "file, line n, column 'c'" for one row."""
        place = f"{self.unit} {self.numbers([row])[0]:,}"
        parts = [self.file, place, "" if column is None else f"column {column!r}"]
        return ", ".join(part for part in parts if part)

    def both(self, row: int, other: int) -> str:
        """Return "file, lines n and m" for two rows."""
        a, b = self.numbers([row, other])
        return ", ".join(part for part in (self.file, f"{self.unit}s {a:,} and {b:,}") if part)


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Three columns as read: Arrow arrays of ids, ratings, their names and their origin.

    `are_texts` says that the ids are text whose type is still to be found out.
    """

    user: Any
    item: Any
    rating: Any
    names: tuple[str | int, str | int, str | int]
    origin: Origin
    are_texts: bool


def read_columns(
    path: str | PathLike[str],
    *,
    user: str | int | None = None,
    item: str | int | None = None,
    rating: str | int | None = None,
    separator: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
) -> Columns:
    """Read the user, item and rating columns of a file; see :meth:`prefmover.Ratings.read`."""
    wanted = (user, item, rating)
    data, file = file_bytes(path), str(path)
    if data.startswith(b"PAR1"):
        return _read_parquet(data, file, wanted)
    text = to_utf8(data, encoding, file)
    if not text.strip():
        raise InputError(f"{file} is empty; expected lines of user, item, rating")
    sheet = Sheet.open(
        text,
        file,
        separator,
        least=3,
        has_names=lambda names: any(_find(name, role, names) is not None for name, role in _asked(wanted)),
        expected="user, item and rating",
    )
    has_header, positions = _layout(sheet, wanted, header)
    table = sheet.parse(skip_header=has_header)
    names: list[str | int] = [sheet.first[p] if has_header else p + 1 for p in positions]
    columns = [table.column(str(p)) for p in positions]
    if has_header:
        _say(file, names, wanted)
    origin = Origin(file, "line", lambda rows: sheet.line_numbers(rows, has_header))
    ratings = _numbers_in(columns[2], origin, names[2], sheet)
    return Columns(columns[0], columns[1], ratings, (names[0], names[1], names[2]), origin, are_texts=True)


def read_pairs(
    path: str | PathLike[str],
    *,
    user: str | None = None,
    item: str | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
) -> tuple[list[str], list[str]]:
    """Return the user and item columns of a file with a header, as text: whose rating of what is asked for.

    Columns are found as in :func:`read_columns`; others do not matter.
    """
    data, file = file_bytes(path), str(path)
    if data.startswith(b"PAR1"):
        table = read_parquet(open_parquet(data, file), file)
        names: Sequence[str] = table.column_names
        positions = _two(names, user, item, file)
        users, items = (_filled(table.column(p).to_pylist(), Origin(file), names[p]) for p in positions)
        return users, items
    text = to_utf8(data, encoding, file)
    if not text.strip():
        raise InputError(f"{file} is empty; expected a header, and lines of user, item below it")
    sheet = Sheet.open(
        text,
        file,
        separator,
        least=2,
        has_names=lambda names: _find(user, "user", names) is not None,
        expected="user and item",
    )
    u, i = _two(sheet.first, user, item, file)
    table = sheet.parse(skip_header=True)
    origin = Origin(file, "line", lambda rows: sheet.line_numbers(rows, True))
    users, items = (_filled(table.column(str(p)).to_pylist(), origin, sheet.first[p]) for p in (u, i))
    return users, items


def _filled(values: list[Any], origin: Origin, name: str) -> list[str]:
    """Return ids as text; each must be there."""
    texts = ["" if value is None else str(value).strip() for value in values]
    if "" in texts:
        raise InputError(f"{origin.at(texts.index(''), name)}: the id is missing; fill it in or drop the row")
    return texts


def _two(names: Sequence[str], user: str | None, item: str | None, file: str) -> tuple[int, int]:
    places = []
    for name, role in ((user, "user"), (item, "item")):
        place = _find(name, role, names, header=True)
        places.append(find_column(name or role, names, role, file) if place is None else place)
    if places[0] == places[1]:
        raise InputError(f"{file}: user and item must be two different columns")
    return places[0], places[1]


def _asked(wanted: Sequence[str | int | None]) -> Iterator[tuple[str | None, str]]:
    """Yield (name or None, role) of the columns that were not asked for by position."""
    for name, role in zip(wanted, ROLES, strict=True):
        if not isinstance(name, int):
            yield name, role


def _find(name: str | None, role: str, names: Sequence[str], *, header: bool = False) -> int | None:
    """Return where a column is, by its name or (None) by the usual names of its role.

    With ``header``, the names are known to be a header, and may be looked at more closely.
    """
    if name is not None:
        return list(names).index(name) if name in names else None
    return find_alike(role, names) if header else find_usual(role, names)


def _layout(sheet: Sheet, wanted: Sequence[str | int | None], header: bool | None) -> tuple[bool, list[int]]:
    """Decide whether the first line is a header, and at which positions the columns are."""
    names, n = sheet.first, len(sheet.first)
    if header is None:
        asked = list(_asked(wanted))
        found = any(_find(name, role, names) is not None for name, role in asked)
        at = wanted[2] if isinstance(wanted[2], int) else 2
        is_data = 0 <= at < n and _is_number(names[at])
        # A first line that neither has the names nor a rating where it should be is a header
        # with other names, and the message about those helps more than "'stars' is no number".
        header = found or any(name for name, _ in asked) or not is_data
    positions = []
    for name, role in zip(wanted, ROLES, strict=True):
        if isinstance(name, int):
            at = name
        elif header:
            place = _find(name, role, names, header=True)
            # Not there, or there twice: find_column has the words for it.
            if place is None or names.count(names[place]) > 1:
                place = find_column(name or role, names, role, sheet.file)
            at = place
        elif name is not None:
            raise InputError(
                f"{sheet.file} is read without a header, so {role}={name!r} cannot be found; "
                f"give its position: {role}=0, 1, 2, ..."
            )
        else:
            at = ROLES.index(role)
        if not 0 <= at < n:
            raise InputError(
                f"{sheet.file} has {n} columns (separator {sheet.shown!r}), so there is no "
                f"{role} column at position {at} (from 0); pass separator= or {role}="
            )
        positions.append(at)
    if len(set(positions)) < 3:
        raise InputError(f"{sheet.file}: user, item and rating must be three different columns")
    return header, positions


def _say(file: str, names: Sequence[str | int], wanted: Sequence[str | int | None]) -> None:
    """Log which columns were taken, unless all of them were asked for."""
    if None in wanted:
        taken = ", ".join(f"{role} from {name!r}" for role, name in zip(ROLES, names, strict=True))
        LOG.info("%s: %s", file, taken)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text.casefold() in MISSING
    return "_" not in text  # Python's 1_000 is no number to anybody else


def _numbers_in(column: Any, origin: Origin, name: str | int, sheet: Sheet) -> npt.NDArray[np.float64]:
    """Return a column of text as numbers; missing ones become NaN, the rest must be numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    encoded = column.dictionary_encode().combine_chunks()
    codes = from_arrow(encoded.indices)
    texts = pc.utf8_trim_whitespace(encoded.dictionary)
    try:
        values = from_arrow(texts.cast(pa.float64()))
    except pa.ArrowInvalid:
        listed = texts.to_pylist()
        good = np.array([_is_number(text) for text in listed])
        if not good.all():
            row = int(np.argmin(good[codes]))
            text = listed[codes[row]]
            comma = ", a decimal comma must become a point" if re.fullmatch(r"\d+,\d+", text) else ""
            raise InputError(
                f"{origin.at(row, name)}: {text!r} is not a number{comma} "
                f"(columns are separated by {sheet.shown!r})"
            ) from None
        values = np.array([float(t) if t.casefold() not in MISSING else np.nan for t in listed])
    return np.asarray(values[codes], dtype=np.float64)


def _read_parquet(data: bytes, file: str, wanted: Sequence[str | int | None]) -> Columns:
    """Return the three columns of a Parquet file."""
    opened = open_parquet(data, file)
    names = opened.schema_arrow.names
    positions = []
    for name, role in zip(wanted, ROLES, strict=True):
        place = name if isinstance(name, int) else _find(name, role, names, header=True)
        if place is None:
            place = find_column(str(name or role), names, role, file)
        if not 0 <= place < len(names):
            raise InputError(f"{file} has {len(names)} columns, none at position {place} (from 0)")
        positions.append(
            find_column(names[place], names, role, file)
        )  # raises for a name that is there twice
    if len(set(positions)) < 3:
        raise InputError(f"{file}: user, item and rating must be three different columns")
    found = (names[positions[0]], names[positions[1]], names[positions[2]])
    table = read_parquet(opened, file, found)
    _say(file, found, wanted)
    user, item, rating = (table.column(name) for name in found)
    return Columns(user, item, rating, found, Origin(file, "row"), are_texts=False)
