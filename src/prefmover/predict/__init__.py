"""From neighbors to ratings, and to reasons.

::

    asked.py        what is asked, however it is given
    item_space.py   ratings over the items of a geometry or a model
    centering.py    what to expect of a user and an item
    predict.py      a weighted mean of what the nearest users said (the paper's predictor)
    user_kernel.py  users as vectors, from distances to landmarks
    regression.py   lending opinions to similar users and similar items, all at once (the default)
    top_n.py        the best unrated items
    explain.py      two users' transport plan, and the parts of a prediction, to read
"""

from prefmover.predict.base import HOW, NeighborPart, Prediction, Predictions
from prefmover.predict.centering import CENTERINGS, Centering
from prefmover.predict.explanations import RecommendationExplanation, UserExplanation
from prefmover.predict.regression import Shared

__all__ = [
    "CENTERINGS",
    "HOW",
    "Centering",
    "NeighborPart",
    "Prediction",
    "Predictions",
    "RecommendationExplanation",
    "Shared",
    "UserExplanation",
]
