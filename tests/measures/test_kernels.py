"""Fast kernels against the slow twins, NaN positions included."""

import numpy as np
import pytest
from hypothesis import given, settings

from prefmover.measures import corated, distribution, item_aware, similarities
from tests.measures.conftest import ROWS, SCALES, small_worlds, world
from tests.oracles.measures import all_values

TWINS = [(measure, convention) for measure, convention in ROWS if measure != "pmd"]


@pytest.mark.parametrize(("measure", "convention"), TWINS)
@given(small_worlds())
@settings(max_examples=50, deadline=None)
def test_equals_the_slow_twin(measure, convention, case):
    ratings, geometry, twin = case
    fast = similarities(ratings, measure, geometry=geometry, convention=convention, n_threads=1)
    np.testing.assert_allclose(fast, all_values(twin, measure, convention), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("measure", ["nhsm", "husm", "n-husm"])
@given(small_worlds(scales=("stars", "half stars", "from zero")))
@settings(max_examples=20, deadline=None)
def test_term_by_term_path_equals_the_tabulated_one(measure, case):
    ratings, geometry, _ = case
    tabulated = similarities(ratings, measure, geometry=geometry, n_threads=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distribution, "MOST_LEVELS", 0)
        direct = similarities(ratings, measure, geometry=geometry, n_threads=1)
    np.testing.assert_allclose(direct, tabulated, rtol=1e-12, atol=1e-15)


@given(small_worlds())
@settings(max_examples=30, deadline=None)
def test_correlation_in_two_passes_equals_that_in_whole_numbers(case):
    ratings = case[0]
    whole = similarities(ratings, "pcc", convention="co-rated-means", n_threads=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corated, "MOST_STEPS", 0)
        np.testing.assert_allclose(
            similarities(ratings, "pcc", convention="co-rated-means", n_threads=1), whole, rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("measure", ["husm", "nhsm"])
def test_scale_too_wide_for_exponentials(measure):
    rows = [{0: 0.0, 1: 2000.0}, {0: 2000.0, 1: 1990.0}, {0: 5.0}]
    ratings, geometry, twin = world(rows, 2, type(SCALES["stars"])(0, 2000, 5))
    fast = similarities(ratings, measure, geometry=geometry, n_threads=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.oracles.measures.exp", lambda x: float(np.exp(min(x, 700.0))))
        slow = all_values(twin, measure, "published")
    np.testing.assert_allclose(fast, slow, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("measure", ["bcf", "n-bcf", "husm", "n-husm"])
def test_item_similarities_in_stripes(measure, big_world, monkeypatch):
    ratings, geometry, _ = big_world
    whole = similarities(ratings, measure, geometry=geometry)
    monkeypatch.setattr(item_aware, "STRIPE_BYTES", 8 * 40 * 7)
    striped = similarities(ratings, measure, geometry=geometry)
    np.testing.assert_allclose(striped, whole, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("measure", "convention"), TWINS)
def test_a_few_users_as_in_all_pairs(measure, convention, big_world):
    ratings, geometry, _ = big_world
    options = {"geometry": geometry, "convention": convention}
    whole = similarities(ratings, measure, **options)
    part = similarities(ratings, measure, users=[7, 3], others=[149, 0, 3], **options)
    np.testing.assert_allclose(part, whole[np.ix_([7, 3], [149, 0, 3])], rtol=1e-12, atol=1e-13)
