"""Compiled kernels: modules that are imported late, Numba's flags, and the cache of compiled code.

Numba is imported with the first module of kernels (:class:`LazyModule`), not with this one.

Plain IEEE arithmetic (no ``fastmath``: a reassociated sum can make a lower bound invalid), no GIL, division
by zero as in NumPy. Compiled code is cached in the cache folder (or in ``NUMBA_CACHE_DIR``), in
a sub-folder named after a digest of all kernel files. Numba does not notice a change of a callee in another
file; the new name takes care of that.

Compiling takes many seconds, and loading compiled code half a second. The first small jobs of a process are
therefore *interpreted* (:func:`compiled_or_interpreted`): the same source, run by Python, with the same
results bit for bit.
"""

import hashlib
import logging
import os
import tempfile
from collections.abc import Callable
from functools import cache, cached_property, wraps
from importlib import import_module
from pathlib import Path
from threading import Lock
from time import monotonic
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from prefmover.execution.atomic import cache_folder

STEPS_BEFORE_COMPILING = 4_000_000
"""Steps of innermost loops that a process interprets, about .7 µs each, before it compiles."""

STEPS_BEFORE_LOADING = 500_000
"""The same if compiled code is there and has to be loaded only."""


class _Compiling:
    """How long this process has been compiling, for whoever reports progress. Calls may be nested."""

    def __init__(self) -> None:
        self._depth, self._since, self._before, self._lock = 0, 0.0, 0.0, Lock()

    def begin(self) -> None:
        """Note that a kernel is being compiled."""
        with self._lock:
            self._since = monotonic() if not self._depth else self._since
            self._depth += 1

    def end(self) -> None:
        """Note that it is compiled."""
        with self._lock:
            self._depth -= 1
            if not self._depth:
                self._before += monotonic() - self._since

    @property
    def now(self) -> bool:
        """Whether a kernel is being compiled."""
        return self._depth > 0

    @property
    def seconds(self) -> float:
        """The time that was spent so far."""
        with self._lock:
            return self._before + (monotonic() - self._since if self._depth else 0.0)


COMPILING = _Compiling()

F = TypeVar("F", bound=Callable[..., Any])
logger = logging.getLogger("prefmover")


class LazyModule:
    """A module of kernels, which is imported at the first use of one of its names.

    ``lazy_loader.load`` would do, but two threads that use a module first may get one that is half loaded
    (before Python 3.11.8 and 3.12.2). ``import_module`` takes the module's lock.

    >>> fractions = LazyModule("fractions")
    >>> fractions.Fraction(1, 2)
    Fraction(1, 2)
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


@cache
def kernel_folder() -> Path:
    """Return the folder of compiled kernels.

    If it cannot be created (a read-only home), a folder in the temporary folder takes its place.
    """
    from numba import config

    digest = hashlib.sha256()
    package = Path(__file__).parent.parent
    for file in (Path(__file__), *sorted(package.rglob("_*.py"))):
        if file.name != "__init__.py":
            digest.update(file.read_bytes())
    name = f"kernels-{digest.hexdigest()[:12]}"
    base = Path(config.CACHE_DIR) if config.CACHE_DIR else cache_folder()
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
    """Return a folder that only this user can write: compiled code must not come from others."""
    if not hasattr(os, "getuid"):  # on Windows every user has a temporary folder
        return Path(tempfile.gettempdir()) / "prefmover"
    folder = Path(tempfile.gettempdir()) / f"prefmover-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if status.st_uid != os.getuid() or status.st_mode & 0o022 or folder.is_symlink():
        return Path(tempfile.mkdtemp(prefix="prefmover-"))
    return folder


ANY_ORDER = {"fastmath": {"reassoc", "contract"}, "error_model": "numpy"}
"""Flags of inner products whose terms may be added in any order, as BLAS does: no bound depends on them."""


def kernel(function: F) -> F:
    """Compile ``function`` with the project's flags; it makes no arrays, and calls nothing that does.

    References to its arrays are not counted: whoever calls it holds them. Counting takes a third of the time
    of a small transport problem. (Numba refuses to compile a function that makes an array without.)
    """
    return _compiled(function, _nrt=False)


def allocating_kernel(function: F) -> F:
    """Compile ``function``, which makes arrays, with the project's flags."""
    return _compiled(function)


def _compiled(function: F, **flags: Any) -> F:
    """Return a compiled function.

    Numba fixes a function's cache folder when the decorator runs, so the setting is changed only for that
    moment. The caches of other packages stay where they are.
    """
    from numba import config, njit

    announce_compilation()
    before = config.CACHE_DIR
    config.CACHE_DIR = str(kernel_folder())
    try:
        compiled: F = njit(cache=True, nogil=True, error_model="numpy", **flags)(function)
    finally:
        config.CACHE_DIR = before
    return compiled


def compiled_or_interpreted(compiled: Callable[..., Any], steps: float) -> Callable[..., Any]:
    """Return a kernel for a job of some number of steps: compiled, or interpreted.

    A process has a budget of steps to interpret. A job that fits what is left of it is interpreted. Large
    jobs do not fit, and many small ones use it up. A kernel that is compiled in this process stays so.

    Parameters
    ----------
    compiled
        A function that :func:`kernel` returned.
    steps
        About how often its innermost loops run.
    """
    # The budget first, which is cheaper. Without a compiler (NUMBA_DISABLE_JIT), a kernel has no signatures.
    if steps > _BUDGET.left or getattr(compiled, "signatures", True):
        return compiled
    _BUDGET.left -= steps
    return interpreted(compiled)


def interpret_nothing() -> None:
    """Compile every kernel from now on, however small the job."""
    _BUDGET.left = -1.0


class _Budget:
    """Steps that this process may still interpret: fewer if there is compiled code on this machine."""

    @cached_property
    def left(self) -> float:
        is_compiled = next(kernel_folder().rglob("*.nbi"), None) is not None
        return STEPS_BEFORE_LOADING if is_compiled else STEPS_BEFORE_COMPILING


_BUDGET = _Budget()


@cache
def interpreted(compiled: Any) -> Callable[..., Any]:
    """Return a kernel as a Python function that calls other kernels as Python functions, too."""
    plain = _plain(compiled)

    @wraps(plain)
    def run(*args: Any) -> Any:
        with np.errstate(all="ignore"):  # integers wrap around, as they do in compiled code
            return plain(*args)

    return run


@cache
def _plain(compiled: Any) -> FunctionType:
    function: FunctionType = compiled.py_func
    names = {**function.__globals__}
    for name in function.__code__.co_names:
        if hasattr(names.get(name), "py_func"):
            names[name] = _plain(names[name])
    return FunctionType(function.__code__, names, function.__name__, function.__defaults__)


@cache
def announce_compilation() -> Any:
    """Log the first compilation of one of our kernels; return the listener.

    Numba sends no such event for a function that it loads from the cache.
    """
    from numba.core import event

    class Announcement(event.Listener):  # type: ignore[misc]
        logged = False

        def on_start(self, event: Any) -> None:
            COMPILING.begin()
            module = event.data["dispatcher"].py_func.__module__
            if not self.logged and module.startswith("prefmover."):
                self.logged = True
                logger.warning(
                    "prefmover: first use on this machine, compiling for about 20 seconds (cached in %s)",
                    kernel_folder(),
                )

        def on_end(self, event: Any) -> None:
            COMPILING.end()

    listener = Announcement()
    event.register("numba:compile", listener)
    return listener
