"""The ranking: likes, the two sides against slow twins, a worked example, items and users without ratings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from prefmover.data.ratings import Ratings
from prefmover.data.scale import Scale
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.items.geometry import ItemGeometry
from prefmover.model import Recommender
from prefmover.predict.low_rank import LowRankKernel
from prefmover.rank.item_side import SimilarItems
from prefmover.rank.ranker import SideScores, likes_from
from prefmover.rank.two_sided import RankingSettings, fit_item_side, fit_user_side, mean_squared_like
from tests.oracles import ranking as oracle
from tests.rank.test_item_side import random_likes
from tests.rank.test_user_side import kernel_of


def two_sides(Y, kernel, settings, geometry=None):
    """Both sides, and the scores of all users."""
    likes = csr_array(Y)
    item_side = fit_item_side(likes, geometry, settings)
    user_side = fit_user_side(likes, item_side, kernel, settings.user_penalty)
    items = item_side.scores(likes)
    rest = likes.toarray().astype(np.float32) - items
    return item_side, user_side, SideScores(items, user_side.own_scores(np.arange(len(items)), rest))


def worked_example():
    """The example of docs/explanation/ranking.md: three films about space, one about love."""
    rows = {"ann": ["Alien", "Aliens"], "bob": ["Alien", "Aliens", "Dune"], "cid": ["Emma"]}
    users = [user for user, items in rows.items() for _ in items]
    items = [item for some in rows.values() for item in some]
    distance = np.full((4, 4), 0.5)
    distance[3, :] = distance[:, 3] = 1.5
    np.fill_diagonal(distance, 0.0)
    geometry = ItemGeometry.from_distance(["Alien", "Aliens", "Dune", "Emma"], distance)
    return Dataset(Ratings.from_arrays(users, items, [4] * 6, scale=Scale(1, 5, 1)), geometry)


def test_the_worked_example():
    settings = RankingSettings(
        item_penalty=1,
        discount=0,
        features=0,
        weight="exponential(2)",
        user_penalty=1,
        factors=0,
        popularity=0,
    )
    model = Recommender(ranking=settings).fit(worked_example())
    # The item side: of Alien, (12, 4; 4, 8) b = (8, 4); of Dune, (12, 8; 8, 12) b = (4, 4).
    everything = np.arange(4)
    assert model.ranker_.item_side.weights(everything, everything) == pytest.approx(
        np.array([[0, 0.6, 0.2, 0], [0.6, 0, 0.2, 0], [0.2, 0.2, 0, 0], [0, 0, 0, 0]]), abs=1e-5
    )
    scores = model.ranker_.block(np.array([0]))
    assert scores.items[0] == pytest.approx([1.2, 1.2, 0.8, 0.0], abs=1e-5)
    # The user side: bob is e^(-1/3) near, cid e^-3, and a regression of two users is solved by hand.
    b, c = np.exp(-1 / 3), np.exp(-3)
    down = 4 - c**2
    dune, emma = [b * 2 * 1.2, -c * c * 1.2], [-b * c * 2, c * 2 * 2]
    assert scores.users[0, 2:] == pytest.approx([sum(dune) / down, sum(emma) / down], abs=1e-5)
    assert scores.total[0, 2:] == pytest.approx([1.2295, 0.0320], abs=1e-4)
    parts = model.ranker_.terms(model._state("ann"), np.array([2, 3]), np.arange(3))
    assert parts.item_terms == pytest.approx(np.array([[0.4, 0], [0.4, 0]]), abs=1e-5)
    assert parts.user_terms[1:] == pytest.approx(np.array([dune, emma]).T / down, abs=1e-5)
    assert [one.item for one in model.recommend("ann")] == ["Dune", "Emma"]


@given(st.integers(0, 10**6), st.integers(2, 9), st.integers(2, 9), st.sampled_from([0.5, 3.0, 30.0]))
def test_both_sides_are_those_of_slow_twins(seed, n_users, n_items, penalty):
    rng = np.random.default_rng(seed)
    Y, (K, kernel) = random_likes(seed, n_users, n_items, 0.6), kernel_of(rng, n_users)
    likes = csr_array(Y)
    settings = RankingSettings(item_penalty=2.0, user_penalty=penalty)
    *_, found = two_sides(Y, kernel, settings)
    penalties = 2.0 * mean_squared_like(likes), penalty
    items, users = oracle.two_sides(Y, K, *penalties, oracle.user_rows(Y, Y != 0, settings.discount))
    assert found.items == pytest.approx(items, abs=1e-3)
    assert found.users == pytest.approx(users, abs=5e-3)


@given(st.integers(0, 10**6), st.integers(2, 9), st.integers(3, 9))
def test_leaving_out_the_own_row_keeps_the_order_of_unrated_items(seed, n_users, n_items):
    """The score is 1 / (1 - h) times that of the whole fit, where the user has no rating."""
    Y, (K, kernel) = random_likes(seed, n_users, n_items), kernel_of(np.random.default_rng(seed), n_users)
    _, side, scores = two_sides(Y, kernel, RankingSettings(item_penalty=5.0, user_penalty=2.0))
    items, total = scores.items, scores.total
    whole = items + oracle.kernel_ridge(K, Y - items, 2.0)
    phi = kernel.features
    h = np.einsum("ur,ur->u", phi @ side.inverse, phi)
    unrated = Y == 0
    assert (total * (1 - h)[:, None])[unrated] == pytest.approx(whole[unrated], abs=5e-3)


@given(st.integers(0, 10**6), st.booleans())
def test_likes(seed, implicit):
    rng = np.random.default_rng(seed)
    dense = rng.integers(0, 6, (5, 7)) * 1.0
    ratings = Ratings.from_csr(csr_array(dense), feedback="implicit" if implicit else None)
    assert likes_from(ratings).toarray() == pytest.approx(oracle.likes(ratings))


def test_the_likes_of_counts_are_their_strengths():
    ratings = Ratings.from_arrays(["a", "a", "b"], ["x", "y", "x"], [1, 3, 7], feedback="implicit")
    assert likes_from(ratings).toarray() == pytest.approx(np.array([[1.0, 2.0], [3.0, 0.0]]))  # log2(1 + c)


def test_a_rating_below_half_of_the_mean_counts_against():
    likes = likes_from(Ratings.from_arrays([1, 1, 1], list("abc"), [5, 5, 1]))
    assert (likes.toarray()[0] > 0).tolist() == [True, True, False]


def test_what_ratings_are_taken_as():
    ratings = Ratings.from_arrays([1, 1, 2], list("aba"), [5, 1, 4])
    assert likes_from(ratings, "given").toarray().tolist() == [[5, 1], [4, 0]]
    assert likes_from(ratings, "seen").toarray().tolist() == [[1, 1], [1, 0]]


def test_each_side_can_be_left_out():
    Y, (K, kernel) = random_likes(7, 6, 5, 0.7), kernel_of(np.random.default_rng(7), 6)
    *_, items_only = two_sides(Y, kernel, RankingSettings(user_penalty=None))
    assert (items_only.users == 0).all()
    assert items_only.items.any()
    *_, users_only = two_sides(Y, kernel, RankingSettings(item_penalty=None, user_penalty=2.0))
    assert (users_only.items == 0).all()
    expected = [oracle.without_own_row(K, Y, 2.0, u)[1] for u in range(6)]
    assert users_only.users == pytest.approx(np.array(expected), abs=1e-3)


def test_a_discount_keeps_who_rates_everything_from_outvoting_the_others():
    Y = np.array([[1.0, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1]])
    kernel = LowRankKernel.fit(np.arange(3), np.eye(3).__getitem__, 3)

    def between(discount):
        settings = RankingSettings(item_penalty=1, discount=discount, features=0)
        return two_sides(Y, kernel, settings)[0].weights(np.array([0]), np.arange(4))[0]

    assert between(1.0)[1] > between(0.0)[1]
    assert between(1.0)[2] < between(0.0)[2]


def test_items_without_ratings_get_half_the_mean_score_of_similar_ones():
    rng = np.random.default_rng(5)
    Y, (_, kernel) = random_likes(5, 9, 16, 0.8), kernel_of(rng, 9)
    Y[:, [3, 15]] = 0.0
    geometry = ItemGeometry.from_vectors(range(16), np.abs(rng.normal(size=(16, 3))))
    similar = SimilarItems.fit(np.flatnonzero(Y.any(axis=0)), geometry)
    scores = [
        similar.filled(part) for part in two_sides(Y, kernel, RankingSettings(item_penalty=1.0), geometry)[2]
    ]
    rated = [i for i in range(16) if i not in (3, 15)]
    for unrated in (3, 15):
        d = geometry.block([unrated], rated)[0]
        nearest = sorted(range(len(rated)), key=lambda k: d[k])[:10]
        w = np.exp(-3 * d[nearest])
        for part in scores:
            mean = (part[:, [rated[k] for k in nearest]] * w).sum(axis=1) / w.sum()
            assert part[:, unrated] == pytest.approx(mean / 2, abs=1e-5)
    no_content = two_sides(Y, kernel, RankingSettings(item_penalty=1.0, features=0.0), geometry)[2]
    without = two_sides(Y, kernel, RankingSettings(item_penalty=1.0))[2]
    assert without.total[:, rated] == pytest.approx(no_content.total[:, rated])


def test_no_item_is_similar_to_items_without_ratings_if_there_is_none():
    geometry = ItemGeometry.from_vectors(range(3), np.eye(3))
    assert SimilarItems.fit(np.empty(0, np.int64), geometry) is None
    assert SimilarItems.fit(np.arange(3), geometry) is None
    far = SimilarItems.fit(np.array([0]), geometry)
    assert far.filled(np.array([[4.0, 0, 0]], np.float32)).tolist() == [[4.0, 2.0, 2.0]]


def test_nobody_has_ratings():
    kernel = LowRankKernel.fit(np.arange(2), np.eye(2).__getitem__, 2)
    assert (two_sides(csr_array((2, 3)), kernel, RankingSettings())[2].total == 0).all()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("item_penalty", 0),
        ("item_penalty", np.inf),
        ("user_penalty", -1),
        ("user_penalty", np.nan),
        ("discount", -0.1),
        ("features", np.inf),
        ("likes", "stars"),
        ("weight", "exp(2)"),
    ],
)
def test_bad_settings(name, value):
    with pytest.raises(InputError, match=str(value).replace("(", r"\(").replace(")", r"\)")):
        RankingSettings(**{name: value})
