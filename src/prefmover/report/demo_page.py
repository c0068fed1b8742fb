"""One viewer's story as a page: what they rated, who is like-minded and why, what to watch next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple

from prefmover.report.html import page
from prefmover.report.plan import inline_svg

__all__ = ["Advice", "Near", "Tour", "tour_page"]


class Near(NamedTuple):
    """A like-minded viewer: name, distance, how many items in common."""

    name: str
    distance: float
    in_common: int


class Advice(NamedTuple):
    """A recommendation: title, predicted rating, reasons in words."""

    title: str
    rating: float
    reasons: Sequence[str]


@dataclass(slots=True)
class Tour:
    """What the page tells.

    Attributes
    ----------
    viewer, about
        Who, and in words where the data are from.
    rated
        (title, rating), best first.
    near
        The nearest viewers.
    why
        The plan to one of them, in lines; the first is the heading, the last the proof.
    advice
        Recommendations.
    errors
        (method, mean absolute error at each share), and ``shares`` the heads of the columns.
    pictures
        SVG by name: ``plan`` and ``panels``, where matplotlib is installed.
    notes
        Sentences at the end.
    """

    viewer: str
    about: str
    rated: list[tuple[str, float]]
    near: list[Near] = field(default_factory=list)
    why: list[str] = field(default_factory=list)
    advice: list[Advice] = field(default_factory=list)
    shares: list[str] = field(default_factory=list)
    errors: list[tuple[str, list[float]]] = field(default_factory=list)
    pictures: dict[str, bytes] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def tour_page(tour: Tour) -> str:
    """Return the tour as one HTML page, pictures inside."""
    title = f"Like-minded viewers of {tour.viewer}"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(tour.about)}</p>",
        f"<h2>What {escape(tour.viewer)} rated</h2>",
        _table(["film", "rating"], [[name, f"{stars:g}"] for name, stars in tour.rated]),
        "<h2>Who is like-minded</h2>",
        _table(
            ["viewer", "distance", "films in common"],
            [[one.name, f"{one.distance:.4f}", str(one.in_common)] for one in tour.near],
        ),
        "<h2>Why</h2>",
        _figure(tour, "plan", "The transport plan: as thick as the share of taste that corresponds."),
        f"<p>{escape(tour.why[0])}</p>" if tour.why else "",
        f"<pre>{escape(chr(10).join(tour.why[1:-1]))}</pre>" if tour.why else "",
        f"<p>{escape(tour.why[-1])}</p>" if tour.why else "",
        "<h2>What to watch</h2>",
        f"<ol>{''.join(map(_advice, tour.advice))}</ol>",
        "<h2>How well it works</h2>",
        _figure(tour, "panels", "Mean absolute error of predicted ratings, lower is better."),
        _table(["", *tour.shares], [[name, *(f"{x:.4f}" for x in values)] for name, values in tour.errors]),
        *(f'<p class="note">{escape(note)}</p>' for note in tour.notes),
    ]
    return page(title, parts)


def _advice(one: Advice) -> str:
    why = f"<br>because {escape('; '.join(one.reasons))}" if one.reasons else ""
    return f"<li><b>{escape(one.title)}</b>, {one.rating:.2f}{why}</li>"


def _figure(tour: Tour, name: str, caption: str) -> str:
    if name not in tour.pictures:
        return ""
    return f"<figure>{inline_svg(tour.pictures[name])}<figcaption>{escape(caption)}</figcaption></figure>"


def _table(head: list[str], rows: list[list[str]]) -> str:
    heads = "".join(f"<th>{escape(text)}</th>" for text in head)
    lines = "".join(f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table></div>'
