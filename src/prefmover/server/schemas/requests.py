"""Bodies and parameters of requests. A person is a user of the data or a guest."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self
from urllib.parse import unquote

from fastapi import Path, Query
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from prefmover.data.scale import LARGEST

MOST_RATINGS = 500
MOST_ITEMS = 200
MOST_NEIGHBORS = 100
MOST_RECOMMENDATIONS = 50
MOST_USERS = 100
MOST_MEMBERS = 20  # users in a group

Id = Annotated[
    str, Field(min_length=1, description="Id; integers are written as text.", examples=["alien-1979"])
]
WholeNumber = Annotated[
    int, BeforeValidator(lambda v: int(v) if isinstance(v, float) and v.is_integer() else v)
]
"""A whole number; 10.0 is one in JSON."""
Combine = Literal["mean", "least"]
Decoded = BeforeValidator(lambda value: unquote(value) if isinstance(value, str) else value)


def _id(example: str) -> Any:
    return Path(description="Id, percent-encoded.", examples=[example], min_length=1)


UserPath = Annotated[str, Decoded, _id("ada-b")]
ItemPath = Annotated[str, Decoded, _id("alien-1979")]
Text = Annotated[str, Query(max_length=200, description="Part of a title or id.", examples=["alien"])]
Offset = Annotated[int, Query(ge=0, le=2**31 - 1, description="Number of entries to skip.")]
Limit = Annotated[int, Query(ge=1, le=200, description="Number of entries.")]
K = Annotated[int, Query(ge=1, le=MOST_NEIGHBORS, description="Number of items.")]

Condition = Annotated[str, Field(min_length=1, max_length=200)]
Members = Annotated[
    list[Id],
    Field(
        min_length=2, max_length=MOST_MEMBERS, description="Ids of users.", examples=[["ada-b", "petra-h"]]
    ),
]


class Request(BaseModel):
    """A part of a request: no conversion of types, no unknown fields."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ItemIds(Request):
    """Ids of items."""

    ids: list[Id] = Field(min_length=1, max_length=MOST_RATINGS, examples=[["alien-1979"]])


class Export(Request):
    """The text of a CSV file."""

    csv: str = Field(min_length=1, examples=["Name,Year,Rating\nAlien,1979,4.5\nAliens,1986,5\n"])


def _either(schema: dict[str, Any]) -> None:
    # Not oneOf: generators of clients would make classes of both, or none at all.
    either = {"then": {"not": {"required": ["ratings"]}}, "else": {"required": ["ratings"]}}
    schema |= {"if": {"required": ["user"]}, **either}
    for name in ("user", "ratings"):
        schema["properties"][name].pop("default")


class GuestRating(Request):
    """A rating of a guest."""

    item: Id
    rating: float | None = Field(
        default=None,
        ge=0,
        le=LARGEST,
        allow_inf_nan=False,
        description="The rating; for counts, how often, and left out if the guest just liked the item.",
        examples=[4.5],
    )


class Person(Request):
    """A user of the data; or a guest, a person who is not in the data, with ratings."""

    model_config = ConfigDict(json_schema_extra=_either)

    user: Id = Field(default="", description="Id of a user.", examples=["ada-b"])
    ratings: list[GuestRating] = Field(
        default=[],
        min_length=1,
        max_length=MOST_RATINGS,
        description="The ratings of a guest, each item once. Nothing is stored.",
        examples=[[{"item": "alien-1979", "rating": 5}, {"item": "the-thing-1982", "rating": 4.5}]],
    )

    @model_validator(mode="after")
    def _one_person(self) -> Self:
        if len(self.model_fields_set & {"user", "ratings"}) != 1:
            raise ValueError("give either user, the id of a user, or ratings, those of a guest")
        seen: set[str] = set()
        for one in self.ratings:
            if one.item in seen:
                raise ValueError(f"item {one.item!r} is rated twice; rate each item once")
            seen.add(one.item)
        self.ratings.sort(key=lambda one: one.item)  # equal guests are equal requests
        return self

    @property
    def key(self) -> tuple[tuple[str, float | None], ...]:
        """The ratings of a guest, sorted by item."""
        return tuple((one.item, one.rating) for one in self.ratings)


class NeighborsOf(Person):
    """A person, and what neighbors to return."""

    k: WholeNumber = Field(default=10, ge=1, le=MOST_NEIGHBORS, description="Number of neighbors.")
    without_common_items: bool = Field(
        default=False, description="Only users who have rated none of the items that the user rated."
    )


class RecommendationOptions(Request):
    """What to recommend."""

    n: WholeNumber = Field(
        default=10, ge=1, le=MOST_RECOMMENDATIONS, description="Number of recommendations."
    )
    by: Literal["ranking", "rating"] = Field(
        default="ranking", description="What items are ordered by: what to see next, or the expected rating."
    )
    min_ratings: WholeNumber = Field(
        default=0, ge=0, le=2**31 - 1, description="The least number of ratings of an item."
    )
    novelty: float = Field(
        default=0.0, ge=-1, le=1, description="From -1, better known items, to 1, less known ones."
    )
    diversify: float = Field(default=0.0, ge=0, le=1, description="How different the items are, from 0 to 1.")
    seen: bool = Field(default=False, description="Whether items that the user has rated are included.")
    where: list[Condition] = Field(
        default=[],
        max_length=10,
        description="Conditions on year, genre and title; all must hold.",
        examples=[["genre=Horror|Thriller", "year=1980..1999"]],
    )
    items: list[Id] = Field(
        default=[], max_length=MOST_ITEMS, description="Ids of the candidates; all items by default."
    )
    exclude: list[Id] = Field(default=[], max_length=MOST_ITEMS, description="Ids of items to leave out.")


class WhatIf(Person):
    """A person, and ratings to take out: as if they were not there."""

    without: list[Id] = Field(
        default=[],
        max_length=MOST_RATINGS,
        description="Ids of items whose ratings are taken out, to see what they change.",
    )


class RecommendationsFor(WhatIf, RecommendationOptions):
    """A person, and what to recommend."""


class UsersRecommendations(RecommendationOptions):
    """Users, and what to recommend to each."""

    users: list[Id] = Field(
        min_length=1, max_length=MOST_USERS, description="Ids of users.", examples=[["ada-b", "petra-h"]]
    )


class GroupNeighbors(Request):
    """Several users, whose neighbors are those of all of them together."""

    users: Members
    k: WholeNumber = Field(default=10, ge=1, le=MOST_NEIGHBORS, description="Number of neighbors.")


class Group(RecommendationOptions):
    """Several users, to whom the same items are recommended."""

    users: Members
    combine: Combine = Field(default="mean", description="The mean of the members' scores, or the least.")


class PredictionsFor(Person):
    """A person, and the items to predict."""

    items: list[Id] = Field(min_length=1, max_length=MOST_ITEMS, examples=[["aliens-1986"]])


class PersonAndUser(Person):
    """A person, and the user to compare with."""

    other: Id = Field(examples=["petra-h"])


class PersonAndItem(WhatIf):
    """A person, and the item to explain."""

    item: Id = Field(examples=["aliens-1986"])


class RecommendedItem(PersonAndItem):
    """A person, and an item that is recommended: it is among the first `n`."""

    n: WholeNumber = Field(
        default=1,
        ge=1,
        le=MOST_RECOMMENDATIONS,
        description="The length of the list that the item is to leave.",
    )
