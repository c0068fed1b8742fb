"""How a predicted rating comes about: a baseline, and what each neighbor contributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum, isnan
from typing import TYPE_CHECKING, Any

from prefmover._format import counted
from prefmover._table import Tabular, html_table
from prefmover.explain.text import lines_of_parts
from prefmover.predict.predictor import Baseline, Contribution, Prediction

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["RatingExplanation"]


@dataclass(frozen=True, slots=True)
class RatingExplanation(Tabular):
    """The baselines and contributions that add up to a predicted rating.

    Attributes
    ----------
    prediction
        The rating, and how it was made.
    baseline
        The parts that do not come from neighbors, in order: the overall mean, the offsets of the user and
        the item, and so on.
    contributions
        What each neighbor adds, largest first.
    labels
        Item id to title, for the item and for the evidence.
    value_name
        What the measure gives for two users: ``"distance"`` or ``"similarity"``.
    """

    prediction: Prediction
    baseline: tuple[Baseline, ...]
    contributions: tuple[Contribution, ...]
    labels: Mapping[Any, str]
    value_name: str = "distance"

    @property
    def total(self) -> float:
        """The sum of all parts: the prediction before it is clipped to the scale."""
        return fsum([part.value for part in self.baseline] + [one.value for one in self.contributions])

    def to_dict(self, n: int | None = None) -> dict[str, Any]:
        """Return plain Python for JSON: all contributions, or the first ``n`` and the sum of the rest."""
        p, others = self.prediction, self.contributions[n:] if n is not None else ()
        return {
            "user": p.user,
            "item": p.item,
            "label": self.label(p.item),
            "rating": p.rating,
            "total": self.total,
            "how": p.how,
            "clipped": p.clipped,
            "n_neighbors": p.n_neighbors,
            "baseline": [part._asdict() for part in self.baseline],
            "contributions": self._contributions(n),
            "others": {"count": len(others), "value": sum(one.value for one in others)},
        }

    def to_arrow(self) -> pa.Table:
        """Return the contributions as a `pyarrow.Table`, one row for each neighbor, without the evidence."""
        import pyarrow as pa

        rows = self._contributions()
        return pa.Table.from_pylist([{k: v for k, v in row.items() if k != "evidence"} for row in rows])

    def label(self, item: Any) -> str:
        """Return the title of an item, or its id."""
        return str(self.labels.get(item, item))

    @property
    def title(self) -> str:
        """The item, the user and the predicted rating."""
        p = self.prediction
        clipped = f", clipped from {self.total:.2f}" if p.clipped else ""
        return f"{self.label(p.item)} for {p.user}: predicted rating {p.rating:.2f}{clipped}"

    def lines(self, n: int = 5) -> list[str]:
        """Return the title, the baseline, the ``n`` largest contributions and the sum, one line each."""
        return [self.title, *lines_of_parts(self._rows(n))]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return html_table(self.title, ("part", "adds", "weight", "because"), self._rows(10))

    def _contributions(self, n: int | None = None) -> list[dict[str, Any]]:
        """Return contributions as plain Python for JSON; a value that was not computed is None."""
        rows = []
        for one in self.contributions[:n]:
            row = one._asdict()
            value, evidence = row.pop("measure_value"), row.pop("evidence")
            row[self.value_name] = None if value is None or isnan(value) else value
            row["evidence"] = [
                {"item": e.item, "label": self.label(e.item), "rating": e.rating, "value": e.value}
                for e in evidence
            ]
            rows.append(row)
        return rows

    def _rows(self, n: int) -> list[tuple[str, str, str, str]]:
        """Return name, value, weight and meaning of each part."""
        rows = [(part.name, f"{part.value:+.3f}", "", part.meaning) for part in self.baseline]
        rows += [
            (f"user {one.user}", f"{one.value:+.3f}", f"{one.weight:.3f}", self._because(one))
            for one in self.contributions[:n]
        ]
        if rest := self.contributions[n:]:
            value = sum(one.value for one in rest)
            rows.append(
                (counted(len(rest), "other user"), f"{value:+.3f}", "", "all other neighbors together")
            )
        return [*rows, ("sum", f"{self.total:.3f}", "", "")]

    def _because(self, one: Contribution) -> str:
        """Return the ratings behind a contribution: that of the item itself, or of similar items."""
        if one.rating is not None:
            return f"gave it {one.rating:g}"
        ratings = [f"{e.rating:g} to {self.label(e.item)}" for e in one.evidence[:2]]
        return f"gave {' and '.join(ratings)}" if ratings else ""
