"""The page that ``prefmover demo`` writes: a viewer with neighbors, recommendations, and the accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from prefmover.explain import UserExplanation, text
from prefmover.report.render import render

__all__ = ["Demo", "DemoNeighbor", "DemoRecommendation", "demo_page"]


class DemoNeighbor(NamedTuple):
    """A near viewer, with the number of items that both rated."""

    user: str
    distance: float
    n_common: int


class DemoRecommendation(NamedTuple):
    """A recommended title, its predicted rating, and the reasons as sentences."""

    title: str
    rating: float
    reasons: Sequence[str]


@dataclass(slots=True)
class Demo:
    """The content of the page."""

    user: str
    about: str  # the data
    ratings: list[tuple[str, float]]  # (title, rating), best first
    neighbors: list[DemoNeighbor]
    explanation: UserExplanation  # why one of the neighbors is near
    recommendations: list[DemoRecommendation]
    lists: list[tuple[str, float]] = field(default_factory=list)  # (method, nDCG@10 of its lists)
    shares: list[str] = field(default_factory=list)  # ratios of training to test ratings: heads of the errors
    errors: list[tuple[str, list[float]]] = field(default_factory=list)  # (method, error at each share)
    pictures: dict[str, str] = field(default_factory=dict)  # SVG of plan and panels; none without matplotlib
    notes: list[str] = field(default_factory=list)


def demo_page(demo: Demo) -> str:
    """Return the demo as one HTML page, with its pictures inside."""
    proof = demo.explanation.certificate
    return render(
        "demo.html.j2",
        title=f"Viewers with the taste of {demo.user}",
        demo=demo,
        ratings=[(title, f"{rating:g}") for title, rating in demo.ratings],
        neighbors=[(one.user, f"{one.distance:.4f}", str(one.n_common)) for one in demo.neighbors],
        lines=text.user_lines(demo.explanation, 8),
        proof=text.proof_text(proof) if proof else "",
        lists=[(name, f"{ndcg:.3f}") for name, ndcg in demo.lists],
        errors=[(name, *(f"{error:.4f}" for error in errors)) for name, errors in demo.errors],
    )
