"""``prefmover neighbors``: the nearest neighbors of one user or of all users."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from prefmover.cli.options import (
    Address,
    Convention,
    ExecutorName,
    Json,
    Measure,
    Rated,
    TableFile,
    Threads,
    open_executor,
)
from prefmover.cli.source import SourceOptions, guest_name, measure_of, parse_rated, user_id
from prefmover.cli.terminal import note, progress, resumable
from prefmover.errors import InputError
from prefmover.execution.format import counted

if TYPE_CHECKING:
    from prefmover.dataset import Dataset
    from prefmover.search import NeighborList

__all__ = ["neighbors"]

EXAMPLES = (
    "prefmover neighbors --dataset cinema --user petra-h -k 5",
    "prefmover neighbors --ratings ratings.csv --items tags.csv --user 42 -k 10",
    "prefmover neighbors --ratings ratings.csv --items tags.csv --rated 'Alien=5' --rated 'Heat=2'",
    "prefmover neighbors --model my-model --all --out neighbors.parquet",
    "prefmover neighbors --dataset ml-1m --all --out neighbors.parquet --executor ray --address auto",
)


def neighbors(
    source: SourceOptions,
    user: Annotated[
        list[str] | None,
        typer.Option("--user", "-u", metavar="ID", help="User; repeatable.", show_default=False),
    ] = None,
    rated: Rated = None,
    all_users: Annotated[bool, typer.Option("--all", help="All users; needs --out.")] = False,
    k: Annotated[int, typer.Option("-k", "--k", metavar="N", min=1, help="Number of neighbors.")] = 10,
    out: TableFile = "",
    measure: Measure = None,
    convention: Convention = None,
    threads: Threads = None,
    executor: ExecutorName = "threads",
    address: Address = "",
    json: Json = False,
) -> None:
    """Find the nearest neighbors of users, exactly, nearest first.

    With --all, finished parts are saved in OUT.parts until all are done. After an interruption, run the same
    command again to resume.
    """
    from shutil import rmtree

    from prefmover.cli.output import check_writable, print_json, write_table
    from prefmover.predict.inputs import guest_ratings
    from prefmover.search import nearest

    if sum((bool(user), bool(rated), all_users)) != 1:
        raise InputError("give one of --user ID, --rated ITEM=RATING or --all")
    if all_users and not out:
        raise InputError("--all needs a file: add --out neighbors.parquet (or .csv)")
    file = check_writable(out) if out else None
    if executor != "threads" and not all_users:
        raise InputError("--executor ray is for --all; a few users need no cluster")
    data, model = source.open(threads)
    row, convention = measure_of(model, measure, convention)
    ids = [user_id(data, one) for one in user] if user else None
    guest = parse_rated(data, rated) if rated else None
    in_parts = file is not None and all_users and row.searches_by_bounds(convention)
    parts = file.with_name(f"{file.name}.parts") if file is not None and in_parts else None
    with (
        open_executor(executor, address, threads) as cluster,
        progress(f"neighbors by {row.label}") as callback,
        resumable(parts),
    ):
        table = nearest(
            data,
            k,
            ids,
            row,
            new=None if guest is None else guest_ratings(data.ratings, guest, guest_name(data)),
            convention=convention,
            n_threads=threads,
            progress=callback,
            checkpoint=parts,
            executor=cluster,
        )
    if file is not None:
        write_table(table.to_frame(), file)
        if parts is not None:
            rmtree(parts, ignore_errors=True)
        note(str(table))
        if json:
            print_json({"file": str(file), "users": len(table.users), "rows": len(table.neighbors)})
        else:
            typer.echo(str(file))
        return
    queries = [("you", guest)] if guest is not None else [(one, data.ratings[one]) for one in ids or ()]
    lists = [
        _Query(name, rated, table[user])
        for (name, rated), user in zip(queries, table.users.tolist(), strict=True)
    ]
    if json:
        users = [
            {"user": None if guest is not None else one.user, "neighbors": one.to_list(data)} for one in lists
        ]
        print_json({"data": data.name, "measure": row.name, "k": k, "users": users})
        return
    for one in lists:
        n_others = data.n_users - (guest is None)
        note(f"{one.user}: {counted(len(one.ratings), 'rating')}; nearest of {counted(n_others, 'user')}:")
        if len(lists) > 1:
            typer.echo(f"{one.user}:")
        for line in one.lines(data):
            typer.echo(line)
        if not one.neighbors:
            note("  none: the measure is undefined for this user and all others")


class _Query(NamedTuple):
    """A user with their ratings and neighbors."""

    user: Any
    ratings: dict[Any, float]
    neighbors: NeighborList

    def n_common(self, data: Dataset, other: Any) -> int:
        """Return the number of items that the user and another one have rated."""
        return len(self.ratings.keys() & data.ratings[other].keys())

    def to_list(self, data: Dataset) -> list[dict[str, Any]]:
        """Return the neighbors for JSON."""
        rows = self.neighbors.to_dict()["neighbors"]
        return [{**row, "n_common": self.n_common(data, row["user"])} for row in rows]

    def lines(self, data: Dataset) -> list[str]:
        """Return a line for each neighbor."""
        width = max((len(str(other.user)) for other in self.neighbors), default=0)
        return [
            f"{other.value:9.4f}  {other.user!s:<{width}}  "
            f"{self.n_common(data, other.user) or 'nothing'} in common"
            for other in self.neighbors
        ]
