"""A small data set for the tests of predictors and models."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from prefmover.data.ratings import Ratings
from prefmover.data.scale import Scale
from prefmover.dataset import Dataset
from prefmover.items.geometry import ItemGeometry


def make_data(seed, n_users=24, n_items=18, per_user=7):
    rng = np.random.default_rng(seed)
    vectors = np.abs(rng.normal(size=(n_items, 4))) + 0.05
    tastes = np.abs(rng.normal(size=(n_users, 4)))
    dense = np.zeros((n_users, n_items))
    for u in range(n_users):
        seen = rng.choice(n_items, rng.integers(2, per_user + 1), replace=False)
        dense[u, seen] = np.clip(np.round(1 + tastes[u] @ vectors[seen].T + rng.normal(size=len(seen))), 1, 5)
    users = [f"u{k:02d}" for k in range(n_users)]
    items = [f"i{k:02d}" for k in range(n_items)]
    ratings = Ratings.from_csr(csr_array(dense), users=users, items=items, scale=Scale(1, 5, 1))
    return Dataset(ratings, ItemGeometry.from_vectors(items, vectors, name="random"))


@pytest.fixture(scope="session")
def data():
    return make_data(3)
