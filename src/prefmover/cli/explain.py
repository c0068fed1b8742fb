"""``prefmover explain``: why two users are alike, or why an item suits a user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from prefmover.cli.source import Data, Jobs, Json, ModelOptions, SourceOptions, fitted, given_options
from prefmover.cli.terminal import tell
from prefmover.errors import InputError
from prefmover.execution.format import counted

if TYPE_CHECKING:
    from prefmover.measures import Comparison
    from prefmover.predict.explanations import RecommendationExplanation, UserExplanation

    Explanation = UserExplanation | RecommendationExplanation | Comparison

__all__ = ["explain"]

EXAMPLES = (
    "prefmover explain --dataset cinema --user petra-h --other bianca-b",
    "prefmover explain --dataset cinema --user petra-h --other bianca-b --picture plan.svg --html plan.html",
    "prefmover explain --model my-model --user 42 --item Alien",
    "prefmover explain --dataset cinema --user petra-h --other noor-r --measure nhsm",
)


def explain(
    ctx: typer.Context,
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
    takes another measure apart). For an item: what is usual, and what each neighbor adds.
    """
    from prefmover.cli.output import check_writable, print_json, write_text

    if bool(other) == bool(item):
        raise InputError("say what to explain: --other ID for two users, or --item ITEM for a rating")
    drawing = check_writable(picture, (".png", ".svg", ".pdf"), "--picture") if picture else None
    page = check_writable(html, (".html", ".htm"), "--html") if html else None
    if drawing and item:
        raise InputError("--picture draws the plan between two users; it goes with --other")
    if other:
        _refuse_predictor(ctx, model)
    data = source.open(jobs)
    one = data.user(user)
    found: Explanation
    if item:
        found = fitted(data, model, jobs).explain_recommendation(one, data.item(item), labels=data.labels)
    else:
        found = _for_two(data, one, data.user(str(other)), model, n)
    if drawing or page:
        from prefmover.report.plan import draw_plan, explained_page

        if drawing:
            write_text(draw_plan(found, drawing.suffix[1:].casefold()), drawing)
            tell(str(drawing))
        if page:
            write_text(explained_page(found), page)
            tell(str(page))
    if json:
        print_json(found.to_dict())
    else:
        typer.echo(_text(found, n))


def _refuse_predictor(ctx: typer.Context, model: ModelOptions) -> None:
    """Raise if an option of the predictor was typed, which has no part in how alike two users are.

    One in a file of options is let pass: the file may be for several verbs.
    """
    for name in given_options(model):
        source = ctx.get_parameter_source(name)
        if name in ("measure", "convention") or source is None or source.name != "COMMANDLINE":
            continue
        raise InputError(
            f"--{name} is for predicted ratings, and goes with --item; "
            "for --other there are --measure and --convention"
        )


def _for_two(data: Data, user: Any, other: Any, model: ModelOptions, n: int) -> Explanation:
    from prefmover.measures import compare
    from prefmover.predict.explanations import explain_users

    row, convention = data.measure(model.measure, model.convention)
    if row.name != "pmd" or row.convention(convention) != row.default:
        return compare(
            data.ratings, user, other, row, geometry=data.geometry, convention=convention, n_terms=n
        )
    if data.geometry is None:
        raise InputError("a plan needs the distance between items; the model was fitted without")
    return explain_users(data.ratings, data.geometry, user, other, data.labels)


def _text(found: Explanation, n: int) -> str:
    from prefmover.predict.explanations import RecommendationExplanation, UserExplanation

    if isinstance(found, UserExplanation):
        stays = f"{found.stays:.0%} of preference stays on items that both rated"
        lines = [f"{found.user} and {found.other}: distance {found.distance:.4f}, {stays}"]
        for move in found.to_dict()["moves"][:n]:
            mine = f"{move['label']} ({move['rating']:g})"
            theirs = f"{move['other_label']} ({move['other_rating']:g})"
            both = "both rated " + mine if move["item"] == move["other_item"] else f"{mine} ↔ {theirs}"
            lines.append(f"{move['mass']:7.1%}  {both}, {move['share']:.1%} of the distance")
        rest = len(found.moves) - n
        return "\n".join(lines + ([f"         and {counted(rest, 'smaller move')}"] if rest > 0 else []))
    if isinstance(found, RecommendationExplanation):
        return _parts(found, n)
    return str(found)


def _parts(found: RecommendationExplanation, n: int) -> str:
    whole = found.to_dict()
    lines = [f"{whole['label']} for {whole['user']}: {whole['rating']:.2f}"]
    lines += [f"{part['value']:+8.3f}  {part['name']}: {part['meaning']}" for part in whole["base"]]
    for part in whole["neighbors"][:n]:
        gave = " and ".join(f"{t['rating']:g} to {t['label']}" for t in part["through"][:2])
        said = f"gave it {part['rating']:g}" if part["rating"] is not None else f"gave {gave}" if gave else ""
        lines.append(f"{part['value']:+8.3f}  user {part['user']}: {said}".rstrip(": "))
    rest = whole["neighbors"][n:]
    if rest:
        lines.append(f"{sum(part['value'] for part in rest):+8.3f}  {counted(len(rest), 'other')}")
    cut = f", cut off at {whole['rating']:g}" if whole["clipped"] else ""
    return "\n".join([*lines, f"{whole['total']:8.3f}  in all{cut}"])
