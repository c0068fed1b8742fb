"""Memory: what there is, and a word beforehand where a job would not fit.

A job that outgrows its machine is killed without a word, hours after it was started. What grows with the
square of users or items is therefore reckoned up first; ``PREFMOVER_MEMORY`` (such as ``8G``) sets another
limit than what the system says is free, and ``PREFMOVER_MEMORY=off`` none.
"""

import os
import re
from pathlib import Path

from prefmover.errors import InputError

__all__ = ["available", "require", "size"]

SMALL = 2**26
"""Bytes that are not asked about: reading what is free takes longer than most small jobs."""

VARIABLE = "PREFMOVER_MEMORY"
UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
MEMINFO = Path("/proc/meminfo")
GROUPS = Path("/proc/self/cgroup")
GROUP_ROOT = Path("/sys/fs/cgroup")


def require(n_bytes: float, what: str, remedy: str) -> None:
    """Raise an error if a job needs more memory than there is.

    Parameters
    ----------
    n_bytes
        What the job will hold at once.
    what
        The job, as the beginning of a sentence: ``"all distances of 1,000,000 x 1,000,000 users"``.
    remedy
        What to do instead.

    Examples
    --------
    >>> require(2**70, "a matrix of everything", "take a part of it")
    Traceback (most recent call last):
    prefmover.errors.InputError: a matrix of everything would take 1,099,511,627,776 GB of memory...
    """
    if n_bytes <= SMALL:
        return
    free = available()
    if free is not None and n_bytes > free:
        raise InputError(
            f"{what} would take {size(n_bytes)} of memory, and {size(free)} is free; {remedy}, or set "
            f"{VARIABLE} (such as 64G, or off) if that is wrong"
        )


def available() -> int | None:
    """Return how many bytes this process may still take; None where that is not known.

    The least of what the machine has free and what the limits of the process and of its container leave.
    """
    named = os.environ.get(VARIABLE, "").strip()
    if named:
        return _given(named)
    found = [free for free in (_machine(), _group(), _process()) if free is not None]
    return max(0, min(found)) if found else None


def size(n_bytes: float) -> str:
    """Return bytes for people.

    >>> size(3 * 2**30), size(200 * 2**20)
    ('3.0 GB', '200 MB')
    """
    if n_bytes < 2**30:
        return f"{n_bytes / 2**20:,.0f} MB"
    return f"{n_bytes / 2**30:,.1f} GB" if n_bytes < 2**37 else f"{n_bytes / 2**30:,.0f} GB"


def _given(text: str) -> int | None:
    if text.casefold() == "off":
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", text.casefold())
    if not found:
        raise InputError(f"{VARIABLE} is {text!r}; give a size such as 8G or 500M, or off")
    return int(float(found[1]) * UNITS[found[2]])


def _machine() -> int | None:
    """Return what the machine has free, or all it has where that is all it tells."""
    try:
        found = re.search(r"^MemAvailable:\s+(\d+) kB", MEMINFO.read_text(), re.MULTILINE)
    except OSError:
        found = None
    if found:
        return int(found[1]) * 2**10
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows
        return None


def _group() -> int | None:
    """Return what the control groups that this process is in leave, version 2 or 1."""
    try:
        lines = [line.split(":", 2) for line in GROUPS.read_text().splitlines()]
    except OSError:
        return None
    left = []
    for parts in lines:
        if len(parts) < 3 or (parts[1] and "memory" not in parts[1].split(",")):
            continue
        base = GROUP_ROOT / "memory" if parts[1] else GROUP_ROOT
        names = (
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            if parts[1]
            else ("memory.max", "memory.current", "inactive_file")
        )
        own = base / parts[2].lstrip("/")
        # Every group above has a limit too; within a container the path may lead nowhere, the base does not.
        for folder in (own, *own.parents):
            if folder == base.parent:
                break
            left.append(_left(folder, *names))
    known = [value for value in left if value is not None]
    return min(known) if known else None


def _left(folder: Path, most: str, used: str, cache: str) -> int | None:
    try:
        limit = int((folder / most).read_text())  # "max" is no number: no limit
        usage = int((folder / used).read_text())
        kept = re.search(rf"^{cache} (\d+)", (folder / "memory.stat").read_text(), re.MULTILINE)
    except (OSError, ValueError):
        return None
    return limit - usage + (int(kept[1]) if kept else 0)  # cached files give way


def _process() -> int | None:
    """Return what ``ulimit -v`` leaves."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return None
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except (ImportError, OSError, ValueError, AttributeError):
        return None
    return limit - taken
