"""From records to tables: means over repeats, the better convention, paired tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from prefmover._typing import Floats
from prefmover.errors import InputError
from prefmover.evaluation.experiment import Experiment, Panel, share_name
from prefmover.evaluation.metrics import unpacked
from prefmover.evaluation.recommenders import ROWS
from prefmover.evaluation.record import ActivityGroup, DataInfo, Events, Groups, Kind, Record, Task
from prefmover.measures import MEASURES
from prefmover.report.statistics import Interval, bootstrap, holm, paired_p

LEVEL = 0.05  # below this p-value a difference counts as a win or a loss, otherwise as a tie
DIGITS = 4  # decimals of printed errors
OURS: dict[Task, tuple[str, ...]] = {"rating": ("pmd",), "ranking": ("default", "kernel:pmd", "pmd")}
"""The methods that all others are compared with: the first of these that was run."""

Compared = TypeVar("Compared")

RecordColumn: TypeAlias = tuple[Record, int]
"""A record, and the column of one cut in it."""


class ActiveUsers(NamedTuple):
    """Users with about as many training ratings, under one method; ``mean`` and ``groups`` as in a line."""

    name: str
    fewest: int
    most: int
    n_users: int
    mean: Floats
    groups: Floats

    @classmethod
    def over_repeats(cls, parts: Sequence[tuple[ActivityGroup, int]]) -> ActiveUsers:
        """Return the users of all repeats together."""
        sizes = [one.n_users for one, _ in parts]
        ndcg = np.average([one.metrics["ndcg"][column] or 0.0 for one, column in parts], weights=sizes)
        fewest, most = min(one.fewest for one, _ in parts), max(one.most for one, _ in parts)
        groups = _group_means([(one.groups, column) for one, column in parts])
        return cls(parts[0][0].name, fewest, most, sum(sizes), np.array([ndcg]), groups[None])

    def __str__(self) -> str:
        ratings = f"{self.fewest:,} to {self.most:,}" if self.fewest < self.most else f"{self.fewest:,}"
        return f"{self.name} ({ratings} ratings, {self.n_users:,} users)"


@dataclass(frozen=True, eq=False)
class Line:
    """A method in a table; its fields are as in the records, of which each point has one per repeat."""

    recommender: str
    method: str
    label: str
    kind: Kind
    convention: str  # the better one for a measure that has several
    points: tuple[tuple[RecordColumn, ...], ...]
    n_conventions: int = 1

    @property
    def records(self) -> list[Record]:
        """The records of the first point, one per repeat."""
        return [record for record, _ in self.points[0]]

    @cached_property
    def repeats(self) -> Floats:
        """(n_points, n_repeats) mean absolute errors, or nDCG."""
        return np.array([[record.main[column] for record, column in at] for at in self.points])

    @property
    def mean(self) -> Floats:
        """(n_points,) the same, averaged over repeats."""
        return np.asarray(self.repeats.mean(axis=1))

    @property
    def deviation(self) -> Floats:
        """(n_points,) standard deviation over repeats; 0 for a single repeat."""
        return deviation(self.repeats)

    @cached_property
    def groups(self) -> Floats:
        """(n_points, n_groups) the same by group of users; NaN for an empty group."""
        return np.array([_group_means([(record.groups, k) for record, k in at]) for at in self.points])

    @cached_property
    def per_user(self) -> Floats | None:
        """(n_repeats, n_users) nDCG of each user, NaN if not judged; None if records do not have it."""
        if any(column or not record.per_user for record, column in self.points[0]):
            return None
        return np.stack([unpacked(record.per_user) for record, _ in self.points[0]])

    def value(self, metric: str) -> float | None:
        """Return a metric at the first point, averaged over repeats; None if a record has none."""
        values = [record.metrics[metric][column] for record, column in self.points[0]]
        return None if None in values else float(np.mean([x for x in values if x is not None]))

    @cached_property
    def activity(self) -> dict[str, ActiveUsers]:
        """The warm users by how much they have rated, at the first point."""
        parts: dict[str, list[tuple[ActivityGroup, int]]] = {}
        for record, column in self.points[0]:
            for one in record.activity:
                parts.setdefault(one.name, []).append((one, column))
        return {name: ActiveUsers.over_repeats(some) for name, some in parts.items()}

    @cached_property
    def new(self) -> ActiveUsers | None:
        """The users without training ratings, at the first point, if there are any."""
        some = [(record.new, column) for record, column in self.points[0] if record.new is not None]
        return ActiveUsers.over_repeats(some) if some else None

    @property
    def seconds(self) -> tuple[float, float, float]:
        """Time to fit, to recommend to all users, and to search for settings."""
        runs = [record.run for record in self.records]
        times = [(run.fit_seconds or 0.0, run.answer_seconds or 0.0, run.search) for run in runs]
        fit, answer, search = np.mean(times, axis=0).tolist()
        return fit, answer, search

    @property
    def trials(self) -> list[float]:
        """The values of the trials of the search."""
        tuning = self.records[0].tuning
        return [trial.value for trial in tuning.trials] if tuning else []

    @property
    def settings(self) -> str:
        """The settings of all repeats, as text."""
        return " / ".join(dict.fromkeys(
            ", ".join(f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
                      for name, value in record.settings.items())
            for record in self.records
        ))  # fmt: skip

    @property
    def events(self) -> str:
        """What was wrong with the lists, as text."""
        totals = {name: sum(getattr(r.events, name) for r in self.records) for name in Events.model_fields}
        return str(Events(**totals))


def deviation(repeats: Floats) -> Floats:
    """Return the standard deviation of each row, over repeats; 0 for a single repeat."""
    return np.std(repeats, axis=1, ddof=1) if repeats.shape[1] > 1 else np.zeros(len(repeats))


def _group_means(groups: Sequence[tuple[Groups, int]]) -> Floats:
    n = np.sum([one.n for one, _ in groups], axis=0)
    total = np.sum([one.sums[column] for one, column in groups], axis=0)
    means: Floats = np.divide(total, n, out=np.full(len(n), np.nan), where=n > 0)
    return means


@dataclass(frozen=True, slots=True)
class HeadToHead:
    """Ours against another method, over the points of a table.

    Tests are paired t-tests. Of lists there is a bootstrap over users too, and p-values are adjusted for all
    comparisons of the report.
    """

    label: str
    convention: str
    kind: Kind
    better: int  # points at which ours is better, by however little
    wins: int  # points with a significant difference over groups of users
    ties: int
    losses: int
    difference: float  # ours minus the other, averaged over the table
    relative: float  # the same as a share of the other
    p_users: float  # p-value of the difference, over groups of users
    p_repeats: float | None  # over repeats; None with fewer than 3
    interval: Interval | None = None  # of the difference, of lists
    p_holm: float | None = None  # p_users, adjusted for the comparisons beside this one

    @classmethod
    def from_lines(cls, ours: Line, other: Line, activity: str = "") -> HeadToHead:
        """Return the comparison of two lines of one table, for all users or for those of an activity."""
        a, b = (ours.activity[activity], other.activity[activity]) if activity else (ours, other)
        good = -1 if ours.records[0].task == "rating" else 1
        outcome = good * np.sign(np.nanmean(a.groups - b.groups, axis=1))
        outcome[paired_p(a.groups, b.groups) >= LEVEL] = 0
        difference, theirs = a.mean - b.mean, float(b.mean.mean())
        repeats = ours.repeats.mean(axis=0), other.repeats.mean(axis=0)
        mine, others = ours.per_user, other.per_user
        return cls(
            other.label,
            other.convention,
            other.kind,
            better=int((good * difference > 0).sum()),
            wins=int((outcome > 0).sum()),
            ties=int((outcome == 0).sum()),
            losses=int((outcome < 0).sum()),
            difference=float(difference.mean()),
            relative=float(difference.mean()) / theirs if theirs else 0.0,
            p_users=float(paired_p(a.groups.mean(axis=0), b.groups.mean(axis=0))),
            p_repeats=float(paired_p(*repeats)) if repeats[0].size > 2 and not activity else None,
            interval=None if activity or mine is None or others is None else bootstrap(mine, others),
        )

    @property
    def p(self) -> float:
        """The adjusted p-value if there is one, else that over groups of users."""
        return self.p_users if self.p_holm is None else self.p_holm

    @property
    def outcome(self) -> str:
        """Of a table with one point: ``"win"``, ``"tie"`` or ``"loss"``, by the adjusted p-value if any."""
        if self.p >= LEVEL:
            return "tie"
        return "win" if self.wins else "loss" if self.losses else "tie"


def adjusted(compared: Mapping[Compared, HeadToHead]) -> dict[Compared, HeadToHead]:
    """Return comparisons with p-values that are adjusted for their number."""
    p = holm([one.p_users for one in compared.values()]).tolist()
    return {name: replace(one, p_holm=q) for (name, one), q in zip(compared.items(), p, strict=True)}


@dataclass(frozen=True, eq=False)
class Table:
    """All methods at the points of a panel, over the repeats that all of them have.

    Ratings have the panels of the experiment; lists have one panel per share, with one point.
    """

    task: Task
    panel: Panel
    lines: tuple[Line, ...]
    ours: Line | None
    left_out: int = 0  # records of these methods from other repeats

    @property
    def repeats(self) -> int:
        """The number of repeats that all lines have."""
        return self.lines[0].repeats.shape[1] if self.lines else 0

    @property
    def share(self) -> float:
        """The (first) share of the ratings to train on."""
        return self.panel.train[0]

    @property
    def heads(self) -> list[str]:
        """The headings of the columns."""
        if self.panel.over == "train":
            return [share_name(share) for share in self.panel.train]
        return [str(k) for k in self.panel.ks]

    def of_kind(self, *kinds: Kind) -> list[Line]:
        """Return the lines of some kinds."""
        return [line for line in self.lines if line.kind in kinds]

    def of(self, recommender: str) -> Line | None:
        """Return the line of a recommender, if it was run here."""
        return next((line for line in self.lines if line.recommender == recommender), None)

    def best(self, lines: Iterable[Line]) -> Line | None:
        """Return the line with the lowest mean error, or the highest nDCG."""
        sign = 1 if self.task == "rating" else -1
        return min(lines, key=lambda line: sign * float(line.mean.mean()), default=None)

    def best_measures(self) -> list[Line]:
        """Return the measure with the lowest printed error at each point: of equal ones PMD, or the first."""
        among = sorted(self.of_kind("measure"), key=lambda line: line is not self.ours)
        errors = np.array([line.mean for line in among]).round(DIGITS)
        return [among[k] for k in errors.argmin(axis=0)]

    @cached_property
    def rivals(self) -> list[Line]:
        """What ours should beat: peers and controls that are not ours, kernels apart."""
        others = self.of_kind("peer", "control")
        return [
            line for line in others if line is not self.ours and not line.recommender.startswith("kernel:")
        ]

    @cached_property
    def rival(self) -> Line | None:
        """The best of these."""
        return self.best(self.rivals)

    @cached_property
    def head_to_head(self) -> dict[str, HeadToHead]:
        """Ours against every other recommender, in the order of the lines; empty without ours."""
        ours = self.ours
        if ours is None:
            return {}
        return {
            line.recommender: HeadToHead.from_lines(ours, line) for line in self.lines if line is not ours
        }

    @cached_property
    def by_activity(self) -> dict[tuple[str, str], HeadToHead]:
        """Ours against every other recommender for users of each activity, adjusted for all of these."""
        ours = self.ours
        if ours is None:
            return {}
        return adjusted({
            (line.recommender, name): HeadToHead.from_lines(ours, line, name)
            for line in self.lines if line is not ours for name in ours.activity
        })  # fmt: skip


class Results:
    """The records of a run, at least one, with its settings and the identity of its data."""

    def __init__(self, records: Iterable[Record], experiment: Experiment, data: DataInfo) -> None:
        self.records, self.experiment, self.data = list(records), experiment, data
        if not self.records:
            raise InputError("there are no finished records to report; run `prefmover evaluate` first")
        self.seconds = sum(one.run.total for one in self.records)

    def of(self, task: Task) -> list[Record]:
        """Return the records of a task."""
        return [record for record in self.records if record.task == task]

    @cached_property
    def n(self) -> int:
        """The length of lists that tables show."""
        ns = set.intersection(*(set(record.cuts) for record in self.of("ranking")))
        lengths = sorted(n for n in ns if n is not None)
        return 10 if 10 in lengths else lengths[0]

    def panels(self) -> list[Panel]:
        """Return the experiment's panels as far as there are records; by default over shares, and over K."""
        ks, shares = self.experiment.ks, sorted({one.share for one in self.of("rating")}, reverse=True)
        if self.experiment.panels:
            panels = [(p, tuple(one for one in p.train if one in shares)) for p in self.experiment.panels]
            return [panel.model_copy(update={"train": train}) for panel, train in panels if train]
        over_k = [Panel(name=share_name(share), over="k", train=(share,), ks=ks) for share in shares]
        if len(shares) < 2:
            return over_k
        k = 40 if 40 in ks else ks[-1]  # where a table shows only one K
        over_shares = Panel(name="shares", over="train", train=tuple(shares), ks=(k,))
        return [over_shares, *(over_k if len(ks) > 1 else [])]

    @cached_property
    def ratings(self) -> list[Table]:
        """The tables of predicted ratings, one per panel."""
        return [table for table in (self.table(panel) for panel in self.panels()) if table.lines]

    @cached_property
    def lists(self) -> list[Table]:
        """The tables of recommended lists, one per share, the sparsest first.

        The p-values are adjusted for the comparisons of all of them.
        """
        tables = [
            self.table(Panel(name=f"{share:g}", over="k", train=(share,), ks=(self.n,)), "ranking")
            for share in sorted({record.share for record in self.of("ranking")})
        ]
        every = {(k, name): one for k, table in enumerate(tables) for name, one in table.head_to_head.items()}
        for (k, name), one in adjusted(every).items():
            tables[k].head_to_head[name] = one
        return tables

    def table(self, panel: Panel, task: Task = "rating") -> Table:
        """Return the table of a panel: the methods with a record for each point, over common repeats.

        Without common repeats, as in a run in progress, it has the methods with the first one.
        """
        by_name: dict[str, list[Record]] = {}
        for record in self.of(task):
            by_name.setdefault(record.recommender, []).append(record)
        points = [[_at(records, *point) for point in panel.points()] for records in by_name.values()]
        points = [at for at in points if _common(at)]
        n_records = sum(len(_common(at)) for at in points)
        common = _common([by_repeat for at in points for by_repeat in at])
        if points and not common:
            common = [min(repeat for at in points for repeat in _common(at))]
            points = [at for at in points if common[0] in _common(at)]
        lines = []
        for at in points:
            one, _ = at[0][common[0]]
            named = task == "ranking" and one.recommender.count(":") > 1
            label = f"{one.label} ({one.convention})" if named else one.label
            columns = tuple(tuple(by_repeat[repeat] for repeat in common) for by_repeat in at)
            lines.append(Line(one.recommender, one.method, label, one.kind, one.convention, columns))
        left_out = (n_records - len(lines) * len(common)) * len(panel.train)
        if task == "rating":
            lines = _better_conventions(lines)
        lines.sort(key=lambda line: order(line.kind, line.method))
        ours = next((line for line in lines if line.method == self._ours(task)), None)
        return Table(task, panel, tuple(lines), ours, left_out)

    def _ours(self, task: Task) -> str:
        """Return the method that is compared with all others; of lists, the first if ours was not run."""
        records = self.of(task)
        known = [name for name in OURS[task] if any(record.method == name for record in records)]
        if known or task == "rating":
            return known[0] if known else ""
        return min(records, key=lambda one: (one.kind != "model", order(one.kind, one.method))).method


def _better_conventions(lines: Iterable[Line]) -> list[Line]:
    """Return each method once, under the convention with the lowest mean error."""
    by_method: dict[tuple[Kind, str], list[Line]] = {}
    for line in lines:
        by_method.setdefault((line.kind, line.method), []).append(line)
    return [
        replace(min(some, key=lambda line: float(line.mean.mean())), n_conventions=len(some))
        for some in by_method.values()
    ]


def _at(records: Iterable[Record], share: float, cut: int) -> dict[int, RecordColumn]:
    """Return a method's records at a point by repeat, each with the column of its cut."""
    columns = [(record, record.column(cut)) for record in records if record.share == share]
    return {record.repeat: (record, column) for record, column in columns if column is not None}


def _common(by_repeat: Iterable[Mapping[int, Any]]) -> list[int]:
    repeats = [set(one) for one in by_repeat]
    return sorted(set.intersection(*repeats)) if repeats else []


def order(kind: Kind, method: str) -> tuple[int, int, str]:
    """Return the sort key of a method: its kind, its position among the known ones, its name."""
    kinds: tuple[Kind, ...] = ("measure", "model", "control", "peer")
    names = tuple(MEASURES) if kind == "measure" else tuple(row.method or row.name for row in ROWS)
    return kinds.index(kind), names.index(method) if method in names else len(names), method
