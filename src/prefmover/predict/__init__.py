"""From similar users to predicted ratings, with their contributions.

::

    base.py         predictions, recommendations, contributions; the protocol of predictors
    inputs.py       pairs and guests' ratings in every form, as positions
    similarity.py   a measure bound to a data set
    centering.py    baselines and residuals
    knn.py, _knn.py the weighted mean over the nearest users (the predictor of the paper)
    user_kernel.py  users as vectors, from distances to landmarks
    regression.py   Gaussian process regression over users and items
    kernel.py       the predictor on top of it (the default)
    tuning.py       settings chosen on held-out ratings
"""

from prefmover.predict.base import (
    HOW,
    Baseline,
    Contribution,
    Evidence,
    Prediction,
    Predictions,
    Recommendation,
    Recommendations,
    UserState,
)
from prefmover.predict.centering import CENTERINGS, Centering
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
    "Recommendation",
    "Recommendations",
    "UserState",
]
