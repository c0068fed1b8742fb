"""The generator: right shapes, distinct items, long tails, known tastes, any block size."""

from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefmover.data.ratings import Ratings
from prefmover.datasets.synthetic import simulate, synthetic
from prefmover.errors import InputError
from tests.messages import names

generator = import_module("prefmover.datasets.synthetic")  # the package has a function of this name


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_every_user_has_so_many_distinct_items_in_order(data):
    items = data.draw(st.integers(1, 60))
    most = data.draw(st.integers(1, items))
    fewest = data.draw(st.integers(1, most))
    users = data.draw(st.integers(1, 50))
    tastes = data.draw(st.integers(1, min(items, 8)))
    seed = data.draw(st.integers(0, 2**32))
    result = simulate(users, items, ratings=(fewest, most), tastes=tastes, features=5, seed=seed)
    counts = np.diff(result.indptr)
    assert len(counts) == len(result.user_tastes) == users
    assert fewest <= counts.min() <= counts.max() <= most
    for start, stop in zip(result.indptr[:-1], result.indptr[1:], strict=True):
        favorites = result.indices[start:stop]
        assert (np.diff(favorites) > 0).all()
        assert 0 <= favorites[0] <= favorites[-1] < items
    assert len(result.stars) == len(result.indices) == result.indptr[-1]
    assert set(result.stars.tolist()) <= set(np.arange(1, 5.5, 0.5).tolist())
    assert result.vectors.shape == (items, 5)
    assert (result.vectors >= 0).all()
    np.testing.assert_allclose(np.linalg.norm(result.vectors, axis=1), 1)


def test_a_seed_means_one_data_set():
    first, again, other = (simulate(300, 80, ratings=(5, 9), seed=s) for s in (1, 1, 2))
    for name in ("indptr", "indices", "stars", "vectors", "item_tastes", "user_tastes"):
        assert np.array_equal(getattr(first, name), getattr(again, name)), name
    assert not np.array_equal(first.indices[:500], other.indices[:500])


def test_blocks_are_put_together_in_order(monkeypatch):
    monkeypatch.setattr(generator, "BLOCK", 64)
    calls = []
    result = simulate(200, 90, ratings=(4, 12), seed=5, progress=lambda *done: calls.append(done))
    assert calls == [(64, 200), (128, 200), (192, 200), (200, 200)]
    favorite = result.user_tastes[np.repeat(np.arange(200), np.diff(result.indptr))]
    favorites = result.item_tastes[result.indices] == favorite
    for start in range(0, 200, 64):
        block = slice(result.indptr[start], result.indptr[min(start + 64, 200)])
        assert favorites[block].mean() > 0.3, "each block's ratings belong to its users"


def test_popularity_has_a_long_tail_and_tastes_show():
    result = simulate(4000, 2000, seed=3)
    seen = np.sort(np.bincount(result.indices, minlength=2000))[::-1]
    assert seen[:200].sum() > 0.2 * seen.sum()
    assert seen[0] > 4 * np.median(seen)
    user = np.repeat(np.arange(4000), np.diff(result.indptr))
    favorites = result.item_tastes[result.indices] == result.user_tastes[user]
    assert 0.5 < favorites.mean() < 0.8
    assert result.stars[favorites].mean() > result.stars[~favorites].mean() + 0.3
    inside = [result.vectors[result.item_tastes == t].mean(axis=0) for t in range(24)]
    nearest = np.argmax(result.vectors @ np.transpose(inside), axis=1)
    assert (nearest == result.item_tastes).mean() > 0.9


def test_the_dataset_is_one_like_the_others():
    data = synthetic(500, 120, ratings=(3, 30), seed=9)
    result = simulate(500, 120, ratings=(3, 30), seed=9)
    twin = Ratings.from_csr(data.ratings.matrix, scale=data.ratings.scale)
    for name in ("data", "indices", "indptr"):
        ours, theirs = getattr(data.ratings.matrix, name), getattr(twin.matrix, name)
        assert ours.dtype == theirs.dtype
        assert np.array_equal(ours, theirs), name
        assert not ours.flags.writeable
    assert np.array_equal(data.ratings.users, np.arange(500))
    assert np.array_equal(data.ratings.items, data.geometry.items)
    assert data.items.genres[17] == (f"taste {result.item_tastes[17]}",)
    assert data.geometry.is_metric
    cosine = float(result.vectors[3] @ result.vectors[8])
    assert abs(data.geometry.block([3], [8])[0, 0] - np.arccos(cosine)) < 1e-6
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
    ],
)
def test_impossible_sizes_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        simulate(**{"users": 10, "items": 30, "ratings": (3, 8), "tastes": 4} | arguments)
