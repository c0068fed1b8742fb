"""The files of a report: a self-contained HTML page, pictures, and a summary in Markdown and JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from prefmover._format import counted
from prefmover.evaluation.experiment import share_name
from prefmover.evaluation.folder import RunFolder
from prefmover.execution import atomic
from prefmover.explain.page import environment
from prefmover.report import figures, sentences
from prefmover.report.reasons import reason_sections
from prefmover.report.results import LEVEL, HeadToHead, Line, Results, Table
from prefmover.report.sentences import number, p_text

CAPTIONS = {
    "density": "nDCG of the lists over the share of training ratings; higher is better. Bars show the "
    "standard deviation over repeats.",
    "activity": "nDCG by the number of training ratings of users: those with few, and four quarters.",
    "seconds": "What accuracy costs: nDCG against the time to fit and to recommend to all users, in seconds "
    "(without the search for settings).",
    "novelty": "nDCG against the novelty of the items; further right, lists hold less known items.",
    "panels": "Mean absolute error; lower is better. Bars show the standard deviation over repeats.",
    "gaps": "The same errors minus PMD's, near zero; above zero, PMD is better.",
}


class ReportTable(NamedTuple):
    """A table of text; bold cells begin and end with ``**``. ``classes`` are the CSS classes of its rows."""

    heading: str
    head: list[str]
    rows: list[list[str]]
    classes: Sequence[str] = ()


def write_report(
    folder: RunFolder | str | PathLike[str], out: str | PathLike[str] | None = None
) -> dict[str, Path]:
    """Write the report of a run, finished or not, and return the path of each file by name.

    The files go to ``out``, by default the folder ``report`` in the folder of the run.
    """
    run = folder if isinstance(folder, RunFolder) else RunFolder(folder)
    run_content = run.content()
    results = Results(run.records().values(), run_content.settings, run_content.data)
    path = Path(out) if out is not None else run.path / "report"
    with atomic.translate_os_errors(path):
        path.mkdir(parents=True, exist_ok=True)
    atomic.remove_stale_files(path)
    drawn = dict[str, Any]()
    if results.lists:
        drawn = {"density": figures.draw_density(results), "activity": figures.draw_activity(results)}
        drawn |= {name: figures.draw_scatter(results, name) for name in ("seconds", "novelty")}
    if results.ratings:
        drawn["panels"] = figures.draw_panels(results.ratings)
    if any(table.head_to_head for table in results.ratings):
        drawn["gaps"] = figures.draw_gaps(results.ratings)
    pictures = {name: figures.svg(figure, name) for name, figure in drawn.items()}
    contents = {f"{name}.svg": picture.encode() for name, picture in pictures.items()}
    contents |= {f"{name}.png": figures.png(figure) for name, figure in drawn.items()}
    for name in ("report.html", "summary.md"):
        contents[name] = report_page(name, results, pictures).encode()
    facts = json.dumps(_facts(results), indent=1, ensure_ascii=False)
    contents["summary.json"] = f"{facts}\n".encode()
    for name, content in contents.items():
        atomic.write(path / name, content)
    return {name: path / name for name in contents}


def render(template: str, **values: Any) -> str:
    """Return a template with its values filled in; values are escaped in HTML."""
    return environment("prefmover.report", "prefmover.explain").get_template(template).render(**values)


def report_page(name: str, results: Results, pictures: dict[str, str]) -> str:
    """Return the page ``report.html``, with its pictures (SVG by name) inside, or ``summary.md``."""
    e, lists = results.experiment, results.of("ranking")
    notes = render(
        "notes.txt.j2",
        e=e,
        lists=bool(lists),
        relevant=lists[0].relevant if lists else None,
        ratings=bool(results.of("rating")),
        kinds=dict.fromkeys((record.kind for record in results.of("rating")), True),
        head_to_head=any(table.head_to_head for table in results.ratings),
        n_groups=len(results.records[0].groups.n),
        level=LEVEL,
    )
    return render(
        f"{name}.j2",
        title=e.title or f"{_subject(results)} on {e.data_name}",
        pictures=pictures,
        captions=CAPTIONS,
        summary=sentences.summary(results),
        sections=[
            *_step_sections(results),
            *(_list_section(results, table) for table in results.lists),
            *map(_panel_section, results.ratings),
            *map(_reason_section, reason_sections(results.records)),
        ],
        notes=[note for note in map(str.strip, notes.split("\n\n")) if note],
        commands=sentences.commands(results),
        provenance=sentences.provenance(results),
    )


def _subject(results: Results) -> str:
    if results.of("reasons"):
        return "Reasons"
    return "Recommenders" if results.lists else "User similarity measures"


def _reason_section(section: dict[str, Any]) -> dict[str, Any]:
    return section | {"tables": [ReportTable(*one) for one in section["tables"]]}


def _panel_section(table: Table) -> dict[str, Any]:
    return {
        "heading": f"Panel ({table.panel.name}): {table.panel.title}",
        "paragraphs": sentences.about_panel(table),
        "tables": [_error_table(table), *_head_to_head_tables(table)],
    }


def _error_table(table: Table) -> ReportTable:
    """Return the errors of a panel, with the lowest of the measures in bold."""
    measures = [line.mean for line in table.of_kind("measure")]
    lowest = [number(value) for value in np.min(measures, axis=0)] if measures else table.heads
    rows = []
    for line in table.lines:
        cells = [number(value) for value in line.mean]
        if line.kind == "measure":
            cells = [f"**{x}**" if x == least else x for x, least in zip(cells, lowest, strict=True)]
        if table.repeats > 1:
            cells = [f"{x} ± {number(sd)}" for x, sd in zip(cells, line.deviation, strict=True)]
        best_of = f" (best of {line.n_conventions})" if line.n_conventions > 1 else ""
        rows.append([line.label, (line.convention or line.kind) + best_of, *cells])
    return ReportTable("Mean absolute error", ["", "convention", *table.heads], rows, _classes(table))


def _classes(table: Table) -> list[str]:
    """Return the class of each row: ours, the first of its kind, or another."""
    kinds = [line.kind for line in table.lines]
    first = [k > 0 and kind != kinds[k - 1] for k, kind in enumerate(kinds)]
    return [
        "ours" if line is table.ours else "first" if new else "other"
        for line, new in zip(table.lines, first, strict=True)
    ]


def _head_to_head_tables(table: Table) -> list[ReportTable]:
    """Return the table of PMD against each method; none without PMD."""
    head = ["PMD against", "lower at", "wins", "ties", "losses", "mean difference", "p, users", "p, repeats"]
    rows = []
    for one in table.head_to_head.values():
        counts = [f"{one.better} of {len(table.heads)}", str(one.wins), str(one.ties), str(one.losses)]
        rows.append(
            [one.label, *counts, f"{one.difference:+.4f}", p_text(one.p_users), p_text(one.p_repeats)]
        )
    return [ReportTable("PMD against each method", head, rows)] if rows else []


def _step_sections(results: Results) -> list[dict[str, Any]]:
    """Return the section about what each idea adds; none without pairs of methods that differ in one."""
    if not (rows := sentences.steps(results)):
        return []
    head = ["", *(f"share {table.share:g}" for table in results.lists)]
    intro = f"Each row changes one idea; figures are differences of nDCG@{results.n}."
    tables = [ReportTable("", head, rows)]
    return [{"heading": "Where the gain comes from", "paragraphs": [intro], "tables": tables}]


def _list_section(results: Results, table: Table) -> dict[str, Any]:
    n_users = np.mean([record.n_users for line in table.lines for record in line.records])
    paragraphs = [f"{n_users:,.0f} users with training ratings, {counted(table.repeats, 'repeat')}."]
    if table.left_out:
        paragraphs.append(f"{counted(table.left_out, 'record')} from other repeats left out.")
    return {
        "heading": f"Lists at share {table.share:g} (train:test {share_name(table.share)})",
        "paragraphs": paragraphs,
        "tables": [
            _list_table(results.n, table),
            _activity_table(results.n, table),
            *_settings_tables(table),
        ],
    }


def _list_table(n: int, table: Table) -> ReportTable:
    """Return the metrics of all methods, and ours against each; the highest nDCG of each kind is bold."""
    names = {"recall": "recall", "precision": "precision", "MRR": "mrr", "hit rate": "hit_rate"}
    compared = ["ours minus this", "95 %", "p, bootstrap", "p, users", "p, Holm"] if table.ours else []
    fair = {"Gini": "gini", "raters": "popularity", "mean raters": "average_popularity", "tail": "tail"}
    head = ["", "kind", "nDCG", *compared, *names, "items", *fair, "bits", "diversity"]
    head += ["fit (s)", "lists (s)", "search (s)"]
    rows = []
    for line in table.lines:
        ndcg = number(line.mean[0])
        if table.repeats > 1:
            ndcg += f" ± {number(line.deviation[0])}"
        cells = [f"**{ndcg}**" if line is table.best(table.of_kind(line.kind)) else ndcg]
        if table.ours is not None:
            result = table.head_to_head.get(line.recommender)
            cells += _compared(result) if result else [""] * len(compared)
        cells += [number(line.value(name)) for name in names.values()]
        cells += [number(line.value("catalog"), 3), number(line.value("gini"), 3)]
        cells += [f"{line.value(name):,.0f}" for name in ("popularity", "average_popularity")]
        cells += [
            number(line.value("tail"), 3),
            f"{line.value('novelty'):.2f}",
            number(line.value("diversity"), 3),
        ]
        fit, answer, search = line.seconds
        cells += [f"{fit:,.1f}", f"{answer:,.1f}"]
        cells.append(f"{search:,.1f}" if search else "in fit" if line.trials else "-")
        rows.append([line.label, line.kind, *cells])
    return ReportTable(f"Lists of {n}", head, rows, _classes(table))


def _compared(result: HeadToHead) -> list[str]:
    """Return a difference, its interval, and the p-values of a bootstrap and of a t-test."""
    one = result.interval
    interval = ["-", "-"] if one is None else [f"{one.low:+.4f} to {one.high:+.4f}", p_text(one.p)]
    return [f"{result.difference:+.4f}", *interval, p_text(result.p_users), p_text(result.p_holm)]


def _activity_table(n: int, table: Table) -> ReportTable:
    """Return nDCG by how much users have rated, with what ours makes of each group."""
    ours, names = table.ours, list(table.lines[0].activity)
    heads = [str(users) for users in table.lines[0].activity.values()]
    new = table.lines[0].new
    highest = {name: number(max(line.activity[name].mean[0] for line in table.lines)) for name in names}

    def cell(line: Line, name: str) -> str:
        value, mark = number(line.activity[name].mean[0]), ""
        if ours and line is not ours:
            outcome = table.by_activity[line.recommender, name].outcome
            mark = "" if outcome == "tie" else f" ({outcome})"
        return f"**{value}{mark}**" if value == highest[name] else f"{value}{mark}"

    rows = [[line.label, line.kind, *(cell(line, name) for name in names)] for line in table.lines]
    if new is not None:
        heads.append(f"new (no ratings, {new.n_users:,} users)")
        for row, line in zip(rows, table.lines, strict=True):
            row.append(number(line.new.mean[0]) if line.new else "-")
    classes = ["ours" if line is ours else "other" for line in table.lines]
    return ReportTable(f"nDCG@{n} by activity of users", ["", "kind", *heads], rows, classes)


def _settings_tables(table: Table) -> list[ReportTable]:
    rows = [
        [line.label, line.settings, str(len(line.trials) or "-"), number(max(line.trials, default=None))]
        for line in table.lines
        if line.settings
    ]
    head = ["", "settings", "trials", "validation nDCG"]
    return [ReportTable("Settings, chosen on the validation part", head, rows)] if rows else []


def _facts(results: Results) -> dict[str, Any]:
    """Return the content of ``summary.json``."""
    facts = {
        "dataset": results.experiment.data_name,
        "geometry": results.data.geometry,
        "repeats": max(record.repeat for record in results.records) + 1,
        "records": len(results.records),
        "minutes": round(results.seconds / 60, 1),
        "summary": sentences.summary(results),
    }
    if results.lists:
        facts["lists"] = [
            _list_facts(results.n, table, line) for table in results.lists for line in table.lines
        ]
    facts["panels"] = [
        {
            "name": table.panel.name,
            "title": table.panel.title,
            "over": table.panel.over,
            "points": table.heads,
            "text": sentences.about_panel(table),
            "methods": [
                {
                    "method": line.method,
                    "kind": line.kind,
                    "convention": line.convention,
                    "mae": line.mean.round(5).tolist(),
                    "deviation": line.deviation.round(5).tolist(),
                }
                for line in table.lines
            ],
            "head_to_head": [asdict(one) for one in table.head_to_head.values()],
        }
        for table in results.ratings
    ]
    return facts


def _list_facts(n: int, table: Table, line: Line) -> dict[str, Any]:
    row: dict[str, Any] = {"share": table.share, "recommender": line.recommender, "n": n}
    values = {name: line.value(name) for name in line.records[0].metrics}
    row |= {name: round(value, 5) for name, value in values.items() if value is not None}
    row |= dict(zip(("fit", "lists", "search"), line.seconds, strict=True)) | {"settings": line.settings}
    if line.new is not None:
        row["new"] = {"n_users": line.new.n_users, "ndcg": round(float(line.new.mean[0]), 5)}
    row["activity"] = {name: round(float(one.mean[0]), 5) for name, one in line.activity.items()}
    if result := table.head_to_head.get(line.recommender):
        row |= {"ours_minus_this": round(result.difference, 5), "p": result.p_users, "p_holm": result.p_holm}
        row["interval"] = result.interval and [round(x, 5) for x in result.interval]
    return row
