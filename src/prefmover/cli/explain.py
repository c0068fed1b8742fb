"""``prefmover explain``: why two users are near, or how a predicted rating comes about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from prefmover.cli.estimator import ModelOptions, fitted
from prefmover.cli.options import Json, Threads, User
from prefmover.cli.source import SourceOptions, item_id, measure_of, user_id
from prefmover.cli.terminal import note
from prefmover.errors import InputError

if TYPE_CHECKING:
    from prefmover.explain.rating import RecommendationExplanation

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
    options: ModelOptions,
    user: User,
    other: Annotated[
        str | None, typer.Option("--other", "-v", metavar="ID", help="Other user, to explain their distance.")
    ] = None,
    item: Annotated[
        str | None,
        typer.Option("--item", metavar="ITEM", help="Item id or title, to explain its predicted rating."),
    ] = None,
    n: Annotated[int, typer.Option("-n", metavar="N", min=1, help="Number of rows.")] = 12,
    picture: Annotated[
        str,
        typer.Option(metavar="FILE", help="Picture of the plan: .png, .svg or .pdf.", show_default=False),
    ] = "",
    html: Annotated[str, typer.Option(metavar="FILE", help="HTML page.", show_default=False)] = "",
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Explain the distance between two users, or a predicted rating.

    For two users: the transport plan, which moves the preferences of one onto those of the other, or the
    formula of another --measure. For an item: the baseline, and the contribution of each neighbor.
    """
    from prefmover.cli.output import check_writable, print_json, write_text
    from prefmover.explain.plan import UserExplanation, explain_users
    from prefmover.explain.plot import plan_image
    from prefmover.explain.text import rating_lines, user_lines

    if bool(other) == bool(item):
        raise InputError("give --other ID to explain a distance, or --item ITEM to explain a rating")
    drawing = check_writable(picture, (".png", ".svg", ".pdf"), "--picture") if picture else None
    page = check_writable(html, (".html", ".htm"), "--html") if html else None
    if drawing and item:
        raise InputError("--picture draws the plan between two users; it goes with --other")
    if other:
        _refuse_model_options(ctx, options)
    data, model = source.open(threads)
    plan: UserExplanation | None = None
    explanation: UserExplanation | RecommendationExplanation
    if item:
        model = fitted(data, model, options, threads)
        explanation = model.explain_recommendation(user_id(data, user), item_id(data, item))
        lines = rating_lines(explanation, n)
    else:
        row, convention = measure_of(model, options.measure, options.convention)
        pair = data.user_position(user), data.user_position(str(other))
        explanation = plan = explain_users(data, *pair, row, convention)
        lines = user_lines(explanation, n)
    if drawing and plan is not None:
        from prefmover.explain.plot import plan_image

        write_text(plan_image(plan, drawing.suffix[1:].casefold()), drawing)
        note(str(drawing))
    if page:
        from prefmover.report import explanation_page

        write_text(explanation_page(explanation), page)
        note(str(page))
    if json:
        print_json(explanation.to_dict())
    else:
        typer.echo("\n".join(lines))


def _refuse_model_options(ctx: typer.Context, options: ModelOptions) -> None:
    """Raise if an option was typed that does not affect the distance between two users.

    In a configuration file such an option is allowed: the file may be for several verbs.
    """
    for name in options.chosen():
        source = ctx.get_parameter_source(name)
        if name not in ("measure", "convention") and source is not None and source.name == "COMMANDLINE":
            raise InputError(
                f"--{name.replace('_', '-')} affects predicted ratings and goes with --item; "
                "--other takes --measure and --convention"
            )
