"""``prefmover neighbors``: the users most like a user, or everybody's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from prefmover.cli.executor import Address, ExecutorName, chosen
from prefmover.cli.source import Convention, Data, Jobs, Json, Measure, Rated, SourceOptions
from prefmover.cli.terminal import progress, tell
from prefmover.errors import InputError
from prefmover.execution.format import counted

if TYPE_CHECKING:
    from pathlib import Path

    from prefmover.execution import Executor
    from prefmover.search import Neighbors

__all__ = ["neighbors", "search_users", "table_of"]

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
        list[str] | None, typer.Option("--user", "-u", metavar="ID", help="Whose; repeatable.")
    ] = None,
    rated: Rated = None,
    everybody: Annotated[bool, typer.Option("--all", help="Everybody's; needs --out.")] = False,
    k: Annotated[int, typer.Option("-k", "--k", min=1, help="How many.")] = 10,
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="A .csv or .parquet file.")] = "",
    measure: Measure = None,
    convention: Convention = None,
    jobs: Jobs = None,
    executor: ExecutorName = "threads",
    address: Address = "",
    json: Json = False,
) -> None:
    """Find the users most like a user, or everybody's: exact, nearest first.

    With --all, finished parts are kept in OUT.parts until the whole is done: stop it when you like, and give
    the same command to go on.
    """
    from prefmover.cli.output import check_writable, print_json, write_table

    if sum((bool(user), bool(rated), everybody)) != 1:
        raise InputError("say whose neighbors: --user ID, --rated ITEM=RATING, or --all")
    if everybody and not out:
        raise InputError("--all is for a file: give --out neighbors.parquet (or .csv)")
    place = check_writable(out) if out else None
    if executor != "threads" and not everybody:
        raise InputError("--executor ray is for --all; a few users are soon answered here")
    data = source.open(jobs)
    asked: Any = [data.user(one) for one in user] if user else data.rated(rated) if rated else None
    with chosen(executor, address, jobs) as who:
        found = search_users(data, asked, k, measure, convention, jobs, place if everybody else None, who)
    if place is not None:
        write_table(table_of(found), place)
        _remove_parts(place)
        tell(f"{found}")
        if json:
            print_json({"file": str(place), "users": len(found.users), "rows": len(found.neighbors)})
        else:
            typer.echo(str(place))
    elif json:
        print_json(_facts(data, found, k, asked if rated else None))
    else:
        _print(data, found, asked if rated else None)


def search_users(
    data: Data,
    users: Any,
    k: int,
    measure: str | None = None,
    convention: str | None = None,
    jobs: int | None = None,
    out: Path | None = None,
    executor: Executor | None = None,
) -> Neighbors:
    """Return the neighbors of users (None: of everybody, with finished parts kept beside ``out``)."""
    from prefmover.search import nearest

    row, convention = data.measure(measure, convention)
    in_parts = out is not None and row.name == "pmd" and row.convention(convention) == row.default
    with progress(f"neighbors by {row.label}") as callback:
        return nearest(
            data.ratings,
            data.geometry,
            k,
            row,
            users,
            convention=convention,
            n_threads=jobs,
            progress=callback,
            checkpoint=_parts(out) if out is not None and in_parts else None,
            executor=executor,
        )


def table_of(found: Neighbors) -> Any:
    """Return neighbors as an Arrow table: user, rank, neighbor, and distance (or similarity)."""
    import numpy as np
    import pyarrow as pa

    counts = found.counts
    rank = np.arange(len(found.neighbors)) - np.repeat(found.indptr[:-1], counts) + 1
    return pa.table(
        {
            "user": pa.array(np.repeat(found.users, counts).tolist()),
            "rank": rank,
            "neighbor": pa.array(found.reference[found.neighbors].tolist()),
            _value_name(found): found.values,
        }
    )


def _value_name(found: Neighbors) -> str:
    return "similarity" if found.larger_is_closer else "distance"


def _facts(data: Data, found: Neighbors, k: int, guest: dict[Any, float] | None) -> dict[str, Any]:
    return {
        "data": data.name,
        "k": k,
        "users": [
            {
                "user": None if guest is not None else user,
                "neighbors": [
                    {
                        "user": other.id,
                        _value_name(found): other.distance,
                        "in_common": _in_common(data, user, other.id, guest),
                    }
                    for other in found.of(user)
                ],
            }
            for user in found.users.tolist()
        ],
    }


def _print(data: Data, found: Neighbors, guest: dict[Any, float] | None) -> None:
    several = len(found.users) > 1
    for user in found.users.tolist():
        if guest is None:
            n, others = len(data.ratings[user]), data.ratings.n_users - 1
            tell(f"{user} has {counted(n, 'rating')}; nearest of {counted(others, 'other')}:")
        if several:  # on stdout, where the rows go: without it nobody could tell whose they are
            typer.echo(f"{user}:")
        listed = found.of(user)
        if not listed:
            tell("  nobody: the measure is undefined for this user and everybody else")
        width = max((len(str(other.id)) for other in listed), default=0)
        for other in listed:
            n = _in_common(data, user, other.id, guest)
            typer.echo(f"{other.distance:9.4f}  {other.id!s:<{width}}  {n or 'nothing'} in common")


def _in_common(data: Data, user: Any, other: Any, guest: dict[Any, float] | None) -> int:
    if guest is None:
        return data.in_common(user, other)
    return len(guest.keys() & data.ratings[other].keys())


def _parts(out: Path) -> Path:
    return out.with_name(f"{out.name}.parts")


def _remove_parts(out: Path) -> None:
    from shutil import rmtree

    rmtree(_parts(out), ignore_errors=True)
