"""The user side: kernel ridge regression against dense solves, and rows left out, changed and added."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefmover.errors import InputError
from prefmover.predict.low_rank import LowRankKernel
from prefmover.rank.two_sided import UserSide
from tests.oracles import ranking as oracle

sizes = st.integers(0, 10**6), st.integers(2, 10), st.integers(1, 6), st.sampled_from([0.3, 1.0, 10.0, 100.0])


def kernel_of(rng, n, m=None):
    """The kernel of random points: of all users, or of m landmarks."""
    points = rng.normal(size=(n, 3))
    K = np.exp(-np.linalg.norm(points[:, None] - points[None], axis=2))
    landmarks = np.arange(n if m is None else m)
    return K, LowRankKernel.fit(landmarks, K[:, landmarks].__getitem__, n)


def fit(kernel, R, penalty):
    return UserSide.fit(kernel, kernel.features.T @ R.astype(np.float32), penalty)


def same(a, b):
    assert a.inverse == pytest.approx(b.inverse, abs=1e-4)
    assert a.weights == pytest.approx(b.weights, abs=1e-4)
    assert a.kernel.features == pytest.approx(b.kernel.features)
    assert a.kernel.unexplained == pytest.approx(b.kernel.unexplained)


@given(*sizes)
def test_scores_are_those_of_a_dense_solve(seed, n, n_items, penalty):
    rng = np.random.default_rng(seed)
    (K, kernel), R = kernel_of(rng, n), rng.normal(size=(n, n_items))
    side, A = fit(kernel, R, penalty), np.linalg.solve(K + penalty * np.eye(n), R)
    assert side.scores(kernel.features) == pytest.approx(oracle.kernel_ridge(K, R, penalty), abs=1e-3)
    coefficients = (R - side.scores(kernel.features)) / penalty
    assert coefficients == pytest.approx(A, abs=1e-3)


@given(*sizes)
def test_own_scores_and_parts_are_those_of_a_fit_without_the_row(seed, n, n_items, penalty):
    rng = np.random.default_rng(seed)
    (K, kernel), R = kernel_of(rng, n), rng.normal(size=(n, n_items)).astype(np.float32)
    side = fit(kernel, R, penalty)
    own = side.own_scores(np.arange(n), R)
    residuals = R - side.scores(kernel.features)
    for u in range(n):
        parts, total = oracle.without_own_row(K, R.astype(float), penalty, u)
        assert own[u] == pytest.approx(total, abs=2e-3)
        found = side.parts(kernel.features[u], u, residuals, np.arange(n))
        assert found == pytest.approx(parts, abs=2e-3)
        assert (found[u] == 0).all()
        assert found.sum(axis=0) == pytest.approx(own[u], abs=2e-4)


@given(*sizes)
def test_own_scores_and_parts_at_another_place_are_those_of_a_fit_without_the_row(seed, n, n_items, penalty):
    rng = np.random.default_rng(seed)
    (_, kernel), R = kernel_of(rng, n), rng.normal(size=(n, n_items)).astype(np.float32)
    side, u, others = fit(kernel, R, penalty), 0, np.arange(1, n)
    place = np.float32(0.5) * (kernel.features[u] + kernel.features[-1])
    less = replace(kernel, features=kernel.features[others], unexplained=kernel.unexplained[others])
    expected = fit(less, R[others], penalty).scores(place)
    assert side.own_scores(np.array([u]), R[[u]], place[None])[0] == pytest.approx(expected, abs=1e-3)
    found = side.parts(place, u, R - side.scores(kernel.features), np.arange(n))
    assert found.sum(axis=0) == pytest.approx(expected, abs=1e-3)
    assert (found[u] == 0).all()


def test_own_scores_with_few_landmarks_are_those_of_a_fit_without_the_row():
    rng = np.random.default_rng(7)
    _, kernel = kernel_of(rng, 12, 4)
    R = rng.normal(size=(12, 3)).astype(np.float32)
    own = fit(kernel, R, 2.0).own_scores(np.arange(12), R)
    for u in range(12):
        others = np.delete(np.arange(12), u)
        less = replace(kernel, features=kernel.features[others], unexplained=kernel.unexplained[others])
        assert own[u] == pytest.approx(fit(less, R[others], 2.0).scores(kernel.features[u]), abs=1e-4)


@given(*sizes)
def test_the_parts_of_a_guest_sum_to_the_score(seed, n, n_items, penalty):
    rng = np.random.default_rng(seed)
    (_, kernel), R = kernel_of(rng, n), rng.normal(size=(n, n_items)).astype(np.float32)
    side = fit(kernel, R, penalty)
    guest = kernel.features[0] * np.float32(0.7)
    parts = side.parts(guest, -1, R - side.scores(kernel.features), np.arange(n))
    assert parts.sum(axis=0) == pytest.approx(side.scores(guest), abs=1e-3)


@given(*sizes)
def test_changed_and_added_rows_are_those_of_a_new_fit(seed, n, n_items, penalty):
    rng = np.random.default_rng(seed)
    _, kernel = kernel_of(rng, n + 2, max(1, n // 2))
    R = rng.normal(size=(n + 2, n_items)).astype(np.float32)
    first = replace(kernel, features=kernel.features[:n], unexplained=kernel.unexplained[:n])
    before = R[:n].copy()
    before[1] = rng.normal(size=n_items)
    features = first.features.copy()
    features[1] = kernel.features[n]  # elsewhere
    side = fit(replace(first, features=features), before, penalty)
    changed = side.updated(first, np.array([1]), [(before[1], R[1])])
    same(changed, fit(first, R[:n], penalty))
    added = changed.updated(kernel, np.array([n, n + 1]), [(None, row) for row in R[n:]])
    same(added, fit(kernel, R, penalty))


def test_many_changes_do_not_drift():
    rng = np.random.default_rng(0)
    _, kernel = kernel_of(rng, 40, 20)
    R = rng.normal(size=(40, 5)).astype(np.float32)
    side, target = fit(kernel, R, 1.0), R.copy()
    for _ in range(2000):
        u = int(rng.integers(40))
        new = rng.normal(size=5).astype(np.float32)
        side = side.updated(kernel, np.array([u]), [(target[u], new)])
        target[u] = new
    assert side.weights == pytest.approx(fit(kernel, target, 1.0).weights, abs=1e-2)


@pytest.mark.parametrize("penalty", [0, -1, np.nan, np.inf])
def test_bad_penalties(penalty):
    _, kernel = kernel_of(np.random.default_rng(1), 3)
    with pytest.raises(InputError, match="penalty"):
        UserSide.fit(kernel, kernel.features.T, penalty)
