"""The regression against its definition: one dense system over all ratings."""

import numpy as np
import pytest

from prefmover.dataset import Dataset
from prefmover.errors import InputError, NotOptimalError
from prefmover.model import Recommender
from prefmover.predict import Covariance, regression
from tests.messages import names
from tests.oracles.prediction import gaussian_process


@pytest.mark.parametrize("landmarks", [1000, 10])
@pytest.mark.parametrize("with_geometry", [True, False])
def test_regression_is_the_formula(data, landmarks, with_geometry):
    measure, data = ("pmd", data) if with_geometry else ("jaccard", Dataset(data.ratings))
    covariance = Covariance(shared_taste=0.7, taste=0.3, item_rate=1.5, level=0.2)
    model = Recommender(measure, covariance=covariance, landmarks=landmarks).fit(data)
    kernel = model.predictor_.regression.kernel
    K = kernel.features.astype(float) @ kernel.features.astype(float).T + np.diag(kernel.rest)
    distance = data.geometry.block() if with_geometry else None
    expected = gaussian_process(data.ratings, distance, K, covariance)
    users, items = (x.ravel() for x in np.indices(data.ratings.matrix.shape))
    values = model.predictor_.predict(users, items).values
    assert values == pytest.approx(expected.ravel(), abs=2e-3)  # conjugate gradients end at 1e-4


def test_covariances_are_checked():
    with pytest.raises(InputError, match=names("taste", -1)):
        Covariance(taste=-1)
    with pytest.raises(InputError, match=names("item", 0)):
        Covariance(item=0)


def test_no_convergence_is_an_error(data, monkeypatch):
    monkeypatch.setattr(regression, "ITERATIONS", 1)
    with pytest.raises(NotOptimalError, match=names(1, "covariance")):
        Recommender().fit(data)


def test_too_many_items(data, monkeypatch):
    monkeypatch.setattr(regression, "MAX_ITEMS", 10)
    with pytest.raises(InputError, match=names(18, 10, "KNNRecommender")):
        Recommender().fit(data)
