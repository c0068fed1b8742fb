import numpy as np
import pytest

from prefmover import datasets
from prefmover.data.splits import random_split, validation_split
from prefmover.evaluation import evaluate
from prefmover.evaluation.baselines.packages import SurpriseRecommender
from prefmover.evaluation.recommenders import GROUPS, TABLE, Method, grid


def test_peers_on_the_same_splits():
    pytest.importorskip("surprise")
    cinema = datasets.load("cinema")
    recommenders = ["user-mean", "surprise:SVD", "surprise:KNNWithMeans", "surprise:BaselineOnly"]
    first = evaluate(cinema, recommenders, task="rating", train=0.1, trials=2)
    again = evaluate(cinema, recommenders, task="rating", train=0.1, trials=2)
    errors = {record.method: record.main[0] for record in first}
    assert errors == {record.method: record.main[0] for record in again}
    assert {record.kind for record in first} == {"control", "peer"}
    assert errors["BaselineOnly"] < errors["user-mean"]


@pytest.mark.parametrize("name", ["surprise:SVD", "surprise:KNNBaseline", "surprise:BaselineOnly"])
def test_settings_are_chosen_on_training_ratings(name):
    """The settings with the least error on a part of the training ratings, fitted to all of them."""
    pytest.importorskip("surprise")
    cinema = datasets.load("cinema")
    (record,) = evaluate(cinema, name, task="rating", train=0.2, trials=2)
    best = min(record.tuning.trials, key=lambda trial: trial.value)
    assert (len(record.tuning.trials), record.settings) == (2, best.settings)
    split = random_split(cinema.ratings, 0.2, 0)
    known = cinema.with_ratings(split.train)
    inner = validation_split(split, 0.8, 0)
    for data, part, error in (
        (known, split, record.main[0]),
        (known.with_ratings(inner.train), inner, best.value),
    ):
        model = SurpriseRecommender(name.partition(":")[2], settings=best.settings).fit(data)
        predicted = model.predict(part.test_pairs()).clip(part.train.scale.lowest, part.train.scale.highest)
        assert np.abs(predicted - part.ratings).mean() == pytest.approx(error, abs=1e-7)


def test_grids_begin_with_the_defaults_of_surprise():
    pytest.importorskip("surprise")
    cinema = datasets.load("cinema")
    known = cinema.with_ratings(random_split(cinema.ratings, 0.05, 0).train)
    pairs = [
        (user, item) for user in cinema.ratings.users.tolist()[:5] for item in cinema.ratings.items.tolist()
    ]
    for name in GROUPS["surprise"]:
        plain, first = (
            SurpriseRecommender(name.partition(":")[2], settings=one).fit(known).predict(pairs)
            for one in ({}, TABLE[name].grid[0])
        )
        assert plain.tolist() == first.tolist(), name
        assert len(grid(Method.parse(name), 24, "rating")) == 24
        assert grid(Method.parse(name), 24) == ()
