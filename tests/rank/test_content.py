"""Weights of similar content: against a slow twin, and where items have nothing in common."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from prefmover import ItemGeometry
from prefmover.rank import ease
from prefmover.rank.ease import SIMILAR_SHARE, ItemSide, SimilarItems, feature_rows
from prefmover.rank.ease import similar_content as content_weights
from tests.oracles import ranking as oracle


@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 12))
def test_the_weights_are_those_of_the_twin(seed, n_nearest, n_items):
    rng = np.random.default_rng(seed)
    vectors = np.abs(rng.normal(size=(n_items, 2))).round(1)
    geometry = ItemGeometry.from_vectors(range(n_items), vectors, zero="far")
    rated = np.sort(rng.choice(n_items, rng.integers(1, n_items + 1), replace=False))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ease, "N_NEAREST", n_nearest)
        found = content_weights(geometry, rated)
    twin = oracle.content_weights(geometry.block(), rated.tolist(), n_nearest)
    # Equal distances may change places at the end of the list: the item itself is at distance 0, too.
    if len(np.unique(geometry.block())) == n_items * (n_items - 1) // 2 + 1:
        assert found.toarray() == pytest.approx(twin, abs=1e-6)
    sums = np.asarray(found.sum(axis=0)).ravel()
    assert sums == pytest.approx(twin.sum(axis=0), abs=1e-5)
    assert (found.diagonal() == 0).all()


def test_items_at_a_right_angle_say_nothing_about_each_other():
    geometry = ItemGeometry.from_vectors(range(4), [[1, 0], [1, 0], [0, 1], [0, 0]], zero="far")
    assert content_weights(geometry, np.arange(4)).toarray().tolist() == [
        [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0],
    ]  # fmt: skip


@pytest.mark.parametrize("n_users", [3, 30])
def test_both_forms_of_the_item_side_add_content(n_users):
    rng = np.random.default_rng(0)
    Y = csr_array(rng.integers(0, 3, (n_users, 8)) * rng.integers(0, 2, (n_users, 8)).astype(float))
    geometry = ItemGeometry.from_vectors(range(8), np.abs(rng.normal(size=(8, 3))))
    rated, everything = np.unique(Y.indices).astype(np.int64), np.arange(8)
    c = 0.7 * content_weights(geometry, rated)
    plain, side = ItemSide.fit(Y, 2.0), ItemSide.fit(Y, 2.0, content=c)
    weights = plain.weights(everything, everything) + c.toarray()
    assert side.weights(everything, everything) == pytest.approx(weights, abs=1e-6)
    assert side.scores(Y) == pytest.approx(Y.toarray() @ weights, abs=1e-4)
    assert side.scores(Y, rated[:2]) == pytest.approx((Y.toarray() @ weights)[:, rated[:2]], abs=1e-4)
    mixed = side.mixed(Y.toarray().astype(np.float32).T).T
    assert mixed == pytest.approx(Y.toarray() @ weights, abs=1e-4)
    more = side.with_items(10).scores(csr_array(np.pad(Y.toarray(), ((0, 0), (0, 2)))))
    assert more[:, :8] == pytest.approx(side.scores(Y))
    assert not more[:, 8:].any()


@pytest.mark.parametrize("n_users", [2, 30])
def test_a_feature_is_like_a_user(n_users):
    """Both forms of the item side: the same as with the features as further rows of likes."""
    rng = np.random.default_rng(n_users)
    Y = rng.integers(0, 3, (n_users, 8)) * rng.integers(0, 2, (n_users, 8)).astype(float)
    geometry = ItemGeometry.from_vectors(range(8), np.abs(rng.normal(size=(8, 2))))
    rated, everything = np.flatnonzero(Y.any(axis=0)), np.arange(8)
    T = 2 * feature_rows(geometry, rated)
    assert (T[:, ~Y.any(axis=0)] == 0).all()
    assert T[:, rated].T @ T[:, rated] == pytest.approx(4 * np.cos(geometry.block(rated, rated)), abs=1e-5)
    side = ItemSide.fit(csr_array(Y), 2.0, T)
    assert (side.likes is None) == (n_users == 30)
    expected = oracle.item_weights(np.concatenate([Y, T]), 2.0)
    assert side.weights(everything, everything) == pytest.approx(expected, abs=1e-5)
    assert side.scores(csr_array(Y)) == pytest.approx(Y @ expected, abs=1e-4)
    mixed = side.mixed(Y.astype(np.float32).T).T
    assert mixed == pytest.approx(Y @ expected, abs=1e-4)


def test_an_item_of_the_tail_knows_its_features(monkeypatch):
    monkeypatch.setattr(ease, "MAX_DENSE", 2)
    Y = np.array([[1.0, 1, 0], [1, 1, 0], [0, 0, 1]])
    geometry = ItemGeometry.from_vectors(range(3), [[1, 0], [0, 1], [1, 0]])
    T = feature_rows(geometry, np.arange(3))
    side = ItemSide.fit(csr_array(Y), 1.0, T)
    Z = np.concatenate([Y, T])
    H = [k for k in (0, 1) if (Z[:, k] * Z[:, 2]).any()]
    b = np.linalg.solve(Z[:, H].T @ Z[:, H] + np.eye(len(H)), Z[:, H].T @ Z[:, 2])
    assert side.weights(np.arange(3), np.array([2]))[H, 0] == pytest.approx(b, abs=1e-6)
    assert H == [0]


def test_distances_without_vectors_make_features():
    geometry = ItemGeometry.from_distance(range(3), [[0, 0.2, 1], [0.2, 0, 1], [1, 1, 0]])
    T = feature_rows(geometry, np.arange(3))
    kernel = T.T @ T
    assert kernel == pytest.approx(np.exp(-2 * geometry.block()), abs=1e-3)


def test_the_unit_of_given_distances_does_not_matter():
    d = np.array([[0, 0.4, 1], [0.4, 0, 0.9], [1, 0.9, 0]])
    one, other = (ItemGeometry.from_distance(range(3), x * d) for x in (1.0, 50.0))
    first, second = (content_weights(geometry, np.arange(3)).toarray() for geometry in (one, other))
    assert first == pytest.approx(second, abs=1e-6)
    assert first[0, 1] > first[2, 1] > 0


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_mixtures_of_far_items_are_numbers(scale):
    distance = scale * np.array([[0, 1, 3.0], [1, 0, 2.0], [3.0, 2.0, 0]])
    weights = SimilarItems.fit(np.array([0, 1]), ItemGeometry.from_distance(list("abc"), distance)).weights
    expected = np.exp(-3.0 * scale * np.array([1.0, 0.0]))
    assert weights[[2], :2].toarray()[0] == pytest.approx(SIMILAR_SHARE * expected / expected.sum(), rel=1e-3)
