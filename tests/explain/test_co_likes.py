"""Likes, and items that are liked together, against a slow twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefmover.data.ratings import Ratings
from prefmover.data.scale import Scale
from prefmover.explain.co_likes import CoLikes, likes_among

TABLES = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 4), st.integers(1, 5)),
    min_size=1,
    max_size=30,
    unique_by=lambda row: row[:2],
)


def twin(ratings):
    """Return who likes what, one rating after the other."""
    likes, middle = {}, ratings.scale.middle
    upper = (middle + ratings.scale.highest) / 2
    for user in ratings.users.tolist():
        given = ratings[user]
        mean = sum(given.values()) / len(given)
        likes[user] = {item for item, r in given.items() if r >= min(max(mean, middle), upper) - 1e-9}
    return likes


@given(TABLES)
def test_together(rows):
    ratings = Ratings.from_arrays(*zip(*rows, strict=True), scale=Scale(1, 5, 1))
    likes, items = twin(ratings), ratings.items.tolist()
    total, squares = sum(map(len, likes.values())), sum(len(some) ** 2 for some in likes.values())
    n_both, lift = CoLikes(ratings).together(np.arange(len(items)), np.arange(len(items)))
    for i, a in enumerate(items):
        for j, b in enumerate(items):
            n_a, n_b = (sum(one in some for some in likes.values()) for one in (a, b))
            both = sum({a, b} <= some for some in likes.values())
            assert n_both[i, j] == both
            expected = n_a * n_b * squares / max(total, 1) ** 2
            assert lift[i, j] == pytest.approx(both / expected if expected else 0)


def test_busy_users_do_not_make_items_related():
    """One user rates everything; the other items are rated alone. By chance, that is what happens."""
    users = ["all"] * 9 + [f"u{k}" for k in range(9)]
    items = [f"i{k}" for k in range(9)] * 2
    n_both, lift = CoLikes(Ratings.from_arrays(users, items)).together(np.array([0]), np.array([1]))
    plain = (1 / 10) / (2 / 10) ** 2  # P(both) / P(one) P(other)
    assert n_both.item() == 1
    assert lift.item() < 1 < plain


def test_a_like_depends_on_the_user_but_not_without_limits():
    scale = Scale(1, 5, 1)
    assert not likes_among(np.array([2.0]), 1.0, scale).any()
    assert likes_among(np.array([4.0]), 5.0, scale).all()
    assert likes_among(np.array([3.0, 3.0]), np.array([2.0, 3.5]), scale).tolist() == [True, False]
    assert likes_among(np.array([0.1]), 5.0, Scale(0.1, 9, 0, implicit=True)).all()
