"""Explanations of recommendations, predicted ratings, and values of measures.

They have the keys of ``to_dict`` of :class:`~prefmover.explain.RecommendationExplanation`,
:class:`~prefmover.explain.RatingExplanation` and :class:`~prefmover.explain.UserExplanation`.
"""

from __future__ import annotations

from pydantic import Field

from prefmover.server.schemas.base import (
    Count,
    How,
    ItemId,
    MeasureValue,
    NearerThan,
    Response,
    Title,
    UserId,
)
from prefmover.server.schemas.model import MeasureOut


class OthersOut(Response):
    """The parts that are not listed."""

    count: Count
    value: float = Field(description="Their sum.")


class OwnRatingOut(Response):
    """A rating of the user's own that is a reason to recommend an item."""

    item: ItemId
    label: Title
    rating: float = Field(description="The rating; for implicit feedback, the strength.")
    value: float = Field(description="What the rating adds to the score.")
    distance: float | None = Field(description="Distance between the two items; null without a geometry.")
    n_both: Count = Field(description="Number of users who like both items.")
    lift: float = Field(description="How many times as many that is as by chance.")


class NeighborRatingOut(MeasureValue):
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


class RecommendationExplanationOut(Response):
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


class BaselineOut(Response):
    """A part of a predicted rating that no neighbor makes."""

    name: str = Field(examples=["item"])
    value: float
    meaning: str


class EvidenceOut(Response):
    """A rating through which a neighbor contributes."""

    item: ItemId
    label: Title
    rating: float
    value: float


class ContributionOut(MeasureValue):
    """The part of a predicted rating that one neighbor makes."""

    user: UserId
    weight: float
    rating: float | None = Field(description="The neighbor's rating of the item; null if there is none.")
    residual: float = Field(description="How much more than expected the neighbor likes the item.")
    value: float = Field(description="What the neighbor adds to the predicted rating.")
    evidence: list[EvidenceOut] = Field(description="Ratings of other items through which it contributes.")


class RatingExplanationOut(Response):
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


class CertificateOut(Response):
    """The proof that a plan is optimal: its cost, and a lower bound of the cost of any plan."""

    primal: float
    dual: float
    gap: float


class FactorOut(Response):
    """A factor of the measure's formula."""

    name: str
    value: float | None
    meaning: str


class FlowOut(Response):
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


class GroupedItemOut(Response):
    """The groups of an item, by kind: genre, decade, or cluster of similar items."""

    item: ItemId
    groups: dict[str, str] = Field(examples=[{"genre": "Horror", "decade": "1970s"}])


class UserExplanationOut(MeasureValue):
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


class ComparisonOut(Response):
    """Two users under all measures."""

    user: UserId
    other: UserId
    n_common: Count
    measures: list[MeasureValueOut]
