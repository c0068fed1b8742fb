"""Nearest users that are remembered are those of a search, bit for bit."""

import numpy as np

from prefmover import datasets
from prefmover.measures import MEASURES
from prefmover.predict import similarity as module
from prefmover.predict.similarity import UserSimilarity


def small():
    cinema = datasets.load("cinema")
    return UserSimilarity(cinema.with_ratings(cinema.ratings.take(users=range(60))), MEASURES["pmd"])


def test_lists_are_those_of_a_search(monkeypatch):
    similarity = small()
    searches = []
    search = UserSimilarity.nearest
    monkeypatch.setattr(
        UserSimilarity, "nearest", lambda self, *args: searches.append(args) or search(self, *args)
    )
    for k in (5, 3, 8, 8, 2):
        positions, values = similarity.nearest_to(7, k)
        expected = search(similarity, np.array([7]), k).row(0)
        np.testing.assert_array_equal(positions, expected[0])
        np.testing.assert_array_equal(values, expected[1])
    assert len(searches) == 2  # for 5 and for 8
    assert len(similarity.nearest_to(7, 500)[0]) == len(similarity.nearest_to(7, 400)[0]) == 59
    assert len(searches) == 3


def test_other_data_are_searched_again():
    similarity = small()
    similarity.nearest_to(7, 5)
    for other in (similarity.with_data(similarity.data), similarity.updated(similarity.data)):
        assert not other.remembered
    assert similarity.remembered


def test_the_oldest_is_forgotten(monkeypatch):
    monkeypatch.setattr(module, "REMEMBERED", 2)
    similarity = small()
    for user in (4, 5, 6):
        similarity.nearest_to(user, 2)
    assert set(similarity.remembered) == {5, 6}
