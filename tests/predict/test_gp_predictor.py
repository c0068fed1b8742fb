"""The kernel predictor: users in the regression, contributions and their evidence."""

import numpy as np
import pytest

from prefmover.data.ratings import Ratings
from prefmover.data.scale import Scale
from prefmover.dataset import Dataset
from prefmover.items.geometry import ItemGeometry
from prefmover.measures import pairwise
from prefmover.model import Recommender
from prefmover.predict import RatingSettings
from tests.predict.conftest import make_data


def test_user_kernel_is_the_weight(data):
    model = Recommender(rating=RatingSettings("exponential(2)", shrinkage=0)).fit(data)
    kernel = model.predictor_.kernel
    K = kernel.features @ kernel.features.T
    assert pytest.approx(np.exp(-2 * pairwise(data)), abs=1e-4) == K


def test_users_with_few_ratings_count_less_as_neighbors(data):
    whole, shrunk = (
        Recommender(rating=RatingSettings("exponential(2)", shrinkage=shrinkage)).fit(data)
        for shrinkage in (0, 3)
    )
    n = np.diff(data.ratings.matrix.indptr)
    expected = _covariance(whole) * np.sqrt(np.outer(n / (n + 3), n / (n + 3)))
    np.fill_diagonal(expected, 1.0)
    assert pytest.approx(expected, abs=1e-5) == _covariance(shrunk)
    user = data.ratings.users[0]
    guest = shrunk.guest(data.ratings[user])  # has the features of the user with the same ratings
    features = shrunk.predictor_.kernel.features[0]
    assert pytest.approx(features, abs=1e-5) == guest.rating.features


def _covariance(model):
    """K = ΦΦᵀ + diag(ψ) of a fitted model."""
    kernel = model.predictor_.kernel
    return kernel.features @ kernel.features.T + np.diag(kernel.unexplained)


def test_a_guest_is_almost_a_user():
    """The coefficients of all others stay as they are; the prediction hardly changes."""
    data = make_data(8, n_users=60, n_items=30, per_user=14)
    user = data.ratings.users[59]
    rated = data.ratings[user]
    rest = Recommender().fit(data.with_ratings(data.ratings.take(users=np.arange(59))))
    whole = Recommender().fit(data)
    items = [i for i in data.ratings.items if i not in rated]
    guest = rest.guest(rated)
    fitted = whole.predict([(user, i) for i in items]).ratings
    as_guest = rest.predict([(guest, i) for i in items]).ratings
    unknown = whole.predict([("nobody", i) for i in items]).ratings
    assert np.abs(as_guest - fitted).mean() < 0.1
    assert np.abs(as_guest - fitted).mean() < 0.3 * np.abs(unknown - fitted).mean()


def test_items_nobody_rated_are_predicted(data):
    half = data.ratings.take(items=np.arange(0, 18, 2))
    model = Recommender().fit(Dataset(half, data.geometry))
    one, other = (model.predict_one(u, "i03") for u in ("u00", "u01"))
    assert one.how == other.how == "neighbors"
    assert one.rating != pytest.approx(other.rating, abs=1e-3)


@pytest.mark.parametrize("with_geometry", [True, False])
def test_neighbors_who_add_nothing_are_not_counted(with_geometry):
    """Without a co-rated item there is no cosine; without a geometry, only raters have residuals."""
    ids = [f"i{k}" for k in range(6)]
    geometry = ItemGeometry.from_vectors(ids, np.eye(6) + 0.1) if with_geometry else None
    alone = Ratings.from_arrays([f"u{k}" for k in range(6)], ids, [1, 2, 3, 4, 5, 1], scale=Scale(1, 5, 1))
    model = lonely_model = Recommender("cos").fit(Dataset(alone, geometry))
    lonely = model.predict_one("u0", "i5")
    assert (lonely.how, lonely.n_neighbors) == ("no neighbor", 0)
    assert model.explain_rating("u0", "i5").contributions == ()
    rows = [("a", "i0", 5), ("a", "i1", 2), ("b", "i0", 4), ("b", "i2", 1), ("c", "i1", 3), ("c", "i3", 5)]
    few = Ratings.from_arrays(*map(list, zip(*rows, strict=True)), scale=Scale(1, 5, 1))
    model = Recommender("cos").fit(Dataset(few, geometry))
    for user in (*"abc", model.guest({"i0": 5})):
        for item in ids[: 6 if with_geometry else 4]:
            parts = model.explain_rating(user, item).contributions
            assert model.predict_one(user, item).n_neighbors == len(parts)
            assert all(part.value != 0 for part in parts)
        for one in model.recommend(user, 6, reasons=False):  # a list does not count them
            predicted = model.predict_one(user, one.item)
            assert (one.rating, one.how) == (pytest.approx(predicted.rating, abs=1e-6), predicted.how)
    assert [one.how for one in lonely_model.recommend("u0", 2)] == ["no neighbor"] * 2
    assert model.predict_one("a", "i2").n_neighbors == (2 if with_geometry else 1)


def test_evidence_is_the_neighbors_ratings(data):
    model = Recommender().fit(data)
    top = model.recommend("u00", 1)[0]
    why = model.explain_rating("u00", top.item)
    assert why.prediction.rating == pytest.approx(top.rating, abs=1e-5)
    first = why.contributions[0]
    assert len(first.evidence) > 0
    assert all(data.ratings[first.user][one.item] == one.rating for one in first.evidence)
    assert first.measure_value is not None


def test_values_of_the_ten_largest_contributions_only(data):
    parts = Recommender().fit(data).explain_rating("u00", "i03").contributions
    assert [part.measure_value is None for part in parts] == [False] * 10 + [True] * (len(parts) - 10)
    assert [bool(part.evidence) for part in parts] == [True] * 10 + [False] * (len(parts) - 10)
