"""How would I rate it: ratings of similar users, turned into predicted ratings with their contributions.

::

    predictions.py          predicted ratings, and the contributions that explain them
    predictor.py            the protocol of predictors; the state of a user
    similarity.py           a measure bound to a data set
    low_rank.py             users and items as vectors, from distances to landmarks
    centering.py            baselines and residuals
    knn.py, _knn.py         the weighted mean over the nearest users (the predictor of the paper)
    gaussian_process.py     regression over users and items
    gp_predictor.py         the predictor on top of it (the default)
    sparse_sums.py          sums over the entries of a sparse matrix, on threads (_sparse_sums.py)
"""

from prefmover.predict.centering import CENTERINGS, Centering
from prefmover.predict.gaussian_process import RatingSettings
from prefmover.predict.predictions import HOW, Baseline, Contribution, Evidence, Prediction, Predictions
from prefmover.predict.predictor import UserState

__all__ = [
    "CENTERINGS",
    "HOW",
    "Baseline",
    "Centering",
    "Contribution",
    "Evidence",
    "Prediction",
    "Predictions",
    "RatingSettings",
    "UserState",
]
