"""Why two users are close: the value of a measure, the factors of its formula, and its flows.

For PMD the flows are the optimal transport plan: how much preference moves from which item of one user to
which item of the other. For other measures they are the terms of the sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from math import isnan
from typing import TYPE_CHECKING, Any

from prefmover._format import counted
from prefmover._table import Tabular, html_table
from prefmover.data.ratings import Ratings
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.explain.words import Words
from prefmover.measures import MEASURES, Measure, find_measure
from prefmover.measures.breakdown import Flow, PairBreakdown, breakdown, with_ids

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.axes import Axes

__all__ = ["UserExplanation", "explain_users"]

MAX_TERMS = 100
"""Terms to keep of a measure without a plan; some have one for each pair of ratings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserExplanation(PairBreakdown, Tabular):
    """Why two users are as close as they are: the breakdown of a measure, for people.

    Users and items are ids. The flows are those of a transport plan, or the largest 100 terms of another
    measure. What the two users share most comes first: in a plan, much mass between similar items; in a
    distance, its smallest terms; in a similarity, its largest. ``labels`` maps the ids of items to titles,
    and ``words`` are the words for the data.
    """

    user: Any
    other: Any
    measure: str
    convention: str
    larger_is_closer: bool
    labels: Mapping[Any, str] = field(default_factory=dict)
    words: Words = field(default_factory=Words)

    @property
    def value_name(self) -> str:
        """``"similarity"`` or ``"distance"``."""
        return "similarity" if self.larger_is_closer else "distance"

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
    def n_common(self) -> int:
        """The number of items that both rated."""
        return len(self.co_rated)

    @property
    def has_plan(self) -> bool:
        """Whether the flows are a transport plan, so that they can be drawn."""
        return any(flow.mass is not None for flow in self.flows)

    @property
    def common_share(self) -> float | None:
        """The share of the preference that stays on items both users rated; None without a plan."""
        if not self.has_plan:
            return None
        return sum(flow.mass or 0.0 for flow in self.flows if flow.source == flow.target)

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
            "factors": [f._asdict() | {"value": None if isnan(f.value) else f.value} for f in self.factors],
            "flows": [self._flow_dict(flow) for flow in self.flows[:n]],
            "certificate": proof and {"primal": proof.primal, "dual": proof.dual, "gap": proof.gap},
            "agreement": [self._flow_dict(flow) for flow in self.agreement],
        }

    def _flow_dict(self, flow: Flow) -> dict[str, Any]:
        labels = {"source_label": self.label(flow.source), "target_label": self.label(flow.target)}
        return flow._asdict() | labels

    def to_arrow(self) -> pa.Table:
        """Return the flows as a `pyarrow.Table`, one row each, with the keys of ``to_dict`` as columns."""
        import pyarrow as pa

        return pa.Table.from_pylist([self._flow_dict(flow) for flow in self.flows])

    def plot(self, ax: Axes | None = None, n: int = 25) -> Axes:
        """Draw the ``n`` heaviest flows of the plan; the closer two items, the darker their ribbon.

        Needs matplotlib (the extra ``plot``).
        """
        from prefmover.explain.plot import draw_plan

        if not self.has_plan:
            raise InputError(f"{self.measure} ({self.convention}) has no transport plan to draw; use PMD")
        return draw_plan(self, ax, n)

    def label(self, item: Any) -> str:
        """Return the title of an item, or its id."""
        return str(self.labels.get(item, item))

    @property
    def title(self) -> str:
        """The users, the value, and how much they have in common."""
        digits = ".4f" if abs(self.value) >= 0.1 else ".4g"
        value = "undefined" if isnan(self.value) else f"{self.value:{digits}}"
        label = MEASURES[self.measure].label if self.measure in MEASURES else self.measure
        head = f"{self.user} and {self.other}: {label} {self.value_name} {value}"
        if self.reason:
            return f"{head} ({self.reason})"
        share = self.common_share
        if share is None or self.agreement:
            return f"{head}, {counted(self.n_common, self.words.item_noun)} in common"
        return f"{head}, {share:.0%} of the preference in common"

    @property
    def proof(self) -> str:
        """The proof that the plan is optimal, as a sentence; "" if there is none."""
        if self.certificate is None:
            return ""
        cost, bound = self.certificate.primal, self.certificate.dual
        return (
            f"No plan is cheaper: this one costs {cost:.9f}, and the dual potentials prove that none costs "
            f"less than {bound:.9f}."
        )

    def lines(self, n: int = 12) -> list[str]:
        """Return the title, the factors of the formula, and ``n`` flows, one line each.

        What the users share most comes first. Of a long plan, a quarter of the lines are for its most
        expensive flows, which make up the distance.
        """
        lines, flows = [self.title], self.flows
        if not self.has_plan:
            width = max((len(factor.name) for factor in self.factors), default=0)
            lines += [f"  {f.name:<{width}}  {f.value:>10.6g}  {f.meaning}" for f in self.factors]
            return [*lines, *(f"  {self._flow_line(flow)}" for flow in flows[:n])]
        lines += self._agreement_lines()
        n_apart = 0 if len(flows) <= n else max(1, n // 4)
        lines += [f"  {self._flow_line(flow)}" for flow in flows[: n - n_apart]]
        if n_apart:
            apart = sorted(flows[n - n_apart :], key=lambda flow: -flow.value)[:n_apart]
            lines += ["  farthest apart:", *(f"  {self._flow_line(flow)}" for flow in apart)]
            lines.append(f"  and {counted(len(flows) - n, 'more flow')}")
        return lines

    def _flow_line(self, flow: Flow) -> str:
        """Return a flow as a line: its size, the two items with their ratings, its share of the value."""
        if flow.source == flow.target:
            items = f"both {self.words.verb} {self._both_gave(flow)}"
        else:
            items = " ↔ ".join(self._rated_items(flow))
        if flow.mass is None:
            return f"{flow.value:+10.6g}  {items}: {flow.share:.1%} of the sum"
        return f"{flow.mass:6.1%}  {items}" + (f": {flow.share:.1%} of the distance" if flow.value else "")

    def _rated_items(self, flow: Flow) -> tuple[str, str]:
        return self._gave(flow.source, flow.source_rating), self._gave(flow.target, flow.target_rating)

    def _gave(self, item: Any, *given: float) -> str:
        """Return an item, and what somebody or both gave to it: "Alien, 4 and 5"."""
        times = " and ".join(filter(None, map(self.words.times, given)))
        return f"{self.label(item)}, {times}" if times else self.label(item)

    def _both_gave(self, flow: Flow) -> str:
        return self._gave(flow.source, flow.source_rating, flow.target_rating)

    def _agreement_lines(self) -> list[str]:
        """Return the two parts of a measure of taste and agreement, with the three items that decide most.

        Two users agree on an item if both rated it above their means, or both below.
        """
        if "P" not in {factor.name for factor in self.factors}:
            return []
        taste, share = self.factor("D"), self.common_share or 0.0
        lines = [f"  taste: PMD {taste:.4f}, {share:.0%} of the preference in common"]
        flows = self.agreement
        if not flows:
            return [*lines, f"  agreement: unknown, since no {self.words.item_noun} is rated by both"]
        agreed = [flow for flow in flows if flow.value > 0]
        opposed = [flow for flow in reversed(flows) if flow.value < 0]
        both = f"{counted(len(flows), self.words.item_noun)} that both rated"
        head = f"  agreement: they agree on {len(agreed)} of {both}"
        lines.append(f"{head} (correlation {self.factor('P'):+.2f}, shrunk)")
        for name, some in (("most", agreed[:3]), ("least", opposed[:3])):
            if some:
                items = (self._both_gave(f) for f in some)
                lines.append(f"    {name}: {'; '.join(items)}")
        return lines

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        sizes = ("mass", "share of the distance") if self.has_plan else ("term", "share of the sum")
        item = self.words.item_noun
        head = (f"{self.user}'s {item}", f"{self.other}'s {item}", "similarity", *sizes)
        rows = []
        for flow in self.flows[:15]:
            similarity = "" if flow.similarity is None else f"{flow.similarity:.2f}"
            size = f"{flow.value:.4g}" if flow.mass is None else f"{flow.mass:.1%}"
            rows.append((*self._rated_items(flow), similarity, size, f"{flow.share:.1%}"))
        parts = "".join(f"<p>{escape(line.strip())}</p>" for line in self._agreement_lines())
        return parts + html_table(self.title, head, rows)


def explain_users(
    data: Dataset,
    user: int | Ratings,
    other: int,
    measure: str | Measure = "pmd",
    convention: str | None = None,
) -> UserExplanation:
    """Return the explanation of a measure's value for two users of the data, given by position.

    The first may be a guest, given by ratings of the items of the data.
    """
    row, v = find_measure(measure), other
    if isinstance(user, Ratings):
        # Most measures look at the two users only. Others, such as NHSM with its item means, need all.
        users, v = (None, other) if row.uses_others else ([other], 0)
        data = data.with_guests(user, users, with_geometry=row.needs_geometry)
    u = data.n_users - 1 if isinstance(user, Ratings) else user
    pair, items = breakdown(data, u, v, row, convention), data.ratings.items
    first, second = data.ratings.users[[u, v]].tolist()
    flows = list(_shared_first(pair, row.larger_is_closer))
    shown = sorted({item for flow in (*flows, *pair.agreement) for item in (flow.source, flow.target)})
    return UserExplanation(
        user=first,
        other=second,
        measure=row.name,
        convention=row.convention(convention),
        larger_is_closer=row.larger_is_closer,
        value=pair.value,
        factors=pair.factors,
        flows=with_ids(flows, items),
        reason=pair.reason,
        certificate=pair.certificate,
        agreement=with_ids(pair.agreement, items),
        co_rated=dict(zip(items[list(pair.co_rated)].tolist(), pair.co_rated.values(), strict=True)),
        labels=dict(zip(items[shown].tolist(), map(data.catalog.label, shown), strict=True)),
        words=Words.of(data),
    )


def _shared_first(pair: PairBreakdown, larger_is_closer: bool) -> Iterable[Flow]:
    """Return the flows of a breakdown in the order of a :class:`UserExplanation`."""
    if any(flow.mass is not None for flow in pair.flows):
        return sorted(pair.flows, key=lambda flow: -(flow.mass or 0.0) * (flow.similarity or 0.0))
    largest = pair.flows[:MAX_TERMS]
    return largest if larger_is_closer else reversed(largest)
