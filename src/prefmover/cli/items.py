"""``prefmover items``: look at an item geometry."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from prefmover.cli.source import Json
from prefmover.cli.terminal import tell
from prefmover.errors import InputError

if TYPE_CHECKING:
    from prefmover.items.catalog import Catalog
    from prefmover.items.geometry import ItemGeometry

app = typer.Typer(help="Look at item geometries.", no_args_is_help=True, add_completion=False)

EXAMPLES = {
    "near": (
        "prefmover items near Alien",
        "prefmover items near Heat --items tags.csv -n 3",
        "prefmover items near Alien --model my-model --json",
    ),
    "summary": ("prefmover items summary --dataset cinema",),
}

Where = Annotated[str | None, typer.Option("--dataset", "-d", help="Such as ml-1m; cinema by default.")]
Tables = Annotated[
    list[str] | None,
    typer.Option("--items", "-i", metavar="FILE", help="Instead: tags, genres, text or vectors; repeatable."),
]
Model = Annotated[
    str | None, typer.Option("--model", "-m", metavar="FOLDER", help="Instead: the items of a model.")
]


@app.callback()
def look() -> None:
    """Look at item geometries."""


@app.command()
def near(
    title: Annotated[str, typer.Argument(help='Title (a part is enough) or id, such as "Alien".')],
    dataset: Where = None,
    items: Tables = None,
    model: Model = None,
    n: Annotated[int, typer.Option("-n", min=1, help="How many.")] = 10,
    json: Json = False,
) -> None:
    """Show the items nearest to one, with their distances."""
    catalog, make_geometry = _open(dataset, items, model)
    item = catalog.find(title)  # first: a misspelt title should not have to wait
    geometry = make_geometry()
    found = geometry.near(item, n)
    if json:
        from json import dumps

        rows = [{"item": i, "label": catalog.label(i), "distance": d} for i, d in found]
        about = {"item": item, "label": catalog.label(item), "geometry": geometry.name, "near": rows}
        typer.echo(dumps(about, indent=2))
        return
    tell(f"{catalog.label(item)} [{item}], by {geometry.name}")
    for i, d in found:
        genres = ", ".join(catalog.genres[catalog.index(i)])
        typer.echo(f"{d:7.4f}  {catalog.label(i)}" + (f"  ({genres})" if genres else ""))


@app.command()
def summary(dataset: Where = None, items: Tables = None, model: Model = None, json: Json = False) -> None:
    """Show how the distances of a geometry are distributed."""
    facts = _open(dataset, items, model)[1]().summary()
    if json:
        from json import dumps

        typer.echo(dumps(facts, indent=2))
        return
    for name, value in facts.items():
        typer.echo(f"{name:<34} {value:.4f}" if isinstance(value, float) else f"{name:<34} {value}")


def _open(
    dataset: str | None, tables: list[str] | None, model: str | None
) -> tuple["Catalog", Callable[[], "ItemGeometry"]]:
    if sum((dataset is not None, bool(tables), model is not None)) > 1:
        raise InputError("say which items: one of --dataset NAME, --items FILE or --model FOLDER")
    if tables:
        from prefmover.items.table import read_item_table

        catalog, geometry = read_item_table(*tables)
        return catalog, lambda: geometry
    if model is not None:
        from prefmover.cli.source import SourceOptions

        data = SourceOptions(model=model).open()
        if data.geometry is None:
            raise InputError(f"the model in {model} was fitted without distances between items")
        kept = data.geometry
        return data.catalog, lambda: kept
    from prefmover import datasets

    loaded = datasets.load(dataset or "cinema")
    return loaded.items, lambda: loaded.geometry
