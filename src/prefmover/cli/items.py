"""``prefmover items``: the distances between items."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from prefmover.cli import Opt
from prefmover.cli.options import SourceOptions
from prefmover.cli.terminal import Output

if TYPE_CHECKING:
    from prefmover.items.catalog import Catalog
    from prefmover.items.geometry import ItemGeometry

app = typer.Typer(no_args_is_help=True, add_completion=False)

EXAMPLES = {
    "near": (
        "prefmover items near Alien --dataset cinema",
        "prefmover items near Heat --items tags.csv -n 3",
        "prefmover items near Alien --model my-model --json",
    ),
    "summary": ("prefmover items summary --dataset cinema",),
}


@app.command()
def near(
    title: Annotated[str, typer.Argument(help="Id or title of an item; a part of the title is enough.")],
    source: SourceOptions,
    n: Annotated[int, Opt("Number of items.", "-n", min=1)] = 10,
) -> Output:
    """List the items nearest to an item, with their distances.

    The data are those of --model, --dataset or --ratings; --items alone is enough, too.
    """
    catalog, find_geometry = _open(source)
    position = catalog.find(title)  # before the geometry is made, which may take long
    geometry = find_geometry()
    item, label = catalog.ids.tolist()[position], catalog.label(position)
    rows, lines = [], []
    for one, distance in geometry.near(item, n):
        k = catalog.position(one)
        rows.append({"item": one, "label": catalog.label(k), "distance": distance})
        genres = f"  ({', '.join(catalog.genres[k][:5])})" if catalog.genres[k] else ""
        lines.append(f"{distance:7.4f}  {catalog.label(k)}{genres}")
    name = label if label == str(item) else f"{label} [{item}]"
    data = {"item": item, "label": label, "geometry": geometry.name, "near": rows}
    return Output(data, lines, f"nearest to {name} ({geometry.name}):")


@app.command()
def summary(source: SourceOptions) -> Output:
    """Summarize the distribution of the distances between items."""
    facts = _open(source)[1]().summary()
    texts = {name: f"{value:.4f}" if isinstance(value, float) else value for name, value in facts.items()}
    return Output(facts, [f"{name:<34} {text}" for name, text in texts.items()])


def _open(source: SourceOptions) -> tuple[Catalog, Callable[[], ItemGeometry]]:
    """Return the items, and a function that returns their geometry."""
    if (source.items or source.features) and not (source.model or source.dataset or source.ratings):
        files = source.read_items()
        return files.catalog, lambda: files.geometry
    data, _ = source.open()
    return data.catalog, lambda: data.require_geometry("prefmover items")
