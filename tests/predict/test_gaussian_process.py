"""The regression against its definition: one dense system over all ratings."""

import numpy as np
import pytest

from prefmover import datasets
from prefmover.dataset import Dataset
from prefmover.errors import InputError, NotOptimalError
from prefmover.model import Recommender
from prefmover.predict import RatingSettings, low_rank, solver
from tests.messages import names
from tests.oracles import prediction as oracle


@pytest.mark.parametrize("landmarks", [1000, 10])
@pytest.mark.parametrize("with_geometry", [True, False])
def test_regression_is_the_formula(data, landmarks, with_geometry, monkeypatch):
    monkeypatch.setattr(solver, "TOLERANCE", 1e-6)
    measure, data = ("pmd", data) if with_geometry else ("jaccard", Dataset(data.ratings))
    covariance = RatingSettings(shared_taste=0.7, taste=0.3, item_rate=1.5, level=0.2)
    model = Recommender(measure, rating=covariance, landmarks=landmarks).fit(data)
    kernel = model.predictor_.kernel
    K = kernel.features.astype(float) @ kernel.features.astype(float).T + np.diag(kernel.unexplained)
    distance = data.geometry.block() if with_geometry else None
    expected = oracle.gaussian_process(data.ratings, distance, K, covariance)
    users, items = (x.ravel() for x in np.indices(data.ratings.matrix.shape))
    values = model.predictor_.predict(users, items).values
    assert values == pytest.approx(expected.ravel(), abs=2e-3)  # small eigenvalues are left out


def test_covariances_are_checked():
    with pytest.raises(InputError, match=names("taste", -1)):
        RatingSettings(taste=-1)
    with pytest.raises(InputError, match=names("item", 0)):
        RatingSettings(item=0)


def test_no_convergence_is_an_error(data, monkeypatch):
    monkeypatch.setattr(solver, "ITERATIONS", 1)
    with pytest.raises(NotOptimalError, match=names(1, "RatingSettings")):
        Recommender().fit(data)


def test_the_default_tolerance_is_close_to_the_solution(data, monkeypatch):
    users, items = (x.ravel() for x in np.indices(data.ratings.matrix.shape))
    ours = Recommender().fit(data).predictor_.predict(users, items).values
    monkeypatch.setattr(solver, "TOLERANCE", 1e-8)
    assert ours == pytest.approx(Recommender().fit(data).predictor_.predict(users, items).values, abs=5e-3)


@pytest.mark.parametrize("with_geometry", [True, False])
def test_the_system_of_few_item_landmarks_is_the_formula_of_its_kernel(data, with_geometry, monkeypatch):
    """With landmarks among the items, the regression is that of the low-rank covariance of items."""
    monkeypatch.setattr(low_rank, "MAX_EXACT", 10)
    monkeypatch.setattr(low_rank, "ITEM_LANDMARKS", 6)
    monkeypatch.setattr(solver, "TOLERANCE", 1e-7)
    covariance = RatingSettings(shared_taste=0.7, taste=0.3, level=0.2)
    data = data if with_geometry else Dataset(data.ratings)
    model = Recommender("pmd" if with_geometry else "jaccard", rating=covariance).fit(data)
    r, everything = model.predictor_, np.arange(data.n_items)
    k_I = r.items.block(everything, everything)
    assert np.diagonal(k_I) == pytest.approx(np.ones(data.n_items), abs=1e-5)
    assert r.items.rank == (6 if with_geometry else 0)
    K = r.kernel.features.astype(float) @ r.kernel.features.astype(float).T + np.diag(r.kernel.unexplained)
    with np.errstate(divide="ignore"):
        distance = -np.log(np.maximum(k_I, 0.0)) if with_geometry else None
    users, items = (x.ravel() for x in np.indices(data.ratings.matrix.shape))
    values = model.predictor_.predict(users, items).values
    assert values == pytest.approx(
        oracle.gaussian_process(data.ratings, distance, K, covariance).ravel(), abs=2e-4
    )


@pytest.mark.parametrize("shape", [(6, 30), (30, 6)])
def test_products_by_users_and_by_items_are_the_same(shape):
    """The sums over users and items are taken over whichever are fewer."""
    crowd = datasets.synthetic(*shape, ratings=(3, 5), tastes=3)
    users = Recommender().fit(crowd).predictor_.kernel
    items = low_rank.item_kernel(crowd.geometry, 1.0, np.ones(shape[1]))
    system = solver._System(crowd.ratings, items, users, RatingSettings(), 1)
    alpha = np.random.default_rng(0).normal(size=crowd.ratings.n_ratings)
    V = crowd.ratings.matrix.toarray()
    V[V > 0] = alpha
    expected = (
        V.T
        @ users.features
        * (RatingSettings().neighbors + RatingSettings().shared_taste * items.unexplained[:, None])
    )
    expected += RatingSettings().shared_taste * items.features @ (items.features.T @ (V.T @ users.features))
    assert system.item_factors(alpha) == pytest.approx(expected, abs=1e-4)
