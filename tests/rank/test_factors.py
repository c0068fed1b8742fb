"""Taste factors: the least squares that they solve, content, and reasons that add up."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from prefmover.rank import factors as module
from prefmover.rank.factors import UNRATED, TasteFactors, _solved


def random_ratings(seed, n_users=12, n_items=9, density=0.5):
    rng = np.random.default_rng(seed)
    return csr_array(
        rng.integers(1, 6, (n_users, n_items)) * (rng.random((n_users, n_items)) < density) * 1.0
    )


def twin_user(row, V, unit, penalty):
    """The vector of one user: the minimum of a sum over all items, rated or not."""
    c = row / unit
    A = UNRATED * V.T @ V + sum((c[j] * np.outer(V[j], V[j]) for j in range(len(V))), np.zeros((32, 32)))
    A += penalty * np.eye(32)
    return np.linalg.solve(A, sum((c[j] * V[j] for j in range(len(V))), np.zeros(32)))


@pytest.mark.parametrize("seed", range(3))
def test_users_are_solved_one_by_one(seed):
    ratings = random_ratings(seed)
    factors = TasteFactors.fit(ratings, penalty=2.0)
    V, dense = factors.vectors.astype(float), ratings.toarray()
    expected = np.array([twin_user(row, V, dense[dense > 0].mean(), 2.0) for row in dense])
    assert factors.users(ratings) == pytest.approx(expected, abs=1e-4)
    assert factors.scores(ratings) == pytest.approx(expected @ V.T, abs=1e-4)
    some = np.array([4, 1])
    assert factors.scores(ratings, some) == pytest.approx((expected @ V.T)[:, some], abs=1e-4)


def test_a_solution_is_the_minimum_of_the_loss():
    """A random step in any direction makes the loss larger, with a prior, too."""
    rng, ratings = np.random.default_rng(0), random_ratings(4)
    V, prior = rng.normal(size=(9, 32)), rng.normal(size=(12, 32))
    penalty = 1.5
    X, C = _solved(ratings, V, 0.3 * V.T @ V, penalty, prior, None), ratings.toarray()

    def loss(X):
        fit = X @ V.T
        squares = (C * (1 - fit) ** 2).sum() + 0.3 * (fit**2).sum()
        return squares + penalty * ((X - prior) ** 2).sum()

    least = loss(X)
    for _ in range(20):
        assert loss(X + 1e-3 * rng.normal(size=X.shape)) > least


def test_blocks_do_not_matter(monkeypatch):
    ratings = random_ratings(5)
    whole = TasteFactors.fit(ratings, 0.1)
    monkeypatch.setattr(module, "BLOCK_ROWS", 5)
    monkeypatch.setattr(module, "BLOCK_OTHERS", 4)
    assert TasteFactors.fit(ratings, 0.1).vectors == pytest.approx(whole.vectors, abs=1e-3)


def test_weights_of_ratings_add_up_to_the_scores():
    ratings = random_ratings(6)
    factors = TasteFactors.fit(ratings, 0.1)
    for u in range(12):
        row = ratings[[u]]
        parts = factors.weights(row, np.arange(9))
        assert parts.shape == (row.nnz, 9)
        assert parts.sum(axis=0) == pytest.approx(factors.scores(row)[0], abs=1e-4)


def test_an_item_that_few_have_rated_is_drawn_to_what_its_features_say():
    """Each user rates one of two kinds of items; the only rating of the last is by one of the other kind."""
    ratings = np.zeros((20, 9))
    ratings[:10, :4], ratings[10:, 4:8] = 1.0, 1.0
    ratings[10, 8] = 1.0
    kinds = np.array([[1, 1, 1, 1, 0, 0, 0, 0, 1], [0, 0, 0, 0, 1, 1, 1, 1, 0]], np.float32)
    without, with_kinds = (TasteFactors.fit(csr_array(ratings), 0.1, some) for some in (None, kinds))
    first = csr_array(ratings[[0]])
    assert with_kinds.scores(first)[0, 8] > without.scores(first)[0, 8] + 0.05


def test_items_without_ratings_have_no_vector():
    ratings = random_ratings(7).toarray()
    ratings[:, 2] = 0.0
    factors = TasteFactors.fit(csr_array(ratings), 0.1, np.ones((1, 9), np.float32))
    assert (factors.vectors[2] == 0).all()
    more = factors.with_items(11)
    assert more.vectors.shape == (11, 32)
    wide = csr_array(np.pad(ratings, ((0, 0), (0, 2))))
    assert (more.scores(wide)[:, 9:] == 0).all()


def test_nobody_rated_anything():
    factors = TasteFactors.fit(csr_array((3, 4)), 0.1)
    assert (factors.scores(csr_array((2, 4))) == 0).all()
