"""Responses about the model, its data and the measures."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field

from prefmover.measures import Measure
from prefmover.server.schemas.base import Count, Response, ValueName


class ScaleOut(Response):
    """Scale of the ratings."""

    lowest: float = Field(examples=[1.0])
    highest: float = Field(examples=[5.0])
    step: float | None = Field(examples=[0.5])


class MeasureOut(Response):
    """A measure between two users."""

    name: str = Field(examples=["pmd"])
    label: str = Field(examples=["PMD"])
    summary: str = Field(examples=["least cost of moving one user's preferences onto the other's"])
    value_name: ValueName

    @classmethod
    def of(cls, row: Measure, **more: Any) -> Self:
        """Return a measure, with more fields of a subclass."""
        return cls(name=row.name, label=row.label, summary=row.summary, value_name=row.value_name, **more)


class SpreadOut(Response):
    """The values of the model's measure between random users: 1 % are nearer, half are, 99 % are."""

    nearest: float | None
    median: float | None
    farthest: float | None


class ModelOut(Response):
    """The model, and the data it was fitted to."""

    name: str = Field(examples=["cinema"])
    n_users: Count
    n_items: Count
    n_ratings: Count
    scale: ScaleOut
    geometry: str | None = Field(description="Source of the distances between items.")
    user_noun: str = Field(description="What a user is called.", examples=["viewer"])
    item_noun: str = Field(description="What an item is called.", examples=["film"])
    genres: list[str] = Field(description="All genres of the items.")
    years: list[int] | None = Field(description="First and last year of release; null if none is known.")
    spread: SpreadOut
    measure: str = Field(description="The measure of the model.", examples=["pmd"])
    value_name: ValueName = Field(description="What the measure of the model is.")
    parameters: dict[str, Any] = Field(description="Parameters of the model.")
    version: str = Field(description="Version of prefmover.")
    measures: list[MeasureOut]
