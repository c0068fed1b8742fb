"""On held-out ratings of the built-in cinema, the default beats its controls, as the guide says."""

import numpy as np
import pytest

from prefmover import datasets
from prefmover.data.splits import random_split
from prefmover.measures import Measure, pairwise
from prefmover.model import KNNRecommender, Recommender
from prefmover.model.recommender import RATING_WEIGHTS
from prefmover.predict import Centering, RatingSettings


@pytest.fixture(scope="module")
def errors():
    cinema = datasets.load("cinema")
    third = cinema.ratings.take(users=np.arange(0, cinema.n_users, 3))
    split = random_split(third, 0.3, seed=0)
    train = cinema.with_ratings(split.train)
    pmd = Measure.from_matrix("known", pairwise(train), train.ratings.users, larger_is_closer=False)

    def mae(values):
        return float(np.abs(np.clip(values, 1, 5) - split.ratings).mean())

    def error(model):
        return mae(model.fit(train, heads=["rating"]).predict(split).ratings)

    no_neighbors = RatingSettings(RATING_WEIGHTS["pmd"], shared_taste=0, neighbors=0)
    return {
        "default": error(Recommender(pmd, rating=RatingSettings(RATING_WEIGHTS["pmd"]))),
        "uniform": error(Recommender(pmd, rating=RatingSettings("exponential(0)"))),
        "no neighbors": error(Recommender(pmd, rating=no_neighbors)),
        "bias": mae(Centering.fit(split.train).baseline(split.users, split.items)),
        "paper": error(KNNRecommender.paper(pmd, weight="exponential(4)")),
    }


@pytest.mark.parametrize("control", ["uniform", "no neighbors", "bias", "paper"])
def test_the_default_is_more_accurate(errors, control):
    assert errors["default"] < errors[control] - 0.005
