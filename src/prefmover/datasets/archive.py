"""The files of a data set, in a folder or still in the publisher's zip archive.

Nothing is ever unpacked to a name that an archive chooses: files are asked for by their plain name,
and an archive may neither point out of itself nor grow beyond what was announced.
"""

from __future__ import annotations

import gzip
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from prefmover.errors import InputError
from prefmover.execution import atomic

__all__ = ["Files", "reading"]

COPY_BYTES = 1 << 20
MOST_BYTES = 1 << 32  # of one unpacked file; the longest of MovieLens has a fifth of it
MOST_LISTING = 1 << 20  # of the list of entries in an archive; MovieLens' have a few thousand
END_BYTES = 22 + (1 << 16) + 20 + 56  # of an archive, that tell where its list is: with the longest comment

# What zipfile and gzip raise for bytes that were tampered with.
DAMAGE = (
    zipfile.BadZipFile,
    gzip.BadGzipFile,
    EOFError,
    zlib.error,
    struct.error,
    NotImplementedError,
    UnicodeDecodeError,
    OverflowError,
)


@dataclass(frozen=True, slots=True)
class Files:
    """Files by plain name, wherever in a folder or a zip archive they are.

    Attributes
    ----------
    path : Path
        The folder or the archive.
    places : dict
        Name of each file that is there -> its path in the folder or archive. A file may be compressed
        (``genome-scores.csv.gz`` for ``genome-scores.csv``).
    sizes : dict
        Name -> bytes, as announced.
    """

    path: Path
    places: dict[str, str]
    sizes: dict[str, int]

    @classmethod
    def open(cls, path: str | os.PathLike[str], names: Iterable[str]) -> Files:
        """Find files by name in a folder, the one folder inside it, or an archive."""
        path = Path(path)
        with reading(path):
            if path.is_dir():
                return cls._of_folder(path, list(names))
            if not path.exists():
                raise InputError(f"there is no file or folder {path}")
            return cls._of_archive(path, list(names))

    @classmethod
    def _of_folder(cls, path: Path, names: list[str]) -> Files:
        inner = [p for p in sorted(path.iterdir()) if p.is_dir()]
        found: dict[str, Path] = {}
        for name in names:
            for folder in (path, *inner):
                for candidate in (folder / name, folder / f"{name}.gz"):
                    if name not in found and candidate.is_file():
                        found[name] = candidate
        places = {name: str(p.relative_to(path)) for name, p in found.items()}
        return cls(path, places, {name: p.stat().st_size for name, p in found.items()})

    @classmethod
    def _of_archive(cls, path: Path, names: list[str]) -> Files:
        if path.stat().st_size == 0:
            raise InputError(f"{path} is empty (0 bytes); download it again")
        if _listing_bytes(path) > MOST_LISTING:
            raise InputError(
                f"{path} lists its entries in {_listing_bytes(path):,} bytes, more than the archive of any "
                "data set; refused"
            )
        try:
            with zipfile.ZipFile(path) as archive:
                entries = [e for e in archive.infolist() if not e.filename.endswith("/")]
        except (*DAMAGE, ValueError) as error:
            raise InputError(
                f"{path} is not a whole zip archive ({error}): cut off, or not a zip at all; "
                "download it again"
            ) from error
        found: dict[str, zipfile.ZipInfo] = {}
        for entry in entries:
            inside = PurePosixPath(entry.filename.replace("\\", "/"))
            if inside.is_absolute() or ".." in inside.parts or not inside.parts or ":" in inside.parts[0]:
                raise InputError(
                    f"{path} has an entry {entry.filename!r} that points out of the archive; refused"
                )
            if inside.name in names and len(inside.parts) <= 2:
                if inside.name in found:
                    raise InputError(
                        f"{path} has {inside.name} twice: {found[inside.name].filename} and {entry.filename}"
                    )
                _refuse_unusual(entry, path)
                found[inside.name] = entry
        places = {name: e.filename for name, e in found.items()}
        return cls(path, places, {name: e.file_size for name, e in found.items()})

    def __contains__(self, name: str) -> bool:
        return name in self.places

    def require(self, names: Iterable[str]) -> Files:
        """Return self, or say which files are missing."""
        missing = [name for name in names if name not in self.places]
        if missing:
            have = ", ".join(self.places) or "none of the files expected"
            raise InputError(f"{self.path} lacks {', '.join(missing)} (it has {have})")
        return self

    def within(self, limit: int) -> Files:
        """Return self, or refuse files that announce more than ``limit`` bytes in all."""
        if sum(self.sizes.values()) > limit:
            raise InputError(
                f"{self.path} unpacks to {sum(self.sizes.values()):,} bytes, more than the {limit:,} that "
                "this data set can have; refused"
            )
        return self

    def where(self, name: str) -> str:
        """Return where a file is, for messages."""
        return str(self.path / self.places[name]) if self.is_folder else f"{self.path}: {self.places[name]}"

    @property
    def is_folder(self) -> bool:
        """Whether the files lie in a folder rather than in an archive."""
        return self.path.is_dir()

    @contextmanager
    def stream(self, name: str) -> Iterator[BinaryIO]:
        """Open a file for reading bytes, unpacked; damage found on the way is an InputError."""
        where = self.where(name)
        with reading(where):
            if not self.is_folder:
                with zipfile.ZipFile(self.path) as archive, archive.open(self.places[name]) as entry:
                    yield cast(BinaryIO, entry)
            elif self.places[name].endswith(".gz"):
                with gzip.open(self.path / self.places[name]) as unpacked:
                    yield cast(BinaryIO, unpacked)
            else:
                with (self.path / self.places[name]).open("rb") as opened:
                    yield opened

    def read(self, name: str) -> bytes:
        """Return the bytes of a file."""
        with self.stream(name) as opened:
            data = opened.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise InputError(f"{self.where(name)} unpacks to more than {MOST_BYTES:,} bytes; refused")
        return data

    def key(self, name: str) -> str:
        """Return a text that changes when the file does: place, size and time of change."""
        place = self.path / self.places[name] if self.is_folder else self.path
        stat = place.stat()
        return f"{place.resolve()}|{self.places[name]}|{stat.st_size}|{stat.st_mtime_ns}"

    def copy_to(self, folder: Path, limit: int) -> None:
        """Write all files into a folder, under their plain names, at most ``limit`` bytes in all."""
        left = limit
        for name in self.places:
            target = folder / name
            with self.stream(name) as opened, writing(target), target.open("xb") as out:
                while chunk := opened.read(COPY_BYTES):
                    left -= len(chunk)
                    if left < 0:
                        raise InputError(
                            f"{self.where(name)} unpacks to more than the {limit:,} bytes that this data "
                            "set can have; refused"
                        )
                    out.write(chunk)


def _listing_bytes(path: Path) -> int:
    """Return how long the list of entries of a zip archive says it is; 0 if that cannot be told.

    Python makes an object of each entry when it opens an archive, and a hundred megabytes of list have
    millions of them.
    """
    with path.open("rb") as opened:
        opened.seek(0, os.SEEK_END)
        size = opened.tell()
        opened.seek(max(0, size - END_BYTES))
        end = opened.read()
    at = end.rfind(b"PK\x05\x06")
    if at < 0 or len(end) < at + 22:
        return 0
    listing = int.from_bytes(end[at + 12 : at + 16], "little")
    if listing == 0xFFFFFFFF:  # zip64: the number is in a longer record before this one
        wide = end.rfind(b"PK\x06\x06", 0, at)
        listing = int.from_bytes(end[wide + 40 : wide + 48], "little") if wide >= 0 else 0
    return listing


def _refuse_unusual(entry: zipfile.ZipInfo, path: Path) -> None:
    """Raise for an entry that is encrypted, a link, or packed in a way that takes much memory to unpack."""
    why = ""
    if entry.flag_bits & 0x1:
        why = "is encrypted; unpack the archive yourself and give the folder"
    elif stat.S_ISLNK(entry.external_attr >> 16):
        why = "is a link to another file; refused"
    elif entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        why = f"is packed by method {entry.compress_type}; only plain and deflated files are read"
    if why:
        raise InputError(f"{path}: {entry.filename} {why}")


@contextmanager
def reading(place: object) -> Iterator[None]:
    """Turn what goes wrong while a file is read into an InputError that names it."""
    try:
        yield
    except DAMAGE as error:
        raise InputError(f"{place} is damaged ({error}); download or copy it again") from error
    except PermissionError as error:
        raise InputError(f"{place} may not be read: permission denied; change its rights") from error
    except OSError as error:  # such as a damaged archive that leads to a place before its beginning
        raise InputError(f"{place} cannot be read: {error.strerror or error}; copy it again") from error


def writing(place: object) -> AbstractContextManager[None]:
    """Turn what goes wrong while a file is written into an InputError that names it."""
    return atomic.writing(
        place,
        "nothing was installed. Make room or change the rights, or set PREFMOVER_DATA to a folder that has "
        "the data",
    )
