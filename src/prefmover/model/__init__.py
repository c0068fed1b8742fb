"""Models: fit to a Dataset, predict, recommend, explain, save and load.

::

    recommender.py      Recommender: a ranking and predicted ratings over one measure, the default
    knn_recommender.py  KNNRecommender: the k nearest users, as in the paper
    estimator.py        what both are: parameters, a fit, updates, a folder
    base_recommender.py what both answer
    inputs.py           pairs and guests' ratings in every form
    batch.py            the best items for some users, and for all in blocks
    groups.py           the best items for several people together
    storage.py          a fitted model to a folder and back, its arrays declared and checked
    folder.py           the files of such a folder
    cache.py            models that are fitted once, in the cache folder
"""

from prefmover.model.knn_recommender import KNNRecommender
from prefmover.model.recommender import Recommender
from prefmover.model.storage import load

__all__ = ["KNNRecommender", "Recommender", "load"]
