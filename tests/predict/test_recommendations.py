"""Recommendations as tables, for one user and for many."""

import json
import pickle

from prefmover.predict.recommendations import Recommendation, Recommendations
from tests.messages import unnamed


def test_recommendations_are_a_table():
    first = Recommendation("x", "Alien (1979)", 5.2, 5.0, 3)
    second = Recommendation("y", "Heat", 4.0, None, 2)
    top = Recommendations("ann", (first, second))
    assert [one.item for one in top] == ["x", "y"]
    assert len(top[:1]) == 1
    assert top[0].score == 5.2
    assert not unnamed(repr(top), "'ann'", "Alien (1979)")
    frame = top.to_frame()
    assert frame.column_names[:4] == ["rank", "item", "title", "score"]
    assert frame["rating"].to_pylist() == [5.0, None]
    assert json.loads(json.dumps(top.to_dict()))["recommendations"][1]["title"] == "Heat"
    assert len(pickle.loads(pickle.dumps(top))) == 2
    assert len(Recommendations("ann", ()).to_frame()) == 0
