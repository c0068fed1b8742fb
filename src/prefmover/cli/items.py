"""``prefmover items``: look at an item geometry."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from prefmover.cli.terminal import tell

if TYPE_CHECKING:
    from prefmover.datasets.catalogue import Catalogue
    from prefmover.items import ItemGeometry

app = typer.Typer(help="Look at item geometries.", no_args_is_help=True, add_completion=False)

Where = Annotated[str, typer.Option("--dataset", "-d", help="Such as cinema or ml-1m.")]
Table = Annotated[
    str,
    typer.Option("--items", help="A CSV file instead: item, and title, genres, tags or text where known."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")]


@app.callback()
def items() -> None:
    """Look at item geometries."""


@app.command()
def near(
    title: Annotated[str, typer.Argument(help='Title (a part is enough) or id, such as "Alien".')],
    dataset: Where = "cinema",
    table: Table = "",
    n: Annotated[int, typer.Option("-n", min=1, help="How many.")] = 10,
    json: Json = False,
) -> None:
    """Show the items nearest to one, with their distances."""
    catalogue, make_geometry = _open(dataset, table)
    item = catalogue.find(title)  # first: a misspelt title should not have to wait
    geometry = make_geometry()
    found = geometry.near(item, n)
    if json:
        from json import dumps

        rows = [{"item": i, "label": catalogue.label(i), "distance": d} for i, d in found]
        about = {"item": item, "label": catalogue.label(item), "geometry": geometry.name, "near": rows}
        typer.echo(dumps(about, indent=2))
        return
    tell(f"{catalogue.label(item)} [{item}], by {geometry.name}")
    for i, d in found:
        genres = ", ".join(catalogue.genres[catalogue.index(i)])
        typer.echo(f"{d:7.4f}  {catalogue.label(i)}" + (f"  ({genres})" if genres else ""))


@app.command()
def summary(dataset: Where = "cinema", table: Table = "", json: Json = False) -> None:
    """Show how the distances of a geometry are distributed."""
    from prefmover.datasets.quality import summary as describe

    facts = describe(_open(dataset, table)[1]())
    if json:
        from json import dumps

        typer.echo(dumps(facts, indent=2))
        return
    for name, value in facts.items():
        typer.echo(f"{name:<34} {value:.4f}" if isinstance(value, float) else f"{name:<34} {value}")


def _open(dataset: str, table: str) -> tuple["Catalogue", Callable[[], "ItemGeometry"]]:
    if table:
        from prefmover.datasets.item_table import read_item_table

        catalogue, geometry = read_item_table(table)
        return catalogue, lambda: geometry
    from prefmover import datasets

    loaded = datasets.load(dataset)
    return loaded.items, lambda: loaded.geometry
