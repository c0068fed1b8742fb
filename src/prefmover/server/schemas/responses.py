"""Responses about the service, the model, users, items and maps, and what all responses share.

Many have the fields of a class of the library, described as in its docstring.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Self, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

from prefmover.data.scale import Scale
from prefmover.measures import Measure
from prefmover.ot.certificate import Certificate

Count = Annotated[int, Field(ge=0)]
ItemId = Annotated[str, Field(description="Id of an item.", examples=["alien-1979"])]
UserId = Annotated[str, Field(description="Id of a user, or `guest`.", examples=["ada-b"])]
Title = Annotated[str, Field(description="Title and year of an item.", examples=["Alien (1979)"])]
ValueName = Literal["distance", "similarity"]
Tastes = Annotated[
    list[str], Field(description="Genres the user prefers more than others do.", examples=[["Horror"]])
]
NearerThan = Annotated[
    float | None, Field(description="Share of random pairs of users that are farther apart.", examples=[0.97])
]


class Response(BaseModel):
    """A part of a response. Ids that are integers become text."""

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True, from_attributes=True)


class Page(Response):
    """A part of a long list."""

    total: Count
    offset: Count
    limit: Count


class MeasureValue(Response):
    """The value of the model's measure for two users, under its name."""

    distance: float | None = Field(default=None, description="If the measure is a distance.")
    similarity: float | None = Field(default=None, description="If the measure is a similarity.")


LATER = {"Certificate": Certificate}  # names that the library imports for type checkers only
NAMED = {"user": UserId, "other": UserId, "label": Title, "title": Title}
NAMED |= dict.fromkeys(("item", "source", "target"), ItemId)
Out = TypeVar("Out", bound=Response)
_known: dict[type, type[Response]] = {}


def fields_of(kind: type, without: Collection[str] = ()) -> Callable[[type[Out]], type[Out]]:
    """Give a response the fields of a dataclass or named tuple, except those that it has itself.

    Ids become text. A field that holds objects of another class of the library gets its response.
    """

    def complete(response: type[Out]) -> type[Out]:
        texts, fields = _descriptions(kind), {}
        for name, hint in get_type_hints(kind, localns=LATER).items():
            if name not in response.model_fields and name not in without and name[0] != "_":
                described = Field(description=texts.get(name))
                fields[name] = (NAMED[name], ...) if name in NAMED else (_type(hint), described)
        made = create_model(response.__name__, __base__=response, __doc__=response.__doc__, **fields)  # type: ignore[call-overload]
        _known[kind] = made
        return made  # type: ignore[no-any-return]

    return complete


def _type(hint: Any) -> Any:
    """Return the type of a field in JSON for its type in the library."""
    inner = tuple(one for one in get_args(hint) if one is not Ellipsis)
    if get_origin(hint) in (Union, UnionType):
        return Union[tuple(map(_type, inner))]  # noqa: UP007
    if get_origin(hint) in (tuple, list, Sequence):
        return list[_type(inner[0])]  # type: ignore[misc]
    if isinstance(hint, type) and (is_dataclass(hint) or hasattr(hint, "_fields")):
        if hint not in _known:
            about = {"__doc__": inspect.getdoc(hint).splitlines()[0]}  # type: ignore[union-attr]
            fields_of(hint)(type(f"{hint.__name__}Out", (Response,), about))
        return _known[hint]
    return str if hint is Any else None if hint is NoneType else hint


def _descriptions(kind: type) -> dict[str, str]:
    """Return the descriptions of attributes in docstrings, also those of base classes."""
    found: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        _, _, section = inspect.cleandoc(one.__doc__ or "").partition("Attributes\n----------\n")
        for names, text in re.findall(r"^(\w[\w, ]*)\n((?: {4}.*\n?)+)", section, re.MULTILINE):
            plain = re.sub(r":\w+:`~?([^`]+)`", r"\1", " ".join(text.split())).replace("``", "`")
            plain = re.sub(r"\bNone\b", "null", plain)
            found |= dict.fromkeys(names.split(", "), plain)
    return found


class StatusOut(Response):
    """State of the service."""

    status: Literal["ok", "ready"]


class JobOut(Response):
    """A result that is still being computed; ask again in a second."""

    done: Count
    total: Count = Field(description="Steps in all; 0 if that is not known yet.")


@fields_of(Scale, without=["implicit", "damping"])
class ScaleOut(Response):
    """Scale of the ratings or counts: its ends, and the step between two levels, 0 if it is continuous."""


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
    feedback: Literal["ratings", "counts", "choices"] = Field(
        description="What people gave: ratings on the scale; counts, such as plays; or choices without "
        "counts. All are called `rating` in requests and responses."
    )
    scale: ScaleOut
    usual: float | None = Field(
        description="The count that a guest's rating without a value stands for; null for ratings."
    )
    rating_noun: str = Field(description="What one rating is called.", examples=["rating"])
    verb: str = Field(description="What users did with items.", examples=["rated"])
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

    mean_rating: float | None = Field(description="Null for counts and choices.")
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
    """A user, whose nearest have nothing in common with them, or little."""

    n_without: Count = Field(
        description="Number of such neighbors that are nearer than three quarters of random pairs."
    )
    common_share: float = Field(description="Share of the user's items that one of the k nearest has, too.")


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
    common_share: float = Field(
        description="Share of a sampled user's items that one of the k nearest has, too: the mean."
    )
    n_light: int = Field(description="Number of users with the fewest ratings that were looked at.")
    light_ratings: int = Field(description="The most ratings of one of these.")
    light_neighbors_without: float = Field(description="The share of their k nearest with nothing in common.")
    examples: list[ExampleOut] = Field(
        description="Users with the most such neighbors, then those who share least, from both samples."
    )


class ItemOut(Response):
    """An item."""

    id: ItemId
    title: Title
    n_ratings: Count
    mean_rating: float | None = Field(description="Null for counts and choices.")


class RatingCountOut(Response):
    """How often an item got a rating: a level of the scale, or a part of a finer one."""

    rating: float = Field(description="The lowest of the part.")
    highest: float
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
    n_fans: Count = Field(
        description="Number of users who rated it above their own mean; of counts and choices, all."
    )
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
    """A rating from another site."""

    rating: float | None = Field(
        description="On the scale of the data; null if the data are counts or choices, and it was liked."
    )


class UnmatchedOut(Response):
    """A title that the data do not have."""

    title: str
    year: int | None


class ImportOut(Response):
    """The content of an export."""

    origin: str = Field(examples=["Letterboxd"])
    ratings: list[ImportedRatingOut] = Field(description="Newest first, if the export has dates.")
    unmatched: list[UnmatchedOut]
    n_unrated: Count = Field(
        description="Number of rows without a rating; for counts and choices, or with a low one."
    )
