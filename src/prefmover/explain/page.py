"""An explanation as an HTML page, and the look that it shares with reports."""

from __future__ import annotations

from contextlib import suppress
from functools import cache

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from prefmover.errors import MissingExtraError
from prefmover.explain import RatingExplanation, RecommendationExplanation, UserExplanation
from prefmover.explain.plot import plan_image

__all__ = ["environment", "explanation_page", "inline_svg"]


def explanation_page(explanation: UserExplanation | RecommendationExplanation | RatingExplanation) -> str:
    """Return an explanation as one HTML page, with the picture of a plan where matplotlib is installed."""
    picture, lines, proof = "", [], ""
    if isinstance(explanation, UserExplanation):
        proof = explanation.proof
        if explanation.has_plan:
            with suppress(MissingExtraError):
                picture = inline_svg(plan_image(explanation))
        else:
            lines = explanation.lines()
    title, table = explanation.title, explanation._repr_html_()
    template = environment("prefmover.explain").get_template("explanation.html.j2")
    return template.render(title=title, table=table, picture=picture, lines=lines, proof=proof)


def inline_svg(picture: bytes) -> str:
    """Return an SVG file as the element to put into a page."""
    content = picture.decode("utf-8")
    return content[content.index("<svg") :]


@cache
def environment(*packages: str) -> Environment:
    """Return the templates of packages of prefmover; values are escaped in HTML."""
    return Environment(
        loader=ChoiceLoader([PackageLoader(name) for name in packages]),
        autoescape=lambda name: name is not None and ".html" in name,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
