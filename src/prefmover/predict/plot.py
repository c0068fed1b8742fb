"""A transport plan as a picture: two columns of items, a ribbon for what moves between them.

A ribbon is as thick as the mass that moves, and the darker the nearer its two items are: dark and level is
taste in common, pale is work.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from prefmover.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from prefmover.predict.explanations import Move

__all__ = ["draw_moves"]

COLORS = "YlGnBu"
PALEST = 0.12  # of the color map: below, a ribbon could not be told from paper
BAR = 0.012
INK = "#26323f"


def draw_moves(
    moves: Sequence["Move"],
    heads: tuple[str, str],
    name: Callable[[Any], str],
    title: str,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw moves between the items of two users, and return the axes.

    The left column goes by mass, the right one so that ribbons cross little.

    Parameters
    ----------
    moves
        What moves; at least one.
    heads
        Names of the columns.
    name
        From an item's id to what to write beside it.
    ax
        Where to draw; a figure of fitting size is made by default.
    """
    try:
        import matplotlib.pyplot as plt
        from matplotlib.patches import PathPatch, Rectangle
        from matplotlib.path import Path
    except ImportError:
        raise MissingExtraError('drawing needs matplotlib: pip install "prefmover[plot]"') from None
    masses = [_masses((move[side], move.mass) for move in moves) for side in (0, 1)]
    left = _stacked(sorted(masses[0], key=lambda item: -masses[0][item]), masses[0])
    # Each item of the right column wants to stand where its mass comes from, on average.
    pull: dict[Any, float] = dict.fromkeys(masses[1], 0.0)
    for move in moves:
        pull[move.other_item] += move.mass * left[move.item].middle
    right = _stacked(sorted(pull, key=lambda item: -pull[item] / masses[1][item]), masses[1])
    given = {move.item: move.rating for move in moves}, {move.other_item: move.other_rating for move in moves}
    if ax is None:
        rows = max(len(left), len(right))
        ax = plt.subplots(figsize=(9, 0.5 * max(rows, 4) + 1.1), layout="constrained")[1]
    colors = plt.get_cmap(COLORS)
    codes = [Path.MOVETO, *[Path.CURVE4] * 3, Path.LINETO, *[Path.CURVE4] * 3, Path.CLOSEPOLY]
    # Thin ribbons over thick ones; slices are taken in the order of the far end, so that few cross.
    for move, a, b in sorted(_slices(moves, left, right), key=lambda slice_: -slice_[0].mass):
        c, d = a - move.mass, b - move.mass
        points = [(0, a), (0.5, a), (0.5, b), (1, b), (1, d), (0.5, d), (0.5, c), (0, c), (0, a)]
        shade = colors(PALEST + (1 - PALEST) * 0.85 * move.similarity)
        ax.add_patch(PathPatch(Path(points, codes), facecolor=shade, alpha=0.85, linewidth=0))
    for x, bars, ratings, side in ((-BAR, left, given[0], "right"), (1.0, right, given[1], "left")):
        for item, bar in bars.items():
            ax.add_patch(Rectangle((x, bar.bottom), BAR, bar.height, facecolor=INK, linewidth=0))
            out = x - 0.015 if side == "right" else x + BAR + 0.015
            parts = (name(item), f"{ratings[item]:g}")
            text = "   ".join(parts if side == "right" else parts[::-1])
            ax.text(out, bar.middle, text, ha=side, va="center", fontsize=9, color=INK)
    lowest = min(bar.bottom for bar in [*left.values(), *right.values()])
    for x, head, side in ((-BAR, heads[0], "right"), (1 + BAR, heads[1], "left")):
        ax.text(x, 0.03, head, ha=side, va="bottom", fontsize=10, fontweight="bold", color=INK)
    ax.set(xlim=(-0.05, 1.05), ylim=(lowest - 0.02, 0.1))
    ax.set_title(title, fontsize=10, color=INK)
    ax.axis("off")
    return ax


class _Bar:
    """An item's place in a column."""

    def __init__(self, top: float, height: float) -> None:
        self.height, self.bottom, self.middle = height, top - height, top - height / 2
        self.free = top


def _masses(parts: Any) -> dict[Any, float]:
    heights: dict[Any, float] = {}
    for item, mass in parts:
        heights[item] = heights.get(item, 0.0) + mass
    return heights


def _stacked(order: Sequence[Any], heights: dict[Any, float]) -> dict[Any, _Bar]:
    """Return a column of bars from the top down, with air between them."""
    air = 0.35 * sum(heights.values()) / max(len(heights), 1)
    bars, top = {}, 0.0
    for item in order:
        bars[item] = _Bar(top, heights[item])
        top -= heights[item] + air
    return bars


def _slices(
    moves: Sequence["Move"], left: dict[Any, _Bar], right: dict[Any, _Bar]
) -> list[tuple["Move", float, float]]:
    """Return each move with the tops of its two ends."""
    starts, ends = {}, {}
    for k in sorted(range(len(moves)), key=lambda k: -right[moves[k].other_item].middle):
        bar = left[moves[k].item]
        starts[k], bar.free = bar.free, bar.free - moves[k].mass
    for k in sorted(range(len(moves)), key=lambda k: -left[moves[k].item].middle):
        bar = right[moves[k].other_item]
        ends[k], bar.free = bar.free, bar.free - moves[k].mass
    return [(move, starts[k], ends[k]) for k, move in enumerate(moves)]
