"""Estimated distances: the bounds against slow loops, the error as reported, and what may not matter."""

import numpy as np
import pytest

from prefmover import Dataset, ItemGeometry, Ratings, datasets, estimated_distances, pairwise
from prefmover.errors import InputError
from prefmover.measures import _estimates as kernels
from prefmover.measures import find_measure
from prefmover.measures.estimates import (
    LENGTH,
    Calibration,
    Landmarks,
    UserRows,
    _one_sided,
    calibrate,
    estimate,
    estimate_to_landmarks,
)
from prefmover.predict.similarity import UserSimilarity


@pytest.fixture(scope="module")
def cinema() -> Dataset:
    data = datasets.load("cinema")
    return data.with_ratings(data.ratings.take(users=range(150)))


@pytest.fixture(scope="module")
def calibration(cinema: Dataset) -> Calibration:
    return calibrate(cinema)


def small(seed: int, n_users: int = 7, n_items: int = 9) -> Dataset:
    rng = np.random.default_rng(seed)
    rated = rng.random((n_users, n_items)) < 0.4
    rated[:, 0] |= ~rated.any(axis=1)
    users, items = np.nonzero(rated)
    ratings = Ratings.from_arrays(users.tolist(), items.tolist(), rng.integers(1, 6, len(users)))
    geometry = ItemGeometry.from_vectors(range(n_items), rng.normal(size=(n_items, 3)))
    return Dataset(ratings, geometry)


@pytest.mark.parametrize("seed", range(5))
def test_one_sided_bounds_are_those_of_slow_loops(seed):
    data = small(seed)
    everyone = np.arange(data.n_users)
    rows = UserRows.take(data.preferences, data.geometry, everyone)
    found = _one_sided(rows, rows, data.geometry, 2)
    d, exact = data.geometry.block(), pairwise(data)
    for u in everyone:
        items, ratings = data.ratings.row(u)
        for v in everyone:
            others = data.ratings.row(v)[0]
            slow = sum(r * d[i, others].min() for i, r in zip(items, ratings, strict=True)) / ratings.sum()
            assert found[u, v] == pytest.approx(slow, abs=1e-6)
            assert found[u, v] <= exact[u, v] + 1e-6


def test_the_reported_error_is_that_of_all_pairs(cinema, calibration):
    exact = pairwise(cinema)
    values, again = estimated_distances(cinema)
    assert again.r == calibration.r
    pairs = np.triu_indices(len(exact), 1)
    error = np.abs(values - exact)[pairs] / exact[pairs]
    assert error.mean() == pytest.approx(calibration.mean_error, rel=0.35)
    assert np.corrcoef(values[pairs], exact[pairs])[0, 1] == pytest.approx(calibration.r, abs=0.01)
    assert calibration.mean_error < 0.03
    assert calibration.r > 0.95
    assert (values.diagonal() == 0).all()
    np.testing.assert_allclose(values, values.T, atol=1e-6)


def test_estimates_are_deterministic_and_do_not_depend_on_threads_blocks_or_layout(cinema, calibration):
    assert np.array_equal(calibrate(cinema, n_threads=1).coefficients, calibration.coefficients)
    everyone = np.arange(cinema.n_users)
    rows = UserRows.take(cinema.preferences, cinema.geometry, everyone)
    whole = estimate(calibration, cinema.geometry, rows, rows, n_threads=1)
    some = UserRows.take(cinema.preferences, cinema.geometry, everyone[5:17])
    part = estimate(calibration, cinema.geometry, some, rows, n_threads=2)
    np.testing.assert_array_equal(part, whole[5:17])
    assert cinema.geometry.vectors is not None
    lazy = ItemGeometry.from_vectors(cinema.geometry.items, cinema.geometry.vectors, budget=0)
    np.testing.assert_allclose(estimate(calibration, lazy, some, rows), part, atol=1e-6)


def test_a_geometry_without_vectors_can_be_calibrated():
    data = datasets.load("cinema")
    d = data.geometry.block()
    bare = Dataset(data.ratings.take(users=range(150)), ItemGeometry.from_distance(data.geometry.items, d))
    assert bare.geometry.vectors is None
    assert calibrate(bare).mean_error < 0.05


def test_users_without_a_distribution_have_no_distance():
    ratings = Ratings.from_arrays([1, 2, 3, 3], ["a", "b", "a", "b"], [0, 4, 5, 1])
    data = Dataset(ratings, ItemGeometry.from_vectors(["a", "b"], [[1, 0], [1, 1]]))
    values, calibration = estimated_distances(data)
    assert np.isnan(values[0, 1:]).all()
    assert np.isnan(values[1:, 0]).all()
    assert values[1, 2] == pytest.approx(pairwise(data)[1, 2], rel=0.01)
    assert calibration.n_held_out > 0


def test_small_data_and_other_measures_are_never_estimated(cinema):
    few = cinema.with_ratings(cinema.ratings.take(users=range(40)))
    assert UserSimilarity(few, find_measure("pmd")).calibrated().calibration is None
    assert UserSimilarity(cinema, find_measure("cos")).calibrated().calibration is None
    assert UserSimilarity(cinema, find_measure("pmd")).calibrated().calibration is not None


def test_nobody_to_compare():
    data = Dataset(Ratings.from_arrays([1], ["a"], [3]), ItemGeometry.from_vectors(["a"], [[1.0]]))
    with pytest.raises(InputError):
        calibrate(data)


@pytest.mark.parametrize("dense", [True, False])
def test_estimates_to_prepared_landmarks_are_the_same_to_the_last_bit(cinema, calibration, dense):
    geometry = cinema.geometry
    if not dense:
        geometry = ItemGeometry.from_vectors(geometry.items, geometry.vectors, budget=0)
    others = UserRows.take(cinema.preferences, geometry, np.arange(20, 110))
    landmarks = Landmarks.prepare(others, geometry, 2)
    for u in (0, 25, 149):
        one = UserRows.take(cinema.preferences, geometry, np.array([u]))
        expected = estimate(calibration, geometry, one, others)
        assert np.array_equal(estimate_to_landmarks(calibration, geometry, one, landmarks), expected)


def test_mean_vectors_are_directions_in_whole_numbers(cinema):
    rows = UserRows.take(cinema.preferences, cinema.geometry, np.arange(40))
    assert (rows.means == np.rint(rows.means)).all()
    for u in range(40):
        items, ratings = cinema.ratings.row(u)
        mean = ratings @ cinema.geometry.vectors[items]
        np.testing.assert_allclose(rows.means[u] / LENGTH, mean / np.linalg.norm(mean), atol=1e-7)


@pytest.mark.parametrize("apart", [0.0, 1e-9, 1e-6, 1e-3, 0.5, 1.5, 3.0, np.pi - 1e-6, np.pi])
def test_angles_of_near_and_of_far_vectors(apart):
    turned = np.array([[np.cos(apart), -np.sin(apart)], [np.sin(apart), np.cos(apart)]])
    a = np.rint(LENGTH * np.array([3.0, 4.0]) / 5)
    b = np.rint(turned @ a)
    exact = np.arctan2(abs(a[0] * b[1] - a[1] * b[0]), a @ b)  # the cross product does not cancel
    assert kernels.angle(a @ a, b @ b, a @ b) == pytest.approx(exact, abs=0.1 / LENGTH)
    assert kernels.angle(a @ a, 0.0, 0.0) == np.pi / 2


@pytest.mark.parametrize("seed", range(4))
def test_least_squares(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 6)), rng.normal(size=60)
    found = kernels.least_squares(X, y)
    np.testing.assert_allclose(found, np.linalg.lstsq(X, y, rcond=None)[0], rtol=1e-10)
    X[:, 4] = X[:, 1] - 2 * X[:, 2]  # depends on others
    X[:, 3] = 0.0
    found = kernels.least_squares(X, y)
    assert found[4] == found[3] == 0
    np.testing.assert_allclose(X @ found, X @ np.linalg.lstsq(X, y, rcond=None)[0], atol=1e-10)
    np.testing.assert_allclose(kernels.times(X, found), X @ found, rtol=1e-12)
