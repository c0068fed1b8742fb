"""Files as they come: their bytes as UTF-8 or Parquet, the places of rows, and lines that cannot be used.

Files may be damaged or malicious. A few bytes of gzip or Parquet can stand for billions of rows, and strings
of Parquet may be invalid UTF-8. Arrow decodes both without an error. So both are checked.
"""

from __future__ import annotations

import codecs
import gzip
import io
import logging
import re
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy.typing as npt

from prefmover.data.file_options import OnBadLines, check_choice
from prefmover.errors import BadLinesWarning, InputError, close_names
from prefmover.execution import memory

__all__ = ["BadLines", "Origin", "file_bytes", "open_parquet", "read_parquet", "to_utf8"]

LOG = logging.getLogger(__name__)

# Text of ratings compresses to about a tenth, a gzip bomb to a thousandth.
GROWTH, SMALL = 100, 1 << 26

PLAIN = ("utf-8", "ascii", "iso8859-1", "cp1252")
"""Encodings in which ASCII is itself. It is not in all that use 7 bits, such as ISO-2022-JP."""

CELL_BYTES = 8  # least size of a value in memory
SHOWN = 3  # bad lines in a message


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """The source of rows.

    Parameters
    ----------
    file : str
        Name of the file, or "" for data in memory.
    unit : str
        Name of a row there: "line", "row" or "value".
    numbers : callable
        Converts positions of rows (from 0) to the numbers (from 1) that a person would count.

    Examples
    --------
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
    is_utf16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    if is_utf16 and encoding in ("utf-8", "latin-1"):
        remedy = "save it as UTF-8, or pass encoding='utf-16'"
        raise InputError(f"{file}, line 1: this is UTF-16; {remedy}", argument="encoding")
    try:
        is_plain = codecs.lookup(encoding).name in PLAIN and data.isascii()
        text = data if is_plain else data.decode(encoding).encode()
    except (LookupError, TypeError):
        raise InputError(f"unknown encoding {encoding!r}; try 'utf-8', 'latin-1' or 'utf-16'") from None
    except UnicodeError as error:
        start = error.start if isinstance(error, UnicodeDecodeError) else 0
        line = len(re.findall(rb"\r\n|\r|\n", data[:start])) + 1
        problem = f"{file}, line {line:,}: the byte 0x{data[start]:02x} is not {encoding}"
        remedy = (
            f"save the file as UTF-8, or pass encoding={'utf-8' if encoding == 'latin-1' else 'latin-1'!r}"
        )
        if encoding == "utf-8" and (n := _count_utf8(data)):
            where = f"{n:,} other characters that are valid UTF-8, which latin-1 would garble"
            remedy = f"but the file has {where}; save it as UTF-8, or pass encoding='mixed' to read both"
        raise InputError(f"{problem}; {remedy}", argument="encoding") from None
    except ValueError as error:  # such as a NUL in the name of the encoding
        raise InputError(f"unknown encoding {encoding!r}: {error}") from None
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


def open_parquet(data: bytes, file: str) -> Any:
    """Open a file and read its footer."""
    import pyarrow as pa
    from pyarrow import parquet

    with _damage(file):
        return parquet.ParquetFile(pa.BufferReader(data))


def read_parquet(opened: Any, file: str, columns: Sequence[str] | None = None) -> Any:
    """Return columns (all by default) as an Arrow table with valid text and offsets."""
    with _damage(file):
        metadata = opened.metadata
        names = metadata.schema.to_arrow_schema().names if columns is None else columns
        memory.require(
            abs(metadata.num_rows) * CELL_BYTES * len(names),
            f"{file}: its {metadata.num_rows:,} rows",
            "read a part of the file with pyarrow or polars",
        )
        table = opened.read(columns=columns)
        table.validate(full=True)
        return table


@contextmanager
def _damage(file: str) -> Iterator[None]:
    """Turn Arrow's errors about a damaged file into an InputError that names it."""
    import pyarrow as pa

    try:
        yield
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError, OverflowError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{file} is a damaged Parquet file: {reason}; copy or write it again") from error
