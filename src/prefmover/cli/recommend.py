"""``prefmover recommend``: what a user should try next, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from prefmover.cli.source import Data, Jobs, Json, ModelOptions, Rated, SourceOptions, fitted
from prefmover.cli.terminal import tell
from prefmover.errors import InputError
from prefmover.execution.format import counted

if TYPE_CHECKING:
    from prefmover.predict.knn import Parts

__all__ = ["ASKED", "reasons", "recommend"]

EXAMPLES = (
    "prefmover recommend --dataset cinema --user petra-h -n 5",
    "prefmover recommend --model my-model --user 42 --json",
    "prefmover recommend --model my-model --rated 'Alien=5' --rated 'Heat=2'",
)

ASKED = 8  # neighbors among whom those who speak up for an item are looked for


def recommend(
    source: SourceOptions,
    model: ModelOptions,
    user: Annotated[str | None, typer.Option("--user", "-u", metavar="ID", help="To whom.")] = None,
    rated: Rated = None,
    n: Annotated[int, typer.Option("-n", min=1, help="How many.")] = 10,
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Recommend items that a user has not rated, best first, each with its reasons."""
    from prefmover.cli.output import print_json

    if bool(user) == bool(rated):
        raise InputError("say to whom: --user ID, or --rated ITEM=RATING for somebody who is not in the data")
    data = source.open(jobs)
    who = data.user(user) if user else None
    ratings = data.rated(rated) if rated else {}
    made = fitted(data, model, jobs)
    guest = made.for_ratings(ratings, name=data.free_name("you")) if rated else None
    best = guest.recommend(n) if guest else made.recommend(who, n)
    items = [p.item for p in best]
    said = guest.reasons(items, ASKED) if guest else made.reasons(who, items, ASKED)
    if json:
        print_json(
            {
                "user": who,
                "recommendations": [
                    {
                        "item": p.item,
                        "label": data.label(p.item),
                        "rating": p.rating,
                        "how": p.how,
                        "because": reasons(data, why),
                    }
                    for p, why in zip(best, said, strict=True)
                ],
            }
        )
        return
    known = data.ratings[who] if user else ratings
    tell(f"for {who if user else 'you'}, by {counted(len(known), 'rating')}:")
    for p, why in zip(best, said, strict=True):
        typer.echo(f"{p.rating:6.2f}  {data.label(p.item)}")
        for reason in reasons(data, why):
            typer.echo(f"        {reason}")


def reasons(data: Data, why: Parts, n: int = 2) -> list[str]:
    """Return, in words, the n neighbors who speak up most for a recommendation."""
    found: list[str] = []
    for part in why.neighbors:
        if part.value <= 0 or len(found) == n:
            continue
        if part.rating is not None:
            found.append(f"{part.user} gave it {part.rating:g}")
            continue
        spoken = [t for t in why.through.get(part.user, ()) if t.value > 0][:2]
        if spoken:
            gave = " and ".join(f"{t.rating:g} to {data.label(t.item)}" for t in spoken)
            found.append(f"{part.user} gave {gave}")
    return found
