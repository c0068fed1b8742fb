"""The report as files: one HTML page that needs nothing else, pictures, and a summary in Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from prefmover.evaluation.experiment import share_name
from prefmover.evaluation.folder import RunFolder
from prefmover.execution import atomic
from prefmover.report import figures
from prefmover.report.html import page
from prefmover.report.notes import commands, notes, provenance
from prefmover.report.results import DIGITS, OURS, Book, Line, PanelTable
from prefmover.report.text import p_text, panel_words, summary_words

__all__ = ["html_page", "markdown_page", "write_report"]

Rows = list[list[str]]


def write_report(
    folder: RunFolder | str | PathLike[str], out: str | PathLike[str] | None = None
) -> dict[str, Path]:
    """Write the report of a run, and return where each file is.

    Parameters
    ----------
    folder
        Of a run, finished or not.
    out
        Where to; ``report`` in the run's folder by default.
    """
    run = folder if isinstance(folder, RunFolder) else RunFolder(folder)
    book = Book.open(run)
    tables = [table for table in map(book.table, book.panels()) if table.lines]
    place = Path(out) if out is not None else run.path / "report"
    with atomic.writing(place):
        place.mkdir(parents=True, exist_ok=True)
    atomic.clear(place)
    drawn = {"panels": figures.draw_panels(tables)}
    if any(table.duels for table in tables):
        drawn["gaps"] = figures.draw_gaps(tables)
    vectors = {name: figures.svg(figure, name) for name, figure in drawn.items()}
    written: dict[str, Path] = {}
    for name, figure in drawn.items():
        for ending, content in (("svg", vectors[name].encode()), ("png", figures.png(figure))):
            written[f"{name}.{ending}"] = place / f"{name}.{ending}"
            atomic.write(written[f"{name}.{ending}"], content)
    texts = {
        "report.html": html_page(book, tables, vectors),
        "summary.md": markdown_page(book, tables, list(drawn)),
        "summary.json": json.dumps(_facts(book, tables), indent=1, ensure_ascii=False) + "\n",
    }
    for name, text in texts.items():
        written[name] = place / name
        atomic.write(written[name], text.encode())
    return written


def html_page(book: Book, tables: list[PanelTable], pictures: dict[str, str]) -> str:
    """Return the report as one HTML page, pictures inside."""
    title = _title(book)
    parts = [f"<h1>{escape(title)}</h1>", "<h2>In short</h2>"]
    parts += [f"<p>{escape(text)}</p>" for text in summary_words(book, tables)]
    for name, picture in pictures.items():
        parts.append(f"<figure>{picture}<figcaption>{escape(CAPTIONS[name])}</figcaption></figure>")
    for table in tables:
        parts.append(f"<h2>Panel ({escape(table.panel.name)}): {escape(table.panel.title)}</h2>")
        parts += [f"<p>{escape(text)}</p>" for text in panel_words(table)]
        parts += ["<h3>Mean absolute error</h3>", _html_table(*_error_rows(table), table)]
        if table.duels:
            parts += ["<h3>PMD against each</h3>", _html_table(*_duel_rows(table))]
    for heading, head, rows in _rankings(book):
        parts += [f"<h2>{escape(heading)}</h2>", _html_table(head, rows)]
    parts += ["<h2>How to read this</h2>", *(f"<p>{escape(text)}</p>" for text in notes(book))]
    parts += ["<h2>To reproduce</h2>", *(f"<pre>{escape(text)}</pre>" for text in commands(book))]
    parts += [f'<p class="note">{escape(text)}</p>' for text in provenance(book)]
    return page(title, parts)


def markdown_page(book: Book, tables: list[PanelTable], pictures: list[str]) -> str:
    """Return the report in Markdown, beside its pictures."""
    lines = [f"# {_title(book)}", ""]
    lines += [f"{text}\n" for text in summary_words(book, tables)]
    lines += [f"![{CAPTIONS[name]}]({name}.png)\n" for name in pictures]
    for table in tables:
        lines += [f"## Panel ({table.panel.name}): {table.panel.title}", ""]
        lines += [f"{text}\n" for text in panel_words(table)]
        lines += [_markdown_table(*_error_rows(table)), ""]
        if table.duels:
            lines += [_markdown_table(*_duel_rows(table)), ""]
    for heading, head, rows in _rankings(book):
        lines += [f"## {heading}", "", _markdown_table(head, rows), ""]
    lines += ["## How to read this", "", *(f"{text}\n" for text in notes(book))]
    lines += ["## To reproduce", "", *(f"```text\n{text}\n```\n" for text in commands(book))]
    lines += [f"{text}\n" for text in provenance(book)]
    return "\n".join(lines).rstrip() + "\n"


CAPTIONS = {
    "panels": "Mean absolute error, lower is better. Bars: standard deviation over repeats.",
    "gaps": "The same minus the error of PMD, near zero: above the zero line PMD is better.",
}


def _title(book: Book) -> str:
    return book.experiment.title or f"User similarity measures on {book.experiment.dataset}"


def _error_rows(table: PanelTable) -> tuple[list[str], Rows]:
    """Return head and rows of a panel's errors, the lowest of the measures marked as bold."""
    head = ["", "convention", *table.heads]
    measures = [line.mean for line in table.of_kind("measure")]
    lowest = [_number(x) for x in np.min(measures, axis=0)] if measures else table.heads
    rows = []
    for line in table.lines:
        cells = [_number(x) for x in line.mean]
        if line.kind == "measure":
            cells = [f"**{x}**" if x == least else x for x, least in zip(cells, lowest, strict=True)]
        rows.append([line.label, _convention(line), *cells])
    return head, rows


def _number(x: float) -> str:
    """Return an error as it is printed, without a 0 in front of the point."""
    return f"{x:.{DIGITS}f}".removeprefix("0")


def _convention(line: Line) -> str:
    chosen = f" (best of {line.n_conventions})" if line.n_conventions > 1 else ""
    return _kind(line.kind, line.convention) + chosen


def _kind(kind: str, convention: str) -> str:
    return kind if convention == "-" else convention


def _duel_rows(table: PanelTable) -> tuple[list[str], Rows]:
    head = ["PMD against", "lower at", "wins", "ties", "losses", "mean difference", "p, users", "p, repeats"]
    rows = [
        [
            duel.label,
            f"{duel.lower} of {duel.points}",
            str(duel.wins),
            str(duel.ties),
            str(duel.losses),
            f"{duel.difference:+.4f}",
            p_text(duel.p_users),
            p_text(duel.p_repeats),
        ]
        for duel in table.duels
    ]
    return head, rows


def _rankings(book: Book) -> Iterator[tuple[str, list[str], Rows]]:
    """Yield heading, head and rows of the top-N figures, a table for each share."""
    for share in book.shares:
        found = book.rankings(share)
        if found:
            where = f"train:test {share_name(share)}, K = {book.k}"
            heading = f"Each user's test items, ranked: the first {book.experiment.top_n}, {where}"
            head = ["", "convention", *(name.replace("_", " ") for name in found[0][1])]
            rows = [
                [cell["label"], _kind(cell["kind"], cell["convention"]), *map(_number, figures.values())]
                for cell, figures in found
            ]
            yield heading, head, rows


def _html_table(head: list[str], rows: Rows, table: PanelTable | None = None) -> str:
    def cell(text: str) -> str:
        bold = text.startswith("**")
        return f"<td><b>{escape(text.strip('*'))}</b></td>" if bold else f"<td>{escape(text)}</td>"

    kinds = [line.kind for line in table.lines] if table else [""] * len(rows)
    ours = [line.method == OURS for line in table.lines] if table else [False] * len(rows)
    out = ['<div class="wide"><table><thead><tr>', *(f"<th>{escape(text)}</th>" for text in head)]
    out.append("</tr></thead><tbody>")
    for k, row in enumerate(rows):
        first = k > 0 and kinds[k] != kinds[k - 1]
        name = "ours" if ours[k] else "first" if first else "other"
        out.append(f'<tr class="{name}">{"".join(map(cell, row))}</tr>')
    return "".join([*out, "</tbody></table></div>"])


def _markdown_table(head: list[str], rows: Rows) -> str:
    marks = ["---"] * 2 + ["---:"] * (len(head) - 2)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in ([head, marks, *rows]))


def _facts(book: Book, tables: list[PanelTable]) -> dict[str, Any]:
    return {
        "dataset": book.experiment.dataset,
        "geometry": book.about["geometry name"],
        "repeats": book.repeats,
        "records": len(book.cells),
        "minutes": round(book.seconds / 60, 1),
        "summary": summary_words(book, tables),
        "panels": [
            {
                "name": table.panel.name,
                "title": table.panel.title,
                "over": table.panel.over,
                "points": table.heads,
                "words": panel_words(table),
                "methods": [
                    {
                        "method": line.method,
                        "kind": line.kind,
                        "convention": line.convention,
                        "mae": [round(float(x), 5) for x in line.mean],
                        "deviation": [round(float(x), 5) for x in line.deviation],
                    }
                    for line in table.lines
                ],
                "duels": [asdict(duel) for duel in table.duels],
            }
            for table in tables
        ],
    }
