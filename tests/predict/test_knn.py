"""The neighbor average against its formula, for one K and for all."""

import numpy as np
import pytest

from prefmover.data.ratings import Ratings
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.measures import MEASURES, Measure, pairwise, weight
from prefmover.model import KNNRecommender
from prefmover.predict._knn import average
from tests.messages import names
from tests.oracles.prediction import knn

CENTERINGS = ["none", "mean", "z-score", "baseline"]


@pytest.mark.parametrize("measure", ["pmd", "msd", "pcc", "husm"])
@pytest.mark.parametrize("centering", CENTERINGS)
@pytest.mark.parametrize("among", ["raters", "global"])
def test_average_is_the_formula(data, measure, centering, among):
    row = MEASURES[measure]
    values, ratings = pairwise(data, row), data.ratings
    parameters = {"centering": centering, "shrinkage": 0.5, "neighborhood": among}
    model = KNNRecommender(measure, 4, **parameters).fit(data)
    pairs = [(u, i) for u in range(data.n_users) for i in range(0, data.n_items, 5)]
    predicted = model.predict([(ratings.users[u], ratings.items[i]) for u, i in pairs])
    from_neighbors = 0
    for (u, i), p in zip(pairs, predicted, strict=True):
        expected = knn(
            ratings, values, row.larger_is_closer, weight(row.weight), u, i, 4, centering, 0.5, among
        )
        if expected is None:
            assert p.how == "no neighbor"
        else:
            from_neighbors += 1
            assert p.rating == pytest.approx(np.clip(expected, 1, 5), abs=1e-8)
    assert from_neighbors > 20


@pytest.mark.parametrize("measure", ["pmd", "cos"])
@pytest.mark.parametrize("among", ["raters", "global"])
def test_all_k_are_each_k(data, measure, among):
    predictor = KNNRecommender(measure, neighborhood=among).fit(data).predictor_
    users, items = (x.ravel() for x in np.indices(data.ratings.matrix.shape))
    users, items = np.append(users[::-1], [-1, 2]), np.append(items[::-1], [3, -1])
    ks = (1, 3, 40, 1000)
    every = predictor.predict_all_k(users, items, ks)
    for column, k in enumerate(ks):
        one = KNNRecommender(measure, k, neighborhood=among).fit(data).predictor_.predict(users, items)
        assert every.values[:, column].tolist() == one.values.tolist()
        assert every.n_neighbors[:, column].tolist() == one.count_neighbors().tolist()
    assert (np.diff(every.used, axis=1) >= 0).all()


@pytest.mark.parametrize("ks", [(), (0, 2), (3, 2), (2, 2)])
def test_bad_ks(data, ks):
    with pytest.raises(InputError, match=names("k", list(ks))):
        KNNRecommender("cos").fit(data).predictor_.predict_all_k(np.array([0]), np.array([0]), ks)


def test_prefixes_by_hand():
    shift, used, contributing = np.zeros((1, 3)), np.zeros((1, 3), np.int32), np.zeros((1, 3), np.int32)
    weights, residuals = np.array([0.5, 0.0, 1.0, -0.25]), np.array([2.0, 9.0, 1.0])
    indptr, entries = np.array([0, 4]), np.array([2, 1, -1, 0])  # the third neighbor has not rated the item
    average(indptr, entries, weights, residuals, 0.25, np.array([1, 3, 9]), shift, used, contributing)
    assert shift.tolist() == [[0.5 / 0.75, 0.5 / 0.75, 0.0]]
    assert used.tolist() == [[1, 2, 3]]
    assert contributing.tolist() == [[1, 1, 2]]


@pytest.mark.parametrize("measure", ["pmd", "cos", "nhsm"])
@pytest.mark.parametrize("among", ["raters", "global"])
def test_a_guest_is_the_user(data, measure, among):
    ratings, user = data.ratings, data.ratings.users[4]
    model = KNNRecommender.paper(measure, 5, neighborhood=among).fit(data)
    others = data.with_ratings(ratings.take(users=np.arange(data.n_users) != 4))
    rest = KNNRecommender.paper(measure, 5, neighborhood=among).fit(others)
    items = [i for i in ratings.items if i not in ratings[user]]
    guest = rest.guest(ratings[user])
    predicted = rest.predict([(guest, i) for i in items])
    expected = model.predict([(user, i) for i in items])
    assert predicted.ratings == pytest.approx(expected.ratings)
    assert predicted.n_neighbors.tolist() == expected.n_neighbors.tolist()
    if measure == "pmd":
        assert model.neighbors(model.guest(ratings[user], name="twin"), 1)[0].user == user


def test_neighbors_of_weight_0_are_not_listed():
    """A value of 0 is a weight of 0, which neither the count nor the list has."""
    ratings = Ratings.from_arrays(["a", "a", "b", "b", "c", "c"], list("xyxzxz"), [3, 4, 5, 2, 1, 4])
    zero = Measure.from_function("zero", lambda u, v: 0.0 if 1.0 in (u["x"], v["x"]) else 0.5, symmetric=True)
    model = KNNRecommender(zero).fit(Dataset(ratings))
    assert model.predict_one("a", "z").n_neighbors == 1
    assert [part.user for part in model.explain_rating("a", "z").contributions] == ["b"]
