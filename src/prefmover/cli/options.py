"""Options that several verbs share, and what people type in them: users, items, ratings, measures."""

from __future__ import annotations

from collections.abc import Container, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from typer import Option

from prefmover.errors import InputError

if TYPE_CHECKING:
    from prefmover.dataset import Dataset
    from prefmover.measures import Measure as MeasureRow
    from prefmover.model.base_recommender import BaseRecommender

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


def user_id(data: Dataset, text: str) -> Any:
    """Return the id of a user as typed."""
    return data.ratings.users.tolist()[data.user_position(text)]


def item_id(data: Dataset, text: str) -> Any:
    """Return the id of an item, typed as its id or its title (a part is enough)."""
    return data.ratings.items.tolist()[data.item_position(text)]


def item_label(data: Dataset, item: Any) -> str:
    """Return the title of an item, by id."""
    return data.catalog.label(data.ratings.item_position(item))


def n_common(data: Dataset, rated: Container[Any], user: Any) -> int:
    """Return how many items a user and another person have rated."""
    return sum(item in rated for item in data.ratings[user])


def parse_rated(data: Dataset, texts: Sequence[str]) -> dict[Any, float]:
    """Return ratings that were typed as ITEM=RATING; for implicit feedback, ITEM alone is one interaction."""
    ratings: dict[Any, float] = {}
    for text in texts:
        title, sign, number = text.rpartition("=")
        try:
            rating = float(number)
        except ValueError:
            sign = ""
        if not sign and data.ratings.implicit:
            title, rating = text, 1.0
        elif not sign:
            raise InputError(f"--rated is {text!r}; give an item and its rating, such as 'Alien=4.5'")
        item = item_id(data, title)
        if item in ratings:
            raise InputError(f"--rated: {item_label(data, item)} is rated twice; rate each item once")
        ratings[item] = rating
    return ratings


def measure_of(
    model: BaseRecommender | None, name: str | None, convention: str | None
) -> tuple[MeasureRow, str | None]:
    """Return the measure and its convention: as typed, else the model's, else PMD.

    The model's convention goes with the model's measure only. Other measures may not have it, or may mean
    something else by it.
    """
    from prefmover.measures import find_measure

    if model is None:
        return find_measure(name or "pmd"), convention
    fitted = find_measure(model.measure)
    row = find_measure(name) if name else fitted
    return row, convention or (model.convention if row is fitted else None)
