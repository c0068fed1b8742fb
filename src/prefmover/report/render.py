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

from prefmover.errors import MissingExtraError
from prefmover.evaluation.experiment import share_name
from prefmover.evaluation.folder import RunFolder
from prefmover.evaluation.record import Record
from prefmover.execution import atomic
from prefmover.explain import RecommendationExplanation, UserExplanation
from prefmover.explain.plot import plan_image
from prefmover.explain.text import proof_text, rating_title, user_lines, user_title
from prefmover.report import figures, text
from prefmover.report.results import DIGITS, LEVEL, OURS, PanelTable, Results, deviation

__all__ = ["explanation_page", "inline_svg", "render", "report_page", "write_report"]

CAPTIONS = {
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
    with atomic.writing(path):
        path.mkdir(parents=True, exist_ok=True)
    atomic.clear(path)
    drawn = {"panels": figures.draw_panels(tables)}
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


def explanation_page(explanation: UserExplanation | RecommendationExplanation) -> str:
    """Return an explanation as one HTML page, with the picture of a plan where matplotlib is installed."""
    picture, lines, proof = "", [], ""
    if isinstance(explanation, RecommendationExplanation):
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
    for share in results.shares:
        if rankings := results.rankings(share):
            lists = f"Top {e.top_n} of each user's test items"
            heading = f"{lists}, train:test {share_name(share)}, K = {results.k}"
            sections.append({"heading": heading, "paragraphs": [], "tables": [_ranking_table(rankings)]})
    notes = render(
        "notes.txt.j2",
        e=e,
        kinds=dict.fromkeys((record.kind for record in results.records), True),
        head_to_head=any(_head_to_head_tables(table) for table in tables),
        n_groups=len(results.records[0].groups.n),
        level=LEVEL,
    )
    return render(
        f"{name}.j2",
        title=e.title or f"User similarity measures on {e.data_name}",
        pictures=pictures,
        captions=CAPTIONS,
        summary=text.summary_text(results, tables),
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


def _ranking_table(rankings: list[tuple[Record, dict[str, float]]]) -> ReportTable:
    head = ["", "convention", *(name.replace("_", " ") for name in rankings[0][1])]
    rows = [
        [record.label, record.convention or record.kind, *map(_number, metrics.values())]
        for record, metrics in rankings
    ]
    return ReportTable("", head, rows)


def _facts(results: Results, tables: list[PanelTable]) -> dict[str, Any]:
    """Return the content of ``summary.json``."""
    return {
        "dataset": results.experiment.data_name,
        "geometry": results.data.geometry,
        "repeats": max(record.repeat for record in results.records) + 1,
        "records": len(results.records),
        "minutes": round(results.seconds / 60, 1),
        "summary": text.summary_text(results, tables),
        "panels": [
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
        ],
    }
