"""Neighbors by several measures, and users with nothing in common."""

from types import SimpleNamespace

import numpy as np
import pytest

from prefmover import Recommender, datasets, pmd
from prefmover.data.ratings import one_user
from prefmover.measures import find_measure
from prefmover.predict.similarity import UserSimilarity
from prefmover.server.facts import UserFacts
from prefmover.server.handlers import neighbors
from prefmover.server.schemas.requests import Person
from prefmover.server.served import Spread


@pytest.fixture(scope="module")
def data():
    cinema = datasets.load("cinema")
    return cinema.with_ratings(cinema.ratings.take(users=np.arange(0, 800, 8)))


def similarity(data, measure):
    return UserSimilarity(data, find_measure(measure), None, 1)


def lists_of(data, position, items, ratings):
    """Return the neighbors of a person by the measures that are compared, with a model of PMD."""
    state = SimpleNamespace(name="me", position=position, rated=items, given=ratings)
    served = SimpleNamespace(
        data=data, similarity=similarity(data, "pmd"), users=UserFacts(data), person=lambda asked: state
    )
    return neighbors.get_neighbor_lists(served, Person(user="me")).lists


def test_lists_are_the_neighbors_of_each_measure(data):
    items, ratings = data.ratings.row(3)
    for found in lists_of(data, 3, items, ratings):
        users, values = similarity(data, found.name).nearest(np.array([3]), 10).row(0)
        assert [one.value for one in found.neighbors] == pytest.approx(values)
        theirs = [one.user for one in found.neighbors]
        if found.name == "pmd":  # the others have ties
            assert theirs == data.ratings.users[users].tolist()
        common = [
            len(data.ratings[theirs[k]].keys() & data.ratings[data.ratings.users[3]]) for k in range(10)
        ]
        assert [one.n_common for one in found.neighbors] == common
        assert 0 <= found.test.hits <= found.test.n_hidden == (ratings > ratings.mean()).sum()
        assert found.test.n_suggested == neighbors.SUGGESTED


def test_a_twin_finds_what_is_hidden(data):
    """Somebody whose nearest have the same ratings: all hidden favorites are among their suggestions."""
    twins = data.ratings.take(users=[0])
    ratings = data.ratings
    for k in range(10):
        ratings = ratings.stack(one_user(ratings, f"twin{k}", *twins.row(0)))
    found = lists_of(data.with_ratings(ratings), 0, *ratings.row(0))[0]
    assert [one.value for one in found.neighbors] == [0.0] * 10
    assert found.test.hits == found.test.n_hidden > 5


def test_guests_and_users_who_like_nothing_more_than_the_rest(data):
    found = lists_of(data, -1, np.array([1, 2]), np.array([3.0, 3.0]))[0]
    assert len(found.neighbors) == 10
    assert found.test is None


def test_common_ground_against_a_slow_twin(data, monkeypatch):
    monkeypatch.setattr(neighbors, "SAMPLED", 1000)
    monkeypatch.setattr(neighbors, "LISTED", 5)
    one, facts = similarity(data, "pmd"), UserFacts(data)
    spread = Spread.of(data, one.measure)
    served = SimpleNamespace(data=data, similarity=one, users=facts, spread=spread)
    found = neighbors.get_common_ground(served, lambda done, total: None)
    sets = [set(data.ratings.row(u)[0].tolist()) for u in range(data.n_users)]
    some = [u for u in range(data.n_users) if len(sets[u]) >= 3]
    without, alike, shared = {}, {}, {}
    for u in some:
        near, values = (part.tolist() for part in one.nearest(np.array([u]), 5).row(0))
        apart = [value for v, value in zip(near, values, strict=True) if not sets[u] & sets[v]]
        without[u], alike[u] = len(apart), sum(np.mean(spread.values > value) >= 0.75 for value in apart)
        shared[u] = np.mean([len(sets[u] & sets[v]) / len(sets[u]) for v in near])
    pairs = [not sets[u] & sets[v] for u in some for v in range(data.n_users) if u != v]
    assert found.n_sampled == found.n_light == len(some)
    assert found.pairs_without == pytest.approx(np.mean(pairs))
    assert found.neighbors_without == pytest.approx(sum(without.values()) / (5 * len(some)))
    assert found.users_with == pytest.approx(np.mean([n > 0 for n in without.values()]))
    assert all(alike[facts.position(one.id)] == one.n_without for one in found.examples)
    assert found.examples[0].n_without == max(alike.values()) > 0
    assert found.common_share == pytest.approx(np.mean(list(shared.values())))
    assert all(shared[facts.position(one.id)] == pytest.approx(one.common_share) for one in found.examples)


def test_nearest_without_common_items(data):
    model = Recommender(n_threads=1).fit(data)
    user = data.ratings.users[7]
    mine = set(data.ratings[user])
    without = [v for v in data.ratings if v != user and not mine & set(data.ratings[v])]
    nearest = sorted((pmd(data, user, v).distance, v) for v in without)[:5]
    found = model.neighbors(user, 5, without_common_items=True)
    assert found.users.tolist() == [v for _, v in nearest]
    assert found.values == pytest.approx([d for d, _ in nearest])
    guest = model.guest(data.ratings[user], name="me")
    assert model.neighbors(guest, 5, without_common_items=True).users.tolist()[0] in (user, nearest[0][1])
