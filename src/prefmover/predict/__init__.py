"""How would I rate it: ratings of similar users, turned into predicted ratings with their contributions.

::

    predictor.py                predicted ratings, contributions, the protocol of predictors, states of users
    similarity.py               a measure bound to a data set
    low_rank.py                 users and items as vectors, from distances to landmarks
    centering.py                baselines and residuals
    knn.py, _knn.py             the weighted mean over the nearest users (the predictor of the paper)
    gaussian_process.py         regression over users and items (the default)
    solver.py, _sparse_sums.py  its system of equations; sums over the entries of a sparse matrix, on threads
"""

from prefmover.predict.centering import CENTERINGS, Centering
from prefmover.predict.gaussian_process import RatingSettings
from prefmover.predict.predictor import (
    HOW,
    Baseline,
    Contribution,
    Evidence,
    Prediction,
    Predictions,
    UserState,
)

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
