"""Recommendations, predicted ratings, values of measures, and explanations as ``to_dict`` gives them."""

from __future__ import annotations

from pydantic import Field

from prefmover.explain import RatingExplanation, RecommendationExplanation, UserExplanation
from prefmover.explain.counterfactual import Counterfactual, TakenOut
from prefmover.explain.recommendation import NeighborRating, Others
from prefmover.measures.breakdown import Factor, Flow
from prefmover.model.groups import GroupRecommendation
from prefmover.ot.certificate import Certificate
from prefmover.predict.predictor import Contribution, Evidence, Prediction
from prefmover.rank.recommendations import Recommendation
from prefmover.server.schemas.requests import Combine
from prefmover.server.schemas.responses import (
    Count,
    ItemId,
    MeasureOut,
    MeasureValue,
    NearerThan,
    Response,
    Title,
    UserId,
    fields_of,
)


@fields_of(Others)
class OthersOut(Response):
    """The parts that are not listed: how many, and their sum."""


@fields_of(NeighborRating, without=["measure_value"])
class NeighborRatingOut(MeasureValue):
    """The rating of a recommended item by a like-minded user.

    The distance is exact, and null in lists where distances are estimated.
    """


class PartOut(Response):
    """A part of a sentence, which may name an item or a user."""

    text: str
    item: str | None = Field(description="The id of the item that it names.")
    user: str | None = Field(description="The id of the user that it names.")


@fields_of(RecommendationExplanation, without=["estimated", "value_name", "words"])
class RecommendationExplanationOut(Response):
    """The parts of a score: `own`, `other_own`, `neighbors` and `other_users` add up to it."""

    score: float = Field(description="What items are ranked by: `item_side` plus `user_side`.")
    reasons: list[str] = Field(description="The strongest reasons as sentences, to the person.")
    told: list[list[PartOut]] = Field(
        description='The same sentences in parts; a user of the data is named in them, a guest is "you".'
    )
    weak: bool = Field(description="Whether the own ratings of `because` are a weak reason.")
    person: NeighborRatingOut | None = Field(description="The like-minded user whom the sentences name.")
    nearer_than_is_estimated: bool = Field(
        description="Whether `nearer_than` is estimated: from a sample of users, or estimated distances."
    )
    strongest_against: NeighborRatingOut | None


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


@fields_of(TakenOut)
class TakenOutOut(Response):
    """A rating that is taken out."""

    label: Title


@fields_of(Counterfactual)
class CounterfactualOut(Response):
    """The ratings without which an item would not be recommended."""

    label: Title
    instead: ItemId | None = Field(description="The best item that is then new in the list; null if none is.")


@fields_of(Prediction, without=["user"])
class PredictionOut(Response):
    """A predicted rating."""

    title: Title


class PredictionsOut(Response):
    """Predicted ratings, in the order of the request."""

    user: UserId
    predictions: list[PredictionOut]


@fields_of(Evidence)
class EvidenceOut(Response):
    """A rating through which a neighbor contributes."""

    label: Title


@fields_of(Contribution, without=["measure_value"])
class ContributionOut(MeasureValue):
    """The part of a predicted rating that one neighbor makes."""


@fields_of(RatingExplanation, without=["prediction", "labels", "value_name"])
@fields_of(Prediction, without=["baseline"])
class RatingExplanationOut(Response):
    """The parts of a predicted rating: baseline, contributions and others add up to `total`."""

    label: Title
    total: float = Field(description="The sum of all parts, before it is clipped to the scale.")
    others: OthersOut


@fields_of(Certificate, without=["marginal_error", "violation"])
class CertificateOut(Response):
    """The proof that a plan is optimal: its cost, and a lower bound of the cost of any plan."""


@fields_of(Factor)
class FactorOut(Response):
    """A factor of the measure's formula."""

    value: float | None


@fields_of(Flow)
class FlowOut(Response):
    """A part of a measure's value: for PMD, preference that moves from an item to an item."""

    source_label: Title
    target_label: Title


class GroupedItemOut(Response):
    """The groups of an item, by kind: genre, decade, or cluster of similar items."""

    item: ItemId
    groups: dict[str, str] = Field(examples=[{"genre": "Horror", "decade": "1970s"}])


@fields_of(UserExplanation, without=["value", "larger_is_closer", "co_rated", "labels", "words"])
class UserExplanationOut(MeasureValue):
    """Why two users are as near as they are, by the measure of the model."""

    n_common: Count = Field(description="Number of items that both rated.")
    common_share: float | None = Field(description="Share of the preference on those items; null unless PMD.")
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
