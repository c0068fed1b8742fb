"""Mixtures of several people: exact shares, and halfway between two people by PMD."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import prefmover as pm
from prefmover.data.preferences import mixture, preferences
from prefmover.errors import InputError
from prefmover.search import nearest_to_group
from tests.messages import names

rows = st.dictionaries(st.integers(0, 5), st.sampled_from([0.5, 1.0, 2.0, 3.5, 5.0]), min_size=1)


def table(people):
    triples = [(f"u{u}", item, rating) for u, row in enumerate(people) for item, rating in row.items()]
    return pm.Ratings.from_arrays(*zip(*triples, strict=True))


@given(st.lists(rows, min_size=2, max_size=4))
@settings(max_examples=60, deadline=None)
def test_shares_are_the_means_of_the_members_shares(people):
    ratings = table(people)
    mixed = preferences(mixture(ratings, "all"))
    exact = dict.fromkeys(range(ratings.n_items), Fraction(0))
    for row in people:
        total = sum(map(Fraction, row.values()))
        for item, rating in row.items():
            exact[ratings.item_position(item)] += Fraction(rating) / total / len(people)
    found = {
        int(i): Fraction(int(m), int(mixed.total[0])) for i, m in zip(mixed.indices, mixed.mass, strict=True)
    }
    assert {i: share for i, share in exact.items() if share} == found


def test_large_totals_are_rounded_within_a_billionth():
    rng = np.random.default_rng(1)
    people = [dict(zip(range(50), rng.random(50).tolist(), strict=True)) for _ in range(5)]
    mixed = preferences(mixture(table(people), "all"))
    exact = np.mean([np.array(list(row.values())) / sum(row.values()) for row in people], axis=0)
    assert np.abs(mixed.mass / mixed.total[0] - exact).max() < 1e-8


@pytest.fixture
def films():
    rng = np.random.default_rng(0)
    people = [{int(i): int(rng.integers(1, 6)) for i in rng.choice(9, 4, replace=False)} for _ in range(12)]
    return pm.Dataset(table(people), pm.ItemGeometry.from_vectors(range(9), rng.random((9, 4))))


def test_the_mixture_of_two_is_halfway(films):
    """D(mixture, u) = D(u, v) / 2, so the mixture is a barycenter of two people."""
    pair = films.ratings.take(users=[0, 1])
    both = films.with_ratings(films.ratings.stack(mixture(pair, "both")))
    distance = pm.pairwise(both)
    assert distance[0, -1] == pytest.approx(distance[0, 1] / 2, abs=1e-9)
    assert distance[1, -1] == pytest.approx(distance[0, 1] / 2, abs=1e-9)


def test_neighbors_of_a_group_are_those_of_the_mixture_without_the_members(films):
    group = ["u0", "u3", "u5"]
    found = nearest_to_group(films, group, k=4)
    mixed = mixture(films.ratings.take(users=films.ratings.user_positions(group)), "all")
    everybody = pm.nearest(films, 12, new=mixed)["all"]
    expected = [(one.user, one.value) for one in everybody if one.user not in group][:4]
    assert [(one.user, one.value) for one in found] == expected


@pytest.mark.parametrize(
    ("group", "named"),
    [(["u0"], (1,)), ("u0", ("u0",)), (["u0", "u0"], ("u0",)), (["u0", "nobody"], ("nobody",))],
)
def test_groups_that_are_none(films, group, named):
    with pytest.raises(InputError, match=names(*named)):
        nearest_to_group(films, group)


def test_a_member_without_preferences_is_named():
    ratings = pm.Ratings.from_arrays(["ann", "bob"], ["x", "x"], [0, 5])
    with pytest.raises(InputError, match=names("ann")):
        mixture(ratings, "both")
