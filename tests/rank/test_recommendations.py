"""Recommendations as tables, for one user and for many."""

import json
import pickle

from prefmover.data.ratings import Ratings
from prefmover.dataset import Dataset
from prefmover.model import KNNRecommender
from prefmover.rank.recommendations import Recommendation, Recommendations
from tests.messages import unnamed


def test_recommendations_are_a_table():
    first = Recommendation("x", "Alien (1979)", 5.2, 5.0, 3)
    second = Recommendation("y", "Heat", 4.0, None, 2)
    top = Recommendations("ann", (first, second))
    assert [one.item for one in top] == ["x", "y"]
    assert len(top[:1]) == 1
    assert top[0].score == 5.2
    assert not unnamed(repr(top), "'ann'", "Alien (1979)")
    frame = top.to_arrow()
    assert frame.column_names[:4] == ["rank", "item", "title", "score"]
    assert frame["rating"].to_pylist() == [5.0, None]
    assert json.loads(json.dumps(top.to_dict()))["recommendations"][1]["title"] == "Heat"
    assert len(pickle.loads(pickle.dumps(top))) == 2
    assert len(Recommendations("ann", ()).to_arrow()) == 0


def test_a_table_of_users_and_guests():
    data = Dataset(Ratings.from_arrays([1, 1, 2, 2, 3], ["a", "b", "b", "c", "c"], [5, 4, 5, 3, 4]))
    model = KNNRecommender("cos").fit(data)
    frame = model.recommend_many([1, model.guest({"a": 5})], 2).to_arrow()
    assert set(frame["user"].to_pylist()) == {"1", "guest"}  # mixed ids become text
    assert frame.column_names == ["user", "rank", "item", "title", "score", "rating", "n_ratings", "how"]
