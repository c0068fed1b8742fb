"""``prefmover distance``: the distance or similarity between two users."""

from __future__ import annotations

from math import isnan, nan
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from prefmover.cli.options import Convention, Json, MeasureName, User
from prefmover.cli.source import SourceOptions, measure_of, user_id
from prefmover.cli.terminal import note
from prefmover.execution.format import counted

if TYPE_CHECKING:
    from prefmover.dataset import Dataset
    from prefmover.measures import Measure

    MeasureOrAll = str
else:
    MeasureOrAll = Literal[MeasureName, "all"]

__all__ = ["distance"]

EXAMPLES = (
    "prefmover distance --dataset cinema --user petra-h --other bianca-b",
    "prefmover distance -r ratings.csv -i tags.csv --user 42 --other 7 --measure all",
)


def distance(
    source: SourceOptions,
    user: User,
    other: Annotated[str, typer.Option("--other", "-v", metavar="ID", help="Other user.")],
    measure: Annotated[
        MeasureOrAll | None,
        typer.Option(
            "--measure", case_sensitive=False, help="Similarity measure.", show_default="pmd, or the model's"
        ),
    ] = None,
    convention: Convention = None,
    json: Json = False,
) -> None:
    """Compute the distance or similarity between two users.

    PMD is exact, and comes with a proof: the dual prices show that no plan is cheaper.
    """
    from prefmover.cli.output import print_json
    from prefmover.measures import MEASURES

    data, model = source.open()
    pair = user_id(data, user), user_id(data, other)
    n_common = len(data.ratings[pair[0]].keys() & data.ratings[pair[1]].keys())
    names = list(MEASURES) if measure == "all" else [measure]
    rows = [measure_of(model, name, convention) for name in names]
    if measure == "all":
        rows = [row for row in rows if data.geometry is not None or not row[0].needs_geometry]
        values = [_value_or_reason(data, pair, *row) for row in rows]
    else:
        values = [_value(data, pair, *rows[0])]
    if json:
        print_json({"user": pair[0], "other": pair[1], "n_common": n_common, "values": values})
        return
    if measure != "all":
        (only,) = values
        row = rows[0][0]
        users = f"{pair[0]} and {pair[1]}, {counted(n_common, 'item')} in common"
        note(f"{row.label} {row.value_name} between {users}")
        if "lower_bound" in only:
            note(f"no plan costs less than {only['lower_bound']!r}")
        value = only[row.value_name]
        typer.echo("undefined" if isnan(value) else repr(value))
        return
    for (row, _), one in zip(rows, values, strict=True):
        value = "undefined" if isnan(one[row.value_name]) else f"{one[row.value_name]:.6f}"
        reason = f": {one['reason']}" if "reason" in one else ""
        typer.echo(f"{row.label:<10} {value:>12}  {row.value_name}{reason}")


def _value_or_reason(
    data: Dataset, pair: tuple[Any, Any], row: Measure, convention: str | None
) -> dict[str, Any]:
    """Return a measure's value, or the reason why it has none."""
    from prefmover.errors import UndefinedDistanceError

    try:
        return _value(data, pair, row, convention)
    except UndefinedDistanceError as error:
        return {"measure": row.name, row.value_name: nan, "reason": str(error)}


def _value(data: Dataset, pair: tuple[Any, Any], row: Measure, convention: str | None) -> dict[str, Any]:
    from prefmover.measures import similarities
    from prefmover.measures.pmd import pmd

    if row.searches_by_bounds(convention):  # exact PMD, which has a proof
        plan = pmd(data, *pair)
        proof = plan.transport.certificate
        return {"measure": row.name, "distance": plan.distance, "lower_bound": proof.dual}
    values = similarities(data, row, pair[:1], pair[1:], convention=convention)
    return {"measure": row.name, row.value_name: float(values[0, 0])}
