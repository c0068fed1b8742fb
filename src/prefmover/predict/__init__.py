"""From similar users to predicted ratings, with their contributions.

::

    base.py         predictions and contributions; the protocol of predictors
    inputs.py       pairs and guests' ratings in every form, as positions
    similarity.py   a measure bound to a data set
    centering.py    baselines and residuals
    knn.py, _knn.py the weighted mean over the nearest users (the predictor of the paper)
    user_kernel.py  users as vectors, from distances to landmarks
    item_kernel.py  items as vectors, in the same way
    regression.py   Gaussian process regression over users and items
    kernel.py       the predictor on top of it (the default)
    tuning.py       its settings, chosen on held-out ratings
    item_side.py    what a user's own likes say about other items (EASE)
    content.py      what they say about items of similar content
    nearest_items.py    weights of the nearest items
    user_side.py    what people with the user's taste like (kernel ridge regression)
    ranking.py      both sides together: scores to rank by
    ranking_tuning.py   their settings, chosen on held-out ratings
    ndcg.py         the metric by which they are chosen
    ranker.py       rankers of the models, with the parts of each score
    selection.py    the best of the candidates: filters, novelty, diversity
    recommendations.py  recommended items, for one user and for many
    similar_items.py    scores of items that nobody has rated
    co_likes.py     who liked what, and which items are liked together
    implicit.py     the predictor of implicit feedback, which has no ratings to predict
    row_sums.py     sums over the entries of a sparse matrix, on threads
"""

from prefmover.predict.base import (
    HOW,
    Baseline,
    Contribution,
    Evidence,
    Prediction,
    Predictions,
    UserState,
)
from prefmover.predict.centering import CENTERINGS, Centering
from prefmover.predict.ranking import RankingSettings
from prefmover.predict.recommendations import Recommendation, Recommendations, RecommendationTable
from prefmover.predict.regression import Covariance

__all__ = [
    "CENTERINGS",
    "HOW",
    "Baseline",
    "Centering",
    "Contribution",
    "Covariance",
    "Evidence",
    "Prediction",
    "Predictions",
    "RankingSettings",
    "Recommendation",
    "RecommendationTable",
    "Recommendations",
    "UserState",
]
