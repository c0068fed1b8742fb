"""Pictures of tables, with one color, dash and marker for each method.

The colors are those of Okabe and Ito, which people with any kind of color blindness can tell apart. Dash and
marker differ too, since there are more methods than colors; the markers still work in black and white.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import BytesIO, StringIO
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats
from prefmover.evaluation.recommenders import ROWS, Row
from prefmover.evaluation.record import Kind
from prefmover.explain.plot import pyplot
from prefmover.measures import MEASURES
from prefmover.report.results import Line, Results, Table, deviation, order

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLES = {row.method or row.name: row.style for row in ROWS}
GAP_RANGE = 0.025  # the range of differences that is drawn, as a share of PMD's error
SETTINGS = {"svg.fonttype": "path", "font.size": 9.0, "axes.spines.top": False, "axes.spines.right": False}


def style(line: Line) -> tuple[str, str, str]:
    """Return color, dash and marker of a method."""
    if line.kind == "measure" and line.method in MEASURES:
        return MEASURES[line.method].style
    return STYLES.get(line.method, Row.style)


def draw_panels(tables: Sequence[Table]) -> Figure:
    """Draw the error of every method over the share of training ratings, or over K."""
    figure, axes = _canvas(len(tables))
    for axis, table in zip(axes, tables, strict=True):
        _draw_panel(axis, table, [(line, line.repeats) for line in table.lines], "MAE")
    return _with_legend(figure, axes)


def draw_gaps(tables: Sequence[Table]) -> Figure:
    """Draw the difference between each method's error and PMD's, cut to a narrow range around zero."""
    figure, axes = _canvas(len(tables))
    for axis, table in zip(axes, tables, strict=True):
        if ours := table.ours:
            gaps = [(line, line.repeats - ours.repeats) for line in table.lines]
            _draw_panel(axis, table, gaps, "MAE minus MAE of PMD")
            # Lines without a marker are far from the others.
            low = min(float(gap.mean(axis=1).min()) for line, gap in gaps if style(line)[2])
            limit = GAP_RANGE * float(ours.mean.mean())
            axis.set_ylim(max(low, -limit) - limit / 20, limit)
    return _with_legend(figure, axes)


def _draw_panel(axis: Any, table: Table, lines: Sequence[tuple[Line, Floats]], quantity: str) -> None:
    """Draw the (n_points, n_repeats) values of each line."""
    for line, repeats in lines:
        bars = deviation(repeats) if style(line)[2] else None
        _curve(axis, range(len(repeats)), repeats.mean(axis=1), line, line is table.ours, bars)
    axis.set_xticks(range(len(table.heads)), table.heads)
    x = "train:test" if table.panel.over == "train" else "K nearest raters of the item"
    _finish(axis, x, quantity, f"({table.panel.name}) {table.panel.title}")


def draw_density(results: Results) -> Figure:
    """Draw nDCG over the share of training ratings, the sparsest at the left."""
    figure, (axis,) = _canvas(1, wide=True)
    every = {line.recommender: line for table in results.lists for line in table.lines}
    for one in sorted(every.values(), key=lambda line: order(line.kind, line.method)):
        found = [(k, line) for k, t in enumerate(results.lists) if (line := t.of(one.recommender))]
        bars = np.concatenate([line.deviation for _, line in found])
        ours = any(line is table.ours for _, line in found for table in results.lists)
        _curve(axis, [k for k, _ in found], [float(line.mean[0]) for _, line in found], one, ours, bars)
    axis.set_xticks(range(len(results.lists)), [f"{table.share:g}" for table in results.lists])
    _finish(axis, "share of the ratings to train on", f"nDCG@{results.n}")
    return _with_legend(figure, [axis])


def draw_activity(results: Results) -> Figure:
    """Draw nDCG by how much users have rated, one panel per share, the best methods of each kind."""
    figure, axes = _canvas(len(results.lists))
    for axis, table in zip(axes, results.lists, strict=True):
        kinds: tuple[Kind, ...] = get_args(Kind)
        best = [
            table.ours,
            *(table.best(table.of_kind(kind)) for kind in kinds),
            table.of("liked-popularity"),
        ]
        for line in dict.fromkeys(one for one in best if one is not None):
            values = [float(one.mean[0]) for one in line.activity.values()]
            _curve(axis, range(len(values)), values, line, line is table.ours)
        groups = table.lines[0].activity.values()
        heads = [f"{group.name}\n{group.fewest:,} to {group.most:,}" for group in groups]
        axis.set_xticks(range(len(heads)), heads, fontsize=7)
        _finish(axis, "users by number of training ratings", f"nDCG@{results.n}", f"share {table.share:g}")
    return _with_legend(figure, axes)


def draw_scatter(results: Results, quantity: str) -> Figure:
    """Draw nDCG against ``"seconds"`` (to fit and to recommend) or ``"novelty"``, one panel per share."""
    figure, axes = _canvas(len(results.lists))
    text = {"seconds": "seconds to fit and recommend", "novelty": "novelty: mean self-information (bits)"}
    for axis, table in zip(axes, results.lists, strict=True):
        for line in table.lines:
            color, _, marker = style(line)
            x = max(sum(line.seconds[:2]), 1e-3) if quantity == "seconds" else line.value("novelty")
            axis.plot(
                [x], [float(line.mean[0])], color=color, marker=marker or ".", linestyle="none",
                markersize=9 if line is table.ours else 6, label=line.label, zorder=2 + (line is table.ours),
            )  # fmt: skip
        if quantity == "seconds":
            axis.set_xscale("log")
        _finish(axis, text[quantity], f"nDCG@{results.n}", f"share {table.share:g}")
    return _with_legend(figure, axes)


def _curve(
    axis: Any, x: Sequence[int], y: npt.ArrayLike, line: Line, ours: bool, bars: Floats | None = None
) -> None:
    color, dash, marker = style(line)
    dot = "." if line.records[0].task == "ranking" else ""
    axis.errorbar(
        x, y, yerr=bars if bars is not None and bars.any() else None, color=color, linestyle=dash,
        marker=marker or dot, markersize=4.5 if ours else 3.5, linewidth=2.2 if ours else 1.1, elinewidth=0.8,
        capsize=2, zorder=3 if ours else 2, label=line.label,
    )  # fmt: skip


def svg(figure: Figure, name: str) -> str:
    """Return a figure as SVG, the same text every time; the ids in it begin with its name."""
    out = StringIO()
    with pyplot().rc_context({"svg.hashsalt": name, **SETTINGS}):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    # Two pictures in one page must not share ids.
    return re.sub(r'(\bid="|"#|url\(#)', rf"\g<1>{name}-", text[text.index("<svg") :])


def png(figure: Figure) -> bytes:
    """Return a figure as PNG."""
    out = BytesIO()
    figure.savefig(out, format="png", dpi=150, metadata={"Software": None})
    return out.getvalue()


def _canvas(n: int, *, wide: bool = False) -> tuple[Figure, list[Any]]:
    plt = pyplot()
    from matplotlib.figure import Figure

    columns = 2 if n == 4 else min(n, 3)
    rows = -(-n // columns)
    size = (8.5, 5.6) if wide else (4.1 * columns + 0.3, 3.3 * rows + 0.7 + 0.9 / columns)
    with plt.rc_context(SETTINGS):
        figure = Figure(figsize=size, layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False)
    axes = list(grid.ravel())
    for spare in axes[n:]:
        spare.remove()
    return figure, axes[:n]


def _finish(axis: Any, x: str, y: str, title: str = "") -> None:
    axis.set_xlabel(x)
    axis.set_ylabel(y)
    axis.set_title(title, fontsize=9, loc="left")
    axis.grid(axis="y", color="#dddddd", linewidth=0.6)
    axis.set_axisbelow(True)


def _with_legend(figure: Figure, axes: Sequence[Any]) -> Figure:
    by_label: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            by_label.setdefault(label, handle)
    columns = {1: 3 if figure.get_figwidth() < 8 else 6, 2: 5, 4: 5}.get(len(axes), 8)
    look: dict[str, Any] = {"loc": "outside lower center", "fontsize": 8, "frameon": False}
    figure.legend(by_label.values(), by_label.keys(), ncols=columns, **look)
    return figure
