"""Requests and responses; ``/api/v1/openapi.json`` is made from these classes.

Each module has the schemas of one subject. A value of the model's measure is called ``distance`` or
``similarity``, whichever it is; the other is absent.
"""

from prefmover.server.schemas.base import Id
from prefmover.server.schemas.explanations import (
    BaselineOut,
    CertificateOut,
    ComparisonOut,
    ContributionOut,
    EvidenceOut,
    FactorOut,
    FlowOut,
    GroupedItemOut,
    MeasureValueOut,
    NeighborRatingOut,
    OthersOut,
    OwnRatingOut,
    RatingExplanationOut,
    RecommendationExplanationOut,
    UserExplanationOut,
)
from prefmover.server.schemas.imports import ImportedRatingOut, ImportOut, UnmatchedOut
from prefmover.server.schemas.items import (
    FanOut,
    ItemDetailsOut,
    ItemOut,
    ItemsOut,
    ListedItemsOut,
    NearItemOut,
    NearItemsOut,
    RatingCountOut,
    SearchOut,
)
from prefmover.server.schemas.maps import MapOut, PointOut
from prefmover.server.schemas.model import MeasureOut, ModelOut, ScaleOut, SpreadOut
from prefmover.server.schemas.recommendations import (
    GroupRecommendationOut,
    GroupRecommendationsOut,
    MemberScoreOut,
    PredictionOut,
    PredictionsOut,
    RecommendationOut,
    RecommendationsOut,
    UsersRecommendationsOut,
)
from prefmover.server.schemas.requests import (
    MOST_ITEMS,
    MOST_MEMBERS,
    MOST_NEIGHBORS,
    MOST_RATINGS,
    MOST_RECOMMENDATIONS,
    MOST_USERS,
    Export,
    Group,
    GroupNeighbors,
    Guest,
    GuestItem,
    GuestNeighbors,
    GuestOther,
    GuestPredictions,
    GuestRating,
    GuestRecommendations,
    ItemIds,
    NeighborOptions,
    RecommendationOptions,
    UsersRecommendations,
)
from prefmover.server.schemas.service import FieldError, JobOut, Problem, StartProgress, StatusOut
from prefmover.server.schemas.users import (
    CommonGroundOut,
    ExampleOut,
    GroupNeighborsOut,
    ListedNeighborOut,
    NeighborListOut,
    NeighborListsOut,
    NeighborOut,
    NeighborsOut,
    NeighborTestOut,
    RatedItemOut,
    UserDetailsOut,
    UserOut,
    UsersOut,
)

# fmt: off
__all__ = [
    "MOST_ITEMS", "MOST_MEMBERS", "MOST_NEIGHBORS", "MOST_RATINGS", "MOST_RECOMMENDATIONS", "MOST_USERS",
    "BaselineOut", "CertificateOut", "CommonGroundOut", "ComparisonOut", "ContributionOut", "EvidenceOut",
    "ExampleOut", "Export", "FactorOut", "FanOut", "FieldError", "FlowOut", "Group", "GroupNeighbors",
    "GroupNeighborsOut", "GroupRecommendationOut", "GroupRecommendationsOut", "GroupedItemOut", "Guest",
    "GuestItem", "GuestNeighbors", "GuestOther", "GuestPredictions", "GuestRating",
    "GuestRecommendations", "Id", "ImportOut", "ImportedRatingOut", "ItemDetailsOut", "ItemIds",
    "ItemOut", "ItemsOut", "JobOut", "ListedItemsOut", "ListedNeighborOut", "MapOut", "MeasureOut",
    "MeasureValueOut", "MemberScoreOut", "ModelOut", "NearItemOut", "NearItemsOut", "NeighborListOut",
    "NeighborListsOut", "NeighborOptions", "NeighborOut", "NeighborRatingOut", "NeighborTestOut",
    "NeighborsOut", "OthersOut", "OwnRatingOut", "PointOut", "PredictionOut", "PredictionsOut", "Problem",
    "RatedItemOut", "RatingCountOut", "RatingExplanationOut", "RecommendationExplanationOut",
    "RecommendationOptions", "RecommendationOut", "RecommendationsOut", "ScaleOut", "SearchOut",
    "SpreadOut", "StartProgress", "StatusOut", "UnmatchedOut", "UserDetailsOut", "UserExplanationOut",
    "UserOut", "UsersOut", "UsersRecommendations", "UsersRecommendationsOut",
]
# fmt: on
