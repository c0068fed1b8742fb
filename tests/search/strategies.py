"""Random ratings with item geometries of every kind, for Hypothesis."""

import numpy as np
from hypothesis import strategies as st

from prefmover import Dataset, ItemGeometry, Ratings

KINDS = ("angles", "few angles", "on demand", "not a metric", "unknown")


@st.composite
def rated(draw, most_users=40, most_items=20):
    """A data set: ties, duplicate items, single ratings, zeros, users without mass."""
    seed = draw(st.integers(0, 2**32 - 1))
    n_users, n_items = draw(st.integers(2, most_users)), draw(st.integers(1, most_items))
    longest = draw(st.integers(1, n_items))
    lowest, halves = draw(st.sampled_from([0, 1])), draw(st.booleans())
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest + 1, n_users)
    users = np.repeat(np.arange(n_users), lengths)
    items = np.concatenate([rng.choice(n_items, n, replace=False) for n in lengths])
    stars = rng.integers(2 * lowest, 11, users.size) / 2 if halves else rng.integers(lowest, 6, users.size)
    ratings = Ratings.from_arrays(users, items, stars)
    return Dataset(ratings, geometry_of(draw(st.sampled_from(KINDS)), ratings.items, rng))


def geometry_of(kind, items, rng):
    n = len(items)
    if kind == "angles":
        return ItemGeometry.from_vectors(items, rng.random((n, 4)))
    if kind == "few angles":  # many equal distances, some zero
        return ItemGeometry.from_vectors(items, rng.integers(0, 2, (n, 3)) + np.array([1, 0, 0]))
    if kind == "on demand":
        return ItemGeometry.from_vectors(items, rng.normal(size=(n, 3)), budget=0)
    D = rng.integers(0, 5, (n, n)).astype(float) if kind == "not a metric" else rng.random((n, n))
    D = D + D.T
    np.fill_diagonal(D, 0)
    return ItemGeometry.from_distance(items, D)
