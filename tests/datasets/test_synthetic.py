"""The generator: right shapes, distinct items, long tails, known tastes, any block size."""

from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefmover.data.ratings import Ratings
from prefmover.datasets.synthesis import synthetic
from prefmover.errors import InputError
from tests.messages import names

generator = import_module("prefmover.datasets.synthesis")  # the package has a function of this name


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_every_user_has_so_many_distinct_items_in_order(data):
    items = data.draw(st.integers(1, 60))
    most = data.draw(st.integers(1, items))
    fewest = data.draw(st.integers(1, most))
    users = data.draw(st.integers(1, 50))
    tastes = data.draw(st.integers(1, min(items, 8)))
    seed = data.draw(st.integers(0, 2**32))
    crowd = synthetic(users, items, ratings=(fewest, most), tastes=tastes, features=5, seed=seed)
    counts = np.diff(crowd.ratings.matrix.indptr)  # Ratings check that items ascend within their range
    assert len(counts) == users
    assert fewest <= counts.min() <= counts.max() <= most
    assert set(crowd.ratings.matrix.data.tolist()) <= set(np.arange(1, 5.5, 0.5).tolist())
    assert crowd.geometry.n_items == items


def tastes_of(crowd):
    """Return the taste of each item, and of each user: that of most of the user's items."""
    items = np.array([int(genre.split()[1]) for (genre,) in crowd.catalog.genres])
    users = [np.bincount(items[crowd.ratings.row(u)[0]]).argmax() for u in range(crowd.n_users)]
    return items, np.array(users)


def test_a_seed_means_one_data_set():
    first, again, other = (synthetic(300, 80, ratings=(5, 9), seed=s) for s in (1, 1, 2))
    assert first.ratings.digest() == again.ratings.digest() != other.ratings.digest()
    assert first.geometry.digest() == again.geometry.digest() != other.geometry.digest()
    assert first.catalog.genres == again.catalog.genres


def test_blocks_are_put_together_in_order(monkeypatch):
    monkeypatch.setattr(generator, "BLOCK", 64)
    blocks = synthetic(200, 90, ratings=(4, 12), seed=5).ratings
    assert blocks.n_users == 200
    assert blocks.digest() == synthetic(200, 90, ratings=(4, 12), seed=5).ratings.digest()


def test_popularity_has_a_long_tail_and_tastes_show():
    crowd = synthetic(4000, 2000, seed=3)
    matrix = crowd.ratings.matrix
    seen = np.sort(np.bincount(matrix.indices, minlength=2000))[::-1]
    assert seen[:200].sum() > 0.2 * seen.sum()
    assert seen[0] > 4 * np.median(seen)
    item_tastes, user_tastes = tastes_of(crowd)
    favorites = item_tastes[matrix.indices] == user_tastes[crowd.ratings.rows()]
    assert 0.5 < favorites.mean() < 0.8
    assert matrix.data[favorites].mean() > matrix.data[~favorites].mean() + 0.3
    D = crowd.geometry.block()
    np.fill_diagonal(D, np.inf)
    assert (item_tastes[D.argmin(axis=1)] == item_tastes).mean() > 0.9


def test_the_dataset_is_one_like_the_others():
    data = synthetic(500, 120, ratings=(3, 30), seed=9)
    twin = Ratings.from_csr(data.ratings.matrix, scale=data.ratings.scale)
    for name in ("data", "indices", "indptr"):
        ours, theirs = getattr(data.ratings.matrix, name), getattr(twin.matrix, name)
        assert ours.dtype == theirs.dtype
        assert np.array_equal(ours, theirs), name
        assert not ours.flags.writeable
    assert np.array_equal(data.ratings.users, np.arange(500))
    assert np.array_equal(data.ratings.items, data.geometry.items)
    assert data.geometry.is_metric
    assert "made up" in data.terms


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"users": 0}, names("users")),
        ({"items": 2.5}, names("items")),
        ({"ratings": (0, 5)}, names("ratings")),
        ({"ratings": (5, 4)}, names(5, 4)),
        ({"ratings": (5, 31)}, names(31)),
        ({"tastes": 31}, names(31)),
        ({"features": True}, names("features")),
        ({"mean": 9}, names(9, 3, 8)),
        ({"mean": float("nan")}, names("nan")),
    ],
)
def test_impossible_sizes_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        synthetic(**{"users": 10, "items": 30, "ratings": (3, 8), "tastes": 4} | arguments)


@pytest.mark.parametrize("table", [2_000_000, 900])
def test_numbers_of_ratings_can_be_skewed_around_a_mean(monkeypatch, table):
    monkeypatch.setattr(generator, "TABLE", table)  # small tables: users in groups of similar numbers
    crowd = synthetic(3000, 400, ratings=(5, 120), mean=20, tastes=4, features=5, seed=2)
    counts = np.diff(crowd.ratings.matrix.indptr)
    assert counts.mean() == pytest.approx(20, rel=0.1)
    assert np.median(counts) < 14
    assert counts.max() > 80
    for u in range(0, 3000, 100):
        items, _ = crowd.ratings.row(u)
        assert (np.diff(items) > 0).all()
