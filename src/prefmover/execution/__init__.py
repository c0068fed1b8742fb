"""The same work on threads or on a cluster: blocks with explicit inputs and outputs, and who runs them.

::

    search/blocks, evaluation/runner ─ tasks ─► Executor ─┬─ Local        threads of this process
                                     ◄─ done ─            └─ RayExecutor  cores of a Ray cluster (extra ray)

Nothing here knows what a task computes. :func:`estimate` tells beforehand how long a search will take.
"""

from prefmover.execution.estimate import Constants, Estimate, constants, estimate
from prefmover.execution.executor import Done, Executor, Task, opened
from prefmover.execution.local import Local
from prefmover.execution.ray import RayExecutor
from prefmover.execution.summary import Summary

__all__ = [
    "Constants",
    "Done",
    "Estimate",
    "Executor",
    "Local",
    "RayExecutor",
    "Summary",
    "Task",
    "constants",
    "estimate",
    "opened",
]
