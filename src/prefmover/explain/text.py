"""The sentences of explanations, for the command line, notebooks, reports and the demo."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from math import floor, isnan
from typing import TYPE_CHECKING, Any

from prefmover._format import counted
from prefmover.measures import MEASURES

if TYPE_CHECKING:
    from prefmover.explain.plan import UserExplanation
    from prefmover.explain.rating import RatingExplanation
    from prefmover.explain.recommendation import NeighborRating, OwnRating, RecommendationExplanation
    from prefmover.measures.breakdown import Flow
    from prefmover.ot import Certificate
    from prefmover.predict.predictions import Contribution
    from prefmover.rank.recommendations import Recommendation

__all__ = [
    "member_reason",
    "proof_text",
    "rating_html",
    "rating_lines",
    "rating_title",
    "reasons",
    "recommendation_html",
    "recommendation_lines",
    "recommendation_title",
    "recommended_lines",
    "user_html",
    "user_lines",
]

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
    if share is None or explanation.agreement:
        return f"{head}, {counted(explanation.n_common, 'item')} in common"
    return f"{head}, {share:.0%} of the preference in common"


def agreement_lines(explanation: UserExplanation, n: int = 3) -> list[str]:
    """Return the two parts of a measure of taste and agreement, with the ``n`` items that decide most.

    Two users agree on an item if both rated it above their means, or both below.
    """
    if "P" not in {factor.name for factor in explanation.factors}:
        return []
    taste, share = explanation.factor("D"), explanation.common_share or 0.0
    lines = [f"  taste: PMD {taste:.4f}, {share:.0%} of the preference in common"]
    flows = explanation.agreement
    agreed = [flow for flow in flows if flow.value > 0]
    opposed = [flow for flow in reversed(flows) if flow.value < 0]
    if not flows:
        return [*lines, "  agreement: unknown, since no item is rated by both"]
    head = f"  agreement: they agree on {len(agreed)} of {counted(len(flows), 'item')} that both rated"
    lines.append(f"{head} (correlation {explanation.factor('P'):+.2f}, shrunk)")
    for name, some in (("most", agreed[:n]), ("least", opposed[:n])):
        if some:
            items = (f"{explanation.label(f.source)}, {_two_ratings(f)}" for f in some)
            lines.append(f"    {name}: {'; '.join(items)}")
    return lines


def _two_ratings(flow: Flow) -> str:
    return f"{flow.source_rating:g} and {flow.target_rating:g}"


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
    lines += agreement_lines(explanation)
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
        items = f"both rated {source}, {_two_ratings(flow)}"
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
    parts = "".join(f"<p>{escape(line.strip())}</p>" for line in agreement_lines(explanation))
    return parts + _html_table(user_title(explanation), head, rows)


def proof_text(certificate: Certificate) -> str:
    """Return the proof of optimality as a sentence."""
    return (
        f"No plan is cheaper: this one costs {certificate.primal:.9f}, and the dual potentials prove that "
        f"none costs less than {certificate.dual:.9f}."
    )


def rating_title(explanation: RatingExplanation) -> str:
    """Return the item, the user and the predicted rating."""
    p = explanation.prediction
    clipped = f", clipped from {explanation.total:.2f}" if p.clipped else ""
    return f"{explanation.label(p.item)} for {p.user}: predicted rating {p.rating:.2f}{clipped}"


def rating_lines(explanation: RatingExplanation, n: int = 5) -> list[str]:
    """Return the title, the baseline, the ``n`` largest contributions and the sum, one line each."""
    rows = _rating_rows(explanation, n)
    width = max(len(name) for name, *_ in rows)
    lines = [f"  {value:>7}  {name:<{width}}  {meaning}".rstrip() for name, value, _, meaning in rows]
    return [rating_title(explanation), *lines]


def rating_html(explanation: RatingExplanation, n: int = 10) -> str:
    """Return the baseline and the ``n`` largest contributions as an HTML table."""
    head = ("part", "adds", "weight", "because")
    return _html_table(rating_title(explanation), head, _rating_rows(explanation, n))


def _rating_rows(explanation: RatingExplanation, n: int) -> list[tuple[str, str, str, str]]:
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


def reasons(explanation: RecommendationExplanation) -> list[str]:
    """Return the strongest reasons for a recommendation, one sentence each: at most three."""
    e = explanation
    own = [f"because you {_own_text(e.own[:2], e.implicit)}"] if e.own else []
    return [*own, *_people_text(e)] or [_liked_text(e)]


def member_reason(name: Any, explanation: RecommendationExplanation) -> str:
    """Return the strongest reason for one member of a group, without a full stop; "" if there is none."""
    e = explanation
    if e.own:
        return f"{name} {_own_text(e.own[:1], e.implicit)}"
    named = [one for one in e.in_favor if one.value > 0][:1]
    return f"{named[0].user}, whose taste is near {name}'s, {_gave(named[0], e.implicit)}" if named else ""


def recommended_lines(one: Recommendation | Any, place: int) -> list[str]:
    """Return a recommended item and its reasons, one line each.

    The first line has the predicted rating, or for implicit feedback the place in the list.
    """
    number = f"{place:5d}." if one.rating is None else f"{one.rating:6.2f}"
    noun = "interaction" if one.rating is None else "rating"
    return [
        f"{number}  {one.title}  ({counted(one.n_ratings, noun)})",
        *(f"        {why}" for why in one.reasons),
    ]


def _own_text(own: Sequence[OwnRating], implicit: bool) -> str:
    if implicit:
        return f"chose {_and([one.label for one in own])}"
    return f"gave {_and([f'{one.label} {one.rating:g}' for one in own])}"


def _people_text(explanation: RecommendationExplanation) -> list[str]:
    """Return who of the like-minded likes an item, how many do and do not, and the strongest against it."""
    e, lines = explanation, []
    named = [one for one in e.in_favor if one.value > 0][:2]
    if named:
        names = _and([f"{named[0].user}{_in_common(named[0])}", *(str(one.user) for one in named[1:])])
        given = list(dict.fromkeys(f"{one.rating:g}" for one in named))  # as many as names, or one for all
        gave = "chose it" if e.implicit else f"gave it {_and(given)}"
        near = _nearer_than(min(one.nearer_than for one in named), e.estimated)
        lines.append(f"people with your taste: {names}, {near}, {gave}")
    if not e.implicit and (e.n_against or e.n_for > len(named)):
        most = f"of the {_who_count(e.n_like_minded)} most for you"
        last = f"; strongest against: {e.against[0].user} {_gave(e.against[0], False)}" if e.against else ""
        lines.append(f"{most}, {e.n_for} for and {e.n_against} against{last}")
    return lines


def _who_count(n: int) -> str:
    return f"{counted(n, 'user')} who {'counts' if n == 1 else 'count'}"


def _nearer_than(share: float, estimated: bool) -> str:
    return f"nearer to you than {'about ' if estimated else ''}{floor(100 * share)}% of users"


def _in_common(one: NeighborRating) -> str:
    """Return what a neighbor has in common with the user, if it is next to nothing."""
    if one.n_common and not one.common:
        return ""
    alike = f", but likes {one.alike[1]} as you like {one.alike[0]}" if one.alike else ""
    return f" (nothing in common with you{f' but {_and(one.common)}' if one.common else alike})"


def _gave(one: NeighborRating, implicit: bool) -> str:
    return "chose it" if implicit else f"gave it {one.rating:g}"


def _liked_text(explanation: RecommendationExplanation) -> str:
    n, likes = explanation.n_ratings, explanation.n_likes
    if not n:
        return "nobody has rated it yet"
    return (
        f"chosen by {counted(n, 'user')}"
        if explanation.implicit
        else f"liked by {likes:,} of {counted(n, 'rater')}"
    )


def _and(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def recommendation_title(explanation: RecommendationExplanation) -> str:
    """Return the item, the user, the score and the predicted rating."""
    e = explanation
    rating = "" if e.rating is None else f", predicted rating {e.rating:.2f}"
    return f"{e.label} for {e.user}: score {e.score:.3f}{rating}"


def recommendation_lines(explanation: RecommendationExplanation, n: int = 5) -> list[str]:
    """Return the title, and the ``n`` largest parts of each side with their sums, one line each."""
    rows = _recommendation_rows(explanation, n)
    width = max(len(name) for name, *_ in rows)
    lines = [f"  {value:>7}  {name:<{width}}  {meaning}".rstrip() for name, value, meaning in rows]
    return [recommendation_title(explanation), *lines]


def recommendation_html(explanation: RecommendationExplanation, n: int = 10) -> str:
    """Return the ``n`` largest parts of each side as an HTML table."""
    rows = _recommendation_rows(explanation, n)
    return _html_table(recommendation_title(explanation), ("part", "adds", ""), rows)


def _recommendation_rows(explanation: RecommendationExplanation, n: int) -> list[tuple[str, str, str]]:
    """Return name, value and meaning of each part."""
    e, content = explanation, explanation.to_dict(n)
    noun, verb = ("choice", "chose") if e.implicit else ("rating", "rated")
    rows = [(f"you {_own_text([one], e.implicit)}", f"{one.value:+.3f}", _relation(one)) for one in e.own[:n]]
    own, users = content["other_own"], content["other_users"]
    if own["count"]:
        name = counted(own["count"], f"other {noun}" if rows else noun)
        rows.append((f"{name} of yours", f"{own['value']:+.3f}", ""))
    for one in e.neighbors[:n]:
        common = _in_common(one) or f", {one.n_common:,} in common"
        near = _nearer_than(one.nearer_than, e.estimated) + common
        rows.append((f"{one.user} {_gave(one, e.implicit)}", f"{one.value:+.3f}", near))
    taste = ""
    if e.n_like_minded:
        counts = "" if e.implicit else f": {e.n_for} for, {e.n_against} against"
        taste = f"of the {_who_count(e.n_like_minded)} most, {e.n_for + e.n_against} {verb} it{counts}"
    rows.append((counted(users["count"], "other user"), f"{users['value']:+.3f}", taste))
    sides = f"{e.item_side:.3f} from your {noun}s, {e.user_side:.3f} from other users"
    return [*rows, ("score", f"{e.score:.3f}", sides)]


def _relation(one: OwnRating) -> str:
    near = [] if one.distance is None else [f"distance {one.distance:.2f}"]
    both = [f"{one.n_both:,} like both, {one.lift:.1f} times as many as by chance"] if one.n_both else []
    return "; ".join(near + both)


def _html_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def cells(tag: str, texts: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(text)}</{tag}>" for text in texts) + "</tr>"

    body = "".join(cells("td", row) for row in rows)
    caption = f"<caption>{escape(title)}</caption>"
    return f"<table>{caption}<thead>{cells('th', head)}</thead><tbody>{body}</tbody></table>"
