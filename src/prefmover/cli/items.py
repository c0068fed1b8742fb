"""``prefmover items``: the distances between items."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from prefmover.cli.options import Json
from prefmover.cli.source import SourceOptions, library_errors
from prefmover.cli.terminal import note

if TYPE_CHECKING:
    from prefmover.items.catalog import Catalog
    from prefmover.items.geometry import ItemGeometry

app = typer.Typer(help="Inspect the distances between items.", no_args_is_help=True, add_completion=False)

EXAMPLES = {
    "near": (
        "prefmover items near Alien --dataset cinema",
        "prefmover items near Heat --items tags.csv -n 3",
        "prefmover items near Alien --model my-model --json",
    ),
    "summary": ("prefmover items summary --dataset cinema",),
}


@app.callback()
def items() -> None:
    """Inspect the distances between items."""


@app.command()
def near(
    title: Annotated[str, typer.Argument(help="Item id or title; a part of the title is enough.")],
    source: SourceOptions,
    n: Annotated[int, typer.Option("-n", metavar="N", min=1, help="Number of items.")] = 10,
    json: Json = False,
) -> None:
    """List the items nearest to an item, with their distances.

    The data are those of --model, --dataset or --ratings; --items alone is enough, too.
    """
    from prefmover.cli.output import print_json

    catalog, find_geometry = _open(source)
    position = catalog.find(title)  # before the geometry is made, which may take long
    geometry = find_geometry()
    item, label = catalog.ids.tolist()[position], catalog.label(position)
    nearest = [(one, catalog.position(one), d) for one, d in geometry.near(item, n)]
    if json:
        rows = [{"item": one, "label": catalog.label(k), "distance": d} for one, k, d in nearest]
        print_json({"item": item, "label": label, "geometry": geometry.name, "near": rows})
        return
    note(f"{label} [{item}], by {geometry.name}")
    for _, k, d in nearest:
        genres = ", ".join(catalog.genres[k])
        typer.echo(f"{d:7.4f}  {catalog.label(k)}" + (f"  ({genres})" if genres else ""))


@app.command()
def summary(source: SourceOptions, json: Json = False) -> None:
    """Summarize the distribution of the distances between items."""
    from prefmover.cli.output import print_json

    facts = _open(source)[1]().summary()
    if json:
        print_json(facts)
        return
    for name, value in facts.items():
        typer.echo(f"{name:<34} {value:.4f}" if isinstance(value, float) else f"{name:<34} {value}")


def _open(source: SourceOptions) -> tuple["Catalog", Callable[[], "ItemGeometry"]]:
    """Return the items, and a function that returns their geometry."""
    if source.items and not (source.model or source.dataset or source.ratings):
        from prefmover.items.table import read_item_table

        with library_errors():
            catalog, geometry = read_item_table(
                *source.items, item=source.item_column, encoding=source.encoding or "utf-8"
            )
        return catalog, lambda: geometry
    data, _ = source.open()
    return data.items, lambda: data.require_geometry("prefmover items")
