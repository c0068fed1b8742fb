"""Requests and responses; ``/api/v1/openapi.json`` is made from these classes.

The options of one kind of question are one class (``NeighborOptions``, ``RecommendationOptions``): the
parameters of the address, and fields of the body where the ratings are a guest's or the users are many.

Explanations have the keys of ``to_dict`` of :class:`~prefmover.explain.UserExplanation`,
:class:`~prefmover.explain.RecommendationExplanation` and :class:`~prefmover.explain.RatingExplanation`. A
value of the model's measure is called ``distance`` or ``similarity``, whichever it is; the other is absent.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from prefmover.items.where import parse_where

MOST_RATINGS = 500
MOST_ITEMS = 200
MOST_NEIGHBORS = 100
MOST_RECOMMENDATIONS = 50
MOST_USERS = 100
MOST_MEMBERS = 20  # of a group

Id = Annotated[
    str, Field(min_length=1, description="Id; integers are written as text.", examples=["alien-1979"])
]
WholeNumber = Annotated[
    int, BeforeValidator(lambda v: int(v) if isinstance(v, float) and v.is_integer() else v)
]
"""A whole number; 10.0 is one in JSON."""

Condition = Annotated[str, Field(min_length=1, max_length=200)]
Count = Annotated[int, Field(ge=0)]
ItemId = Annotated[str, Field(description="Id of an item.", examples=["alien-1979"])]
UserId = Annotated[str, Field(description="Id of a user, or `guest`.", examples=["ada-b"])]
Title = Annotated[str, Field(description="Title and year of an item.", examples=["Alien (1979)"])]
ValueName = Literal["distance", "similarity"]
How = Literal["neighbors", "no neighbor", "unknown item", "unknown user", "nothing known"]


Combine = Literal["mean", "least"]


class _Response(BaseModel):
    """A part of a response. Ids that are integers become text."""

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)


class _Request(BaseModel):
    """A part of a request: no conversion of types, no unknown fields."""

    model_config = ConfigDict(extra="forbid", strict=True)


class _Page(_Response):
    """A part of a long list."""

    total: Count
    offset: Count
    limit: Count


class _MeasureValue(_Response):
    """The value of the model's measure for two users, under its name."""

    distance: float | None = Field(default=None, description="If the measure is a distance.")
    similarity: float | None = Field(default=None, description="If the measure is a similarity.")


class Problem(BaseModel):
    """An error, as in RFC 9457."""

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

    type: str = Field(description="Always about:blank.")
    title: str = Field(description="The meaning of the status.")
    status: int
    detail: str = Field(description="What is wrong and what to do about it.")
    instance: str = Field(description="Path of the request.")
    errors: list[FieldError] | None = Field(default=None, description="The fields that are wrong.")
    state: Literal["starting", "failed"] | None = Field(
        default=None, description="Why the service is not ready, if that is the problem."
    )
    progress: StartProgress | None = Field(default=None, description="How far the start is.")


class FieldError(BaseModel):
    """A field of a request that is wrong."""

    where: str
    message: str


class StartProgress(BaseModel):
    """How far a starting service has come."""

    doing: str = Field(examples=["fitting the model"])
    done: int = Field(description="Steps done.")
    total: int = Field(description="Steps in all; 0 if that is not known.")


class StatusOut(_Response):
    """State of the service."""

    status: Literal["ok", "ready"]


class ScaleOut(_Response):
    """Scale of the ratings."""

    lowest: float = Field(examples=[1.0])
    highest: float = Field(examples=[5.0])
    step: float | None = Field(examples=[0.5])


class MeasureOut(_Response):
    """A measure between two users."""

    name: str = Field(examples=["pmd"])
    label: str = Field(examples=["PMD"])
    summary: str = Field(examples=["least cost of moving one user's preferences onto the other's"])
    value_name: ValueName


class SpreadOut(_Response):
    """The values of the model's measure between random users: 1 % are nearer, half are, 99 % are."""

    nearest: float | None
    median: float | None
    farthest: float | None


class ModelOut(_Response):
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


Tastes = Annotated[
    list[str], Field(description="Genres the user prefers more than others do.", examples=[["Horror"]])
]
NearerThan = Annotated[
    float | None, Field(description="Share of random pairs of users that are farther apart.", examples=[0.97])
]


class UserOut(_Response):
    """A user."""

    id: UserId
    n_ratings: Count
    taste: Tastes


class UsersOut(_Page):
    """A page of users."""

    users: list[UserOut]


class RatedItemOut(_Response):
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


class NeighborOut(_MeasureValue):
    """A near user."""

    user: UserId
    n_common: Count = Field(description="Number of items that both rated.")
    nearer_than: NearerThan
    taste: Tastes


class NeighborsOut(_Response):
    """The nearest users, nearest first."""

    user: UserId
    measure: str
    neighbors: list[NeighborOut]


class GroupNeighborsOut(_Response):
    """The users nearest to several users together, nearest first."""

    group: list[UserId]
    measure: str
    neighbors: list[NeighborOut] = Field(
        description="`n_common` counts the items that any member rated; `nearer_than` is null, because a "
        "group is nearer to everybody than single users are."
    )


class ListedNeighborOut(_Response):
    """A near user by one of several measures."""

    user: UserId
    value: float
    n_common: Count


class NeighborTestOut(_Response):
    """How many of the items that a user liked, hidden in turns, the neighbors find by what they liked."""

    hits: Count = Field(description="Hidden items among the first suggestions.")
    n_hidden: Count = Field(description="Hidden items in all.")
    n_suggested: Count = Field(description="Number of suggestions each time.")


class NeighborListOut(MeasureOut):
    """The nearest users by one measure."""

    neighbors: list[ListedNeighborOut]
    test: NeighborTestOut | None = Field(description="Null if the user liked fewer than two items.")


class NeighborListsOut(_Response):
    """The nearest users by the model's measure first, then by measures of items in common."""

    user: UserId
    lists: list[NeighborListOut]


class ExampleOut(UserOut):
    """A user, some of whose nearest have nothing in common with them."""

    n_without: Count = Field(description="Number of such neighbors.")


class CommonGroundOut(_Response):
    """How often near users have rated nothing in common."""

    k: Count = Field(description="Number of neighbors of each user.")
    n_sampled: Count = Field(description="Number of random users.")
    pairs_without: float = Field(description="Share of pairs of users with nothing in common.")
    neighbors_without: float = Field(description="The share among the nearest of a sampled user.")
    users_with: float = Field(description="Share of sampled users with at least one such neighbor.")
    n_light: Count = Field(description="Number of users with the fewest ratings.")
    light_ratings: Count = Field(description="The most ratings of one of them.")
    light_neighbors_without: float = Field(description="The share among the nearest of these.")
    examples: list[ExampleOut]


class PointOut(_Response):
    """A user or an item on a map."""

    id: str
    name: str
    x: float
    y: float
    group: int | None = Field(description="Number of the group; null if it has none.")


class MapOut(_Response):
    """A map in the unit square: near points are near users or items."""

    groups: list[str] = Field(description="Names of the groups, the largest first.")
    points: list[PointOut]


class JobOut(_Response):
    """A result that is still being computed; ask again in a second."""

    done: Count
    total: Count = Field(description="Steps in all; 0 if that is not known yet.")


class EvidenceOut(_Response):
    """A rating through which a neighbor contributes."""

    item: ItemId
    label: Title
    rating: float
    value: float


class ContributionOut(_MeasureValue):
    """The part of a predicted rating that one neighbor makes."""

    user: UserId
    weight: float
    rating: float | None = Field(description="The neighbor's rating of the item; null if there is none.")
    residual: float = Field(description="How much more than expected the neighbor likes the item.")
    value: float = Field(description="What the neighbor adds to the predicted rating.")
    evidence: list[EvidenceOut] = Field(description="Ratings of other items through which it contributes.")


class OthersOut(_Response):
    """The parts that are not listed."""

    count: Count
    value: float = Field(description="Their sum.")


class OwnRatingOut(_Response):
    """A rating of the user's own that is a reason to recommend an item."""

    item: ItemId
    label: Title
    rating: float = Field(description="The rating; for implicit feedback, the strength.")
    value: float = Field(description="What the rating adds to the score.")
    distance: float | None = Field(description="Distance between the two items; null without a geometry.")
    n_both: Count = Field(description="Number of users who like both items.")
    lift: float = Field(description="How many times as many that is as by chance.")


class NeighborRatingOut(_MeasureValue):
    """The rating of a recommended item by a like-minded user.

    The distance is exact, and null in lists where distances are estimated.
    """

    user: UserId
    rating: float
    likes_it: bool = Field(description="Whether the neighbor is for the item, or against it.")
    value: float = Field(description="What the neighbor adds to the score.")
    nearer_than: float = Field(
        description="Share of all other users who are less near; see `nearer_than_is_estimated`."
    )
    n_common: Count = Field(description="Number of items that both rated.")
    common: list[Title] = Field(description="Their titles, if there are at most two.")
    alike: list[Title] | None = Field(
        description="Without any: the nearest two items, one that the user likes and one of the neighbor's."
    )


class RecommendationExplanationOut(_Response):
    """The parts of a score: `own`, `other_own`, `neighbors` and `other_users` add up to it."""

    user: UserId
    item: ItemId
    label: Title
    score: float = Field(description="What items are ranked by: `item_side` plus `user_side`.")
    item_side: float = Field(description="What the user's own ratings add.")
    user_side: float = Field(description="What other users add.")
    rating: float | None = Field(description="The predicted rating; null for implicit feedback.")
    n_ratings: Count = Field(description="How many users have rated the item.")
    n_likes: Count = Field(description="How many of them like it.")
    rated: float | None = Field(description="The user's own rating of the item; null if there is none.")
    reasons: list[str] = Field(description="The strongest reasons as sentences.")
    own: list[OwnRatingOut] = Field(description="Ratings of related items, those that add most first.")
    other_own: OthersOut
    n_like_minded: Count = Field(description="Number of users with the largest weights.")
    n_for: Count = Field(description="How many of them like the item.")
    n_against: Count = Field(description="How many of them rated it and do not like it.")
    nearer_than_is_estimated: bool = Field(
        description="Whether `nearer_than` is estimated: from a sample of users, or estimated distances."
    )
    strongest_against: NeighborRatingOut | None
    neighbors: list[NeighborRatingOut] = Field(
        description="The ratings of some of them, those that add or take most first."
    )
    other_users: OthersOut


class RecommendationOut(_Response):
    """An item that the user has not rated."""

    item: ItemId
    title: Title
    score: float = Field(description="What items are ranked by.")
    rating: float | None = Field(description="The predicted rating; null for implicit feedback.")
    n_ratings: Count = Field(description="How many users have rated the item.")
    how: How = Field(description="How the rating was predicted: from neighbors, or by a fallback.")
    reasons: list[str] = Field(
        description="The strongest reasons as sentences.",
        examples=[["because you gave Aliens (1986) 5 and Blade Runner (1982) 5"]],
    )
    why: RecommendationExplanationOut = Field(description="The strongest reasons as data.")


class RecommendationsOut(_Response):
    """The items with the highest scores, highest first."""

    user: UserId
    recommendations: list[RecommendationOut]


class UsersRecommendationsOut(_Response):
    """The recommendations of several users, in the order of the request."""

    users: list[RecommendationsOut]


class MemberScoreOut(_Response):
    """A recommended item for one member of a group."""

    user: UserId
    score: float = Field(description="The member's score, standardized over all items.")
    rating: float | None = Field(description="The predicted rating; null for implicit feedback.")
    reason: str = Field(
        description="The member's strongest reason; may be empty.", examples=["ada-b gave Aliens (1986) 5"]
    )


class GroupRecommendationOut(_Response):
    """An item that no member of a group has rated."""

    item: ItemId
    title: Title
    score: float = Field(description="What items are ranked by: the members' scores, combined.")
    rating: float | None = Field(description="The mean of the predicted ratings; null for implicit feedback.")
    n_ratings: Count = Field(description="How many users have rated the item.")
    members: list[MemberScoreOut]
    reasons: list[str] = Field(description="The reasons of the members as sentences.")


class GroupRecommendationsOut(_Response):
    """The items with the highest scores for several users together, highest first."""

    group: list[UserId]
    combine: Combine
    recommendations: list[GroupRecommendationOut]


class PredictionOut(_Response):
    """A predicted rating."""

    item: ItemId
    title: Title
    rating: float
    baseline: float = Field(description="The rating to expect before neighbors contribute.")
    how: How
    clipped: bool = Field(description="Whether the sum was outside the scale.")
    n_neighbors: Count


class PredictionsOut(_Response):
    """Predicted ratings, in the order of the request."""

    user: UserId
    predictions: list[PredictionOut]


class BaselineOut(_Response):
    """A part of a predicted rating that no neighbor makes."""

    name: str = Field(examples=["item"])
    value: float
    meaning: str


class RatingExplanationOut(_Response):
    """The parts of a predicted rating: baseline, contributions and others add up to `total`."""

    user: UserId
    item: ItemId
    label: Title
    rating: float
    total: float = Field(description="The sum of all parts, before it is clipped to the scale.")
    how: How
    clipped: bool
    n_neighbors: Count
    baseline: list[BaselineOut]
    contributions: list[ContributionOut] = Field(description="Largest first.")
    others: OthersOut


class CertificateOut(_Response):
    """The proof that a plan is optimal: its cost, and a lower bound of the cost of any plan."""

    primal: float
    dual: float
    gap: float


class FactorOut(_Response):
    """A factor of the measure's formula."""

    name: str
    value: float | None
    meaning: str


class FlowOut(_Response):
    """A part of a measure's value: for PMD, preference that moves from an item to an item."""

    source: ItemId = Field(description="An item of the first user.")
    source_label: Title
    source_rating: float
    target: ItemId = Field(description="An item of the other user.")
    target_label: Title
    target_rating: float
    similarity: float | None = Field(description="Between the items.")
    mass: float | None = Field(description="Share of the preference that moves; null unless PMD.")
    distance: float | None = Field(description="Between the items; null unless PMD.")
    value: float = Field(description="The part of the value: for PMD, mass times distance.")
    share: float = Field(description="The share of the value.")
    kind: str = Field(
        description="PMD-signed: likes or dislikes of both, or items of the first or second user alone."
    )


class GroupedItemOut(_Response):
    """The groups of an item, by kind: genre, decade, or cluster of similar items."""

    item: ItemId
    groups: dict[str, str] = Field(examples=[{"genre": "Horror", "decade": "1970s"}])


class UserExplanationOut(_MeasureValue):
    """Why two users are as near as they are, by the measure of the model."""

    user: UserId
    other: UserId
    measure: str
    convention: str
    reason: str | None = Field(description="Why the value is undefined, if it is.")
    n_common: Count = Field(description="Number of items that both rated.")
    common_share: float | None = Field(description="Share of the preference on those items; null unless PMD.")
    factors: list[FactorOut]
    flows: list[FlowOut] = Field(description="What the two users share most first.")
    certificate: CertificateOut | None = Field(description="Null unless PMD.")
    agreement: list[FlowOut] = Field(
        description="PMD-agreement: the items that both rated, those that they agree on first."
    )
    nearer_than: NearerThan
    items: list[GroupedItemOut] = Field(description="Groups of the items of the flows, to show many as few.")


class MeasureValueOut(MeasureOut):
    """The value of one measure for two users."""

    value: float | None = Field(description="Null if the measure is undefined for the two.")
    reason: str | None = Field(description="Why it is undefined, if it is.")


class ComparisonOut(_Response):
    """Two users under all measures."""

    user: UserId
    other: UserId
    n_common: Count
    measures: list[MeasureValueOut]


class ItemOut(_Response):
    """An item."""

    id: ItemId
    title: Title
    n_ratings: Count
    mean_rating: float | None


class RatingCountOut(_Response):
    """How often an item got a rating."""

    rating: float
    count: Count


class FanOut(_Response):
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


class ItemsOut(_Page):
    """A page of items."""

    items: list[ItemOut]


class NearItemOut(_Response):
    """A near item."""

    item: ItemId
    title: Title
    distance: float
    similarity: float


class NearItemsOut(_Response):
    """The nearest items, nearest first."""

    item: ItemId
    title: Title
    near: list[NearItemOut]


class ListedItemsOut(_Response):
    """Some items, in the order of the request."""

    items: list[ItemOut]
    unknown: list[str] = Field(description="Ids that the data do not have.")


class SearchOut(_Response):
    """The first hits among items and users."""

    n_items: Count
    items: list[ItemOut]
    n_users: Count
    users: list[UserOut]


class ImportedRatingOut(_Response):
    """A rating from another site, on the scale of the data."""

    item: ItemId
    title: Title
    rating: float


class UnmatchedOut(_Response):
    """A title that the data do not have."""

    title: str
    year: int | None


class ImportOut(_Response):
    """The content of an export."""

    origin: str = Field(examples=["Letterboxd"])
    ratings: list[ImportedRatingOut] = Field(description="Newest first, if the export has dates.")
    unmatched: list[UnmatchedOut]
    n_unrated: Count = Field(description="Number of rows without a rating.")


class ItemIds(_Request):
    """Ids of items."""

    ids: list[Id] = Field(min_length=1, max_length=MOST_RATINGS, examples=[["alien-1979"]])


class Export(_Request):
    """The text of a CSV file."""

    csv: str = Field(min_length=1, examples=["Name,Year,Rating\nAlien,1979,4.5\nAliens,1986,5\n"])


class GuestRating(_Request):
    """A rating of a guest."""

    item: Id
    rating: float = Field(ge=0, le=1e6, allow_inf_nan=False, examples=[4.5])


class Guest(_Request):
    """The ratings of somebody who is not in the data."""

    ratings: list[GuestRating] = Field(
        min_length=1,
        max_length=MOST_RATINGS,
        examples=[[{"item": "alien-1979", "rating": 5}, {"item": "the-thing-1982", "rating": 4.5}]],
    )

    @model_validator(mode="after")
    def _each_item_once(self) -> Guest:
        seen: set[str] = set()
        for one in self.ratings:
            if one.item in seen:
                raise ValueError(f"item {one.item!r} is rated twice; rate each item once")
            seen.add(one.item)
        return self

    @property
    def key(self) -> tuple[tuple[str, float], ...]:
        """The ratings sorted by item: equal for equal guests."""
        return tuple(sorted((one.item, one.rating) for one in self.ratings))


class NeighborOptions(BaseModel):
    """What neighbors to return."""

    model_config = ConfigDict(extra="forbid")

    k: WholeNumber = Field(default=10, ge=1, le=MOST_NEIGHBORS, description="Number of neighbors.")
    strangers: bool = Field(
        default=False, description="Only users who have rated none of the items that the user rated."
    )


class RecommendationOptions(BaseModel):
    """What to recommend."""

    model_config = ConfigDict(extra="forbid")

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

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the model's ``recommend``, with ids as text."""
        given = {name: getattr(self, name) for name in RecommendationOptions.model_fields}
        given["where"] = parse_where(self.where)
        return {name: value for name, value in given.items() if value not in ([], {})}


class GuestNeighbors(Guest, NeighborOptions):
    """A guest, and what neighbors to return."""


class GuestRecommendations(Guest, RecommendationOptions):
    """A guest, and what to recommend."""


class UsersRecommendations(_Request, RecommendationOptions):
    """Users, and what to recommend to each."""

    users: list[Id] = Field(
        min_length=1, max_length=MOST_USERS, description="Ids of users.", examples=[["ada-b", "petra-h"]]
    )


Members = Annotated[
    list[Id],
    Field(
        min_length=2, max_length=MOST_MEMBERS, description="Ids of users.", examples=[["ada-b", "petra-h"]]
    ),
]


class GroupNeighbors(_Request):
    """Several users, whose neighbors are those of all of them together."""

    users: Members
    k: WholeNumber = Field(default=10, ge=1, le=MOST_NEIGHBORS, description="Number of neighbors.")


class Group(_Request, RecommendationOptions):
    """Several users, to whom the same items are recommended."""

    users: Members
    combine: Combine = Field(default="mean", description="The mean of the members' scores, or the least.")


class GuestPredictions(Guest):
    """A guest, and the items to predict."""

    items: list[Id] = Field(min_length=1, max_length=MOST_ITEMS, examples=[["aliens-1986"]])


class GuestOther(Guest):
    """A guest, and the user to compare with."""

    other: Id = Field(examples=["ada-b"])


class GuestItem(Guest):
    """A guest, and the item whose predicted rating is explained."""

    item: Id = Field(examples=["aliens-1986"])
