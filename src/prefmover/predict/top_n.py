"""The best of what a user has not rated."""

import numpy as np

from prefmover.errors import InputError
from prefmover.predict.centering import Floats, Index

__all__ = ["best"]


def best(scores: Floats, rated: Index, n: int) -> Index:
    """Return the positions of the n highest scores that are not rated: ties in item order, NaN never.

    Examples
    --------
    >>> best(np.array([3.0, 5.0, np.nan, 3.0, 1.0]), rated=np.array([1]), n=2)
    array([0, 3])
    """
    if n != int(n) or n < 1:
        raise InputError(f"n is {n!r}; give a whole number from 1")
    open_ = ~np.isnan(scores)
    open_[rated] = False
    items = np.flatnonzero(open_)
    if len(items) > n:
        # Those tied with the n-th stay in, so that the earlier item wins.
        items = items[scores[items] >= np.partition(scores[items], len(items) - n)[len(items) - n]]
    order = np.argsort(-scores[items], kind="stable")
    return items[order[:n]]
