"""``prefmover predict``: ratings that users would give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from prefmover.cli.source import Data, Jobs, Json, ModelOptions, SourceOptions, fitted
from prefmover.cli.terminal import progress, tell
from prefmover.errors import InputError

if TYPE_CHECKING:
    from prefmover.predict.base import Predictions

__all__ = ["predict"]

EXAMPLES = (
    "prefmover predict --dataset cinema --user petra-h --item Alien --item 'Pride & Prejudice'",
    "prefmover predict --model my-model --pairs pairs.csv --out predictions.csv",
    "prefmover predict -r ratings.csv -i tags.csv --paper --k 20 --user 42 --item Alien --json",
)


def predict(
    source: SourceOptions,
    model: ModelOptions,
    user: Annotated[str | None, typer.Option("--user", "-u", metavar="ID", help="Who.")] = None,
    item: Annotated[
        list[str] | None, typer.Option("--item", metavar="ITEM", help="An id or a title; repeatable.")
    ] = None,
    pairs: Annotated[
        str | None, typer.Option(metavar="FILE", help="A file with columns user and item instead.")
    ] = None,
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="A .csv or .parquet file.")] = "",
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Predict the ratings of (user, item) pairs.

    Users and items of --pairs that the data do not know get a fallback, and `how` says which; as --user or
    --item they are an error. Pairs from a file come out as CSV.
    """
    from prefmover.cli.output import check_writable, print_json, write_table

    if bool(pairs) == bool(user or item) or bool(user) != bool(item):
        raise InputError("say which pairs: --user ID with --item ITEM, or --pairs FILE")
    place = check_writable(out) if out else None
    wanted = _read_pairs(str(pairs), source) if pairs else None
    data = source.open(jobs)
    if wanted:
        asked = _known(data, *wanted)
    else:
        who = data.user(str(user))
        asked = [(who, data.item(one)) for one in item or ()]
    made = fitted(data, model, jobs)
    with progress("predictions") as callback:
        answers = made.predict(asked, progress=callback)
    if place is not None:
        write_table(answers.to_frame(), place)
        tell(repr(answers))
        if not json:
            typer.echo(str(place))
    if json:
        print_json({"file": str(place)} if place else {"predictions": _facts(data, answers)})
    elif place is None and pairs:
        write_table(answers.to_frame(), None)
    elif place is None:
        for p in answers:
            typer.echo(f"{p.rating:6.2f}  {data.label(p.item)}  (from {p.source})")


def _facts(data: Data, answers: Predictions) -> list[dict[str, Any]]:
    return [
        {
            "user": p.user,
            "item": p.item,
            "label": data.label(p.item),
            "rating": p.rating,
            "base": p.base,
            "how": p.how,
            "clipped": p.clipped,
            "neighbors": p.n_neighbors,
        }
        for p in answers
    ]


def _read_pairs(path: str, source: SourceOptions) -> tuple[list[str], list[str]]:
    from prefmover.cli.source import in_option_words
    from prefmover.data.readers import read_pairs

    with in_option_words():
        return read_pairs(
            path, user=source.user_column, item=source.item_column, encoding=source.encoding or "utf-8"
        )


def _known(data: Data, users: list[str], items: list[str]) -> list[tuple[Any, Any]]:
    """Return pairs by id; what the data do not know stays text, and is answered by a fallback."""
    return list(zip(map(data.user_or_text, users), map(data.item_or_text, items), strict=True))
