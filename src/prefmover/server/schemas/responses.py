"""Responses about the service, the model, users, items and maps."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field

from prefmover.data.scale import Scale
from prefmover.measures import Measure
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
    ValueName,
    fields_of,
)


class StatusOut(Response):
    """State of the service."""

    status: Literal["ok", "ready"]


class JobOut(Response):
    """A result that is still being computed; ask again in a second."""

    done: Count
    total: Count = Field(description="Steps in all; 0 if that is not known yet.")


@fields_of(Scale, without=["implicit", "damping"])
class ScaleOut(Response):
    """Scale of the ratings: its ends, and the step from one level to the next, 0 if it is continuous."""


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


class TitledOut(Response):
    """An item with its title."""

    item: ItemId
    title: Title


class UserOut(Response):
    """A user."""

    id: UserId
    n_ratings: Count
    taste: Tastes


class UsersOut(Page):
    """A page of users."""

    users: list[UserOut]


class RatedItemOut(TitledOut):
    """A rating."""

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


class NeighborTestOut(Response):
    """How many of the items that a user liked, hidden in turns, the neighbors find by what they liked."""

    hits: int = Field(description="So many of the hidden items were among the first suggestions.")
    n_hidden: int = Field(description="Number of hidden items.")
    n_suggested: int = Field(description="Number of suggestions.")


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


class CommonGroundOut(Response):
    """How often near users have rated nothing in common."""

    k: int = Field(description="Number of neighbors of each user.")
    n_sampled: int = Field(description="Number of random users.")
    pairs_without: float = Field(
        description="Share of the pairs of a sampled user and any other that have no item in common."
    )
    neighbors_without: float = Field(description="The same share among the k nearest.")
    users_with: float = Field(
        description="Share of the sampled users of whose k nearest at least one has nothing in common."
    )
    n_light: int = Field(description="Number of users with the fewest ratings that were looked at.")
    light_ratings: int = Field(description="The most ratings of one of these.")
    light_neighbors_without: float = Field(description="The share of their k nearest with nothing in common.")
    examples: list[ExampleOut] = Field(description="Users with the most such neighbors, from both samples.")


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


class NearItemOut(TitledOut):
    """A near item."""

    distance: float
    similarity: float


class NearItemsOut(TitledOut):
    """The items nearest to an item, nearest first."""

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


class PointOut(Response):
    """A user or an item on a map."""

    id: str
    name: str
    x: float
    y: float
    group: int | None = Field(description="Number of the group; null if it has none.")


class MapOut(Response):
    """A map in the unit square: near points are near users or items."""

    groups: list[str] = Field(description="Names of the groups, the largest first.")
    points: list[PointOut]


class ImportedRatingOut(TitledOut):
    """A rating from another site, on the scale of the data."""

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
