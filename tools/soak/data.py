"""Random small data sets: ratings, with users who have none, and item geometries of every kind."""

import warnings

import numpy as np
from scipy.sparse import csr_array

from prefmover.data.ratings import Ratings
from prefmover.dataset import Dataset
from prefmover.errors import CoarseGeometryWarning
from prefmover.items.geometry import ItemGeometry

GEOMETRIES = ("angles", "near parallel", "twins", "on demand", "not a metric", "ties", "one-minus")


def random_data(rng, most_users=20, most_items=40):
    """Return a Dataset; some users and items have no ratings."""
    n_users, n_items = int(rng.integers(1, most_users + 1)), int(rng.integers(1, most_items + 1))
    longest = int(rng.integers(1, n_items + 1))
    lengths = rng.integers(1, longest + 1, n_users)
    if rng.random() < 0.3:
        lengths[1:][rng.random(n_users - 1) < 0.2] = 0
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    indices = np.concatenate(
        [np.empty(0, np.int64), *(np.sort(rng.choice(n_items, n, replace=False)) for n in lengths)]
    )
    matrix = csr_array((random_stars(rng, indices.size), indices, indptr), shape=(n_users, n_items))
    ratings = Ratings.from_csr(matrix, users=np.arange(n_users), items=np.arange(n_items), zeros="rating")
    if n_users > 2 and rng.random() < 0.3:  # twins: distance 0, and ties with all other users
        twins = ratings.matrix[np.append(0, rng.integers(0, n_users, n_users - 1))]
        ratings = Ratings.from_csr(twins, users=np.arange(n_users), items=np.arange(n_items), zeros="rating")
    return Dataset(ratings, random_geometry(rng, n_items))


def random_stars(rng, n):
    """Return n ratings: whole or half stars, likes, counts over orders of magnitude, or with zeros."""
    kind = rng.integers(6)
    if kind == 0:
        return rng.integers(1, 11, n) / 2
    if kind == 1:
        return np.ones(n)
    if kind == 2:
        return rng.integers(0, 4, n).astype(float)
    if kind == 3:
        return np.floor(10.0 ** rng.uniform(0, 8, n))
    if kind == 4:
        return rng.random(n)
    return rng.integers(1, 6, n).astype(float)


def random_geometry(rng, n, kind=None):
    """Return a geometry of n items, with ids 0 to n - 1."""
    kind = kind or rng.choice(GEOMETRIES)
    ids = np.arange(n)
    if kind == "angles":
        return ItemGeometry.from_vectors(ids, rng.random((n, 5)) + 1e-3, n_threads=1)
    if kind == "near parallel":
        near = 10.0 ** rng.uniform(-9, -3)
        return ItemGeometry.from_vectors(ids, rng.random(4) + 0.1 + near * rng.random((n, 4)), n_threads=1)
    if kind == "twins":
        return ItemGeometry.from_vectors(ids, (rng.random((4, 3)) + 0.1)[rng.integers(0, 4, n)], n_threads=1)
    if kind == "on demand":
        return ItemGeometry.from_vectors(ids, rng.normal(size=(n, 3)), budget=0)
    if kind == "one-minus":
        S = rng.random((n, n))
        S = (S + S.T) / 2
        np.fill_diagonal(S, 1.0)
        return ItemGeometry.from_similarity(ids, S, "one-minus")
    D = rng.integers(0, 4, (n, n)) if kind == "ties" else 10.0 ** rng.uniform(-6, 6, (n, n))
    D = np.triu(D, 1).astype(float)
    with warnings.catch_warnings():  # distances over twelve orders of magnitude are coarse, on purpose
        warnings.simplefilter("ignore", CoarseGeometryWarning)
        return ItemGeometry.from_distance(ids, D + D.T)
