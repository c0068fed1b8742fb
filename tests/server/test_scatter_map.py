"""Maps: near ones are near, whatever is on the map has one point in the unit square."""

import numpy as np
import pytest

from prefmover import datasets
from prefmover.measures import find_measure
from prefmover.predict.similarity import UserSimilarity
from prefmover.server.scatter_map import embed, item_map, user_map


def groups(n=120, seed=0):
    """Return distances of points in four well separated groups, and the groups."""
    rng = np.random.default_rng(seed)
    which = np.arange(n) % 4
    x = rng.normal(size=(n, 5)) * 0.3 + np.eye(5)[which] * 4
    return np.linalg.norm(x[:, None] - x[None], axis=2).astype(np.float32), which


def test_groups_stay_together():
    D, which = groups()
    y = embed(D)
    there = np.linalg.norm(y[:, None] - y[None], axis=2)
    np.fill_diagonal(there, np.inf)
    nearest = np.argsort(there, axis=1)[:, :10]
    assert (which[nearest] == which[:, None]).mean() > 0.97
    assert y.min() >= 0
    assert y.max() <= 1
    assert np.ptp(y, axis=0).max() == pytest.approx(1)


def test_the_same_every_time():
    D, _ = groups()
    assert np.array_equal(embed(D), embed(D))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 12])
def test_few_points_and_equal_ones(n):
    for D in (np.zeros((n, n), np.float32), 1 - np.eye(n, dtype=np.float32)):
        y = embed(D)
        assert y.shape == (n, 2)
        assert np.isfinite(y).all()


@pytest.mark.parametrize("measure", ["pmd", "cos"])
def test_users(measure):
    cinema = datasets.load("cinema")
    data = cinema.with_ratings(cinema.ratings.take(users=np.arange(0, 800, 10)))
    steps = []
    users, points = user_map(UserSimilarity(data, find_measure(measure), None, 1), lambda *s: steps.append(s))
    assert users.tolist() == list(range(80))
    assert np.isfinite(points).all()
    assert steps[-1][0] < steps[-1][1]


def test_items():
    data = datasets.load("cinema")
    counts = np.bincount(data.ratings.matrix.indices, minlength=data.n_items)
    items, points = item_map(data.geometry, counts, lambda done, total: None)
    assert items.tolist() == np.flatnonzero(counts).tolist()
    there = np.linalg.norm(points[:, None] - points[None], axis=2)
    D = data.geometry.block(items, items)
    near = np.argsort(D, axis=1)[:, 1]
    rank = (there < there[np.arange(len(near)), near][:, None]).sum(axis=1)
    assert np.median(rank) < 0.05 * len(near)
