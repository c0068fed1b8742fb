"""Results as data frames of pandas and polars, and as HTML in notebooks."""

import re
import sys

import pandas as pd
import polars as pl
import pytest

import prefmover as pm
from prefmover._table import Tabular
from prefmover.errors import MissingExtraError

HOSTILE = "<script>alert('&')</script>"
NAMES = [
    *("ratings", "list", "neighbors", "predictions", "recommended", "many", "together"),
    *("plan", "reasons", "rating", "evaluation"),
]


@pytest.fixture(scope="module")
def data():
    ratings = pm.Ratings.from_arrays(
        [HOSTILE, HOSTILE, "bob", "bob", "cid", "cid"], ["a", "b", "b", "c", "c", "d"], [5, 2, 5, 4, 4, 1]
    )
    geometry = pm.ItemGeometry.from_vectors(list("abcd"), [[9, 1], [8, 3], [1, 9], [2, 8]])
    return pm.Dataset(ratings, geometry, {"a": "A & <b>", "b": "B", "c": HOSTILE, "d": "D"}, item_noun="<i>")


@pytest.fixture(scope="module")
def tables(data):
    model = pm.Recommender().fit(data)
    pair = [(HOSTILE, "c")]
    return {
        "ratings": data.ratings,
        "list": model.neighbors(HOSTILE, k=2),
        "neighbors": pm.nearest(data, k=2),
        "predictions": model.predict(pair),
        "recommended": model.recommend(HOSTILE, n=2),
        "many": model.recommend_many([HOSTILE, "bob"], n=2),
        "together": model.recommend_group([HOSTILE, "bob"], n=1),
        "plan": model.explain(HOSTILE, "bob"),
        "reasons": model.explain_recommendation(*pair[0]),
        "rating": model.explain_rating(*pair[0]),
        "evaluation": pm.evaluate(data, ["bias"], train=0.5),
    }


def test_every_table_is_one(tables):
    """A class with ``to_arrow`` has the frames by name as well."""
    frames = {type(one) for one in tables.values()}
    assert all(issubclass(one, Tabular) for one in frames)
    assert len(frames) == len(tables)
    assert list(tables) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_frames(tables, name):
    rows = tables[name].to_arrow().to_pylist()
    assert rows
    polars, pandas = tables[name].to_polars(), tables[name].to_pandas()
    assert (type(polars), type(pandas)) == (pl.DataFrame, pd.DataFrame)
    assert polars.to_dicts() == rows
    assert list(pandas.columns) == list(rows[0])
    assert len(pandas) == len(rows)


def test_a_missing_library(tables, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingExtraError, match="pip install polars"):
        tables["list"].to_polars()
    tables["list"].to_pandas()


def test_html(data, tables):
    """Every name is there, and nothing that a user or a title brings is markup."""
    html = {name: one._repr_html_() for name, one in tables.items() if hasattr(one, "_repr_html_")}
    html["data"] = data._repr_html_()
    assert html.keys() >= {"list", "neighbors", "recommended", "many", "plan", "reasons", "rating"}
    for name, page in html.items():
        tags = set(re.findall(r"</?(\w+)", page))
        assert tags <= {"table", "caption", "thead", "tbody", "tr", "th", "td"}, name
        assert any(mark in page for mark in ("&lt;script", "&lt;i&gt;")), name
    shown = dict(re.findall(r"<tr><td>([^<]*)</td><td>([^<]*)</td></tr>", html["data"]))
    assert shown["ratings per user"] == "2 to 2, median 2"
    assert shown["most rated &lt;i&gt;s"].startswith("B (2), &lt;script")


def test_html_of_short_lists(data):
    near = pm.within(data, 0.3)  # some users have nobody near
    assert "<td>cid</td>" in near._repr_html_()
    assert pm.KNNRecommender().fit(data).recommend_many(["bob"], n=4)._repr_html_().count("<th>") == 5
