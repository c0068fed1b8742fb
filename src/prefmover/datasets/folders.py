"""The folders in which data sets are searched and installed, and the files of a data set there.

1. ``PREFMOVER_DATA``, if it is set: a folder that is only read, with one folder or zip archive per data set,
   such as ``ml-1m/ratings.dat``, ``ml-1m/ml-1m.zip`` or ``ml-1m.zip``.
2. The user's data folder (``prefmover data path`` prints it), where ``get`` and ``add`` install.

Nothing is ever unpacked to a path that an archive chooses: files are opened by their plain names, and an
archive may neither point out of itself nor grow beyond its announced size.
"""

from __future__ import annotations

import gzip
import os
import stat
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from prefmover.datasets.registry import Source
from prefmover.errors import InputError
from prefmover.execution import atomic

__all__ = ["Files", "data_folder", "data_folders", "find", "locate", "open_files", "replaced", "writing"]

COPY_BYTES = 1 << 20
MAX_BYTES = 1 << 32  # size of one unpacked file; the largest of MovieLens has a fifth of it
MAX_DIRECTORY_BYTES = 1 << 20  # size of an archive's list of entries; that of MovieLens has a few thousand
END_BYTES = 22 + (1 << 16) + 20 + 56  # end of an archive, with the longest comment and zip64 records

# The errors of zipfile and gzip for damaged data.
# fmt: off
DAMAGE = (
    zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, struct.error, EOFError, OverflowError,
    NotImplementedError, UnicodeDecodeError,
)
# fmt: on


@dataclass(frozen=True, slots=True)
class Files:
    """Files of a folder or a zip archive: their paths in it and their announced sizes, by plain name.

    A file may be compressed (``genome-scores.csv.gz`` for ``genome-scores.csv``).
    """

    path: Path
    paths: dict[str, str]
    sizes: dict[str, int]

    @classmethod
    def open(cls, path: str | os.PathLike[str], names: Iterable[str], *, inside: str = "") -> Files:
        """Find files by name in a folder, its subfolders, or an archive.

        ``inside`` is a folder deeper in the archive, such as ``"snapshots/100K"``, that has them; a file that
        is not there may be where the others usually are.
        """
        path = Path(path)
        with reading(path):
            if path.is_dir():
                return cls._from_folder(path, list(names), inside)
            if not path.exists():
                raise InputError(f"there is no file or folder {path}")
            return cls._from_archive(path, list(names), inside)

    @classmethod
    def _from_folder(cls, path: Path, names: list[str], inside: str) -> Files:
        folders = (path, *(p for p in sorted(path.iterdir()) if p.is_dir()))
        if inside:
            folders = (*(folder / inside for folder in folders), *folders)
        files: dict[str, Path] = {}
        for name in names:
            candidates = (folder / file for folder in folders for file in (name, f"{name}.gz"))
            if file := next(filter(Path.is_file, candidates), None):
                files[name] = file
        paths = {name: str(file.relative_to(path)) for name, file in files.items()}
        return cls(path, paths, {name: file.stat().st_size for name, file in files.items()})

    @classmethod
    def _from_archive(cls, path: Path, names: list[str], inside: str) -> Files:
        n_bytes = _directory_bytes(path)
        if n_bytes > MAX_DIRECTORY_BYTES:
            raise InputError(f"{path} has a directory of {n_bytes:,} bytes, too many for a data set; refused")
        try:
            with zipfile.ZipFile(path) as archive:
                entries = [e for e in archive.infolist() if not e.filename.endswith("/")]
                starts = Counter(e.header_offset for e in archive.infolist())
        except (*DAMAGE, ValueError) as error:
            raise InputError(f"{path} is not a complete zip archive ({error}); download it again") from error
        deeper: dict[str, zipfile.ZipInfo] = {}
        chosen: dict[str, zipfile.ZipInfo] = {}
        for entry in entries:
            place = PurePosixPath(entry.filename.replace("\\", "/"))
            if place.is_absolute() or ".." in place.parts or not place.parts or ":" in place.parts[0]:
                raise InputError(f"{path}: entry {entry.filename!r} points out of the archive; refused")
            is_deeper = bool(inside) and place.parent.match(inside)
            if place.name in names and (len(place.parts) <= 2 or is_deeper):
                found = deeper if is_deeper else chosen
                if place.name in found:
                    both = f"{found[place.name].filename} and {entry.filename}"
                    raise InputError(f"{path} has {place.name} twice: {both}; remove one of them")
                _refuse_unusual(entry, path)
                if starts[entry.header_offset] > 1:  # newer versions of Python only warn of it
                    raise InputError(f"{path}: {entry.filename} overlaps another entry; refused")
                found[place.name] = entry
        chosen |= deeper
        paths = {name: e.filename for name, e in chosen.items()}
        return cls(path, paths, {name: e.file_size for name, e in chosen.items()})

    def __contains__(self, name: str) -> bool:
        return name in self.paths

    def require(self, names: Iterable[str]) -> Files:
        """Return self; raise an error if files are missing."""
        missing = [name for name in names if name not in self.paths]
        if missing:
            have = ", ".join(self.paths) or "none of the expected files"
            raise InputError(f"{self.path} lacks {', '.join(missing)} (it has {have})")
        return self

    def within(self, limit: int) -> Files:
        """Return self; refuse files with more than ``limit`` announced bytes in all."""
        size = sum(self.sizes.values())
        if size > limit:
            raise InputError(f"{self.path} unpacks to {size:,} bytes, the limit is {limit:,}; refused")
        return self

    def where(self, name: str) -> str:
        """Return the path of a file for messages."""
        return str(self.path / self.paths[name]) if self.is_folder else f"{self.path}: {self.paths[name]}"

    @property
    def is_folder(self) -> bool:
        """Whether the files are in a folder, not in an archive."""
        return self.path.is_dir()

    @contextmanager
    def stream(self, name: str) -> Iterator[BinaryIO]:
        """Open a file for reading decompressed bytes; damage is an InputError."""
        path = self.path / self.paths[name]
        with reading(self.where(name)), ExitStack() as stack:
            if not self.is_folder:
                archive = stack.enter_context(zipfile.ZipFile(self.path))
                yield cast(BinaryIO, stack.enter_context(archive.open(self.paths[name])))
            elif path.suffix == ".gz":
                yield cast(BinaryIO, stack.enter_context(gzip.open(path)))
            else:
                yield stack.enter_context(path.open("rb"))

    def read(self, name: str) -> bytes:
        """Return the bytes of a file."""
        with self.stream(name) as stream:
            data = stream.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise InputError(f"{self.where(name)} unpacks to more than {MAX_BYTES:,} bytes; refused")
        return data

    def key(self, name: str) -> str:
        """Return a text that changes when the file changes: its path, size and time of modification."""
        path = self.path / self.paths[name] if self.is_folder else self.path
        status = path.stat()
        return f"{path.resolve()}|{self.paths[name]}|{status.st_size}|{status.st_mtime_ns}"

    def copy_to(self, folder: Path, limit: int) -> None:
        """Write all files into a folder, under their plain names, at most ``limit`` bytes in all."""
        left = limit
        for name in self.paths:
            target = folder / name
            with self.stream(name) as stream, writing(target), target.open("xb") as out:
                while chunk := stream.read(COPY_BYTES):
                    left -= len(chunk)
                    if left < 0:
                        raise InputError(f"{self.where(name)} unpacks to over {limit:,} bytes; refused")
                    out.write(chunk)


def _directory_bytes(path: Path) -> int:
    """Return the announced length of the list of entries of a zip archive; 0 if it is unknown.

    Python makes an object of each entry when it opens an archive, and a list of a hundred megabytes has
    millions of entries.
    """
    with path.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - END_BYTES))
        end = stream.read()
    start = end.rfind(b"PK\x05\x06")
    if start < 0 or len(end) < start + 22:
        return 0
    length = int.from_bytes(end[start + 12 : start + 16], "little")
    if length == 0xFFFFFFFF:  # zip64: the number is in a longer record before this one
        start = end.rfind(b"PK\x06\x06", 0, start)
        length = int.from_bytes(end[start + 40 : start + 48], "little") if start >= 0 else 0
    return length


def _refuse_unusual(entry: zipfile.ZipInfo, path: Path) -> None:
    """Raise an error for an entry that is encrypted, a link, or compressed in an unusual way."""
    where, method = f"{path}: {entry.filename}", entry.compress_type
    if entry.flag_bits & 0x1:
        raise InputError(f"{where} is encrypted; unpack the archive and give the folder")
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise InputError(f"{where} is a link to another file; refused")
    if method not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise InputError(f"{where} is compressed by method {method}; only stored and deflated files are read")


@contextmanager
def reading(path: object) -> Iterator[None]:
    """Turn errors of reading a file into an InputError that names it."""
    try:
        yield
    except DAMAGE as error:
        raise InputError(f"{path} is damaged ({error}); download or copy it again") from error
    except OSError as error:  # such as a damaged archive that points before its beginning
        remedy = "change its permissions" if isinstance(error, PermissionError) else "copy it again"
        raise InputError(f"{path} cannot be read: {error.strerror or error}; {remedy}") from error


def writing(path: object) -> AbstractContextManager[None]:
    """Turn errors of writing a file into an InputError that names it."""
    remedy = "Free space or change the permissions, or set PREFMOVER_DATA to a folder that has the data"
    return atomic.translate_os_errors(path, f"nothing was installed. {remedy}")


def data_folder() -> Path:
    """Return the folder in which data sets are installed."""
    import platformdirs

    return Path(platformdirs.user_data_path("prefmover", appauthor=False))


def data_folders() -> list[Path]:
    """Return the folders in which data sets are searched, first to last."""
    name = os.environ.get("PREFMOVER_DATA")
    if name and not Path(name).is_dir():
        raise InputError(f"PREFMOVER_DATA is {name}, which is not a folder; correct or unset it")
    return [Path(name), data_folder()] if name else [data_folder()]


def find(source: Source) -> Files | None:
    """Return the files of a data set if it is in one of the folders, else None."""
    for folder in data_folders():
        for name in (source.name, *source.folders):
            home = folder / name
            archives = home / f"{name}.zip", folder / f"{name}.zip"
            for path in (home, *archives, *replaced(home)):
                if path.is_dir() or path.is_file():
                    files = open_files(source, path)
                    if all(file in files for file in source.needs):
                        return files.within(source.limit)
    return None


def open_files(source: Source, path: Path) -> Files:
    """Return the files of a data set that are in a folder or an archive."""
    return Files.open(path, (*source.needs, *source.takes), inside=source.inside)


def locate(source: Source) -> Files:
    """Return the files of a data set; an error says how to get them."""
    files = find(source)
    if files is None:
        searched = ", ".join(str(folder / source.name) for folder in data_folders())
        get = f"`prefmover data get {source.name}` downloads it; " if source.url else ""
        add = f"`prefmover data add {source.name} --from PATH` installs a copy that you have"
        raise InputError(f"{source.name} is not installed (searched {searched}); {get}{add}")
    return files


def replaced(home: Path) -> list[Path]:
    """Return the data set that a killed installation was about to replace: at most one, as a list.

    Two renames replace a folder. A kill between them leaves the old data set under a hidden name.
    """
    return [] if home.exists() else sorted(home.parent.glob(f".{home.name}-????????/before"))[:1]
