"""Tuning uses held-out training ratings, lists its trials, and changes only parameters at their defaults."""

from dataclasses import asdict

import pytest

from prefmover.errors import InputError
from prefmover.model import KNNRecommender, Recommender
from prefmover.predict import Covariance
from tests.messages import names
from tests.predict.conftest import make_data


@pytest.fixture(scope="module")
def larger():
    return make_data(5, n_users=50, n_items=20, per_user=12)


def test_the_best_trial_is_chosen(larger):
    model = Recommender().fit(larger, tune=True)
    trials = [t for t in model.tuning_ if "mae" in t]
    assert len(trials) == 16
    chosen = {"covariance": asdict(model.settings_["covariance"]), "weight": str(model.settings_["weight"])}
    best = next(t for t in trials if {k: v for k, v in t.items() if k != "mae"} == chosen)
    assert best["mae"] == min(t["mae"] for t in trials)
    assert model.get_params()["covariance"] is None


def test_other_parameters_stay(larger):
    knn = KNNRecommender(weight="cosine").fit(larger, tune=True)
    assert {t["weight"] for t in knn.tuning_} == {"cosine"}
    both = KNNRecommender.paper(k=7, shrinkage=0.3).fit(larger, tune=True)
    assert {(t["k"], t["shrinkage"]) for t in both.tuning_} == {(7, 0.3)}
    assert (both.settings_["k"], both.settings_["shrinkage"]) == (7, 0.3)
    covariance = Covariance(taste=0.25)
    kernel = Recommender(covariance=covariance, weight="exponential(2)").fit(larger, tune=True)
    assert sum("mae" in t for t in kernel.tuning_) == 1
    assert kernel.settings_["covariance"] == covariance


def test_parameters_at_their_defaults_are_tuned(larger):
    model = KNNRecommender().fit(larger, tune=True)
    trials = [(t["weight"], t["k"], t["shrinkage"]) for t in model.tuning_]
    assert trials[0] == ("exponential(4)", 40, 0.0)
    assert all(len(set(values)) == 3 for values in zip(*trials, strict=True))
    assert (model.k, model.shrinkage, model.weight) == (40, 0.0, None)


def test_too_few_ratings(larger):
    few = larger.with_ratings(larger.ratings.take(users=[0, 1, 2]))
    with pytest.raises(InputError, match=names(few.ratings.n_ratings, "tuning")):
        Recommender().fit(few, tune=True)
