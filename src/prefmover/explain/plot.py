"""A transport plan as a picture: two columns of items, with ribbons between them.

A ribbon is as thick as the mass that moves, and the closer its two items are, the darker it is. Dark level
ribbons show taste in common; pale ones show where the distance comes from. The explorer draws its ribbons in
the same colors (``styles/colors.css``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

from prefmover.errors import MissingExtraError, install_command

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from prefmover.explain.plan import UserExplanation
    from prefmover.measures.breakdown import Flow

__all__ = ["COLOR_MAP", "color_position", "draw_plan", "plan_image", "pyplot"]

COLOR_MAP = "YlGnBu"
PALEST, DARKEST = 0.12, 0.868  # a paler ribbon could not be told from paper, a darker one from ink
BAR = 0.012
INK = "#26323f"


def color_position(similarity: float) -> float:
    """Return where on the color map, from 0 (pale) to 1 (dark), two items of that similarity are.

    >>> round(color_position(0), 3), round(color_position(1), 3)
    (0.12, 0.868)
    """
    return PALEST + (DARKEST - PALEST) * similarity


def draw_plan(explanation: UserExplanation, ax: Axes | None = None, n: int = 25) -> Axes:
    """Draw the ``n`` heaviest flows of a plan on axes, by default those of a new figure, and return the axes.

    The left column is sorted by mass, the right one so that few ribbons cross.
    """
    plt = pyplot()
    from matplotlib.patches import PathPatch, Rectangle
    from matplotlib.path import Path

    flows = sorted(explanation.flows, key=lambda flow: -_mass(flow))[:n]
    outflow: dict[Any, float] = defaultdict(float)
    inflow: dict[Any, float] = defaultdict(float)
    height: dict[Any, float] = defaultdict(float)
    for flow in flows:
        outflow[flow.source] += _mass(flow)
        inflow[flow.target] += _mass(flow)
    left = _stack(sorted(outflow, key=lambda item: -outflow[item]), outflow)
    # An item of the right column belongs at the average height of the mass that it receives.
    for flow in flows:
        height[flow.target] += _mass(flow) * left[flow.source].middle / inflow[flow.target]
    right = _stack(sorted(height, key=lambda item: -height[item]), inflow)
    if ax is None:
        rows = max(len(left), len(right), 4)
        ax = plt.subplots(figsize=(9, 0.5 * rows + 1.1), layout="constrained")[1]
    colors = plt.get_cmap(COLOR_MAP)
    codes = [Path.MOVETO, *[Path.CURVE4] * 3, Path.LINETO, *[Path.CURVE4] * 3, Path.CLOSEPOLY]
    sources, targets = [left[flow.source] for flow in flows], [right[flow.target] for flow in flows]
    starts, ends = _attach(flows, sources, targets), _attach(flows, targets, sources)
    for flow, a, b in zip(flows, starts, ends, strict=True):  # thin ribbons lie over thick ones
        c, d = a - _mass(flow), b - _mass(flow)
        points = [(0, a), (0.5, a), (0.5, b), (1, b), (1, d), (0.5, d), (0.5, c), (0, c), (0, a)]
        color = colors(color_position(flow.similarity or 0.0))
        ax.add_patch(PathPatch(Path(points, codes), facecolor=color, alpha=0.85, linewidth=0))
    times = explanation.words.times
    left_text = {f.source: f"{explanation.label(f.source)}   {times(f.source_rating)}" for f in flows}
    right_text = {f.target: f"{times(f.target_rating)}   {explanation.label(f.target)}" for f in flows}
    for name, bars, text, side, x in (
        (explanation.user, left, left_text, "right", -BAR),
        (explanation.other, right, right_text, "left", 1.0),
    ):
        outer, beside = (x, x - 0.015) if side == "right" else (x + BAR, x + BAR + 0.015)
        ax.text(outer, 0.03, str(name), ha=side, va="bottom", fontsize=10, fontweight="bold", color=INK)
        for item, bar in bars.items():
            ax.add_patch(Rectangle((x, bar.bottom), BAR, bar.height, facecolor=INK, linewidth=0))
            ax.text(beside, bar.middle, text[item], ha=side, va="center", fontsize=9, color=INK)
    lowest = min(bar.bottom for bar in [*left.values(), *right.values()])
    ax.set(xlim=(-0.05, 1.05), ylim=(lowest - 0.02, 0.1))
    ax.set_title(explanation.title, fontsize=10, color=INK)
    ax.axis("off")
    return ax


def plan_image(explanation: UserExplanation, format: str = "svg") -> bytes:  # noqa: A002 - matplotlib's word
    """Return the picture of a plan as a file: ``"svg"``, ``"png"`` or ``"pdf"``."""
    plt = pyplot()
    out = BytesIO()
    # The same bytes on every call: no date, and ids that do not depend on chance.
    undated: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with plt.rc_context({"svg.hashsalt": "prefmover", "svg.fonttype": "path"}):
        figure: Any = explanation.plot().figure
        figure.savefig(out, format=format, metadata=undated.get(format), dpi=150)
        plt.close(figure)
    return out.getvalue()


def pyplot() -> Any:
    """Return ``matplotlib.pyplot``."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtraError(f"drawing needs matplotlib: {install_command('plot')}") from None
    return plt


def _mass(flow: Flow) -> float:
    return flow.mass or 0.0


@dataclass(slots=True)
class _Bar:
    """An item in a column; ``free`` is the height below which no ribbon is attached yet."""

    bottom: float
    height: float
    free: float

    @property
    def middle(self) -> float:
        return self.bottom + self.height / 2


def _stack(order: Sequence[Any], heights: Mapping[Any, float]) -> dict[Any, _Bar]:
    """Return bars from the top down, with gaps between them."""
    gap = 0.35 * sum(heights.values()) / max(len(heights), 1)
    bars, top = {}, 0.0
    for item in order:
        bars[item] = _Bar(top - heights[item], heights[item], top)
        top -= heights[item] + gap
    return bars


def _attach(flows: Sequence[Flow], near: Sequence[_Bar], far: Sequence[_Bar]) -> list[float]:
    """Return the upper edge of each flow at its near bar, attached in the order of the far ends."""
    edges = [0.0] * len(flows)
    for k in sorted(range(len(flows)), key=lambda k: -far[k].middle):
        edges[k] = near[k].free
        near[k].free -= _mass(flows[k])
    return edges
