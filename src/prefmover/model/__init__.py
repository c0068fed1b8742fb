"""Models: fit to a Dataset, predict, recommend, explain, save and load.

::

    recommender.py      Recommender: a ranking and predicted ratings over one measure, the default
    knn_recommender.py  KNNRecommender: the k nearest users, as in the paper
    base_recommender.py the methods that both share
    inputs.py           pairs and guests' ratings in every form
    batch.py            the best items for some users, and for all in blocks
    groups.py           the best items for several people together
    arrays.py           the arrays of a fitted model, declared and checked
    storage.py          a fitted model to a folder and back
    folder.py           the files of such a folder
    cache.py            the default model of a data set, fitted once
    estimator.py        what scikit-learn expects of an estimator
"""

from prefmover.model.knn_recommender import KNNRecommender
from prefmover.model.recommender import Recommender
from prefmover.model.storage import load

__all__ = ["KNNRecommender", "Recommender", "load"]
