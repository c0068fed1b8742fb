"""Pictures of panels: one color, dash and marker for each method, everywhere.

Colors are those of Okabe and Ito, which people with any kind of color blindness can tell apart; where
there are more methods than colors, dash and marker differ as well. In black and white, markers remain.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import BytesIO, StringIO
from typing import TYPE_CHECKING, Any

from prefmover.errors import MissingExtraError
from prefmover.report.results import OURS, Line, PanelTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STYLES", "draw_gaps", "draw_panels", "png", "svg"]

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, RED, PURPLE, GRAY = "#B8A800", "#0072B2", "#D55E00", "#CC79A7", "#777777"

STYLES: dict[str, tuple[str, str, str]] = {
    "pmd": (BLACK, "-", "o"),
    "cos": (SKY, "--", "s"),
    "pcc": (ORANGE, "--", "^"),
    "msd": (GREEN, "--", "D"),
    "jaccard": (PURPLE, "--", "v"),
    "urp": (YELLOW, "--", "P"),
    "jmsd": (BLUE, "--", "X"),
    "nhsm": (RED, "--", "<"),
    "bcf": (SKY, "-", ">"),
    "n-bcf": (BLUE, "-", "h"),
    "husm": (ORANGE, "-", "*"),
    "n-husm": (RED, "-", "p"),
    "uniform": (GRAY, ":", "s"),
    "mean-vector": (GRAY, "-.", "D"),
    "user-mean": (GRAY, ":", ""),
    "bias": (GRAY, "-.", ""),
    "SVD": (GREEN, ":", "1"),
    "SVDpp": (PURPLE, ":", "2"),
    "KNNBaseline": (ORANGE, ":", "3"),
    "KNNWithMeans": (SKY, ":", "4"),
    "BaselineOnly": (RED, ":", "+"),
}
"""Color, dash and marker by method; a measure of your own gets purple crosses."""

NEAR = 0.025  # of PMD's error
OTHER = (PURPLE, "-", "x")
SETTINGS = {"svg.fonttype": "path", "font.size": 9.0, "axes.spines.top": False, "axes.spines.right": False}


def draw_panels(tables: Sequence[PanelTable]) -> Figure:
    """Draw the error of every method over the share of training ratings, or over K."""
    figure, axes = _canvas(len(tables))
    for axis, table in zip(axes, tables, strict=True):
        for line in table.lines:
            _plot(axis, table, line, line.mean, line.deviation)
        _finish(axis, table, "MAE")
    _legend(figure, axes)
    return figure


def draw_gaps(tables: Sequence[PanelTable]) -> Figure:
    """Draw by how much the error of each method exceeds PMD's, near zero: where the race is close."""
    figure, axes = _canvas(len(tables))
    for axis, table in zip(axes, tables, strict=True):
        ours = table.line(OURS)
        if ours is None:
            continue
        low, near = 0.0, NEAR * float(ours.mean.mean())
        for line in table.lines:
            gap, deviation = line.minus(ours)
            if STYLES.get(line.method, OTHER)[2]:  # lines without a marker lie far off
                low = min(low, float(gap.min()))
            _plot(axis, table, line, gap, deviation)
        axis.set_ylim(max(low, -near) - near / 20, near)
        _finish(axis, table, "MAE minus that of PMD")
    _legend(figure, axes)
    return figure


def svg(figure: Figure, name: str) -> str:
    """Return a figure as SVG, the same text every time; ids inside it begin with its name."""
    plt = _matplotlib()
    out = StringIO()
    with plt.rc_context({"svg.hashsalt": name, **SETTINGS}):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    # Two pictures in one page must not have ids in common.
    return re.sub(r'(\bid="|"#|url\(#)', rf"\g<1>{name}-", text[text.index("<svg") :])


def png(figure: Figure) -> bytes:
    """Return a figure as PNG."""
    out = BytesIO()
    figure.savefig(out, format="png", dpi=150, metadata={"Software": None})
    return out.getvalue()


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError("figures need matplotlib: pip install 'prefmover[plot]'") from None
    return matplotlib


def _canvas(n: int) -> tuple[Figure, list[Any]]:
    matplotlib = _matplotlib()
    from matplotlib.figure import Figure

    columns = 2 if n == 4 else min(n, 3)
    rows = -(-n // columns)
    with matplotlib.rc_context(SETTINGS):
        figure = Figure(figsize=(4.1 * columns + 0.3, 3.3 * rows + 0.7 + 0.9 / columns), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False)
    axes = list(grid.ravel())
    for spare in axes[n:]:
        spare.remove()
    return figure, axes[:n]


def _plot(axis: Any, table: PanelTable, line: Line, values: Any, deviation: Any) -> None:
    color, dash, marker = STYLES.get(line.method, OTHER)
    ours = line.method == OURS
    axis.errorbar(
        range(len(table.heads)),
        values,
        yerr=deviation if deviation.any() and marker else None,
        color=color,
        linestyle=dash,
        marker=marker,
        markersize=4.5 if ours else 3.5,
        linewidth=2.2 if ours else 1.1,
        elinewidth=0.8,
        capsize=2,
        zorder=3 if ours else 2,
        label=line.label,
    )


def _finish(axis: Any, table: PanelTable, what: str) -> None:
    heads = table.heads
    axis.set_xticks(range(len(heads)), heads)
    axis.set_xlabel("train:test" if table.panel.over == "train" else "K, neighbors among the item's raters")
    axis.set_ylabel(what)
    axis.set_title(f"({table.panel.name}) {table.panel.title}", fontsize=9, loc="left")
    axis.grid(axis="y", color="#dddddd", linewidth=0.6)
    axis.set_axisbelow(True)


def _legend(figure: Figure, axes: Sequence[Any]) -> None:
    by_label: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            by_label.setdefault(label, handle)
    fitting = {1: 3, 2: 5, 4: 5}.get(len(axes), 8)
    figure.legend(
        by_label.values(),
        by_label.keys(),
        loc="outside lower center",
        ncols=fitting,
        fontsize=8,
        frameon=False,
    )
