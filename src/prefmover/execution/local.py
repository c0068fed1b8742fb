"""The executor that stays in this process: one task at a time, on all of its threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from prefmover.execution.executor import Done, Task
from prefmover.execution.summary import Summary

__all__ = ["Local"]


class Local:
    """Runs tasks here, one after the other, each on ``threads`` threads.

    Parameters
    ----------
    threads
        Within a task.
    shard_bytes
        How much of the reference users one task may look at; all of them by default.

    Examples
    --------
    >>> def double(x, threads, progress):
    ...     return 2 * x
    >>> tasks = iter([Task("a", double, (1,)), Task("b", double, (2,))])
    >>> [(done.key, done.value) for done in Local(1).run(lambda: next(tasks, None))]
    [('a', 2), ('b', 4)]
    """

    slots = 1

    def __init__(self, threads: int = 1, shard_bytes: int | None = None) -> None:
        self.threads, self.shard_bytes = threads, shard_bytes
        self.summary = Summary()

    def __repr__(self) -> str:
        return f"Local(threads={self.threads})"

    def begin(self, shared: int, largest: int) -> None:
        """Start counting anew; shared values are where they were, so there is nothing to prepare."""
        self.summary = Summary()

    def share(self, value: Any) -> Any:
        """Return the value itself."""
        return value

    def derive(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the value that the function computes."""
        return function(*arguments, threads=self.threads, progress=None)

    def run(self, take: Callable[[], Task | None]) -> Iterator[Done]:
        """Run tasks in the order in which they are taken."""
        while (task := take()) is not None:
            value = task.function(*task.arguments, threads=self.threads, progress=task.progress)
            yield Done(task.key, value, "this process")
