"""Predictions as a table."""

import pickle

import numpy as np
import pytest

from prefmover.data.scale import Scale
from prefmover.predict.predictor import HOW, Predictions, clip, how_predicted
from tests.messages import unnamed


def test_clip():
    values, clipped = clip(np.array([0.5, 1.0, 3.2, 5.5]), Scale(1, 5, 1))
    assert values.tolist() == [1, 1, 3.2, 5]
    assert clipped.tolist() == [True, False, False, True]


def test_how_predicted():
    codes = how_predicted(
        np.array([0, 0, 0, -1, -1]), np.array([1, 1, -1, 1, -1]), np.array([3, 0, 0, 0, 0]) > 0
    )
    assert [HOW[code] for code in codes] == list(HOW)


@pytest.fixture
def predictions():
    columns = np.array([3.5, 5]), np.array([3.0, 4]), np.array([0, 1], np.int8)
    return Predictions(["ann", 7], ["x", "y"], *columns, np.array([False, True]), np.array([1, 0]).copy)


def test_predictions_are_a_table(predictions):
    frame = predictions.to_arrow()
    assert frame.column_names == ["user", "item", "rating", "baseline", "how", "clipped", "n_neighbors"]
    assert frame["user"].to_pylist() == ["ann", "7"]  # mixed ids become text
    assert [p.how for p in predictions] == ["neighbors", "no neighbor"]
    assert predictions[-1].clipped
    assert predictions.counts()["no neighbor"] == 1
    assert not unnamed(repr(predictions), "Predictions", 2)
    assert pickle.loads(pickle.dumps(predictions))[0] == predictions[0]
    with pytest.raises(IndexError):
        predictions[2]


def test_singular_and_plural(predictions):
    assert repr(predictions[0]).endswith("1 neighbor)")
    assert not unnamed(repr(predictions[1]), "no neighbor", "clipped")
