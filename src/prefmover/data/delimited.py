r"""Delimited text: bytes in, columns out, or an error that names the line.

::

    bytes -> UTF-8 -> separator -> Arrow's CSV parser -> columns

Arrow parses at full speed and needs a separator of one byte. The slow and exact walk through the lines
(:meth:`Delimited.rows`) is for small tables and for errors, which name the line.

:class:`Delimited` opens any table; :class:`Schema` describes files whose layout is known beforehand.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, BinaryIO, Literal

from prefmover.data.ids import from_arrow
from prefmover.data.raw_files import BadLines, Origin, to_utf8
from prefmover.errors import InputError

__all__ = ["Delimited", "Kind", "Schema"]

Kind = Literal["int", "float", "text", "code"]
"""What a column has. ``"code"`` is text that repeats: each text is stored once, and a row is its number."""

KIND_NAMES = {"int": "a whole number", "float": "a number"}

# In the order of preference: a longer or rarer separator is less likely to occur by chance.
SEPARATORS = {"::": "'::'", "\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars", " ": "spaces"}

PRINTED = [separator for separator in SEPARATORS if separator != " "]

BLOCK = 1 << 22  # bytes that Arrow parses at a time
HEAD = 1 << 16  # bytes of a stream that are enough for its first line


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
    first: tuple[str, ...]

    @classmethod
    def open(
        cls,
        data: bytes,
        file: str,
        *,
        encoding: str = "utf-8",
        separator: str | None = None,
        quotes: bool | None = None,
        n_columns: int = 1,
        at_least: int | None = None,
        is_header: Callable[[list[str]], bool] = lambda _: False,
        expected: str = "columns",
    ) -> Delimited:
        """Decode text and split its first line into fields.

        By default, the separator (one or two characters) is the one that makes a header or at least
        ``n_columns`` columns (or else ``at_least``), and fields are quoted if it is one byte and there are
        quotes. ``file`` and ``expected``, the expected columns, are for messages.
        """
        text = to_utf8(data, encoding, file)
        if not text.strip():
            raise InputError(f"{file} is empty ({len(data):,} bytes); expected {expected}")
        if separator:
            shown = _checked_separator(separator)
        else:
            shown = _sniff(text, file, (n_columns, at_least or n_columns), is_header, expected)
        one_byte = len(shown.encode()) == 1
        delimiter = shown if one_byte else _unused_byte(text, file)
        if not one_byte:
            text = text.replace(shown.encode(), delimiter.encode())
        # Quotes are part of CSV. Files with "::" and the like do not use them, and a title that begins with
        # a quote must not swallow the lines after it.
        quotes = one_byte and b'"' in text if quotes is None else quotes
        escapes = quotes and _has_escapes(text, delimiter)
        _, first = next(_rows(io.BytesIO(text), file, delimiter, quotes, escapes))
        return cls(text, file, shown, delimiter, quotes, escapes, tuple(f.strip() for f in first))

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the number of the first line and the fields of every row: slow and exact."""
        return _rows(io.BytesIO(self.data), self.file, self.delimiter, self.quotes, self.escapes)

    def records(self, *, header: bool = True, bad: BadLines | None = None) -> Iterator[tuple[int, list[str]]]:
        """Yield line number and fields of every row below the header, without blank and bad rows."""
        bad = bad or BadLines(self.file)
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
        bad = bad or BadLines(self.file)
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        n_header_lines = 0
        if header:
            second = list(islice(self.rows(), 1, 2))
            if not second:
                raise InputError(f"{self.file} has a header but no rows below it")
            n_header_lines = second[0][0] - 1
        left_out: list[str] = []
        with self._explained(lambda: io.BytesIO(self.data), kinds, names, header):
            options = self._arrow_options(kinds, n_header_lines, None if bad.are_errors else left_out)
            table = _complete(arrow_csv.read_csv(pa.BufferReader(self.data), **options))
        if left_out:
            for line, fields in self.rows():
                if len(fields) != len(self.first):
                    bad.add(self._uneven(line, fields))
        return {k: table.column(str(k)) for k in kinds}

    def _arrow_options(
        self, kinds: Mapping[int, Kind], n_header_lines: int, left_out: list[str] | None = None
    ) -> dict[str, Any]:
        """Return the options with which Arrow parses columns "0", "1", ... of these kinds.

        Rows with another number of columns are errors, or are added to ``left_out``.
        """
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        types = {"int": pa.int64(), "float": pa.float64(), "text": pa.string()}
        types["code"] = pa.dictionary(pa.int32(), pa.string())
        names, quote = [str(k) for k in range(len(self.first))], '"' if self.quotes else False
        read = arrow_csv.ReadOptions(column_names=names, block_size=BLOCK, skip_rows=n_header_lines)

        def leave_out(row: Any) -> str:
            assert left_out is not None
            left_out.append(row.text)
            return "skip"

        parse = arrow_csv.ParseOptions(
            delimiter=self.delimiter,
            quote_char=quote,
            escape_char="\\" if self.escapes else False,
            newlines_in_values=self.quotes,
            invalid_row_handler=None if left_out is None else leave_out,
        )
        convert = arrow_csv.ConvertOptions(
            column_types={str(k): types[kind] for k, kind in kinds.items()},
            include_columns=[str(k) for k in kinds],
            strings_can_be_null=False,
            quoted_strings_can_be_null=False,
        )
        return {"read_options": read, "parse_options": parse, "convert_options": convert}

    @contextmanager
    def _explained(
        self, open_stream: Callable[[], Any], kinds: Mapping[int, Kind], names: Sequence[str], header: bool
    ) -> Iterator[None]:
        """Turn an error of Arrow into one that names the first bad line, after a slow walk through all."""
        import pyarrow as pa

        try:
            yield
        except pa.ArrowInvalid as error:
            with open_stream() as stream:
                rows = _rows(stream, self.file, self.delimiter, self.quotes, self.escapes)
                defect = self._defect(rows, kinds, names, header)
            raise InputError(
                defect or f"{self.file} cannot be read: {error}", argument="on_bad_lines"
            ) from error

    def _defect(
        self,
        rows: Iterator[tuple[int, list[str]]],
        kinds: Mapping[int, Kind],
        names: Sequence[str],
        header: bool,
    ) -> str:
        """Return a description of the first row that has other columns, or a field of the wrong kind."""
        for k, (line, fields) in enumerate(rows):
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


def _complete(part: Any) -> Any:
    """Return an Arrow table or batch, unless a field is empty."""
    import pyarrow as pa

    if any(column.null_count for column in part.columns):
        raise pa.ArrowInvalid("a field is empty")
    return part


@dataclass(frozen=True, slots=True)
class Schema:
    r"""The columns of files whose layout is known.

    Attributes
    ----------
    separator : str
        Fields may be quoted if it is a comma.
    columns : dict
        Name -> ``"int"``, ``"float"``, ``"text"``, or None for a column that is skipped; in the order of
        the file.
    header : bool
        Whether the first line has the names.
    encoding : str
        ``"utf-8"``, or ``"latin-1"``, in which case a file that is valid UTF-8 is read as UTF-8: somebody
        has converted it.

    Examples
    --------
    >>> schema = Schema("::", {"user": "int", "item": "int", "rating": "float"})
    >>> columns, origin = schema.read(b"1::20::3.5\r\n2::20::4\r\n", "ratings.dat")
    >>> columns["rating"], origin.at(1)
    (array([3.5, 4. ]), 'ratings.dat, line 2')
    >>> schema.read(b"1::20::3.5\n2::20::five\n", "ratings.dat")
    Traceback (most recent call last):
    prefmover.errors.InputError: ratings.dat, line 2, column 'rating': 'five' is not a number
    """

    separator: str
    columns: dict[str, Kind | None]
    header: bool = False
    encoding: Literal["utf-8", "latin-1"] = "utf-8"

    @property
    def _kinds(self) -> dict[int, Kind]:
        return {k: kind for k, kind in enumerate(self.columns.values()) if kind is not None}

    def read(self, data: bytes, file: str) -> tuple[dict[str, Any], Origin]:
        """Return columns by name, numbers as NumPy arrays and text as Arrow arrays, and their origin."""
        table = self._open(data, file)
        names = list(self.columns)
        parsed = table.parse(self._kinds, header=self.header, names=names)
        columns = {
            names[k]: whole if self.columns[names[k]] == "text" else from_arrow(whole)
            for k, whole in ((k, column.combine_chunks()) for k, column in parsed.items())
        }
        return columns, table.origin(header=self.header)

    def _open(self, data: bytes, file: str) -> Delimited:
        """Open text after checking its first line."""
        encoding: str = self.encoding
        if encoding != "utf-8":  # no second copy of a long file
            with suppress(UnicodeDecodeError):
                data.decode()
                encoding = "utf-8"
        expected, quotes = self.separator.join(self.columns), self.separator == ","
        table = Delimited.open(
            data, file, encoding=encoding, separator=self.separator, quotes=quotes, expected=expected
        )
        shown = self.separator.join(table.first)
        if len(table.first) != len(self.columns):
            others = [
                name
                for separator, name in SEPARATORS.items()
                if separator != self.separator and shown.count(separator) == len(self.columns) - 1
            ]
            actual = f"columns separated by {others[0]}" if others else f"{len(table.first)} columns"
            wanted = f"{len(self.columns)} columns separated by {SEPARATORS[self.separator]}"
            raise InputError(f"{file}, line 1: {actual}; expected {wanted}: {shown[:80]!r}")
        if self.header and list(table.first) != list(self.columns):
            raise InputError(
                f"{file}, line 1: expected the header {expected!r}, not {shown[:80]!r}; put it first"
            )
        return table

    def batches(self, open_stream: Callable[[], Any], file: str) -> Iterator[list[Any]]:
        """Yield the columns of a long file a few megabytes at a time, as lists of NumPy arrays of numbers.

        ``open_stream`` opens the file (UTF-8, decompressed) as a context manager.
        """
        from pyarrow import csv as arrow_csv

        with open_stream() as stream:
            head = stream.read(HEAD)
        table = self._open(head[: head.rfind(b"\n") + 1] or head, file)
        options = table._arrow_options(self._kinds, int(self.header))
        explained = table._explained(open_stream, self._kinds, list(self.columns), self.header)
        with explained, open_stream() as stream:
            for batch in arrow_csv.open_csv(stream, **options):
                yield [from_arrow(column) for column in _complete(batch).columns]


def _rows(
    stream: BinaryIO, file: str, delimiter: str, quotes: bool, escapes: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the first line and the fields of every row that is not empty."""
    text = io.TextIOWrapper(stream, "utf-8-sig", errors="replace", newline="")
    quoting: Any = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    reader = csv.reader(text, delimiter=delimiter, quoting=quoting, escapechar="\\" if escapes else None)
    line = 1
    try:
        for fields in reader:
            if fields:
                yield line, fields
            line = reader.line_num + 1
    except csv.Error as error:
        too_long = "limit" in str(error)
        reason = "a quote is never closed, or a field is longer than 128 KB" if too_long else error
        raise InputError(f"{file}, line {line:,} is not a line of CSV: {reason}") from error
    finally:
        with suppress(ValueError):  # the stream may be closed already
            text.detach()  # the caller closes the stream


def _is_kind(kind: Kind, value: str) -> bool:
    try:
        fits = abs(int(value)) < 2**63 if kind == "int" else math.isfinite(float(value))
    except ValueError:
        return False
    return "_" not in value and fits


def _checked_separator(separator: str) -> str:
    separator = "\t" if separator == "\\t" else separator  # as typed in a shell
    if len(separator) > 2 or set(separator) & set('\r\n"\x00'):
        raise InputError(f"separator {separator!r} is not one or two characters without quote and line end")
    return separator


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


def _sniff(
    text: bytes, file: str, wanted: tuple[int, int], is_header: Callable[[list[str]], bool], expected: str
) -> str:
    """Return the separator that splits the first lines into equally many, and enough, fields.

    ``wanted`` are the number of columns that are enough, and the number that is if no separator makes these.
    """
    start = text[: text.rfind(b"\n", 0, 1 << 16) + 1] or text
    lines = [line for line in start.decode().splitlines() if line.strip()][:20]
    if not lines:
        raise InputError(f"{file} begins with blank lines only; expected {expected}")
    many, few = wanted
    # Fields may contain spaces, so spaces come last, after fewer columns on which all lines agree.
    for n_columns, separators in ((many, PRINTED), (few, PRINTED), (many, " "), (few, " ")):
        votes: Counter[str] = Counter()
        for separator in separators:
            counts = [_count(line, separator) for line in lines]
            if counts[0] < n_columns - 1 or (n_columns < many and len({*counts}) > 1):
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
