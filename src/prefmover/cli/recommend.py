"""``prefmover recommend``: items for a user, with reasons."""

from __future__ import annotations

from typing import Annotated

import typer

from prefmover.cli.estimator import ModelOptions, fitted
from prefmover.cli.options import Json, Rated, Threads
from prefmover.cli.source import SourceOptions, guest_name, parse_rated, user_id
from prefmover.cli.terminal import note
from prefmover.errors import InputError
from prefmover.execution.format import counted

__all__ = ["recommend"]

EXAMPLES = (
    "prefmover recommend --dataset cinema --user petra-h -n 5",
    "prefmover recommend --model my-model --user 42 --json",
    "prefmover recommend --model my-model --rated 'Alien=5' --rated 'Heat=2'",
)


def recommend(
    source: SourceOptions,
    options: ModelOptions,
    user: Annotated[str | None, typer.Option("--user", "-u", metavar="ID", help="User.")] = None,
    rated: Rated = None,
    n: Annotated[int, typer.Option("-n", metavar="N", min=1, help="Number of items.")] = 10,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Recommend items that a user has not rated, best first, each with its reasons."""
    from prefmover.cli.output import print_json
    from prefmover.explain.text import reasons

    if bool(user) == bool(rated):
        raise InputError("give --user ID, or --rated ITEM=RATING for a person who is not in the data")
    data, model = source.open(threads)
    known = user_id(data, user) if user else None
    ratings = parse_rated(data, rated) if rated else data.ratings[known]
    model = fitted(data, model, options, threads)
    person = known if user else model.guest(ratings, name=guest_name(data))
    best = model.recommend(person, n)
    why = [
        reasons(contributions, lambda item: data.items.label(data.ratings.item_position(item)))
        for contributions in model.contributions(person, [one.item for one in best])
    ]
    if json:
        table = best.to_dict()
        for row, sentences in zip(table["recommendations"], why, strict=True):
            row["reasons"] = sentences
        print_json({**table, "user": known})
        return
    note(f"recommendations for {known if user else 'you'}, from {counted(len(ratings), 'rating')}:")
    for one, sentences in zip(best, why, strict=True):
        typer.echo(f"{one.rating:6.2f}  {one.title}")
        for sentence in sentences:
            typer.echo(f"        {sentence}")
