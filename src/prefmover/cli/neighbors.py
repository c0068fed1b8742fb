"""``prefmover neighbors``: the nearest neighbors of one user or of all users."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from prefmover._format import counted
from prefmover.cli import Opt
from prefmover.cli.options import (
    Convention,
    ExecutorOptions,
    Measure,
    PeopleOptions,
    Seed,
    SourceOptions,
    TableFile,
    Threads,
    measure_of,
    n_common,
)
from prefmover.cli.terminal import STATE, Output, check_writable, note, progress, resumable, write_rows
from prefmover.errors import InputError

if TYPE_CHECKING:
    from prefmover.dataset import Dataset
    from prefmover.measures import Measure as MeasureRow
    from prefmover.search import NeighborList, Neighbors

LARGE = 50_000  # users beyond which an exact search of all of them takes hours
EXAMPLES = (
    "prefmover neighbors --dataset cinema --user petra-h -n 5",
    "prefmover neighbors --dataset cinema --user petra-h --user ada-b --together",
    "prefmover neighbors --ratings ratings.csv --items tags.csv --user 42 -n 10",
    "prefmover neighbors --ratings ratings.csv --items tags.csv --rated 'Alien=5' --rated 'Heat=2'",
    "prefmover neighbors --model my-model --all --out neighbors.parquet",
    "prefmover neighbors --dataset cinema --all --out neighbors.csv --method candidates --recall .9",
    "prefmover neighbors --dataset ml-1m --all --out neighbors.parquet --executor ray --address auto",
)


def neighbors(
    source: SourceOptions,
    people: PeopleOptions,
    *,
    together: Annotated[bool, Opt("Neighbors of all --user together, by PMD.")] = False,
    n: Annotated[int, Opt("Number of neighbors.", "-n", min=1)] = 10,
    out: TableFile = "",
    measure: Measure = None,
    convention: Convention = None,
    method: Annotated[
        Literal["exact", "candidates"],
        Opt("With --all: all nearest neighbors, or most of them in a fraction of the time."),
    ] = "exact",
    recall: Annotated[
        float | None, Opt("Share of the nearest that candidates must find; .95 by default.", "SHARE")
    ] = None,
    seed: Seed = 0,
    threads: Threads = None,
    cluster: ExecutorOptions,
) -> Output:
    """Find the nearest neighbors of users, nearest first.

    They are exact, unless --method candidates is given: then distances are exact, but some neighbors may be
    missing. How many is measured and printed.

    With --all, finished parts are saved in OUT.parts until all are done. After an interruption, run the same
    command again to resume.
    """
    from prefmover.model.inputs import guest_ratings
    from prefmover.search import nearest, nearest_to_group

    people.check(together, cluster, out, "neighbors.parquet")
    file = check_writable(out)
    _check_method(method, recall, people.all_users)
    data, model = source.open(threads)
    row, convention = measure_of(model, measure, convention)
    users, guest = people.find(data)
    searches_by_bounds = row.name == "pmd" and row.searches_by_bounds(convention)
    if together:
        if not searches_by_bounds:
            raise InputError(
                f"--together compares users by pmd as published only, not by {row.label} "
                f"({row.convention(convention)}); "
                "give --measure pmd --convention published, or leave out --together"
            )
        with progress("neighbors by PMD"):
            group = nearest_to_group(data, users, n, n_threads=threads)
        if file:
            return write_rows(group.to_arrow(), file, "neighbor", len(users), " together")
        return _shown_group(data, users, group, n)
    in_parts = people.all_users and searches_by_bounds
    parts = file.with_name(f"{file.name}.parts") if file and in_parts else None
    if in_parts and method == "exact" and data.n_users >= LARGE:
        pairs = f"{data.n_users * (data.n_users - 1):,} pairs of users"
        note(f"exact neighbors of {pairs}; --method candidates finds most of them in a fraction of the time")
    new = guest_ratings(data.ratings, guest, data.ratings.user_index.free_name("guest")) if guest else None
    options: dict[str, Any] = {"recall": recall, "seed": seed} if method == "candidates" else {}
    with (
        cluster.open(threads) as executor,
        progress(f"neighbors by {row.label}") as callback,
        resumable(parts),
    ):
        table = nearest(
            data, n, users or None, row, new=new, convention=convention, n_threads=threads,
            progress=callback, checkpoint=parts, executor=executor, method=method,
            **options,
        )  # fmt: skip
    if not file:
        return _shown(data, table, row, n, guest)
    how = f"; {table.stats.solved / (table.stats.pairs or 1):.1%} of the pairs solved" if parts else ""
    if table.recall is not None:
        how = f"; recall {table.recall}"
    written = write_rows(table.to_arrow(), file, "neighbor", len(table.users), how, parts)
    if table.recall is not None:
        written.data["recall"] = table.recall.to_dict()
    return written


def _check_method(method: str, recall: float | None, all_users: bool) -> None:
    """Raise an error about options of a search that is not made."""
    if method == "candidates" and not all_users:
        raise InputError("--method candidates is for --all; a few users are searched exactly in seconds")
    if method == "exact" and recall is not None and not STATE.is_from_file("recall"):
        raise InputError("--recall is for --method candidates; the exact search finds all neighbors")


def _shown(
    data: Dataset, table: Neighbors, row: MeasureRow, k: int, guest: dict[Any, float | None]
) -> Output:
    """Return the neighbors of a few users, or of a guest."""
    users, lines, heading = [], [], ""
    n_others = counted(data.n_users - (not guest), "user")
    for one in table.users.tolist():
        ratings = guest or data.ratings[one]
        rows: list[dict[str, Any]] = [
            {**other, "n_common": n_common(data, ratings, other["user"])}
            for other in table[one].to_dict()["neighbors"]
        ]
        users.append({"user": None if guest else one, "neighbors": rows})
        name = "you" if guest else one
        if len(table.users) > 1:
            lines.append(f"{name}:")
        elif rows:
            noun = "interaction" if data.ratings.implicit else "rating"
            heading = f"{name}: {counted(len(ratings), noun)}; nearest of {n_others}:"
        lines += _lines(rows, row.value_name)
        if len({other[row.value_name] for other in rows}) == 1 < len(rows) and not any(
            other["n_common"] for other in rows
        ):
            why = "all are equally far and share no item with this user; their order means nothing"
            note(f"{name}: nobody here is nearer than anybody else: {why}")
        if not rows:
            note(f"{name}: no neighbors, because {row.label} is undefined between this user and all others")
    return Output({"data": data.name, "measure": row.name, "k": k, "users": users}, lines, heading)


def _lines(rows: list[dict[str, Any]], value_name: str) -> list[str]:
    """Return a line for each neighbor: value, id, number of items in common."""
    width = max((len(str(one["user"])) for one in rows), default=0)
    return [
        f"{one[value_name]:9.4f}  {one['user']!s:<{width}}  {one['n_common'] or 'nothing'} in common"
        for one in rows
    ]


def _shown_group(data: Dataset, users: list[Any], found: NeighborList, k: int) -> Output:
    """Return the neighbors of several users together."""
    rated = {item for one in users for item in data.ratings[one]}
    rows = [
        {"user": one.user, "distance": one.value, "n_common": n_common(data, rated, one.user)}
        for one in found
    ]
    others = counted(data.n_users - len(users), "other user")
    heading = f"{', '.join(map(str, users))} together; nearest of {others}:"
    answer = {"data": data.name, "measure": "pmd", "k": k, "group": users, "neighbors": rows}
    return Output(answer, _lines(rows, "distance"), heading)
