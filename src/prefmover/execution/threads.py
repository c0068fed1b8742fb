"""Threads over blocks of work, one driver for all kernels that run without the GIL; and the threads of BLAS.

``work(block)`` computes a block and writes its part of the result. So the result does not depend on the
number of threads or on the order in which blocks end.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from itertools import islice
from operator import index
from typing import TypeVar

from prefmover._typing import Progress
from prefmover.errors import InputError

Block = TypeVar("Block")


def resolve_threads(n_threads: int | None) -> int:
    """Return the number of threads; None means all cores that this process may use.

    >>> resolve_threads(3)
    3
    """
    if n_threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        number = 0 if isinstance(n_threads, bool) else index(n_threads)
    except TypeError:
        number = 0
    if number < 1:
        raise InputError(
            f"n_threads is {n_threads!r}; pass a whole number of at least 1, or None for all cores",
            argument="n_threads",
        )
    return number


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS on the thread that calls it.

    Threads of OpenBLAS wait for each other in busy loops. Beside another job, most of their time is spent
    there. Besides, the last bits of a product depend on how many threads share it. Setting the limit takes
    about a millisecond.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        yield


def slices(n: int, size: int) -> list[slice]:
    """Return slices of at most a size that cover n rows.

    >>> slices(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return [slice(first, min(first + size, n)) for first in range(0, n, size)]


def run(
    work: Callable[[Block], object],
    blocks: Iterable[Block],
    *,
    n_threads: int | None = None,
    sizes: Iterable[int] | None = None,
    progress: Progress | None = None,
) -> None:
    """Call ``work`` on every block, on ``n_threads`` threads.

    ``work`` writes its block's part of the result. Its first exception ends the run, as an interrupt does:
    blocks in progress are finished, no others are started. Blocks are started in order: put the heavy ones
    first. ``progress`` is called with (done, total) after each block, from the thread that called this
    function; ``sizes`` are the weights of the blocks in it (1 by default).

    >>> squares = [0] * 4
    >>> def work(i):
    ...     squares[i] = i * i
    >>> run(work, range(4), n_threads=2)
    >>> squares
    [0, 1, 4, 9]
    """
    todo = list(blocks)
    counts = [1] * len(todo) if sizes is None else list(sizes)
    total, done, number = sum(counts), 0, min(resolve_threads(n_threads), len(todo))

    def report(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, total)

    if number <= 1:
        for block, count in zip(todo, counts, strict=True):
            work(block)
            report(count)
        return
    with ThreadPoolExecutor(number) as pool:
        pending: dict[Future[object], int] = {}
        waiting = iter(zip(todo, counts, strict=True))
        try:
            # Only one block more than threads is submitted: after an interrupt, little is left to finish.
            pending |= {pool.submit(work, block): count for block, count in islice(waiting, number + 1)}
            while pending:
                finished, _ = wait(pending, return_when=FIRST_COMPLETED)
                for future in finished:
                    future.result()
                    report(pending.pop(future))
                pending |= {pool.submit(work, block): n for block, n in islice(waiting, len(finished))}
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


class Stages:
    """Reports the progress of stages, one after the other, as one progress: (steps done, steps in all).

    ``shares`` are how many of the steps each stage is, by name, in order. A progress with an attribute
    ``stage`` gets the name, for people.

    >>> stages = Stages(lambda done, total: print(f"{done} of {total}"), {"reading": 10, "solving": 30})
    >>> stages.begin("reading")  # doctest: +ELLIPSIS
    0 of 40
    <...>
    >>> solved = stages.begin("solving")
    10 of 40
    >>> solved(1, 2)
    25 of 40
    >>> stages.end()
    40 of 40
    """

    def __init__(self, progress: Progress | None, shares: Mapping[str, int]) -> None:
        self._progress, self._shares, self._total = progress, shares, sum(shares.values())

    def begin(self, name: str) -> Progress | None:
        """Begin a stage; return its own progress, which is called with steps of the stage."""
        progress, total, share = self._progress, self._total, self._shares[name]
        if progress is None:
            return None
        if hasattr(progress, "stage"):
            progress.stage = name
        names = list(self._shares)
        before = sum(self._shares[one] for one in names[: names.index(name)])
        progress(before, total)
        return lambda done, steps: progress(before + (share * done // steps if steps else share), total)

    def end(self) -> None:
        """End the last stage."""
        if self._progress is not None:
            self._progress(self._total, self._total)
