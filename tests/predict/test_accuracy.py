"""On the built-in cinema, held out: the default beats its controls, as the guide says."""

import numpy as np
import pytest

from prefmover import datasets
from prefmover.data.splits import random_split
from prefmover.measures import Measure
from prefmover.measures.pmd import distances
from prefmover.model.user_knn import KERNEL_WEIGHT, UserKNN
from prefmover.predict import Centering, Shared


@pytest.fixture(scope="module")
def errors():
    cinema = datasets.load("cinema")
    half = cinema.ratings.take(users=np.arange(0, cinema.ratings.n_users, 2))
    split = random_split(half, 0.3, seed=0)
    D = distances(split.train, cinema.geometry)
    pmd = Measure.from_matrix("known", D, split.train.users, larger_is_closer=False)

    def mae(values):
        return float(np.abs(np.clip(values, 1, 5) - split.ratings).mean())

    def of(**settings):
        model = UserKNN(pmd, **settings).fit(split.train, cinema.geometry)
        return mae(model.predictor_.answer(split.users, split.items).values)

    return {
        "default": of(weight=KERNEL_WEIGHT),
        "uniform": of(weight="exponential(0)"),
        "no neighbors": of(weight=KERNEL_WEIGHT, shared=Shared(lending=0, neighbors=0)),
        "bias": mae(Centering.of(split.train).base(split.users, split.items)),
        "paper": of(predictor="average", centering="mean", weight="exponential(4)"),
    }


@pytest.mark.parametrize("control", ["uniform", "no neighbors", "bias", "paper"])
def test_the_default_is_more_accurate(errors, control):
    assert errors["default"] < errors[control] - 0.005
