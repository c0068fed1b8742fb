"""``prefmover distance``: the distance or similarity between two users."""

from __future__ import annotations

from math import isnan, nan
from typing import TYPE_CHECKING, Annotated, Any, Literal

from prefmover._format import counted
from prefmover.cli import Opt
from prefmover.cli.options import (
    MEASURE,
    USER,
    Convention,
    MeasureName,
    SourceOptions,
    measure_of,
    n_common,
    user_id,
)
from prefmover.cli.terminal import Output
from prefmover.errors import UndefinedDistanceError

if TYPE_CHECKING:
    from prefmover.dataset import Dataset
    from prefmover.measures import Measure

if TYPE_CHECKING:
    MeasureOrAll = str
else:
    MeasureOrAll = Literal[MeasureName, "all"]

EXAMPLES = (
    "prefmover distance --dataset cinema --user petra-h --other bianca-b",
    "prefmover distance -r ratings.csv -i tags.csv --user 42 --other 7 --measure all",
)


def distance(
    source: SourceOptions,
    user: Annotated[str, USER],
    other: Annotated[str, Opt("Id of the other user.", "ID")],
    measure: Annotated[MeasureOrAll | None, MEASURE] = None,
    convention: Convention = None,
) -> Output:
    """Compute the distance or similarity between two users.

    PMD is exact, and comes with a proof: the dual potentials show that no plan is cheaper.
    """
    from prefmover.measures import MEASURES

    data, model = source.open()
    pair = user_id(data, user), user_id(data, other)
    common = n_common(data, data.ratings[pair[0]], pair[1])
    answer = {"user": pair[0], "other": pair[1], "n_common": common}
    if measure == "all":
        names = [name for name, one in MEASURES.items() if not one.extension]
        rows = [measure_of(model, name, convention) for name in names]
        rows = [row for row in rows if data.geometry is not None or not row[0].needs_geometry]
        values = [_value(data, pair, *row) for row in rows]
        lines = [_line(row, value) for (row, _), value in zip(rows, values, strict=True)]
        return Output({**answer, "values": values}, lines)
    row, convention = measure_of(model, measure, convention)
    value = _value(data, pair, row, convention)
    if "reason" in value:
        raise UndefinedDistanceError(value["reason"])
    users = f"{pair[0]} and {pair[1]}, {counted(common, 'item')} in common"
    heading = [f"{row.label} {row.value_name} between {users}"]
    if "lower_bound" in value:
        heading.append(f"no plan costs less than {value['lower_bound']!r}")
    number = value[row.value_name]
    return Output({**answer, "values": [value]}, ["undefined" if isnan(number) else repr(number)], heading)


def _line(row: Measure, value: dict[str, Any]) -> str:
    number = value[row.value_name]
    text = "undefined" if isnan(number) else f"{number:.6f}"
    reason = f": {value['reason']}" if "reason" in value else ""
    return f"{row.label:<10} {text:>12}  {row.value_name}{reason}"


def _value(data: Dataset, pair: tuple[Any, Any], row: Measure, convention: str | None) -> dict[str, Any]:
    """Return a measure's value, with its lower bound if there is a proof, or the reason why it has none."""
    from prefmover.measures import pairwise
    from prefmover.measures.pmd import pmd

    if row.name == "pmd" and row.searches_by_bounds(convention):  # exact PMD, which has a proof
        try:
            plan = pmd(data, *pair)
        except UndefinedDistanceError as error:
            return {"measure": row.name, row.value_name: nan, "reason": str(error)}
        bound = plan.transport.certificate.dual
        return {"measure": row.name, "distance": plan.distance, "lower_bound": bound}
    values = pairwise(data, row, pair[:1], pair[1:], convention=convention)
    return {"measure": row.name, row.value_name: float(values[0, 0])}
