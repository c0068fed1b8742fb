"""Ratings imported from another site."""

from __future__ import annotations

from pydantic import Field

from prefmover.server.schemas.base import Count, ItemId, Response, Title


class ImportedRatingOut(Response):
    """A rating from another site, on the scale of the data."""

    item: ItemId
    title: Title
    rating: float


class UnmatchedOut(Response):
    """A title that the data do not have."""

    title: str
    year: int | None


class ImportOut(Response):
    """The content of an export."""

    origin: str = Field(examples=["Letterboxd"])
    ratings: list[ImportedRatingOut] = Field(description="Newest first, if the export has dates.")
    unmatched: list[UnmatchedOut]
    n_unrated: Count = Field(description="Number of rows without a rating.")
