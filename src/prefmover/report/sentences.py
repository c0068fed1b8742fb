"""The sentences of a report: what falls short first, what its numbers show, and how to reproduce them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from prefmover._format import counted, duration
from prefmover.evaluation.experiment import share_name
from prefmover.report.results import LEVEL, HeadToHead, Line, Results, Table, adjusted

FLAT = 0.01
"""A curve whose errors differ by less than this share of the lowest counts as flat."""

OPPONENTS = {
    "default": "the package's default model",
    "uniform": "K random raters with equal weights (no distance)",
    "mean-vector": "the cosine of mean item vectors (no transport)",
    "user-mean": "each user's mean (no neighbors)",
    "bias": "user and item biases alone (no neighbors)",
}

STEPS = (
    ("liked-popularity", "kernel:cosine", "kernel ridge by cosine instead of the most liked items"),
    (
        "kernel:total-variation",
        "kernel:mean-vector",
        "geometry: mean item vectors instead of total variation",
    ),
    ("kernel:mean-vector", "kernel:pmd", "transport: PMD instead of mean item vectors"),
    ("kernel:total-variation", "kernel:pmd", "geometry and transport: PMD instead of total variation"),
    ("kernel:pmd", "", "the item side and its own search: {ours} instead of kernel ridge by PMD"),
)
"""Pairs of recommenders that differ in one idea; "" is ours."""


def number(x: float | None, digits: int = 4) -> str:
    """Return a figure as it is printed, without a 0 before the point; - for none.

    >>> number(0.12345), number(1.0, 2), number(None)
    ('.1235', '1.00', '-')
    """
    if x is None:
        return "-"
    text = f"{x:.{digits}f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def p_text(p: float | None) -> str:
    """Return a p-value as text.

    >>> p_text(0.0323), p_text(1e-7), p_text(None)
    ('0.032', '< 0.001', '-')
    """
    if p is None:
        return "-"
    return "< 0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def _p(p: float) -> str:
    return f"p = {p_text(p)}".replace("= <", "<")


def summary(results: Results) -> list[str]:
    """Return the opening paragraphs."""
    return about_lists(results) + about_ratings(results)


def about_ratings(results: Results) -> list[str]:
    """Return the opening paragraphs about predicted ratings."""
    if not results.of("rating"):
        return []
    name = results.experiment.data_name
    tables = [(table, table.ours) for table in results.ratings if table.ours is not None]
    if not tables:
        return [f"PMD is not among the records of {name}, so it is not compared."]
    points = sum(len(table.heads) for table, _ in tables)
    won = sum(table.best_measures().count(ours) for table, ours in tables)
    n = max(len(table.of_kind("measure")) for table, _ in tables)
    run = f"({name}, {counted(max(table.repeats for table, _ in tables), 'repeat')})"
    lowest = f"PMD has the lowest mean absolute error of the {n} measures at {won} of {points} points {run}."
    gaps: dict[tuple[str, str], list[float]] = {}
    for table, ours in tables:
        for line in table.lines:
            if line is not ours:
                gaps.setdefault((line.kind, line.label), []).extend((line.mean - ours.mean).tolist())

    def strongest(kind: str) -> tuple[str, str]:
        methods = [method for method in gaps if method[0] == kind]
        return min(methods, key=lambda method: np.mean(gaps[method]), default=(kind, ""))

    shown = {
        strongest("measure"): "{}, the strongest other measure",
        ("model", "default"): OPPONENTS["default"],
        **{("control", name): OPPONENTS[name] for name in ("uniform", "mean-vector", "bias")},
        strongest("peer"): "Surprise's {}, the strongest peer",
    }
    return [
        lowest if n > 1 else f"PMD is the only measure in this run {run}.",
        *(_against(text.format(one[1]), gaps[one]) for one, text in shown.items() if one in gaps),
    ]


def _against(name: str, gap: npt.ArrayLike, p: float | None = None) -> str:
    """Return how PMD does against a method, given the method's errors minus PMD's."""
    gap = np.asarray(gap)
    test = "" if p is None else f"; {_p(p)}"
    return (
        f"Against {name}: PMD's error is lower at {(gap > 0).sum()} of {counted(gap.size, 'point')}. The "
        f"other error minus PMD's is {gap.mean():+.4f} on average, from {gap.min():+.4f} to "
        f"{gap.max():+.4f}{test}."
    )


def about_panel(table: Table) -> list[str]:
    """Return what a panel shows: claim, verdict, the effect of K, and PMD against models, controls, peers."""
    measures, ours = table.of_kind("measure"), table.ours
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
    peers = table.of_kind("peer")
    if best := table.best(peers):
        opponents[f"Surprise's {best.label}, the best of {counted(len(peers), 'peer')}"] = best
    for name, line in opponents.items():
        p = table.head_to_head[line.recommender].p_users
        paragraphs.append(_against(name, line.mean - ours.mean, p))
    return paragraphs


def verdict(table: Table) -> str:
    """Return whether PMD has the lowest error of the measures at every point of a panel."""
    ours, measures = table.ours, table.of_kind("measure")
    if ours is None or len(measures) < 2:
        return "PMD was not run here." if ours is None else "No other measure was run here."
    best = table.best_measures()
    won = best.count(ours)
    claim = (
        f"PMD has the lowest error of the {len(measures)} measures at {won} of {counted(len(best), 'point')}."
    )
    if won == len(best):
        return claim
    lowest_at = Counter(line for line in best if line is not ours)
    winners = [f"{line.label} ({counted(n, 'point')})" for line, n in lowest_at.most_common()]
    gap = max(float((ours.mean - line.mean)[at]) for at, line in enumerate(best))
    losses = sum(table.head_to_head[line.recommender].losses for line in lowest_at)
    return (
        f"{claim} Lowest at the others: {', '.join(winners)}, by {gap:.4f} at most. Significant losses to "
        f"them in this panel: {losses} (p < {LEVEL:g}, paired over groups of users)."
    )


def trend(table: Table) -> str:
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


def about_lists(results: Results) -> list[str]:
    """Return the opening paragraphs about lists; where ours falls short comes before anything else."""
    tables = [(table, table.ours) for table in results.lists if table.ours is not None]
    texts = [_shortfalls(results, tables), *_against_rivals(results, tables), _by_activity(tables)]
    if rows := steps(results):
        changes = "; ".join(f"{text} {change}" for text, change, *_ in rows)
        at = _at(results.lists[0])
        texts.append(f"What changes nDCG@{results.n} at {at}, and by how much: {changes}.")
    if tables:
        texts += [_price(*tables[-1]), _how_well_known(*tables[-1])]
    wrong = [
        f"{line.label} at {_at(table)}: {line.events}"
        for table in results.lists
        for line in table.lines
        if line.events
    ]
    if wrong:
        texts.append(f"Wrong entries of lists, none of which counts as a hit: {'; '.join(wrong)}.")
    texts.append(_new_users(tables))
    return [text for text in texts if text]


def _new_users(tables: list[tuple[Table, Line]]) -> str:
    """Return how many users have no training rating, and what the fallback is worth to them."""
    found = [
        f"{ours.new.n_users:,} at {_at(table)} (nDCG {number(ours.new.mean[0])})"
        for table, ours in tables
        if ours.new is not None
    ]
    if not found:
        return ""
    return (
        "Users without training ratings are left out of all figures above. Every recommender by name gives "
        f"them the most liked items: {', '.join(found)}."
    )


def _at(table: Table) -> str:
    return f"share {table.share:g}"


def _gap(result: HeadToHead, sign: int = 1) -> str:
    """Return a difference, with its share of the other's figure and its p-value."""
    percent = f"{sign * result.relative:.1%}".replace("%", " %")
    return f"{number(sign * result.difference)} ({percent}; {_p(result.p)})"


def _shortfalls(results: Results, tables: list[tuple[Table, Line]]) -> str:
    below, compared = [], 0
    for table, ours in tables:
        if best := table.best(line for line in table.lines if line is not ours):
            compared += 1
            result = table.head_to_head[best.recommender]
            if result.difference < 0:
                below.append(f"at {_at(table)} it is below {best.label} by {_gap(result, -1)}")
    if not compared:
        return ""
    label = tables[0][1].label
    if not below:
        at = "the only share" if compared == 1 else f"each of {counted(compared, 'share')}"
        return f"{label} has the highest nDCG@{results.n} of all methods at {at}."
    return f"Where {label} falls short of the best other method: {'; '.join(below)}."


def _against_rivals(results: Results, tables: list[tuple[Table, Line]]) -> list[str]:
    """Return ours against the best peer or control at each share."""
    words = {"win": "above", "loss": "below", "tie": "not significantly different from"}
    sentences = []
    for table, ours in tables:
        if best := table.rival:
            result, trials = table.head_to_head[best.recommender], len(best.trials)
            tuned = f", after {counted(trials, 'trial')} on the validation part" if trials else ""
            sentences.append(
                f"At {_at(table)}, {ours.label} has nDCG@{results.n} {number(ours.mean[0])}: "
                f"{words[result.outcome]} {best.label} ({number(best.mean[0])}{tuned}), the best of "
                f"{len(table.rivals)} peers and controls; the difference is {_gap(result)}."
            )
    return sentences


def _by_activity(tables: list[tuple[Table, Line]]) -> str:
    """Return wins and losses against the best rival, by how much users have rated."""
    outcomes: dict[str, list[str]] = {"win": [], "loss": [], "tie": []}
    for table, ours in tables:
        if (best := table.rival) is None:
            continue
        for name, users in ours.activity.items():
            if name in best.activity:
                outcome = table.by_activity[best.recommender, name].outcome
                outcomes[outcome].append(f"{users} at {_at(table)}")
    total = sum(map(len, outcomes.values()))
    if not total:
        return ""
    lost = f": {'; '.join(outcomes['loss'])}" if outcomes["loss"] else ""
    return (
        "By how much users have rated, against the best peer or control of the share: "
        f"{tables[0][1].label} wins in {len(outcomes['win'])} of {counted(total, 'group')}, ties in "
        f"{len(outcomes['tie'])} and loses in {len(outcomes['loss'])}{lost}."
    )


def steps(results: Results) -> list[list[str]]:
    """Return one row for each idea: in words, and what it changes at each share; empty without kernels."""
    gaps: dict[tuple[str, float], HeadToHead] = {}
    label = next((table.ours.label for table in results.lists if table.ours), "")
    for name, other, text in STEPS:
        for table in results.lists:
            before, after = table.of(name), table.of(other) if other else table.ours
            if before and after and before is not after:
                gaps[text.format(ours=label), table.share] = HeadToHead.from_lines(after, before)
    gaps, shares = adjusted(gaps), [table.share for table in results.lists]
    cells = {key: f"{gap.difference:+.4f} ({_p(gap.p)})" for key, gap in gaps.items()}
    rows = [
        [text, *(cells.get((text, share), "-") for share in shares)]
        for text in dict.fromkeys(text for text, _ in gaps)
    ]
    return rows if len(rows) > 1 else []


def _price(table: Table, ours: Line) -> str:
    best = table.rival
    rival = f" {best.label}, the best peer or control, {_times(best)}." if best else ""
    return f"The price, at {_at(table)}: {ours.label} {_times(ours)}.{rival}"


def _times(line: Line) -> str:
    fit, answer, search = line.seconds
    own = f", {counted(len(line.trials), 'trial')} of its search included," if line.trials else ""
    own, after = ("", f", after a search of {duration(search)}") if search else (own, "")
    return f"took {duration(fit)} to fit{own} and {duration(answer)} to recommend to all users{after}"


def _how_well_known(table: Table, ours: Line) -> str:
    shown = filter(None, dict.fromkeys((ours, table.rival, table.of("popularity"))))
    texts = "; ".join(
        f"{line.label} {line.value('popularity'):,.0f} (and {line.value('catalog'):.0%} of all items)"
        for line in shown
    ).replace("%", " %")
    start = "How well known the items are, as the median number of training ratings at"
    return f"{start} {_at(table)}: {texts}."


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
    data, records = results.data, results.records
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
        f"Data: {source}. Item geometry: {data.geometry}.",
        f"Splits, as training + test ratings ({brackets}): {'; '.join(splits)}.",
        f"{counted(len(records), 'record')}, {duration(results.seconds)} of computing. {software}.",
    ]
