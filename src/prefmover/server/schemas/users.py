"""Responses about users and their neighbors."""

from __future__ import annotations

from pydantic import Field

from prefmover.server.schemas.base import (
    Count,
    ItemId,
    MeasureValue,
    NearerThan,
    Page,
    Response,
    Tastes,
    Title,
    UserId,
)
from prefmover.server.schemas.library import fields_of
from prefmover.server.schemas.model import MeasureOut
from prefmover.server.views.neighbor_comparison import CommonGround, NeighborTest


class UserOut(Response):
    """A user."""

    id: UserId
    n_ratings: Count
    taste: Tastes


class UsersOut(Page):
    """A page of users."""

    users: list[UserOut]


class RatedItemOut(Response):
    """A rating."""

    item: ItemId
    title: Title
    rating: float
    share: float = Field(description="Share of the user's preference: the rating over the sum of ratings.")


class UserDetailsOut(UserOut):
    """A user and a page of the user's ratings, highest first."""

    mean_rating: float | None
    offset: Count
    limit: Count
    ratings: list[RatedItemOut]


class NeighborOut(MeasureValue):
    """A near user."""

    user: UserId
    n_common: Count = Field(description="Number of items that both rated.")
    nearer_than: NearerThan
    taste: Tastes


class NeighborsOut(Response):
    """The nearest users, nearest first."""

    user: UserId
    measure: str
    neighbors: list[NeighborOut]


class GroupNeighborsOut(Response):
    """The users nearest to several users together, nearest first."""

    group: list[UserId]
    measure: str
    neighbors: list[NeighborOut] = Field(
        description="`n_common` counts the items that any member rated; `nearer_than` is null, because a "
        "group is nearer to everybody than single users are."
    )


class ListedNeighborOut(Response):
    """A near user by one of several measures."""

    user: UserId
    value: float
    n_common: Count


@fields_of(NeighborTest)
class NeighborTestOut(Response):
    """How many of the items that a user liked, hidden in turns, the neighbors find by what they liked."""


class NeighborListOut(MeasureOut):
    """The nearest users by one measure."""

    neighbors: list[ListedNeighborOut]
    test: NeighborTestOut | None = Field(description="Null if the user liked fewer than two items.")


class NeighborListsOut(Response):
    """The nearest users by the model's measure first, then by measures of items in common."""

    user: UserId
    lists: list[NeighborListOut]


class ExampleOut(UserOut):
    """A user, some of whose nearest have nothing in common with them."""

    n_without: Count = Field(description="Number of such neighbors.")


@fields_of(CommonGround)
class CommonGroundOut(Response):
    """How often near users have rated nothing in common."""

    examples: list[ExampleOut]
