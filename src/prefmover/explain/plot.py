"""A transport plan as a picture: two columns of items, with ribbons between them.

A ribbon is as thick as the mass that moves, and the closer its two items are, the darker it is. Dark level
ribbons show taste in common; pale ones show where the distance comes from. The explorer draws its ribbons in
the same colors (``styles/colors.css``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

from prefmover.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from prefmover.explain.plan import UserExplanation
    from prefmover.measures.breakdown import Flow

__all__ = ["COLOR_MAP", "color_position", "draw_flows", "plan_image"]

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


def draw_flows(
    flows: Sequence[Flow],
    names: tuple[str, str],
    label: Callable[[Any], str],
    title: str,
    ax: Axes | None = None,
) -> Axes:
    """Draw flows between the items of two users, and return the axes.

    The left column is sorted by mass, the right one so that few ribbons cross.

    Parameters
    ----------
    flows
        The flows of a plan, at least one.
    names
        The headings of the columns.
    label
        Returns the text beside an item, given its id.
    title
        The title of the picture.
    ax
        The axes to draw on; by default a new figure of fitting size.
    """
    plt = _pyplot()
    from matplotlib.patches import PathPatch, Rectangle
    from matplotlib.path import Path

    sources = _total_mass((flow.source, _mass(flow)) for flow in flows)
    targets = _total_mass((flow.target, _mass(flow)) for flow in flows)
    left = _stack(sorted(sources, key=lambda item: -sources[item]), sources)
    # An item of the right column belongs at the average height of the mass that it receives.
    height = dict.fromkeys(targets, 0.0)
    for flow in flows:
        height[flow.target] += _mass(flow) * left[flow.source].middle
    right = _stack(sorted(height, key=lambda item: -height[item] / targets[item]), targets)
    if ax is None:
        rows = max(len(left), len(right), 4)
        ax = plt.subplots(figsize=(9, 0.5 * rows + 1.1), layout="constrained")[1]
    colors = plt.get_cmap(COLOR_MAP)
    codes = [Path.MOVETO, *[Path.CURVE4] * 3, Path.LINETO, *[Path.CURVE4] * 3, Path.CLOSEPOLY]
    # Thin ribbons lie over thick ones.
    for flow, a, b in sorted(_ribbon_ends(flows, left, right), key=lambda ribbon: -_mass(ribbon[0])):
        c, d = a - _mass(flow), b - _mass(flow)
        points = [(0, a), (0.5, a), (0.5, b), (1, b), (1, d), (0.5, d), (0.5, c), (0, c), (0, a)]
        color = colors(color_position(flow.similarity or 0.0))
        ax.add_patch(PathPatch(Path(points, codes), facecolor=color, alpha=0.85, linewidth=0))
    source_ratings = {flow.source: flow.source_rating for flow in flows}
    target_ratings = {flow.target: flow.target_rating for flow in flows}
    for item, bar in left.items():
        ax.add_patch(Rectangle((-BAR, bar.bottom), BAR, bar.height, facecolor=INK, linewidth=0))
        text = f"{label(item)}   {source_ratings[item]:g}"
        ax.text(-BAR - 0.015, bar.middle, text, ha="right", va="center", fontsize=9, color=INK)
    for item, bar in right.items():
        ax.add_patch(Rectangle((1.0, bar.bottom), BAR, bar.height, facecolor=INK, linewidth=0))
        text = f"{target_ratings[item]:g}   {label(item)}"
        ax.text(1 + BAR + 0.015, bar.middle, text, ha="left", va="center", fontsize=9, color=INK)
    heading: dict[str, Any] = {"va": "bottom", "fontsize": 10, "fontweight": "bold", "color": INK}
    ax.text(-BAR, 0.03, names[0], ha="right", **heading)
    ax.text(1 + BAR, 0.03, names[1], ha="left", **heading)
    lowest = min(bar.bottom for bar in [*left.values(), *right.values()])
    ax.set(xlim=(-0.05, 1.05), ylim=(lowest - 0.02, 0.1))
    ax.set_title(title, fontsize=10, color=INK)
    ax.axis("off")
    return ax


def plan_image(explanation: UserExplanation, format: str = "svg") -> bytes:  # noqa: A002 - matplotlib's word
    """Return the picture of a plan as a file: ``"svg"``, ``"png"`` or ``"pdf"``."""
    plt = _pyplot()
    out = BytesIO()
    # The same bytes on every call: no date, and ids that do not depend on chance.
    undated: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with plt.rc_context({"svg.hashsalt": "prefmover", "svg.fonttype": "path"}):
        figure: Any = explanation.plot().figure
        figure.savefig(out, format=format, metadata=undated.get(format), dpi=150)
        plt.close(figure)
    return out.getvalue()


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtraError('drawing needs matplotlib: pip install "prefmover[plot]"') from None
    return plt


def _mass(flow: Flow) -> float:
    assert flow.mass is not None, "a flow of a transport plan has a mass"
    return flow.mass


@dataclass(slots=True)
class _Bar:
    """An item in a column; ``free`` is the height below which no ribbon is attached yet."""

    bottom: float
    height: float
    free: float

    @property
    def middle(self) -> float:
        return self.bottom + self.height / 2


def _total_mass(parts: Iterable[tuple[Any, float]]) -> dict[Any, float]:
    masses: dict[Any, float] = {}
    for item, mass in parts:
        masses[item] = masses.get(item, 0.0) + mass
    return masses


def _stack(order: Sequence[Any], heights: dict[Any, float]) -> dict[Any, _Bar]:
    """Return bars from the top down, with gaps between them."""
    gap = 0.35 * sum(heights.values()) / max(len(heights), 1)
    bars, top = {}, 0.0
    for item in order:
        bars[item] = _Bar(top - heights[item], heights[item], top)
        top -= heights[item] + gap
    return bars


def _ribbon_ends(
    flows: Sequence[Flow], left: dict[Any, _Bar], right: dict[Any, _Bar]
) -> list[tuple[Flow, float, float]]:
    """Return each flow with the upper edge of its two ends, attached in the order of the far ends."""
    starts, ends = {}, {}
    for k in sorted(range(len(flows)), key=lambda k: -right[flows[k].target].middle):
        bar = left[flows[k].source]
        starts[k], bar.free = bar.free, bar.free - _mass(flows[k])
    for k in sorted(range(len(flows)), key=lambda k: -left[flows[k].source].middle):
        bar = right[flows[k].target]
        ends[k], bar.free = bar.free, bar.free - _mass(flows[k])
    return [(flow, starts[k], ends[k]) for k, flow in enumerate(flows)]
