"""``prefmover predict``: predicted ratings of (user, item) pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from prefmover.cli.estimator import ModelOptions, fitted
from prefmover.cli.options import Json, TableFile, Threads
from prefmover.cli.source import SourceOptions, item_id, library_errors, user_id
from prefmover.cli.terminal import note, progress
from prefmover.errors import InputError

if TYPE_CHECKING:
    from prefmover.dataset import Dataset

__all__ = ["predict"]

EXAMPLES = (
    "prefmover predict --dataset cinema --user petra-h --item Alien --item 'Pride & Prejudice'",
    "prefmover predict --model my-model --pairs pairs.csv --out predictions.csv",
    "prefmover predict -r ratings.csv -i tags.csv --paper --k 20 --user 42 --item Alien --json",
)


def predict(
    source: SourceOptions,
    options: ModelOptions,
    user: Annotated[str | None, typer.Option("--user", "-u", metavar="ID", help="User.")] = None,
    item: Annotated[
        list[str] | None,
        typer.Option("--item", metavar="ITEM", help="Item id or title; repeatable.", show_default=False),
    ] = None,
    pairs: Annotated[
        str | None, typer.Option(metavar="FILE", help="File with the columns user and item.")
    ] = None,
    out: TableFile = "",
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Predict the ratings of (user, item) pairs.

    Unknown users and items in --pairs get a fallback, which the column `how` names; with --user and --item
    they are an error. Predictions of --pairs are printed as CSV.
    """
    from prefmover.cli.output import check_writable, print_json, write_table

    if bool(pairs) == bool(user or item) or bool(user) != bool(item):
        raise InputError("give --user ID with --item ITEM, or --pairs FILE")
    file = check_writable(out) if out else None
    texts = _read_pairs(str(pairs), source) if pairs else None
    data, model = source.open(threads)
    if texts is not None:
        queries = _known(data, *texts)
    else:
        queries = [(user_id(data, str(user)), item_id(data, one)) for one in item or ()]
    model = fitted(data, model, options, threads)
    with progress("predictions") as callback:
        predictions = model.predict(queries, progress=callback)
    if file is not None:
        write_table(predictions.to_frame(), file)
        note(repr(predictions))
        if not json:
            typer.echo(str(file))
    if json:
        print_json({"file": str(file)} if file else {"predictions": predictions.to_frame().to_pylist()})
    elif file is None and pairs:
        write_table(predictions.to_frame(), None)
    elif file is None:
        for one in predictions:
            label = data.items.label(data.ratings.item_position(one.item))
            typer.echo(f"{one.rating:6.2f}  {label}  (from {one.source})")


def _read_pairs(path: str, source: SourceOptions) -> tuple[list[str], list[str]]:
    from prefmover.data.columns import read_pairs

    with library_errors():
        return read_pairs(
            path, user=source.user_column, item=source.item_column, encoding=source.encoding or "utf-8"
        )


def _known(data: Dataset, users: list[str], items: list[str]) -> list[tuple[Any, Any]]:
    """Return pairs of ids; unknown ids get a fallback prediction."""
    return list(zip(_ids(users, data.ratings.users), _ids(items, data.ratings.items), strict=True))


def _ids(texts: list[str], known: Any) -> list[Any]:
    """Return the ids that texts mean; an unknown one is a number if the known ones are."""
    ids = {str(one): one for one in known.tolist()}
    numbers = known.dtype != object

    def unknown(text: str) -> Any:
        return int(text) if numbers and text.removeprefix("-").isdecimal() else text

    return [ids[text] if text in ids else unknown(text) for text in texts]
