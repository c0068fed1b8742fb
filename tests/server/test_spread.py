"""The spread of a measure, against the definition."""

import numpy as np
import pytest

from prefmover import datasets
from prefmover.measures import find_measure
from prefmover.server.served import Spread


@pytest.mark.parametrize("larger", [False, True])
def test_nearer_than_is_the_share_of_pairs_that_are_farther(larger):
    values = np.sort(np.random.default_rng(0).integers(0, 20, 200) / 10)
    spread = Spread(values, larger)
    for value in np.arange(-1, 22) / 10:
        farther = values < value if larger else values > value
        assert spread.nearer_than(value) == pytest.approx(farther.mean(), abs=1e-12)


def test_nothing_to_compare_with():
    assert Spread(np.empty(0), False).nearer_than(1.0) is None
    assert Spread(np.empty(0), False).quantile(0.5) is None
    assert Spread(np.ones(3), False).nearer_than(float("nan")) is None


@pytest.mark.parametrize("measure", ["pmd", "cos"])
def test_the_sample_has_values_of_the_measure(measure):
    data = datasets.load("cinema")
    spread = Spread.of(data, find_measure(measure))
    assert 300 < len(spread.values) <= 1000
    assert (np.diff(spread.values) >= 0).all()
    assert 0 <= spread.values[0] < spread.values[-1] <= np.pi / 2
    assert spread.larger_is_closer == (measure == "cos")
    near = spread.quantile(0.01)
    assert spread.nearer_than(near) == pytest.approx(0.99 if measure == "pmd" else 0.01, abs=0.03)
