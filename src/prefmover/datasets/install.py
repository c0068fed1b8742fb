"""Data sets into the data folder of the user: verified first, then there at once or not at all.

A copy is made and verified in a hidden folder beside its place, and then renamed. Whatever goes
wrong on the way, nothing is left behind and what was installed before stays.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from prefmover.datasets import folders
from prefmover.datasets.archive import Files, writing
from prefmover.datasets.fetch import Progress, digest_of, fetch
from prefmover.datasets.movielens import check_counts, read, read_movie_tags
from prefmover.datasets.registry import BUILT_IN, Source, source
from prefmover.datasets.tag_genome import read_genome
from prefmover.errors import InputError

__all__ = ["Installed", "add", "get"]

RECORD = "installed.json"


@dataclass(frozen=True, slots=True)
class Installed:
    """What was installed, where, and how far it was verified.

    Attributes
    ----------
    verified : str
        ``"hash"``: it is the publisher's archive, bit for bit. ``"contents"``: it was read to the
        end, and has the published numbers of ratings, users and items where those are known.
    sha256 : str
        Of the archive; empty for a folder.
    """

    name: str
    path: str
    origin: str
    verified: str
    sha256: str


def get(name: str, *, progress: Progress | None = None, force: bool = False) -> Installed:
    """Download a data set from its publisher and install it.

    Parameters
    ----------
    name : str
        Such as ``"ml-1m"``.
    progress : callable, optional
        Called with (bytes so far, bytes in all).
    force : bool
        Download again even if the data set is here.
    """
    known = _known(name)
    if not force and (here := folders.find(known)) is not None:
        return Installed(known.name, str(here.path), "already here", "", "")
    archive = fetch(known, folders.cache_folder() / "downloads", progress)
    try:
        return _install(known, archive, origin=known.url)
    finally:
        archive.unlink(missing_ok=True)


def add(name: str, path: str | os.PathLike[str], *, link: bool = False) -> Installed:
    """Install a data set from a copy: the publisher's zip archive, or a folder with its files.

    Parameters
    ----------
    link : bool
        Link to the folder or archive instead of copying it; it has to stay where it is.
    """
    known = _known(name)
    place = Path(path).expanduser()
    if not place.exists():
        raise InputError(f"there is no file or folder {place}")
    return _install(known, place.resolve(), origin=str(place.resolve()), link=link)


def _known(name: str) -> Source:
    if name.casefold() in BUILT_IN:
        raise InputError(f"{name} is built in: there is nothing to install")
    return source(name)


def _install(known: Source, place: Path, *, origin: str, link: bool = False) -> Installed:
    files = Files.open(place, (*known.needs, *known.takes)).require(known.needs)
    files.within(known.limit)
    sha256 = "" if files.is_folder else digest_of(place)
    same = bool(known.digest) and not files.is_folder and _has_digest(place, known.digest)
    home = folders.data_folder() / known.name
    with writing(home):
        home.parent.mkdir(parents=True, exist_ok=True)
        _clear(home)
        partial = Path(tempfile.mkdtemp(dir=home.parent, prefix=f".{known.name}-"))
    held = _hold(partial)
    try:
        made = partial / known.name
        if link:
            _verify(known, files)
            with writing(home):
                made.mkdir()
                target = made / (f"{known.name}.zip" if not files.is_folder else known.name)
                target.symlink_to(place, target_is_directory=files.is_folder)
        else:
            with writing(home):
                made.mkdir()
            files.copy_to(made, known.limit)
            _verify(known, Files.open(made, files.places))
        verified = "hash" if same else "contents"
        record = Installed(known.name, str(home), origin, verified, sha256)
        with writing(home):
            (made / RECORD).write_text(json.dumps(asdict(record), indent=2) + "\n", "utf-8")
            _swap(made, home, partial / "before")
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        if held is not None:
            os.close(held)
    return record


def _clear(home: Path) -> None:
    """Put back, or remove, what an install that was killed left behind."""
    for before in folders.replaced(home):
        before.rename(home)
    for left in home.parent.glob(f".{home.name}-????????"):
        held = _hold(left)
        if held is not None:  # nobody is at work there
            shutil.rmtree(left, ignore_errors=True)
            os.close(held)


def _hold(folder: Path) -> int | None:
    """Return a handle that holds a folder while this process lives; None if another does."""
    try:
        import fcntl
    except ImportError:  # Windows: what is left behind stays
        return None
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def _verify(known: Source, files: Files) -> None:
    """Read everything once; the error says what is wrong."""
    if known.form == "genome":
        with tempfile.TemporaryDirectory() as scratch:
            read_genome(files, cache=Path(scratch))
    elif known.form == "tags":
        read_movie_tags(files)
    else:
        check_counts(known, read(known, files))


def _has_digest(place: Path, digest: str) -> bool:
    algorithm, _, digits = digest.partition(":")
    return digest_of(place, algorithm) == digits


def _swap(made: Path, home: Path, before: Path) -> None:
    """Put the new folder in its place; the old one, if any, goes to ``before``, or back on failure."""
    if home.exists() or home.is_symlink():
        home.rename(before)
    try:
        made.rename(home)
    except OSError:
        if before.exists():
            before.rename(home)
        raise
