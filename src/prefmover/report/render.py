"""The files of a report: a self-contained HTML page, pictures, and a summary in Markdown and JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from prefmover._format import counted
from prefmover.errors import MissingExtraError
from prefmover.evaluation.experiment import share_name
from prefmover.evaluation.folder import RunFolder
from prefmover.execution import atomic
from prefmover.explain import RatingExplanation, RecommendationExplanation, UserExplanation
from prefmover.explain.plot import plan_image
from prefmover.explain.text import proof_text, rating_title, recommendation_title, user_lines, user_title
from prefmover.report import figures, list_text
from prefmover.report import sentences as text
from prefmover.report.list_text import number
from prefmover.report.lists import ListResults, ShareTable
from prefmover.report.results import DIGITS, LEVEL, OURS, PanelTable, Results, deviation

__all__ = ["explanation_page", "inline_svg", "render", "report_page", "write_report"]

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
    results = Results.open(run)
    tables = [table for table in map(results.table, results.panels()) if table.lines]
    path = Path(out) if out is not None else run.path / "report"
    with atomic.translate_os_errors(path):
        path.mkdir(parents=True, exist_ok=True)
    atomic.remove_stale_files(path)
    lists, drawn = ListResults(results.lists) if results.lists else None, dict[str, Any]()
    if lists is not None:
        drawn = {"density": figures.draw_density(lists), "activity": figures.draw_activity(lists)}
        drawn |= {name: figures.draw_scatter(lists, name) for name in ("seconds", "novelty")}
    if tables:
        drawn["panels"] = figures.draw_panels(tables)
    if any(table.head_to_head for table in tables):
        drawn["gaps"] = figures.draw_gaps(tables)
    pictures = {name: figures.svg(figure, name) for name, figure in drawn.items()}
    contents = {f"{name}.svg": picture.encode() for name, picture in pictures.items()}
    contents |= {f"{name}.png": figures.png(figure) for name, figure in drawn.items()}
    for name in ("report.html", "summary.md"):
        contents[name] = report_page(name, results, tables, pictures).encode()
    facts = json.dumps(_facts(results, tables), indent=1, ensure_ascii=False)
    contents["summary.json"] = f"{facts}\n".encode()
    for name, content in contents.items():
        atomic.write(path / name, content)
    return {name: path / name for name in contents}


def explanation_page(
    explanation: UserExplanation | RecommendationExplanation | RatingExplanation,
) -> str:
    """Return an explanation as one HTML page, with the picture of a plan where matplotlib is installed."""
    picture, lines, proof = "", [], ""
    if isinstance(explanation, RecommendationExplanation):
        title = recommendation_title(explanation)
    elif isinstance(explanation, RatingExplanation):
        title = rating_title(explanation)
    else:
        title = user_title(explanation)
        if explanation.has_plan:
            with suppress(MissingExtraError):
                picture = inline_svg(plan_image(explanation))
        else:
            lines = user_lines(explanation)
        if explanation.certificate:
            proof = proof_text(explanation.certificate)
    table = explanation._repr_html_()
    return render("explanation.html.j2", title=title, table=table, picture=picture, lines=lines, proof=proof)


def inline_svg(picture: bytes) -> str:
    """Return an SVG file as the element to put into a page."""
    content = picture.decode("utf-8")
    return content[content.index("<svg") :]


def render(template: str, **values: Any) -> str:
    """Return a template with its values filled in; values are escaped in HTML."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("prefmover.report"),
        autoescape=lambda name: name is not None and ".html" in name,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def report_page(name: str, results: Results, tables: list[PanelTable], pictures: dict[str, str]) -> str:
    """Return the page ``report.html``, with its pictures (SVG by name) inside, or ``summary.md``."""
    e = results.experiment
    sections: list[dict[str, Any]] = [
        {
            "heading": f"Panel ({table.panel.name}): {table.panel.title}",
            "paragraphs": text.panel_text(table),
            "tables": [_error_table(table), *_head_to_head_tables(table)],
        }
        for table in tables
    ]
    lists = ListResults(results.lists) if results.lists else None
    if lists is not None:
        sections = _step_sections(lists) + [_list_section(lists, table) for table in lists.tables] + sections
    notes = render(
        "notes.txt.j2",
        e=e,
        lists=lists,
        ratings=bool(results.records),
        kinds=dict.fromkeys((record.kind for record in results.records), True),
        head_to_head=any(_head_to_head_tables(table) for table in tables),
        n_groups=len(results.all_records[0].groups.n),
        level=LEVEL,
    )
    return render(
        f"{name}.j2",
        title=e.title or f"{'Recommenders' if lists else 'User similarity measures'} on {e.data_name}",
        pictures=pictures,
        captions=CAPTIONS,
        summary=_summary(results, tables),
        sections=sections,
        notes=[note for note in map(str.strip, notes.split("\n\n")) if note],
        commands=text.commands(results),
        provenance=text.provenance(results),
    )


def _error_table(table: PanelTable) -> ReportTable:
    """Return the errors of a panel, with the lowest of the measures in bold."""
    measures = [line.mean for line in table.of_kind("measure")]
    lowest = [_number(error) for error in np.min(measures, axis=0)] if measures else table.heads
    rows, classes = [], []
    for k, line in enumerate(table.lines):
        cells = [_number(error) for error in line.mean]
        if line.kind == "measure":
            cells = [f"**{x}**" if x == least else x for x, least in zip(cells, lowest, strict=True)]
        best_of = f" (best of {line.n_conventions})" if line.n_conventions > 1 else ""
        rows.append([line.label, (line.convention or line.kind) + best_of, *cells])
        new_kind = k > 0 and line.kind != table.lines[k - 1].kind
        classes.append("ours" if line.method == OURS else "first" if new_kind else "other")
    return ReportTable("Mean absolute error", ["", "convention", *table.heads], rows, classes)


def _number(x: float) -> str:
    """Return an error as it is printed, without a 0 before the point."""
    return f"{x:.{DIGITS}f}".removeprefix("0")


def _head_to_head_tables(table: PanelTable) -> list[ReportTable]:
    """Return the table of PMD against each method; none without PMD."""
    head = ["PMD against", "lower at", "wins", "ties", "losses", "mean difference", "p, users", "p, repeats"]
    rows = []
    for one in table.head_to_head.values():
        counts = [f"{one.lower} of {len(table.heads)}", str(one.wins), str(one.ties), str(one.losses)]
        tests = [f"{one.difference:+.4f}", text.p_text(one.p_users), text.p_text(one.p_repeats)]
        rows.append([one.label, *counts, *tests])
    return [ReportTable("PMD against each method", head, rows)] if rows else []


def _summary(results: Results, tables: list[PanelTable]) -> list[str]:
    """Return the opening paragraphs: about lists, then about ratings."""
    about_lists = list_text.list_summary(ListResults(results.lists)) if results.lists else []
    return about_lists + (text.summary_text(results, tables) if results.records else [])


def _step_sections(lists: ListResults) -> list[dict[str, Any]]:
    """Return the section about what each idea adds; none without pairs of methods that differ in one."""
    rows = list_text.step_rows(lists)
    head = ["", *(f"share {table.share:g}" for table in lists.tables)]
    section = {
        "heading": "What it comes from",
        "paragraphs": [f"Each row changes one idea; figures are differences of nDCG@{lists.n}."],
        "tables": [ReportTable("", head, rows)],
    }
    return [section] if rows else []


def _list_section(lists: ListResults, table: ShareTable) -> dict[str, Any]:
    repeats = counted(table.repeats, "repeat")
    paragraphs = [f"{table.n_users:,.0f} users, {repeats}."]
    if table.left_out:
        paragraphs.append(f"{counted(table.left_out, 'record')} from other repeats left out.")
    return {
        "heading": f"Lists at share {table.share:g} (train:test {share_name(table.share)})",
        "paragraphs": paragraphs,
        "tables": [_list_table(lists, table), _activity_table(lists, table), *_settings_tables(table)],
    }


def _list_table(lists: ListResults, table: ShareTable) -> ReportTable:
    """Return the metrics of all methods, and ours against each; the highest nDCG of each kind is bold."""
    ours = table.of(lists.ours)
    names = {"recall": "recall", "precision": "precision", "MRR": "mrr", "hit rate": "hit_rate"}
    compared = ["ours minus this", "p, users"] if ours else []
    head = ["", "kind", "nDCG", *compared, *names, "items", "raters", "bits", "diversity"]
    head += ["fit (s)", "lists (s)", "search (s)"]
    rows, classes = [], []
    for k, cell in enumerate(table.cells):
        ndcg = number(cell.values["ndcg"])
        cells = [f"**{ndcg}**" if cell is table.best(cell.kind) else ndcg]
        if ours is not None:
            result = table.compare(ours, cell)
            cells += [f"{result.difference:+.4f}", text.p_text(result.p)] if cell is not ours else ["", ""]
        cells += [number(cell.values[name]) for name in names.values()]
        cells += [number(cell.values["coverage"], 3), f"{cell.values['popularity']:,.0f}"]
        cells += [f"{cell.values['novelty']:.2f}", number(cell.values.get("diversity"), 3)]
        cells += [f"{seconds:,.1f}" for seconds in (cell.fit, cell.answer)]
        cells.append(f"{cell.search:,.1f}" if cell.search else "in fit" if cell.trials else "-")
        rows.append([cell.label, cell.kind, *cells])
        new_kind = k > 0 and cell.kind != table.cells[k - 1].kind
        classes.append("ours" if cell is ours else "first" if new_kind else "other")
    return ReportTable(f"Lists of {lists.n}", head, rows, classes)


def _activity_table(lists: ListResults, table: ShareTable) -> ReportTable:
    """Return nDCG by how much users have rated, with what ours makes of each group."""
    ours, names = table.of(lists.ours), list(table.cells[0].activity)
    heads = [list_text.activity_text(table.cells[0], name) for name in names]
    highest = {name: number(max(cell.activity[name].ndcg for cell in table.cells)) for name in names}
    rows, classes = [], []
    for cell in table.cells:
        cells = []
        for name in names:
            value = number(cell.activity[name].ndcg)
            outcome = table.compare(ours, cell, name).outcome if ours and cell is not ours else ""
            mark = {"win": " (win)", "loss": " (loss)"}.get(outcome, "")
            cells.append(f"**{value}{mark}**" if value == highest[name] else f"{value}{mark}")
        rows.append([cell.label, cell.kind, *cells])
        classes.append("ours" if cell is ours else "other")
    return ReportTable(f"nDCG@{lists.n} by activity of users", ["", "kind", *heads], rows, classes)


def _settings_tables(table: ShareTable) -> list[ReportTable]:
    rows = [
        [cell.label, cell.settings, str(cell.trials or "-"), number(cell.validation)]
        for cell in table.cells
        if cell.settings
    ]
    head = ["", "settings", "trials", "validation nDCG"]
    return [ReportTable("Settings, chosen on the validation part", head, rows)] if rows else []


def _facts(results: Results, tables: list[PanelTable]) -> dict[str, Any]:
    """Return the content of ``summary.json``."""
    facts = {
        "dataset": results.experiment.data_name,
        "geometry": results.data.geometry,
        "repeats": max(record.repeat for record in results.all_records) + 1,
        "records": len(results.all_records),
        "minutes": round(results.seconds / 60, 1),
        "summary": _summary(results, tables),
    }
    if results.lists:
        facts["lists"] = _list_facts(ListResults(results.lists))
    facts["panels"] = [
        {
            "name": table.panel.name,
            "title": table.panel.title,
            "over": table.panel.over,
            "points": table.heads,
            "text": text.panel_text(table),
            "methods": [
                {
                    "method": line.method,
                    "kind": line.kind,
                    "convention": line.convention,
                    "mae": [round(float(error), 5) for error in line.mean],
                    "deviation": [round(float(x), 5) for x in deviation(line.repeats)],
                }
                for line in table.lines
            ],
            "head_to_head": [asdict(one) for one in table.head_to_head.values()],
        }
        for table in tables
    ]
    return facts


def _list_facts(lists: ListResults) -> list[dict[str, Any]]:
    facts = []
    for table in lists.tables:
        ours = table.of(lists.ours)
        for cell in table.cells:
            row: dict[str, Any] = {"share": table.share, "recommender": cell.recommender, "n": lists.n}
            row |= {name: round(value, 5) for name, value in cell.values.items()}
            row |= {"fit": cell.fit, "lists": cell.answer, "search": cell.search, "settings": cell.settings}
            row["activity"] = {name: round(one.ndcg, 5) for name, one in cell.activity.items()}
            if ours is not None and cell is not ours:
                result = table.compare(ours, cell)
                row |= {"ours_minus_this": round(result.difference, 5), "p": result.p}
            facts.append(row)
    return facts
