"""Linear peers against their formulas: slow twins, properties, and irspack's versions."""

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix

from prefmover import Dataset, ItemGeometry, Ratings, datasets
from prefmover.data.scale import Scale
from prefmover.errors import InputError
from prefmover.evaluation.baselines import linear
from prefmover.evaluation.baselines.linear import addease, cease, content_weights, dan, ease, edlae, l3ae
from prefmover.evaluation.baselines.rankers import interactions
from tests.messages import names

FEW, MANY = 9, 60  # users: with 20 items, fewer and more


def made(n_users, seed=0, n_items=20):
    rng = np.random.default_rng(seed)
    users, items = np.nonzero(rng.random((n_users, n_items)) < 0.3)
    items[items == 5] = 6  # nobody rated item 5
    pairs = np.unique(np.column_stack([users, items]), axis=0)
    ratings = Ratings.from_arrays(
        pairs[:, 0], pairs[:, 1], rng.integers(1, 6, len(pairs)), scale=Scale(1.0, 5.0, 1.0)
    )
    vectors = rng.standard_normal((n_items, 4))
    vectors[3] = 0.0  # an item without content
    return Dataset(ratings, ItemGeometry.from_vectors(np.arange(n_items), vectors, zero="far"))


@pytest.fixture(scope="module", params=[FEW, MANY])
def data(request):
    """Data with fewer users than items, where the inverse is over users, and with more."""
    return made(request.param)


def scores(learn, data, **settings):
    return np.asarray(learn(data, **settings)(np.arange(data.n_users)), np.float64)


def parts(data, values):
    """Return X, the unit of penalties, and the content vectors, all dense."""
    X = interactions(data.ratings, values).toarray()
    return X, (X[X != 0] ** 2).mean(), data.geometry.vectors


def slow_ridge(A, D, targets=None, prior=None, strength=0.0):
    """Return B: each column by the normal equations over the other items, so that its diagonal is 0.

    The objective of column j is |A_j - A b|² + Σ D_i b_i² + strength |b - prior_j|².
    """
    m = A.shape[1]
    B = np.zeros((m, m))
    for j in range(m):
        rest = np.delete(np.arange(m), j)
        left = A[:, rest].T @ A[:, rest] + np.diag(D[rest] + strength)
        right = A[:, rest].T @ A[:, j] + (strength * prior[rest, j] if strength else 0.0)
        B[rest, j] = np.linalg.solve(left, right)
    return B


@pytest.mark.parametrize("values", ["ratings", "seen", "centered"])
def test_ease_by_its_normal_equations(data, values):
    X, unit, _ = parts(data, values)
    expected = X @ slow_ridge(X, np.full(X.shape[1], 3.0 * unit))
    assert scores(ease, data, penalty=3.0, values=values) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("values", ["ratings", "seen"])
def test_edlae_by_its_normal_equations(data, values):
    X, unit, _ = parts(data, values)
    D = 2.0 * unit + 0.4 / 0.6 * (X**2).sum(axis=0)
    found = scores(edlae, data, penalty=2.0, p=0.4, values=values)
    assert found == pytest.approx(X @ slow_ridge(X, D), abs=1e-5)


def test_edlae_is_least_squares_on_dropped_inputs():
    """The penalty p / (1 - p) G_ii is what dropping a share p of the inputs comes to."""
    data, p, rng = made(MANY), 0.3, np.random.default_rng(1)
    X, unit, _ = parts(data, "seen")
    n, copies = X.shape[1], 3000
    G, R = np.zeros((n, n)), np.zeros((n, n))
    for _ in range(copies):
        dropped = X * (rng.random(X.shape) >= p)
        G += dropped.T @ dropped / copies
        R += dropped.T @ X / copies
    B = np.zeros((n, n))
    for j in range(n):
        rest = np.delete(np.arange(n), j)
        # Dropped inputs are a factor of 1 - p smaller; a penalty of their own size undoes the difference.
        left = G[np.ix_(rest, rest)] / (1 - p) ** 2 + 2.0 * unit * np.eye(n - 1)
        B[rest, j] = np.linalg.solve(left, R[rest, j] / (1 - p))
    assert scores(edlae, data, penalty=2.0, p=p, values="seen") == pytest.approx(X @ B, abs=0.02)


def test_dan_by_its_formula(data):
    X, unit, _ = parts(data, "ratings")
    n_user, n_item = (X != 0).sum(axis=1), np.maximum((X != 0).sum(axis=0), 1)
    G = X.T @ np.diag(np.maximum(n_user, 1) ** -0.5) @ X
    P = np.linalg.inv(G + np.diag(4.0 * unit + 0.2 / 0.8 * (X**2).sum(axis=0)))
    B = -P / np.diag(P)
    np.fill_diagonal(B, 0)
    B *= (n_item[:, None] / n_item) ** 0.3
    found = scores(dan, data, penalty=4.0, p=0.2, alpha=0.3, beta=0.5)
    assert found == pytest.approx(X @ B, abs=1e-5)


def test_cease_is_ease_with_features_as_users(data):
    X, unit, T = parts(data, "seen")
    stacked = np.vstack([X, np.sqrt(5.0 * unit) * T.T])
    expected = X @ slow_ridge(stacked, np.full(X.shape[1], 2.0 * unit))
    assert scores(cease, data, penalty=2.0, alpha=5.0, values="seen") == pytest.approx(expected, abs=1e-5)


def test_addease_mixes_two_regressions(data):
    X, unit, T = parts(data, "seen")
    n = X.shape[1]
    B = 0.7 * slow_ridge(X, np.full(n, 2.0 * unit)) + 0.3 * slow_ridge(T.T, np.full(n, 6.0))
    found = scores(addease, data, penalty=2.0, alpha=0.3, content_penalty=6.0, values="seen")
    assert found == pytest.approx(X @ B, abs=1e-5)


@pytest.mark.parametrize("prior", ["ease", "cosine"])
def test_l3ae_minimizes_its_objective(data, prior):
    X, unit, T = parts(data, "ratings")
    n = X.shape[1]
    C = slow_ridge(T.T, np.full(n, 6.0))
    if prior == "cosine":
        C = T @ T.T - np.diag((T**2).sum(axis=1))
        C = C / np.maximum(C.sum(axis=0), 1.0)
    B = slow_ridge(X, np.full(n, 2.0 * unit), prior=C, strength=5.0 * unit)
    found = scores(l3ae, data, penalty=2.0, delta=5.0, content_penalty=6.0, prior=prior)
    assert found == pytest.approx(X @ B, abs=1e-5)


@pytest.mark.parametrize("prior", ["ease", "cosine"])
def test_content_weights_have_a_zero_diagonal(data, prior):
    C = content_weights(data.geometry.vectors, 2.0, prior)
    assert np.diagonal(C.times(np.eye(data.n_items))) == pytest.approx(0, abs=1e-6)
    rows = interactions(data.ratings)
    assert C.times(rows) == pytest.approx(C.times(rows.toarray()), abs=1e-5)


@pytest.mark.parametrize("values", ["ratings", "seen", "centered"])
def test_special_cases_are_ease(data, values):
    own = scores(ease, data, penalty=7.0, values=values)
    for learn, settings in (
        (edlae, {"p": 0.0}),
        (dan, {"p": 0.0, "alpha": 0.0, "beta": 0.0}),
        (cease, {"alpha": 0.0}),
        (addease, {"alpha": 0.0}),
        (l3ae, {"delta": 0.0}),
    ):
        found = scores(learn, data, penalty=7.0, values=values, **settings)
        assert found == pytest.approx(own, abs=1e-5), learn
    edge = scores(dan, data, penalty=7.0, p=0.4, alpha=0.0, beta=0.0, values=values)
    assert edge == pytest.approx(scores(edlae, data, penalty=7.0, p=0.4, values=values), abs=1e-5)


def test_both_ways_to_the_inverse_agree():
    """Over items and over rows, for sparse rows and dense ones."""
    rng = np.random.default_rng(2)
    Z = csr_array((rng.random((12, 15)) < 0.4) * rng.random((12, 15)))
    penalty = rng.random(15) + 0.5
    exact = np.linalg.inv((Z.T @ Z).toarray() + np.diag(penalty))
    tall = csr_array(np.vstack([Z.toarray(), np.zeros((9, 15))]))  # more rows than columns
    for one in (Z, tall):
        P = linear.inverse(one, penalty, lambda: (Z.T @ Z).toarray())
        assert P.diagonal == pytest.approx(np.diagonal(exact))
        assert P.times(Z) == pytest.approx(Z @ exact, abs=1e-6)
        assert P.times(np.eye(15, dtype=np.float32)) == pytest.approx(exact, abs=1e-6)


def test_items_without_ratings_are_scored_by_their_content(data):
    """Only peers that know content have something to say about them."""
    unrated = data.ratings_per_item == 0
    assert unrated.any()
    for learn in (ease, edlae, dan):
        assert (scores(learn, data)[:, unrated] == 0).all()
    for learn in (cease, addease, l3ae):
        assert (scores(learn, data)[:, unrated].std(axis=0) > 0).all()


def test_searches_may_share_what_their_trials_share(monkeypatch):
    """The scores of a trial do not depend on those before it, or on whether matrices are kept."""
    data = made(MANY)
    several = [scores(learn, data, values=v) for learn in (cease, ease, l3ae) for v in ("ratings", "seen")]
    monkeypatch.setattr("prefmover.evaluation.baselines.rankers.SHARED_ITEMS", 0)
    other = made(MANY)  # the same, but nothing is known of it
    again = [scores(learn, other, values=v) for learn in (cease, ease, l3ae) for v in ("ratings", "seen")]
    for one, two in zip(several, again, strict=True):
        assert one.tolist() == two.tolist()


def test_counts_are_damped_instead_of_centered():
    counts = Ratings.from_arrays([1, 1, 2], list("aba"), [1, 7, 3], feedback="implicit")
    assert interactions(counts, "centered").data == pytest.approx(np.log1p(counts.matrix.data))
    stars = Ratings.from_arrays([1, 1, 2], list("aba"), [5, 1, 4], scale=Scale(1.0, 5.0, 1.0))
    assert interactions(stars, "centered").toarray().tolist() == [[3.5, -0.5], [2.0, 0.0]]


def test_bad_settings_and_data_without_content(data):
    for bad in ({"penalty": 0.0}, {"penalty": np.nan}, {"p": 1.0}):
        with pytest.raises(InputError):
            edlae(data, **bad)
    bare = Dataset(data.ratings, name="bare")
    follows = Dataset(data.ratings, lambda ratings: data.geometry)
    follows._geometry.follows_ratings = True
    for learn in (cease, addease, l3ae):
        with pytest.raises(InputError):
            learn(bare)
        with pytest.raises(InputError, match=names("tags")):
            learn(follows)


@pytest.mark.slow
def test_irspack_has_the_same_weights():
    models = pytest.importorskip("irspack.recommenders")
    cinema = datasets.load("cinema")
    X, users = csr_matrix(cinema.ratings.matrix), np.arange(cinema.n_users)
    unit, unrated = (X.data**2).mean(), X.toarray() == 0
    for ours, theirs in (
        (ease(cinema, 50 / unit), models.DenseSLIMRecommender(X, 50)),
        (edlae(cinema, 50 / unit, 0.4), models.EDLAERecommender(X, 50, 0.4)),
    ):
        assert ours(users)[unrated] == pytest.approx(theirs.learn().get_score(users)[unrated], abs=1e-4)
