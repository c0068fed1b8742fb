r"""Files of ratings: bytes in, three columns and the place of each row out.

::

    bytes -> unpacked (gzip) -> UTF-8 -> separator -> header -> Arrow's CSV parser -> columns
      \-> Parquet -------------------------------------------------------------------^

Arrow's parser does the work at full speed and only ever sees a one-byte separator. The slow,
exact walk through the lines (:meth:`Origin.numbers`) happens only when an error needs the
number of a line.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from prefmover.errors import InputError
from prefmover.ids import close_names, from_arrow

__all__ = ["Columns", "Origin", "find_column", "read_columns"]

ROLES = ("user", "item", "rating")

# Names under which columns are found when the caller names none, without case, "_", "-" and " ".
USUAL_NAMES = {
    "user": ("user", "userid", "uid"),
    "item": ("item", "itemid", "iid", "movie", "movieid"),
    "rating": ("rating",),
}

# Tried in this order: a longer or rarer one is less likely to be there by chance.
SEPARATORS = ("::", "\t", ",", ";", "|", " ")

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
    data, file = _bytes_of(path), str(path)
    if data.startswith(b"PAR1"):
        return _read_parquet(data, file, wanted)
    text = _to_utf8(data, encoding, file)
    if not text.strip():
        raise InputError(f"{file} is empty; expected lines of user, item, rating")
    sheet = _Sheet.open(text, file, separator, wanted)
    has_header, positions = _layout(sheet, wanted, header)
    table = sheet.parse(skip_header=has_header)
    names: list[str | int] = [sheet.first[p] if has_header else p + 1 for p in positions]
    columns = [table.column(str(p)) for p in positions]
    origin = Origin(file, "line", lambda rows: sheet.line_numbers(rows, has_header))
    ratings = _numbers_in(columns[2], origin, names[2], sheet)
    return Columns(columns[0], columns[1], ratings, (names[0], names[1], names[2]), origin, are_texts=True)


def find_column(name: str, names: Sequence[str], role: str, file: str = "the table") -> int:
    """Return the position of a column, or say which one may have been meant.

    >>> find_column("user", ["userId", "movieId", "rating"], "user")
    Traceback (most recent call last):
    prefmover.errors.InputError: the table has no column 'user'; the nearest is 'userId': pass
    user='userId' (columns: 'userId', 'movieId', 'rating')
    """
    count = list(names).count(name)
    if count == 1:
        return list(names).index(name)
    listed = ", ".join(map(repr, names)) or "none"
    if count:
        raise InputError(f"{file} has {count} columns named {name!r} (columns: {listed})")
    close = close_names(name, names, n=1)
    remedy = (
        f"the nearest is {close[0]!r}: pass {role}={close[0]!r}"
        if close
        else f"pass {role}= with the name of the {role} column"
    )
    raise InputError(f"{file} has no column {name!r}; {remedy} (columns: {listed})")


def _bytes_of(path: str | PathLike[str]) -> bytes:
    """Return the bytes of a file, unpacked if they are gzip's."""
    path = Path(path)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        there = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        close = close_names(path.name, there, n=1)
        hint = f"; did you mean {path.parent / close[0]}?" if close else ""
        raise InputError(f"there is no file {path}{hint}") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder; name the file of ratings inside it") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    if data.startswith(b"\x1f\x8b"):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{path} is damaged gzip ({error}); copy or download it again") from error
    if data.startswith(b"PK\x03\x04"):
        raise InputError(f"{path} is a zip archive; unpack it and name the file of ratings inside")
    return data


def _to_utf8(data: bytes, encoding: str, file: str) -> bytes:
    """Return the text as UTF-8 without a byte order mark; bytes that make no sense are errors."""
    try:
        plain = "a".encode(encoding) == b"a" and data.isascii()
        text = data if plain else data.decode(encoding).encode()
    except LookupError:
        raise InputError(f"unknown encoding {encoding!r}; try 'utf-8', 'latin-1' or 'utf-16'") from None
    except UnicodeError as error:
        start = error.start if isinstance(error, UnicodeDecodeError) else 0
        line = len(re.findall(rb"\r\n|\r|\n", data[:start])) + 1
        is_utf16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        remedy = "utf-16" if is_utf16 else ("latin-1" if encoding != "latin-1" else "utf-8")
        raise InputError(
            f"{file}, line {line:,}: the byte 0x{data[start]:02x} is not {encoding}; try encoding={remedy!r}"
        ) from None
    return text.removeprefix(b"\xef\xbb\xbf")


@dataclass(frozen=True, slots=True, eq=False)
class _Sheet:
    """Text with a one-byte separator, its first line split into fields."""

    data: bytes  # UTF-8
    file: str
    shown: str  # the separator as the file has it
    separator: str  # the one byte that stands for it in `data`
    quotes: bool
    first: tuple[str, ...]

    @classmethod
    def open(
        cls, text: bytes, file: str, separator: str | None, wanted: Sequence[str | int | None]
    ) -> _Sheet:
        shown = _checked_separator(separator) if separator else _sniff(text, file, wanted)
        one_byte = len(shown.encode()) == 1
        delimiter = shown if one_byte else _unused_byte(text, file)
        # Quotes are part of CSV; files with "::" and the like do not use them, and a title that
        # begins with a quote must not swallow the lines after it.
        data = text if one_byte else text.replace(shown.encode(), delimiter.encode())
        quotes = one_byte and b'"' in data
        sheet = cls(data, file, shown, delimiter, quotes, ())
        _, first = next(sheet.rows())
        return cls(data, file, shown, delimiter, quotes, tuple(f.strip() for f in first))

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the number of the first line, and the fields, of every row: slow and exact."""
        reader = csv.reader(
            io.TextIOWrapper(io.BytesIO(self.data), "utf-8", newline=""),
            delimiter=self.separator,
            quoting=csv.QUOTE_MINIMAL if self.quotes else csv.QUOTE_NONE,
        )
        line = 1
        try:
            for fields in reader:
                if fields:
                    yield line, fields
                line = reader.line_num + 1
        except csv.Error as error:
            raise InputError(f"{self.file}, line {line:,} is not a line of CSV: {error}") from error

    def line_numbers(self, rows: Sequence[int], has_header: bool) -> list[int]:
        """Return the line numbers, from 1, at which rows of data (from 0) begin."""
        wanted = {row + has_header for row in rows}
        found = {k: line for k, (line, _) in enumerate(self.rows()) if k in wanted}
        return [found[row + has_header] for row in rows]

    def parse(self, *, skip_header: bool) -> Any:
        """Return the rows as an Arrow table of strings with columns "0", "1", ..."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        data, names = self.data, [str(k) for k in range(len(self.first))]
        if skip_header:
            rows = self.rows()
            next(rows)
            second = next(rows, None)
            if second is None:
                raise InputError(f"{self.file} has a header but no ratings below it")
            data = _after_lines(data, second[0] - 1)
        try:
            return arrow_csv.read_csv(
                pa.BufferReader(data),
                read_options=arrow_csv.ReadOptions(column_names=names, block_size=1 << 22),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self.separator,
                    quote_char='"' if self.quotes else False,
                    newlines_in_values=self.quotes,
                ),
                convert_options=arrow_csv.ConvertOptions(
                    check_utf8=False, column_types=dict.fromkeys(names, pa.string())
                ),
            )
        except pa.ArrowInvalid as error:
            raise InputError(self._uneven() or f"{self.file} cannot be read: {error}") from error

    def _uneven(self) -> str:
        """Say which line has another number of fields than the first one."""
        n = len(self.first)
        for line, fields in self.rows():
            if len(fields) != n:
                return (
                    f"{self.file}, line {line:,} has {len(fields)} columns where the first line "
                    f"has {n} (separator {self.shown!r}): "
                    f"{self.shown.join(fields)[:60]!r}"
                )
        return ""


def _checked_separator(separator: str) -> str:
    separator = "\t" if separator == "\\t" else separator  # as typed in a shell
    if len(separator) > 2 or set(separator) & set('\r\n"'):
        raise InputError(f"separator {separator!r} will not do: one or two characters, no quote, no line end")
    return separator


def _unused_byte(text: bytes, file: str) -> str:
    """Return a control character that the text does not contain."""
    for code in (0x1F, 0x1E, 0x1D, 0x1C, *range(1, 9)):
        if bytes([code]) not in text:
            return chr(code)
    raise InputError(f"{file} contains every control character; is it a text file?")


def _sniff(text: bytes, file: str, wanted: Sequence[str | int | None]) -> str:
    """Return the separator that cuts the first lines into equally many, at least 3, fields."""
    start = text[: text.rfind(b"\n", 0, 1 << 16) + 1] or text
    lines = [line for line in start.decode().splitlines() if line.strip()][:20]
    votes: Counter[str] = Counter()
    for separator in SEPARATORS:
        counts = [line.count(separator) for line in lines]
        if counts[0] >= 2:
            votes[separator] = counts.count(counts[0])
            names = [field.strip(' "') for field in lines[0].split(separator)]
            if any(_find(name, role, names) is not None for name, role in _asked(wanted)):
                return separator
    if not votes:
        raise InputError(
            f"{file}: cannot tell what separates the columns in {lines[0][:60]!r}; "
            "expected at least user, item and rating; pass separator="
        )
    return votes.most_common(1)[0][0]  # the first of equals, in the order of SEPARATORS


def _asked(wanted: Sequence[str | int | None]) -> Iterator[tuple[str | None, str]]:
    """Yield (name or None, role) of the columns that were not asked for by position."""
    for name, role in zip(wanted, ROLES, strict=True):
        if not isinstance(name, int):
            yield name, role


def _find(name: str | None, role: str, names: Sequence[str]) -> int | None:
    """Return where a column is, by its name or (None) by the usual names of its role."""
    if name is not None:
        return list(names).index(name) if name in names else None
    plain = [re.sub(r"[-_ ]", "", n).casefold() for n in names]
    return next((plain.index(usual) for usual in USUAL_NAMES[role] if usual in plain), None)


def _layout(sheet: _Sheet, wanted: Sequence[str | int | None], header: bool | None) -> tuple[bool, list[int]]:
    """Decide whether the first line is a header, and at which positions the columns are."""
    names, n = sheet.first, len(sheet.first)
    if header is None:
        asked = list(_asked(wanted))
        found = any(_find(name, role, names) is not None for name, role in asked)
        at = wanted[2] if isinstance(wanted[2], int) else 2
        is_data = at < n and _is_number(names[at])
        # A first line that neither has the names nor a rating where it should be is a header
        # with other names, and the message about those helps more than "'stars' is no number".
        header = found or any(name for name, _ in asked) or not is_data
    positions = []
    for name, role in zip(wanted, ROLES, strict=True):
        if isinstance(name, int):
            at = name
        elif header:
            place = _find(name, role, names)
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


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text.casefold() in MISSING
    return "_" not in text  # Python's 1_000 is no number to anybody else


def _after_lines(data: bytes, n: int) -> bytes:
    """Return the data without its first n lines."""
    ends = re.finditer(rb"\r\n|\r|\n", data)
    for _ in range(n - 1):
        next(ends)
    return data[next(ends).end() :]


def _numbers_in(column: Any, origin: Origin, name: str | int, sheet: _Sheet) -> npt.NDArray[np.float64]:
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
    import pyarrow as pa
    from pyarrow import parquet

    try:
        opened = parquet.ParquetFile(pa.BufferReader(data))
        names = opened.schema_arrow.names
        positions = []
        for name, role in zip(wanted, ROLES, strict=True):
            place = name if isinstance(name, int) else _find(name, role, names)
            if place is None:
                place = find_column(str(name or role), names, role, file)
            if not 0 <= place < len(names):
                raise InputError(f"{file} has {len(names)} columns, none at position {place}")
            positions.append(place)
        table = opened.read(columns=[names[p] for p in positions])
    except pa.ArrowException as error:
        raise InputError(f"{file} is a damaged Parquet file: {error}") from error
    found = (names[positions[0]], names[positions[1]], names[positions[2]])
    user, item, rating = (table.column(name) for name in found)
    return Columns(user, item, rating, found, Origin(file, "row"), are_texts=False)
