"""Reasons judged by removal, as tables: every order, and the named reasons against each by a bootstrap."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from prefmover._format import counted
from prefmover._typing import Floats
from prefmover.evaluation.record import ReasonOrder, Reasons, Record
from prefmover.report.statistics import Interval, bootstrap

__all__ = ["HEAD", "Against", "against", "facts", "mean_of", "once_rows", "order_rows", "reason_sections"]

HEAD = [
    "order",
    "del",
    "named against it",
    "cdcg",
    "named against it",
    "ins",
    "pos",
    "gone",
    "size",
    "related",
]
NOTE = (
    "What happens to the first item of a user's list without one to five of the user's ratings, in several "
    "orders (means). del: the score that is left; cdcg: 1 / log2(place + 1); pos: the share of items that "
    "are still in the list; of these, less is better. ins: the score with these ratings alone; more is "
    "better. Gone: the share of items that leave the list without the first five ratings, or all named; "
    "size: after how many. Related: the share of the first two that have to do with the item. Ties: by a "
    "bootstrap over users."
)


class Against(NamedTuple):
    """The named reasons against another order: the relative difference of means, and its interval."""

    relative: float
    interval: Interval

    def __str__(self) -> str:
        tie = "" if self.interval.p < 0.05 else ", a tie"
        return f"{self.relative:+.1%}{tie}"


def against(named: ReasonOrder, other: ReasonOrder, measure: str) -> Against | None:
    """Return how named reasons do against another order, by the users whom both can judge."""
    a, b = (np.array(one.per_user.get(measure, ()), np.float64) for one in (named, other))
    if a.shape != b.shape or not (both := ~np.isnan(a - b)).any():
        return None
    mean = float(b[both].mean())
    return Against(float(a[both].mean()) / mean - 1 if mean else 0.0, bootstrap(a[None], b[None]))


def order_rows(found: Reasons) -> list[list[str]]:
    """Return a row for each order of ratings, the one that takes most from the score first."""
    named, rows = found.orders[0], []
    for one in sorted(found.orders, key=lambda one: mean_of(one, "del")):
        row = [one.name if one is not named else f"**{one.name}**"]
        for measure in ("del", "cdcg"):
            test = None if one is named else against(named, one, measure)
            row += [_text(mean_of(one, measure)), "" if test is None else str(test)]
        row += [
            _text(mean_of(one, "ins")),
            _text(mean_of(one, "pos"), 2),
            _text(one.success, 2),
            _text(one.size, 1),
        ]
        rows.append([*row, "-" if one.related[0] is None else f"{one.related[0]:.1%}"])
    return rows


def facts(found: Reasons) -> str:
    """Return how many reasons are named, and what they do, in one paragraph."""

    def share(value: float | None) -> str:
        return "-" if value is None else f"{value:.1%}"

    wrong = f" Events: {found.events}." if str(found.events) else ""
    return (
        f"{counted(len(found.users), 'user')}, {found.n_named:.1f} ratings named for an item, "
        f"{share(found.explained)} of items with one; lists of five or more with one: {share(found.lists)}. "
        f"Without effect on the score: {share(found.no_effect)} of named ratings. Alone, "
        f"{share(found.same_place)} of them leave the item at its place; all together do in "
        f"{share(found.all_same_place)} of cases, and no single rating moves {share(found.fixed_place)} of "
        f"items. A list with reasons takes {found.milliseconds:.0f} ms."
        f"{wrong}"
    )


def reason_sections(records: Iterable[Record]) -> list[dict[str, Any]]:
    """Return a section for each record of the task: heading, paragraphs, and (words, head, rows) tables."""
    sections = []
    for one in records:
        found = one.reasons
        if found is None:
            continue
        tables = [("", HEAD, order_rows(found))]
        for words, some in (("A person taken out", found.people), ("Fitted anew", found.refitted)):
            if some:
                tables.append((words, ["", "del", "cdcg", "gone"], once_rows(some)))
        heading = f"Reasons of {one.label} at share {one.share:g}"
        sections.append({"heading": heading, "paragraphs": [facts(found), NOTE], "tables": tables})
    return sections


def once_rows(some: Iterable[ReasonOrder]) -> list[list[str]]:
    """Return a row for each kind of removal that is done once for an item."""
    return [
        [one.name, *(_text(one.metrics[name][0]) for name in ("del", "cdcg")), _text(one.success, 2)]
        for one in some
    ]


def mean_of(one: ReasonOrder, name: str, most: int = 5) -> float:
    """Return the mean of a metric over the numbers removed, up to ``most``; NaN if it is not known."""
    known = [value for value in one.metrics[name][:most] if value is not None]
    return float(np.mean(known)) if known else float("nan")


def _text(value: float | Floats | None, digits: int = 3) -> str:
    if value is None or np.isnan(value):
        return "-"
    text = f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if text.startswith("0.") else text
