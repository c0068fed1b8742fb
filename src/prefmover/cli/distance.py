"""``prefmover distance``: how far apart two users are, by any measure."""

from __future__ import annotations

from math import isnan, nan
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prefmover.cli.source import Convention, Data, Json, Measure, SourceOptions
from prefmover.cli.terminal import tell
from prefmover.execution.format import counted

if TYPE_CHECKING:
    from prefmover.measures import Measure as MeasureRow

__all__ = ["distance"]

EXAMPLES = (
    "prefmover distance --dataset cinema --user petra-h --other bianca-b",
    "prefmover distance -r ratings.csv -i tags.csv --user 42 --other 7 --measure all",
)


def distance(
    source: SourceOptions,
    user: Annotated[str, typer.Option("--user", "-u", metavar="ID", help="One of them.")],
    other: Annotated[str, typer.Option("--other", "-v", metavar="ID", help="The other.")],
    measure: Measure = None,
    convention: Convention = None,
    json: Json = False,
) -> None:
    """Measure how far apart two users are; --measure all for every measure.

    For PMD the number is exact, with a proof: the cost of a plan, and prices which show that none is cheaper.
    """
    from prefmover.cli.output import print_json

    data = source.open()
    pair = data.user(user), data.user(other)
    if measure == "all":
        found = [_value_or_reason(data, pair, name, convention) for name in _names(data)]
    else:
        found = [_value(data, pair, measure, convention)]
    if json:
        print_json({"user": pair[0], "other": pair[1], "in_common": data.in_common(*pair), "values": found})
        return
    if len(found) == 1:
        one = found[0]
        tell(f"{one['label']} of {pair[0]} and {pair[1]}, {counted(data.in_common(*pair), 'item')} in common")
        if "lower_bound" in one:
            tell(f"no plan can cost less than {one['lower_bound']!r}")
        typer.echo("undefined" if isnan(one["value"]) else repr(one["value"]))
        return
    for one in found:
        value = "undefined" if isnan(one["value"]) else f"{one['value']:.6f}"
        because = f", because {one['reason']}" if "reason" in one else ""
        typer.echo(f"{one['label']:<10} {value:>12}  {one['kind']}{because}")


def _names(data: Data) -> list[str]:
    from prefmover.measures import MEASURES, find_measure

    return [name for name in MEASURES if data.geometry is not None or not find_measure(name).needs_geometry]


def _value_or_reason(
    data: Data, pair: tuple[Any, Any], measure: str, convention: str | None
) -> dict[str, Any]:
    """Return a measure's value; where it raises, that it is undefined, so that the others are still seen."""
    from prefmover.errors import UndefinedDistanceError

    try:
        return _value(data, pair, measure, convention)
    except UndefinedDistanceError as error:
        return {**_about(data.measure(measure, convention)[0]), "value": nan, "reason": str(error)}


def _about(row: MeasureRow) -> dict[str, Any]:
    kind = "similarity" if row.larger_is_closer else "distance"
    return {"measure": row.name, "label": row.label, "kind": kind}


def _value(data: Data, pair: tuple[Any, Any], measure: str | None, convention: str | None) -> dict[str, Any]:
    from prefmover.measures import similarities
    from prefmover.measures.pmd import pmd

    row, convention = data.measure(measure, convention)
    about = _about(row)
    if row.name == "pmd" and row.convention(convention) == row.default and data.geometry is not None:
        answer = pmd(data.ratings, data.geometry, *pair)
        return {**about, "value": answer.distance, "lower_bound": answer.transport.certificate.dual}
    table = similarities(
        data.ratings, row, geometry=data.geometry, users=pair[:1], others=pair[1:], convention=convention
    )
    return {**about, "value": float(table[0, 0])}
