"""``prefmover recommend``: items for a user, with reasons."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from typer import Option

from prefmover.cli.estimator import ModelOptions, fitted
from prefmover.cli.options import USER, Rated, Threads
from prefmover.cli.output import Output
from prefmover.cli.source import SourceOptions, guest_name, item_label, parse_rated, user_id
from prefmover.errors import InputError
from prefmover.execution.format import counted
from prefmover.explain.text import reasons

EXAMPLES = (
    "prefmover recommend --dataset cinema --user petra-h -n 5",
    "prefmover recommend --model my-model --user 42 --json",
    "prefmover recommend --model my-model --rated 'Alien=5' --rated 'Heat=2'",
)


def recommend(
    source: SourceOptions,
    options: ModelOptions,
    user: Annotated[str | None, USER] = None,
    rated: Rated = None,
    n: Annotated[int, Option("-n", metavar="N", min=1, help="Number of items.")] = 10,
    threads: Threads = None,
) -> Output:
    """Recommend items that a user has not rated, best first, each with its reasons."""
    if bool(user) == bool(rated):
        raise InputError("give --user ID, or --rated ITEM=RATING for a person who is not in the data")
    data, model = source.open(threads)
    known = user_id(data, user) if user else None
    ratings = parse_rated(data, rated) if rated else data.ratings[known]
    model = fitted(data, model, options, threads)
    person = known if user else model.guest(ratings, name=guest_name(data))
    best = model.recommend(person, n)
    table, lines = best.to_dict(), []
    why = model.contributions(person, [one.item for one in best])
    for one, row, contributions in zip(best, table["recommendations"], why, strict=True):
        row["reasons"] = reasons(contributions, partial(item_label, data))
        lines += [f"{one.rating:6.2f}  {one.title}", *(f"        {reason}" for reason in row["reasons"])]
    heading = f"recommendations for {known if user else 'you'}, from {counted(len(ratings), 'rating')}:"
    return Output({**table, "user": known}, lines, heading)
