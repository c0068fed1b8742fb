"""Put the measured figures into the pages: ``make figures``, or ``python -m tools.figures``.

Nobody types a figure. A page names what it shows, and this program writes it between two comments::

    <!-- figures: lists lastfm -->            a block of lines, usually a table
    <!-- /figures -->

    <!-- figure: records -->1,234<!-- /figure -->      a value inside a sentence

The sources are the records of experiments (``docs/results/**``, written by ``prefmover evaluate``) and the
output of benchmarks (``docs/benchmarks/*.json``, by ``benchmarks/bench_X.py --write``). ``BLOCKS`` and
``VALUES`` say what each name stands for. ``tests/docs/test_figures.py`` fails if a page differs from them.
Figures of a run without records stay as they are.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import ttest_rel

from tools.walk import walk_elsewhere

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
BENCHMARKS = ROOT / "docs" / "benchmarks"
BLOCK = re.compile(r"(<!-- figures: (.+?) -->\n)(.*?)(<!-- /figures -->)", re.DOTALL)
VALUE = re.compile(r"(<!-- figure: (.+?) -->)(.*?)(<!-- /figure -->)", re.DOTALL)
LEVEL = 0.05  # of a paired test; above it, two methods tie

DATASETS = {
    "ml-100k": "MovieLens-100K",
    "ml-1m": "MovieLens-1M",
    "goodbooks": "books",
    "lastfm": "music",
    "movietweetings": "tweets",
}


class NoRecordsError(Exception):
    """A run has not been computed yet."""


def main() -> None:
    """Write the figures of every page, and say which pages changed."""
    for page in pages():
        text = page.read_text(encoding="utf-8")
        if (filled := fill(text, page)) != text:
            page.write_text(filled, encoding="utf-8")
            print(f"{page.relative_to(ROOT)}: new figures", file=sys.stderr)


def pages() -> list[Path]:
    """Return README and the pages of docs/."""
    found = (ROOT / "docs").rglob("*.md")
    return [ROOT / "README.md", *sorted(p for p in found if not {"_build", "api", "report"} & set(p.parts))]


def fill(text: str, page: Path) -> str:
    """Return the text of a page with the figures of its sources."""

    def block(match: re.Match[str]) -> str:
        try:
            return f"{match[1]}{_named(BLOCKS, match[2], page).strip()}\n{match[4]}"
        except NoRecordsError:
            return match[0]

    def value(match: re.Match[str]) -> str:
        try:
            return f"{match[1]}{_named(VALUES, match[2], page)}{match[4]}"
        except NoRecordsError:
            return match[0]

    return VALUE.sub(value, BLOCK.sub(block, text))


def _named(table: dict[str, Callable[..., str]], words: str, page: Path) -> str:
    name, *rest = words.split()
    if name not in table:
        raise SystemExit(f"{page}: there is no figure {name!r}; choose one of {', '.join(sorted(table))}")
    return table[name](*rest)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows))


# Records


@dataclass(frozen=True)
class Cell:
    """A recommender at one share of training ratings: means over the repeats."""

    recommender: str
    label: str
    kind: str
    value: float  # MAE or nDCG
    groups: np.ndarray  # the same by group of users, NaN for an empty one
    trials: int
    fit: float  # seconds

    def against(self, other: Cell) -> tuple[float, float]:
        """Return the difference to another cell and its p-value, by a paired t-test over groups of users."""
        both = ~(np.isnan(self.groups) | np.isnan(other.groups))
        if np.array_equal(self.groups[both], other.groups[both]):
            return 0.0, 1.0
        return self.value - other.value, float(ttest_rel(self.groups[both], other.groups[both]).pvalue)


@cache
def records(folder: str) -> list[Any]:
    """Return the records of a run, such as ``"ranking/lastfm"``, at least one."""
    from prefmover.evaluation.folder import RunFolder

    if not (found := list(RunFolder(RESULTS / folder).records().values())):
        raise NoRecordsError(folder)
    return found


@cache
def cells(folder: str, task: str, cut: int) -> dict[float, dict[str, Cell]]:
    """Return the cells of a run by share and recommender, for lists of length ``cut``, or K = ``cut``."""
    found: dict[float, dict[str, list[tuple[Any, int]]]] = {}
    for one in records(folder):
        if one.task == task and (at := one.column(cut)) is not None:
            found.setdefault(one.share, {}).setdefault(one.recommender, []).append((one, at))
    return {
        share: {name: _cell(some) for name, some in sorted(found[share].items())} for share in sorted(found)
    }


def _cell(some: list[tuple[Any, int]]) -> Cell:
    """Return the means of the records of a recommender, each with the position of the cut."""
    one = some[0][0]
    n = np.sum([r.groups.n for r, _ in some], axis=0)
    sums = np.sum([r.groups.sums[at] for r, at in some], axis=0)
    groups = np.divide(sums, n, out=np.full(len(n), np.nan), where=n > 0)
    value = float(np.mean([r.main[at] for r, at in some]))
    trials = len(one.tuning.trials) if one.tuning else 0
    fit = float(np.mean([r.run.fit_seconds or r.run.seconds for r, _ in some]))
    return Cell(one.recommender, one.label, one.kind, value, groups, trials, fit)


def decimal(value: float, digits: int = 4) -> str:
    """Return a number without the zero before its point."""
    return f"{value:.{digits}f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.{digits}f}"


def signed(value: float, digits: int = 4) -> str:
    """Return a difference with its sign."""
    return ("+" if value >= 0 else "-") + decimal(abs(value), digits)


def chance(p: float) -> str:
    """Return a p-value in words."""
    return "p < .001" if p < 0.001 else f"p = {decimal(p, 3 if p < 0.01 else 2)}"


NAMES = {
    "ease": "EASE",
    "implicit:als": "ALS",
    "implicit:bpr": "BPR",
    "item-knn": "item-kNN",
    "user-knn": "user-kNN",
    "liked-popularity": "most liked items",
    "popularity": "most rated items",
    "bias": "biases alone",
    "user-mean": "the user's mean",
    "mean-vector": "mean item vectors, no transport",
    "uniform": "uniform weights",
    "default": "the default, `Recommender()`",
    "agreement": "agreement alone, no transport",
}


def shown(cell: Cell) -> str:
    """Return the name of a method for readers."""
    family, _, rest = cell.recommender.partition(":")
    if family == "kernel":
        return f"kernel ridge, {rest.replace('-', ' ').replace('pmd', 'PMD').replace('rwmd', 'RWMD')}"
    if family == "surprise":
        return f"Surprise {rest}"
    return NAMES.get(cell.recommender, cell.label)


# Lists


def rival(here: dict[str, Cell], *kinds: str) -> Cell:
    """Return the cell with the highest nDCG besides the default, among some kinds."""
    others = [cell for name, cell in here.items() if name != "default" and cell.kind in kinds]
    return max(others, key=lambda cell: cell.value)


def compared(ours: Cell, other: Cell) -> str:
    """Return the relative difference of two nDCGs, or "tie"."""
    difference, p = ours.against(other)
    share = f"{difference / other.value:+.1%}"
    return f"{share} ({chance(p)})" + (", a tie" if p >= LEVEL else "")


def lists_short() -> str:
    """Return the README's table of lists, what speaks against the default first."""
    rows = []
    for folder, data in DATASETS.items():
        for share in (0.1, 0.3, 0.8):
            here = cells(f"ranking/{folder}", "ranking", 10)[share]
            ours, best, peer = here["default"], rival(here, "peer", "control"), rival(here, "peer")
            row = [
                f"{data}, {share:.0%}",
                decimal(ours.value, 3),
                f"{decimal(best.value, 3)} ({shown(best)})",
                f"{decimal(peer.value, 3)} ({shown(peer)})",
                decimal(here["liked-popularity"].value, 3),
                f"{ours.trials} / {peer.trials}",
            ]
            rows.append((ours.value / best.value, row))
    head = [
        "data, share",
        "prefmover",
        "best other",
        "best tuned peer",
        "most liked",
        "settings tried, prefmover / peer",
    ]
    return table(head, [row for _, row in sorted(rows, key=lambda pair: pair[0])])


def lists(folder: str) -> str:
    """Return the results of one data set, one row per share, the worst for the default first."""
    rows = []
    for share, here in cells(f"ranking/{folder}", "ranking", 10).items():
        ours, peer, control = here["default"], rival(here, "peer"), rival(here, "control")
        row = [
            f"{share:.0%}",
            decimal(ours.value),
            f"{shown(control)} {decimal(control.value)}",
            compared(ours, control),
            f"{shown(peer)} {decimal(peer.value)}",
            compared(ours, peer),
            decimal(here["liked-popularity"].value),
            f"{ours.trials} / {peer.trials}",
        ]
        rows.append((ours.value / max(peer.value, control.value), row))
    head = ["share", "default", "best control", "default against it", "best tuned peer", "default against it",
            "most liked", "settings tried"]  # fmt: skip
    return table(head, [row for _, row in sorted(rows, key=lambda pair: pair[0])])


STEPS = (
    ("kernel ridge by cosine instead of the most liked items", "kernel:cosine", "liked-popularity"),
    (
        "geometry: mean item vectors instead of total variation",
        "kernel:mean-vector",
        "kernel:total-variation",
    ),
    ("transport: PMD instead of mean item vectors", "kernel:pmd", "kernel:mean-vector"),
    ("geometry and transport: PMD instead of total variation", "kernel:pmd", "kernel:total-variation"),
    ("item side, content, own search: default instead of kernel ridge by PMD", "default", "kernel:pmd"),
)


def steps(folder: str) -> str:
    """Return what each idea adds to nDCG@10; a star marks a significant difference."""
    run = cells(f"ranking/{folder}", "ranking", 10)
    rows = [
        [words, *(_step(here[first], here[second]) for here in run.values())]
        for words, first, second in STEPS
    ]
    return table([DATASETS[folder], *(f"{share:.0%}" for share in run)], rows)


def _step(first: Cell, second: Cell) -> str:
    difference, p = first.against(second)
    return signed(difference) + ("*" if p < LEVEL else "")


def lists_outcome() -> str:
    """Return in how many cells the default wins, ties and loses against the best other method."""
    counts = {"wins": 0, "ties": 0, "loses": 0}
    for folder in DATASETS:
        for here in cells(f"ranking/{folder}", "ranking", 10).values():
            difference, p = here["default"].against(rival(here, "peer", "control"))
            counts["ties" if p >= LEVEL else "wins" if difference > 0 else "loses"] += 1
    return f"loses in {counts['loses']}, ties in {counts['ties']} and wins in {counts['wins']}"


def trials() -> str:
    """Return how many settings the default model tried in its fits."""
    every = [
        here["default"].trials
        for folder in DATASETS
        for here in cells(f"ranking/{folder}", "ranking", 10).values()
    ]
    return f"{min(every)} to {max(every)}"


# Predicted ratings


def ratings(*folders: str) -> str:
    """Return the MAE of each method by share, the lowest first."""
    runs = [cells(folder, "rating", 40) for folder in folders]
    by_share: dict[float, dict[str, Cell]] = {}
    for run in runs:
        for share, here in run.items():
            by_share.setdefault(share, {}).update(here)
    methods = set.intersection(*(set(here) for here in by_share.values()))
    mean = {m: np.mean([here[m].value for here in by_share.values()]) for m in methods}
    lowest = {share: min(here[m].value for m in methods) for share, here in by_share.items()}
    rows = []
    for method in sorted(methods, key=lambda m: mean[m]):
        one = [(here[method].value, lowest[share]) for share, here in by_share.items()]
        label = next(shown(here[method]) for here in by_share.values())
        rows.append([label, *(f"**{decimal(v)}**" if v == best else decimal(v) for v, best in one)])
    return table(["trained on", *(f"{share:.0%}" for share in by_share)], rows)


def ratings_short() -> str:
    """Return the README's table of errors."""
    rows = []
    for folder, data in {"": "MovieLens-100K", "/books": "books", "/tweets": "tweets (0 to 10)"}.items():
        for share, here in cells(f"peers-tuned{folder}", "rating", 40).items():
            peers = [cell for cell in here.values() if cell.kind == "peer"]
            best = min(peers, key=lambda cell: cell.value)
            ours = here["default"].value
            row = [f"{data}, {share:.0%}", decimal(ours, 3), f"{decimal(best.value, 3)} ({shown(best)})",
                   decimal(here["bias"].value, 3)]  # fmt: skip
            rows.append((ours / best.value, row))
    head = ["data, share", "prefmover", "best tuned model of Surprise", "biases alone"]
    return table(head, [row for _, row in sorted(rows, key=lambda pair: -pair[0])])


def lowest_measures(here: dict[str, Cell]) -> dict[str, Cell]:
    """Return the measures by label, each under its best convention."""
    best: dict[str, Cell] = {}
    for cell in here.values():
        if cell.kind == "measure" and (cell.label not in best or cell.value < best[cell.label].value):
            best[cell.label] = cell
    return best


def points(folder: str, axis: str) -> Iterator[tuple[str, dict[str, Cell]]]:
    """Yield the points of a panel of the paper: all shares at K = 40, or all K at one share."""
    if axis == "ratios":
        for share, here in sorted(cells(folder, "rating", 40).items(), reverse=True):
            yield f"{share:.0%}", here
    else:
        for k in range(5, 65, 5):
            yield f"K = {k}", cells(folder, "rating", k)[float(axis)]


def panel(folder: str, axis: str) -> str:
    """Return a panel of the paper's Figure 3 as a table: PMD, the lowest other measure, and the controls."""
    rows = []
    for label, here in points(folder, axis):
        measures = lowest_measures(here)
        pmd = measures.pop("PMD")
        other = min(measures.values(), key=lambda cell: cell.value)
        difference, p = other.against(pmd)
        lower = sorted(m for m, cell in measures.items() if cell.value < pmd.value)
        rows.append([
            label, decimal(pmd.value), f"{other.label} {signed(difference)} ({chance(p)})",
            ", ".join(lower) or "none",
            *(signed(here[name].value - pmd.value) for name in ("bias", "mean-vector", "uniform")),
        ])  # fmt: skip
    head = ["", "PMD", "lowest other measure, minus PMD", "measures with a lower error than PMD",
            "biases, minus PMD", "mean vectors, minus PMD", "uniform weights, minus PMD"]  # fmt: skip
    return table(head, rows)


def lowest(folder: str, axis: str) -> str:
    """Return at how many points of a panel PMD has the lowest error of the twelve measures."""
    found = [lowest_measures(here) for _, here in points(folder, axis)]
    wins = sum(min(some.values(), key=lambda cell: cell.value).label == "PMD" for some in found)
    return f"{wins} of {len(found)}"


def extension(folder: str, method: str) -> str:
    """Return the MAE at K = 40 of an extension, PMD, and what else the run has."""
    run = cells(folder, "rating", 40)
    names = [n for n in dict.fromkeys(n for here in run.values() for n in here) if n != method]
    rows = []
    for share, here in sorted(run.items(), reverse=True):
        ours = here[method]
        rows.append([f"{share:.0%}", decimal(ours.value), *(_step(here[name], ours) for name in names)])
    labels = [shown(next(iter(run.values()))[name]) for name in names]
    return table(
        ["trained on", shown(next(iter(run.values()))[method]), *(f"{x}, minus it" for x in labels)], rows
    )


def all_runs() -> list[str]:
    """Return the folders that hold records."""
    return sorted(file.parent.relative_to(RESULTS).as_posix() for file in RESULTS.rglob("experiment.json"))


def runs() -> str:
    """Return the table of all runs: records, splits, time."""
    rows = []
    for folder in all_runs():
        some = records(folder)
        shares = sorted({one.share for one in some})
        repeats = len({one.repeat for one in some})
        rows.append([
            f"`{folder}`", f"{len(some):,}", f"{len({one.recommender for one in some})}",
            f"{len(shares)} x {repeats}", _hours(sum(one.run.seconds for one in some)),
            _hours(sum(sum(one.run.trial_seconds) for one in some)),
        ])  # fmt: skip
    every = [one for folder in all_runs() for one in records(folder)]
    total = _hours(sum(one.run.seconds for one in every))
    rows.append(["all", f"{len(every):,}", "", "", total,
                 _hours(sum(sum(one.run.trial_seconds) for one in every))])  # fmt: skip
    head = ["run", "records", "methods", "shares x repeats", "computing", "searches for settings"]
    return table(head, rows)


def _hours(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min" if minutes else ""


# Benchmarks


@cache
def benchmark(key: str) -> dict[str, Any]:
    """Return the output of a benchmark."""
    content: dict[str, Any] = json.loads((BENCHMARKS / f"{key}.json").read_text(encoding="utf-8"))
    return content


def section(key: str) -> str:
    """Return the output of a benchmark as Markdown."""
    one = benchmark(key)
    versions = ", ".join(f"{package} {version}" for package, version in one["versions"].items())
    lines = [f"*{one['date']}. {one['machine']}, {versions}.*"]
    lines += [
        part if isinstance(part, str) else table(part["columns"], part["rows"]) for part in one["parts"]
    ]
    return "\n\n".join(lines)


def measured(key: str, row: str, column: str, under: str = "") -> str:
    """Return a cell of a benchmark's tables: by its row and column, below a heading."""
    below = not under
    for part in benchmark(key)["parts"]:
        if isinstance(part, str):
            below = not under or under in part or (below and not part.startswith(("#", "**")))
        elif below and column in part["columns"]:
            for cells_ in part["rows"]:
                if cells_[0] == row:
                    return str(cells_[part["columns"].index(column)]).replace("*", "")
    raise SystemExit(f"docs/benchmarks/{key}.json has no {column!r} of {row!r} {under}")


NEW_USER = "a new user with 20 ratings (of a user with 40 or more), 40 nearest, 1 thread, median"
SERVED = "ml-1m (6,040 users, 1,000,209 ratings)"
ALL = "all users, K=10, {}"
LARGE = {"160k": "160k x 60k", "1M": "1M x 20k, from 0.1 of the users"}


def targets() -> str:
    """Return the targets, with the results of this machine and of an earlier one."""
    one = measured
    results = [
        one("search", ALL.format("2 threads"), "s", "### ml-1m") + " s",
        one("search", NEW_USER, "result", "### ml-1m"),
        one("fit", "ml-1m", "fit, s") + " s",
        one("fit", "synthetic", "fit, s") + " s",
        one("server", SERVED, "p50, ms", "for a guest") + " ms",
        one("fit", "ml-1m", "known user, ms") + " ms",
        one("fit", "ml-1m", "load, s") + " s",
        one("large-model", "fit", ""),
        one("large-model", "load", ""),
        one("large-model", "ten items for a user", ""),
        one("large-neighbors", LARGE["160k"], "candidates, all"),
        one("large-neighbors", LARGE["1M"], "candidates, all"),
        one("large-model", ".csv", "s") + " s",
    ]
    earlier, now = benchmark("earlier"), benchmark("search")
    rows = zip(earlier["parts"][0]["rows"], results, strict=True)
    head = ["job", "target", *(f"{run['machine']}, {run['date']}" for run in (now, earlier))]
    return table(head, [[job, target, result, before] for (job, target, before), result in rows])


def speed() -> str:
    """Return the README's table of speed."""
    one = measured

    def ratios(*problems: str) -> str:
        raw, full = (
            " and ".join(one("pair", problem, column) for problem in problems)
            for column in ("raw / ours (means)", "emd2 / ours")
        )
        return f"{raw} as fast as POT's C++ solver called directly; {full} as fast as `ot.emd2`"

    def search(column: str, n_threads: str, data: str) -> str:
        return one("search", ALL.format(n_threads), column, f"### {data}")

    large, small = ("2 threads", "ml-1m"), ("1 thread", "ml-100k")
    emd2 = "vs `ot.emd2`"
    rows = [
        [
            "one exact distance, random problems of 5 x 5 and 10 x 10",
            ratios("random, 5 x 5", "random, 10 x 10"),
        ],
        [
            "one exact distance, random users of MovieLens-100K and -1M",
            ratios(*(f"{data}, 2,000 random pairs" for data in ("ml-100k", "ml-1m"))),
        ],
        [
            "exact 10 nearest of all MovieLens-1M users, two threads",
            f"{search('s', *large)} s ({search(emd2, *large)} as fast as `ot.emd2` on all pairs)",
        ],
        ["the same for MovieLens-100K, one thread", f"{search('s', *small)} s ({search(emd2, *small)})"],
        [
            "40 nearest MovieLens-1M users of a new user with 20 ratings",
            f"median {one('search', NEW_USER, 'result', '### ml-1m')}",
        ],
        [
            "fitting the default model on MovieLens-1M, two cores",
            f"{one('fit', 'ml-1m', 'fit, s')} s, {one('fit', 'ml-1m', 'peak MB')} MB",
        ],
        ["ten recommendations with reasons from that model", f"{one('fit', 'ml-1m', 'known user, ms')} ms"],
        [
            "the same over HTTP, four guests at a time",
            f"median {one('server', SERVED, 'p50, ms', 'for a guest')} ms",
        ],
        ["fitting it on 160,000 users, 60,000 items and 10.6 million ratings", one("large-model", "fit", "")],
        [
            "ten recommendations with reasons from that model",
            one("large-model", "ten items with reasons", ""),
        ],
    ]
    return table(["job", "result"], rows)


# Code


def walk() -> str:
    """Return the stops of the tutorial's command, as the interpreter passes them."""
    stops = walk_elsewhere().main_stops()
    rows = [[str(n), f"`{module}:{name}`", text] for n, (module, name, text) in enumerate(stops, 1)]
    return table(["stop", "function", "what it does"], rows)


BLOCKS: dict[str, Callable[..., str]] = {
    "walk": walk,
    "lists": lists,
    "lists-short": lists_short,
    "steps": steps,
    "ratings": ratings,
    "ratings-short": ratings_short,
    "panel": panel,
    "extension": extension,
    "runs": runs,
    "benchmark": section,
    "targets": targets,
    "speed": speed,
}
VALUES: dict[str, Callable[..., str]] = {
    "lowest": lowest,
    "lists-outcome": lists_outcome,
    "trials": trials,
    "records": lambda: f"{sum(len(records(folder)) for folder in all_runs()):,}",
    "walk-modules": lambda: str(len(walk_elsewhere().modules)),
    "machine": lambda key: f"{benchmark(key)['machine']}, {benchmark(key)['date']}",
    "wrong-neighbors": lambda data: measured("exactness", data, "wrong neighbors"),
}

if __name__ == "__main__":
    main()
