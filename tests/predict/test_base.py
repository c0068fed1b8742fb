"""Predictions and recommendations as tables, and the choice of the best."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefmover.data.scale import Scale
from prefmover.errors import InputError
from prefmover.predict.base import (
    HOW,
    Predictions,
    Recommendation,
    Recommendations,
    best,
    clip,
    how_predicted,
)
from tests.messages import names, unnamed


@given(
    st.lists(st.one_of(st.integers(0, 4).map(float), st.just(float("nan"))), max_size=30),
    st.integers(1, 35),
    st.data(),
)
def test_best_is_a_sort(scores, n, data):
    excluded = data.draw(st.sets(st.integers(0, max(len(scores) - 1, 0)))) if scores else set()
    eligible = (k for k, s in enumerate(scores) if s == s and k not in excluded)
    expected = sorted(eligible, key=lambda k: (-scores[k], k))[:n]
    top = best(np.array(scores, dtype=float), np.array(sorted(excluded), dtype=np.int64), n)
    assert top.tolist() == expected


@pytest.mark.parametrize("n", [0, 2.5])
def test_best_of_a_bad_number(n):
    with pytest.raises(InputError, match=names("n", n)):
        best(np.ones(3), np.empty(0, np.int64), n)


def test_clip():
    values, clipped = clip(np.array([0.5, 1.0, 3.2, 5.5]), Scale(1, 5, 1))
    assert values.tolist() == [1, 1, 3.2, 5]
    assert clipped.tolist() == [True, False, False, True]


def test_how_predicted():
    codes = how_predicted(np.array([0, 0, 0, -1, -1]), np.array([1, 1, -1, 1, -1]), np.array([3, 0, 0, 0, 0]))
    assert [HOW[code] for code in codes] == list(HOW)


@pytest.fixture
def predictions():
    columns = np.array([3.5, 5]), np.array([3.0, 4]), np.array([0, 1], np.int8)
    return Predictions(["ann", 7], ["x", "y"], *columns, np.array([False, True]), np.array([1, 0]))


def test_predictions_are_a_table(predictions):
    frame = predictions.to_frame()
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


def test_recommendations_are_a_table():
    top = Recommendations(
        "ann",
        (Recommendation("x", 5.2, 5.0, "Alien (1979)", 3), Recommendation("y", 4.0, 4.0, "Heat", 2)),
    )
    assert [one.item for one in top] == ["x", "y"]
    assert len(top[:1]) == 1
    assert top[0].score == 5.2
    assert not unnamed(repr(top), "'ann'", "Alien (1979)")
    assert top.to_frame().column_names[:4] == ["rank", "item", "title", "score"]
    assert json.loads(json.dumps(top.to_dict()))["recommendations"][1]["title"] == "Heat"
    assert len(pickle.loads(pickle.dumps(top))) == 2
    assert len(Recommendations("ann", ()).to_frame()) == 0
