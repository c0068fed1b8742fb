"""Figures of cold items and new people: a table of recommenders for each data set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tools.cells import Cell, decimal, deviation, records, shown, table


def cold(folder: str) -> str:
    """Return nDCG and recall of the lists of all, warm and cold items, the best with cold items first."""
    rows = []
    for same in _by_recommender(f"cold/{folder}").values():
        parts = [{part.name: part for part in one.parts} for one in same]
        lists = [[one.metrics for one in same]]
        lists += [[one[of].metrics for one in parts if of in one] for of in ("warm items", "cold items")]
        values = [_spread([one[name][0] for one in some]) for some in lists for name in ("ndcg", "recall")]
        rows.append((np.mean([one["ndcg"][0] for one in lists[2]]), [shown(Cell([(same[0], 0)])), *values]))
    head = [f"{kind}, {metric}" for kind in ("all", "warm", "cold") for metric in ("nDCG", "recall")]
    return table(["recommender", *head], [row for _, row in sorted(rows, key=lambda row: -row[0])])


def new_people(folder: str) -> str:
    """Return the nDCG of lists for people with a few ratings, the best with the fewest first."""
    by_name = _by_recommender(f"new-people/{folder}")
    given = sorted({one.given for same in by_name.values() for one in same})
    rows = []
    for same in by_name.values():
        values = [[one.metrics["ndcg"][0] for one in same if one.given == k] for k in given]
        rows.append((np.mean(values[0]), [shown(Cell([(same[0], 0)])), *map(_spread, values)]))
    head = ["recommender", "1 rating" if given[0] == 1 else f"{given[0]} ratings", *map(str, given[1:])]
    return table(head, [row for _, row in sorted(rows, key=lambda row: -row[0])])


def _by_recommender(folder: str) -> dict[str, list[Any]]:
    """Return the records of a run by recommender."""
    found: dict[str, list[Any]] = {}
    for one in records(folder):
        found.setdefault(one.recommender, []).append(one)
    return found


def _spread(values: Sequence[float]) -> str:
    """Return the mean of values over splits, and their standard deviation if there are several."""
    return decimal(float(np.mean(values)), 3) + deviation(np.array(values), 3)


BLOCKS: dict[str, Callable[..., str]] = {"cold": cold, "new-people": new_people}
