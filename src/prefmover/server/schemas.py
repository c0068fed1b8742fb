"""What goes in and out, with examples: the schema at ``/api/v1/openapi.json`` is made from these classes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

MOST_RATINGS = 500
MOST_ITEMS = 200
MOST_NEIGHBORS = 100
MOST_RECOMMENDATIONS = 50
LONGEST_ID = 200

Id = Annotated[
    str,
    Field(
        min_length=1,
        max_length=LONGEST_ID,
        description="An id; integers are written as text.",
        examples=["alien-1979"],
    ),
]
Whole = Annotated[int, BeforeValidator(lambda v: int(v) if isinstance(v, float) and v.is_integer() else v)]
"""A whole number; 10.0 is one in JSON."""

Count = Annotated[int, Field(ge=0)]


class _Out(BaseModel):
    """Something that is answered."""

    model_config = ConfigDict(extra="forbid")


class _In(BaseModel):
    """Something that is asked: types are taken as they are, and unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Problem(BaseModel):
    """An error, as RFC 9457 describes it."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "about:blank",
                    "title": "Not Found",
                    "status": 404,
                    "detail": "There is no user 'ada-x'; close: 'ada-b'.",
                    "instance": "/api/v1/users/ada-x",
                }
            ]
        }
    )

    type: str = Field(description="Always about:blank: the status says it all.")
    title: str = Field(description="The status in words.")
    status: int
    detail: str = Field(description="What was wrong and what to do, in a sentence.")
    instance: str = Field(description="The path that was asked for.")
    errors: list[Fault] | None = Field(default=None, description="Which fields were wrong.")


class Fault(BaseModel):
    """One thing that was wrong with a request."""

    where: str
    message: str


class Status(_Out):
    """How the service is."""

    status: Literal["ok", "ready"]


class Item(_Out):
    """Something that is rated."""

    id: str = Field(examples=["alien-1979"])
    title: str = Field(examples=["Alien (1979)"])


class User(_Out):
    """Somebody who rates; ``guest`` is whoever sent the ratings."""

    id: str = Field(examples=["ada-b"])
    label: str = Field(examples=["ada-b"])
    n_ratings: Count


class Scale(_Out):
    """The scale of ratings."""

    lowest: float = Field(examples=[1.0])
    highest: float = Field(examples=[5.0])
    step: float | None = Field(examples=[0.5])


class MeasureInfo(_Out):
    """A measure of how alike two users are."""

    name: str = Field(examples=["pmd"])
    label: str = Field(examples=["PMD"])
    summary: str = Field(
        description="What it looks at, in a line.",
        examples=["least cost of moving one user's preferences onto the other's"],
    )
    kind: Literal["similarity", "distance"]


class ModelInfo(_Out):
    """What is served."""

    name: str = Field(examples=["cinema"])
    n_users: Count
    n_items: Count
    n_ratings: Count
    scale: Scale
    geometry: str | None = Field(description="What the distances between items were made from.")
    measure: str = Field(examples=["pmd"])
    parameters: dict[str, Any] = Field(description="How the model was made.")
    version: str = Field(description="Of prefmover.")
    measures: list[MeasureInfo]


class Users(_Out):
    """A page of users."""

    total: Count
    offset: Count
    limit: Count
    users: list[User]


class RatedItem(_Out):
    """An item that a user rated."""

    item: Item
    rating: float
    share: float = Field(description="Of the user's preference: the ratings divided by their sum.")


class UserDetails(User):
    """A user with their ratings, highest first."""

    mean_rating: float | None
    offset: Count
    limit: Count
    ratings: list[RatedItem]


class Neighbor(_Out):
    """A near user."""

    user: User
    distance: float = Field(description="Or the similarity, if the model's measure is one.")
    n_common: Count = Field(description="Items that both rated; often none.")


class Neighbors(_Out):
    """The nearest users, nearest first."""

    user: User
    measure: str
    neighbors: list[Neighbor]


class Through(_Out):
    """A rating through which somebody speaks."""

    item: Item
    rating: float
    contribution: float


class NeighborReason(_Out):
    """What one neighbor adds to a predicted rating."""

    user: User
    distance: float | None
    rating: float | None = Field(description="What they gave the item; null if they have not rated it.")
    weight: float = Field(description="Their say.")
    opinion: float = Field(description="How much more than expected they like the item, or its like.")
    contribution: float = Field(description="What they add to the predicted rating.")
    through: list[Through] = Field(description="Ratings of other items through which they speak.")


class Recommendation(_Out):
    """An item that was not rated, and what it would be given."""

    item: Item
    rating: float
    fallback: str | None = Field(description="Null if neighbors spoke; else why not.")
    reasons: list[NeighborReason] = Field(description="The neighbors who say most, the most first.")


class Recommendations(_Out):
    """The items with the highest predicted ratings, highest first."""

    user: User
    recommendations: list[Recommendation]


class Prediction(_Out):
    """A predicted rating."""

    item: Item
    rating: float
    fallback: str | None
    clipped: bool = Field(description="Whether the sum lay outside the scale.")
    n_neighbors: Count


class Predictions(_Out):
    """Predicted ratings, in the order asked."""

    user: User
    predictions: list[Prediction]


class Part(_Out):
    """A part of a predicted rating."""

    name: str = Field(examples=["item"])
    label: str = Field(examples=["the item's standing"])
    value: float


class Others(_Out):
    """Neighbors who are not listed, together."""

    count: Count
    contribution: float


class Explanation(_Out):
    """What one predicted rating is made of; the parts add up to ``total``."""

    user: User
    item: Item
    rating: float
    total: float = Field(description="The sum of the parts: the rating before it is cut off at the scale.")
    base: float = Field(description="What was expected before neighbors spoke.")
    parts: list[Part]
    neighbors: list[NeighborReason]
    others: Others
    fallback: str | None
    clipped: bool


class Certificate(_Out):
    """The proof that a plan is optimal: its cost and a lower bound that meets it."""

    primal: float
    dual: float
    gap: float


class SharedItem(_Out):
    """Preference that stays where it is, on an item that both rated."""

    item: Item
    mass: float


class Flow(_Out):
    """Preference that moves from an item of one user to an item of the other."""

    source: Item
    target: Item
    distance: float
    similarity: float
    mass: float = Field(description="Share of the preference; all flows sum to 1.")
    cost: float = Field(description="Mass times distance; all flows sum to the distance.")
    share: float = Field(description="Of the distance; all flows sum to 1, or to 0 at distance 0.")


class MassItem(_Out):
    """An item, its rating, and its share of the user's preference."""

    item: Item
    rating: float
    mass: float


class PairExplanation(_Out):
    """Why two users are as near as they are: the plan that moves one's preferences onto the other's."""

    user: User
    other: User
    distance: float
    certificate: Certificate
    n_common: Count
    shared: list[SharedItem] = Field(description="Mass that stays, the most first.")
    flows: list[Flow] = Field(description="Those that make up most of the distance first.")
    source_items: list[MassItem]
    target_items: list[MassItem]


class MeasureValue(_Out):
    """What one measure says of two users."""

    name: str = Field(examples=["cos"])
    label: str = Field(examples=["COS"])
    summary: str = Field(
        description="What it looks at, in a line.", examples=["angle between the co-rated ratings"]
    )
    kind: Literal["similarity", "distance"]
    value: float | None = Field(description="Null where the measure is undefined.")
    defined: bool
    why: str | None = Field(description="Why it is undefined.")


class Comparison(_Out):
    """Two users under all measures."""

    user: User
    other: User
    n_common: Count
    measures: list[MeasureValue]


class ItemDetails(Item):
    """An item, and how it is rated."""

    n_ratings: Count
    mean_rating: float | None


class Items(_Out):
    """A page of items."""

    total: Count
    offset: Count
    limit: Count
    items: list[ItemDetails]


class NearItem(_Out):
    """A near item."""

    item: Item
    distance: float
    similarity: float


class NearItems(_Out):
    """The nearest items, nearest first."""

    item: Item
    near: list[NearItem]


class GivenRating(_In):
    """A rating typed in a moment ago."""

    item: Id
    rating: float = Field(ge=0, le=1e6, allow_inf_nan=False, examples=[4.5])


class Guest(_In):
    """Ratings of somebody who is not in the data."""

    ratings: list[GivenRating] = Field(
        min_length=1,
        max_length=MOST_RATINGS,
        examples=[[{"item": "alien-1979", "rating": 5}, {"item": "the-thing-1982", "rating": 4.5}]],
    )

    @model_validator(mode="after")
    def _each_item_once(self) -> Guest:
        seen: set[str] = set()
        for one in self.ratings:
            if one.item in seen:
                raise ValueError(f"item {one.item!r} is rated twice; give each item once")
            seen.add(one.item)
        return self

    @property
    def by_item(self) -> tuple[tuple[str, float], ...]:
        """The ratings, sorted by item: equal for equal guests."""
        return tuple(sorted((one.item, one.rating) for one in self.ratings))


class GuestNeighbors(Guest):
    """Whose neighbors, and how many."""

    k: Whole = Field(default=10, ge=1, le=MOST_NEIGHBORS)


class GuestRecommendations(Guest):
    """For whom, and how many."""

    n: Whole = Field(default=10, ge=1, le=MOST_RECOMMENDATIONS)


class GuestPredictions(Guest):
    """For whom, and of which items."""

    items: list[Id] = Field(min_length=1, max_length=MOST_ITEMS, examples=[["aliens-1986"]])


class GuestOther(Guest):
    """With which user to compare."""

    other: Id = Field(examples=["ada-b"])


class GuestItem(Guest):
    """Which recommendation to explain."""

    item: Id = Field(examples=["aliens-1986"])
