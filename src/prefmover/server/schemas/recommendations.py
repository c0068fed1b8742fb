"""Recommendations and predicted ratings."""

from __future__ import annotations

from pydantic import Field

from prefmover.server.schemas.base import Combine, Count, How, ItemId, Response, Title, UserId
from prefmover.server.schemas.explanations import RecommendationExplanationOut


class RecommendationOut(Response):
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


class RecommendationsOut(Response):
    """The items with the highest scores, highest first."""

    user: UserId
    recommendations: list[RecommendationOut]


class UsersRecommendationsOut(Response):
    """The recommendations of several users, in the order of the request."""

    users: list[RecommendationsOut]


class MemberScoreOut(Response):
    """A recommended item for one member of a group."""

    user: UserId
    score: float = Field(description="The member's score, standardized over all items.")
    rating: float | None = Field(description="The predicted rating; null for implicit feedback.")
    reason: str = Field(
        description="The member's strongest reason; may be empty.", examples=["ada-b gave Aliens (1986) 5"]
    )


class GroupRecommendationOut(Response):
    """An item that no member of a group has rated."""

    item: ItemId
    title: Title
    score: float = Field(description="What items are ranked by: the members' scores, combined.")
    rating: float | None = Field(description="The mean of the predicted ratings; null for implicit feedback.")
    n_ratings: Count = Field(description="How many users have rated the item.")
    members: list[MemberScoreOut]
    reasons: list[str] = Field(description="The reasons of the members as sentences.")


class GroupRecommendationsOut(Response):
    """The items with the highest scores for several users together, highest first."""

    group: list[UserId]
    combine: Combine
    recommendations: list[GroupRecommendationOut]


class PredictionOut(Response):
    """A predicted rating."""

    item: ItemId
    title: Title
    rating: float
    baseline: float = Field(description="The rating to expect before neighbors contribute.")
    how: How
    clipped: bool = Field(description="Whether the sum was outside the scale.")
    n_neighbors: Count


class PredictionsOut(Response):
    """Predicted ratings, in the order of the request."""

    user: UserId
    predictions: list[PredictionOut]
