"""Options that several verbs share."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from typer import Option

from prefmover.errors import InputError

if TYPE_CHECKING:
    ConventionName: TypeAlias = str
    DatasetName: TypeAlias = str
    MeasureName: TypeAlias = str
else:
    from prefmover.datasets.registry import BUILT_IN, SOURCES

    # The names in the table of measures, again: help does not import the table. A test compares them.
    MeasureName = Literal[
        *("cos", "pcc", "msd", "jaccard", "urp", "jmsd", "nhsm", "bcf", "n-bcf", "husm", "n-husm", "pmd"),
        *("pmd-agreement", "pmd-opinions"),
    ]
    ConventionName = Literal["published", "table-1", "co-rated-means", "median"]
    DatasetName = Literal[
        *BUILT_IN, *(name for name, source in SOURCES.items() if source.form not in ("genome", "tags"))
    ]

MEASURE = Option(
    "--measure", case_sensitive=False, help="Measure between users; the model's, or pmd, by default."
)
USER = Option("--user", "-u", metavar="ID", help="Id of the user.")

Threads = Annotated[
    int | None, Option("--threads", "-t", metavar="N", min=1, help="Number of threads; all cores by default.")
]
Rated = Annotated[
    list[str] | None,
    Option(metavar="ITEM=RATING", help="Rating by a person who is not in the data; repeatable."),
]
Measure = Annotated[MeasureName | None, MEASURE]
Convention = Annotated[
    ConventionName | None, Option(help="Variant of the measure; the model's, or published, by default.")
]
TableFile = Annotated[
    str, Option("--out", "-o", metavar="FILE", help="Output file, .csv or .parquet, instead of the terminal.")
]

Out = Annotated[str, Option("--out", "-o", metavar="FOLDER", help="Run folder; an unfinished run resumes.")]
Report = Annotated[bool, Option("--report/--no-report", help="Report with figures and tables at the end.")]


@dataclass(slots=True)
class ExecutorOptions:
    """Where the work runs."""

    executor: Annotated[
        Literal["threads", "ray"], Option(help="Threads of this machine, or a Ray cluster.")
    ] = "threads"
    address: Annotated[
        str, Option(metavar="HOST:PORT", help="Ray cluster, or auto; a new local one by default.")
    ] = ""

    def open(self, threads: int | None) -> AbstractContextManager[Any]:
        """Open the executor; None means threads of this process."""
        if self.executor == "ray":
            from prefmover.execution import RayExecutor

            return RayExecutor(self.address or None, n_threads=threads)
        if self.address:
            raise InputError("--address names a Ray cluster; add --executor ray")
        return nullcontext()


def check_users(
    user: Sequence[str] | None,
    rated: Sequence[str] | None,
    all_users: bool,
    together: bool,
    cluster: ExecutorOptions,
    out: str,
    example: str,
) -> None:
    """Raise an error unless the options name users in one way, and others go with it.

    ``example`` is the name of a file, for the message that one is needed.
    """
    if sum((bool(user), bool(rated), all_users)) != 1:
        raise InputError(
            "give one of --user ID, --rated ITEM=RATING (a person who is not in the data) or --all"
        )
    if all_users and not out:
        raise InputError(f"--all needs a file: add --out {example} (or .csv)")
    if together and len(user or ()) < 2:
        raise InputError("--together needs two or more people: give --user twice or more")
    if cluster.executor != "threads" and not all_users:
        raise InputError("--executor ray is for --all; a few users need no cluster")
