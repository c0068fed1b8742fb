r"""Delimited text: bytes in, columns out, or an error that names the line.

::

    bytes -> UTF-8 -> separator -> Arrow's CSV parser -> columns

Arrow parses at full speed and needs a separator of one byte. The slow and exact walk through the lines
(:meth:`Delimited.rows`) is for small tables and for errors, which name the line.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal

from prefmover.data.raw_files import BadLines, Origin, to_utf8
from prefmover.errors import InputError

__all__ = ["BLOCK", "SEPARATORS", "Delimited", "Kind"]

Kind = Literal["int", "float", "text", "code"]
"""What a column has. ``"code"`` is text that repeats: each text is stored once, and a row is its number."""

KIND_NAMES = {"int": "a whole number", "float": "a number"}

# In the order of preference: a longer or rarer separator is less likely to occur by chance.
SEPARATORS = {"::": "'::'", "\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars", " ": "spaces"}

PRINTED = [separator for separator in SEPARATORS if separator != " "]

BLOCK = 1 << 22  # bytes that Arrow parses at a time


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
        n_columns: int = 1,
        at_least: int | None = None,
        is_header: Callable[[list[str]], bool] = lambda _: False,
        expected: str = "columns",
        lines_before: int = 0,
    ) -> Delimited:
        """Decode text and split its first line into fields.

        By default, the separator (one or two characters) is the one that makes a header or at least
        ``n_columns`` columns (or else ``at_least``), and fields are quoted if it is one byte and there are
        quotes. For messages are ``file``, ``expected`` (the expected columns), and ``lines_before``, the
        number of lines of the file before this part of it.
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
