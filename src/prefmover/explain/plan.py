"""Why two users are close: the value of a measure, the factors of its formula, and its flows.

For PMD the flows are the optimal transport plan: how much preference moves from which item of one user to
which item of the other. For other measures they are the terms of the sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from prefmover._typing import Floats, Ints
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.explain import text
from prefmover.measures.breakdown import Factor, Flow, PairBreakdown, breakdown
from prefmover.measures.table import Measure, find_measure
from prefmover.ot import Certificate

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.axes import Axes

__all__ = ["UserExplanation", "explain_rows", "explain_users"]

MAX_TERMS = 100
"""Terms to keep of a measure without a plan; some have one for each pair of ratings."""


@dataclass(frozen=True, slots=True)
class UserExplanation:
    """Why two users are as close as they are.

    Attributes
    ----------
    user, other
        Ids.
    measure, convention
        Names.
    value
        The value of the measure; NaN if it is undefined for this pair.
    value_name
        ``"distance"`` or ``"similarity"``.
    n_common
        Number of items that both rated.
    factors
        The factors and sums of the formula, in its order.
    flows
        All flows of a transport plan, or the largest 100 terms of another measure; the largest first.
    labels
        Item id to title, for the items of the flows.
    reason
        Why the value is undefined, if it is.
    certificate
        The proof that the transport plan is optimal; None for measures other than PMD.
    """

    user: Any
    other: Any
    measure: str
    convention: str
    value: float
    value_name: str
    n_common: int
    factors: tuple[Factor, ...]
    flows: tuple[Flow, ...]
    labels: Mapping[Any, str]
    reason: str | None = None
    certificate: Certificate | None = None

    @property
    def distance(self) -> float:
        """The value of a measure that is a distance."""
        return self._value_as("distance")

    @property
    def similarity(self) -> float:
        """The value of a measure that is a similarity."""
        return self._value_as("similarity")

    def _value_as(self, name: str) -> float:
        if name != self.value_name:
            raise AttributeError(f"{self.measure} is a {self.value_name}; use .{self.value_name}")
        return self.value

    @property
    def has_plan(self) -> bool:
        """Whether the flows are a transport plan, so that they can be drawn."""
        return any(flow.mass is not None for flow in self.flows)

    @property
    def common(self) -> list[Flow]:
        """The flows of a plan that stay on an item both users rated, heaviest first."""
        staying = [flow for flow in self.flows if flow.mass is not None and flow.source == flow.target]
        return sorted(staying, key=lambda flow: -(flow.mass or 0.0))

    @property
    def common_share(self) -> float | None:
        """The share of the preference that stays on items both users rated; None without a plan."""
        return sum(flow.mass or 0.0 for flow in self.common) if self.has_plan else None

    def to_dict(self, n: int | None = None) -> dict[str, Any]:
        """Return plain Python for JSON, with all flows or the first ``n``; undefined values are None."""
        proof = self.certificate
        return {
            "user": self.user,
            "other": self.other,
            "measure": self.measure,
            "convention": self.convention,
            self.value_name: None if isnan(self.value) else self.value,
            "reason": self.reason,
            "n_common": self.n_common,
            "common_share": self.common_share,
            "factors": [
                {"name": f.name, "value": None if isnan(f.value) else f.value, "meaning": f.meaning}
                for f in self.factors
            ],
            "flows": [self._flow_dict(flow) for flow in self.flows[:n]],
            "certificate": None
            if proof is None
            else {"primal": proof.primal, "dual": proof.dual, "gap": proof.gap},
        }

    def _flow_dict(self, flow: Flow) -> dict[str, Any]:
        return {
            "source": flow.source,
            "source_label": self.label(flow.source),
            "source_rating": flow.source_rating,
            "target": flow.target,
            "target_label": self.label(flow.target),
            "target_rating": flow.target_rating,
            "similarity": flow.similarity,
            "mass": flow.mass,
            "distance": flow.distance,
            "value": flow.value,
            "share": flow.share,
        }

    def to_frame(self) -> pa.Table:
        """Return the flows as a `pyarrow.Table`, one row each, with the keys of ``to_dict`` as columns."""
        import pyarrow as pa

        return pa.Table.from_pylist([self._flow_dict(flow) for flow in self.flows])

    def plot(self, ax: Axes | None = None, n: int = 25) -> Axes:
        """Draw the ``n`` heaviest flows of the plan; the closer two items, the darker their ribbon.

        Needs matplotlib (the extra ``plot``).
        """
        from prefmover.explain.plot import draw_flows

        if not self.has_plan:
            raise InputError(f"{self.measure} ({self.convention}) has no transport plan to draw; use PMD")
        heaviest = sorted(self.flows, key=lambda flow: -(flow.mass or 0.0))[:n]
        return draw_flows(heaviest, (str(self.user), str(self.other)), self.label, text.user_title(self), ax)

    def label(self, item: Any) -> str:
        """Return the title of an item, or its id."""
        return str(self.labels.get(item, item))

    def __str__(self) -> str:
        return "\n".join(text.user_lines(self))

    def _repr_html_(self) -> str:
        return text.user_html(self)


def explain_users(
    data: Dataset,
    user: int,
    other: int,
    measure: str | Measure = "pmd",
    convention: str | None = None,
) -> UserExplanation:
    """Return the explanation of a measure's value for two users of the data, given by position."""
    row = find_measure(measure)
    return _explanation(data, row, breakdown(data, user, other, row, convention))


def explain_rows(
    data: Dataset,
    name: Any,
    items: Ints,
    values: Floats,
    other: int,
    measure: str | Measure = "pmd",
    convention: str | None = None,
) -> UserExplanation:
    """Return the explanation of a measure's value for a guest and a user of the data.

    Parameters
    ----------
    data
        The data of the model.
    name
        What to call the guest.
    items, values
        Positions of the items that the guest rated, and the ratings.
    other
        Position of the other user.
    """
    row = find_measure(measure)
    # Most measures look at the two users only. Others, such as NHSM with its item means, need all ratings.
    everyone = data.ratings if row.uses_others else data.ratings.take(users=np.array([other]))
    position = other if row.uses_others else 0
    ratings = everyone.stack(data.ratings.one_user(name, items, values))
    joined = Dataset(ratings, data.geometry, data.items)
    return _explanation(data, row, breakdown(joined, ratings.n_users - 1, position, row, convention))


def _explanation(data: Dataset, row: Measure, pair: PairBreakdown) -> UserExplanation:
    is_plan = any(flow.mass is not None for flow in pair.flows)
    flows = pair.flows if is_plan else pair.flows[:MAX_TERMS]
    ids = {item for flow in flows for item in (flow.source, flow.target)}
    return UserExplanation(
        user=pair.user,
        other=pair.other,
        measure=row.name,
        convention=pair.convention,
        value=pair.value,
        value_name=row.value_name,
        n_common=len(pair.co_rated),
        factors=pair.factors,
        flows=flows,
        labels={item: data.items.label(data.ratings.item_position(item)) for item in ids},
        reason=pair.reason,
        certificate=pair.certificate,
    )
