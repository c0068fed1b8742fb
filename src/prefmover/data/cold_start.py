"""Splits for what a recommender knows least of: items that nobody has rated, and people with a few ratings.

Both are drawn by hashes, as :mod:`prefmover.data.splits` says, and repeat themselves within their training
ratings for a search of settings: these items, or people, are held out of it in the same way.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from prefmover._typing import Ints
from prefmover.data.file_options import check_whole_number
from prefmover.data.ratings import Ratings
from prefmover.data.splits import Split, check_share, hashed, masked_split, random_keys
from prefmover.errors import InputError

__all__ = ["HELD", "cold_items", "new_people", "people_share"]

HELD = 0.1
"""The share of the items, or of the people, that is held out."""

ITEM_SEED, USER_SEED, ORDER_SEED = 2_000_003, 3_000_017, 4_000_037


def cold_items(ratings: Ratings, train: float = 0.8, seed: int = 0) -> Split:
    """Hold a tenth of the rated items out whole, and a share of the ratings of the others.

    ``train`` is the share of the other items' ratings to train on. With the same seed, the items are the
    same, and the training ratings of a smaller share are a part of those of a larger one.

    >>> ratings = Ratings.from_arrays(np.repeat(range(20), 10), np.tile(range(10), 20), np.ones(200))
    >>> split = cold_items(ratings, 0.5)
    >>> split.new_items, split.train.n_ratings + split.n_test
    (1, 200)
    """
    rated = np.flatnonzero(np.bincount(ratings.matrix.indices, minlength=ratings.n_items))
    cold = _drawn(rated, max(1, round(HELD * len(rated))), seed + ITEM_SEED)
    check_share(train)
    others = np.flatnonzero(~np.isin(ratings.matrix.indices, cold))
    order = np.argsort(random_keys(ratings, seed)[others], kind="stable")
    chosen = np.zeros(ratings.n_ratings, bool)
    chosen[others[order[: round(train * len(others))]]] = True
    name = f"{train:g} of the ratings without {len(cold):,} of {len(rated):,} items, seed {seed}"
    return masked_split(ratings, chosen, name, again=cold_items)


def new_people(ratings: Ratings, given: int, most: int = 10, held: float = HELD, seed: int = 0) -> Split:
    """Hold out people, a tenth of those with more than ``most`` ratings, and train on a few ratings of each.

    Parameters
    ----------
    given
        The number of ratings of each of them to train on. With the same seed, the people are the same, and
        fewer given ratings are a part of more.
    most
        The largest number of given ratings of the experiment.
    held
        The share of the people that is held out.

    >>> ratings = Ratings.from_arrays(np.repeat(range(20), 10), np.tile(range(10), 20), np.ones(200))
    >>> split = new_people(ratings, 3, most=5)
    >>> np.unique(split.users, return_counts=True)[1].tolist()
    [7, 7]
    """
    check_whole_number("given", given)
    counts = np.diff(ratings.matrix.indptr)
    able = np.flatnonzero(counts > most)
    if not len(able):
        raise InputError(f"nobody has more than {most} ratings; give fewer", argument="given")
    people = _drawn(able, max(1, round(held * len(able))), seed + USER_SEED)
    rows = ratings.rows()
    order = np.lexsort((hashed(seed + ORDER_SEED, np.arange(ratings.n_ratings)), rows))
    rank = np.empty(ratings.n_ratings, np.int64)
    rank[order] = np.arange(ratings.n_ratings) - ratings.matrix.indptr[rows[order]]
    chosen = ~np.isin(rows, people) | (rank < given)
    name = f"{len(people):,} people with {given} ratings each, seed {seed}"
    return masked_split(ratings, chosen, name, again=partial(_again, given, most))


def people_share(ratings: Ratings, given: int, most: int) -> float:
    """Return the share of the ratings that :func:`new_people` trains on, in expectation over the seeds.

    >>> ratings = Ratings.from_arrays(np.repeat(range(20), 10), np.tile(range(10), 20), np.ones(200))
    >>> people_share(ratings, 3, most=5), new_people(ratings, 3, most=5).train.n_ratings / 200
    (0.93, 0.93)
    """
    counts = np.diff(ratings.matrix.indptr)
    able = counts[counts > most]
    return round(1 - HELD * float((able - given).sum()) / ratings.n_ratings, 6)


def _again(given: int, most: int, ratings: Ratings, train: float, seed: int) -> Split:
    return new_people(ratings, given, most, 1 - train, seed)


def _drawn(some: Ints, n: int, seed: int) -> Ints:
    """Return n of some positions."""
    return some[np.argsort(hashed(seed, some), kind="stable")[:n]]
