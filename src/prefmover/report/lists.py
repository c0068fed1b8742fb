"""From records of lists to what a report shows: means over repeats, and paired tests against one method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from prefmover._typing import Floats
from prefmover.evaluation.record import Events, Kind, ListGroups, ListRecord
from prefmover.report.results import LEVEL, order, p_value

__all__ = ["ActivityCell", "Against", "ListCell", "ListResults", "ShareTable"]

OURS = ("default", "kernel:pmd", "pmd")  # the first of these that was run is compared with the others
TABLE = ("ndcg", "recall", "precision", "mrr", "hit_rate")


class ActivityCell(NamedTuple):
    """Users with about as many training ratings, under one method."""

    name: str
    fewest: int
    most: int
    n_users: int
    ndcg: float
    groups: Floats  # (n_groups,) nDCG by group of users, NaN for an empty one


@dataclass(frozen=True, eq=False)
class ListCell:
    """One method at one share, over the repeats that all methods have there."""

    recommender: str
    method: str
    label: str
    kind: Kind
    ndcg: Floats  # (n_repeats,)
    values: dict[str, float]  # the metrics of the table, coverage, popularity, novelty and diversity
    groups: Floats  # (n_groups,) nDCG by group of users
    activity: dict[str, ActivityCell]
    fit: float  # seconds, as all times here
    answer: float
    search: float
    trials: int
    settings: str
    validation: float | None  # nDCG of the chosen settings on the validation part
    events: str

    @classmethod
    def from_records(cls, records: Sequence[ListRecord], n: int) -> ListCell:
        """Return the means of a method's records, one per repeat, at one length of lists."""
        one, at = records[0], records[0].ns.index(n)
        values = {name: _mean([getattr(r.metrics, name)[at] for r in records]) for name in TABLE}
        for name in ("coverage", "popularity", "novelty"):
            values[name] = _mean([getattr(r, name)[at] for r in records])
        if (far := [r.diversity[at] for r in records]) and None not in far:
            values["diversity"] = _mean([x for x in far if x is not None])
        names = dict.fromkeys(group.name for record in records for group in record.activity)
        runs, tuned = [r.run for r in records], one.tuning
        totals = [sum(getattr(r.events, name) for r in records) for name in Events.model_fields]
        events = Events(**dict(zip(Events.model_fields, totals, strict=True)))
        return cls(
            recommender=one.recommender,
            method=one.method,
            label=one.label + (f" ({one.convention})" if one.recommender.count(":") > 1 else ""),
            kind=one.kind,
            ndcg=np.array([r.metrics.ndcg[at] for r in records]),
            values=values,
            groups=_group_means([r.groups for r in records], at),
            activity={name: _activity(records, name, at) for name in names},
            fit=_mean([run.fit_seconds or 0.0 for run in runs]),
            answer=_mean([run.answer_seconds or 0.0 for run in runs]),
            search=_mean([sum(run.trial_seconds) for run in runs]),
            trials=len(tuned.trials) if tuned else 0,
            settings=" / ".join(dict.fromkeys(_settings(r) for r in records)),
            validation=max(trial.ndcg for trial in tuned.trials) if tuned else None,
            events=str(events),
        )

    @property
    def seconds(self) -> float:
        """Time to fit and to recommend to all users."""
        return self.fit + self.answer


def _settings(record: ListRecord) -> str:
    return ", ".join(f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
                     for name, value in record.settings.items())  # fmt: skip


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _group_means(groups: Sequence[ListGroups], at: int) -> Floats:
    n = np.sum([one.n for one in groups], axis=0)
    total = np.sum([one.ndcg[at] for one in groups], axis=0)
    means: Floats = np.divide(total, n, out=np.full(len(n), np.nan), where=n > 0)
    return means


def _activity(records: Sequence[ListRecord], name: str, at: int) -> ActivityCell:
    parts = [group for record in records for group in record.activity if group.name == name]
    n_users = sum(group.n_users for group in parts)
    ndcg = sum(group.metrics.ndcg[at] * group.n_users for group in parts) / n_users
    fewest, most = min(group.fewest for group in parts), max(group.most for group in parts)
    return ActivityCell(name, fewest, most, n_users, ndcg, _group_means([one.groups for one in parts], at))


class Against(NamedTuple):
    """One method against another, over groups of users: a paired t-test."""

    difference: float  # nDCG of the first minus that of the second
    relative: float  # difference as a share of the second value
    p: float

    @property
    def outcome(self) -> str:
        """``"win"`` or ``"loss"`` if the difference is significant, otherwise ``"tie"``."""
        if self.p >= LEVEL or not self.difference:
            return "tie"
        return "win" if self.difference > 0 else "loss"


def against(ndcg: float, groups: Floats, other: float, other_groups: Floats) -> Against:
    """Return the comparison of two methods."""
    both = ~(np.isnan(groups) | np.isnan(other_groups))
    p = float(p_value(groups[both], other_groups[both])) if both.sum() > 1 else 1.0
    return Against(ndcg - other, (ndcg - other) / other if other else 0.0, p)


@dataclass(frozen=True, eq=False)
class ShareTable:
    """All methods at one share, over the repeats that they have in common."""

    share: float
    repeats: int
    n_users: float
    cells: tuple[ListCell, ...]
    left_out: int = 0

    def of(self, recommender: str) -> ListCell | None:
        """Return the cell of a recommender, if it was run here."""
        return next((cell for cell in self.cells if cell.recommender == recommender), None)

    def best(self, *kinds: Kind) -> ListCell | None:
        """Return the cell with the highest nDCG among some kinds."""
        some = [cell for cell in self.cells if cell.kind in kinds]
        return max(some, key=lambda cell: cell.values["ndcg"], default=None)

    def compare(self, ours: ListCell, other: ListCell, activity: str = "") -> Against:
        """Return one method against another, for all users or for those of an activity."""
        if activity:
            a, b = ours.activity[activity], other.activity[activity]
            return against(a.ndcg, a.groups, b.ndcg, b.groups)
        return against(ours.values["ndcg"], ours.groups, other.values["ndcg"], other.groups)


class ListResults:
    """The records of lists of a run, at least one, at one length of lists."""

    def __init__(self, records: Sequence[ListRecord]) -> None:
        self.records = list(records)
        ns = sorted(set.intersection(*(set(record.ns) for record in self.records)))
        self.n = 10 if 10 in ns else ns[0]
        self.relevant = self.records[0].relevant

    @cached_property
    def tables(self) -> list[ShareTable]:
        """One table per share, the sparsest first."""
        shares = sorted({record.share for record in self.records})
        return [self._table(share) for share in shares]

    def _table(self, share: float) -> ShareTable:
        by_name: dict[str, dict[int, ListRecord]] = {}
        for record in self.records:
            if record.share == share:
                by_name.setdefault(record.recommender, {})[record.repeat] = record
        common = sorted(set.intersection(*(set(repeats) for repeats in by_name.values())))
        if not common:  # a run in progress: the methods that have the first repeat
            first = min(repeat for repeats in by_name.values() for repeat in repeats)
            by_name = {name: repeats for name, repeats in by_name.items() if first in repeats}
            common = [first]
        cells = [ListCell.from_records([some[r] for r in common], self.n) for some in by_name.values()]
        cells.sort(key=lambda cell: order(cell.kind, cell.method))
        n_records = sum(record.share == share for record in self.records)
        n_users = _mean([some[r].n_users for some in by_name.values() for r in common])
        return ShareTable(share, len(common), n_users, tuple(cells), n_records - len(cells) * len(common))

    @cached_property
    def ours(self) -> str:
        """The recommender that is compared with all others: ours if it was run, else the first."""
        methods = {record.method: record.recommender for record in self.records}
        for name in OURS:
            if name in methods:
                return methods[name]
        cells = [cell for table in self.tables for cell in table.cells]
        return min(cells, key=lambda cell: (cell.kind != "model", order(cell.kind, cell.method))).recommender

    @cached_property
    def recommenders(self) -> list[ListCell]:
        """One cell of each recommender, sorted as in the tables."""
        cells = {cell.recommender: cell for table in self.tables for cell in table.cells}
        return sorted(cells.values(), key=lambda cell: order(cell.kind, cell.method))
