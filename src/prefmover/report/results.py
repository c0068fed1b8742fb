"""From records to the rows of a panel: means over repeats, the better convention, paired tests."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from prefmover._typing import Floats
from prefmover.errors import InputError
from prefmover.evaluation.experiment import Experiment, Panel, share_name
from prefmover.evaluation.folder import RunFolder
from prefmover.evaluation.record import AnyRecord, DataInfo, Kind, ListRecord, Record

__all__ = [
    "DIGITS",
    "LEVEL",
    "OURS",
    "HeadToHead",
    "Line",
    "PanelTable",
    "Results",
    "deviation",
    "order",
    "p_value",
]

LEVEL = 0.05  # below this p-value a difference counts as a win or a loss, otherwise as a tie
DIGITS = 4  # decimals of printed errors
OURS = "pmd"  # the method that all others are compared with
RecordColumn = tuple[Record, int]  # a record, and the column of one K in it


@dataclass(frozen=True, eq=False)
class Line:
    """A method in a panel; its fields are as in the records."""

    method: str
    label: str
    kind: Kind
    convention: str  # the better one for a measure that has several
    repeats: Floats  # (n_points, n_repeats) mean absolute errors
    groups: Floats  # (n_points, n_groups) the same by group of users; NaN for a group without ratings
    n_conventions: int = 1

    @classmethod
    def from_records(cls, points: Sequence[Sequence[RecordColumn]]) -> Line:
        """Return the line of a method, given its records at each point of the panel, one per repeat."""
        n = np.sum([[record.groups.n for record, _ in at] for at in points], axis=1)
        error = np.sum([[record.groups.error[column] for record, column in at] for at in points], axis=1)
        groups = np.divide(error, n, out=np.full(n.shape, np.nan), where=n > 0)
        repeats = np.array([[record.mae[column] for record, column in at] for at in points])
        one = points[0][0][0]
        return cls(one.method, one.label, one.kind, one.convention, repeats, groups)

    @property
    def mean(self) -> Floats:
        """(n_points,) error, averaged over repeats."""
        return np.asarray(self.repeats.mean(axis=1))


def deviation(repeats: Floats) -> Floats:
    """Return the standard deviation of each row, over repeats; 0 for a single repeat."""
    return np.std(repeats, axis=1, ddof=1) if repeats.shape[1] > 1 else np.zeros(len(repeats))


@dataclass(frozen=True, slots=True)
class HeadToHead:
    """PMD against another method, over the points of a panel. All tests are paired t-tests."""

    label: str
    convention: str
    kind: Kind
    lower: int  # points at which PMD's error is lower, by however little
    wins: int  # points with a significant difference over groups of users
    ties: int
    losses: int
    difference: float  # PMD's error minus the other's, averaged over the panel
    p_users: float  # p-value of the difference, over groups of users
    p_repeats: float | None  # over repeats; None with fewer than 3

    @classmethod
    def from_lines(cls, ours: Line, other: Line) -> HeadToHead:
        """Return the comparison of two lines of one panel."""
        outcome = np.sign(np.nanmean(ours.groups - other.groups, axis=1))
        outcome[p_value(ours.groups, other.groups) >= LEVEL] = 0
        difference = ours.mean - other.mean
        repeats = ours.repeats.mean(axis=0), other.repeats.mean(axis=0)
        return cls(
            other.label,
            other.convention,
            other.kind,
            lower=int((difference < 0).sum()),
            wins=int((outcome < 0).sum()),
            ties=int((outcome == 0).sum()),
            losses=int((outcome > 0).sum()),
            difference=float(difference.mean()),
            p_users=float(p_value(ours.groups.mean(axis=0), other.groups.mean(axis=0))),
            p_repeats=float(p_value(*repeats)) if repeats[0].size > 2 else None,
        )


def p_value(a: Floats, b: Floats) -> Floats:
    """Return two-sided p-values of paired t-tests of rows; 1 without any difference or with one pair."""
    from scipy.stats import ttest_rel

    with warnings.catch_warnings():  # differences that are all equal, or one pair only
        warnings.simplefilter("ignore", RuntimeWarning)
        p = ttest_rel(a, b, axis=-1, nan_policy="omit").pvalue
    return np.nan_to_num(np.asarray(p, dtype=np.float64), nan=1.0)


@dataclass(frozen=True, eq=False)
class PanelTable:
    """The errors of all methods in a panel, over the repeats that all of them have."""

    panel: Panel
    lines: tuple[Line, ...]
    left_out: int = 0  # records of these methods from other repeats

    @property
    def repeats(self) -> int:
        """The number of repeats that all lines have."""
        return self.lines[0].repeats.shape[1] if self.lines else 0

    @property
    def heads(self) -> list[str]:
        """The headings of the columns."""
        if self.panel.over == "train":
            return [share_name(share) for share in self.panel.train]
        return [str(k) for k in self.panel.ks]

    def of_kind(self, *kinds: Kind) -> list[Line]:
        """Return the lines of some kinds."""
        return [line for line in self.lines if line.kind in kinds]

    @property
    def by_method(self) -> dict[str, Line]:
        """The lines by the names of their methods."""
        return {line.method: line for line in self.lines}

    def best_measures(self) -> list[str]:
        """Return the measure with the lowest printed error at each point: of equal ones PMD, or the first."""
        among = sorted(self.of_kind("measure"), key=lambda line: line.method != OURS)
        errors = np.array([line.mean for line in among]).round(DIGITS)
        return [among[k].method for k in errors.argmin(axis=0)]

    @cached_property
    def head_to_head(self) -> dict[str, HeadToHead]:
        """PMD against every other method, in the order of the lines; empty without PMD."""
        ours = self.by_method.get(OURS)
        if ours is None:
            return {}
        return {line.method: HeadToHead.from_lines(ours, line) for line in self.lines if line is not ours}


class Results:
    """The records of a run, at least one, with its settings and the identity of its data.

    ``records`` are those of predicted ratings, and ``lists`` those of recommended lists.
    """

    def __init__(self, records: Iterable[AnyRecord], experiment: Experiment, data: DataInfo) -> None:
        self.all_records, self.experiment, self.data = list(records), experiment, data
        if not self.all_records:
            raise InputError("there are no finished records to report; run `prefmover evaluate` first")
        self.records = [record for record in self.all_records if isinstance(record, Record)]
        self.lists = [record for record in self.all_records if isinstance(record, ListRecord)]
        self.shares = sorted({record.share for record in self.records}, reverse=True)
        self.seconds = sum(one.run.seconds + sum(one.run.trial_seconds) for one in self.all_records)
        self.k = 40 if 40 in experiment.ks else experiment.ks[-1]  # where a table shows only one K
        self._by_method: dict[tuple[str, str], list[Record]] = {}
        for record in self.records:
            self._by_method.setdefault((record.method, record.convention), []).append(record)

    @classmethod
    def open(cls, folder: RunFolder) -> Results:
        """Return the results in the folder of a run, finished or not."""
        content = folder.content()
        return cls(folder.records().values(), content.settings, content.data)

    def panels(self) -> list[Panel]:
        """Return the experiment's panels as far as there are records; by default over shares, and over K."""
        ks, shares = self.experiment.ks, self.shares
        if not self.records:
            return []
        if self.experiment.panels:
            panels = [
                (p, tuple(share for share in p.train if share in shares)) for p in self.experiment.panels
            ]
            return [panel.model_copy(update={"train": train}) for panel, train in panels if train]
        panels_over_k = [Panel(name=share_name(share), over="k", train=(share,), ks=ks) for share in shares]
        if len(shares) == 1:
            return panels_over_k
        over_shares = Panel(name="shares", over="train", train=tuple(shares), ks=(self.k,))
        return [over_shares, *(panels_over_k if len(ks) > 1 else [])]

    def table(self, panel: Panel) -> PanelTable:
        """Return the table of a panel: the methods with a record for each point, over common repeats."""
        points = [[_at(records, *point) for point in panel.points()] for records in self._by_method.values()]
        points = [at for at in points if _common(at)]
        common = _common([by_repeat for at in points for by_repeat in at])
        by_method: dict[tuple[Kind, str], list[Line]] = {}
        for at in points if common else ():
            line = Line.from_records([[by_repeat[repeat] for repeat in common] for by_repeat in at])
            by_method.setdefault((line.kind, line.method), []).append(line)
        lines = [
            replace(min(some, key=lambda line: float(line.mean.mean())), n_conventions=len(some))
            for some in by_method.values()
        ]
        left_out = sum(len(_common(at)) - len(common) for at in points) * len(panel.train) if common else 0
        return PanelTable(
            panel, tuple(sorted(lines, key=lambda line: order(line.kind, line.method))), left_out
        )


def _at(records: Iterable[Record], share: float, k: int) -> dict[int, RecordColumn]:
    """Return a method's records at a point by repeat, each with the column of its K."""
    columns = [(record, record.column(k)) for record in records if record.share == share]
    return {record.repeat: (record, column) for record, column in columns if column is not None}


def _common(by_repeat: Iterable[Mapping[int, Any]]) -> list[int]:
    """Return the repeats that all mappings have."""
    repeats = [set(one) for one in by_repeat]
    return sorted(set.intersection(*repeats)) if repeats else []


def order(kind: Kind, method: str) -> tuple[int, int, str]:
    """Return the sort key of a method: its kind, its position among the known ones, its name."""
    from prefmover.evaluation.recommenders import GROUPS, LIST_PEERS, PEERS, RATING_CONTROLS
    from prefmover.measures import MEASURES

    known: dict[Kind, tuple[str, ...]] = {
        "measure": tuple(MEASURES),
        "model": (),
        "control": tuple(dict.fromkeys((*RATING_CONTROLS, *GROUPS["kernels"], *GROUPS["simple"]))),
        "peer": (*PEERS, *LIST_PEERS),
    }
    names = known[kind]
    position = names.index(method) if method in names else len(names)
    return list(known).index(kind), position, method
