"""Recommendations and predicted ratings."""

from __future__ import annotations

from pydantic import Field

from prefmover.model.groups import GroupRecommendation
from prefmover.predict.predictions import Prediction
from prefmover.rank.recommendations import Recommendation
from prefmover.server.schemas.base import Combine, Response, Title, UserId
from prefmover.server.schemas.explanations import RecommendationExplanationOut
from prefmover.server.schemas.library import fields_of


@fields_of(Recommendation)
class RecommendationOut(Response):
    """An item that the user has not rated."""

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


@fields_of(GroupRecommendation)
class GroupRecommendationOut(Response):
    """An item that no member of a group has rated."""

    reasons: list[str] = Field(description="The reasons of the members as sentences.")


class GroupRecommendationsOut(Response):
    """The items with the highest scores for several users together, highest first."""

    group: list[UserId]
    combine: Combine
    recommendations: list[GroupRecommendationOut]


@fields_of(Prediction, without=["user"])
class PredictionOut(Response):
    """A predicted rating."""

    title: Title


class PredictionsOut(Response):
    """Predicted ratings, in the order of the request."""

    user: UserId
    predictions: list[PredictionOut]
