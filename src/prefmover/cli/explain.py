"""``prefmover explain``: why two users are alike, or why an item suits a user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from prefmover.cli.source import Data, Jobs, Json, ModelOptions, SourceOptions, fitted
from prefmover.cli.terminal import tell
from prefmover.errors import InputError

if TYPE_CHECKING:
    from prefmover.measures import Comparison
    from prefmover.recommend.explain import RecommendationExplanation, UserExplanation

    Explanation = UserExplanation | RecommendationExplanation | Comparison

__all__ = ["explain"]

EXAMPLES = (
    "prefmover explain --dataset cinema --user petra-h --other bianca-b",
    "prefmover explain --dataset cinema --user petra-h --other bianca-b --picture plan.svg --html plan.html",
    "prefmover explain --model my-model --user 42 --item Alien",
    "prefmover explain --dataset cinema --user petra-h --other noor-r --measure nhsm",
)


def explain(
    source: SourceOptions,
    model: ModelOptions,
    user: Annotated[str, typer.Option("--user", "-u", metavar="ID", help="Who.")],
    other: Annotated[
        str | None, typer.Option("--other", "-v", metavar="ID", help="Another user: why are they alike?")
    ] = None,
    item: Annotated[
        str | None, typer.Option("--item", metavar="ITEM", help="An id or a title: why this rating?")
    ] = None,
    n: Annotated[int, typer.Option("-n", min=1, help="Rows to show.")] = 12,
    picture: Annotated[
        str, typer.Option(metavar="FILE", help="Draw the plan: a .png, .svg or .pdf file.")
    ] = "",
    html: Annotated[str, typer.Option(metavar="FILE", help="Write a page: an .html file.")] = "",
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Show why two users are alike, or what a predicted rating is made of.

    For two users: the transport plan, what of one's preference corresponds to what of the other's (--measure
    takes another measure apart). For an item: what is usual, and what each neighbour adds.
    """
    from prefmover.cli.output import check_writable, print_json, write_text

    if bool(other) == bool(item):
        raise InputError("say what to explain: --other ID for two users, or --item ITEM for a rating")
    drawing = check_writable(picture, (".png", ".svg", ".pdf"), "--picture") if picture else None
    page = check_writable(html, (".html", ".htm"), "--html") if html else None
    if drawing and item:
        raise InputError("--picture draws the plan between two users; it goes with --other")
    data = source.open(jobs)
    one = data.user(user)
    found = _for_item(data, one, str(item), model, jobs) if item else _for_two(data, one, str(other), model)
    if drawing or page:
        from prefmover.report.plan import drawn, explained_page

        if drawing:
            write_text(drawn(found, drawing.suffix[1:]), drawing)
            tell(str(drawing))
        if page:
            write_text(explained_page(found), page)
            tell(str(page))
    if json:
        print_json(found.to_dict())
    else:
        typer.echo(_text(found, n))


def _for_two(data: Data, user: Any, other: str, model: ModelOptions) -> Explanation:
    from prefmover.measures import compare, find_measure
    from prefmover.recommend.explain import explain_users

    them = data.user(other)
    name = model.measure or (data.model.measure if data.model else "pmd")
    row = find_measure(name)
    if row.name != "pmd" or row.convention(model.convention) != row.default:
        return compare(
            data.ratings, user, them, row, geometry=data.geometry, convention=model.convention
        )
    if data.geometry is None:
        raise InputError("a plan needs the distance between items; the model was fitted without")
    return explain_users(data.ratings, data.geometry, user, them, data.labels)


def _for_item(data: Data, user: Any, item: str, model: ModelOptions, jobs: int | None) -> Explanation:
    wanted = data.item(item)
    return fitted(data, model, jobs).explain_recommendation(user, wanted, labels=data.labels)
