"""The model that people fit, ask, save and load.

::

    user_knn.py   UserKNN: fit, predict, recommend, neighbors, explain, save, load
    guest.py      Guest: the same answers for somebody who is not in the data
    saved.py      a fitted model to and from a folder
"""

from prefmover.model.guest import Guest
from prefmover.model.user_knn import UserKNN

__all__ = ["Guest", "UserKNN"]
