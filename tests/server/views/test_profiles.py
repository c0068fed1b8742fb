"""The taste of a user, and how an item was rated, against slow twins."""

import numpy as np
import pytest

from prefmover import Dataset, Ratings, datasets
from prefmover.items.catalog import Catalog
from prefmover.server.views.profiles import Tastes, item_profile


@pytest.fixture(scope="module")
def cinema():
    return datasets.load("cinema")


def test_shares_of_genres(cinema):
    items, ratings = cinema.ratings.row(0)
    found = Tastes(cinema).of(items, ratings)
    assert 1 <= len(found) <= 3
    for one in found:
        parts = [
            rating / len(cinema.catalog.genres[item]) * (one.genre in cinema.catalog.genres[item])
            for item, rating in zip(items.tolist(), ratings.tolist(), strict=True)
            if cinema.catalog.genres[item]
        ]
        whole = sum(r for i, r in zip(items.tolist(), ratings, strict=True) if cinema.catalog.genres[i])
        assert one.share == pytest.approx(sum(parts) / whole)
        assert one.share > one.usual > 0


def test_a_lover_of_one_genre():
    titles = Catalog(range(6), list("abcdef"), genres=[["Horror"]] * 3 + [["Drama"]] * 3)
    users = ["fan"] * 3 + ["x"] * 6 + ["y"] * 6
    items = [0, 1, 2, *range(6), *range(6)]
    data = Dataset(Ratings.from_arrays(users, items, [5, 4, 5] + [3] * 12), items=titles)
    row = data.ratings.row(data.user_position("fan"))
    assert [one.genre for one in Tastes(data).of(*row)] == ["Horror"]
    assert Tastes(data).of(*data.ratings.row(data.user_position("x")))[:1] != [("Horror", 1.0, 0.5)]


def test_no_genres_or_no_ratings(cinema):
    data = Dataset(Ratings.from_arrays(["a"], ["x"], [5]))
    assert Tastes(data).of(*data.ratings.row(0)) == []
    assert Tastes(cinema).of(np.empty(0, np.int64), np.empty(0)) == []


@pytest.mark.parametrize("item", ["alien-1979", "the-thing-1982"])
def test_how_an_item_was_rated(cinema, item):
    position = cinema.item_position(item)
    given = {user: cinema.ratings[user][item] for user in cinema.ratings if item in cinema.ratings[user]}
    found = item_profile(cinema, position, n=1000)
    assert dict(found.counts) == {r: list(given.values()).count(r) for r in set(given.values())}
    above = {user: r - np.mean(list(cinema.ratings[user].values())) for user, r in given.items()}
    fans = {cinema.ratings.users[one.user]: one.above for one in found.fans}
    assert fans == pytest.approx({user: x for user, x in above.items() if x > 0})
    assert found.n_fans == len(fans)
    assert [one.above for one in found.fans] == sorted(fans.values(), reverse=True)


def test_an_item_without_ratings():
    data = Dataset(Ratings.from_arrays(["a"], ["x"], [5]), items={"x": "X", "y": "Y"})
    found = item_profile(data, data.item_position("y"))
    assert found == ([], [], 0)
