import numpy as np
import pytest

from prefmover import Dataset, datasets, estimated_distances
from prefmover.data.ratings import Ratings
from prefmover.errors import InputError
from prefmover.evaluation import Experiment
from prefmover.evaluation.baselines.rating_controls import Baseline, estimated, mean_vector
from prefmover.evaluation.recommenders import Method, Request
from prefmover.items.geometry import ItemGeometry
from prefmover.measures import find_measure, pairwise
from prefmover.predict.centering import Centering
from tests.evaluation.test_recommenders import predict, small


def test_uniform_is_a_mean_of_raters():
    split, data = small(3)
    predicted, _ = predict(data, split, "uniform", (1, 50))
    train, centering = split.train, Centering.fit(split.train, "mean")
    residuals = centering.residuals(train)
    rows = train.rows()
    for at, (u, i) in enumerate(zip(split.users, split.items, strict=True)):
        of_item = residuals[(train.matrix.indices == i) & (rows != u)]
        baseline = centering.baseline(np.array([u]), np.array([i]))[0]
        expected = baseline + (of_item.mean() if of_item.size else 0.0)
        assert predicted[at, 1] == pytest.approx(np.clip(expected, 1, 5))
        if of_item.size:  # one rater, whoever it is
            assert np.isclose(np.clip(baseline + of_item, 1, 5), predicted[at, 0]).any()
    other, _ = predict(data, split, "uniform", (1, 50), seed=1)
    assert not np.array_equal(predicted[:, 0], other[:, 0])
    np.testing.assert_allclose(predicted[:, 1], other[:, 1])


def test_mean_vectors_by_hand():
    rng = np.random.default_rng(5)
    X = rng.random((6, 4))
    users, items = np.nonzero(rng.random((8, 6)) < 0.6)
    ratings = Ratings.from_arrays(users, items, rng.integers(1, 6, users.size))
    data = Dataset(ratings, ItemGeometry.from_vectors(ratings.items, X[ratings.items]))
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    V = ratings.matrix.toarray() @ unit[ratings.items]
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    measure = mean_vector().measure
    values = pairwise(data, measure, ratings.users[[3, 1]], ratings.users[[0, 2, 3, 4]])
    np.testing.assert_allclose(values, V[[3, 1]] @ V[[0, 2, 3, 4]].T, atol=1e-6)


def test_mean_vectors_need_a_geometry():
    _, data = small(0)
    model = Request(Method.parse("mean-vector"), Experiment(dataset="cinema"), 0, 1).create()
    with pytest.raises(InputError, match="mean-vector"):
        model.fit(Dataset(data.ratings))


def test_estimated_neighbors_are_those_of_calibrated_distances():
    data = datasets.load("cinema")
    users, others = data.ratings.users[[7, 2, 30]], data.ratings.users[:20]
    about = estimated_distances(data, users, others).values
    values = pairwise(data, estimated("pmd").measure, users, others)
    np.testing.assert_array_equal(values, about)
    # What agreement adds is exact.
    exact = pairwise(data, "pmd-agreement", users, others) - pairwise(data, "pmd", users, others)
    added = pairwise(data, estimated("pmd-agreement").measure, users, others) - values
    np.testing.assert_allclose(added, exact, atol=1e-6)


@pytest.mark.parametrize("measure", ["pmd", "pmd-agreement"])
def test_estimated_neighbors_predict_nearly_what_exact_ones_do(measure):
    split, data = small(3)
    model = Request(Method.parse(f"estimated:{measure}"), Experiment(dataset="cinema"), 0, 1).create()
    assert model.weight == find_measure(measure).weight
    about, _ = predict(data, split, f"estimated:{measure}", (40,))
    exact, _ = predict(data, split, f"knn:{measure}", (40,))
    assert np.abs(about - exact).mean() < 0.02
    assert not np.array_equal(about, exact)


def test_without_neighbors():
    split, data = small(2)
    pairs = split.test_pairs()
    mean = Baseline("user-mean").fit(data).predict(pairs)
    bias = Baseline("bias").fit(data).predict(pairs)
    centering = Centering.fit(split.train, "mean")
    np.testing.assert_allclose(mean, centering.baseline(split.users, split.items))
    assert not np.allclose(mean, bias)
