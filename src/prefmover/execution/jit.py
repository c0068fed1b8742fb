"""The one place that sets Numba's flags, and where its compiled code is kept.

Plain IEEE arithmetic (no ``fastmath``: a reassociated sum can turn a valid lower bound into a wrong
prune), no GIL, division by zero as in NumPy. Compiled code is cached in the user's cache folder (or in
``NUMBA_CACHE_DIR``, if set), in a sub-folder named by the content of all kernel files: Numba does not
notice when a callee in another file has changed, a new name does.
"""

import hashlib
import logging
import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from numba import config, njit
from numba.core import event
from platformdirs import user_cache_path

__all__ = ["announce_compilation", "cache_folder", "kernel"]

F = TypeVar("F", bound=Callable[..., Any])
logger = logging.getLogger("prefmover")


@cache
def cache_folder() -> Path:
    """Return the folder that compiled kernels go to.

    A folder that cannot be made (a read-only home) is replaced by one in the temporary folder.
    """
    digest = hashlib.sha256()
    package = Path(__file__).parent.parent
    for file in (Path(__file__), *sorted(package.rglob("_*.py"))):
        if file.name != "__init__.py":
            digest.update(file.read_bytes())
    name = f"kernels-{digest.hexdigest()[:12]}"
    base = Path(config.CACHE_DIR) if config.CACHE_DIR else user_cache_path("prefmover")
    try:
        return _writable(base / name)
    except OSError:
        return _writable(_temporary_folder() / name)


def _writable(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{folder} cannot be written")
    return folder


def _temporary_folder() -> Path:
    """Return a folder of this user alone: compiled code must not be read from where others can write."""
    if not hasattr(os, "getuid"):  # Windows: the temporary folder is the user's own
        return Path(tempfile.gettempdir()) / "prefmover"
    folder = Path(tempfile.gettempdir()) / f"prefmover-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if found.st_uid != os.getuid() or found.st_mode & 0o022 or folder.is_symlink():
        return Path(tempfile.mkdtemp(prefix="prefmover-"))
    return folder


def kernel(function: F) -> F:
    """Compile ``function`` with the project's flags.

    Numba fixes a function's cache folder when the decorator runs, so the setting is changed for that
    moment only; other packages' caches stay where they are.
    """
    announce_compilation()
    before = config.CACHE_DIR
    config.CACHE_DIR = str(cache_folder())
    try:
        compiled: F = njit(cache=True, nogil=True, error_model="numpy")(function)
    finally:
        config.CACHE_DIR = before
    return compiled


class _Announcement(event.Listener):  # type: ignore[misc]
    """Hears when Numba begins to compile: a function that is loaded from the cache makes no such event."""

    said = False

    def on_start(self, event: Any) -> None:
        module = event.data["dispatcher"].py_func.__module__
        if not self.said and module.startswith("prefmover."):
            self.said = True
            logger.warning(
                "prefmover: first use on this machine, compiling for some 20 seconds (kept in %s)",
                cache_folder(),
            )

    def on_end(self, event: Any) -> None:
        """Nothing to say."""


@cache
def announce_compilation() -> None:
    """See to it that the log says, once, when one of our kernels has to be compiled."""
    event.register("numba:compile", _Announcement())
