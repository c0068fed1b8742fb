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
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tools import cold_figures, list_figures, reason_figures
from tools.cells import (
    RESULTS,
    ROOT,
    Cell,
    NoRecordsError,
    cells,
    chance,
    decimal,
    records,
    shown,
    signed,
    step,
    table,
)
from tools.walk import walk_elsewhere

BENCHMARKS = ROOT / "docs" / "benchmarks"
BLOCK = re.compile(r"(<!-- figures: (.+?) -->\n)(.*?)(<!-- /figures -->)", re.DOTALL)
VALUE = re.compile(r"(<!-- figure: (.+?) -->)(.*?)(<!-- /figure -->)", re.DOTALL)


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
        label = str(cell.one.label)
        if cell.kind == "measure" and (label not in best or cell.value < best[label].value):
            best[label] = cell
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
            label, decimal(pmd.value), f"{other.one.label} {signed(difference)} ({chance(p)})",
            ", ".join(lower) or "none",
            *(signed(here[name].value - pmd.value) for name in ("bias", "mean-vector", "uniform")),
        ])  # fmt: skip
    head = ["", "PMD", "lowest other measure, minus PMD", "measures with a lower error than PMD",
            "biases, minus PMD", "mean vectors, minus PMD", "uniform weights, minus PMD"]  # fmt: skip
    return table(head, rows)


def lowest(folder: str, axis: str) -> str:
    """Return at how many points of a panel PMD has the lowest error of the twelve measures."""
    found = [lowest_measures(here) for _, here in points(folder, axis)]
    wins = sum(min(some.values(), key=lambda cell: cell.value).one.label == "PMD" for some in found)
    return f"{wins} of {len(found)}"


def extension(folder: str, method: str) -> str:
    """Return the MAE at K = 40 of an extension, PMD, and what else the run has."""
    run = cells(folder, "rating", 40)
    names = [n for n in dict.fromkeys(n for here in run.values() for n in here) if n != method]
    rows = []
    for share, here in sorted(run.items(), reverse=True):
        ours = here[method]
        rows.append([f"{share:.0%}", decimal(ours.value), *(step(here[name], ours) for name in names)])
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


def where_time_goes() -> str:
    """Return what jobs take, and the shares of their stages, or of the steps that rule pairs out."""
    stages = ("settings of the ranking", "rating side", "ranking side", "distances to landmarks")
    steps = {"RWMD": "RWMD", "prices": "shared prices", "abandoned": "dual steps", "solved": "solved"}
    rows = []
    for data in ("ml-100k", "ml-1m", "synthetic"):
        seconds = {stage: float(measured("fit", data, stage)) for stage in ("fit, s", *stages)}
        shares = [f"{stage} {seconds[stage] / seconds['fit, s']:.0%}" for stage in stages]
        rows.append([f"fit of the default model, {data}", f"{seconds['fit, s']:.1f} s", ", ".join(shares)])
    for data in ("ml-100k", "ml-1m"):
        job, under = ALL.format("2 threads"), f"### {data}"
        found = [f"{name} {measured('search', job, step, under)}" for step, name in steps.items()]
        taken = measured("search", job, "s", under)
        rows.append([f"10 nearest of all users, {data}", f"{taken} s", f"pairs: {', '.join(found)}"])
    problems = ("random, 5 x 5", "random, 100 x 100", "ml-1m, 2,000 random pairs")
    rows += [[f"one pair: {one}", f"{measured('pair', one, 'ours, µs')} µs", ""] for one in problems]
    answers = {"a list with reasons": "known user, ms", "that of a guest": "guest, ms"}
    rows += [[f"{one}, ml-1m", f"{measured('fit', 'ml-1m', key)} ms", ""] for one, key in answers.items()]
    return table(["job", "takes", "of which"], rows)


# Code


def walk() -> str:
    """Return the stops of the tutorial's command, as the interpreter passes them."""
    stops = walk_elsewhere().main_stops()
    rows = [[str(n), f"`{module}:{name}`", text] for n, (module, name, text) in enumerate(stops, 1)]
    return table(["stop", "function", "what it does"], rows)


BLOCKS: dict[str, Callable[..., str]] = {
    "walk": walk,
    **list_figures.BLOCKS,
    **cold_figures.BLOCKS,
    **reason_figures.BLOCKS,
    "ratings": ratings,
    "ratings-short": ratings_short,
    "panel": panel,
    "extension": extension,
    "runs": runs,
    "benchmark": section,
    "targets": targets,
    "speed": speed,
    "where-time-goes": where_time_goes,
}
VALUES: dict[str, Callable[..., str]] = {
    "lowest": lowest,
    **list_figures.VALUES,
    "records": lambda: f"{sum(len(records(folder)) for folder in all_runs()):,}",
    "walk-modules": lambda: str(len(walk_elsewhere().modules)),
    "machine": lambda key: f"{benchmark(key)['machine']}, {benchmark(key)['date']}",
    "wrong-neighbors": lambda data: measured("exactness", data, "wrong neighbors"),
}

if __name__ == "__main__":
    main()
