"""``prefmover predict``: predicted ratings of (user, item) pairs."""

from __future__ import annotations

from typing import Annotated, Any

from prefmover._format import counted
from prefmover.cli import Opt
from prefmover.cli.options import (
    USER,
    ModelOptions,
    SourceOptions,
    TableFile,
    Text,
    Texts,
    Threads,
    fitted,
    item_id,
    item_label,
    library_errors,
    user_id,
)
from prefmover.cli.terminal import Output, check_writable, csv_lines, note, progress, write_table
from prefmover.errors import InputError

EXAMPLES = (
    "prefmover predict --dataset cinema --user petra-h --item Alien --item 'Pride & Prejudice'",
    "prefmover predict --model my-model --pairs pairs.csv --out predictions.csv",
    "prefmover predict -r ratings.csv -i tags.csv --paper --k 20 --user 42 --item Alien --json",
)


def predict(
    source: SourceOptions,
    options: ModelOptions,
    user: Annotated[str | None, USER] = None,
    item: Annotated[Texts, Opt("Id or title of an item.", "ITEM")] = None,
    pairs: Annotated[Text, Opt("File with the columns user and item.", "FILE")] = None,
    out: TableFile = "",
    threads: Threads = None,
) -> Output:
    """Predict the ratings of (user, item) pairs.

    Unknown users and items in --pairs get a fallback, which the column `how` names; with --user and --item
    they are an error. Predictions of --pairs are printed as CSV.
    """
    from prefmover.data.columns import read_pairs

    if bool(pairs) == bool(user or item) or bool(user) != bool(item):
        raise InputError("give --user ID with --item ITEM, or --pairs FILE")
    file = check_writable(out)
    texts: tuple[list[str], list[str]] = ([], [])
    if pairs:
        with library_errors():
            texts = read_pairs(pairs, source.file_options)
    data, model = source.open(threads)
    if pairs:
        users, items = data.ratings.users, data.ratings.items
        queries = list(zip(_ids(texts[0], users), _ids(texts[1], items), strict=True))
    else:
        queries = [(user_id(data, str(user)), item_id(data, one)) for one in item or ()]
    model = fitted(data, model, options, threads)
    with progress("predicting") as callback:
        predictions = model.predict(queries, progress=callback)
    table = predictions.to_arrow()
    if file:
        write_table(table, file)
        counts = ", ".join(f"{how}: {n:,}" for how, n in predictions.counts().items() if n)
        note(f"{counted(len(predictions), 'prediction')} ({counts})")
        return Output({"file": str(file)}, [str(file)])
    if pairs:
        lines = csv_lines(table)
    else:
        lines = [
            f"{one.rating:6.2f}  {item_label(data, one.item)}  (from {one.source})" for one in predictions
        ]
    return Output(lambda: {"predictions": table.to_pylist()}, lines)


def _ids(texts: list[str], known: Any) -> list[Any]:
    """Return the ids that texts mean; an unknown one is a number if the known ones are."""
    from prefmover.data.ids import is_integer

    ids = {str(one): one for one in known.tolist()}
    numbers = known.dtype != object

    def unknown(text: str) -> Any:
        return int(text) if numbers and is_integer(text) else text

    return [ids[text] if text in ids else unknown(text) for text in texts]
