"""The sentences of explanations, for the command line, notebooks, reports and the demo."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from itertools import islice
from math import isnan
from typing import TYPE_CHECKING, Any

from prefmover.execution.format import counted
from prefmover.measures import MEASURES

if TYPE_CHECKING:
    from prefmover.explain.plan import UserExplanation
    from prefmover.explain.rating import RecommendationExplanation
    from prefmover.measures.breakdown import Flow
    from prefmover.ot import Certificate
    from prefmover.predict.base import Contribution

__all__ = ["proof_text", "rating_html", "rating_lines", "rating_title", "reasons", "user_html", "user_lines"]

Label = Callable[[Any], str]


def user_title(explanation: UserExplanation) -> str:
    """Return the users, the value, and how much they have in common."""
    digits = ".4f" if abs(explanation.value) >= 0.1 else ".4g"
    value = "undefined" if isnan(explanation.value) else f"{explanation.value:{digits}}"
    name = explanation.measure
    label = MEASURES[name].label if name in MEASURES else name
    head = f"{explanation.user} and {explanation.other}: {label} {explanation.value_name} {value}"
    if explanation.reason:
        return f"{head} ({explanation.reason})"
    share = explanation.common_share
    if share is None:
        return f"{head}, {counted(explanation.n_common, 'item')} in common"
    return f"{head}, {share:.0%} of the preference in common"


def user_lines(explanation: UserExplanation, n: int = 12) -> list[str]:
    """Return the title, the factors of the formula, and ``n`` flows, one line each.

    What the users share most comes first. Of a long plan, a quarter of the lines are for its most expensive
    flows, which make up the distance.
    """
    lines, flows = [user_title(explanation)], explanation.flows
    if not explanation.has_plan:
        width = max((len(factor.name) for factor in explanation.factors), default=0)
        lines += [f"  {f.name:<{width}}  {f.value:>10.6g}  {f.meaning}" for f in explanation.factors]
        return [*lines, *(f"  {_flow_line(flow, explanation)}" for flow in flows[:n])]
    n_apart = 0 if len(flows) <= n else max(1, n // 4)
    lines += [f"  {_flow_line(flow, explanation)}" for flow in flows[: n - n_apart]]
    if n_apart:
        apart = sorted(flows[n - n_apart :], key=lambda flow: -flow.value)[:n_apart]
        lines += ["  farthest apart:", *(f"  {_flow_line(flow, explanation)}" for flow in apart)]
        lines.append(f"  and {counted(len(flows) - n, 'more flow')}")
    return lines


def _flow_line(flow: Flow, explanation: UserExplanation) -> str:
    """Return a flow as a line: its size, the two items with their ratings, its share of the value."""
    source, target = explanation.label(flow.source), explanation.label(flow.target)
    items = f"{source}, {flow.source_rating:g} ↔ {target}, {flow.target_rating:g}"
    if flow.source == flow.target:
        items = f"both rated {source}, {flow.source_rating:g} and {flow.target_rating:g}"
    if flow.mass is None:
        return f"{flow.value:+10.6g}  {items}: {flow.share:.1%} of the sum"
    return f"{flow.mass:6.1%}  {items}" + (f": {flow.share:.1%} of the distance" if flow.value else "")


def user_html(explanation: UserExplanation, n: int = 15) -> str:
    """Return the first ``n`` flows as an HTML table."""
    plan = explanation.has_plan
    sizes = ("mass", "share of the distance") if plan else ("term", "share of the sum")
    head = (f"{explanation.user}'s item", f"{explanation.other}'s item", "similarity", *sizes)
    rows = []
    for flow in explanation.flows[:n]:
        source, target = explanation.label(flow.source), explanation.label(flow.target)
        similarity = "" if flow.similarity is None else f"{flow.similarity:.2f}"
        size = f"{flow.value:.4g}" if flow.mass is None else f"{flow.mass:.1%}"
        items = f"{source}, {flow.source_rating:g}", f"{target}, {flow.target_rating:g}"
        rows.append((*items, similarity, size, f"{flow.share:.1%}"))
    return _html_table(user_title(explanation), head, rows)


def proof_text(certificate: Certificate) -> str:
    """Return the proof of optimality as a sentence."""
    return (
        f"No plan is cheaper: this one costs {certificate.primal:.9f}, and the dual potentials prove that "
        f"none costs less than {certificate.dual:.9f}."
    )


def rating_title(explanation: RecommendationExplanation) -> str:
    """Return the item, the user and the predicted rating."""
    p = explanation.prediction
    clipped = f", clipped from {explanation.total:.2f}" if p.clipped else ""
    return f"{explanation.label(p.item)} for {p.user}: predicted rating {p.rating:.2f}{clipped}"


def rating_lines(explanation: RecommendationExplanation, n: int = 5) -> list[str]:
    """Return the title, the baseline, the ``n`` largest contributions and the sum, one line each."""
    rows = _rating_rows(explanation, n)
    width = max(len(name) for name, *_ in rows)
    lines = [f"  {value:>7}  {name:<{width}}  {meaning}".rstrip() for name, value, _, meaning in rows]
    return [rating_title(explanation), *lines]


def rating_html(explanation: RecommendationExplanation, n: int = 10) -> str:
    """Return the baseline and the ``n`` largest contributions as an HTML table."""
    head = ("part", "adds", "weight", "because")
    return _html_table(rating_title(explanation), head, _rating_rows(explanation, n))


def _rating_rows(explanation: RecommendationExplanation, n: int) -> list[tuple[str, str, str, str]]:
    """Return name, value, weight and meaning of each part."""
    rows = [(part.name, f"{part.value:+.3f}", "", part.meaning) for part in explanation.baseline]
    for one in explanation.contributions[:n]:
        because = evidence_text(one, explanation.label)
        rows.append((f"user {one.user}", f"{one.value:+.3f}", f"{one.weight:.3f}", because))
    if rest := explanation.contributions[n:]:
        value = sum(one.value for one in rest)
        rows.append((counted(len(rest), "other user"), f"{value:+.3f}", "", "all other neighbors together"))
    return [*rows, ("sum", f"{explanation.total:.3f}", "", "")]


def evidence_text(contribution: Contribution, label: Label) -> str:
    """Return the ratings behind a contribution: that of the item itself, or of similar items."""
    if contribution.rating is not None:
        return f"gave it {contribution.rating:g}"
    ratings = [f"{e.rating:g} to {label(e.item)}" for e in contribution.evidence[:2]]
    return f"gave {' and '.join(ratings)}" if ratings else ""


def reasons(contributions: Iterable[Contribution], label: Label, n: int = 2) -> list[str]:
    """Return a sentence for each of the first ``n`` neighbors whose ratings favor a recommendation."""
    favorable = (
        one._replace(evidence=tuple(e for e in one.evidence if e.value > 0))
        for one in contributions
        if round(one.value, 3) > 0  # explanations print three digits
    )
    sentences = (f"{one.user} {text}" for one in favorable if (text := evidence_text(one, label)))
    return list(islice(sentences, n))


def _html_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def cells(tag: str, texts: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(text)}</{tag}>" for text in texts) + "</tr>"

    body = "".join(cells("td", row) for row in rows)
    caption = f"<caption>{escape(title)}</caption>"
    return f"<table>{caption}<thead>{cells('th', head)}</thead><tbody>{body}</tbody></table>"
