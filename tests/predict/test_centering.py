"""Baselines and residuals, against their definitions."""

import numpy as np
import pytest

from prefmover.errors import InputError
from prefmover.predict.centering import Centering, biases
from tests.messages import names
from tests.oracles.prediction import coordinates, ridge_biases


def test_biases_solve_their_least_squares(data):
    mean = data.ratings.matrix.data.mean()
    user, item = biases(data.ratings, mean)
    expected_user, expected_item, _ = ridge_biases(data.ratings)
    assert user == pytest.approx(expected_user, abs=1e-8)
    assert item == pytest.approx(expected_item, abs=1e-8)


@pytest.mark.parametrize("name", ["none", "mean", "z-score", "baseline"])
def test_baseline_and_residual_make_the_rating(data, name):
    c = Centering.fit(data.ratings, name)
    u, i = coordinates(data.ratings)
    again = c.baseline(u, i) + c.spread[u] * c.residuals(data.ratings)
    assert again == pytest.approx(data.ratings.matrix.data)
    if name in ("mean", "z-score"):
        assert np.bincount(u, c.residuals(data.ratings)) == pytest.approx(np.zeros(data.n_users), abs=1e-9)


@pytest.mark.parametrize("name", ["none", "mean", "z-score"])
def test_a_new_user_is_centered_as_if_known(data, name):
    c = Centering.fit(data.ratings, name)
    offset, spread = c.new_user(*data.ratings.row(2))
    assert offset == pytest.approx(c.user[2])
    assert spread == pytest.approx(c.spread[2])


def test_unknown_names(data):
    with pytest.raises(InputError, match=names("'median'", '"baseline"')):
        Centering.fit(data.ratings, "median")
