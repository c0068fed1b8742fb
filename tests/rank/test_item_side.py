"""The item side: regressions column by column, features, the tail; items scored through similar ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from prefmover import ItemGeometry
from prefmover.errors import InputError
from prefmover.rank import item_side
from prefmover.rank.item_side import SIMILAR_SHARE, ItemSide, Predictors, SimilarItems, feature_rows, gram
from tests.oracles import ranking as oracle


def random_likes(seed, n_users, n_items, density=0.5):
    rng = np.random.default_rng(seed)
    rated = rng.random((n_users, n_items)) < density
    return rng.normal(1.0, 1.5, (n_users, n_items)) * rated


def weights(Y, penalty, features=None):
    """B over all items."""
    return Predictors.of(csr_array(Y), features).regress(penalty).matrix.toarray()


@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 9), st.sampled_from([0.3, 1.0, 20.0, 1e4]))
def test_each_column_is_a_regression_with_weights_of_at_least_0(seed, n_users, n_items, penalty):
    Y = random_likes(seed, n_users, n_items)
    found, expected = weights(Y, penalty), oracle.item_weights(Y, penalty)
    assert found == pytest.approx(expected, abs=1e-4)
    assert (found >= 0).all()
    assert (found.diagonal() == 0).all()


@given(st.integers(0, 10**6), st.integers(2, 30), st.integers(2, 12), st.sampled_from([0.5, 5.0]))
def test_no_step_makes_the_loss_smaller(seed, n_users, n_items, penalty):
    """The conditions of Karush, Kuhn and Tucker: no slope where a weight is above 0, and none down at 0."""
    Y = random_likes(seed, n_users, n_items, 0.7)
    B, G = weights(Y, penalty), Y.T @ Y
    scale = G.diagonal().max() + penalty
    for j in range(n_items):
        H = [i for i in range(n_items) if i != j and G[i, j] > 0]
        slope = (G[np.ix_(H, H)] + penalty * np.eye(len(H))) @ B[H, j] - G[H, j]
        assert np.abs(slope[B[H, j] > 0]).max(initial=0) < 1e-6 * scale
        assert slope.min(initial=0) > -1e-6 * scale


@given(st.integers(0, 10**6))
def test_all_ways_to_use_the_weights_agree(seed):
    Y = random_likes(seed, 8, 7)
    side, B, new = Predictors.of(csr_array(Y)).regress(1.0), weights(Y, 1.0), random_likes(seed + 1, 3, 7)
    some, every = np.arange(7)[::-2], np.arange(7)
    assert side.scores(csr_array(new)) == pytest.approx(new @ B, abs=1e-5)
    assert side.scores(csr_array(new), some) == pytest.approx((new @ B)[:, some], abs=1e-5)
    assert pytest.approx(new @ B, abs=1e-5) == side.mixed(new.astype(np.float32).T).T
    assert (side.weights(some, every) == B[some]).all()
    more = side.with_items(9)
    wider = csr_array(np.pad(new, ((0, 0), (0, 2))))
    assert more.scores(wider)[:, :7] == pytest.approx(new @ B, abs=1e-5)
    assert not more.scores(wider)[:, 7:].any()


@pytest.mark.parametrize("k", [1, 3])
def test_the_nearest_are_the_predictors(monkeypatch, k):
    monkeypatch.setattr(item_side, "N_PREDICTORS", k)
    Y = random_likes(3, 40, 9, density=0.6)
    B = weights(Y, 1.0)
    assert ((B > 0).sum(axis=0) <= k).all()
    assert pytest.approx(oracle.item_weights(Y, 1.0, k), abs=1e-4) == B


def test_items_without_ratings_have_no_weight():
    Y = random_likes(2, 30, 12, density=0.8)
    Y[:, [0, 5, 11]] = 0.0
    B = weights(Y, 1.5)
    assert pytest.approx(oracle.item_weights(Y, 1.5), abs=1e-4) == B
    assert not B[[0, 5, 11]].any()
    assert not B[:, [0, 5, 11]].any()


def test_items_of_the_tail_are_predicted_from_the_head(monkeypatch):
    monkeypatch.setattr(item_side, "MAX_HEAD", 6)
    Y, vectors = random_likes(3, 10, 9, density=0.6), np.abs(np.random.default_rng(0).normal(size=(9, 2)))
    geometry = ItemGeometry.from_vectors(range(9), vectors)
    T = feature_rows(geometry, np.arange(9))
    head = np.sort(np.argsort(-(Y != 0).sum(axis=0), kind="stable")[:6])
    B, tail = weights(Y, 1.0, T), np.setdiff1d(np.arange(9), head)
    assert not B[tail].any()  # their own ratings predict nothing
    assert B[:, tail].any()
    assert pytest.approx(oracle.item_weights(np.concatenate([Y, T]), 1.0, head=head.tolist()), abs=1e-4) == B


def test_a_feature_is_like_a_user():
    rng = np.random.default_rng(5)
    Y = rng.integers(0, 3, (12, 8)) * rng.integers(0, 2, (12, 8)).astype(float)
    geometry = ItemGeometry.from_vectors(range(8), np.abs(rng.normal(size=(8, 2))))
    rated = np.flatnonzero(Y.any(axis=0))
    T = 2 * feature_rows(geometry, rated)
    assert (T[:, ~Y.any(axis=0)] == 0).all()
    assert T[:, rated].T @ T[:, rated] == pytest.approx(4 * np.cos(geometry.block(rated, rated)), abs=1e-5)
    assert weights(Y, 2.0, T) == pytest.approx(oracle.item_weights(np.concatenate([Y, T]), 2.0), abs=1e-4)


def test_distances_without_vectors_make_features():
    geometry = ItemGeometry.from_distance(range(3), [[0, 0.2, 1], [0.2, 0, 1], [1, 1, 0]])
    T = feature_rows(geometry, np.arange(3))
    assert pytest.approx(np.exp(-2 * geometry.block()), abs=1e-3) == T.T @ T


@pytest.mark.parametrize("block", [1, 2, 3])
def test_blocks_and_threads_do_not_matter(monkeypatch, block):
    Y = csr_array(random_likes(4, 6, 11, density=0.7))
    expected, table = weights(Y, 1.0), gram(Y)
    monkeypatch.setattr(item_side, "BLOCK_ITEMS", block)
    monkeypatch.setattr(item_side, "BLOCK_COLUMNS", block)
    for n_threads in (1, 3):
        found = Predictors.of(Y, None, n_threads).regress(1.0, n_threads)
        assert (found.matrix.toarray() == expected).all()
    assert (gram(Y) == table).all()
    assert table == pytest.approx((Y.T @ Y).toarray())


@pytest.mark.parametrize("shape", [(3, 4), (3, 1), (0, 2), (2, 0)])
def test_nobody_rated_anything(shape):
    side = Predictors.of(csr_array(shape)).regress(1.0)
    assert side.matrix.shape == (shape[1], shape[1])
    assert side.matrix.nnz == 0
    assert (ItemSide.empty(shape[1]).scores(csr_array(shape)) == 0).all()


def test_a_large_penalty_turns_the_side_off():
    assert weights(random_likes(5, 8, 6), 1e12).max() < 1e-9


@pytest.mark.parametrize("penalty", [0, -1, np.nan, np.inf])
def test_bad_penalties(penalty):
    with pytest.raises(InputError, match="penalty"):
        Predictors.of(csr_array(np.eye(2))).regress(penalty)


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_mixtures_of_far_items_are_numbers(scale):
    distance = scale * np.array([[0, 1, 3.0], [1, 0, 2.0], [3.0, 2.0, 0]])
    mixtures = SimilarItems.fit(np.array([0, 1]), ItemGeometry.from_distance(list("abc"), distance)).weights
    expected = np.exp(-3.0 * scale * np.array([1.0, 0.0]))
    assert mixtures[[2], :2].toarray()[0] == pytest.approx(
        SIMILAR_SHARE * expected / expected.sum(), rel=1e-3
    )
