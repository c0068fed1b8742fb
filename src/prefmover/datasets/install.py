"""Install data sets in the user's data folder: verified first, and complete or not at all.

A copy is made and verified in a hidden folder beside its destination, which is then renamed. If anything
goes wrong, nothing is left behind, and a data set that was installed before stays.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock

from prefmover._typing import Progress
from prefmover.datasets import folders
from prefmover.datasets.by_name import read
from prefmover.datasets.fetch import digest_of, fetch, has_digest
from prefmover.datasets.folders import Files, writing
from prefmover.datasets.movielens import read_movie_tags
from prefmover.datasets.reading import check_counts
from prefmover.datasets.registry import BUILT_IN, Source, find_source
from prefmover.datasets.tag_genome import read_genome
from prefmover.errors import InputError
from prefmover.execution.atomic import cache_folder

__all__ = ["Installed", "add", "get"]


@dataclass(frozen=True, slots=True)
class Installed:
    """The record of an installed data set: its folder, and the address, folder or archive that it came from.

    ``verified`` is ``"hash"`` if it is the publisher's archive, bit for bit, and ``"contents"`` if all files
    were read and have the published numbers of ratings, users and items, as far as these are known.
    ``sha256`` is the hash of the archive, empty for a folder.
    """

    name: str
    path: str
    origin: str
    verified: str
    sha256: str


def get(name: str, *, progress: Progress | None = None, force: bool = False) -> Installed:
    """Download a data set from its publisher and install it; again, if it is installed, with ``force``.

    ``progress`` is called with (bytes so far, bytes in all).
    """
    source = _installable(name)
    if not force and (files := folders.find(source)) is not None:
        return Installed(source.name, str(files.path), "already here", "", "")
    archive = fetch(source, cache_folder() / "downloads", progress)
    try:
        return _install(source, archive, origin=source.url)
    finally:
        archive.unlink(missing_ok=True)


def add(name: str, path: str | os.PathLike[str], *, link: bool = False) -> Installed:
    """Install a data set from a copy: the publisher's zip archive, or a folder with its files.

    With ``link``, the data set is a link to the archive or folder, which must then stay.
    """
    source = _installable(name)
    copy = Path(path).expanduser().resolve()
    return _install(source, copy, origin=str(copy), link=link)


def _installable(name: str) -> Source:
    if name.casefold() in BUILT_IN:
        raise InputError(f"{name} is built in: there is nothing to install")
    return find_source(name)


def _install(source: Source, path: Path, *, origin: str, link: bool = False) -> Installed:
    files = folders.open_files(source, path).require(source.needs)
    files.within(source.limit)
    is_published = not files.is_folder and has_digest(path, source.digest)
    home = folders.data_folder() / source.name
    verified, sha256 = "hash" if is_published else "contents", "" if files.is_folder else digest_of(path)
    record = Installed(source.name, str(home), origin, verified, sha256)
    with writing(home):
        home.parent.mkdir(parents=True, exist_ok=True)
    with writing(home), FileLock(home.with_name(f".{source.name}.lock")):
        for before in folders.replaced(home):  # a killed installation left it behind
            before.rename(home)
        for folder in home.parent.glob(f".{home.name}-????????"):
            shutil.rmtree(folder, ignore_errors=True)
        temporary = Path(tempfile.mkdtemp(dir=home.parent, prefix=f".{source.name}-"))
        try:
            complete = temporary / source.name
            complete.mkdir()
            if link:
                _verify(source, files)
                target = complete / (source.name if files.is_folder else f"{source.name}.zip")
                target.symlink_to(path, target_is_directory=files.is_folder)
            else:
                files.copy_to(complete, source.limit)
                _verify(source, Files.open(complete, files.paths))
            (complete / "installed.json").write_text(json.dumps(asdict(record), indent=2) + "\n", "utf-8")
            _swap(complete, home, temporary / "before")
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return record


def _verify(source: Source, files: Files) -> None:
    """Read everything once; an error describes the defect."""
    if source.form == "genome":
        with tempfile.TemporaryDirectory() as scratch:
            read_genome(files, cache=Path(scratch))
    elif source.form == "tags":
        read_movie_tags(files)
    else:
        check_counts(source, read(source, files))


def _swap(complete: Path, home: Path, before: Path) -> None:
    """Rename the new folder to its destination; an old one goes to ``before``, and back on failure."""
    if home.exists() or home.is_symlink():
        home.rename(before)
    try:
        complete.rename(home)
    except OSError:
        if before.exists():
            before.rename(home)
        raise
