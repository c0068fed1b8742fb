"""The options that say who does the work: threads of this process, or a Ray cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from prefmover.errors import InputError

if TYPE_CHECKING:
    from prefmover.execution import Executor

__all__ = ["Address", "ExecutorName", "chosen"]

ExecutorName = Annotated[
    str, typer.Option("--executor", help="Who does the work: threads of this machine, or ray.")
]
Address = Annotated[
    str,
    typer.Option("--address", help="Of the Ray cluster: auto, or host:port; by default one is made here."),
]


@contextmanager
def chosen(executor: str, address: str, jobs: int | None) -> Iterator[Executor | None]:
    """Give the executor of --executor and --address; None for threads.

    >>> with chosen("threads", "", None) as executor:
    ...     print(executor)
    None
    """
    if executor not in ("threads", "ray"):
        raise InputError(f"--executor is {executor!r}; choose threads or ray")
    if executor == "threads":
        if address:
            raise InputError("--address is that of a Ray cluster: add --executor ray")
        yield None
        return
    from prefmover.execution import RayExecutor

    with RayExecutor(address or None, cores=jobs) as made:
        yield made
