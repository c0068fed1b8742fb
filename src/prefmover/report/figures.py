"""Pictures of panels, with one color, dash and marker for each method.

The colors are those of Okabe and Ito, which people with any kind of color blindness can tell apart. Dash and
marker differ too, since there are more methods than colors; the markers still work in black and white.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import BytesIO, StringIO
from typing import TYPE_CHECKING, Any, get_args

from prefmover._typing import Floats
from prefmover.evaluation.record import Kind
from prefmover.explain.plot import pyplot
from prefmover.measures import MEASURES
from prefmover.report.lists import ListCell, ListResults
from prefmover.report.results import OURS, Line, PanelTable, deviation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "STYLES",
    "draw_activity",
    "draw_density",
    "draw_gaps",
    "draw_panels",
    "draw_scatter",
    "png",
    "style",
    "svg",
]

GRAY = "#777777"
STYLES = {
    "default": ("#009E73", "-", "d"),
    "uniform": (GRAY, ":", "s"),
    "mean-vector": (GRAY, "-.", "D"),
    "agreement": (GRAY, "--", "s"),
    "estimated:pmd": (GRAY, "-", "o"),
    "estimated:pmd-agreement": (GRAY, "-", "P"),
    "user-mean": (GRAY, ":", ""),
    "bias": (GRAY, "-.", ""),
    "SVD": ("#009E73", ":", "1"),
    "SVDpp": ("#CC79A7", ":", "2"),
    "KNNBaseline": ("#E69F00", ":", "3"),
    "KNNWithMeans": ("#56B4E9", ":", "4"),
    "BaselineOnly": ("#D55E00", ":", "+"),
    "popularity": (GRAY, "--", "v"),
    "liked-popularity": (GRAY, "-", "^"),
    "random": (GRAY, ":", "x"),
    "ease": ("#D55E00", "--", "p"),
    "item-knn": ("#E69F00", "--", "h"),
    "user-knn": ("#56B4E9", "--", "H"),
    "implicit:als": ("#CC79A7", "--", "<"),
    "implicit:bpr": ("#CC79A7", "-.", ">"),
    "kernel:pmd": ("#000000", "--", "*"),
    "kernel:rwmd": ("#0072B2", "-.", "*"),
    "kernel:mean-vector": ("#0072B2", ":", "D"),
    "kernel:total-variation": ("#009E73", "-.", "*"),
    "kernel:cosine": ("#56B4E9", "-.", "*"),
    "kernel:jaccard": ("#E69F00", "-.", "*"),
}
"""Color, dash and marker of the methods that are not measures; a measure's style is in its table row."""

OTHER = ("#CC79A7", "-", "x")  # the style of a recommender without one
GAP_RANGE = 0.025  # the range of differences that is drawn, as a share of PMD's error
SETTINGS = {"svg.fonttype": "path", "font.size": 9.0, "axes.spines.top": False, "axes.spines.right": False}


def style(line: Line | ListCell) -> tuple[str, str, str]:
    """Return color, dash and marker of a method."""
    if line.kind == "measure" and line.method in MEASURES:
        return MEASURES[line.method].style
    return STYLES.get(line.method, OTHER)


def draw_panels(tables: Sequence[PanelTable]) -> Figure:
    """Draw the error of every method over the share of training ratings, or over K."""
    figure, axes = _canvas(len(tables))
    for axis, table in zip(axes, tables, strict=True):
        _draw(axis, table, [(line, line.repeats) for line in table.lines], "MAE")
    return _with_legend(figure, axes)


def draw_gaps(tables: Sequence[PanelTable]) -> Figure:
    """Draw the difference between each method's error and PMD's, cut to a narrow range around zero."""
    figure, axes = _canvas(len(tables))
    for axis, table in zip(axes, tables, strict=True):
        if ours := table.by_method.get(OURS):
            gaps = [(line, line.repeats - ours.repeats) for line in table.lines]
            _draw(axis, table, gaps, "MAE minus MAE of PMD")
            # Lines without a marker are far from the others.
            low = min(float(gap.mean(axis=1).min()) for line, gap in gaps if style(line)[2])
            limit = GAP_RANGE * float(ours.mean.mean())
            axis.set_ylim(max(low, -limit) - limit / 20, limit)
    return _with_legend(figure, axes)


def draw_density(results: ListResults) -> Figure:
    """Draw nDCG over the share of training ratings, the sparsest at the left."""
    figure, (axis,) = _canvas(1, wide=True)
    shares = [table.share for table in results.tables]
    for one in results.recommenders:
        cells = [(k, cell) for k, t in enumerate(results.tables) if (cell := t.of(one.recommender))]
        points, repeats = [k for k, _ in cells], [cell.ndcg for _, cell in cells]
        ours = one.recommender == results.ours
        color, dash, marker = style(one)
        bars = [float(x.std(ddof=1)) if len(x) > 1 else 0.0 for x in repeats]
        axis.errorbar(
            points, [float(x.mean()) for x in repeats], yerr=bars if any(bars) else None, color=color,
            linestyle=dash, marker=marker or ".", markersize=6 if ours else 4, linewidth=2.4 if ours else 1.1,
            elinewidth=0.8, capsize=2, zorder=3 if ours else 2, label=one.label,
        )  # fmt: skip
    axis.set_xticks(range(len(shares)), [f"{share:g}" for share in shares])
    axis.set_xlabel("share of the ratings to train on")
    axis.set_ylabel(f"nDCG@{results.n}")
    _grid(axis)
    return _with_legend(figure, [axis])


def draw_activity(results: ListResults) -> Figure:
    """Draw nDCG by how much users have rated, one panel per share, the best methods of each kind."""
    figure, axes = _canvas(len(results.tables))
    for axis, table in zip(axes, results.tables, strict=True):
        kinds: tuple[Kind, ...] = get_args(Kind)
        best = [table.of(results.ours), *(table.best(kind) for kind in kinds), table.of("liked-popularity")]
        names: list[str] = list(table.cells[0].activity)
        for cell in dict.fromkeys(one for one in best if one is not None):
            color, dash, marker = style(cell)
            values = [cell.activity[name].ndcg for name in names]
            axis.plot(
                range(len(names)), values, color=color, linestyle=dash, marker=marker or ".",
                label=cell.label, linewidth=2.2 if cell.recommender == results.ours else 1.1, markersize=4.5,
            )  # fmt: skip
        groups = [table.cells[0].activity[name] for name in names]
        heads = [f"{group.name}\n{group.fewest:,} to {group.most:,}" for group in groups]
        axis.set_xticks(range(len(names)), heads, fontsize=7)
        axis.set_xlabel("users by number of training ratings")
        axis.set_ylabel(f"nDCG@{results.n}")
        axis.set_title(f"share {table.share:g}", fontsize=9, loc="left")
        _grid(axis)
    return _with_legend(figure, axes)


def draw_scatter(results: ListResults, quantity: str) -> Figure:
    """Draw nDCG against ``"seconds"`` (to fit and to recommend) or ``"novelty"``, one panel per share."""
    figure, axes = _canvas(len(results.tables))
    for axis, table in zip(axes, results.tables, strict=True):
        for cell in table.cells:
            color, _, marker = style(cell)
            x = max(cell.seconds, 1e-3) if quantity == "seconds" else cell.values["novelty"]
            ours = cell.recommender == results.ours
            axis.plot(
                [x], [cell.values["ndcg"]], color=color, marker=marker or ".", linestyle="none",
                markersize=9 if ours else 6, label=cell.label, zorder=3 if ours else 2,
            )  # fmt: skip
        if quantity == "seconds":
            axis.set_xscale("log")
        text = {"seconds": "seconds to fit and recommend", "novelty": "novelty: mean self-information (bits)"}
        axis.set_xlabel(text[quantity])
        axis.set_ylabel(f"nDCG@{results.n}")
        axis.set_title(f"share {table.share:g}", fontsize=9, loc="left")
        _grid(axis)
    return _with_legend(figure, axes)


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


def _draw(axis: Any, table: PanelTable, lines: Sequence[tuple[Line, Floats]], quantity: str) -> None:
    """Draw the (n_points, n_repeats) values of each line."""
    for line, repeats in lines:
        color, dash, marker = style(line)
        ours, bars = line.method == OURS, deviation(repeats)
        axis.errorbar(
            range(len(repeats)), repeats.mean(axis=1), yerr=bars if bars.any() and marker else None,
            color=color, linestyle=dash, marker=marker, markersize=4.5 if ours else 3.5,
            linewidth=2.2 if ours else 1.1, elinewidth=0.8, capsize=2, zorder=3 if ours else 2,
            label=line.label,
        )  # fmt: skip
    axis.set_xticks(range(len(table.heads)), table.heads)
    axis.set_xlabel("train:test" if table.panel.over == "train" else "K nearest raters of the item")
    axis.set_ylabel(quantity)
    axis.set_title(f"({table.panel.name}) {table.panel.title}", fontsize=9, loc="left")
    _grid(axis)


def _grid(axis: Any) -> None:
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
