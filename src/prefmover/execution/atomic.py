"""Files that are there whole or not at all."""

import os
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prefmover.errors import InputError

__all__ = ["clear", "write", "writing"]

UNFINISHED = re.compile(r"^\..+\.unfinished-(?P<host>.*)-(?P<process>\d+)$")


def write(file: Path, content: bytes) -> None:
    """Write a file under a temporary name, wait for the disk, and rename: a kill leaves the old or the new.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write(Path(folder, "part"), b"done")
    ...     [file.name for file in Path(folder).iterdir()]
    ['part']
    """
    partial = file.with_name(f".{file.name}.unfinished-{_host()}-{os.getpid()}")
    with writing(file):
        try:
            with partial.open("wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            partial.replace(file)
        finally:
            partial.unlink(missing_ok=True)


def clear(folder: Path) -> None:
    """Remove what processes of this machine that were killed left unfinished in a folder."""
    for file in folder.glob(".*.unfinished-*"):
        left = UNFINISHED.match(file.name)
        if left and left["host"] == _host() and not _alive(int(left["process"])):
            file.unlink(missing_ok=True)


@contextmanager
def writing(place: object, remedy: str = "make room, or change the rights, and try again") -> Iterator[None]:
    """Turn what the system has against writing into an InputError that names the place.

    >>> with writing("out/report.html"):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
    prefmover.errors.InputError: out/report.html cannot be written: No space left on device; make room, ...
    """
    try:
        yield
    except OSError as error:
        if error.errno is None:  # not from the system: damaged gzip, or a connection that broke
            raise
        raise InputError(f"{place} cannot be written: {error.strerror}; {remedy}") from error


def _host() -> str:
    return re.sub(r"[^\w.]", "_", platform.node()) or "here"


def _alive(process: int) -> bool:
    if os.name == "nt":
        return True  # a signal there would end it
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is somebody else's
        return True
    return True
