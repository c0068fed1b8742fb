"""The one place that sets Numba's flags, and where its compiled code is kept.

Plain IEEE arithmetic (no ``fastmath``: a reassociated sum can turn a valid lower bound into a wrong
prune), no GIL, division by zero as in NumPy. Compiled code is cached in the user's cache folder, in a
sub-folder named by the content of all kernel files: Numba does not notice when a callee in another
file has changed, a new name does. ``NUMBA_CACHE_DIR``, if set, wins.
"""

import hashlib
import logging
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from numba import config, njit
from platformdirs import user_cache_path

__all__ = ["announce_compilation", "cache_folder", "kernel"]

F = TypeVar("F", bound=Callable[..., Any])
logger = logging.getLogger("prefmover")


@cache
def cache_folder() -> Path:
    """Return the folder that compiled kernels go to.

    A folder that cannot be made (a read-only home) is replaced by one in the temporary folder.
    """
    if config.CACHE_DIR:
        return Path(config.CACHE_DIR)
    digest = hashlib.sha256()
    package = Path(__file__).parent
    for file in sorted(package.rglob("_*.py")):
        if file.name != "__init__.py":
            digest.update(file.read_bytes())
    folder = user_cache_path("prefmover") / f"kernels-{digest.hexdigest()[:12]}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(folder)
    except OSError:
        import tempfile

        # The user's own sub-folder: compiled code must not be read from a folder others can write.
        folder = Path(tempfile.gettempdir()) / f"prefmover-{os.getuid()}" / folder.name
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if folder.stat().st_uid != os.getuid():
            raise
    return folder


def kernel(function: F) -> F:
    """Compile ``function`` with the project's flags.

    Numba fixes a function's cache folder when the decorator runs, so the setting is changed for that
    moment only; other packages' caches stay where they are.
    """
    before = config.CACHE_DIR
    config.CACHE_DIR = str(cache_folder())
    try:
        compiled: F = njit(cache=True, nogil=True, error_model="numpy")(function)
    finally:
        config.CACHE_DIR = before
    return compiled


@cache
def announce_compilation() -> None:
    """Say once, on the log, that the first use compiles, if nothing is cached yet."""
    folder = cache_folder()
    if not any(folder.rglob("*.nbc")):
        logger.warning(
            "prefmover: first use on this machine, compiling for some 20 seconds (kept in %s)",
            folder,
        )
