"""The sentences of a report: what its numbers show, how to read them, and how to reproduce them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from prefmover._format import counted, duration
from prefmover.evaluation.experiment import share_name
from prefmover.report.results import LEVEL, OURS, PanelTable, Results

__all__ = ["commands", "p_text", "panel_text", "provenance", "summary_text", "trend", "verdict"]

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
    tables = [table for table in tables if OURS in table.by_method]
    if not tables:
        return [f"PMD is not among the records of {name}, so it is not compared."]
    points = sum(len(table.heads) for table in tables)
    won = sum(table.best_measures().count(OURS) for table in tables)
    n = max(len(table.of_kind("measure")) for table in tables)
    run = f"({name}, {counted(max(table.repeats for table in tables), 'repeat')})"
    paragraphs = [f"PMD is the only measure in this run {run}."]
    if n > 1:
        paragraphs = [
            f"PMD has the lowest mean absolute error of the {n} measures at {won} of {points} points {run}."
        ]
    gaps: dict[tuple[str, str], list[float]] = {}
    for table in tables:
        for line in table.lines:
            if line.method != OURS:
                gap = line.mean - table.by_method[OURS].mean
                gaps.setdefault((line.kind, line.label), []).extend(gap.tolist())

    def strongest(kind: str) -> tuple[str, str]:
        methods = [method for method in gaps if method[0] == kind]
        return min(methods, key=lambda method: np.mean(gaps[method]), default=(kind, ""))

    shown = {
        strongest("measure"): "{}, the strongest other measure",
        ("model", "default"): OPPONENTS["default"],
        **{("control", name): OPPONENTS[name] for name in ("uniform", "mean-vector", "bias")},
        strongest("peer"): "Surprise's {}, the strongest peer",
    }
    return paragraphs + [
        _against(text.format(method[1]), gaps[method]) for method, text in shown.items() if method in gaps
    ]


def _against(name: str, gap: npt.ArrayLike, p: float | None = None) -> str:
    """Return how PMD does against a method, given the method's errors minus PMD's."""
    gap = np.asarray(gap)
    test = "" if p is None else f"; p = {p_text(p)}".replace("= <", "<")
    return (
        f"Against {name}: PMD's error is lower at {(gap > 0).sum()} of {counted(gap.size, 'point')}. The "
        f"other error minus PMD's is {gap.mean():+.4f} on average, from {gap.min():+.4f} to "
        f"{gap.max():+.4f}{test}."
    )


def panel_text(table: PanelTable) -> list[str]:
    """Return what a panel shows: claim, verdict, the effect of K, and PMD against models, controls, peers."""
    measures, ours = table.of_kind("measure"), table.by_method.get(OURS)
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
    if ours is None:
        return paragraphs
    opponents = {OPPONENTS.get(one.method, one.label): one for one in table.of_kind("model", "control")}
    if peers := table.of_kind("peer"):
        best = min(peers, key=lambda line: float(line.mean.mean()))
        opponents[f"Surprise's {best.label}, the best of {counted(len(peers), 'peer')}"] = best
    for name, line in opponents.items():
        p = table.head_to_head[line.method].p_users
        paragraphs.append(_against(name, line.mean - ours.mean, p))
    return paragraphs


def verdict(table: PanelTable) -> str:
    """Return whether PMD has the lowest error of the measures at every point of a panel."""
    ours, measures = table.by_method.get(OURS), table.of_kind("measure")
    if ours is None or len(measures) < 2:
        return "PMD was not run here." if ours is None else "No other measure was run here."
    best = table.best_measures()
    won = best.count(OURS)
    claim = (
        f"PMD has the lowest error of the {len(measures)} measures at {won} of {counted(len(best), 'point')}."
    )
    if won == len(best):
        return claim
    lowest_at = Counter(method for method in best if method != OURS)
    winners = [
        f"{table.by_method[method].label} ({counted(n, 'point')})" for method, n in lowest_at.most_common()
    ]
    gap = max(float((ours.mean - table.by_method[method].mean)[at]) for at, method in enumerate(best))
    losses = sum(table.head_to_head[method].losses for method in lowest_at)
    return (
        f"{claim} Lowest at the others: {', '.join(winners)}, by {gap:.4f} at most. Significant losses to "
        f"them in this panel: {losses} (p < {LEVEL:g}, paired over groups of users)."
    )


def trend(table: PanelTable) -> str:
    """Return how the error of each measure changes from the first K to the last."""
    measures = table.of_kind("measure")
    others = [line.label for line in measures if line.mean[-1] >= line.mean[0]]
    flat = [line.label for line in measures if np.ptp(line.mean) < FLAT * line.mean.min()]
    turning = [
        f"{line.label} at {table.heads[int(line.mean.argmin())]}"
        for line in measures
        if line.mean[-1] > line.mean.min()
    ]
    return (
        f"From K = {table.heads[0]} to {table.heads[-1]}, the error falls for {len(measures) - len(others)} "
        f"of {counted(len(measures), 'measure')}. Not falling: {', '.join(others) or 'none'}. Lowest at a "
        f"smaller K: {', '.join(turning) or 'none'}. Flat within {FLAT:.0%}: {', '.join(flat) or 'none'}."
    )


def p_text(p: float | None) -> str:
    """Return a p-value as text.

    >>> p_text(0.0323), p_text(1e-7), p_text(None)
    ('0.032', '< 0.001', '-')
    """
    if p is None:
        return "-"
    return "< 0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


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
    data, records = results.data, results.all_records
    new = {r.share: f" ({r.new_users:,} and {r.new_items:,})" for r in records if r.repeat == 0}
    splits = [
        f"{share_name(share)}: {train:,} + {test:,}{new.get(share, '')}"
        for share, train, test in sorted({(r.share, r.n_train, r.n_test) for r in records}, reverse=True)
    ]
    versions = {", ".join(f"{name} {n}" for name, n in sorted(one.run.versions.items())) for one in records}
    software = " / ".join(sorted(versions))
    source = f"{results.experiment.data_name} (digest of the ratings {data.ratings})"
    brackets = "in parentheses: users and items of the first repeat without a training rating"
    return [
        f"Data: {source}. Item geometry: {data.geometry} (digest {data.distances or 'of each split'}).",
        f"Splits, as training + test ratings ({brackets}): {'; '.join(splits)}.",
        f"{counted(len(records), 'record')}, {duration(results.seconds)} of computing. {software}.",
    ]
