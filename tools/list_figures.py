"""Figures of recommended lists: tables of the contest, and what they add up to.

A *cell* is a data set at one share of training ratings. In each, the default model is compared with the best
of all others, and the p-values of all cells are adjusted for their number by Holm's method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple

import numpy as np

from prefmover.evaluation.recommenders import GROUPS
from prefmover.report.statistics import Interval, holm
from tools.cells import (
    DATASETS,
    LEVEL,
    Cell,
    NoRecordsError,
    cells,
    chance,
    decimal,
    deviation,
    records,
    shown,
    signed,
    table,
)

CONTENT = GROUPS.get("content-peers", ())  # peers that know what the items are
MOST_LIKED = "liked-popularity"
SHORT = (0.1, 0.3, 0.8)  # the shares of the README's table


def of(folder: str) -> dict[float, dict[str, Cell]]:
    """Return the cells of a data set at nDCG@10, by share and recommender."""
    return cells(f"ranking/{folder}", "ranking", 10)


def finished() -> list[str]:
    """Return the data sets that have records, at least one."""
    found = []
    for folder in DATASETS:
        try:
            if any("default" in here for here in of(folder).values()):
                found.append(folder)
        except NoRecordsError:
            continue
    if not found:
        raise NoRecordsError
    return found


class Rivals(NamedTuple):
    """The best of each kind in a cell; None if there is none."""

    content: Cell | None  # peers that know what the items are
    others: Cell | None  # peers that know ratings only
    control: Cell | None

    @classmethod
    def among(cls, here: dict[str, Cell]) -> Rivals:
        """Return the cells with the highest nDCG besides the default."""
        rest = [cell for name, cell in here.items() if name != "default"]
        content = [cell for cell in rest if cell.recommender in CONTENT]
        peers = [cell for cell in rest if cell.kind == "peer" and cell not in content]
        return cls(_best(content), _best(peers), _best(cell for cell in rest if cell.kind == "control"))

    @property
    def best(self) -> Cell:
        """The best of all of them."""
        found = _best(cell for cell in self if cell is not None)
        assert found is not None
        return found

    def text(self, digits: int) -> list[str]:
        """Return each with its name."""
        return ["-" if cell is None else f"{shown(cell)} {cell.spread(digits)}" for cell in self]


def _best(some: Iterable[Cell]) -> Cell | None:
    return max(some, key=lambda cell: cell.value, default=None)


class Outcome(NamedTuple):
    """The default against the best of all others in one cell."""

    rivals: Rivals
    difference: float
    interval: Interval
    p: float  # adjusted for all cells

    @property
    def relative(self) -> str:
        """The difference as a share of the other's nDCG, with the adjusted p-value."""
        tie = ", a tie" if self.p >= LEVEL else ""
        return f"{self.difference / self.rivals.best.value:+.1%} ({chance(self.p)}{tie})"

    @property
    def text(self) -> str:
        """The same, with the difference and its interval."""
        low, high = (signed(x) for x in self.interval[:2])
        return f"{signed(self.difference)} [{low}, {high}], {self.relative}"


@cache
def outcomes() -> dict[tuple[str, float], Outcome]:
    """Return the outcome of each cell, with p-values adjusted for all of them."""
    found: dict[tuple[str, float], Outcome] = {}
    for folder in finished():
        for share, here in of(folder).items():
            ours, rivals = here["default"], Rivals.among(here)
            difference, p = ours.against(rivals.best)
            found[folder, share] = Outcome(rivals, difference, ours.interval(rivals.best), p)
    adjusted = holm([one.p for one in found.values()]).tolist()
    return {key: one._replace(p=p) for (key, one), p in zip(found.items(), adjusted, strict=True)}


HEAD = ("best peer that knows content", "best peer that knows ratings only", "best control")


def lists_short() -> str:
    """Return the README's table of lists, what speaks against the default first."""
    rows = []
    for folder in finished():
        data = DATASETS[folder]
        for share, here in of(folder).items():
            if share not in SHORT:
                continue
            one = outcomes()[folder, share]
            row = [f"{data}, {share:.0%}", here["default"].spread(3), *one.rivals.text(3), one.relative]
            row.append(decimal(here[MOST_LIKED].value, 3))
            rows.append((one.difference / one.rivals.best.value, row))
    return table(
        ["data, share", "prefmover", *HEAD, "prefmover against the best", "most liked"],
        [row for _, row in sorted(rows, key=lambda pair: pair[0])],
    )


def lists(folder: str) -> str:
    """Return the results of one data set, one row per share, the worst for the default first."""
    rows = []
    for share, here in of(folder).items():
        one = outcomes()[folder, share]
        row = [f"{share:.0%}", here["default"].spread(), *one.rivals.text(4), one.text]
        row.append(decimal(here[MOST_LIKED].value))
        rows.append((one.difference / one.rivals.best.value, row))
    return table(
        ["share", "default", *HEAD, "default against the best of these", "most liked"],
        [row for _, row in sorted(rows, key=lambda pair: pair[0])],
    )


def new_users() -> str:
    """Return how many users have no training rating, and nDCG of the list that all of them get."""
    rows = []
    for folder in finished():
        for share, here in of(folder).items():
            groups = {name: [one.new for one, _ in cell.some] for name, cell in here.items()}
            ours = [one for one in groups["default"] if one is not None]
            if not ours:
                continue
            assert all(some == groups["default"] for some in groups.values()), "one fallback for all"
            n, at = np.mean([one.n_users for one in ours]), here["default"].some[0][1]
            value = np.mean([one.metrics["ndcg"][at] for one in ours])
            n_warm = np.mean([one.n_users for one, _ in here["default"].some])
            rows.append([f"{DATASETS[folder]}, {share:.0%}", f"{n_warm:,.0f}", f"{n:,.0f}", decimal(value)])
    head = ["data, share", "users with training ratings", "new users", "nDCG@10 of the most liked items"]
    return table(head, rows)


def fairness(folder: str) -> str:
    """Return how lists treat items and users: the default, the best of each kind, and the most liked."""
    rows: list[list[str]] = []
    for share, here in of(folder).items():
        some = dict.fromkeys((here["default"], *Rivals.among(here), here[MOST_LIKED]))
        rows += [
            [
                f"{share:.0%}", shown(cell), decimal(cell.metric("gini"), 3),
                f"{cell.metric('average_popularity'):,.0f}", f"{cell.metric('tail'):.1%}",
                *(_activity(cell, name) for name in ("sparse", "quarter 1", "quarter 4")),
            ]
            for cell in some if cell is not None
        ]  # fmt: skip
    head = ["share", "", "Gini", "mean raters", "long tail", "nDCG@10, at most 10 ratings",
            "quarter with the fewest", "quarter with the most"]  # fmt: skip
    return table(head, rows)


def _activity(cell: Cell, name: str) -> str:
    """Return nDCG of the users of an activity; a dash if there are none."""
    some = [(one, at) for record, at in cell.some for one in record.activity if one.name == name]
    if not some:
        return "-"
    sizes = [one.n_users for one, _ in some]
    return decimal(float(np.average([one.metrics["ndcg"][at] for one, at in some], weights=sizes)), 3)


STEPS = (
    ("kernel ridge by cosine instead of the most liked items", "kernel:cosine", MOST_LIKED),
    (
        "geometry: mean item vectors instead of total variation",
        "kernel:mean-vector",
        "kernel:total-variation",
    ),
    ("transport: PMD instead of mean item vectors", "kernel:pmd", "kernel:mean-vector"),
    ("geometry and transport: PMD instead of total variation", "kernel:pmd", "kernel:total-variation"),
    ("item side, content, own search: default instead of kernel ridge by PMD", "default", "kernel:pmd"),
)


def steps(folder: str) -> str:
    """Return what each idea adds to nDCG@10; stars by p-values that are adjusted for the whole table."""
    run = of(folder)
    pairs = [here[first].paired(here[second]) for _, first, second in STEPS for here in run.values()]
    tests = [a.against(b) for a, b in pairs]
    texts = [
        signed(difference) + deviation(a.repeats - b.repeats) + ("*" if p < LEVEL else "")
        for (a, b), (difference, _), p in zip(pairs, tests, holm([p for _, p in tests]), strict=True)
    ]
    rows = [[words, *texts[k * len(run) :][: len(run)]] for k, (words, _, _) in enumerate(STEPS)]
    return table([DATASETS[folder], *(f"{share:.0%}" for share in run)], rows)


def parts(folder: str) -> str:
    """Return what nDCG@10 of the default loses without each of its parts; stars as in :func:`steps`."""
    run, without = of(folder), cells(f"parts/{folder}", "ranking", 10)
    names = list(dict.fromkeys(name for here in without.values() for name in here))
    pairs = [run[share]["default"].paired(without[share][name]) for name in names for share in without]
    tests = [b.against(a) for a, b in pairs]
    texts = [
        signed(difference) + deviation(b.repeats - a.repeats) + ("*" if p < LEVEL else "")
        for (a, b), (difference, _), p in zip(pairs, tests, holm([p for _, p in tests]), strict=True)
    ]
    rows = [
        [name.partition(":")[2], *texts[k * len(without) :][: len(without)]] for k, name in enumerate(names)
    ]
    return table([DATASETS[folder], *(f"{share:.0%}" for share in without)], rows)


def lists_outcome() -> str:
    """Return in how many cells the default wins, ties and loses against the best of all others."""
    counts = {"wins": 0, "ties": 0, "loses": 0}
    for one in outcomes().values():
        counts["ties" if one.p >= LEVEL else "wins" if one.difference > 0 else "loses"] += 1
    return f"loses in {counts['loses']}, ties in {counts['ties']} and wins in {counts['wins']}"


def budget() -> str:
    """Return how many settings every recommender was allowed to try; it must be one number."""
    every = {one.tuning.budget for folder in finished() for one in records(f"ranking/{folder}") if one.tuning}
    if len(every) != 1:
        raise SystemExit(f"docs/results/ranking: budgets differ ({sorted(every)}); run all with one --trials")
    return str(every.pop())


def trials() -> str:
    """Return how many settings the default model tried."""
    every = [
        len(one.tuning.trials)
        for folder in finished()
        for one in records(f"ranking/{folder}")
        if one.recommender == "default" and one.tuning
    ]
    low, high = min(every, default=0), max(every, default=0)
    return f"{low}" if low == high else f"{low} to {high}"


BLOCKS: dict[str, Callable[..., str]] = {
    "lists": lists,
    "lists-short": lists_short,
    "new-users": new_users,
    "fairness": fairness,
    "steps": steps,
    "parts": parts,
}
VALUES: dict[str, Callable[..., str]] = {"lists-outcome": lists_outcome, "budget": budget, "trials": trials}
