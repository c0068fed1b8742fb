"""Centering, the average, the user kernel, top-n: each against its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefmover.errors import InputError
from prefmover.measures import weight
from prefmover.predict.base import Lists, average, ratings_of
from prefmover.predict.centering import Centering, biases
from prefmover.predict.regression import Shared
from prefmover.predict.top_n import best
from prefmover.predict.user_kernel import UserKernel, choose_landmarks, say
from tests.messages import names
from tests.oracles.prediction import coordinates, ridge_biases


def test_biases_solve_their_least_squares(world):
    ratings, _ = world
    mean = ratings.matrix.data.mean()
    user, item = biases(ratings, mean, 3.0, 2.0)
    expected_user, expected_item, _ = ridge_biases(ratings, 3.0, 2.0)
    assert user == pytest.approx(expected_user, abs=1e-8)
    assert item == pytest.approx(expected_item, abs=1e-8)


@pytest.mark.parametrize("name", ["none", "mean", "z-score", "baseline"])
def test_base_and_deviation_make_the_rating(world, name):
    ratings, _ = world
    c = Centering.of(ratings, name)
    u, i = coordinates(ratings)
    again = c.base(u, i) + c.spread[u] * c.deviations(ratings)
    assert again == pytest.approx(ratings.matrix.data)
    if name in ("mean", "z-score"):
        assert np.bincount(u, c.deviations(ratings)) == pytest.approx(np.zeros(ratings.n_users), abs=1e-9)


@pytest.mark.parametrize("name", ["none", "mean", "z-score"])
def test_a_new_user_is_centered_as_if_known(world, name):
    ratings, _ = world
    c = Centering.of(ratings, name)
    row = slice(ratings.matrix.indptr[2], ratings.matrix.indptr[3])
    user, spread = c.of_new_user(ratings.matrix.indices[row].astype(np.int64), ratings.matrix.data[row])
    assert user == pytest.approx(c.user[2])
    assert spread == pytest.approx(c.spread[2])


def test_average_by_hand():
    lists = Lists(
        np.array([0, 2, 2]),
        np.array([4, 7]),
        np.array([0.5, -0.25]),
        np.array([1.0, 2.0]),
        np.array([5.0, 4.0]),
    )
    values, parts, spoke = average(np.array([3.0, 2.0]), np.array([2.0, 1.0]), lists, weight("as-is"), 0.25)
    assert values.tolist() == [3.0 + 2 * (0.5 * 1 - 0.25 * 2) / (0.75 + 0.25), 2.0]
    assert parts.tolist() == [1.0, -1.0]
    assert spoke.tolist() == [2, 0]


def test_where_ratings_are(world):
    ratings, _ = world
    dense = ratings.matrix.toarray()
    u, i = (x.ravel() for x in np.indices(dense.shape))
    at = ratings_of(ratings, u, i)
    assert (at >= 0).tolist() == (dense.ravel() > 0).tolist()
    assert ratings.matrix.data[at[at >= 0]].tolist() == dense.ravel()[at >= 0].tolist()
    assert ratings_of(ratings, np.array([-1, 0]), np.array([0, -1])).tolist() == [-1, -1]


@given(
    st.lists(st.one_of(st.integers(0, 4).map(float), st.just(float("nan"))), max_size=30),
    st.integers(1, 35),
    st.data(),
)
def test_best_is_a_sort(scores, n, data):
    rated = data.draw(st.sets(st.integers(0, max(len(scores) - 1, 0)))) if scores else set()
    expected = sorted(
        (k for k, s in enumerate(scores) if s == s and k not in rated), key=lambda k: (-scores[k], k)
    )[:n]
    found = best(np.array(scores, dtype=float), np.array(sorted(rated), dtype=np.int64), n)
    assert found.tolist() == expected


@given(st.integers(0, 1000), st.integers(2, 12), st.integers(1, 12))
def test_user_kernel_is_a_covariance(seed, n, m):
    rng = np.random.default_rng(seed)
    weights = rng.uniform(-1, 1, size=(n, n))
    np.fill_diagonal(weights, 1)
    landmarks = choose_landmarks(np.ones(n), m, seed)
    kernel = UserKernel.of(weights[:, landmarks], landmarks)
    diagonal = (kernel.features.astype(float) ** 2).sum(axis=1) + kernel.rest
    assert diagonal == pytest.approx(np.ones(n), abs=1e-4)
    assert (kernel.rest >= 0).all()


def test_landmarks():
    counts = np.array([3, 0, 1, 2, 5])
    assert choose_landmarks(counts, 2, 0).tolist() == [0, 2, 3, 4]
    assert len(choose_landmarks(counts, 1, 0)) == 1
    many = np.arange(50) % 3
    assert choose_landmarks(many, 10, 7).tolist() == choose_landmarks(many, 10, 7).tolist()
    assert (many[choose_landmarks(many, 10, 7)] > 0).all()
    assert len(set(choose_landmarks(many, 10, 7).tolist())) == 10


def test_say_is_one_with_oneself():
    values = np.array([[4.0, 2.0, np.nan], [2.0, 9.0, -30.0]])
    own, landmark_own = np.array([4.0, 9.0]), np.array([4.0, 9.0, np.nan])
    out = say(values, weight("as-is"), own, landmark_own)
    assert out[0, 0] == out[1, 1] == 1
    assert out[0, 2] == 0
    assert out[0, 1] == pytest.approx(2 / 6)
    assert out.min() >= -1


def test_shared_is_checked():
    with pytest.raises(InputError, match=names("lending", -1)):
        Shared(lending=-1)
    with pytest.raises(InputError):
        Shared(item=0)
