"""Free memory, and an error in advance if a job would not fit.

The system kills a process that outgrows the machine without a message, perhaps hours after its start. So
:func:`require` checks jobs that grow with the square of users or items. ``PREFMOVER_MEMORY`` (such as ``8G``)
sets a limit other than the free memory, and ``PREFMOVER_MEMORY=off`` removes it.
"""

import ctypes
import os
import re
import sys
from pathlib import Path

from prefmover._format import size
from prefmover.errors import InputError

SMALL = 2**26
"""Bytes that are not checked unless a limit is set: reading the free memory takes longer than small jobs."""

VARIABLE = "PREFMOVER_MEMORY"
UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
MEMINFO = Path("/proc/meminfo")
GROUPS = Path("/proc/self/cgroup")
GROUP_ROOT = Path("/sys/fs/cgroup")


def require(n_bytes: float, what: str, remedy: str) -> None:
    """Raise an error if a job needs more memory than is free.

    ``what`` names the job, as the subject of a sentence, and ``remedy`` tells the reader what to do.

    >>> require(2**70, "a matrix of everything", "take a part of it")
    Traceback (most recent call last):
    prefmover.errors.InputError: a matrix of everything needs 1,099,511,627,776 GB of memory...
    """
    free = _available_for(n_bytes)
    if free is not None and n_bytes > free:
        raise InputError(
            f"{what} needs {size(n_bytes)} of memory, and {size(free)} is free; {remedy}, or set "
            f"{VARIABLE} (such as 64G, or off) if that is wrong"
        )


def has_room(n_bytes: float) -> bool:
    """Return whether a job of this size fits the free memory, as far as that is known."""
    free = _available_for(n_bytes)
    return free is None or n_bytes <= free


def _available_for(n_bytes: float) -> int | None:
    return available() if n_bytes > SMALL or os.environ.get(VARIABLE) else None


def trim_memory() -> None:
    """Return freed memory to the system, before a long job.

    glibc and Arrow keep it: after reading MovieLens-1M and making its distances, a hundred megabytes. Where
    there is no such call, nothing happens.
    """
    if "pyarrow" in sys.modules:
        import pyarrow as pa

        pa.default_memory_pool().release_unused()
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # another C library, or Windows
        return
    trim(0)


def available() -> int | None:
    """Return the number of bytes that this process may still take; None if that is not known.

    This is the least of the machine's free memory and the rest of the limits of process and container.
    """
    setting = os.environ.get(VARIABLE, "").strip()
    if setting.casefold() == "off":
        return None
    if setting:
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", setting.casefold())
        if not match:
            raise InputError(f"{VARIABLE} is {setting!r}; set it to a size such as 8G or 500M, or to off")
        return int(float(match[1]) * UNITS[match[2]])
    limits = [free for free in (_machine(), _group(), _process()) if free is not None]
    return max(0, min(limits)) if limits else None


def _machine() -> int | None:
    """Return the free memory of the machine, or all of its memory if only that is known."""
    try:
        match = re.search(r"^MemAvailable:\s+(\d+) kB", MEMINFO.read_text(), re.MULTILINE)
    except OSError:
        match = None
    if match:
        return int(match[1]) * 2**10
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows
        return None


def _group() -> int | None:
    """Return the rest of the limits of this process's control groups (version 2)."""
    try:
        match = re.search(r"^0::/?(.*)$", GROUPS.read_text(), re.MULTILINE)
    except OSError:
        return None
    if match is None:
        return None
    # Every group above has a limit too. Within a container, the path may not exist, but the root does.
    group = GROUP_ROOT / match[1]
    folders = [folder for folder in (group, *group.parents) if folder.is_relative_to(GROUP_ROOT)]
    return min((left for folder in folders if (left := _left(folder)) is not None), default=None)


def _left(folder: Path) -> int | None:
    try:
        limit = int((folder / "memory.max").read_text())  # "max", not a number, means no limit
        usage = int((folder / "memory.current").read_text())
        cached = re.search(r"^inactive_file (\d+)", (folder / "memory.stat").read_text(), re.MULTILINE)
    except (OSError, ValueError):
        return None
    return limit - usage + (int(cached[1]) if cached else 0)  # the system drops cached files first


def _process() -> int | None:
    """Return the rest of the limit that ``ulimit -v`` sets."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return None
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except (ImportError, OSError, ValueError, AttributeError):
        return None
    return limit - taken
