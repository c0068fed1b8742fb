"""How a predicted rating comes about: a baseline, and what each neighbor contributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum, isnan
from typing import TYPE_CHECKING, Any

from prefmover.explain import text
from prefmover.predict.predictions import Baseline, Contribution, Prediction

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["RatingExplanation"]


@dataclass(frozen=True, slots=True)
class RatingExplanation:
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
            "contributions": self._rows(n),
            "others": {"count": len(others), "value": sum(one.value for one in others)},
        }

    def to_arrow(self) -> pa.Table:
        """Return the contributions as a `pyarrow.Table`, one row for each neighbor, without the evidence."""
        import pyarrow as pa

        return pa.Table.from_pylist(
            [{k: v for k, v in row.items() if k != "evidence"} for row in self._rows()]
        )

    def _rows(self, n: int | None = None) -> list[dict[str, Any]]:
        return [contribution_dict(one, self.value_name, self.labels) for one in self.contributions[:n]]

    def label(self, item: Any) -> str:
        """Return the title of an item, or its id."""
        return str(self.labels.get(item, item))

    def __str__(self) -> str:
        return "\n".join(text.rating_lines(self))

    def _repr_html_(self) -> str:
        return text.rating_html(self)


def contribution_dict(one: Contribution, value_name: str, labels: Mapping[Any, str]) -> dict[str, Any]:
    """Return a contribution as plain Python for JSON; a value that was not computed is None."""
    value = one.measure_value
    return {
        "user": one.user,
        "weight": one.weight,
        "rating": one.rating,
        "residual": one.residual,
        "value": one.value,
        value_name: None if value is None or isnan(value) else value,
        "evidence": [
            {"item": e.item, "label": str(labels.get(e.item, e.item)), "rating": e.rating, "value": e.value}
            for e in one.evidence
        ],
    }
