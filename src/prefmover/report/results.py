"""From records to the rows of a panel: means over repeats, the better convention, paired tests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from prefmover.errors import InputError
from prefmover.evaluation.experiment import Experiment, Panel, share_name
from prefmover.evaluation.folder import Cell, RunFolder

__all__ = ["DIGITS", "LEVEL", "OURS", "Book", "Duel", "Line", "PanelTable", "Point", "paired_p"]

LEVEL = 0.05
"""Below this p-value a difference counts as a win or a loss, otherwise as a tie."""

DIGITS = 4
"""Of errors as they are printed."""

OURS = "pmd"
Floats = npt.NDArray[np.float64]


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
        Who it is; the convention is the better one, for measures that have several.
    n_conventions
        How many there were to choose from.
    points
        One for each point of the panel.
    """

    method: str
    label: str
    kind: str
    convention: str
    n_conventions: int
    points: tuple[Point, ...]

    @cached_property
    def mean(self) -> Floats:
        """(n_points,) the error, averaged over repeats."""
        return np.array([np.mean(list(point.repeats.values())) for point in self.points])

    @cached_property
    def deviation(self) -> Floats:
        """(n_points,) standard deviation over repeats; 0 where there is one."""
        values = [list(point.repeats.values()) for point in self.points]
        return np.array([np.std(some, ddof=1) if len(some) > 1 else 0.0 for some in values])

    def minus(self, other: Line) -> tuple[Floats, Floats]:
        """Return how much larger the error is than another method's: mean and deviation over repeats."""
        gaps = [
            np.array([a.repeats[r] - b.repeats[r] for r in sorted(a.repeats.keys() & b.repeats.keys())])
            for a, b in zip(self.points, other.points, strict=True)
        ]
        spread = [gap.std(ddof=1) if gap.size > 1 else 0.0 for gap in gaps]
        return self.mean - other.mean, np.array(spread)


@dataclass(frozen=True, slots=True)
class Duel:
    """PMD against another method, over the points of a panel.

    Attributes
    ----------
    lower
        At how many points PMD's error is lower, whatever the size of the difference.
    wins, ties, losses
        Points by a paired t-test over groups of users at each point.
    difference
        PMD's error minus the other's, averaged over the panel.
    p_users, p_repeats
        Of that difference: paired t-test over groups of users, and over repeats (None with fewer than 3).
    """

    label: str
    convention: str
    kind: str
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


def paired_p(differences: Floats) -> float:
    """Return the two-sided p-value of a paired t-test; 1 if there is no difference at all.

    >>> round(paired_p(np.array([1.0, 2.0, 3.0, 2.0])), 4)
    0.0163
    """
    from scipy.stats import t

    n = differences.size
    if n < 2 or not differences.any():
        return 1.0
    mean, spread = differences.mean(), differences.std(ddof=1)
    if spread == 0:
        return 0.0
    return float(2 * t.sf(abs(mean) / (spread / np.sqrt(n)), n - 1))


@dataclass(frozen=True, eq=False)
class PanelTable:
    """A panel's methods and their errors.

    Attributes
    ----------
    panel, lines
        What is shown, and each method's errors, all over the same repeats.
    left_out
        Records of these methods that are of other repeats.
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
        """What stands over the columns."""
        if self.panel.over == "train":
            return [share_name(share) for share in self.panel.train]
        return [str(k) for k in self.panel.ks]

    def of_kind(self, *kinds: str) -> list[Line]:
        """Return the lines of some kinds."""
        return [line for line in self.lines if line.kind in kinds]

    def line(self, method: str) -> Line | None:
        """Return a method's line, or None."""
        return next((line for line in self.lines if line.method == method), None)

    def best(self, *kinds: str) -> list[str]:
        """Return, for each point, the method with the lowest error among some kinds, as printed.

        Of several that are equal PMD is named, or the first.
        """
        among = sorted(self.of_kind(*kinds), key=lambda line: line.method != OURS)
        errors = np.array([line.mean for line in among]).round(DIGITS)
        return [among[k].method for k in errors.argmin(axis=0)]

    @cached_property
    def duels(self) -> list[Duel]:
        """PMD against everybody else, in the order of the lines."""
        ours = self.line(OURS)
        return [] if ours is None else [_duel(ours, line) for line in self.lines if line.method != OURS]


def _duel(ours: Line, other: Line) -> Duel:
    gaps = [a.groups - b.groups for a, b in zip(ours.points, other.points, strict=True)]
    gaps = [gap[np.isfinite(gap)] for gap in gaps]
    outcome = [np.sign(gap.mean()) if paired_p(gap) < LEVEL else 0.0 for gap in gaps]
    difference = ours.mean - other.mean
    same = [a.repeats.keys() & b.repeats.keys() for a, b in zip(ours.points, other.points, strict=True)]
    repeats = sorted(set.intersection(*map(set, same)))
    by_repeat = [
        np.mean([a.repeats[r] - b.repeats[r] for a, b in zip(ours.points, other.points, strict=True)])
        for r in repeats
    ]
    whole = np.mean([a.groups - b.groups for a, b in zip(ours.points, other.points, strict=True)], axis=0)
    return Duel(
        other.label,
        other.convention,
        other.kind,
        int((difference < 0).sum()),
        outcome.count(-1.0),
        outcome.count(0.0),
        outcome.count(1.0),
        float(difference.mean()),
        paired_p(whole[np.isfinite(whole)]),
        paired_p(np.array(by_repeat)) if len(repeats) > 2 else None,
    )


class Book:
    """All records of a run, and what the report asks of them.

    Parameters
    ----------
    cells
        Records.
    experiment
        Their settings.
    about
        What was written down about the data.
    """

    def __init__(self, cells: Iterable[Cell], experiment: Experiment, about: dict[str, Any]) -> None:
        self.cells = list(cells)
        self.experiment = experiment
        self.about = about
        if not self.cells:
            raise InputError("there are no finished records here yet; run `prefmover evaluate` first")
        self._by: dict[tuple[str, str, float], list[Cell]] = {}
        for cell in self.cells:
            self._by.setdefault((cell["method"], cell["convention"], cell["share"]), []).append(cell)

    @classmethod
    def open(cls, folder: RunFolder) -> Book:
        """Return the book of a run's folder, finished or not."""
        return cls(folder.cells().values(), folder.experiment(), folder.about_data())

    @property
    def shares(self) -> list[float]:
        """Shares of training ratings, largest first."""
        return sorted({cell["share"] for cell in self.cells}, reverse=True)

    @property
    def repeats(self) -> int:
        """The largest number of repeats that any split has."""
        return max(int(cell["repeat"]) for cell in self.cells) + 1

    @property
    def seconds(self) -> float:
        """Time that all records took."""
        return float(sum(cell["run"]["seconds"] for cell in self.cells))

    def panels(self) -> tuple[Panel, ...]:
        """Return the panels asked for that have records; by default one over shares, and one per share."""
        asked = self.experiment.panels
        if asked:
            here = set(self.shares)
            kept = (
                Panel(p.name, p.over, tuple(s for s in p.train if s in here), p.ks, p.claim) for p in asked
            )
            return tuple(panel for panel in kept if panel.train)
        ks, shares = self.experiment.ks, tuple(self.shares)
        made = []
        if len(shares) > 1:
            made.append(Panel("shares", "train", shares, (self.k,)))
        if len(ks) > 1 or not made:
            made += [Panel(f"{share_name(share)}", "k", (share,), ks) for share in shares]
        return tuple(made)

    def table(self, panel: Panel) -> PanelTable:
        """Return a panel's table: the methods with a record for each of its points, over common repeats."""
        every = {who: self._repeats(panel, *who) for who in self.methods}
        full = {who: repeats for who, repeats in every.items() if repeats}
        common = set.intersection(*full.values()) if full else set()
        found: dict[tuple[str, str], list[Line]] = {}
        for who in full if common else ():
            line = self._line(panel, *who, common)
            found.setdefault((line.kind, line.method), []).append(line)
        best = [min(lines, key=lambda line: float(line.mean.mean())) for lines in found.values()]
        chosen = [
            Line(b.method, b.label, b.kind, b.convention, len(lines), b.points)
            for b, lines in zip(best, found.values(), strict=True)
        ]
        lines = sorted(chosen, key=lambda line: _order(line.kind, line.method))
        left_out = sum(len(repeats - common) for repeats in full.values()) * len(panel.train)
        return PanelTable(panel, tuple(lines), left_out)

    @property
    def k(self) -> int:
        """The number of neighbors where one stands for all: the paper's 40, or the largest."""
        return 40 if 40 in self.experiment.ks else self.experiment.ks[-1]

    def rankings(self, share: float) -> list[tuple[Cell, dict[str, float]]]:
        """Return a record of every method that has top-N figures, and these, over common repeats."""
        found = []
        for who in self.methods:
            at = {cell["repeat"]: (cell, column) for cell, column in self._at(*who, share, self.k)}
            found.append({repeat: x for repeat, x in at.items() if "top_n" in x[0]})
        found = [at for at in found if at]
        common = set.intersection(*map(set, found)) if found else set()
        made = []
        for at in found if common else []:
            figures = [cell["top_n"][column] for repeat, (cell, column) in at.items() if repeat in common]
            like = next(iter(at.values()))[0]
            made.append((like, {name: float(np.mean([one[name] for one in figures])) for name in figures[0]}))
        return sorted(made, key=lambda x: _order(x[0]["kind"], x[0]["method"]))

    @property
    def methods(self) -> list[tuple[str, str]]:
        """All methods with their conventions, in the order of the records."""
        return list(dict.fromkeys((cell["method"], cell["convention"]) for cell in self.cells))

    def _at(self, method: str, convention: str, share: float, k: int) -> list[tuple[Cell, int]]:
        """Return the records of a method at a point, each with the column of its K."""
        cells = self._by.get((method, convention, share), [])
        found = [(cell, _column(cell, k)) for cell in cells]
        return [(cell, column) for cell, column in found if column is not None]

    def _repeats(self, panel: Panel, method: str, convention: str) -> set[int]:
        """Return the repeats for which a method has every point of a panel."""
        points = [self._at(method, convention, *point) for point in panel.cells()]
        return set.intersection(*({cell["repeat"] for cell, _ in at} for at in points))

    def _line(self, panel: Panel, method: str, convention: str, repeats: set[int]) -> Line:
        points, like = [], self.cells[0]
        for point in panel.cells():
            at = [x for x in self._at(method, convention, *point) if x[0]["repeat"] in repeats]
            n = np.sum([cell["groups"]["n"] for cell, _ in at], axis=0)
            error = np.sum([cell["groups"]["error"][column] for cell, column in at], axis=0)
            groups = np.divide(error, n, out=np.full(len(n), np.nan), where=n > 0)
            points.append(Point({cell["repeat"]: cell["mae"][column] for cell, column in at}, groups))
            like = at[0][0]
        return Line(method, like["label"], like["kind"], convention, 1, tuple(points))


def _column(cell: Cell, k: int) -> int | None:
    if cell["k"] == [None]:
        return 0
    return cell["k"].index(k) if k in cell["k"] else None


def _order(kind: str, method: str) -> tuple[int, int, str]:
    from prefmover.evaluation.experiment import PEERS
    from prefmover.evaluation.protocol import CONTROLS
    from prefmover.measures import MEASURES

    kinds = {"measure": list(MEASURES), "control": list(CONTROLS), "peer": list(PEERS)}
    known = kinds[kind]
    place = known.index(method) if method in known else len(known)
    return list(kinds).index(kind), place, method
