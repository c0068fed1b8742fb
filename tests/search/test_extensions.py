"""Searches by the extensions of PMD are exhaustive, bit for bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefmover import Ratings
from prefmover.measures import MEASURES
from prefmover.search import NeighborIndex, nearest, nearest_raters, within
from tests.search.strategies import rated
from tests.search.test_nearest import assert_same, every_pair, viewers

__all__ = ["viewers"]

SEARCHED = [name for name, row in MEASURES.items() if row.extension and row.searches_by_bounds()]
searched = pytest.mark.parametrize("measure", SEARCHED)


@searched
@settings(max_examples=40)
@given(data=rated(), k=st.integers(1, 12))
def test_nearest_is_exhaustive(measure, data, k):
    assert_same(nearest(data, k, measure=measure), every_pair(data, measure=measure, k=k))


@searched
@settings(max_examples=15)
@given(data=rated(), radius=st.floats(0, 3))
def test_within_is_exhaustive(measure, data, radius):
    expected = every_pair(data, measure=measure, radius=radius)
    assert_same(within(data, radius, measure=measure), expected)
    if expected.values.size:  # a radius that is exactly somebody's distance includes them
        tie = float(expected.values[0])
        assert_same(within(data, tie, measure=measure), every_pair(data, measure=measure, radius=tie))


@searched
@settings(max_examples=15)
@given(data=rated(), k=st.integers(1, 12), seed=st.integers(0, 2**32 - 1))
def test_raters_are_exhaustive(measure, data, k, seed):
    rng = np.random.default_rng(seed)
    users, items = rng.choice(data.ratings.users, 30), rng.choice(data.ratings.items, 30)
    found = nearest_raters(data, users, items, k, measure)
    assert_same(found, every_pair(data, users, measure=measure, items=items, k=k))


@searched
def test_new_users(measure, viewers):
    """Ratings that nobody gave are points that nobody has."""
    ratings = Ratings.from_arrays([1, 1, 1, 2, 2], [3, 8, 11, 3, 40], [2.5, 1.25, 4.75, 5, 1])
    new = ratings.with_items(viewers.ratings.items)
    expected = every_pair(viewers, measure=measure, new=new, k=6)
    assert_same(nearest(viewers, 6, measure=measure, new=new), expected)
    assert_same(NeighborIndex(viewers, measure).nearest(new=new, k=6), expected)


@searched
def test_pruning_happens_and_changes_nothing(measure, viewers):
    found = nearest(viewers, 5, measure=measure)
    assert_same(found, every_pair(viewers, measure=measure, k=5))
    assert found.stats.pairs == 120 * 119
    assert found.stats.solved < 0.4 * found.stats.pairs
    assert found.stats.known > 0


@searched
def test_an_index_is_asked_again(measure, viewers):
    index = NeighborIndex(viewers, measure)
    first = index.nearest([3, 4], k=4)
    assert_same(index.nearest([3, 4], k=4, n_threads=1), first)
    assert_same(
        index.within(float(first.values[3]), [3]),
        every_pair(viewers, [3], measure=measure, radius=float(first.values[3])),
    )
    assert_same(index.raters([3], [7], k=2), every_pair(viewers, [3], measure=measure, items=[7], k=2))
