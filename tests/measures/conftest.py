"""Small random ratings, on every kind of scale, with item similarities."""

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.sparse import csr_array

from prefmover import MEASURES, Dataset, ItemGeometry, Ratings, Scale

SCALES = {
    "stars": Scale(1, 5, 1),
    "half stars": Scale(0.5, 5, 0.5),
    "ten": Scale(1, 10, 1),
    "from zero": Scale(0, 5, 1),
    "tenths": Scale(0.1, 0.9, 0.1),
    "continuous": Scale(0, 1, 0),
}


# Every measure under every convention that differs from its others.
ROWS = [(name, convention) for name, row in MEASURES.items() for convention in row.distinct_conventions()]


@st.composite
def small_worlds(draw, scales=tuple(SCALES)):
    """Return a data set (some users may have no ratings), and its rows as dictionaries."""
    scale = SCALES[draw(st.sampled_from(scales))]
    n_users, n_items = draw(st.integers(2, 6)), draw(st.integers(1, 6))
    level = st.integers(0, 2**20).map(lambda k: k / 2**20)
    if scale.step:
        n_steps = round((scale.highest - scale.lowest) / scale.step)
        level = st.integers(0, n_steps).map(lambda k: round(scale.lowest + scale.step * k, 9))
    cell = st.one_of(st.none(), level) if draw(st.booleans()) else st.one_of(level, st.none(), level)
    rows = [{} for _ in range(n_users)]
    for row in rows:
        for i in range(n_items):
            rating = draw(cell)
            if rating is not None:
                row[i] = rating
    rows[0].setdefault(0, draw(level))  # no ratings at all is no Ratings
    rows[0] = dict(sorted(rows[0].items()))
    seed = draw(st.integers(0, 2**16))
    return world(rows, n_items, scale, seed)


def world(rows, n_items, scale, seed=0):
    u = [k for k, row in enumerate(rows) for _ in row]
    i = [i for row in rows for i in row]
    values = np.array([x for row in rows for x in row.values()], dtype=float)
    indptr = np.searchsorted(u, np.arange(len(rows) + 1))
    # From the three arrays: from dense, stored zeros would be lost.
    matrix = csr_array((values, np.array(i, dtype=np.int32), indptr), shape=(len(rows), n_items))
    ratings = Ratings.from_csr(matrix, scale=scale)
    vectors = np.random.default_rng(seed).random((n_items, 3)) + 0.01
    geometry = ItemGeometry.from_vectors(np.arange(n_items), vectors, name="random")
    return Dataset(ratings, geometry), rows


@pytest.fixture(scope="session")
def big_world():
    """Some hundred users: more than a thread's share of rows."""
    rng = np.random.default_rng(5)
    rows = [
        {
            i: float(rng.integers(1, 6))
            for i in sorted(rng.choice(40, rng.integers(0, 12), replace=False).tolist())
        }
        for _ in range(150)
    ]
    return world(rows, 40, SCALES["stars"])
