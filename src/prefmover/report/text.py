"""The sentences of a report: what its numbers show, how to read them, and how to reproduce them."""

from __future__ import annotations

from collections import Counter

import numpy as np

from prefmover._typing import Floats
from prefmover.evaluation.experiment import share_name
from prefmover.evaluation.record import Kind
from prefmover.execution.format import counted, duration
from prefmover.report.results import LEVEL, OURS, HeadToHead, Line, PanelTable, Results

__all__ = ["commands", "notes", "p_text", "panel_text", "provenance", "summary_text", "trend", "verdict"]

FLAT = 0.01
"""A curve whose errors differ by less than this share of the lowest counts as flat."""

OPPONENTS = {
    "default": "the package's default model",
    "uniform": "K random raters with equal weights (no distance)",
    "mean-vector": "the cosine of mean item vectors (no transport)",
    "user-mean": "each user's mean (no neighbors)",
    "bias": "user and item biases alone (no neighbors)",
}


def summary_text(results: Results, tables: list[PanelTable]) -> list[str]:
    """Return the opening paragraphs of the report."""
    name = results.experiment.data_name
    tables = [table for table in tables if table.line(OURS) is not None]
    if not tables:
        return [f"PMD is not among the records of {name}, so there is no verdict on it."]
    points = sum(len(table.heads) for table in tables)
    won = sum(table.best("measure").count(OURS) for table in tables)
    n = max(len(table.of_kind("measure")) for table in tables)
    run = f"({name}, {counted(max(table.repeats for table in tables), 'repeat')})"
    if n == 1:
        paragraphs = [f"PMD is the only measure in this run {run}."]
    else:
        paragraphs = [
            f"PMD has the lowest mean absolute error of the {n} measures at {won} of {points} points {run}.",
            f"The strongest other measure is {_strongest(tables, 'measure')}.",
        ]
    for method in ("default", "uniform", "mean-vector", "bias"):
        differences = [
            other.mean - _line(table, OURS).mean for table in tables if (other := table.line(method))
        ]
        if differences:
            paragraphs.append(_compared(method, np.concatenate(differences)))
    if any(table.of_kind("peer") for table in tables):
        paragraphs.append(f"The strongest model of Surprise is {_strongest(tables, 'peer')}.")
    return paragraphs


def _compared(method: str, difference: Floats) -> str:
    """Return how PMD does against a method, given the method's errors minus PMD's."""
    average = "lower" if difference.mean() >= 0 else "higher"
    return (
        f"Compared with {OPPONENTS[method]}, PMD's error is lower at {int((difference > 0).sum())} of "
        f"{difference.size} points. On average it is {abs(difference.mean()):.4f} {average}; the other error "
        f"minus PMD's is between {difference.min():+.4f} and {difference.max():+.4f}."
    )


def _strongest(tables: list[PanelTable], kind: Kind) -> str:
    """Name the method of a kind with the lowest error relative to PMD over all panels."""
    gaps: dict[str, list[float]] = {}
    for table in tables:
        for line in table.of_kind(kind):
            if line.method != OURS:
                gaps.setdefault(line.label, []).extend((line.mean - _line(table, OURS).mean).tolist())
    label = min(gaps, key=lambda name: float(np.mean(gaps[name])))
    mean = float(np.mean(gaps[label]))
    lower = sum(gap < 0 for gap in gaps[label])
    return (
        f"{label}: its error is {abs(mean):.4f} {'above' if mean >= 0 else 'below'} PMD's on average, and "
        f"lower than PMD's at {lower} of {len(gaps[label])} points"
    )


def panel_text(table: PanelTable) -> list[str]:
    """Return what a panel shows: claim, verdict, the effect of K, and PMD against models, controls, peers."""
    measures = table.of_kind("measure")
    paragraphs = [f"Claim: {table.panel.claim}"] if table.panel.claim else []
    if paragraphs or len(measures) != 1:
        paragraphs.append(verdict(table))
    if table.left_out:
        paragraphs.append(
            f"The table covers the {counted(table.repeats, 'repeat')} that all methods have; "
            f"{counted(table.left_out, 'record')} from other repeats left out."
        )
    if table.panel.over == "k" and len(table.heads) > 1 and measures:
        paragraphs.append(trend(table))
    ours = table.line(OURS)
    if ours is None:
        return paragraphs
    for line in table.of_kind("model", "control"):
        name = OPPONENTS.get(line.method, line.label)
        paragraphs.append(_against(name, ours, line, table.head_to_head[line.method]))
    if peers := table.of_kind("peer"):
        best = min(peers, key=lambda line: float(line.mean.mean()))
        name = f"Surprise's {best.label}" + (f", the best of {len(peers)} peers" if len(peers) > 1 else "")
        paragraphs.append(_against(name, ours, best, table.head_to_head[best.method]))
    return paragraphs


def verdict(table: PanelTable) -> str:
    """Return whether PMD has the lowest error of the measures at every point of a panel."""
    ours, measures = table.line(OURS), table.of_kind("measure")
    if ours is None or len(measures) < 2:
        return "PMD was not run here." if ours is None else "No other measure was run here."
    best = table.best("measure")
    won = best.count(OURS)
    claim = (
        f"PMD has the lowest error of the {len(measures)} measures at {won} of {counted(len(best), 'point')}."
    )
    if won == len(best):
        return claim
    lowest_at = Counter(method for method in best if method != OURS)
    winners = [
        f"{_line(table, method).label} ({counted(n, 'point')})" for method, n in lowest_at.most_common()
    ]
    gap = max(float((ours.mean - _line(table, method).mean)[at]) for at, method in enumerate(best))
    losses = sum(table.head_to_head[method].losses for method in lowest_at)
    return (
        f"{claim} Lowest at the others: {', '.join(winners)}, by {gap:.4f} at most. Significant losses to "
        f"them in this panel: {losses} (p < {LEVEL:g}, paired over groups of users)."
    )


def trend(table: PanelTable) -> str:
    """Return how the error of each measure changes from the first K to the last."""
    measures = table.of_kind("measure")
    falling = [line.label for line in measures if line.mean[-1] < line.mean[0]]
    others = [line.label for line in measures if line.label not in falling]
    flat = [line.label for line in measures if np.ptp(line.mean) < FLAT * line.mean.min()]
    turning = [
        f"{line.label} at {table.heads[int(line.mean.argmin())]}"
        for line in measures
        if line.mean[-1] > line.mean.min()
    ]
    text = f"From K = {table.heads[0]} to {table.heads[-1]}, the error "
    if len(measures) == 1:
        text += f"of {measures[0].label} {'falls' if falling else 'does not fall'}"
    else:
        text += f"falls for {len(falling)} of {len(measures)} measures"
    if falling and others:
        text += f" (not for {', '.join(others)})"
    if turning:
        text += f"; lowest at a smaller K: {', '.join(turning)}"
    return f"{text}. Flat within {FLAT:.0%}: {', '.join(flat) or 'none'}."


def _against(name: str, ours: Line, other: Line, result: HeadToHead) -> str:
    gap = other.mean - ours.mean
    low, high = float(gap.min()), float(gap.max())
    if low >= 0:
        outcome = f"PMD's error is lower by {low:.4f} to {high:.4f}"
    elif high <= 0:
        outcome = f"PMD's error is higher by {-high:.4f} to {-low:.4f}"
    else:
        outcome = (
            f"PMD's error is lower at {int((gap > 0).sum())} of {gap.size} points (by {high:.4f} at most) "
            f"and higher at the others (by {-low:.4f} at most)"
        )
    return f"Against {name}: {outcome}; p = {p_text(result.p_users)}.".replace("p = <", "p <")


def p_text(p: float | None) -> str:
    """Return a p-value as text.

    >>> p_text(0.0323), p_text(1e-7), p_text(None)
    ('0.032', '< 0.001', '-')
    """
    if p is None:
        return "-"
    return "< 0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def _line(table: PanelTable, method: str) -> Line:
    line = table.line(method)
    assert line is not None
    return line


CONTROLS = (
    "Controls: uniform draws K raters of the item at random and gives them equal weights. mean-vector finds "
    "neighbors by the cosine of the users' mean item vectors. user-mean and bias have no neighbors."
)
CONVENTIONS = (
    "A measure with several conventions is shown under the one with the lowest mean error on the test "
    "ratings of the panel, which favors it. PMD has one convention."
)
SHRINKAGE = (
    "Shrinkage is in units of weight. A neighbor has weight 1 under uniform, up to 1 under a similarity, and "
    "a few hundredths under PMD, so the same shrinkage affects PMD more. Use 0 to compare measures."
)


def notes(results: Results) -> list[str]:
    """Return how the predictions were made and how to read the tables."""
    e = results.experiment
    shrinkage = f" and shrinkage {e.shrinkage:g}" if e.shrinkage else ""
    average = (
        "All methods predict the same test ratings from the same training ratings. For a measure, the "
        "prediction is the weighted average over the K nearest users who rated the item, with centering "
        f"“{e.centering}”{shrinkage}, clipped to the scale; without a neighbor of defined weight, it is the "
        "baseline. Similarities serve as weights directly (with absolute values in the "
        "denominator); the weight of PMD is exp(-4 D), that of MSD is 1 - MSD. All of this was fixed before "
        "the run; the factor 4 comes from a prototype on other splits of MovieLens-100K."
    )
    tests = (
        "Bold marks the lowest error of the measures. Wins, ties and losses: paired t-test over "
        f"{len(results.records[0].groups.n)} fixed random groups of users at each point (p < {LEVEL:g}, not "
        "corrected for multiple comparisons). The last two columns test the mean difference over the panel: "
        "over groups of users, and over repeats. Repeats share ratings, so the second p-value is optimistic."
    )
    return [average, *([SHRINKAGE] if e.shrinkage else []), CONVENTIONS, tests, CONTROLS]


def commands(results: Results) -> list[str]:
    """Return the settings file, if one is needed, and the commands that reproduce the report."""
    e = results.experiment
    report = "prefmover report FOLDER"
    if not e.panels:
        return [" ".join(["prefmover evaluate", *e.to_options(), "--out FOLDER"]), report]
    file = f"# experiment.toml\n{e.to_toml()}"
    return [file, "prefmover evaluate --config experiment.toml --out FOLDER", report]


def provenance(results: Results) -> list[str]:
    """Return the data, the splits, the computing time and the versions."""
    data = results.data
    new = {r.share: (r.new_users, r.new_items) for r in results.records if r.repeat == 0}
    splits = []
    for share, train, test in sorted({(r.share, r.n_train, r.n_test) for r in results.records}, reverse=True):
        unseen = f" ({new[share][0]:,} and {new[share][1]:,})" if share in new else ""
        splits.append(f"{share_name(share)}: {train:,} + {test:,}{unseen}")
    versions = sorted({tuple(sorted(r.run.versions.items())) for r in results.records})
    software = " / ".join(", ".join(f"{name} {number}" for name, number in one) for one in versions)
    source = (
        f"Data: {results.experiment.data_name} (digest of the ratings {data.ratings}). Item geometry: "
        f"{data.geometry} (digest {data.distances or 'of each split'})."
    )
    sizes = (
        "Splits, as training + test ratings (in brackets: users and items of the first repeat without a "
        f"training rating): {'; '.join(splits)}."
    )
    run = f"{counted(len(results.records), 'record')}, {duration(results.seconds)} of computing. {software}."
    return [source, sizes, run]
