"""``prefmover explain``: why two users are near, why an item is recommended, or how a rating is predicted."""

from __future__ import annotations

from typing import Annotated, Literal

from typer import Context, Option

from prefmover.cli.options import (
    USER,
    ModelOptions,
    SourceOptions,
    Threads,
    fitted,
    item_id,
    measure_of,
    option_name,
    user_id,
)
from prefmover.cli.terminal import Output, check_writable, note, write_text
from prefmover.errors import InputError

EXAMPLES = (
    "prefmover explain --dataset cinema --user petra-h --other bianca-b",
    "prefmover explain --dataset cinema --user petra-h --other bianca-b --picture plan.svg --html plan.html",
    "prefmover explain --model my-model --user 42 --item Alien",
    "prefmover explain --model my-model --user 42 --item Alien --by rating",
    "prefmover explain --dataset cinema --user petra-h --other noor-r --measure nhsm",
)


def explain(
    ctx: Context,
    source: SourceOptions,
    options: ModelOptions,
    user: Annotated[str, USER],
    other: Annotated[
        str | None, Option("--other", "-v", metavar="ID", help="Id of another user, to explain the distance.")
    ] = None,
    item: Annotated[
        str | None, Option(metavar="ITEM", help="Id or title of an item, to explain its recommendation.")
    ] = None,
    by: Annotated[
        Literal["ranking", "rating"],
        Option(help="With --item: the score that items are recommended by, or the predicted rating."),
    ] = "ranking",
    n: Annotated[int, Option("-n", metavar="N", min=1, help="Number of rows.")] = 12,
    picture: Annotated[
        str, Option(metavar="FILE", help="File to draw the plan to: .png, .svg or .pdf.")
    ] = "",
    html: Annotated[str, Option(metavar="FILE", help="HTML file to write the explanation to.")] = "",
    threads: Threads = None,
) -> Output:
    """Explain the distance between two users, a recommendation, or a predicted rating.

    For two users: the transport plan, which moves the preferences of one onto those of the other, or the
    formula of another --measure. For an item: what the user's own ratings add to its score, and what people
    with the user's taste add; with --by rating, the baseline and the contribution of each neighbor to the
    predicted rating.
    """
    from prefmover.explain.plan import UserExplanation, explain_users
    from prefmover.explain.plot import plan_image
    from prefmover.explain.rating import RatingExplanation
    from prefmover.explain.recommendation import RecommendationExplanation

    if bool(other) == bool(item):
        raise InputError("give --other ID to explain a distance, or --item ITEM to explain a recommendation")
    drawing = check_writable(picture, (".png", ".svg", ".pdf"), "--picture")
    page = check_writable(html, (".html", ".htm"), "--html")
    if drawing and item:
        raise InputError("--picture draws the plan between two users; it goes with --other")
    if other:
        _refuse_model_options(ctx, options)
    data, model = source.open(threads)
    explanation: UserExplanation | RecommendationExplanation | RatingExplanation
    if item:
        ids = user_id(data, user), item_id(data, item)  # unknown ones are refused before a model is fitted
        model = fitted(data, model, options, threads)
        explain_one = model.explain_recommendation if by == "ranking" else model.explain_rating
        explanation = explain_one(*ids)
    else:
        row, convention = measure_of(model, options.measure, options.convention)
        pair = data.user_position(user), data.user_position(str(other))
        explanation = explain_users(data, *pair, row, convention)
        if drawing:
            write_text(plan_image(explanation, drawing.suffix[1:].casefold()), drawing)
            note(str(drawing))
    if page:
        from prefmover.explain.page import explanation_page

        write_text(explanation_page(explanation), page)
        note(str(page))
    return Output(explanation.to_dict(), explanation.lines(n))


def _refuse_model_options(ctx: Context, options: ModelOptions) -> None:
    """Raise if an option was typed (not read from a file) that does not affect the distance of two users."""
    for name in options.chosen():
        source = ctx.get_parameter_source(name)
        if name not in ("measure", "convention") and source is not None and source.name == "COMMANDLINE":
            raise InputError(
                f"{option_name(name)} affects predicted ratings and goes with --item; "
                "--other takes --measure and --convention"
            )
