"""The item side: both closed forms against ridge regressions column by column."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from prefmover.errors import InputError
from prefmover.rank import ease
from prefmover.rank.ease import ItemSide, _gram, _over_items, _over_rows
from tests.oracles import ranking as oracle


def random_likes(seed, n_users, n_items, density=0.5):
    rng = np.random.default_rng(seed)
    rated = rng.random((n_users, n_items)) < density
    return rng.normal(1.0, 1.5, (n_users, n_items)) * rated


def whole(side):
    """B over all items."""
    everything = np.arange(side.n_items)
    return side.weights(everything, everything)


def in_form(form, Y, penalty):
    """The item side of all items in one of the forms, whichever would be chosen."""
    likes, none = csr_array(Y), np.zeros((0, Y.shape[1]), np.float32)
    by_users = form == "users"
    made = _over_rows(likes, none, penalty) if by_users else _over_items(_gram(likes), penalty)
    return ItemSide(Y.shape[1], np.arange(Y.shape[1]), likes if by_users else None, none, *made)


@pytest.mark.parametrize("form", ["items", "users"])
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 9), st.sampled_from([0.3, 1.0, 20.0, 1e4]))
def test_both_forms_are_ridge_regressions_of_each_column(form, seed, n_users, n_items, penalty):
    Y = random_likes(seed, n_users, n_items)
    side, expected = in_form(form, Y, penalty), oracle.item_weights(Y, penalty)
    assert whole(side) == pytest.approx(expected, abs=2e-5)
    # The form over users subtracts c from sums in single precision, c = c' / (1 - c').
    assert side.scores(csr_array(Y)) == pytest.approx(Y @ expected, abs=5e-4)
    new = random_likes(seed + 1, 3, n_items)  # users who are not in the data
    assert side.scores(csr_array(new)) == pytest.approx(new @ expected, abs=5e-4)
    some = np.arange(n_items)[::2]
    assert side.scores(csr_array(new), some) == pytest.approx((new @ expected)[:, some], abs=1e-4)
    mixed = side.mixed(new.astype(np.float32).T).T
    assert mixed == pytest.approx(new @ expected, abs=1e-4)


@pytest.mark.parametrize(("n_users", "n_items", "by_users"), [(5, 20, True), (20, 5, False)])
def test_the_smaller_inverse_is_taken(n_users, n_items, by_users):
    Y = random_likes(1, n_users, n_items, density=0.9)
    side = ItemSide.fit(csr_array(Y), 2.0)
    assert (side.likes is not None) == by_users
    assert whole(side) == pytest.approx(oracle.item_weights(Y, 2.0), abs=1e-5)


@pytest.mark.parametrize("n_users", [4, 30])
def test_items_without_ratings_have_no_weight(n_users):
    Y = random_likes(2, n_users, 12, density=0.8)
    Y[:, [0, 5, 11]] = 0.0
    side, expected = ItemSide.fit(csr_array(Y), 1.5), oracle.item_weights(Y, 1.5)
    assert side.items.tolist() == [1, 2, 3, 4, 6, 7, 8, 9, 10]
    assert whole(side) == pytest.approx(expected, abs=1e-5)
    guest = np.ones((1, 12))  # has rated them all
    assert side.scores(csr_array(guest)) == pytest.approx(guest @ expected, abs=1e-4)
    unrated = np.array([11, 0])
    assert (side.scores(csr_array(guest), unrated) == 0).all()


@pytest.mark.parametrize("near", [2, 20])
def test_beyond_the_limit_items_of_the_tail_are_predicted_from_the_head(monkeypatch, near):
    monkeypatch.setattr(ease, "MAX_DENSE", 6)
    monkeypatch.setattr(ease, "NEAR", near)
    Y = random_likes(3, 10, 9, density=0.6)
    counts = (Y != 0).sum(axis=0)
    side = ItemSide.fit(csr_array(Y), 1.0)
    kept = np.sort(np.argsort(-counts, kind="stable")[:6])
    assert side.items.tolist() == kept.tolist()
    assert whole(side)[np.ix_(kept, kept)] == pytest.approx(oracle.item_weights(Y[:, kept], 1.0), abs=1e-5)
    tail = np.setdiff1d(np.arange(9), kept)
    assert (whole(side)[tail] == 0).all()  # their own ratings predict nothing
    for j in tail:
        cosine = np.abs(Y[:, kept].T @ Y[:, j]) / np.linalg.norm(Y[:, kept], axis=0)
        H = kept[np.argsort(-cosine)[:near]]
        b = np.linalg.solve(Y[:, H].T @ Y[:, H] + np.eye(len(H)), Y[:, H].T @ Y[:, j])
        expected = np.zeros(9)
        expected[H] = b
        assert whole(side)[:, j] == pytest.approx(expected, abs=1e-5)
    B, everything = whole(side), np.arange(9)
    assert side.scores(csr_array(Y)) == pytest.approx(Y @ B, abs=1e-4)
    assert side.scores(csr_array(Y), everything[::-1]) == pytest.approx((Y @ B)[:, ::-1], abs=1e-4)
    mixed = side.mixed(Y.astype(np.float32).T).T
    assert mixed == pytest.approx(Y @ B, abs=1e-4)


def test_a_head_of_all_items_is_the_dense_form_bit_for_bit(monkeypatch):
    likes = csr_array(random_likes(5, 40, 12))
    dense = whole(ItemSide.fit(likes, 2.0))
    monkeypatch.setattr(ease, "MAX_DENSE", 12)
    assert (whole(ItemSide.fit(likes, 2.0)) == dense).all()


@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_blocks_do_not_matter(monkeypatch, blocks):
    Y = random_likes(4, 6, 11, density=0.7)
    expected = [whole(in_form(form, Y, 1.0)) for form in ("items", "users")]
    monkeypatch.setattr(ease, "BLOCK_COLUMNS", blocks)
    for form, B in zip(("items", "users"), expected, strict=True):
        assert whole(in_form(form, Y, 1.0)) == pytest.approx(B, abs=1e-6)


def test_nobody_rated_anything():
    side = ItemSide.fit(csr_array((3, 4)), 1.0)
    assert (whole(side) == 0).all()
    assert (side.scores(csr_array(np.ones((2, 4)))) == 0).all()


def test_a_large_penalty_turns_the_side_off():
    Y = random_likes(5, 8, 6)
    assert np.abs(whole(ItemSide.fit(csr_array(Y), 1e12))).max() < 1e-9


def test_without_a_penalty_there_is_no_regression():
    Y = csr_array(random_likes(5, 8, 6))
    side = ItemSide.fit(Y, None)
    assert (whole(side) == 0).all()
    assert (side.scores(Y) == 0).all()
    content = csr_array(np.eye(6, k=1, dtype=np.float32))
    assert (whole(ItemSide.fit(Y, None, content=content)) == content.toarray()).all()


@pytest.mark.parametrize("penalty", [0, -1, np.nan, np.inf])
def test_bad_penalties(penalty):
    with pytest.raises(InputError, match="penalty"):
        ItemSide.fit(csr_array(np.eye(2)), penalty)
