"""Tuning uses held-out training ratings, lists its trials, and never changes a parameter that is set."""

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
    assert len(model.tuning_) == 14
    chosen = {"covariance": model.settings_["covariance"].to_dict(), "weight": str(model.settings_["weight"])}
    best = next(t for t in model.tuning_ if {k: v for k, v in t.items() if k != "mae"} == chosen)
    assert best["mae"] == min(t["mae"] for t in model.tuning_)
    assert model.get_params()["covariance"] is None


def test_parameters_that_are_set_stay(larger):
    knn = KNNRecommender(weight="cosine").fit(larger, tune=True)
    assert {t["weight"] for t in knn.tuning_} == {"cosine"}
    both = KNNRecommender.paper(k=7, shrinkage=0.3).fit(larger, tune=True)
    assert {(t["k"], t["shrinkage"]) for t in both.tuning_} == {(7, 0.3)}
    assert (both.settings_["k"], both.settings_["shrinkage"]) == (7, 0.3)
    k = KNNRecommender.paper(k=40, weight="cosine").fit(larger, tune=True)
    assert {t["k"] for t in k.tuning_} == {40}  # set, though it is the default
    assert len({t["shrinkage"] for t in k.tuning_}) > 1
    shrinkage = KNNRecommender.paper(shrinkage=0.0, weight="cosine").fit(larger, tune=True)
    assert {t["shrinkage"] for t in shrinkage.tuning_} == {0.0}
    assert len({t["k"] for t in shrinkage.tuning_}) > 1
    kernel = Recommender(covariance=Covariance(), weight="exponential(2)").fit(larger, tune=True)
    assert len(kernel.tuning_) == 1


def test_too_few_ratings(larger):
    few = larger.with_ratings(larger.ratings.take(users=[0, 1, 2]))
    with pytest.raises(InputError, match=names(few.ratings.n_ratings, "tune")):
        Recommender().fit(few, tune=True)
