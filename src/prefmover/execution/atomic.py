"""Files that are written completely or not at all, and the cache folder."""

import os
import platform
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import platformdirs

from prefmover._format import size
from prefmover.errors import InputError

UNFINISHED = re.compile(r"^\..+\.unfinished-(?P<host>.*)-(?P<process>\d+)$")


def write(file: Path, content: bytes) -> None:
    """Write a file under a temporary name, flush it to disk, and rename it.

    A kill leaves either the old file or the new one.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write(Path(folder, "part"), b"done")
    ...     [file.name for file in Path(folder).iterdir()]
    ['part']
    """
    partial = file.with_name(f".{file.name}.unfinished-{_host()}-{os.getpid()}")
    with translate_os_errors(file):
        try:
            with partial.open("wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            partial.replace(file)
        finally:
            partial.unlink(missing_ok=True)


def cache_folder() -> Path:
    """Return the folder for files that can be made again: ``PREFMOVER_CACHE``, or the user's."""
    name = os.environ.get("PREFMOVER_CACHE")
    return Path(name) if name else platformdirs.user_cache_path("prefmover", appauthor=False)


def require_disk(folder: Path, n_bytes: int, what: str) -> None:
    """Raise an error if a folder's disk has less room than something needs; ``what`` is its name.

    The folder may not exist yet.

    >>> require_disk(Path.cwd(), 2**70, "the model in shelf")
    Traceback (most recent call last):
    prefmover.errors.InputError: the model in shelf needs 1,099,511,627,776 GB on disk...
    """
    place = next((one for one in (folder, *folder.absolute().parents) if one.exists()), folder)
    try:
        free = shutil.disk_usage(place).free
    except OSError:
        return
    if n_bytes > free:
        raise InputError(
            f"{what} needs {size(n_bytes)} on disk, and {size(free)} is free in {place}; "
            "free some space, or save it elsewhere"
        )


def remove_stale_files(folder: Path) -> None:
    """Remove unfinished files of killed processes of this machine from a folder."""
    for file in folder.glob(".*.unfinished-*"):
        match = UNFINISHED.match(file.name)
        if match and match["host"] == _host() and not is_alive(int(match["process"])):
            file.unlink(missing_ok=True)


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold a folder while its files are changed; other processes and threads wait.

    The system releases it when the process ends, killed or not. Nothing is left in the folder. Where folders
    cannot be locked (Windows, some network drives), nobody waits.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def translate_os_errors(
    path: object, remedy: str = "free some space, or change the permissions, and try again"
) -> Iterator[None]:
    """Turn an error of the system while writing into an InputError that names the path.

    >>> with translate_os_errors("out/report.html"):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
    prefmover.errors.InputError: out/report.html cannot be written: No space left on device; free ...
    """
    try:
        yield
    except OSError as error:
        if error.errno is None:  # not from the system: damaged gzip, or a broken connection
            raise
        raise InputError(f"{path} cannot be written: {error.strerror}; {remedy}") from error


def _host() -> str:
    return re.sub(r"[^\w.]", "_", platform.node()) or "here"


def is_alive(process: int) -> bool:
    """Whether a process of this machine is running; True where that cannot be found out."""
    if os.name == "nt":
        return True  # a signal would end the process there
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # the process of another user
        return True
    return True
