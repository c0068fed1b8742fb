"""Landmarks, weights and features of users."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from prefmover.data.ratings import Ratings
from prefmover.data.scale import Scale
from prefmover.measures import weight
from prefmover.predict.low_rank import LowRankKernel, normalized_weights, self_scale
from prefmover.predict.similarity import choose_landmarks


def rated(counts):
    """Ratings of users who have as many."""
    dense = np.arange(max(counts)) < np.asarray(counts)[:, None]
    return Ratings.from_csr(csr_array(dense * 3.0), scale=Scale(1, 5, 1))


@given(st.integers(0, 1000), st.integers(2, 12), st.integers(1, 12))
def test_user_kernel_is_a_covariance(seed, n, m):
    rng = np.random.default_rng(seed)
    weights = rng.uniform(-1, 1, size=(n, n))
    np.fill_diagonal(weights, 1)
    landmarks = choose_landmarks(rated(np.ones(n)), m, seed)
    kernel = LowRankKernel.fit(landmarks, weights[:, landmarks].__getitem__, n)
    diagonal = (kernel.features.astype(float) ** 2).sum(axis=1) + kernel.unexplained
    assert diagonal == pytest.approx(np.ones(n), abs=1e-4)
    assert (kernel.unexplained >= 0).all()


def test_landmarks():
    few = rated([3, 0, 1, 2, 5])
    assert choose_landmarks(few, 2, 0).tolist() == [0, 2, 3, 4]
    assert len(choose_landmarks(few, 1, 0)) == 1
    many = rated(np.arange(50) % 3)
    assert choose_landmarks(many, 10, 7).tolist() == choose_landmarks(many, 10, 7).tolist()
    assert (choose_landmarks(many, 10, 7) % 3 > 0).all()
    assert len(set(choose_landmarks(many, 10, 7).tolist())) == 10


def test_weights_to_oneself_are_one():
    values = np.array([[4.0, 2.0, np.nan], [2.0, 9.0, -30.0]])
    rule = weight("as-is")
    scales = (self_scale(rule, np.array(of)) for of in ([4.0, 9.0], [4.0, 9.0, np.nan]))
    out = normalized_weights(values, rule, *scales)
    assert out[0, 0] == out[1, 1] == 1
    assert out[0, 2] == 0
    assert out[0, 1] == pytest.approx(2 / 6)
    assert out.min() >= -1


def test_the_layout_is_the_one_that_is_saved():
    """Products of matrices in another layout differ in the last bit."""
    kernel = LowRankKernel.fit(np.arange(5), (np.eye(5) / 2 + 0.5).__getitem__, 5)
    assert kernel.whitening.flags.c_contiguous


@pytest.mark.parametrize("n_users", [5, 4500])
def test_the_largest_weights_are_those_of_all(n_users):
    rng = np.random.default_rng(0)
    rank = 130
    features = (
        rng.normal(size=(n_users, rank)) * np.linspace(0.1, 1, rank) ** 4
    )  # the last directions are large
    features = (features / np.linalg.norm(features, axis=1, keepdims=True)).astype(np.float32)
    kernel = LowRankKernel(np.arange(rank), np.eye(rank, dtype=np.float32), features, np.zeros(n_users))
    for user in range(3):
        weights = kernel.features @ features[user]
        weights[user] = 0.0
        expected = [v for v in np.argsort(-weights, kind="stable").tolist() if weights[v] > 0][:40]
        assert kernel.largest(features[user], 40, user).tolist() == expected
    assert kernel.largest(features[0], 1).tolist() == [0]
