r"""Tables as text: bytes in, fields out, whatever separates them.

::

    bytes -> unpacked (gzip) -> UTF-8 -> separator -> rows of fields, or Arrow's CSV parser

Arrow's parser does the work at full speed and only ever sees a one-byte separator. The slow,
exact walk through the lines (:meth:`Sheet.rows`) is for small tables, and for errors that need the
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

from prefmover.data.ids import close_names
from prefmover.errors import InputError

__all__ = ["Sheet", "file_bytes", "to_utf8"]

# Tried in this order: a longer or rarer one is less likely to be there by chance.
SEPARATORS = ("::", "\t", ",", ";", "|", " ")

# Text of ratings packs to a tenth or so; a bomb to a thousandth.
GROWTH, SMALL = 100, 1 << 26


def file_bytes(path: str | PathLike[str]) -> bytes:
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
        raise InputError(f"{path} is a folder; name the file inside it") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    if data.startswith(b"\x1f\x8b"):
        data = _unpacked(data, path)
    if data.startswith(b"PK\x03\x04"):
        raise InputError(f"{path} is a zip archive; unpack it and name the file inside")
    return data


def _unpacked(data: bytes, path: Path) -> bytes:
    """Return what gzip packed, unless it grows as no table of text does."""
    limit = SMALL + GROWTH * len(data)
    try:
        with gzip.open(io.BytesIO(data)) as packed:
            out = packed.read(limit + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} is damaged gzip ({error}); copy or download it again") from error
    if len(out) > limit:
        raise InputError(
            f"{path} unpacks to more than {GROWTH} times its size; if you trust it, unpack it first"
        )
    return out


def to_utf8(data: bytes, encoding: str, file: str) -> bytes:
    """Return the text as UTF-8 without a byte order mark; bytes that make no sense are errors."""
    try:
        plain = "a".encode(encoding) == b"a" and data.isascii()
        text = data if plain else data.decode(encoding).encode()
    except (LookupError, TypeError):
        raise InputError(f"unknown encoding {encoding!r}; try 'utf-8', 'latin-1' or 'utf-16'") from None
    except UnicodeError as error:
        start = error.start if isinstance(error, UnicodeDecodeError) else 0
        line = len(re.findall(rb"\r\n|\r|\n", data[:start])) + 1
        is_utf16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        remedy = "utf-16" if is_utf16 else ("latin-1" if encoding != "latin-1" else "utf-8")
        raise InputError(
            f"{file}, line {line:,}: the byte 0x{data[start]:02x} is not {encoding}; try encoding={remedy!r}"
        ) from None
    except ValueError as error:  # a name that no encoding can have
        raise InputError(f"unknown encoding {encoding!r}: {error}") from None
    return text.removeprefix(b"\xef\xbb\xbf")


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """Text with a one-byte separator, its first line split into fields."""

    data: bytes  # UTF-8
    file: str
    shown: str  # the separator as the file has it
    separator: str  # the one byte that stands for it in `data`
    quotes: bool
    first: tuple[str, ...]

    @classmethod
    def open(
        cls,
        text: bytes,
        file: str,
        separator: str | None,
        *,
        least: int,
        has_names: Callable[[list[str]], bool],
        expected: str,
    ) -> Sheet:
        """Cut text into fields.

        Parameters
        ----------
        text
            UTF-8.
        separator
            One or two characters; None finds it out.
        least
            How many fields a line has at least.
        has_names
            Tells whether the fields of the first line are names that were looked for.
        expected
            What the columns should be, for the error message.
        """
        shown = _checked_separator(separator) if separator else _sniff(text, file, least, has_names, expected)
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
            reason = (
                "a quote is never closed, or a field is longer than 128 KB"
                if "limit" in str(error)
                else error
            )
            raise InputError(f"{self.file}, line {line:,} is not a line of CSV: {reason}") from error

    def line_numbers(self, rows: Sequence[int], has_header: bool) -> list[int]:
        """Return the line numbers, from 1, at which rows of data (from 0) begin."""
        wanted = {row + has_header for row in rows}
        found = {k: line for k, (line, _) in enumerate(self.rows()) if k in wanted}
        return [found.get(row + has_header, row + 1 + has_header) for row in rows]  # broken quotes: a guess

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
                raise InputError(f"{self.file} has a header but no rows below it")
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
    if len(separator) > 2 or set(separator) & set('\r\n"\x00'):
        raise InputError(f"separator {separator!r} will not do: one or two characters, no quote, no line end")
    return separator


def _unused_byte(text: bytes, file: str) -> str:
    """Return a control character that the text does not contain."""
    for code in (0x1F, 0x1E, 0x1D, 0x1C, *range(1, 9)):
        if bytes([code]) not in text:
            return chr(code)
    raise InputError(f"{file} contains every control character; is it a text file?")


def _sniff(text: bytes, file: str, least: int, has_names: Callable[[list[str]], bool], expected: str) -> str:
    """Return the separator that cuts the first lines into equally many, and enough, fields."""
    start = text[: text.rfind(b"\n", 0, 1 << 16) + 1] or text
    lines = [line for line in start.decode().splitlines() if line.strip()][:20]
    if not lines:
        raise InputError(f"{file} begins with blank lines only; expected {expected}")
    votes: Counter[str] = Counter()
    for separator in SEPARATORS:
        counts = [_count(line, separator) for line in lines]
        if counts[0] >= least - 1:
            votes[separator] = counts.count(counts[0])
            named = has_names([field.strip(' "') for field in lines[0].split(separator)])
            if named and (separator != " " or len(votes) == 1):  # names have blanks within them too
                return separator
    if not votes:
        raise InputError(
            f"{file}: cannot tell what separates the columns in {lines[0][:60]!r}; "
            f"expected at least {expected}; pass separator="
        )
    if len(votes) > 1:
        votes.pop(" ", None)  # blanks are within fields, too
    return votes.most_common(1)[0][0]  # the first of equals, in the order of SEPARATORS


def _count(line: str, separator: str) -> int:
    """Return how often a separator is in a line, not counting what is quoted."""
    if len(separator) > 1 or '"' not in line:
        return line.count(separator)
    return len(next(csv.reader([line], delimiter=separator), [""])) - 1


def _after_lines(data: bytes, n: int) -> bytes:
    """Return the data without its first n lines."""
    ends = re.finditer(rb"\r\n|\r|\n", data)
    for _ in range(n - 1):
        next(ends)
    return data[next(ends).end() :]
