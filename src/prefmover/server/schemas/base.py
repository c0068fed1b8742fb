"""The fields and base classes that requests and responses share."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Id = Annotated[
    str, Field(min_length=1, description="Id; integers are written as text.", examples=["alien-1979"])
]
WholeNumber = Annotated[
    int, BeforeValidator(lambda v: int(v) if isinstance(v, float) and v.is_integer() else v)
]
"""A whole number; 10.0 is one in JSON."""

Count = Annotated[int, Field(ge=0)]
ItemId = Annotated[str, Field(description="Id of an item.", examples=["alien-1979"])]
UserId = Annotated[str, Field(description="Id of a user, or `guest`.", examples=["ada-b"])]
Title = Annotated[str, Field(description="Title and year of an item.", examples=["Alien (1979)"])]
ValueName = Literal["distance", "similarity"]
Combine = Literal["mean", "least"]
Tastes = Annotated[
    list[str], Field(description="Genres the user prefers more than others do.", examples=[["Horror"]])
]
NearerThan = Annotated[
    float | None, Field(description="Share of random pairs of users that are farther apart.", examples=[0.97])
]


class Response(BaseModel):
    """A part of a response. Ids that are integers become text."""

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)


class Request(BaseModel):
    """A part of a request: no conversion of types, no unknown fields."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Page(Response):
    """A part of a long list."""

    total: Count
    offset: Count
    limit: Count


class MeasureValue(Response):
    """The value of the model's measure for two users, under its name."""

    distance: float | None = Field(default=None, description="If the measure is a distance.")
    similarity: float | None = Field(default=None, description="If the measure is a similarity.")
