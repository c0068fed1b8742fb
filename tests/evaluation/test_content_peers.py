"""Content-kNN, HybridSVD and WCF against slow twins."""

import numpy as np
import pytest
from scipy.optimize import minimize

from prefmover import Dataset, ItemGeometry, Ratings
from prefmover.data.scale import Scale
from prefmover.errors import InputError
from prefmover.evaluation import evaluate
from prefmover.evaluation.baselines import content, packages
from prefmover.evaluation.baselines.content import content_knn, hybrid_svd, item_vectors, wcf
from prefmover.evaluation.baselines.rankers import ByScores, interactions
from tests.messages import names

N_USERS, N_ITEMS = 25, 18


@pytest.fixture(scope="module")
def data():
    """Items 3 and 11 have no ratings, item 7 has no content."""
    rng = np.random.default_rng(5)
    given = rng.random((N_USERS, N_ITEMS)) < 0.4
    given[:, [3, 11]] = False
    given[0] = np.arange(N_ITEMS) < 3
    users, items = np.nonzero(given)
    ratings = Ratings.from_arrays(users, items, rng.integers(1, 6, len(users)), scale=Scale(1.0, 5.0, 1.0))
    vectors = np.abs(rng.standard_normal((N_ITEMS, 5)))
    vectors[7] = 0.0
    return Dataset(ratings, ItemGeometry.from_vectors(np.arange(N_ITEMS), vectors, zero="far"))


def scores(learn, data, **settings):
    return np.asarray(learn(data, **settings)(np.arange(data.n_users)), np.float64)


def test_content_knn_by_hand(data):
    X, T = interactions(data.ratings).toarray(), data.geometry.vectors
    rated, found = np.flatnonzero(data.ratings_per_item), scores(content_knn, data, k=3)
    for i in range(N_ITEMS):
        near = sorted((j for j in rated if j != i), key=lambda j: -(T[i] @ T[j]))[:3]
        assert found[:, i] == pytest.approx(sum(X[:, j] * (T[i] @ T[j]) for j in near), abs=1e-4)


@pytest.mark.parametrize("alpha", [0.0, 0.4, 0.9])
@pytest.mark.parametrize("of_few", [True, False])
def test_hybrid_svd_by_its_formula(data, alpha, of_few, monkeypatch):
    """With a Cholesky factor of the whole matrix, and all singular vectors."""
    monkeypatch.setattr(content, "RANK", 20 if of_few else 5)  # by a dense decomposition, or step by step
    content.shared.__globals__["_SHARED"].clear()
    X, T = interactions(data.ratings).toarray(), data.geometry.vectors
    S = T @ T.T
    np.fill_diagonal(S, 1)
    L = np.linalg.cholesky((1 - alpha) * np.eye(N_ITEMS) + alpha * S)
    V = np.linalg.svd(X @ L)[2][:4].T
    expected = X @ L @ V @ V.T @ np.linalg.inv(L)
    assert scores(hybrid_svd, data, rank=4, alpha=alpha) == pytest.approx(expected, abs=1e-3)


def test_hybrid_svd_without_content_is_the_truncated_svd(data):
    U, s, V = np.linalg.svd(interactions(data.ratings).toarray(), full_matrices=False)
    assert scores(hybrid_svd, data, rank=3, alpha=0.0) == pytest.approx(U[:, :3] * s[:3] @ V[:3], abs=1e-4)


def slow_target(cost, mass, epsilon):
    """Minimize Σ W d + ε Σ W log W over plans whose rows are given, one row after the other."""
    out = np.zeros(cost.shape[1])
    for m, row in zip(mass, cost, strict=True):
        if m:
            found = minimize(
                lambda w, d=row: (w @ d + epsilon * w @ np.log(np.maximum(w, 1e-30))),
                np.full(len(row), m / len(row)), bounds=[(1e-12, None)] * len(row),
                constraints={"type": "eq", "fun": lambda w, m=m: w.sum() - m}, options={"ftol": 1e-14},
            )  # fmt: skip
            out += found.x
    return out


def test_wcf_moves_mass_to_the_nearest_distribution(data):
    """With all dimensions kept, the mass of a user on unrated items minimizes the blurred transport."""
    X, epsilon = interactions(data.ratings).toarray(), 0.3
    found = scores(wcf, data, rank=N_ITEMS, epsilon=epsilon)
    p = X / X.sum(axis=1, keepdims=True)
    cold, warm = np.flatnonzero(data.ratings_per_item == 0), np.flatnonzero(data.ratings_per_item)
    d = data.geometry.block(np.arange(N_ITEMS), np.arange(N_ITEMS))
    for u in (0, 4, 9):
        expected = slow_target(d[np.ix_(warm, cold)], p[u, warm], epsilon)
        assert found[u, cold] == pytest.approx(expected * len(cold) / N_ITEMS, abs=1e-4)
    assert found.sum(axis=1) == pytest.approx(1, abs=1e-5)  # all mass arrives somewhere


def test_wcf_of_low_rank_moves_the_projection(data):
    X = interactions(data.ratings, "seen").toarray()
    p = X / X.sum(axis=1, keepdims=True)
    V = np.linalg.svd(p)[2][:4].T
    d = data.geometry.block(np.arange(N_ITEMS), np.arange(N_ITEMS))
    W = np.zeros_like(d)
    for target in (data.ratings_per_item > 0, data.ratings_per_item == 0):
        part = np.exp(-d / 0.1) * target * ~np.eye(N_ITEMS, dtype=bool)
        W += part / part.sum(axis=1, keepdims=True) * target.mean()
    rated = data.ratings_per_item > 0
    assert scores(wcf, data, rank=4, epsilon=0.1, values="seen") == pytest.approx(
        p @ V @ V[rated].T @ W[rated], abs=1e-5
    )


@pytest.mark.parametrize("learn", [content_knn, wcf, packages.content_ials])
def test_unrated_items_have_scores_of_their_own(data, learn):
    if learn is packages.content_ials:
        pytest.importorskip("irspack")
    unrated = np.flatnonzero(data.ratings_per_item == 0)
    assert (scores(learn, data)[:, unrated].std(axis=0) > 1e-5).all()
    assert scores(hybrid_svd, data, rank=4)[:, unrated] == pytest.approx(0, abs=1e-6)


def test_content_has_to_be_there(data):
    follows = Dataset(data.ratings, lambda ratings: data.geometry, name="clicks")
    follows._geometry.follows_ratings = True
    given = np.full((data.n_items, data.n_items), 0.5) - 0.5 * np.eye(data.n_items)
    for other in (
        Dataset(data.ratings),
        follows,
        data.with_geometry(ItemGeometry.from_distance(data.ratings.items, given)),
    ):
        with pytest.raises(InputError):
            item_vectors(other, "CEASE")
    with pytest.raises(InputError, match=names("CEASE", "clicks")):
        item_vectors(follows, "CEASE")
    with pytest.raises(InputError, match=names("tags")):
        evaluate(Dataset(data.ratings), "content-knn", task="ranking", train=0.5)
    assert item_vectors(data, "CEASE") is data.geometry.vectors


def test_bad_settings(data):
    with pytest.raises(InputError):
        hybrid_svd(data, alpha=1.0)
    with pytest.raises(InputError):
        wcf(data, epsilon=0.0)


@pytest.mark.parametrize("learn", [packages.ials, packages.content_ials])
@pytest.mark.parametrize("values", ["ratings", "seen"])
def test_irspack_does_not_depend_on_threads(data, learn, values, capfd):
    pytest.importorskip("irspack")
    one, two = (scores(learn, data, n_threads=n, values=values) for n in (1, 2))
    assert one.tolist() == two.tolist()
    assert capfd.readouterr().out == ""  # no bars of progress
    lists = ByScores(learn).fit(data).recommend(data.ratings.users.tolist(), 3)
    assert [len(some) for some in lists] == [3] * data.n_users
