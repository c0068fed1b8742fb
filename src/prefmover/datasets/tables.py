"""Delimited text of a known layout: bytes in, columns out, or the line that is wrong.

Arrow's parser does the work. Only when it stumbles is the text walked line by line, to say where.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal, TextIO

from prefmover.errors import InputError

__all__ = ["Layout"]

Kind = Literal["int", "float", "text", "skip"]

BOM = b"\xef\xbb\xbf"
STAND_IN = "\x1f"  # Arrow wants one byte between columns
KINDS = {"int": "a whole number", "float": "a number"}
SEPARATORS = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars", "::": "'::'"}


@dataclass(frozen=True, slots=True)
class Layout:
    r"""Columns and separator of a kind of file.

    Attributes
    ----------
    separator : str
    columns : dict
        Name -> ``"int"``, ``"float"``, ``"text"`` or ``"skip"``, in the order of the file.
    header : bool
        Whether the first line has the names.
    encoding : str
        ``"utf-8"``, or ``"latin-1"``, in which case text that happens to be valid UTF-8 with
        accents is taken for UTF-8: somebody has converted the file.

    Examples
    --------
    >>> layout = Layout("::", {"user": "int", "item": "int", "rating": "float"})
    >>> layout.parse(b"1::20::3.5\r\n2::20::4\r\n", "ratings.dat")["rating"]
    array([3.5, 4. ])
    >>> layout.parse(b"1::20::3.5\n2::20::five\n", "ratings.dat")
    Traceback (most recent call last):
    prefmover.errors.InputError: ratings.dat, line 2, column 'rating': 'five' is not a number
    """

    separator: str
    columns: dict[str, Kind]
    header: bool = False
    encoding: Literal["utf-8", "latin-1"] = "utf-8"

    @property
    def quotes(self) -> bool:
        """Only files with commas quote; elsewhere a quote is a character like any other."""
        return self.separator == ","

    def parse(self, data: bytes, file: str) -> dict[str, Any]:
        """Return NumPy arrays of numbers and Arrow arrays of text, by name."""
        from pyarrow import ArrowInvalid, BufferReader
        from pyarrow import csv as arrow_csv

        text = self.decode(data, file)
        self.check_start(text, file)
        single = len(self.separator) == 1
        body = text if single else text.replace(self.separator.encode(), STAND_IN.encode())
        try:
            table = arrow_csv.read_csv(BufferReader(body), **self.options())
        except ArrowInvalid as error:
            raise InputError(self.explain(io.BytesIO(text), file) or f"{file}: {error}") from error
        if any(table.column(name).null_count for name in table.column_names):
            raise InputError(self.explain(io.BytesIO(text), file) or f"{file} has empty fields")
        return {
            name: table.column(name).combine_chunks()
            if self.columns[name] == "text"
            else table.column(name).to_numpy()
            for name in table.column_names
        }

    def options(self) -> dict[str, Any]:
        """Return Arrow's options for this layout."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        types = {"int": pa.int64(), "float": pa.float64(), "text": pa.string(), "skip": pa.string()}
        single = len(self.separator) == 1
        return {
            "read_options": arrow_csv.ReadOptions(
                column_names=list(self.columns), skip_rows=int(self.header), block_size=1 << 22
            ),
            "parse_options": arrow_csv.ParseOptions(
                delimiter=self.separator if single else STAND_IN,
                quote_char='"' if self.quotes else False,
                newlines_in_values=self.quotes,
            ),
            "convert_options": arrow_csv.ConvertOptions(
                column_types={name: types[kind] for name, kind in self.columns.items()},
                include_columns=[name for name, kind in self.columns.items() if kind != "skip"],
                strings_can_be_null=False,
                quoted_strings_can_be_null=False,
            ),
        }

    def decode(self, data: bytes, file: str) -> bytes:
        """Return the text as UTF-8 without a byte order mark."""
        if not data.strip():
            raise InputError(f"{file} is empty ({len(data)} bytes); download or copy it again")
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise InputError(f"{file}, line 1: this is UTF-16; save it as {self.encoding.upper()}")
        data = data.removeprefix(BOM)
        if data.isascii():
            return data
        try:
            data.decode()
        except UnicodeDecodeError as error:
            if self.encoding == "latin-1":
                return data.decode("latin-1").encode()
            line = data.count(b"\n", 0, error.start) + 1
            raise InputError(
                f"{file}, line {line:,}: the byte 0x{data[error.start]:02x} is not UTF-8; the file was "
                "saved in another encoding (Latin-1?): convert it to UTF-8, or use the publisher's file"
            ) from None
        return data

    def check_start(self, text: bytes, file: str) -> None:
        """Look at the first line for the separator, and for a header if there should be one."""
        end = text.find(b"\n")
        first = text[: end if end >= 0 else None].decode(errors="replace").rstrip("\r")
        fields = self.split(first)
        if len(fields) != len(self.columns):
            other = [
                said
                for mark, said in SEPARATORS.items()
                if mark != self.separator and first.count(mark) == len(self.columns) - 1
            ]
            found = f"the columns are separated by {other[0]}" if other else f"{len(fields)} columns"
            expected = SEPARATORS[self.separator]
            raise InputError(
                f"{file}, line 1: {found}; expected {len(self.columns)} columns separated by {expected}: "
                f"{first[:80]!r}"
            )
        is_header = [f.strip() for f in fields] == list(self.columns)
        if self.header and not is_header:
            raise InputError(
                f"{file}, line 1: expected the header {self.separator.join(self.columns)!r}, "
                f"found {first[:80]!r}; put the header first, or use the publisher's file"
            )

    def split(self, line: str) -> list[str]:
        """Return the fields of one line."""
        if self.quotes:
            try:
                return next(csv.reader([line]), [])
            except csv.Error:
                return []  # a field longer than any of ours
        return line.split(self.separator)

    def explain(self, text: BinaryIO, file: str) -> str:
        """Return what is wrong with the first line that is, or nothing."""
        for line, fields in self.lines(text):
            if len(fields) != len(self.columns):
                return (
                    f"{file}, line {line:,}: {len(fields)} columns where {len(self.columns)} are expected "
                    f"(cut off, or another separator?): {self.separator.join(fields)[:80]!r}"
                )
            for (name, kind), value in zip(self.columns.items(), fields, strict=True):
                if kind in KINDS and not _is(kind, value):
                    why = f"{value!r} is not {KINDS[kind]}" if value.strip() else f"{KINDS[kind]} is missing"
                    header = [f.strip().casefold() for f in fields]
                    hint = (
                        " (a header in the wrong place; remove the line)"
                        if any(n.casefold() in header for n in self.columns)
                        or all(not _is("float", f) for f in fields)
                        else ""
                    )
                    return f"{file}, line {line:,}, column {name!r}: {why}{hint}"
        return ""

    def lines(self, text: BinaryIO) -> Iterator[tuple[int, list[str]]]:
        """Yield the number of each line of data and its fields: slow and exact."""
        newline = "" if self.quotes else None
        stream = io.TextIOWrapper(text, "utf-8-sig", errors="replace", newline=newline)
        try:
            if self.quotes:
                yield from self._quoted_lines(stream)
            else:
                for number, line in enumerate(stream, 1):
                    if line.strip("\r\n") and not (self.header and number == 1):
                        yield number, line.rstrip("\r\n").split(self.separator)
        finally:
            stream.detach()  # whoever opened it closes it

    def _quoted_lines(self, stream: TextIO) -> Iterator[tuple[int, list[str]]]:
        reader, start = csv.reader(stream), 1
        while True:
            try:
                fields = next(reader, None)
            except csv.Error as error:  # a field of more than 128 KB: quotes that were never closed
                fields = [f"not a line of CSV: {error}"]
            if fields is None:
                return
            if fields and not (self.header and start == 1):
                yield start, fields
            start = reader.line_num + 1

    def line_of(self, data: bytes, row: int, file: str) -> int:
        """Return the number of the line that row ``row`` (from 0) of the data begins at."""
        text = io.BytesIO(self.decode(data, file))
        found = (line for k, (line, _) in enumerate(self.lines(text)) if k == row)
        return next(found, row + 1 + self.header)  # Arrow and Python may differ about broken quotes


def _is(kind: str, value: str) -> bool:
    try:
        fits = abs(int(value)) < 2**63 if kind == "int" else math.isfinite(float(value))
    except ValueError:
        return False
    return "_" not in value and fits
