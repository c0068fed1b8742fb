"""``prefmover explain``: why two users are near, why an item is recommended, or how a rating is predicted."""

from __future__ import annotations

from typing import Annotated, Literal

from prefmover.cli import Opt
from prefmover.cli.options import (
    USER,
    ModelOptions,
    SourceOptions,
    Text,
    Threads,
    fitted,
    item_id,
    measure_of,
    option_name,
    user_id,
)
from prefmover.cli.terminal import STATE, Output, check_writable, note
from prefmover.errors import InputError
from prefmover.execution import atomic

EXAMPLES = (
    "prefmover explain --dataset cinema --user petra-h --other bianca-b",
    "prefmover explain --dataset cinema --user petra-h --other bianca-b --picture plan.svg --html plan.html",
    "prefmover explain --model my-model --user 42 --item Alien",
    "prefmover explain --model my-model --user 42 --item Alien --by rating",
    "prefmover explain --dataset cinema --user petra-h --other noor-r --measure nhsm",
)


def explain(
    source: SourceOptions,
    options: ModelOptions,
    user: Annotated[str, USER],
    other: Annotated[Text, Opt("Id of another user, to explain the distance.", "ID")] = None,
    item: Annotated[Text, Opt("Id or title of an item, to explain its recommendation.", "ITEM")] = None,
    by: Annotated[
        Literal["ranking", "rating"],
        Opt("With --item: the score that items are recommended by, or the predicted rating."),
    ] = "ranking",
    n: Annotated[int, Opt("Number of rows.", "-n", min=1)] = 12,
    picture: Annotated[str, Opt("File to draw the plan to: .png, .svg or .pdf.", "FILE")] = "",
    html: Annotated[str, Opt("HTML file to write the explanation to.", "FILE")] = "",
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
        for name in options.chosen():
            if name not in ("measure", "convention") and not STATE.is_from_file(name):
                raise InputError(
                    f"{option_name(name)} affects predicted ratings and goes with --item; "
                    "--other takes --measure and --convention"
                )
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
            atomic.write(drawing, plan_image(explanation, drawing.suffix[1:].casefold()))
            note(str(drawing))
    if page:
        from prefmover.explain.page import explanation_page

        atomic.write(page, explanation_page(explanation).encode())
        note(str(page))
    return Output(explanation.to_dict(), explanation.lines(n))
