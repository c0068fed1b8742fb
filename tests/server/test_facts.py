"""The taste of a user, and how an item was rated, against slow twins."""

from collections import defaultdict
from types import SimpleNamespace

import numpy as np
import pytest

from prefmover import Dataset, Ratings, datasets
from prefmover.items.catalog import Catalog
from prefmover.server.facts import ItemFacts, UserFacts
from prefmover.server.feedback import Feedback
from prefmover.server.handlers import lookup


@pytest.fixture(scope="module")
def cinema():
    return datasets.load("cinema")


def shares(data, ratings):
    """Return the share of each genre in some ratings, (item, rating)."""
    parts = defaultdict(float)
    for item, rating in ratings:
        for genre in data.catalog.genres[item]:
            parts[genre] += rating / len(data.catalog.genres[item])
    return {genre: part / sum(parts.values()) for genre, part in parts.items()}


def test_tastes_are_above_the_usual_share(cinema):
    matrix = cinema.ratings.matrix
    usual = shares(cinema, zip(matrix.indices.tolist(), matrix.data.tolist(), strict=True))
    users = UserFacts(cinema)
    for user in range(0, 800, 40):
        mine = shares(cinema, zip(*(part.tolist() for part in cinema.ratings.row(user)), strict=True))
        taste = users.taste(user)
        assert len(taste) <= 3
        assert all(mine[genre] > usual[genre] > 0 for genre in taste)


def test_a_lover_of_one_genre():
    titles = Catalog(range(6), list("abcdef"), genres=[["Horror"]] * 3 + [["Drama"]] * 3)
    users = ["fan"] * 3 + ["x"] * 6 + ["y"] * 6
    items = [0, 1, 2, *range(6), *range(6)]
    data = Dataset(Ratings.from_arrays(users, items, [5, 4, 5] + [3] * 12), items=titles)
    facts = UserFacts(data)
    assert facts.taste(facts.position("fan")) == ["Horror"]
    assert "Horror" not in facts.taste(facts.position("x"))


def test_no_genres_or_no_ratings(cinema):
    assert UserFacts(Dataset(Ratings.from_arrays(["a"], ["x"], [5]))).taste(0) == []
    mine = cinema.ratings.row(0)[0]
    others = np.setdiff1d(np.arange(cinema.n_items), mine)
    without = UserFacts(cinema.with_ratings(cinema.ratings.take(items=others)))
    assert without.n_ratings[0] == 0
    assert without.taste(0) == []


def item_page(data, item):
    facts = {"users": UserFacts(data), "items": ItemFacts(data), "feedback": Feedback(data.ratings)}
    served = SimpleNamespace(data=data, **facts)
    return lookup.get_item(served, item)


@pytest.mark.parametrize("item", ["alien-1979", "the-thing-1982"])
def test_how_an_item_was_rated(cinema, item, monkeypatch):
    monkeypatch.setattr(lookup, "FANS", 1000)
    given = {user: cinema.ratings[user][item] for user in cinema.ratings if item in cinema.ratings[user]}
    found = item_page(cinema, item)
    counts = {one.rating: one.count for one in found.ratings}
    assert counts == {r: list(given.values()).count(r) for r in np.arange(1, 5.5, 0.5)}
    above = {user: r - np.mean(list(cinema.ratings[user].values())) for user, r in given.items()}
    fans = {one.user: one.rating for one in found.fans}
    assert fans == {user: given[user] for user in given if above[user] > 0}
    assert found.n_fans == len(fans)
    far = [above[user] for user in fans]
    assert far == pytest.approx(sorted(far, reverse=True))


def test_an_item_without_ratings():
    data = Dataset(Ratings.from_arrays(["a"], ["x"], [5]), items={"x": "X", "y": "Y"})
    found = item_page(data, "y")
    assert (found.ratings, found.fans, found.n_fans, found.mean_rating) == ([], [], 0, None)
