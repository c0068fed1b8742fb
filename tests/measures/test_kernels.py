"""Kernels against the breakdowns, which follow the formulas term by term; NaN positions included."""

import numpy as np
import pytest
from hypothesis import given, settings

from prefmover.measures import distribution, item_aware, pairwise, ties
from prefmover.measures.breakdown import breakdown
from tests.measures.conftest import ROWS, SCALES, small_worlds, world

NOT_PMD = [(measure, convention) for measure, convention in ROWS if measure != "pmd"]


def slow_values(data, measure, convention=None):
    """Return all pairs by their breakdowns."""
    n = data.n_users
    return [[breakdown(data, u, v, measure, convention).value for v in range(n)] for u in range(n)]


@pytest.mark.parametrize(("measure", "convention"), NOT_PMD)
@given(small_worlds())
@settings(max_examples=50, deadline=None)
def test_equals_the_breakdown(measure, convention, case):
    data, _ = case
    fast = pairwise(data, measure, convention=convention, n_threads=1)
    np.testing.assert_allclose(fast, slow_values(data, measure, convention), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("measure", ["nhsm", "husm", "n-husm"])
@given(small_worlds(scales=("stars", "half stars", "from zero")))
@settings(max_examples=20, deadline=None)
def test_term_by_term_path_equals_the_tabulated_one(measure, case):
    data, _ = case
    tabulated = pairwise(data, measure, n_threads=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distribution, "MOST_LEVELS", 0)
        direct = pairwise(data, measure, n_threads=1)
    np.testing.assert_allclose(direct, tabulated, rtol=2.0**-38, atol=1e-15)  # a step of 40 bits


@pytest.mark.parametrize("row", [("cos", None), ("pcc", None), ("pcc", "co-rated-means"), ("jmsd", None)])
@given(case=small_worlds())
@settings(max_examples=20, deadline=None)
def test_floats_give_what_whole_numbers_give(row, case):
    measure, convention = row
    whole = pairwise(case[0], measure, convention=convention, n_threads=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ties, "EXACT", 0)
        floats = pairwise(case[0], measure, convention=convention, n_threads=1)
    np.testing.assert_allclose(floats, whole, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("measure", ["husm", "nhsm"])
def test_scale_too_wide_for_exponentials(measure):
    rows = [{0: 0.0, 1: 2000.0}, {0: 2000.0, 1: 1990.0}, {0: 5.0}]
    data, _ = world(rows, 2, type(SCALES["stars"])(0, 2000, 5))
    fast = pairwise(data, measure, n_threads=1)
    np.testing.assert_allclose(fast, slow_values(data, measure), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("measure", ["bcf", "n-bcf", "husm", "n-husm"])
def test_item_similarities_in_stripes(measure, big_world, monkeypatch):
    data, _ = big_world
    whole = pairwise(data, measure)
    monkeypatch.setattr(item_aware, "STRIPE_BYTES", 8 * 40 * 7)
    striped = pairwise(data, measure)
    np.testing.assert_allclose(striped, whole, rtol=1e-11, atol=1e-11)  # values on a grid may be a step apart


@pytest.mark.parametrize(("measure", "convention"), NOT_PMD)
def test_a_few_users_as_in_all_pairs(measure, convention, big_world):
    data, _ = big_world
    whole = pairwise(data, measure, convention=convention)
    part = pairwise(data, measure, [7, 3], [149, 0, 3], convention=convention)
    np.testing.assert_allclose(part, whole[np.ix_([7, 3], [149, 0, 3])], rtol=1e-12, atol=1e-13)
