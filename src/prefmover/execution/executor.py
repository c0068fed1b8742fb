"""Executors: one interface to run tasks on threads of this process or on a Ray cluster.

A task is a function of the package, its arguments, and a key. It reads its arguments and returns a value,
without side effects. So it can run anywhere, and again if the machine that ran it is lost. Large values that
many tasks read are shared once.

::

    for done in executor.run(next_task):     # next_task() returns a task, or None if none is ready
        ...                                  # done.value; may make further tasks ready
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

from prefmover._format import counted
from prefmover._typing import Progress
from prefmover.errors import InputError
from prefmover.execution.threads import resolve_threads

logger = logging.getLogger("prefmover")


class Task(NamedTuple):
    """A piece of work, with a key of its own.

    The function is at the top level of a module of this package, and is called as
    ``function(*arguments, n_threads=..., progress=...)``. Arguments are small values, and results of
    :meth:`Executor.share` or :meth:`Executor.derive`. ``progress`` is called with (done, total) while the
    task runs, if it runs in this process.
    """

    key: Hashable
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    progress: Progress | None = None


class Done(NamedTuple):
    """A finished task: its key, its value, and the node that computed it."""

    key: Any
    value: Any
    node: str


@dataclass(slots=True)
class Summary:
    """The work that a run took.

    Attributes
    ----------
    tasks, retries, resumed
        Finished tasks, tasks that were lost with a process or node and run again, and results of an earlier
        run.
    solved
        Pairs of users whose distance was computed.
    nodes_lost
        Nodes that left the cluster.
    seconds
        Time by node, then by stage.

    Examples
    --------
    >>> summary = Summary()
    >>> summary.record("node-a", {"bounds": 2.0, "exact": 1.0}, solved=10)
    >>> summary.record("node-a", {"exact": 0.5}, solved=5)
    >>> print(summary)
    2 tasks, 0 run again, 15 pairs solved
      node-a: 3.5 s (bounds 2.0, exact 1.5)
    """

    tasks: int = 0
    retries: int = 0
    resumed: int = 0
    solved: int = 0
    nodes_lost: int = 0
    seconds: dict[str, dict[str, float]] = field(default_factory=dict)

    def record(self, node: str, stages: Mapping[str, float], solved: int = 0) -> None:
        """Add a finished task."""
        self.tasks += 1
        self.solved += solved
        seconds = self.seconds.setdefault(node, {})
        for stage, value in stages.items():
            seconds[stage] = seconds.get(stage, 0.0) + value

    def __str__(self) -> str:
        counts = [counted(self.tasks, "task"), f"{self.retries:,} run again"]
        if self.nodes_lost:
            counts.append(f"{counted(self.nodes_lost, 'node')} lost")
        counts.append(f"{counted(self.solved, 'pair')} solved")
        if self.resumed:
            counts.append(f"{counted(self.resumed, 'part')} of an earlier run")
        lines = [", ".join(counts)]
        for node, stages in sorted(self.seconds.items()):
            by_stage = ", ".join(f"{stage} {seconds:,.1f}" for stage, seconds in stages.items())
            lines.append(f"  {node}: {sum(stages.values()):,.1f} s ({by_stage})")
        return "\n".join(lines)

    def log(self) -> None:
        """Log the counts, and each node on a line of its own."""
        for line in str(self).splitlines():
            logger.info("prefmover: %s", line.strip())


@runtime_checkable
class Executor(Protocol):
    """Runs tasks: :class:`LocalExecutor` and :class:`~prefmover.execution.RayExecutor` do.

    ``summary`` is the work since :meth:`begin`, and ``shard_bytes`` the bytes of the searched users that one
    task may read; None for all.
    """

    summary: Summary
    shard_bytes: int | None

    @property
    def slots(self) -> int:
        """Return the number of tasks to have in progress at a time; about twice as many as run."""

    def begin(self, shared: int, largest: int) -> None:
        """Prepare for a run: the bytes of all shared values, and of those that one task reads."""

    def share(self, value: Any) -> Any:
        """Store a value that many tasks read; return an argument that stands for it."""

    def derive(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Compute a value that many tasks read; return an argument that stands for it."""

    def run(self, next_task: Callable[[], Task | None]) -> Iterator[Done]:
        """Run tasks as they become ready, and yield them as they finish."""


class LocalExecutor:
    """Runs tasks in this process, one after the other, each on ``n_threads`` threads.

    Examples
    --------
    >>> def double(x, n_threads, progress):
    ...     return 2 * x
    >>> tasks = iter([Task("a", double, (1,)), Task("b", double, (2,))])
    >>> [(done.key, done.value) for done in LocalExecutor(1).run(lambda: next(tasks, None))]
    [('a', 2), ('b', 4)]
    """

    slots = 1

    def __init__(self, n_threads: int = 1, shard_bytes: int | None = None) -> None:
        self.n_threads, self.shard_bytes = n_threads, shard_bytes
        self.summary = Summary()

    def __repr__(self) -> str:
        return f"LocalExecutor(n_threads={self.n_threads})"

    def begin(self, shared: int, largest: int) -> None:
        """Reset the summary."""
        self.summary = Summary()

    def share(self, value: Any) -> Any:
        """Return the value itself."""
        return value

    def derive(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the value of the function."""
        return function(*arguments, n_threads=self.n_threads, progress=None)

    def run(self, next_task: Callable[[], Task | None]) -> Iterator[Done]:
        """Run tasks in the order in which they become ready."""
        while (task := next_task()) is not None:
            value = task.function(*task.arguments, n_threads=self.n_threads, progress=task.progress)
            yield Done(task.key, value, "this process")


@contextmanager
def open_executor(executor: str | Executor | None, n_threads: int | None = None) -> Iterator[Executor]:
    """Yield the executor of a name, closed at the end; or the executor itself.

    >>> with open_executor("threads", 2) as executor:
    ...     executor
    LocalExecutor(n_threads=2)
    """
    if executor is None or executor == "threads":
        yield LocalExecutor(resolve_threads(n_threads))
    elif executor == "ray":
        from prefmover.execution.ray import RayExecutor

        with RayExecutor(n_threads=n_threads) as ray_executor:
            yield ray_executor
    elif isinstance(executor, str) or not isinstance(executor, Executor):
        raise InputError(
            f'executor is {executor!r}; choose "threads" or "ray", or pass a prefmover.execution.RayExecutor'
        )
    else:
        yield executor
