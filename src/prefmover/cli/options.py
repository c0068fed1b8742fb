"""Options that several verbs share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from prefmover.errors import InputError

if TYPE_CHECKING:
    from prefmover.execution import Executor

    ConventionName: TypeAlias = str
    DatasetName: TypeAlias = str
    MeasureName: TypeAlias = str
else:  # the choices come from the tables
    from prefmover.datasets.registry import BUILT_IN, SOURCES
    from prefmover.measures import MEASURES

    MeasureName = Literal[*MEASURES]
    ConventionName = Literal[*dict.fromkeys(name for row in MEASURES.values() for name in row.conventions)]
    DatasetName = Literal[
        *BUILT_IN, *(name for name, source in SOURCES.items() if source.form not in ("genome", "tags"))
    ]

__all__ = [
    "Address",
    "Convention",
    "DatasetName",
    "ExecutorName",
    "Json",
    "Measure",
    "MeasureName",
    "Rated",
    "TableFile",
    "Threads",
    "User",
    "open_executor",
]

Json = Annotated[bool, typer.Option("--json", help="JSON output.")]
Threads = Annotated[
    int | None,
    typer.Option("--threads", "-t", metavar="N", min=1, help="Number of threads.", show_default="all cores"),
]
User = Annotated[str, typer.Option("--user", "-u", metavar="ID", help="User.")]
Rated = Annotated[
    list[str] | None,
    typer.Option(
        "--rated",
        metavar="ITEM=RATING",
        help="Rating by a person who is not in the data; repeatable.",
        show_default=False,
    ),
]
Measure = Annotated[
    MeasureName | None,
    typer.Option(
        "--measure", case_sensitive=False, help="Similarity measure.", show_default="pmd, or the model's"
    ),
]
Convention = Annotated[
    ConventionName | None,
    typer.Option("--convention", help="Variant of the measure.", show_default="the measure's default"),
]
TableFile = Annotated[
    str,
    typer.Option(
        "--out", "-o", metavar="FILE", help="Output file, .csv or .parquet.", show_default="standard output"
    ),
]
ExecutorName = Annotated[Literal["threads", "ray"], typer.Option("--executor", help="Where the work runs.")]
Address = Annotated[
    str,
    typer.Option("--address", help="Ray cluster: auto, or host:port.", show_default="a new local cluster"),
]


@contextmanager
def open_executor(executor: ExecutorName, address: str, threads: int | None) -> Iterator[Executor | None]:
    """Open the executor of ``--executor`` and ``--address``; None means threads of this process.

    >>> with open_executor("threads", "", None) as executor:
    ...     print(executor)
    None
    """
    if executor == "threads":
        if address:
            raise InputError("--address names a Ray cluster; add --executor ray")
        yield None
        return
    from prefmover.execution import RayExecutor

    with RayExecutor(address or None, cores=threads) as cluster:
        yield cluster
