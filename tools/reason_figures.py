"""Figures of reasons: what removing the named ratings does, in each cell, the losing ones first."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from prefmover.report.reasons import HEAD, against, facts, mean_of, once_rows, order_rows
from tools.cells import DATASETS, Cell, NoRecordsError, decimal, records, shown, table

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
            against(orders["named"], orders[name], measure)
            for name in ("terms", "as-many-terms")
            for measure in ("del", "cdcg")
        ]
        texts = [
            f"**{test}**" if test is not None and test.relative > TARGET else str(test or "-")
            for test in tests
        ]
        worst = max(test.relative for test in tests if test is not None)
        rows.append((worst, [_name(folder, one), str(len(one.reasons.users)), *texts]))
    head = ["data, share", "users", "del, against the largest terms", "cdcg", "del, against as many", "cdcg"]
    return table(head, [row for _, row in sorted(rows, key=lambda pair: -pair[0])])


def numbers() -> str:
    """Return what is named and what it does, the least related first."""
    rows = []
    for folder, one in finished():
        found = one.reasons
        bound = next((o for o in found.orders if o.name == "leave-one-out"), found.orders[0])
        shares = (*found.related, found.explained, found.lists, found.no_effect, found.same_place)
        texts = ["-" if share is None else f"{share:.1%}" for share in shares]
        alone = decimal(mean_of(bound, "cdcg", 1), 3)
        rows.append(
            (
                found.related[0] or 0.0,
                [_name(folder, one), shown(Cell([(one, 0)])), f"{found.n_named:.1f}", *texts, alone,
                 f"{found.milliseconds:,.0f}"],
            )
        )  # fmt: skip
    head = ["data, share", "", "named for an item", "related, in sentences", "related, all named",
            "items with a reason", "lists with a reason", "without effect on the score",
            "place unchanged without it", "cdcg without the best single rating", "ms for a list"]  # fmt: skip
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
}
