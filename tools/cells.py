"""Cells of records: a recommender at one share of training ratings, and how numbers are written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from prefmover.evaluation.metrics import unpacked
from prefmover.report.statistics import Interval, bootstrap, paired_p

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
LEVEL = 0.05  # of a paired test; above it, two methods tie

DATASETS = {
    "ml-100k": "MovieLens-100K",
    "ml-1m": "MovieLens-1M",
    "goodbooks": "books",
    "lastfm": "music",
    "movietweetings": "tweets",
}


class NoRecordsError(Exception):
    """A run has not been computed yet."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows))


@dataclass(frozen=True, eq=False)
class Cell:
    """A recommender at one share of training ratings, over the repeats."""

    some: list[tuple[Any, int]]  # its records, each with the position of the cut

    @property
    def one(self) -> Any:
        """The first record."""
        return self.some[0][0]

    @property
    def recommender(self) -> str:
        """The full name."""
        return str(self.one.recommender)

    @property
    def kind(self) -> str:
        """What it is, such as a peer."""
        return str(self.one.kind)

    @cached_property
    def repeats(self) -> np.ndarray:
        """MAE or nDCG of each repeat."""
        return np.array([one.main[at] for one, at in self.some])

    @cached_property
    def value(self) -> float:
        """The mean of these."""
        return float(self.repeats.mean())

    @cached_property
    def groups(self) -> np.ndarray:
        """The same by group of users, NaN for an empty one."""
        n = np.sum([one.groups.n for one, _ in self.some], axis=0)
        sums = np.sum([one.groups.sums[at] for one, at in self.some], axis=0)
        return np.divide(sums, n, out=np.full(len(n), np.nan), where=n > 0)

    def paired(self, other: Cell) -> tuple[Cell, Cell]:
        """Return both over the repeats that they share."""
        mine, theirs = ({one.repeat: (one, at) for one, at in cell.some} for cell in (self, other))
        common = sorted(set(mine) & set(theirs))
        return Cell([mine[k] for k in common]), Cell([theirs[k] for k in common])

    def against(self, other: Cell) -> tuple[float, float]:
        """Return the difference to another cell and its p-value, by a paired t-test over groups of users."""
        a, b = self.paired(other)
        return a.value - b.value, float(paired_p(a.groups, b.groups))

    def interval(self, other: Cell) -> Interval:
        """Return where 95 % of the differences of lists are, by a bootstrap over users."""
        pair = self.paired(other)
        a, b = (np.stack([unpacked(one.per_user) for one, _ in cell.some]) for cell in pair)
        return bootstrap(a, b)

    def metric(self, name: str) -> float:
        """Return another metric, over the repeats."""
        return float(np.mean([one.metrics[name][at] for one, at in self.some]))

    def spread(self, digits: int = 4) -> str:
        """Return the mean, and the standard deviation over the repeats if there are several."""
        return decimal(self.value, digits) + deviation(self.repeats, digits)


@cache
def records(folder: str) -> list[Any]:
    """Return the records of a run, such as ``"ranking/lastfm"``, at least one."""
    from prefmover.evaluation.folder import RunFolder

    if not (found := list(RunFolder(RESULTS / folder).records().values())):
        raise NoRecordsError(folder)
    return found


@cache
def cells(folder: str, task: str, cut: int) -> dict[float, dict[str, Cell]]:
    """Return the cells of a run by share and recommender, for lists of length ``cut``, or K = ``cut``."""
    found: dict[float, dict[str, list[tuple[Any, int]]]] = {}
    for one in records(folder):
        if one.task == task and (at := one.column(cut)) is not None:
            found.setdefault(one.share, {}).setdefault(one.recommender, []).append((one, at))
    return {
        share: {name: Cell(some) for name, some in sorted(found[share].items())} for share in sorted(found)
    }


def deviation(values: np.ndarray, digits: int = 4) -> str:
    """Return the standard deviation of several values, after a ±; nothing of one."""
    return f" ± {decimal(float(values.std(ddof=1)), digits)}" if len(values) > 1 else ""


def decimal(value: float, digits: int = 4) -> str:
    """Return a number without the zero before its point."""
    return f"{value:.{digits}f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.{digits}f}"


def signed(value: float, digits: int = 4) -> str:
    """Return a difference with its sign."""
    return ("+" if value >= 0 else "-") + decimal(abs(value), digits)


def chance(p: float) -> str:
    """Return a p-value in words."""
    return "p < .001" if p < 0.001 else f"p = {decimal(p, 3 if p < 0.01 else 2)}"


NAMES = {
    "ease": "EASE",
    "implicit:als": "ALS",
    "kernel:ntk": "∞-AE",
    "content-knn": "content-kNN",
    "implicit:bpr": "BPR",
    "item-knn": "item-kNN",
    "user-knn": "user-kNN",
    "liked-popularity": "most liked items",
    "popularity": "most rated items",
    "bias": "biases alone",
    "user-mean": "the user's mean",
    "mean-vector": "mean item vectors, no transport",
    "uniform": "uniform weights",
    "default": "the default, `Recommender()`",
    "agreement": "agreement alone, no transport",
}


def shown(cell: Cell) -> str:
    """Return the name of a method for readers."""
    if cell.recommender in NAMES:
        return NAMES[cell.recommender]
    family, _, rest = cell.recommender.partition(":")
    if family == "kernel":
        return f"kernel ridge, {rest.replace('-', ' ').replace('pmd', 'PMD').replace('rwmd', 'RWMD')}"
    if family == "surprise":
        return f"Surprise {rest}"
    return str(cell.one.label)


def step(first: Cell, second: Cell) -> str:
    """Return a difference; a star marks a significant one."""
    difference, p = first.against(second)
    return signed(difference) + ("*" if p < LEVEL else "")
