r"""Files of text: bytes in, columns out, or an error that names the line.

::

    bytes -> UTF-8 -> separator -> Arrow's CSV parser -> columns

Arrow parses at full speed and needs a separator of one byte. The slow and exact walk through the lines
(:meth:`Delimited.rows`) is for small tables and for errors, which name the line.

Files may be damaged or malicious: a few bytes of gzip can stand for gigabytes.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import logging
import math
import re
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy.typing as npt

from prefmover.data.file_options import OnBadLines, check_choice
from prefmover.errors import BadLinesWarning, InputError, close_names

__all__ = ["BLOCK", "SEPARATORS", "BadLines", "Delimited", "Kind", "Origin", "file_bytes", "to_utf8"]

LOG = logging.getLogger(__name__)

Kind = Literal["int", "float", "text", "code"]
"""What a column has. ``"code"`` is text that repeats: each text is stored once, and a row is its number."""

KIND_NAMES = {"int": "a whole number", "float": "a number"}

# In the order of preference: a longer or rarer separator is less likely to occur by chance.
SEPARATORS = {"::": "'::'", "\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars", " ": "spaces"}

PRINTED = [separator for separator in SEPARATORS if separator != " "]

BLOCK = 1 << 22  # bytes that Arrow parses at a time

# Text of ratings compresses to about a tenth, a gzip bomb to a thousandth.
GROWTH, SMALL = 100, 1 << 26

PLAIN = ("utf-8", "ascii", "iso8859-1", "cp1252")
"""Encodings in which ASCII is itself. It is not in all that use 7 bits, such as ISO-2022-JP."""

SHOWN = 3  # bad lines in a message


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """The source of rows: a file (or "" for data in memory) and what a row is called there.

    ``numbers`` converts positions of rows (from 0) to the numbers (from 1) that a person would count.

    >>> Origin("a.csv", "line", lambda rows: [r + 2 for r in rows]).at(0, "rating")
    "a.csv, line 2, column 'rating'"
    """

    file: str = ""
    unit: str = "row"
    numbers: Callable[[Sequence[int]], list[int]] = lambda rows: [r + 1 for r in rows]

    def take(self, rows: Sequence[int] | npt.NDArray[Any]) -> Origin:
        """Return the origin of some of the rows.

        >>> Origin("a.csv", "line").take([4, 7]).at(1)
        'a.csv, line 8'
        """
        return Origin(self.file, self.unit, lambda chosen: self.numbers([int(rows[k]) for k in chosen]))

    def at(self, row: int, column: str | int | None = None) -> str:
        """Return "file, line n, column 'c'" for one row."""
        number = f"{self.unit} {self.numbers([row])[0]:,}"
        return ", ".join(filter(None, [self.file, number, "" if column is None else f"column {column!r}"]))

    def both(self, row: int, other: int) -> str:
        """Return "file, lines n and m" for two rows."""
        a, b = self.numbers([row, other])
        return ", ".join(filter(None, [self.file, f"{self.unit}s {a:,} and {b:,}"]))


@dataclass(slots=True)
class BadLines:
    """The bad lines of one file.

    >>> bad = BadLines("a.csv", "skip")
    >>> bad.add("a.csv, line 3 has 2 columns where 3 are expected")
    >>> bad.n
    1
    >>> BadLines("a.csv").add("a.csv, line 3 has 2 columns where 3 are expected")
    Traceback (most recent call last):
    prefmover.errors.InputError: a.csv, line 3 has 2 columns where 3 are expected; correct the line, or pass
    on_bad_lines='skip' to leave such lines out
    """

    file: str
    mode: OnBadLines = "error"
    n: int = 0
    reasons: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        check_choice("on_bad_lines", self.mode, OnBadLines, optional=False)

    @property
    def are_errors(self) -> bool:
        """Whether a bad line is an error."""
        return self.mode == "error"

    def add(self, reason: str, n: int = 1) -> None:
        """Count n bad lines, or raise an error with the reason, which names the first one."""
        if self.are_errors:
            remedy = "correct the line, or pass on_bad_lines='skip' to leave such lines out"
            raise InputError(f"{reason}; {remedy}", argument="on_bad_lines")
        self.n += n
        if len(self.reasons) < SHOWN:
            self.reasons.append(reason.removeprefix(f"{self.file}, "))

    def report(self) -> None:
        """Log or warn how many lines were left out."""
        if not self.n:
            return
        more = "; ..." if self.n > len(self.reasons) else ""
        lines = "1 bad line is" if self.n == 1 else f"{self.n:,} bad lines are"
        text = f"{self.file}: {lines} left out: {'; '.join(self.reasons)}{more}"
        if self.mode == "warn":
            warnings.warn(text, BadLinesWarning, stacklevel=5)
        else:
            LOG.info("%s", text)


def file_bytes(path: str | PathLike[str]) -> bytes:
    """Return the bytes of a file, decompressed if they are gzip."""
    path = Path(path)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        names = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        close = close_names(path.name, names, n=1)
        hint = f"; did you mean {path.parent / close[0]}?" if close else ""
        raise InputError(f"there is no file {path}{hint}") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder; name the file inside it") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path} cannot be read: {reason}") from error
    if data.startswith(b"\x1f\x8b"):
        data = _decompressed(data, path)
    if data.startswith(b"PK\x03\x04"):
        raise InputError(f"{path} is a zip archive; unpack it and name the file inside")
    return data


def _decompressed(data: bytes, path: Path) -> bytes:
    """Return the content of gzip data, unless it grows more than text does."""
    limit = SMALL + GROWTH * len(data)
    try:
        with gzip.open(io.BytesIO(data)) as packed:
            out = packed.read(limit + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} is damaged gzip ({error}); copy or download it again") from error
    if len(out) > limit:
        raise InputError(f"{path} grows more than {GROWTH} times; if you trust it, decompress it first")
    return out


def to_utf8(data: bytes, encoding: str, file: str) -> bytes:
    r"""Return the text as UTF-8 without a byte order mark.

    In the encoding "mixed", what is not UTF-8 is Latin-1:

    >>> to_utf8(b"Zo\xc3\xab and Zo\xeb", "mixed", "a.csv").decode()
    'Zoë and Zoë'
    """
    if encoding == "mixed":
        text = data if data.isascii() else data.decode("utf-8", MIXED).encode()
        return text.removeprefix(b"\xef\xbb\xbf")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") and encoding in ("utf-8", "latin-1"):
        remedy = "save it as UTF-8, or pass encoding='utf-16'"
        raise InputError(f"{file}, line 1: this is UTF-16; {remedy}", argument="encoding")
    try:
        is_plain = codecs.lookup(encoding).name in PLAIN and data.isascii()
        text = data if is_plain else data.decode(encoding).encode()
    except UnicodeError as error:
        start = error.start if isinstance(error, UnicodeDecodeError) else 0
        line = len(re.findall(rb"\r\n|\r|\n", data[:start])) + 1
        problem = f"{file}, line {line:,}: the byte 0x{data[start]:02x} is not {encoding}"
        other = "utf-8" if encoding == "latin-1" else "latin-1"
        remedy = f"save the file as UTF-8, or pass encoding={other!r}"
        if encoding == "utf-8" and (n := _count_utf8(data)):
            where = f"{n:,} other characters that are valid UTF-8, which latin-1 would garble"
            remedy = f"but the file has {where}; save it as UTF-8, or pass encoding='mixed' to read both"
        raise InputError(f"{problem}; {remedy}", argument="encoding") from None
    except (LookupError, TypeError, ValueError):  # ValueError: a NUL in the name
        raise InputError(f"unknown encoding {encoding!r}; try 'utf-8', 'latin-1' or 'utf-16'") from None
    return text.removeprefix(b"\xef\xbb\xbf")


def _as_latin_1(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("latin-1"), error.end


MIXED = "prefmover-mixed"
codecs.register_error(MIXED, _as_latin_1)


def _count_utf8(data: bytes) -> int:
    """Return the number of characters beyond ASCII that are UTF-8, or 0 if there are so few by chance."""
    pattern = rb"[\xc3-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
    found = re.findall(pattern, data)
    n_others = len(re.findall(rb"[\x80-\xff]", data)) - sum(map(len, found))
    return len(found) if 20 * len(found) >= n_others else 0


@dataclass(frozen=True, slots=True, eq=False)
class Delimited:
    """A table of UTF-8 text whose separator is known and whose first line is split into fields.

    ``delimiter`` is the one byte that stands for the separator of the file in ``data``; ``quotes`` says
    whether fields may be quoted as in CSV, and ``escapes`` whether a quote within one has a backslash before
    it; ``first`` has the names of the columns if there is a header.
    """

    data: bytes
    file: str
    separator: str
    delimiter: str
    quotes: bool
    escapes: bool
    lines_before: int
    first: tuple[str, ...] = ()

    @classmethod
    def open(
        cls,
        data: bytes,
        file: str,
        *,
        encoding: str = "utf-8",
        separator: str | None = None,
        quotes: bool | None = None,
        n_columns: int = 2,
        is_header: Callable[[list[str]], bool] = lambda _: False,
        expected: str = "columns",
        lines_before: int = 0,
    ) -> Delimited:
        """Decode text and split its first line into fields.

        By default, the separator (one or two characters) is the one that makes a header or at least
        ``n_columns`` columns (or else two), and fields are quoted if it is one byte and there are
        quotes. For messages are ``file``, ``expected`` (the expected columns), and ``lines_before``, the
        number of lines of the file before this part of it.
        """
        text = to_utf8(data, encoding, file)
        if not text.strip():
            raise InputError(f"{file} is empty ({len(data):,} bytes); expected {expected}")
        if separator:
            shown = "\t" if separator == "\\t" else separator  # as typed in a shell
            if len(shown) > 2 or set(shown) & set('\r\n"\x00'):
                problem = "is not one or two characters without quote and line end"
                raise InputError(f"separator {shown!r} {problem}")
        else:
            shown = _sniff(text, file, n_columns, is_header, expected)
        one_byte = len(shown.encode()) == 1
        delimiter = shown if one_byte else _unused_byte(text, file)
        if not one_byte:
            text = text.replace(shown.encode(), delimiter.encode())
        # Quotes are part of CSV. Files with "::" and the like do not use them, and a title that begins with
        # a quote must not swallow the lines after it.
        quotes = one_byte and b'"' in text if quotes is None else quotes
        escapes = quotes and _has_escapes(text, delimiter)
        table = cls(text, file, shown, delimiter, quotes, escapes, lines_before)
        _, first = next(table.rows())
        return replace(table, first=tuple(field.strip() for field in first))

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the number of the first line and the fields of every row with any: slow and exact."""
        text = io.TextIOWrapper(io.BytesIO(self.data), "utf-8-sig", errors="replace", newline="")
        quoting: Any = csv.QUOTE_MINIMAL if self.quotes else csv.QUOTE_NONE
        escape = "\\" if self.escapes else None
        reader = csv.reader(text, delimiter=self.delimiter, quoting=quoting, escapechar=escape)
        line = 1 + self.lines_before
        try:
            for fields in reader:
                if fields:
                    yield line, fields
                line = reader.line_num + 1 + self.lines_before
        except csv.Error as error:
            too_long = "limit" in str(error)
            reason = "a quote is never closed, or a field is longer than 128 KB" if too_long else error
            raise InputError(f"{self.file}, line {line:,} is not a line of CSV: {reason}") from error

    def records(self, *, header: bool, bad: BadLines) -> Iterator[tuple[int, list[str]]]:
        """Yield line number and fields of every row below the header, without blank and bad rows."""
        for k, (line, fields) in enumerate(self.rows()):
            if not any(field.strip() for field in fields):
                continue
            if len(fields) != len(self.first):
                bad.add(self._uneven(line, fields))
            elif k or not header:
                yield line, [field.strip() for field in fields]

    def origin(self, *, header: bool, only_even: bool = False) -> Origin:
        """Return the origin of the rows, which knows their line numbers.

        ``only_even`` says that rows with another number of columns were left out.
        """

        def line_numbers(rows: Sequence[int]) -> list[int]:
            chosen = {row + header for row in rows}
            all_rows = self.rows()
            kept = (row for row in all_rows if not only_even or len(row[1]) == len(self.first))
            lines = {k: line for k, (line, _) in enumerate(kept) if k in chosen}
            # Arrow and Python may differ about broken quotes; then the number is an estimate.
            return [lines.get(row + header, row + 1 + header) for row in rows]

        return Origin(self.file, "line", line_numbers)

    def parse(
        self,
        kinds: Mapping[int, Kind],
        *,
        header: bool,
        names: Sequence[str] = (),
        bad: BadLines | None = None,
    ) -> dict[int, Any]:
        """Return columns of these kinds by position, as Arrow arrays; names are for error messages.

        Rows with another number of columns are left out if the bad lines are not errors.
        """
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        bad = bad or BadLines(self.file)
        n_header_lines = 0
        if header:
            second = list(islice(self.rows(), 1, 2))
            if not second:
                raise InputError(f"{self.file} has a header but no rows below it")
            n_header_lines = second[0][0] - 1 - self.lines_before
        left_out: list[str] = []

        def leave_out(row: Any) -> str:
            left_out.append(row.text)
            return "skip"

        types = {"int": pa.int64(), "float": pa.float64(), "text": pa.string()}
        types["code"] = pa.dictionary(pa.int32(), pa.string())
        columns = [str(k) for k in range(len(self.first))]
        read = arrow_csv.ReadOptions(column_names=columns, block_size=BLOCK, skip_rows=n_header_lines)
        parse = arrow_csv.ParseOptions(
            delimiter=self.delimiter,
            quote_char='"' if self.quotes else False,
            escape_char="\\" if self.escapes else False,
            newlines_in_values=self.quotes,
            invalid_row_handler=None if bad.are_errors else leave_out,
        )
        convert = arrow_csv.ConvertOptions(
            column_types={str(k): types[kind] for k, kind in kinds.items()},
            include_columns=[str(k) for k in kinds],
            strings_can_be_null=False,
            quoted_strings_can_be_null=False,
        )
        try:
            table = arrow_csv.read_csv(pa.BufferReader(self.data), read, parse, convert)
            if any(column.null_count for column in table.columns):
                raise pa.ArrowInvalid("a field is empty")
        except pa.ArrowInvalid as error:
            defect = self._defect(kinds, names, header) or f"{self.file} cannot be read: {error}"
            raise InputError(defect, argument="on_bad_lines") from error
        if left_out:
            for line, fields in self.rows():
                if len(fields) != len(self.first):
                    bad.add(self._uneven(line, fields))
        return {k: table.column(str(k)) for k in kinds}

    def _defect(self, kinds: Mapping[int, Kind], names: Sequence[str], header: bool) -> str:
        """Return a description of the first row that has other columns, or a field of the wrong kind."""
        for k, (line, fields) in enumerate(self.rows()):
            if len(fields) != len(self.first):
                return f"{self._uneven(line, fields)}; correct the line, or pass on_bad_lines='skip'"
            if header and k == 0:
                continue
            for position, kind in kinds.items():
                value = fields[position]
                if kind in ("text", "code") or _is_kind(kind, value):
                    continue
                noun = KIND_NAMES[kind]
                problem = f"{value!r} is not {noun}" if value.strip() else f"{noun} is missing"
                folded = {field.strip().casefold() for field in fields}
                is_header = bool(folded & {name.casefold() for name in names})
                is_header |= not any(_is_kind("float", field) for field in fields)
                hint = " (a header in the wrong place; remove the line)" if is_header else ""
                column = names[position] if names else position + 1
                return f"{self.file}, line {line:,}, column {column!r}: {problem}{hint}"
        return ""

    def _uneven(self, line: int, fields: Sequence[str]) -> str:
        return (
            f"{self.file}, line {line:,} has {len(fields)} columns where {len(self.first)} are expected "
            f"(separator {self.separator!r}): {self.separator.join(fields)[:60]!r}"
        )


def _is_kind(kind: Kind, value: str) -> bool:
    try:
        fits = abs(int(value)) < 2**63 if kind == "int" else math.isfinite(float(value))
    except ValueError:
        return False
    return "_" not in value and fits


def _has_escapes(text: bytes, delimiter: str) -> bool:
    r"""Whether quotes within fields have a backslash before them, as in exports of MySQL.

    A backslash before the quote that ends a field is a part of the field in CSV.

    >>> _has_escapes(rb'"the \"Bo\" diet";5', ";"), _has_escapes(rb'"C:\films\";5', ";")
    (True, False)
    """
    return re.search(rb'\\"[^"\r\n' + re.escape(delimiter.encode()) + rb"]", text) is not None


def _unused_byte(text: bytes, file: str) -> str:
    """Return a control character that the text does not contain."""
    for code in (0x1F, 0x1E, 0x1D, 0x1C, *range(1, 9)):
        if bytes([code]) not in text:
            return chr(code)
    raise InputError(f"{file} contains every control character; is it a text file?")


def _sniff(text: bytes, file: str, wanted: int, is_header: Callable[[list[str]], bool], expected: str) -> str:
    """Return the separator that splits the first lines into equally many fields: enough, or else two."""
    start = text[: text.rfind(b"\n", 0, 1 << 16) + 1] or text
    lines = [line for line in start.decode().splitlines() if line.strip()][:20]
    if not lines:
        raise InputError(f"{file} begins with blank lines only; expected {expected}")
    # Fields may contain spaces, so spaces come last, after fewer columns on which all lines agree.
    for n_columns, separators in ((wanted, PRINTED), (2, PRINTED), (wanted, " "), (2, " ")):
        votes: Counter[str] = Counter()
        for separator in separators:
            counts = [_count(line, separator) for line in lines]
            if counts[0] < n_columns - 1 or (n_columns < wanted and len({*counts}) > 1):
                continue
            if is_header([field.strip(' "') for field in lines[0].split(separator)]):
                return separator
            votes[separator] = counts.count(counts[0])
        if votes:
            return votes.most_common(1)[0][0]  # the first of equals, in the order of SEPARATORS
    problem = f"{file}: cannot tell the separator of {lines[0][:60]!r}; expected at least {expected}"
    raise InputError(f"{problem}; pass separator=", argument="separator")


def _count(line: str, separator: str) -> int:
    """Return the number of separators in a line, outside of quotes."""
    if len(separator) > 1 or '"' not in line:
        return line.count(separator)
    try:
        return len(next(csv.reader([line], delimiter=separator), [""])) - 1
    except csv.Error:  # a field of 128 KiB or more, so not a table
        return line.count(separator)
