"""Kernel ridge regression over users, with each distance, against slow twins."""

import numpy as np
import pytest

from prefmover import Dataset, Ratings, datasets, pairwise
from prefmover.errors import InputError
from prefmover.evaluation import compute, evaluate
from prefmover.evaluation.baselines.kernel_ridge import (
    DISTANCES,
    kernel_ridge,
    neural_tangent,
    user_distances,
)
from prefmover.evaluation.recommenders import GROUPS
from tests.messages import names


@pytest.fixture(scope="module")
def data():
    cinema = datasets.load("cinema")
    ratings = cinema.ratings.take(users=np.arange(24))
    ratings.matrix.data.setflags(write=True)
    return cinema.with_ratings(ratings)


def angle(a, b):
    cosine = a @ b / np.sqrt((a @ a) * (b @ b))
    return np.arccos(np.clip(cosine, -1, 1))


def slow(data, name, u, v):
    """Return the distance of two users, from its definition."""
    X = data.ratings.matrix.toarray()
    p, q = X[u] / X[u].sum(), X[v] / X[v].sum()
    d = data.geometry.block(np.arange(data.n_items), np.arange(data.n_items))
    mine, theirs = np.flatnonzero(p), np.flatnonzero(q)
    if name == "total-variation":
        return np.abs(p - q).sum() / 2
    if name == "jaccard":
        return 1 - len(set(mine) & set(theirs)) / len(set(mine) | set(theirs))
    if name == "cosine":
        return angle(X[u], X[v])
    if name == "rwmd":
        there = sum(p[i] * min(d[i, j] for j in theirs) for i in mine)
        back = sum(q[j] * min(d[i, j] for i in mine) for j in theirs)
        return max(there, back)
    S = data.geometry.similarity(np.arange(data.n_items), np.arange(data.n_items))
    return np.arccos(np.clip(p @ S @ q / np.sqrt((p @ S @ p) * (q @ S @ q)), -1, 1))


@pytest.mark.parametrize("name", ["rwmd", "mean-vector", "total-variation", "cosine", "jaccard"])
def test_distances_match_their_definitions(data, name):
    D = user_distances(data, name)
    assert D.shape == (24, 24)
    assert (np.diagonal(D) == 0).all()
    for u, v in [(0, 1), (3, 20), (17, 5), (9, 8)]:
        assert D[u, v] == pytest.approx(slow(data, name, u, v), abs=2e-4)


def test_pmd_is_exact_between_few_users(data):
    assert user_distances(data, "pmd") == pytest.approx(pairwise(data), abs=1e-9)


@pytest.mark.parametrize("penalty", [0.5, 10.0])
def test_scores_are_those_of_the_formula(data, penalty):
    model = kernel_ridge("cosine", rate=2.0, penalty=penalty).fit(data)
    D = user_distances(data, "cosine")
    K = np.exp(-2.0 * D / np.median(D[np.triu_indices(24, 1)]))
    X = data.ratings.matrix.toarray()
    expected = K @ np.linalg.solve(K + penalty * np.eye(24), X)
    assert model.scores_(np.arange(24)) == pytest.approx(expected, abs=1e-3)


def network_gradient(W, v, x):
    """Return the gradient of a network v · relu(W x) / √width by all its weights."""
    active = W @ x > 0
    return np.concatenate([np.where(active, W @ x, 0), ((v * active)[:, None] * x).ravel()])


def test_the_neural_tangent_kernel_is_that_of_wide_networks():
    """Inner products of gradients at random weights, of a wide network, approach K / 2."""
    rng = np.random.default_rng(0)
    given = rng.integers(0, 6, (4, 8)) + np.eye(4, 8, dtype=int)
    users, items = np.nonzero(given)
    few = Dataset(Ratings.from_arrays(users, items, given[users, items]))
    X = few.ratings.matrix.toarray()
    rows = X / np.linalg.norm(X, axis=1, keepdims=True)
    W, v = rng.standard_normal((60_000, few.n_items)), rng.standard_normal(60_000)
    gradients = [network_gradient(W, v, x) for x in rows]
    K = 2 * np.array([[a @ b for b in gradients] for a in gradients]) / len(W)
    model = neural_tangent(penalty=0.7).fit(few)
    expected = K @ np.linalg.solve(K + 0.7 * np.trace(K) / len(K) * np.eye(len(K)), X)
    assert model.scores_(np.arange(4)) == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize("values", ["ratings", "seen"])
def test_neural_tangent_scores_are_those_of_the_formula(data, values):
    target = data.ratings.matrix.toarray()
    X = target if values == "ratings" else (target > 0) * 1.0
    K = np.empty((24, 24))
    for u in range(24):
        for v in range(24):
            s = min(1.0, X[u] @ X[v] / np.sqrt((X[u] @ X[u]) * (X[v] @ X[v])))
            k0, k1 = (np.pi - np.arccos(s)) / np.pi, (s * (np.pi - np.arccos(s)) + np.sqrt(1 - s * s)) / np.pi
            K[u, v] = s * k0 + k1
    expected = K @ np.linalg.solve(K + 3.0 * np.trace(K) / 24 * np.eye(24), X)
    model = neural_tangent(penalty=3.0, values=values).fit(data)
    assert model.scores_(np.arange(24)) == pytest.approx(expected, abs=1e-3)


def test_a_kernel_that_is_not_positive_definite_is_shifted(data):
    """RWMD gives such kernels; the search must not stop there."""
    for rate in (0.1, 1.0, 20.0):
        model = kernel_ridge("rwmd", rate=rate, penalty=1e-4).fit(data)
        assert np.isfinite(model.scores_(np.arange(24))).all()


def test_users_without_ratings_are_as_far_as_can_be(data):
    train = data.ratings.matrix.toarray()
    train[3] = 0
    from scipy.sparse import csr_array

    from prefmover import Ratings

    ratings = Ratings(csr_array(train), data.ratings.users, data.ratings.items, data.ratings.scale)
    fewer = data.with_ratings(ratings)
    for name in DISTANCES:
        D = user_distances(fewer, name)
        assert np.isfinite(D).all()
        assert (np.delete(D[3], 3) == D.max()).all(), name


def test_every_kernel_runs_and_its_search_may_see_a_sample(data, monkeypatch):
    assert set(GROUPS["kernels"]) == {f"kernel:{name}" for name in (*DISTANCES, "ntk")}
    monkeypatch.setattr(compute, "MAX_USERS", 10)
    evaluation = evaluate(data, [*GROUPS["kernels"], "ease"], task="ranking", train=0.5, trials=2)
    for record in evaluation:
        assert record.tuning.n_judged == 3 * 10  # few ratings are split three times
        assert record.n_users > 10
        assert record.settings in [trial.settings for trial in record.tuning.trials]


def test_bad_input(data):
    bare = type(data)(data.ratings)
    with pytest.raises(InputError, match=names("kernel:rwmd")):
        evaluate(bare, "kernel:rwmd", task="ranking", train=0.5)
