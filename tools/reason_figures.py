"""Figures of reasons: what removing the named ratings does, in each cell, the losing ones first."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from prefmover.explain.reasons import ALONE
from prefmover.report.reasons import HEAD, against, facts, once_rows, order_rows
from tools.cells import DATASETS, Cell, NoRecordsError, records, shown, table

TARGET = 0.1  # named reasons are at most this much behind the largest terms


@cache
def finished() -> list[tuple[str, Any]]:
    """Return the data set and the record of each cell, at least one."""
    found = []
    for folder in DATASETS:
        try:
            found += [(folder, one) for one in records(f"reasons/{folder}")]
        except NoRecordsError:
            continue
    if not found:
        raise NoRecordsError
    return found


def _name(folder: str, one: Any) -> str:
    return f"{DATASETS[folder]}, {one.share:.0%}"


def _ours() -> list[tuple[str, Any]]:
    return [pair for pair in finished() if pair[1].recommender == "default"]


def targets() -> str:
    """Return how the default's reasons stand against its largest terms, the worst CDCG first."""
    rows = []
    for folder, one in _ours():
        orders = {order.name: order for order in one.reasons.orders}
        tests = [
            against(orders["named"], orders[name], measure) if name in orders else None
            for name in ("terms", "related-terms", "as-many-terms")
            for measure in ("del", "cdcg")
        ]
        texts = [
            f"**{test}**" if test is not None and test.relative > TARGET else str(test or "-")
            for test in tests
        ]
        worst = max(test.relative for test in tests if test is not None)
        rows.append((worst, [_name(folder, one), str(len(one.reasons.users)), *texts]))
    head = ["data, share", "users", "del, against the largest terms", "cdcg",
            "del, against the largest related", "cdcg", "del, against as many", "cdcg"]  # fmt: skip
    return table(head, [row for _, row in sorted(rows, key=lambda pair: -pair[0])])


def numbers() -> str:
    """Return what is named and what it does, the least related first."""
    rows = []
    for folder, one in finished():
        found = one.reasons
        shares = (*found.related, found.explained, found.lists, found.no_effect, found.same_place,
                  found.all_same_place, found.fixed_place)  # fmt: skip
        texts = ["-" if share is None else f"{share:.1%}" for share in shares]
        rows.append(
            (
                found.related[0] or 0.0,
                [_name(folder, one), shown(Cell([(one, 0)])), f"{found.n_named:.1f}", *texts],
            )
        )  # fmt: skip
    head = ["data, share", "", "named for an item", "related, in sentences", "related, all named",
            "items with a reason", "lists with a reason", "without effect on the score",
            "place unchanged without it", "without all named", "without any single rating"]  # fmt: skip
    return table(head, [row for _, row in sorted(rows, key=lambda pair: pair[0])])


def orders(folder: str, share: str, recommender: str = "default") -> str:
    """Return a row for each order of ratings in a cell."""
    return table(HEAD, order_rows(_cell(folder, share, recommender).reasons))


def once(folder: str, share: str) -> str:
    """Return what comes of taking out a person, and of fitting the default anew."""
    found = _cell(folder, share, "default").reasons
    rows = [["a person", *row] for row in once_rows(found.people)]
    rows += [["fitted anew", *row] for row in once_rows(found.refitted)]
    return table(["taken out", "", "del", "cdcg", "gone"], rows)


def seconds() -> str:
    """Return the milliseconds of lists with reasons, of a run on a quiet machine."""
    rows = [
        [_name(one.dataset, one), shown(Cell([(one, 0)])), f"{one.reasons.milliseconds:,.0f}"]
        for one in records("reasons/quiet")
    ]
    return table(["data, share", "", "ms for a list"], rows)


def trade() -> str:
    """Return what is named at each value of the trade, and what it does; the value in use is bold."""
    cells = [(_name(folder, one), one.reasons.trade) for folder, one in _ours() if one.reasons.trade]
    if not cells:
        raise NoRecordsError
    rows = []
    for k, value in enumerate(point.alone for point in cells[0][1]):
        mark = "**" if value == ALONE else ""
        row = [f"{mark}{value:g}{mark}"]
        for _, points in cells:
            one = points[k]
            some = [f"{share:.1%}" for share in one.related if share is not None]
            some += [f"{one.behind[name]:+.1%}" for name in ("del", "cdcg") if one.behind[name] is not None]
            row.append(" · ".join(some))
        rows.append(row)
    return table(["κ", *(f"{name}, {points[0].users} users" for name, points in cells)], rows)


def told(folder: str, share: str) -> str:
    """Return a cell in a paragraph."""
    return facts(_cell(folder, share, "default").reasons)


def _cell(folder: str, share: str, recommender: str) -> Any:
    for one in records(f"reasons/{folder}"):
        if one.share == float(share) and one.recommender == recommender:
            return one
    raise NoRecordsError


BLOCKS: dict[str, Callable[..., str]] = {
    "reasons-targets": targets,
    "reasons-numbers": numbers,
    "reasons-orders": orders,
    "reasons-once": once,
    "reasons-told": told,
    "reasons-time": seconds,
    "reasons-trade": trade,
}
