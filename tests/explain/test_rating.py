import json

import pytest

from prefmover.explain import RatingExplanation
from prefmover.predict.predictor import Baseline, Contribution, Evidence, Prediction
from tests.messages import unnamed

CONTRIBUTIONS = (
    Contribution("bob", 0.5, 5.0, 1.2, 0.6, 0.25),
    Contribution(
        "cid", 0.4, None, -0.5, -0.2, 0.5, (Evidence("emma", 2.0, -0.3), Evidence("heat", 4.0, 0.1))
    ),
    Contribution("dot", 0.1, 3.0, 1.0, 0.1, None),
)


def explanation(clipped=False, value_name="distance"):
    """Return an explanation made by hand: 3 + 0.5 + 0.6 - 0.2 + 0.1."""
    return RatingExplanation(
        Prediction("ann", "alien", 4.0, 3.5, "neighbors", clipped, 3),
        (Baseline("mean", 3.0, "mean of all ratings"), Baseline("user", 0.5, "offset of the user")),
        CONTRIBUTIONS,
        {"alien": "Alien <1979>", "emma": "Emma", "heat": "Heat"},
        value_name,
    )


def test_json():
    content = json.loads(json.dumps(explanation().to_dict(), allow_nan=False))
    assert content["label"] == "Alien <1979>"
    assert [part["name"] for part in content["baseline"]] == ["mean", "user"]
    assert [one["distance"] for one in content["contributions"]] == [0.25, 0.5, None]
    assert content["contributions"][1]["evidence"][0] == {
        "item": "emma", "label": "Emma", "rating": 2.0, "value": -0.3,
    }  # fmt: skip
    assert list(content["contributions"][0]) == [
        "user", "weight", "rating", "residual", "value", "distance", "evidence",
    ]  # fmt: skip
    assert content["others"] == {"count": 0, "value": 0}
    assert explanation().total == pytest.approx(4.0)
    largest = explanation().to_dict(1)
    assert [one["user"] for one in largest["contributions"]] == ["bob"]
    assert largest["others"] == {"count": 2, "value": pytest.approx(-0.1)}
    similarity = explanation(value_name="similarity").to_dict()["contributions"][0]
    assert {"similarity", "distance"} & similarity.keys() == {"similarity"}


def test_frame():
    frame = explanation().to_arrow()
    assert frame.column_names == ["user", "weight", "rating", "residual", "value", "distance"]
    assert frame["user"].to_pylist() == ["bob", "cid", "dot"]


def test_text_and_html():
    assert not unnamed(str(explanation()), "Alien <1979>", "ann", "4.00", "+0.600", "user bob", "2 to Emma")
    assert "Alien &lt;1979&gt;" in explanation()._repr_html_()
    assert "clipped" in str(explanation(clipped=True))
