"""Pairs and ratings of guests in every form."""

import numpy as np
import polars as pl
import pytest

from prefmover import Dataset, KNNRecommender, Recommender
from prefmover.data.ratings import Ratings
from prefmover.data.splits import random_split
from prefmover.errors import InputError, UnknownIdError
from prefmover.model.inputs import guest_ratings, pair_columns
from tests.messages import names


@pytest.fixture
def known():
    return Ratings.from_arrays(["ann", "ann", "bob"], ["x", "y", "y"], [5, 3, 1])


PAIRS = [("bob", "x"), ("zoe", "y"), ("ann", "z")]


@pytest.mark.parametrize(
    "form",
    [
        list,
        tuple,
        np.array,
        lambda pairs: pl.DataFrame(pairs, schema=["user", "item"], orient="row"),
        lambda pairs: pl.DataFrame(pairs, schema=["user", "item"], orient="row").to_arrow(),
    ],
    ids=["list", "tuple", "array", "polars", "arrow"],
)
def test_pairs(known, form):
    users, items, *positions = pair_columns(form(PAIRS), known)
    assert list(zip(users, items, strict=True)) == PAIRS
    assert positions[0].tolist() == [1, -1, 0]
    assert positions[1].tolist() == [0, 1, -1]


def test_ratings_and_splits(known):
    other = Ratings.from_arrays(["zoe", "bob"], ["y", "x"], [5, 3])
    users, items, *positions = pair_columns(other, known)
    assert list(zip(users, items, strict=True)) == [("bob", "x"), ("zoe", "y")]
    assert positions[0].tolist() == [1, -1]
    split = random_split(known, 0.5, seed=1)
    users, items, *positions = pair_columns(split, known)
    assert list(zip(users, items, strict=True)) == split.test_pairs()
    assert positions[0].tolist() == split.users.tolist()
    assert positions[1].tolist() == split.items.tolist()


@pytest.mark.parametrize("pairs", [[1, 2], 3.0, "ab", [("a", "b", "c")]])
def test_no_pairs(known, pairs):
    with pytest.raises(InputError):
        pair_columns(pairs, known)


def test_frames_without_a_column(known):
    with pytest.raises(InputError, match=names("'item'", "film")):
        pair_columns(pl.DataFrame({"user": ["ann"], "film": ["x"]}), known)


def test_guests(known):
    assert guest_ratings(known, {"y": 4, "x": 1}, "me")["me"] == {"x": 1, "y": 4}


@pytest.mark.parametrize(
    ("ratings", "name", "error", "message"),
    [
        ({}, "me", InputError, "rating"),
        ([("x", 5)], "me", InputError, "list"),
        ({"x": 9}, "me", InputError, names("'x'", 9, 1, 5)),
        ({"x": "good"}, "me", InputError, "good"),
        ({"q": 4}, "me", UnknownIdError, names("'q'")),
        ({"x": 4}, "ann", InputError, names("'ann'", "name=")),
    ],
)
def test_bad_guests(known, ratings, name, error, message):
    with pytest.raises(error, match=message):
        guest_ratings(known, ratings, name)


@pytest.mark.parametrize("model", [Recommender(measure="cos"), KNNRecommender(measure="cos")])
def test_ids_of_the_wrong_type_are_no_unknown_ids(model):
    """An unknown id gets a fallback; a known one of the wrong type, or no id at all, is a mistake."""
    model.fit(Dataset(Ratings.from_arrays([1, 1, 2, 2, 3], list("ab4ca"), [5, 3, 4, 2, 1])))
    for user in (7, "7", "ann", None):
        assert model.predict_one(user, "a").how == "unknown user"
    for item in ("z", 7, None):
        assert model.predict_one(1, item).how == "unknown item"
    for user, item in (("1", "a"), (1, 4), ([1], "a"), (1, {}), (True, "a"), (1.5, "a")):
        with pytest.raises(UnknownIdError, match="ids are"):
            model.predict_one(user, item)
    for user in ("1", True):
        with pytest.raises(UnknownIdError, match="ids are"):
            model.recommend(user)
    with pytest.raises(UnknownIdError, match="ids are"):
        model.recommend_many([[1]])
    with pytest.raises(InputError, match="recommend_many"):
        model.recommend([1, 2])
    assert len(model.recommend_many([1, 2])) == 2
    for name in ([], True, 1.5, None):
        with pytest.raises(InputError, match=names("name")):
            model.guest({"a": 5}, name=name)
