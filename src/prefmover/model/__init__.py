"""Models: fit to a Dataset, predict, recommend, explain, save and load.

::

    recommender.py      Recommender: the kernel model, the default
    knn_recommender.py  KNNRecommender: the k nearest users, as in the paper
    base.py             the methods that both share
    lists.py            the best items for some users
    together.py         the best items for several people together
    everybody.py        the best items for all users, in blocks
    storage.py          a fitted model to a folder and back
    folder.py           the files of such a folder
    cache.py            the default model of a data set, fitted once
    estimator.py        what scikit-learn expects of an estimator
"""

from prefmover.model.knn_recommender import KNNRecommender
from prefmover.model.recommender import Recommender

__all__ = ["KNNRecommender", "Recommender"]
