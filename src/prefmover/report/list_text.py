"""The sentences of a report about lists: what falls short first, then what follows from the numbers."""

from __future__ import annotations

from prefmover._format import counted, duration
from prefmover.report.lists import Against, ListCell, ListResults, ShareTable
from prefmover.report.sentences import p_text

__all__ = ["activity_text", "list_summary", "number", "step_rows"]

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
"""Pairs of methods that differ in one idea; "" is ours."""


def number(x: float | None, digits: int = 4) -> str:
    """Return a figure as it is printed, without a 0 before the point; - for none.

    >>> number(0.12345), number(1.0, 2), number(None)
    ('.1235', '1.00', '-')
    """
    if x is None:
        return "-"
    text = f"{x:.{digits}f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def list_summary(results: ListResults) -> list[str]:
    """Return the opening paragraphs about lists."""
    pairs = [(table, ours) for table in results.tables if (ours := table.of(results.ours)) is not None]
    return [
        *_shortfalls(results, pairs),
        *_against_peers(results, pairs),
        *_by_activity(pairs),
        *_parts(results),
        *_price(pairs),
        *_novelty(pairs),
        *_events(results),
    ]


def _rivals(table: ShareTable, ours: ListCell) -> list[ListCell]:
    """Return the methods that ours should beat: peers and controls that are not ours, kernels apart."""
    others = [cell for cell in table.cells if cell is not ours and not cell.recommender.startswith("kernel:")]
    return [cell for cell in others if cell.kind in ("peer", "control")]


def _best(cells: list[ListCell]) -> ListCell | None:
    return max(cells, key=lambda cell: cell.values["ndcg"], default=None)


def _shortfalls(results: ListResults, pairs: list[tuple[ShareTable, ListCell]]) -> list[str]:
    """Return where ours is below the best other method, before anything else."""
    below, compared = [], 0
    for table, ours in pairs:
        best = _best([cell for cell in table.cells if cell is not ours])
        if best is None:
            continue
        compared += 1
        result = table.compare(ours, best)
        if result.difference < 0:
            below.append(f"at {_at(table)} it is below {best.label} by {_gap(result, -1)}")
    if not compared:
        return []
    label = pairs[0][1].label
    if not below:
        at = "the only share" if compared == 1 else f"each of {counted(compared, 'share')}"
        return [f"{label} has the highest nDCG@{results.n} of all methods at {at}."]
    return [f"Where {label} falls short of the best other method: {'; '.join(below)}."]


def _at(table: ShareTable) -> str:
    return f"share {table.share:g}"


def _gap(result: Against, sign: int = 1) -> str:
    """Return a difference, with its share of the other's figure and its p-value."""
    percent = f"{sign * result.relative:.1%}".replace("%", " %")
    return f"{number(sign * result.difference)} ({percent}; p {_p(result.p)})"


def _against_peers(results: ListResults, pairs: list[tuple[ShareTable, ListCell]]) -> list[str]:
    """Return ours against the best peer or control at each share."""
    sentences = []
    for table, ours in pairs:
        rivals = _rivals(table, ours)
        best = _best(rivals)
        if best is not None:
            result = table.compare(ours, best)
            words = {"win": "above", "loss": "below", "tie": "not significantly different from"}
            word = words[result.outcome]
            tuned = f", after {counted(best.trials, 'trial')} on the validation part" if best.trials else ""
            sentences.append(
                f"At {_at(table)}, {ours.label} has nDCG@{results.n} "
                f"{number(ours.values['ndcg'])}: {word} {best.label} "
                f"({number(best.values['ndcg'])}{tuned}), the best of {len(rivals)} peers and controls; the "
                f"difference is {_gap(result)}."
            )
    return sentences


def _by_activity(pairs: list[tuple[ShareTable, ListCell]]) -> list[str]:
    """Return wins and losses against the best rival, by how much users have rated."""
    outcomes: dict[str, list[str]] = {"win": [], "loss": [], "tie": []}
    for table, ours in pairs:
        if (best := _best(_rivals(table, ours))) is None:
            continue
        for name in ours.activity:
            if name in best.activity:
                result = table.compare(ours, best, name)
                outcomes[result.outcome].append(f"{activity_text(ours, name)} at {_at(table)}")
    total = sum(map(len, outcomes.values()))
    if not total:
        return []
    label = pairs[0][1].label
    lost = f": {'; '.join(outcomes['loss'])}" if outcomes["loss"] else ""
    start = "By how much users have rated, against the best peer or control of the share"
    counts = f"ties in {len(outcomes['tie'])} and loses in {len(outcomes['loss'])}{lost}"
    return [f"{start}: {label} wins in {len(outcomes['win'])} of {counted(total, 'group')}, {counts}."]


def activity_text(cell: ListCell, name: str) -> str:
    """Return a group of users in words."""
    one = cell.activity[name]
    ratings = f"{one.fewest:,} to {one.most:,}" if one.fewest < one.most else f"{one.fewest:,}"
    return f"{name} ({ratings} ratings, {one.n_users:,} users)"


def step_rows(results: ListResults) -> list[list[str]]:
    """Return one row for each idea: in words, and what it changes at each share; empty without kernels."""
    rows = []
    for name, other, text in STEPS:
        changes = []
        for table in results.tables:
            before, after = table.of(name), table.of(other or results.ours)
            if before is None or after is None or before is after:
                changes.append("-")
            else:
                gap = table.compare(after, before)
                changes.append(f"{gap.difference:+.4f} (p {_p(gap.p)})")
        if set(changes) != {"-"}:
            ours = next(cell.label for cell in results.recommenders if cell.recommender == results.ours)
            rows.append([text.format(ours=ours), *changes])
    return rows if len(rows) > 1 else []


def _parts(results: ListResults) -> list[str]:
    """Return how much comes from the regression, the geometry and the transport, where ratings are fewest."""
    rows = step_rows(results)
    changes = "; ".join(f"{text} {change}" for text, change, *_ in rows)
    at = _at(results.tables[0])
    return [f"What changes nDCG@{results.n} at {at}, and by how much: {changes}."] if rows else []


def _p(p: float) -> str:
    text = p_text(p)
    return text if "<" in text else f"= {text}"


def _price(pairs: list[tuple[ShareTable, ListCell]]) -> list[str]:
    if not pairs:
        return []
    table, ours = pairs[-1]
    best = _best(_rivals(table, ours))
    rival = f" {best.label}, the best peer or control, {_times(best)}." if best is not None else ""
    return [f"The price, at {_at(table)}: {ours.label} {_times(ours)}.{rival}"]


def _times(cell: ListCell) -> str:
    own = f", {counted(cell.trials, 'trial')} of its search included," if cell.trials else ""
    own, search = ("", f", after a search of {duration(cell.search)}") if cell.search else (own, "")
    return (
        f"took {duration(cell.fit)} to fit{own} and {duration(cell.answer)} to recommend to all users{search}"
    )


def _novelty(pairs: list[tuple[ShareTable, ListCell]]) -> list[str]:
    if not pairs:
        return []
    table, ours = pairs[-1]
    shown = [
        ours,
        *(cell for cell in (_best(_rivals(table, ours)), table.of("popularity")) if cell is not None),
    ]
    texts = [
        f"{cell.label} {cell.values['popularity']:,.0f} (and {cell.values['coverage']:.0%} of all items)"
        for cell in dict.fromkeys(shown)
    ]
    start = "How well known the items are, as the median number of training ratings at"
    return [f"{start} {_at(table)}: {'; '.join(texts).replace('%', ' %')}."]


def _events(results: ListResults) -> list[str]:
    """Return what was wrong with the lists of each method."""
    wrong = [
        f"{cell.label} at {_at(table)}: {cell.events}"
        for table in results.tables
        for cell in table.cells
        if cell.events
    ]
    return [f"Wrong entries of lists, none of which counts as a hit: {'; '.join(wrong)}."] if wrong else []
