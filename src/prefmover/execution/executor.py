"""What runs tasks: one interface, for threads of this process and for a Ray cluster.

A task is a function of the package, its arguments, and a key that tells whose result it is. It reads its
arguments and returns a value; it writes nothing and keeps nothing, so that it can run anywhere, and again
if the machine that ran it is lost. Large values that many tasks read are shared once.

::

    for done in executor.run(take):     # take() gives the next task, None if none is ready
        ...                             # done.value; may make further tasks ready
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol, runtime_checkable

from prefmover.errors import InputError
from prefmover.execution.summary import Summary
from prefmover.execution.threads import Progress, resolve_jobs

__all__ = ["Done", "Executor", "Task", "opened"]


class Task(NamedTuple):
    """A piece of work.

    Attributes
    ----------
    key
        Whose result it is; different for every task.
    function
        At the top level of a module of this package; called as
        ``function(*arguments, threads=..., progress=...)``.
    arguments
        Small values, and what :meth:`Executor.share` or :meth:`Executor.derive` returned.
    progress
        Called with (done, total) while it runs, where that is in this process.
    """

    key: Hashable
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    progress: Progress | None = None


class Done(NamedTuple):
    """A finished task: its key, what it returned, and where that was computed."""

    key: Any
    value: Any
    node: str


@runtime_checkable
class Executor(Protocol):
    """Runs tasks. :class:`~prefmover.execution.Local` and :class:`~prefmover.execution.RayExecutor` are two.

    Attributes
    ----------
    summary
        What was done since :meth:`begin`.
    slots
        Tasks worth having under way at the same time; about twice as many as run.
    shard_bytes
        How much of the reference users one task may look at; None for all.
    """

    summary: Summary
    shard_bytes: int | None

    @property
    def slots(self) -> int:
        """Return how many tasks to have under way."""

    def begin(self, shared: int, largest: int) -> None:
        """Prepare for a run whose shared values take so many bytes, and a task's so many at once."""

    def share(self, value: Any) -> Any:
        """Hand over a value that many tasks read, once; return what stands for it in arguments."""

    def derive(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Compute a value that many tasks read; return what stands for it in arguments."""

    def run(self, take: Callable[[], Task | None]) -> Iterator[Done]:
        """Run tasks as they become ready, and yield them as they finish."""


@contextmanager
def opened(executor: str | Executor | None, n_threads: int | None = None) -> Iterator[Executor]:
    """Give the executor that was asked for; one that is made here is closed at the end.

    >>> with opened("threads", 2) as executor:
    ...     executor
    Local(threads=2)
    """
    if executor is None or executor == "threads":
        from prefmover.execution.local import Local

        yield Local(resolve_jobs(n_threads))
    elif executor == "ray":
        from prefmover.execution.ray import RayExecutor

        with RayExecutor(cores=n_threads) as made:
            yield made
    elif isinstance(executor, str) or not isinstance(executor, Executor):
        raise InputError(
            f'executor is {executor!r}; choose "threads", "ray", or give a prefmover.execution.RayExecutor'
        )
    else:
        yield executor
