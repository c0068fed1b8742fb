"""Threads over blocks of work: one driver for every kernel that runs without the GIL.

A block is an index; ``work(block)`` computes it and writes its own part of the result, so the outcome
does not depend on the number of threads or on the order in which blocks end.
"""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from operator import index
from typing import TypeAlias, TypeVar

from prefmover.errors import InputError

__all__ = ["Progress", "resolve_jobs", "run"]

Progress: TypeAlias = Callable[[int, int], None]
"""Called with (done, total) from the thread that started the work."""

Block = TypeVar("Block")


def resolve_jobs(n_threads: int | None) -> int:
    """Return the number of threads: all the cores this process may use, or what was asked for.

    >>> resolve_jobs(3)
    3
    """
    if n_threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        jobs = index(n_threads)
    except TypeError:
        jobs = 0
    if jobs < 1:
        raise InputError(f"n_threads is {n_threads!r}; give a whole number from 1, or None for all cores")
    return jobs


def run(
    work: Callable[[Block], object],
    blocks: Iterable[Block],
    *,
    n_threads: int | None = None,
    sizes: Iterable[int] | None = None,
    progress: Progress | None = None,
) -> None:
    """Call ``work`` on every block, on ``n_threads`` threads.

    Parameters
    ----------
    work
        Writes its block's part of the result; the first exception it raises ends the run, as does an
        interrupt: blocks under way are waited for, no others are begun.
    blocks
        Handed out in the order given: put the heavy ones first.
    sizes
        What each block counts for in ``progress`` (1 by default).
    progress
        Called with (done, total) after each block.

    Examples
    --------
    >>> squares = [0] * 4
    >>> def work(i):
    ...     squares[i] = i * i
    >>> run(work, range(4), n_threads=2)
    >>> squares
    [0, 1, 4, 9]
    """
    todo = list(blocks)
    counts = [1] * len(todo) if sizes is None else list(sizes)
    total, done = sum(counts), 0
    jobs = min(resolve_jobs(n_threads), len(todo))
    if jobs <= 1:
        for block, count in zip(todo, counts, strict=True):
            work(block)
            done += count
            if progress is not None:
                progress(done, total)
        return
    with ThreadPoolExecutor(jobs) as pool:
        pending: dict[Future[object], int] = {}
        queue = iter(zip(todo, counts, strict=True))
        try:
            # A few blocks ahead of the threads: an interrupt then has little left to wait for.
            for block, count in queue:
                pending[pool.submit(work, block)] = count
                if len(pending) < jobs + 1:
                    continue
                done = _collect(pending, done, total, progress)
            while pending:
                done = _collect(pending, done, total, progress)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _collect(pending: dict[Future[object], int], done: int, total: int, progress: Progress | None) -> int:
    finished, _ = wait(pending, return_when=FIRST_COMPLETED)
    for future in finished:
        done += pending.pop(future)
        future.result()
        if progress is not None:
            progress(done, total)
    return done
