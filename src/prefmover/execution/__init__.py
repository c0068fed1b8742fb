"""Threads, executors, memory checks, atomic files, and the compiler's settings.

::

    search, model, evaluation ─ tasks ─► Executor ─┬─ LocalExecutor  threads of this process
                              ◄─ done ─            └─ RayExecutor    cores of a Ray cluster

This package does not know what a task computes.
"""

from prefmover.execution.executor import Done, Executor, LocalExecutor, Summary, Task, opened
from prefmover.execution.ray import RayExecutor

__all__ = ["Done", "Executor", "LocalExecutor", "RayExecutor", "Summary", "Task", "opened"]
