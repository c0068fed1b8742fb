"""Responses about items, and the search for items and users."""

from __future__ import annotations

from pydantic import Field

from prefmover.server.schemas.base import Count, ItemId, Page, Response, Tastes, Title, UserId
from prefmover.server.schemas.users import UserOut


class ItemOut(Response):
    """An item."""

    id: ItemId
    title: Title
    n_ratings: Count
    mean_rating: float | None


class RatingCountOut(Response):
    """How often an item got a rating."""

    rating: float
    count: Count


class FanOut(Response):
    """A user who liked an item."""

    user: UserId
    rating: float
    taste: Tastes


class ItemDetailsOut(ItemOut):
    """An item, and how it was rated."""

    year: int | None = Field(description="Year of release, if it is known.", examples=[1979])
    genres: list[str] = Field(examples=[["Horror", "Science fiction"]])
    ratings: list[RatingCountOut] = Field(description="Lowest rating first.")
    n_fans: Count = Field(description="Number of users who rated it above their own mean.")
    fans: list[FanOut] = Field(description="Those farthest above their mean.")


class ItemsOut(Page):
    """A page of items."""

    items: list[ItemOut]


class NearItemOut(Response):
    """A near item."""

    item: ItemId
    title: Title
    distance: float
    similarity: float


class NearItemsOut(Response):
    """The nearest items, nearest first."""

    item: ItemId
    title: Title
    near: list[NearItemOut]


class ListedItemsOut(Response):
    """Some items, in the order of the request."""

    items: list[ItemOut]
    unknown: list[str] = Field(description="Ids that the data do not have.")


class SearchOut(Response):
    """The first hits among items and users."""

    n_items: Count
    items: list[ItemOut]
    n_users: Count
    users: list[UserOut]
