"""Neighbors by several measures, and users with nothing in common."""

import numpy as np
import pytest

from prefmover import Recommender, datasets, pmd
from prefmover.data.ratings import one_user
from prefmover.measures import find_measure
from prefmover.predict.similarity import UserSimilarity
from prefmover.server.views.neighbor_comparison import SUGGESTED, common_ground, neighbor_lists


@pytest.fixture(scope="module")
def data():
    cinema = datasets.load("cinema")
    return cinema.with_ratings(cinema.ratings.take(users=np.arange(0, 800, 8)))


def similarity(data, measure):
    return UserSimilarity(data, find_measure(measure), None, 1)


def test_lists_are_the_neighbors_of_each_measure(data):
    both = [similarity(data, name) for name in ("pmd", "cos")]
    items, ratings = data.ratings.row(3)
    for one, found in zip(both, neighbor_lists(both, 3, items, ratings, k=7), strict=True):
        users, values = one.nearest(np.array([3]), 7).row(0)
        assert found.values == pytest.approx(values)
        if found.measure == "pmd":  # cosine has ties
            assert found.users.tolist() == users.tolist()
        theirs = [len(np.intersect1d(items, data.ratings.row(u)[0])) for u in found.users.tolist()]
        assert found.n_common.tolist() == theirs
        assert 0 <= found.test.hits <= found.test.n_hidden == (ratings > ratings.mean()).sum()
        assert found.test.n_suggested == SUGGESTED


def test_a_twin_finds_what_is_hidden(data):
    """Somebody whose nearest have the same ratings: all hidden favorites are among their suggestions."""
    twins = data.ratings.take(users=[0])
    ratings = data.ratings
    for k in range(10):
        ratings = ratings.stack(one_user(ratings, f"twin{k}", *twins.row(0)))
    many = data.with_ratings(ratings)
    (found,) = neighbor_lists([similarity(many, "pmd")], 0, *many.ratings.row(0))
    assert found.values.tolist() == [0.0] * 10
    assert found.test.hits == found.test.n_hidden > 5


def test_guests_and_users_who_like_nothing_more_than_the_rest(data):
    (found,) = neighbor_lists([similarity(data, "pmd")], -1, np.array([1, 2]), np.array([3.0, 3.0]))
    assert len(found.users) == 10
    assert found.test is None


def test_common_ground_against_a_slow_twin(data):
    one = similarity(data, "pmd")
    found = common_ground(one, 5, n=1000)
    sets = [set(data.ratings.row(u)[0].tolist()) for u in range(data.n_users)]
    some = [u for u in range(data.n_users) if len(sets[u]) >= 3]
    without = {}
    for u in some:
        near = one.nearest(np.array([u]), 5).row(0)[0].tolist()
        without[u] = sum(not sets[u] & sets[v] for v in near)
    pairs = [not sets[u] & sets[v] for u in some for v in range(data.n_users) if u != v]
    assert found.n_sampled == found.n_light == len(some)
    assert found.pairs_without == pytest.approx(np.mean(pairs))
    assert found.neighbors_without == pytest.approx(sum(without.values()) / (5 * len(some)))
    assert found.users_with == pytest.approx(np.mean([n > 0 for n in without.values()]))
    assert all(without[u] == n for u, n in found.examples)
    assert found.examples[0][1] == max(without.values())


def test_nearest_strangers(data):
    model = Recommender(n_threads=1).fit(data)
    user = data.ratings.users[7]
    mine = set(data.ratings[user])
    strangers = [v for v in data.ratings if v != user and not mine & set(data.ratings[v])]
    nearest = sorted((pmd(data, user, v).distance, v) for v in strangers)[:5]
    found = model.neighbors(user, 5, without_common_items=True)
    assert found.users.tolist() == [v for _, v in nearest]
    assert found.values == pytest.approx([d for d, _ in nearest])
    guest = model.guest(data.ratings[user], name="me")
    assert model.neighbors(guest, 5, without_common_items=True).users.tolist()[0] in (user, nearest[0][1])
