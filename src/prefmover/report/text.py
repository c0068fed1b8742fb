"""What the numbers say, in sentences made from them."""

from __future__ import annotations

from collections import Counter

import numpy as np

from prefmover.execution.format import counted
from prefmover.report.results import LEVEL, OURS, Book, Duel, Line, PanelTable

__all__ = ["p_text", "panel_words", "summary_words", "trend", "verdict"]


def p_text(p: float | None) -> str:
    """Return a p-value for people.

    >>> p_text(0.0323), p_text(1e-7), p_text(None)
    ('0.032', '< 0.001', '-')
    """
    if p is None:
        return "-"
    return "< 0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def verdict(table: PanelTable) -> str:
    """Return whether PMD is lowest at every point of a panel among the measures: a sentence."""
    ours, measures = table.line(OURS), table.of_kind("measure")
    if ours is None or len(measures) < 2:
        return "PMD was not run here." if ours is None else "No other measure was run here."
    best = table.best("measure")
    n, won = len(best), best.count(OURS)
    if won == n:
        where = f" at all {n} points" if n > 1 else ""
        return f"PMD has the lowest error of the {len(measures)} measures{where}."
    others = Counter(method for method in best if method != OURS)
    labels = {line.method: line.label for line in measures}
    named = ", ".join(f"{labels[method]} (at {count})" for method, count in others.most_common())
    lost = [at for at, method in enumerate(best) if method != OURS]
    gap = max(float(ours.mean[at] - _line(table, best[at]).mean[at]) for at in lost)
    duels = {duel.label: duel for duel in table.duels}
    significant = sum(duels[labels[method]].losses for method in others)
    behind = f"At the other{'' if n - won == 1 else f' {n - won}'}, " if won else "Everywhere, "
    losses = "is a significant loss" if significant == 1 else "are significant losses"
    doubt = (
        f"of all comparisons with them in the panel, {significant} {losses} (p < {LEVEL:g})"
        if significant
        else f"none of these differences is significant (p < {LEVEL:g}, paired over groups of users)"
    )
    return (
        f"PMD has the lowest error of the {len(measures)} measures at {won} of {n} points. {behind}"
        f"{named} {'is' if len(others) == 1 else 'are'} lower, by {gap:.4f} at most; {doubt}."
    )


def panel_words(table: PanelTable) -> list[str]:
    """Return what a panel shows: the claim, the verdict, what K changes, PMD against controls and peers."""
    said = [f"Claimed: {table.panel.claim}"] if table.panel.claim else []
    if said or len(table.of_kind("measure")) != 1:
        said.append(verdict(table))
    if table.left_out:
        said.append(
            f"Shown {'is' if table.repeats == 1 else 'are'} the {counted(table.repeats, 'repeat')} that all "
            f"methods here have; {counted(table.left_out, 'record')} of others left out."
        )
    if table.panel.over == "k" and len(table.heads) > 1 and table.of_kind("measure"):
        said.append(trend(table))
    ours = table.line(OURS)
    if ours is None:
        return said
    duels = dict(zip((line.method for line in table.lines if line.method != OURS), table.duels, strict=True))
    said += [
        _against(CONTROL_WORDS.get(line.method, line.label), ours, line, duels[line.method])
        for line in table.of_kind("control")
    ]
    if peers := table.of_kind("peer"):
        best = min(peers, key=lambda line: float(line.mean.mean()))
        who = f"Surprise's {best.label}{f', the best of {len(peers)} peers here' if len(peers) > 1 else ''}"
        said.append(_against(who, ours, best, duels[best.method]))
    return said


LEVEL_CURVE = 0.01
"""A curve whose errors differ by less than this share of the lowest is called level."""


def trend(table: PanelTable) -> str:
    """Return what more neighbors do for each measure, from the first K to the last: a sentence."""
    measures = table.of_kind("measure")
    worse = [line.label for line in measures if line.mean[-1] >= line.mean[0]]
    turning = [line for line in measures if line.mean[-1] > line.mean.min()]
    level = [line.label for line in measures if np.ptp(line.mean) < LEVEL_CURVE * line.mean.min()]
    n, change = len(measures), "becomes lower"
    if n == 1:
        whose, change = measures[0].label, "does not become lower" if worse else change
    else:
        whose = f"{f'{n - len(worse)} of the' if worse else 'all'} {n} measures"
    but = f" (not of {_and(worse)})" if 0 < len(worse) < n else ""
    said = f"From K = {table.heads[0]} to {table.heads[-1]} the error of {whose} {change}{but}"
    if turning:
        lowest = (f"{line.label} at {table.heads[int(line.mean.argmin())]}" for line in turning)
        said += f"; lowest at a smaller K: {', '.join(lowest)}"
    return f"{said}. Level within {LEVEL_CURVE:.0%}: {', '.join(level) or 'none'}."


def _and(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


CONTROL_WORDS = {
    "uniform": "uniform weights, K raters drawn at random",
    "mean-vector": "the cosine of mean item vectors, item similarity without transport",
    "user-mean": "each user's mean, without neighbors",
    "bias": "user and item biases alone, without neighbors",
}


def _against(who: str, ours: Line, line: Line, duel: Duel) -> str:
    gap = line.mean - ours.mean
    low, high = float(gap.min()), float(gap.max())
    if low >= 0:
        how = f"PMD's error is lower by {low:.4f} to {high:.4f}"
    elif high <= 0:
        how = f"PMD's error is higher by {-high:.4f} to {-low:.4f}"
    else:
        n = int((gap > 0).sum())
        rest = f"by {high:.4f} at most; elsewhere higher by {-low:.4f} at most"
        how = f"PMD's error is lower at {n} of {gap.size} points ({rest})"
    return f"Against {who}: {how}; p = {p_text(duel.p_users)}.".replace("p = <", "p <")


def summary_words(book: Book, tables: list[PanelTable]) -> list[str]:
    """Return the report's opening paragraphs."""
    e = book.experiment
    if not any(table.line(OURS) for table in tables):
        return [f"PMD is not among the records of {e.dataset} here, so there is no verdict on it."]
    with_ours = [table for table in tables if table.line(OURS) is not None]
    points = sum(len(table.heads) for table in with_ours)
    won = sum(table.best("measure").count(OURS) for table in with_ours)
    n = max(len(table.of_kind("measure")) for table in with_ours)
    repeats = max(table.repeats for table in with_ours)
    where = f"({e.dataset}, {counted(repeats, 'repeat')})"
    if n == 1:
        said = [f"PMD is the only measure that was run {where}."]
    else:
        field = f"the {n} measures at {won} of {points} points {where}"
        said = [f"Over all panels, PMD has the lowest mean absolute error of {field}."]
        said.append(f"The other measure with the lowest error is {_rival(with_ours, 'measure')}.")
    for method, lead in (
        ("uniform", "How much of it is the distance? Compared with uniform weights over random raters"),
        ("mean-vector", "How much of it is the transport? Compared with the cosine of mean item vectors"),
        ("bias", "Are neighbors worth it? Compared with biases alone"),
    ):
        gaps = [
            other.mean - ours.mean
            for table in with_ours
            if (ours := table.line(OURS)) and (other := table.line(method))
        ]
        if gaps:
            gap = np.concatenate(gaps)
            said.append(
                f"{lead}, PMD's error is lower at {int((gap > 0).sum())} of {gap.size} points; on average "
                f"it is {abs(gap.mean()):.4f} {'lower' if gap.mean() >= 0 else 'higher'} (between "
                f"{gap.min():+.4f} and {gap.max():+.4f} to PMD's advantage)."
            )
    if any(table.of_kind("peer") for table in with_ours):
        said.append(
            "What would people use instead? Of Surprise's models the one with the lowest error is "
            f"{_rival(with_ours, 'peer')}."
        )
    return said


def _rival(tables: list[PanelTable], kind: str) -> str:
    """Name the one of a kind that comes nearest to PMD, or beats it, over all panels."""
    gaps: dict[str, list[float]] = {}
    for table in tables:
        ours = _line(table, OURS)
        for line in table.of_kind(kind):
            if line.method != OURS:
                gaps.setdefault(line.label, []).extend((line.mean - ours.mean).tolist())
    label = min(gaps, key=lambda name: float(np.mean(gaps[name])))
    mean = float(np.mean(gaps[label]))
    return (
        f"{label}: {abs(mean):.4f} {'above' if mean >= 0 else 'below'} PMD on average, and lower than PMD at "
        f"{sum(gap < 0 for gap in gaps[label])} of {len(gaps[label])} points"
    )


def _line(table: PanelTable, method: str) -> Line:
    line = table.line(method)
    assert line is not None
    return line
