"""The bytes of a file, decompressed, and as UTF-8 whatever their encoding."""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zlib
from os import PathLike
from pathlib import Path

from prefmover.errors import InputError, close_names

__all__ = ["file_bytes", "to_utf8"]

# Text of ratings compresses to about a tenth, a gzip bomb to a thousandth.
GROWTH, SMALL = 100, 1 << 26

PLAIN = ("utf-8", "ascii", "iso8859-1", "cp1252")
"""Encodings in which ASCII is itself. It is not in all that use 7 bits, such as ISO-2022-JP."""


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
