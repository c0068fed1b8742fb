"""``prefmover fit``: learn from ratings and keep the model in a folder."""

from __future__ import annotations

from typing import Annotated

import typer

from prefmover.cli.source import Jobs, Json, ModelOptions, SourceOptions, fitted

__all__ = ["fit"]

EXAMPLES = (
    "prefmover fit --dataset cinema --out cinema-model",
    "prefmover fit --ratings ratings.csv --items tags.csv --out my-model",
    "prefmover fit -r ratings.csv -i films.csv -i tags.csv --paper --k 20 --out paper-model",
)


def fit(
    source: SourceOptions,
    out: Annotated[str, typer.Option("--out", "-o", metavar="FOLDER", help="Where the model goes.")],
    model: ModelOptions,
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Learn from ratings and keep the model in a folder.

    Every other verb takes the folder as --model, without comparing everybody again. A model that is there
    already is replaced in one step.
    """
    from pathlib import Path

    from prefmover.cli.output import print_json
    from prefmover.errors import InputError
    from prefmover.model.catalog_file import write_catalog

    if source.model is not None:
        raise InputError("--model is fitted already; fit from --dataset or --ratings")
    if Path(out).is_file():
        raise InputError(f"--out is {out!r}, which is a file; a model is a folder")
    data = source.open()
    made = fitted(data, model, jobs)
    made.save(out)
    write_catalog(out, data.catalog)
    if json:
        facts = {
            "model": out,
            "data": data.name,
            "users": made.ratings_.n_users,
            "items": made.ratings_.n_items,
            "ratings": made.ratings_.n_ratings,
            "geometry": made.geometry_.name if made.geometry_ else None,
            "parameters": {
                name: _shown(value) for name, value in made.get_params().items() if name != "n_threads"
            },
            "settings": {name: _shown(value) for name, value in made.settings_.items()},
            "tuning": made.tuning_,
        }
        print_json(facts)
        return
    for line in made.tuning_:
        typer.echo("  ".join(f"{name}={value}" for name, value in line.items()), err=True)
    typer.echo(out)


def _shown(value: object) -> object:
    return value if isinstance(value, int | float | str | bool | None) else str(value)
