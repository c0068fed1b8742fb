r"""Likes, and which items the same people like.

A rating is a **like** if it is at least the user's mean. A mean below the middle of the scale counts as the
middle, and one in the upper quarter as its start: on a scale from 1 to 5, a 4 is always a like
and a 2 never is. All implicit feedback is a like.

**Chance.** With n_a likes of item a, n_ab users who like both a and b, and l_u likes of user u,

.. math:: \mathrm{lift}(a, b) = \frac{n_{ab}}{n_a n_b \sum_u l_u^2 / (\sum_u l_u)^2}.

The denominator is the number to expect if every like were drawn by chance, from users in proportion to l_u.
So with a lift of 2, twice as many people like both as by chance. If all users have as many likes, this is the
usual P(a, b) / (P(a) P(b)). Otherwise it is smaller: without the correction, any two items seem to be liked
together, because the same busy people rate everything.
"""

from __future__ import annotations

import numpy as np

from prefmover._typing import Bools, Floats, Ints
from prefmover.data.ratings import Ratings
from prefmover.data.scale import Scale

__all__ = ["ROUNDING", "CoLikes", "liked_together", "likes_among"]

BOTH = 10
"""Two items are liked together if at least this many users like both ..."""

LIFT = 1.5
"""... and this many times as many as by chance."""

ROUNDING = 1e-9


def likes_among(values: Floats, means: Floats | float, scale: Scale) -> Bools:
    """Return which ratings are likes, given the mean rating of each one's user.

    >>> likes_among(np.array([2.0, 3.0, 4.0]), np.array([1.0, 3.5, 4.8]), Scale(1, 5, 1)).tolist()
    [False, False, True]
    """
    if scale.implicit:
        return np.ones(len(values), bool)
    upper = (scale.middle + scale.highest) / 2
    return np.asarray(values >= np.clip(means, scale.middle, upper) - ROUNDING)


class CoLikes:
    """The likes of a data set, and which items the same people like.

    Attributes
    ----------
    means
        (n_users,) the mean rating of each user.
    liked
        (n_users, n_items) 1 where there is a like, by columns.
    n_likes
        (n_items,) how many users like each item.
    by_chance
        Σ l² / (Σ l)²: with n_a and n_b likes, n_a n_b times this many users like both by chance.

    Examples
    --------
    Three of four people like a, and three like b; two of them like both:

    >>> users, items = ["ann", "ann", "bob", "bob", "cid", "dan"], ["a", "b", "a", "b", "a", "b"]
    >>> likes = CoLikes(Ratings.from_arrays(users, items))
    >>> n_both, lift = likes.together(np.array([0]), np.array([1]))
    >>> n_both.tolist(), lift.round(4).tolist()  # 2 / (3 * 3 * 10 / 36)
    ([[2]], [[0.8]])
    """

    def __init__(self, ratings: Ratings) -> None:
        from scipy.sparse import csr_array

        m, counts = ratings.matrix, np.diff(ratings.matrix.indptr)
        self.means: Floats = np.bincount(ratings.rows(), m.data, ratings.n_users) / np.maximum(counts, 1)
        liked = likes_among(m.data, np.repeat(self.means, counts), ratings.scale)
        rows, columns = ratings.rows()[liked], m.indices[liked]
        likes = np.bincount(rows, minlength=ratings.n_users).astype(np.float64)
        self.liked = csr_array((np.ones(len(rows), np.int32), (rows, columns)), shape=m.shape).tocsc()
        self.n_likes: Ints = np.asarray(np.diff(self.liked.indptr), np.int64)
        self.by_chance = float((likes**2).sum() / max(likes.sum(), 1.0) ** 2)

    def together(self, items: Ints, others: Ints) -> tuple[Ints, Floats]:
        """Return how many users like both of two items, and the lift: (items, others) each."""
        likes_it = self.liked[:, items].toarray(order="C")  # a few items: dense columns are faster
        n_both = np.ascontiguousarray((self.liked[:, others].T @ likes_it).T, np.int64)
        expected = np.outer(self.n_likes[items], self.n_likes[others].astype(np.float64)) * self.by_chance
        return n_both, n_both / np.where(expected > 0, expected, 1.0)


def liked_together(n_both: Ints, lift: Floats) -> Bools:
    """Return which items are liked together, given how many like both and how many times chance that is."""
    return np.asarray((n_both >= BOTH) & (lift >= LIFT))
