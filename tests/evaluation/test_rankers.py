"""Controls and peers of the ranking task, against formulas written out and other packages."""

import contextlib
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_matrix

from prefmover import Dataset, Ratings, datasets
from prefmover.data.scale import Scale
from prefmover.errors import MissingExtraError
from prefmover.evaluation import evaluate
from prefmover.evaluation.baselines import packages as peers
from prefmover.evaluation.baselines.content import content_knn, hybrid_svd, wcf
from prefmover.evaluation.baselines.linear import addease, cease, dan, ease, edlae, l3ae
from prefmover.evaluation.baselines.rankers import (
    ByScores,
    bm25,
    interactions,
    item_bias,
    item_knn,
    most_liked,
    popularity,
    random_order,
    relevant_from,
    rp3beta,
    top_positions,
    user_knn,
)
from prefmover.evaluation.recommenders import FAMILIES, GROUPS, ROWS, Method, check_packages, grid
from tests.messages import names


@pytest.fixture(scope="module")
def data():
    cinema = datasets.load("cinema")
    return cinema.with_ratings(cinema.ratings.take(users=np.arange(60)))


CLOSED = (ease, edlae, dan, item_knn, user_knn, bm25, rp3beta)
OF_CONTENT = (cease, addease, l3ae, hybrid_svd, content_knn, wcf)
ALL = (*CLOSED, *OF_CONTENT)


def scores_of(learn, data, **settings):
    """Return the scores of all users and items, as 64-bit numbers."""
    return np.asarray(learn(data, **settings)(np.arange(data.n_users)), np.float64)


@given(arrays(np.float64, (3, 9), elements=st.sampled_from([0.0, 1.0, 2.5, -np.inf])), st.integers(1, 12))
def test_top_positions_are_those_of_a_full_sort(scores, n):
    order = np.random.default_rng(0).permutation(9)
    found = top_positions(scores, order, n)
    rank = np.argsort(order)
    for row, own in zip(found, scores, strict=True):
        wanted = [i for i in sorted(range(9), key=lambda i: (-own[i], rank[i])) if np.isfinite(own[i])][:n]
        assert [i for i in row.tolist() if i >= 0] == wanted
        assert len(row) == min(n, 9)


def test_nobody_is_recommended_what_they_rated(data):
    for learn in (popularity, random_order, item_bias, *ALL):
        lists = ByScores(learn).fit(data).recommend(data.ratings.users.tolist(), 10)
        assert len(lists) == data.n_users
        for user, items in zip(data.ratings.users.tolist(), lists, strict=True):
            assert len(items) == len(set(items)) == 10
            assert not set(items) & set(data.ratings[user])


def test_popularity_counts_raters_and_likers(data):
    X = data.ratings.matrix.toarray()
    assert (scores_of(popularity, data) == (X > 0).sum(axis=0)).all()
    assert (scores_of(popularity, data, values="liked") == (X >= 4).sum(axis=0)).all()
    assert (scores_of(popularity, data, values="liked", relevant=5) == (X >= 5).sum(axis=0)).all()


def test_item_knn_by_hand(data):
    X = data.ratings.matrix.toarray()
    length = np.sqrt((X**2).sum(axis=0))
    found = scores_of(item_knn, data, k=5, shrinkage=3.0)
    for i in range(0, data.n_items, 23):
        s = np.zeros(data.n_items)
        for j in range(data.n_items):
            if j != i and length[i] and length[j]:
                common = ((X[:, i] > 0) & (X[:, j] > 0)).sum()
                s[j] = X[:, i] @ X[:, j] / length[i] / length[j] * common / (common + 3.0)
        s[np.argsort(-s, kind="stable")[5:]] = 0
        assert found[:, i] == pytest.approx(X @ s, abs=1e-3)


def test_item_knn_in_blocks(data, monkeypatch):
    whole = scores_of(item_knn, data, k=5)
    monkeypatch.setattr("prefmover.evaluation.baselines.rankers.BLOCK_ITEMS", 7)
    assert scores_of(item_knn, data, k=5) == pytest.approx(whole, abs=1e-4)


def test_user_knn_by_hand(data):
    X = data.ratings.matrix.toarray()
    length = np.sqrt((X**2).sum(axis=1))
    found = scores_of(user_knn, data, k=7)
    for u in range(0, data.n_users, 11):
        s = X @ X[u] / length / length[u]
        s[u] = 0
        s[np.argsort(-s, kind="stable")[7:]] = 0
        assert found[u] == pytest.approx(s @ X, abs=1e-3)


def test_bm25_by_hand(data):
    """The formula in loops, and the neighbors of the package implicit, where an item is also its own."""
    X = data.ratings.matrix.toarray()
    n_users, n_items = X.shape
    W, total = np.zeros_like(X), X.sum(axis=0)
    for u in range(n_users):
        for i in np.flatnonzero(X[u]):
            norm = 0.4 + 0.6 * total[i] / total.mean()
            rarity = np.log(n_items) - np.log1p((X[u] > 0).sum())
            W[u, i] = X[u, i] * 3.0 / (2.0 * norm + X[u, i]) * rarity
    S = W.T @ W
    np.fill_diagonal(S, 0)
    assert scores_of(bm25, data, k=n_items, k1=2.0, b=0.6) == pytest.approx(X @ S, rel=1e-4, abs=1e-2)
    implicit = pytest.importorskip("implicit.nearest_neighbours")
    theirs = implicit.bm25_weight(csr_matrix(data.ratings.matrix).T, 2.0, 0.6).T
    assert theirs.toarray() == pytest.approx(W)
    found = scores_of(bm25, data, k=5, k1=2.0, b=0.6)
    for i in range(0, n_items, 23):
        s = np.where(np.argsort(np.argsort(-S[i], kind="stable")) < 5, S[i], 0)
        assert found[:, i] == pytest.approx(X @ s, rel=1e-4)


def test_rp3beta_by_hand():
    rng = np.random.default_rng(4)
    users, items = np.nonzero(rng.random((30, 40)) < 0.4)
    data = Dataset(
        Ratings.from_arrays(users, items, 1 + 4 * rng.random(len(users)))
    )  # no two walks are equal
    X = data.ratings.matrix.toarray()
    Z, n_item = X**1.5, np.maximum((X > 0).sum(axis=0), 1)
    to_item = Z / np.maximum(Z.sum(axis=1, keepdims=True), 1e-12)
    to_user = (Z / np.maximum(Z.sum(axis=0), 1e-12)).T
    S = to_user @ to_item / n_item**0.4
    np.fill_diagonal(S, 0)
    for row in S:
        row[np.argsort(-row, kind="stable")[7:]] = 0
    found = scores_of(rp3beta, data, k=7, alpha=1.5, beta=0.4)
    assert found == pytest.approx(X @ S, abs=1e-4)


@pytest.mark.slow
def test_irspack_has_the_same_walks_and_neighbors():
    """Where all neighbors are kept: among few, irspack counts an item as its own neighbor."""
    models = pytest.importorskip("irspack.recommenders")
    cinema = datasets.load("cinema")
    ones, users = csr_matrix(cinema.ratings.matrix > 0, dtype=float), np.arange(cinema.n_users)
    everything = cinema.n_items + 1
    for ours, theirs in (
        (
            rp3beta(cinema, everything, 1.0, 0.5, "seen"),
            models.RP3betaRecommender(ones, 1.0, 0.5, everything, n_threads=1),
        ),
        (
            item_knn(cinema, everything, 0.0, "seen"),
            models.CosineKNNRecommender(ones, 0.0, normalize=True, top_k=everything, n_threads=1),
        ),
    ):
        expected = theirs.learn().get_score(users)
        unrated = ones.toarray() == 0
        assert ours(users)[unrated] == pytest.approx(expected[unrated], rel=1e-4, abs=1e-6)


def test_interactions():
    ratings = Ratings.from_arrays([1, 1, 2], list("aba"), [5, 1, 4])
    assert interactions(ratings).toarray().tolist() == [[5, 1], [4, 0]]
    assert interactions(ratings, "seen").toarray().tolist() == [[1, 1], [1, 0]]
    assert interactions(ratings, "liked").toarray().tolist() == [[1, 0], [1, 0]]
    assert relevant_from(ratings.scale) == 4.0


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["implicit:als", "implicit:bpr", "irspack:slim", "irspack:ials", "irspack:ials-content"]
)
def test_other_packages_run_and_repeat(name):
    """They rank better than chance, the same on every run, and are searched with the same budget."""
    pytest.importorskip(name.partition(":")[0])
    cinema = datasets.load("cinema")
    first, random = evaluate(cinema, [name, "random"], task="ranking", train=0.5, trials=2)
    again, _ = evaluate(cinema, [name, "random"], task="ranking", train=0.5, trials=2, n_threads=1)
    assert first.main[0] > 2 * random.main[0]
    assert (first.settings, first.tuning) == (again.settings, again.tuning)
    assert first.metrics == again.metrics
    assert (first.kind, len(first.tuning.trials), first.run.versions[name.partition(":")[0]] != "") == (
        "peer", 2, True,
    )  # fmt: skip


@given(arrays(np.float64, (6, 7), elements=st.sampled_from([0.0, 0.0, 1.0, 3.0, 4.0, 5.0])), st.booleans())
def test_equal_scores_are_in_the_order_of_likes(R, implicit):
    """Users without ratings, and those all of whose scores are equal, get what most people like."""
    from scipy.sparse import csr_array

    R[0] = [1, 0, 0, 0, 0, 4, 5]  # the scale is from 1 to 5, and user 1 is new
    R[1] = 0
    scale = Scale(1, 5, 0, implicit=True) if implicit else Scale(1, 5, 1)
    data = Dataset(Ratings(csr_array(R), np.arange(6), np.arange(7), scale))
    likes = (R > 0 if implicit else R >= 4).sum(axis=0)
    order = most_liked(data.ratings).tolist()
    assert sorted(order) == list(range(7))
    assert [likes[i] for i in order] == sorted(likes, reverse=True)
    flat = ByScores(lambda data: lambda users: np.full((len(users), 7), 2.0)).fit(data)
    for u, items in enumerate(flat.recommend(range(6), 4)):
        assert items == [i for i in order if not R[u, i]][:4]
    by_id = ByScores(lambda data: lambda users: np.tile(np.arange(7.0) // 2, (len(users), 1))).fit(data)
    (first, new) = by_id.recommend([0, 1], 7)
    assert new == order
    assert first == sorted([1, 2, 3, 4], key=lambda i: (-(i // 2), order.index(i)))


def test_new_users_get_a_list_from_every_peer():
    """A user without training ratings is no reason to fail."""
    ratings = Ratings.from_arrays([1, 1, 2, 2, 3], list("abacb"), [5, 4, 3, 5, 4])
    train = Ratings.from_arrays([1, 1, 2, 2], list("abac"), [5, 4, 3, 5]).matrix
    from scipy.sparse import csr_array

    empty = csr_array(np.vstack([train.toarray(), np.zeros((1, 3))]))
    data = Dataset(Ratings(empty, ratings.users, ratings.items, ratings.scale))
    every = [popularity, *CLOSED]
    with contextlib.suppress(MissingExtraError):
        peers.require("implicit")
        every.append(partial(peers.als, factors=2, iterations=2))
    for learn in every:
        (items,) = ByScores(learn).fit(data).recommend([3], 3)
        assert sorted(items) == ["a", "b", "c"], learn


@pytest.mark.parametrize("name", ["implicit:als", "surprise:SVD", "irspack:slim"])
def test_a_missing_package_is_said(name, monkeypatch):
    package = name.partition(":")[0]
    monkeypatch.setattr(peers, "import_module", lambda module: (_ for _ in ()).throw(ImportError(module)))
    with pytest.raises(MissingExtraError, match=names(package, "pip install", "[peers]")):
        check_packages(["ease", name])


def test_every_grid_is_large_enough_and_names_settings():
    """Every recommender with a grid gets as many trials as the default model makes, and each is another."""
    for row in (*ROWS, *FAMILIES.values()):
        assert len({tuple(sorted(one.items())) for one in row.grid}) == len(row.grid) <= 30, row.name
    for name in (*GROUPS["kernels"], *GROUPS["peers"], *GROUPS["content-peers"]):
        assert len(grid(Method.parse(name), 99)) == 30, name
        assert len(grid(Method.parse(name), 3)) == 3
    assert grid(Method.parse("default"), 24) == grid(Method.parse("popularity"), 24) == ()
