"""From records to the rows of a panel: means over repeats, the better convention, paired tests."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from prefmover._typing import Floats
from prefmover.errors import InputError
from prefmover.evaluation.experiment import Experiment, Panel, share_name
from prefmover.evaluation.folder import RunFolder
from prefmover.evaluation.record import DataInfo, Kind, Record

__all__ = ["DIGITS", "LEVEL", "OURS", "HeadToHead", "Line", "PanelTable", "Point", "Results"]

LEVEL = 0.05
"""Below this p-value a difference counts as a win or a loss, otherwise as a tie."""

DIGITS = 4
"""Decimals of printed errors."""

OURS = "pmd"
"""The method that all others are compared with."""


class Point(NamedTuple):
    """A method at one share and one K: the error of each repeat, and of each group of users over repeats."""

    repeats: dict[int, float]
    groups: Floats


@dataclass(frozen=True, eq=False)
class Line:
    """A method in a panel.

    Attributes
    ----------
    method, label, kind, convention
        As in the records; the convention is the better one for a measure that has several.
    n_conventions
        The number of conventions to choose from.
    points
        One for each point of the panel.
    """

    method: str
    label: str
    kind: Kind
    convention: str
    n_conventions: int
    points: tuple[Point, ...]

    @cached_property
    def mean(self) -> Floats:
        """(n_points,) error, averaged over repeats."""
        return np.array([np.mean(list(point.repeats.values())) for point in self.points])

    @cached_property
    def deviation(self) -> Floats:
        """(n_points,) standard deviation over repeats; 0 for a single repeat."""
        return np.array([_deviation(list(point.repeats.values())) for point in self.points])

    def minus(self, other: Line) -> tuple[Floats, Floats]:
        """Return how much larger the error is than another method's: mean and deviation over repeats."""
        differences = [
            [a.repeats[r] - b.repeats[r] for r in a.repeats]
            for a, b in zip(self.points, other.points, strict=True)
        ]
        return self.mean - other.mean, np.array([_deviation(values) for values in differences])


def _deviation(values: list[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


@dataclass(frozen=True, slots=True)
class HeadToHead:
    """PMD against another method, over the points of a panel.

    Attributes
    ----------
    label, convention, kind
        The other method.
    lower
        The number of points at which PMD's error is lower, by however little.
    wins, ties, losses
        Points, judged by a paired t-test over groups of users at each point.
    difference
        PMD's error minus the other's, averaged over the panel.
    p_users, p_repeats
        p-values of that difference: paired t-tests over groups of users and over repeats (None with fewer
        than 3 repeats).
    """

    label: str
    convention: str
    kind: Kind
    lower: int
    wins: int
    ties: int
    losses: int
    difference: float
    p_users: float
    p_repeats: float | None

    @property
    def points(self) -> int:
        """Number of points in the panel."""
        return self.wins + self.ties + self.losses

    @classmethod
    def from_lines(cls, ours: Line, other: Line) -> HeadToHead:
        """Return the comparison of two lines of one panel."""
        pairs = list(zip(ours.points, other.points, strict=True))
        outcomes = [
            np.sign(np.nanmean(a.groups - b.groups)) if _p_value(a.groups, b.groups) < LEVEL else 0.0
            for a, b in pairs
        ]
        groups = [np.mean([point.groups for point in line.points], axis=0) for line in (ours, other)]
        repeats = [
            np.mean([list(point.repeats.values()) for point in line.points], axis=0) for line in (ours, other)
        ]
        difference = ours.mean - other.mean
        return cls(
            other.label,
            other.convention,
            other.kind,
            int((difference < 0).sum()),
            outcomes.count(-1.0),
            outcomes.count(0.0),
            outcomes.count(1.0),
            float(difference.mean()),
            _p_value(*groups),
            _p_value(*repeats) if repeats[0].size > 2 else None,
        )


def _p_value(a: Floats, b: Floats) -> float:
    """Return the two-sided p-value of a paired t-test; 1 without any difference or with one pair."""
    from scipy.stats import ttest_rel

    with warnings.catch_warnings():  # differences that are all equal, or one pair only
        warnings.simplefilter("ignore", RuntimeWarning)
        p = float(ttest_rel(a, b, nan_policy="omit").pvalue)
    return 1.0 if np.isnan(p) else p


@dataclass(frozen=True, eq=False)
class PanelTable:
    """The errors of all methods in a panel.

    Attributes
    ----------
    panel
        The panel.
    lines
        The errors of each method, all over the same repeats.
    left_out
        Number of records of these methods that belong to other repeats.
    """

    panel: Panel
    lines: tuple[Line, ...]
    left_out: int = 0

    @property
    def repeats(self) -> int:
        """The number of repeats that all lines have."""
        return len(self.lines[0].points[0].repeats) if self.lines else 0

    @property
    def heads(self) -> list[str]:
        """The headings of the columns."""
        if self.panel.over == "train":
            return [share_name(share) for share in self.panel.train]
        return [str(k) for k in self.panel.ks]

    def of_kind(self, *kinds: Kind) -> list[Line]:
        """Return the lines of some kinds."""
        return [line for line in self.lines if line.kind in kinds]

    def line(self, method: str) -> Line | None:
        """Return the line of a method, or None."""
        return next((line for line in self.lines if line.method == method), None)

    def best(self, *kinds: Kind) -> list[str]:
        """Return, for each point, the method of some kinds with the lowest error, as printed.

        Among equal ones PMD is named, or the first.
        """
        among = sorted(self.of_kind(*kinds), key=lambda line: line.method != OURS)
        errors = np.array([line.mean for line in among]).round(DIGITS)
        return [among[k].method for k in errors.argmin(axis=0)]

    @cached_property
    def head_to_head(self) -> dict[str, HeadToHead]:
        """PMD against every other method, in the order of the lines; empty without PMD."""
        ours = self.line(OURS)
        others = [line for line in self.lines if line.method != OURS] if ours else []
        return {line.method: HeadToHead.from_lines(ours, line) for line in others if ours}


class Results:
    """All records of a run, arranged for the report.

    Parameters
    ----------
    records
        The records, at least one.
    experiment
        The settings.
    data
        The identity of the data.
    """

    def __init__(self, records: Iterable[Record], experiment: Experiment, data: DataInfo) -> None:
        self.records = list(records)
        self.experiment = experiment
        self.data = data
        if not self.records:
            raise InputError("there are no finished records to report; run `prefmover evaluate` first")
        self._by_method: dict[tuple[str, str, float], list[Record]] = {}
        for record in self.records:
            key = (record.method, record.convention, record.share)
            self._by_method.setdefault(key, []).append(record)

    @classmethod
    def open(cls, folder: RunFolder) -> Results:
        """Return the results in the folder of a run, finished or not."""
        return cls(folder.records().values(), folder.experiment(), folder.data())

    @property
    def shares(self) -> list[float]:
        """Shares of training ratings, largest first."""
        return sorted({record.share for record in self.records}, reverse=True)

    @property
    def repeats(self) -> int:
        """The number of repeats."""
        return max(record.repeat for record in self.records) + 1

    @property
    def seconds(self) -> float:
        """The computing time of all records."""
        return sum(record.run.seconds for record in self.records)

    @property
    def k(self) -> int:
        """The number of neighbors where a table shows only one: the paper's 40, or the largest."""
        return 40 if 40 in self.experiment.ks else self.experiment.ks[-1]

    @property
    def methods(self) -> list[tuple[str, str]]:
        """All methods with their conventions, in the order of the records."""
        return list(dict.fromkeys((record.method, record.convention) for record in self.records))

    def panels(self) -> list[Panel]:
        """Return the experiment's panels as far as there are records; by default over shares, and over K."""
        available = set(self.shares)
        if self.experiment.panels:
            panels = [(p, [share for share in p.train if share in available]) for p in self.experiment.panels]
            return [panel.model_copy(update={"train": tuple(train)}) for panel, train in panels if train]
        ks, shares = self.experiment.ks, self.shares
        panels_over_k = [Panel(name=share_name(share), over="k", train=(share,), ks=ks) for share in shares]
        if len(shares) == 1:
            return panels_over_k
        over_shares = Panel(name="shares", over="train", train=tuple(shares), ks=(self.k,))
        return [over_shares, *(panels_over_k if len(ks) > 1 else [])]

    def table(self, panel: Panel) -> PanelTable:
        """Return the table of a panel: the methods with a record for each point, over common repeats."""
        repeats = {method: self._repeats(panel, *method) for method in self.methods}
        complete = {method: numbers for method, numbers in repeats.items() if numbers}
        common = set.intersection(*complete.values()) if complete else set()
        if not common:
            return PanelTable(panel, ())
        by_method: dict[tuple[Kind, str], list[Line]] = {}
        for method, convention in complete:
            line = self._line(panel, method, convention, common)
            by_method.setdefault((line.kind, method), []).append(line)
        lines = [
            replace(min(some, key=lambda line: float(line.mean.mean())), n_conventions=len(some))
            for some in by_method.values()
        ]
        left_out = sum(len(numbers - common) for numbers in complete.values()) * len(panel.train)
        return PanelTable(panel, tuple(sorted(lines, key=_order)), left_out)

    def rankings(self, share: float) -> list[tuple[Record, dict[str, float]]]:
        """Return a record of every method that has top-n metrics, with their means over common repeats."""
        by_method = [
            {record.repeat: (record, record.ranking[column]) for record, column in at if record.ranking}
            for at in (self._records_at(*method, share, self.k) for method in self.methods)
        ]
        by_method = [repeats for repeats in by_method if repeats]
        common = set.intersection(*map(set, by_method)) if by_method else set()
        if not common:
            return []
        rows = []
        for repeats in by_method:
            metrics = [repeats[repeat][1] for repeat in sorted(common)]
            means = {name: float(np.mean([one[name] for one in metrics])) for name in metrics[0]}
            rows.append((next(iter(repeats.values()))[0], means))
        return sorted(rows, key=lambda row: _order(row[0]))

    def _records_at(self, method: str, convention: str, share: float, k: int) -> list[tuple[Record, int]]:
        """Return the records of a method at a point, each with the column of its K."""
        records = self._by_method.get((method, convention, share), [])
        columns = [(record, record.column(k)) for record in records]
        return [(record, column) for record, column in columns if column is not None]

    def _repeats(self, panel: Panel, method: str, convention: str) -> set[int]:
        """Return the repeats for which a method has every point of a panel."""
        points = [self._records_at(method, convention, *point) for point in panel.points()]
        return set.intersection(*({record.repeat for record, _ in at} for at in points))

    def _line(self, panel: Panel, method: str, convention: str, repeats: set[int]) -> Line:
        points = []
        for point in panel.points():
            at = [x for x in self._records_at(method, convention, *point) if x[0].repeat in repeats]
            at.sort(key=lambda x: x[0].repeat)
            n = np.sum([record.groups.n for record, _ in at], axis=0)
            error = np.sum([record.groups.error[column] for record, column in at], axis=0)
            groups = np.divide(error, n, out=np.full(len(n), np.nan), where=n > 0)
            points.append(Point({record.repeat: record.mae[column] for record, column in at}, groups))
        first = at[0][0]
        return Line(method, first.label, first.kind, convention, 1, tuple(points))


def _order(one: Line | Record) -> tuple[int, int, str]:
    """Return the sort key of a method: its kind, its position among the known ones, its name."""
    from prefmover.evaluation.recommenders import CONTROLS, PEERS
    from prefmover.measures import MEASURES

    known: dict[Kind, list[str]] = {
        "measure": list(MEASURES),
        "model": [],
        "control": list(CONTROLS),
        "peer": list(PEERS),
    }
    names = known[one.kind]
    position = names.index(one.method) if one.method in names else len(names)
    return list(known).index(one.kind), position, one.method
