"""An explanation as files: the plan between two users drawn, and a page that needs nothing else."""

from __future__ import annotations

from html import escape
from io import BytesIO
from typing import TYPE_CHECKING, Any

from prefmover.errors import InputError, MissingExtraError
from prefmover.predict.explanations import RecommendationExplanation, UserExplanation
from prefmover.report.html import page

if TYPE_CHECKING:
    from prefmover.measures import Comparison

__all__ = ["draw_plan", "explained_page", "inline_svg"]


def draw_plan(explanation: object, format: str = "svg") -> bytes:  # noqa: A002 - matplotlib's word
    """Return a picture of the plan between two users; needs matplotlib (the extra ``plot``)."""
    if not isinstance(explanation, UserExplanation):
        raise InputError("only the plan of PMD between two users is drawn")
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtraError('drawing needs matplotlib: pip install "prefmover[plot]"') from None
    out = BytesIO()
    # The same bytes on every call: no date, and ids that do not depend on chance.
    with plt.rc_context({"svg.hashsalt": "prefmover", "svg.fonttype": "path"}):
        figure: Any = explanation.plot().figure
        dated: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
        figure.savefig(out, format=format, metadata=dated.get(format), dpi=150)
        plt.close(figure)
    return out.getvalue()


def explained_page(explanation: UserExplanation | RecommendationExplanation | Comparison) -> str:
    """Return an explanation as one HTML page, with the picture where matplotlib is installed."""
    if isinstance(explanation, UserExplanation):
        title = f"{explanation.user} and {explanation.other}"
        parts = [_picture(explanation), explanation._repr_html_()]
    elif isinstance(explanation, RecommendationExplanation):
        title = f"A rating for {explanation.prediction.user}"
        parts = [explanation._repr_html_()]
    else:
        title = f"{explanation.user} and {explanation.other}"
        parts = [f"<pre>{escape(str(explanation))}</pre>"]
    return page(title, [f"<h1>{escape(title)}</h1>", *parts])


def _picture(explanation: UserExplanation) -> str:
    try:
        return f"<figure>{inline_svg(draw_plan(explanation))}</figure>"
    except MissingExtraError:
        return ""


def inline_svg(picture: bytes) -> str:
    """Return an SVG file as it stands within a page."""
    text = picture.decode("utf-8")
    return text[text.index("<svg") :]
