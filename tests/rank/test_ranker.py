"""Rankers: scores against slow twins with every measure, parts, guests, changed data and storage."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from prefmover import datasets
from prefmover.data.ratings import Ratings
from prefmover.data.scale import Scale
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.measures import MEASURES, weight
from prefmover.model import KNNRecommender, Recommender
from prefmover.predict.similarity import LandmarkValues
from prefmover.rank.two_sided import RankingSettings, TwoSidedRanker, UserSide, user_weights
from tests.oracles import ranking as oracle

SETTINGS = RankingSettings(item_penalty=3.0, user_penalty=0.5, popularity=0.2)


def fitted(data, measure="pmd", changes=None, **options):
    rule = SETTINGS.weight if measure == "pmd" else str(MEASURES[measure].weight)
    settings = replace(SETTINGS, **({"weight": rule} | (changes or {})))
    return Recommender(measure, ranking=settings, **options).fit(data)


def twin(data, K, ranker):
    """The scores of slow twins; taste factors have tests of their own."""
    likes = ranker.likes.data
    Y, vectors, penalties = oracle.likes(data.ratings), data.geometry.vectors, (3.0 * (likes**2).mean(), 0.5)
    seen = data.ratings.matrix.toarray() > 0
    Z = [
        oracle.user_rows(Y, seen, SETTINGS.discount),
        oracle.feature_rows(Y, seen, SETTINGS.features, vectors),
    ]
    items, users = oracle.two_sides(Y, K, *penalties, np.concatenate(Z))
    assert ranker.factors.scale == pytest.approx(SETTINGS.factors * (likes**2).mean() ** 0.5)
    items += ranker.factors.scores(data.ratings.matrix)
    return items, users + oracle.popularity(Y, seen, SETTINGS.popularity)


def scores(model, user):
    return model.ranker_.scores(model._state(user))


@pytest.fixture(scope="module")
def sparse(data):
    """Data with a user and two items without ratings."""
    dense = data.ratings.matrix.toarray()
    dense[4], dense[:, [2, 9]] = 0.0, 0.0
    old = data.ratings
    return data.with_ratings(
        Ratings.from_csr(csr_array(dense), users=old.users, items=old.items, scale=old.scale)
    )


@pytest.fixture(scope="module")
def played(data):
    counts = data.ratings.matrix.copy()
    counts.data = np.exp2(counts.data)
    r = data.ratings
    return data.with_ratings(Ratings.from_csr(counts, users=r.users, items=r.items, feedback="implicit"))


@pytest.mark.parametrize("measure", MEASURES)
def test_every_measure_makes_the_kernel(data, measure):
    """The kernel is that of Nyström, W K⁻¹Wᵀ with all users as landmarks; the rest is as in the twin."""
    ranker = fitted(data, measure).ranker_
    similarity, everyone = ranker.similarity, np.arange(data.n_users)
    self_values = similarity.self_values(everyone)
    values = similarity.exact_values(everyone, everyone)
    W = user_weights(values, self_values, self_values, ranker.settings)
    np.fill_diagonal(W, 1.0)
    spectrum, vectors = np.linalg.eigh((W + W.T) / 2)  # W is symmetric but for (N-)HUSM
    large = spectrum > 1e-4
    K = W @ (vectors[:, large] / spectrum[large]) @ vectors[:, large].T @ W.T
    size = np.sqrt(np.maximum(np.diagonal(K), 1.0))
    K = K / size / size[:, None]
    items, users = twin(data, K, ranker)
    found = ranker.block(everyone)
    assert found.items == pytest.approx(items, abs=1e-3)
    assert found.users == pytest.approx(users, abs=2e-3 * max(1.0, np.abs(users).max()))


FACTORS_ONLY = {"item_penalty": None, "user_penalty": None, "popularity": 0.0}
MODELS = {
    "two sides": fitted,
    "item side": lambda data: fitted(data, changes={"user_penalty": None}),
    "user side": lambda data: fitted(data, changes={"item_penalty": None, "factors": 0.0}),
    "taste factors": lambda data: fitted(data, changes=FACTORS_ONLY),
    "most liked": lambda data: fitted(data, changes={"item_penalty": None, "user_penalty": None}),
    "few landmarks": lambda data: fitted(data, landmarks=6),
    "a similarity": lambda data: fitted(data, "pcc"),
    "votes": lambda data: KNNRecommender(k=5).fit(data),
}


class TestEveryRanker:
    @pytest.fixture(scope="class", params=MODELS.values(), ids=MODELS)
    @classmethod
    def model(cls, request, sparse):
        return request.param(sparse)

    def test_parts_sum_to_the_scores(self, model, sparse):
        everything = np.arange(sparse.n_items)
        guest = model.guest(dict(zip(sparse.ratings.items[:3].tolist(), [5, 1, 4], strict=True)))
        for user in [*sparse.ratings.users.tolist(), guest]:
            state, (items, users) = model._state(user), scores(model, user)
            if not len(state.rated):
                continue
            everybody = np.arange(sparse.n_users)
            parts = model.ranker_.terms(state, everything, everybody)
            assert parts.item_terms.sum(axis=0) == pytest.approx(items[0], abs=1e-4)
            assert parts.user_terms.sum(axis=0) == pytest.approx(users[0], abs=1e-3)
            assert len(parts.item_terms) == len(state.rated)
            assert parts.user_terms.shape == (sparse.n_users, sparse.n_items)
            some = everything[[7, 2, 0]]
            assert model.ranker_.terms(state, some, everybody).user_terms == pytest.approx(
                parts.user_terms[:, some], abs=1e-5
            )
            if state.position >= 0:
                assert (parts.user_terms[state.position] == 0).all()

    def test_a_user_without_ratings_and_an_unknown_one_get_mean_likes(self, model, sparse):
        mean = oracle.likes(sparse.ratings).mean(axis=0)
        assert scores(model, sparse.ratings.users[4]).total[0] == pytest.approx(mean, abs=1e-5)
        assert scores(model, "nobody").total[0] == pytest.approx(mean, abs=1e-5)
        best = sparse.ratings.items[np.argmax(mean)]
        assert model.recommend(None, 1)[0].item == model.recommend(sparse.ratings.users[4], 1)[0].item == best

    def test_blocks_are_one_by_one(self, model, sparse):
        users = np.array([7, 4, 0, 7])
        block = model.ranker_.block(users)
        for row, user in enumerate(users):
            one = model.ranker_.block(np.array([user]))
            assert block.total[row] == pytest.approx(one.total[0], abs=1e-5)

    def test_fits_are_deterministic(self, model, sparse):
        again = type(model)(**model.get_params()).fit(sparse)
        users = np.arange(sparse.n_users)
        assert np.array_equal(again.ranker_.block(users).total, model.ranker_.block(users).total)

    def test_new_users_are_guests(self, model, sparse):
        items = sparse.ratings.items
        new = {"new": dict(zip(items[[1, 6, 8]].tolist(), [5.0, 2.0, 4.0], strict=True))}
        more = Ratings.from_arrays(
            ["new"] * 3, list(new["new"]), list(new["new"].values()), scale=Scale(1, 5, 1)
        )
        guest = scores(model, model.guest(new["new"])).total[0]
        extended = type(model)(**model.get_params()).fit(sparse).add_users(more)
        assert scores(extended, "new").total[0] == pytest.approx(guest, abs=2e-3)


@pytest.mark.parametrize("feedback", ["data", "played"])
def test_votes_are_weighted_mean_likes(feedback, request):
    data = request.getfixturevalue(feedback)
    ranker = KNNRecommender(k=5, weight="exponential(2)").fit(data).ranker_
    Y, rule = oracle.likes(data.ratings), weight("exponential(2)")
    everyone = np.arange(data.n_users)
    D, found = ranker.similarity.exact_values(everyone, everyone), ranker.block(everyone)
    for u in everyone:
        nearest = sorted((v for v in everyone if v != u), key=lambda v: (D[u, v], v))[:5]
        w = rule(D[u, nearest])
        assert found.users[u] == pytest.approx(w @ Y[nearest] / w.sum(), abs=1e-5)
    assert (found.items == 0).all()


def test_one_rating_is_not_the_best_of_the_world():
    """An item that one neighbor loves is below one that all like: votes are not divided by voters."""
    rows = [("me", "a", 5), *((f"u{k}", item, r) for k in range(4) for item, r in (("a", 5), ("b", 4)))]
    rows.append(("u0", "rare", 5))
    users, items, values = zip(*rows, strict=True)
    ratings = Ratings.from_arrays(users, items, values, scale=Scale(1, 5, 1))
    top = KNNRecommender("jaccard", k=4).fit(Dataset(ratings)).recommend("me")
    assert [one.item for one in top] == ["b", "rare"]


def test_landmarks_that_are_all_users_approximate_nothing(data):
    everyone = np.arange(data.n_users)
    whole = fitted(data, landmarks=data.n_users).ranker_
    phi = whole.user_side.kernel.features.astype(float)
    D = whole.similarity.exact_values(everyone, everyone)
    assert phi @ phi.T == pytest.approx(np.exp(-2.5 * D), abs=1e-3)
    half = fitted(data, landmarks=data.n_users // 2).ranker_  # up to twice as many are landmarks, too
    assert np.array_equal(half.block(everyone).total, whole.block(everyone).total)
    some = fitted(data, landmarks=8).ranker_
    assert some.user_side.kernel.rank <= 8
    a, b = some.block(everyone).total.ravel(), whole.block(everyone).total.ravel()
    assert np.corrcoef(a, b)[0, 1] > 0.9


def updated(ranker, data, changed):
    """What a model hands to its heads after an update."""
    similarity = ranker.similarity.updated(data)
    users = np.concatenate([changed, np.arange(ranker.similarity.data.n_users, data.n_users)])
    rows = [data.ratings.take(users=[user]) for user in users.tolist()]
    return similarity, users, [similarity.to_landmarks(row) for row in rows]


@pytest.mark.parametrize("landmarks", [6, 24])
def test_changed_and_new_users_are_those_of_a_new_user_side(sparse, landmarks):
    """The item side and the places of other users stay; everything else is as in a fit of the new data."""
    model, rng = fitted(sparse, landmarks=landmarks), np.random.default_rng(0)
    old = model.ranker_
    r = sparse.ratings
    dense = r.matrix.toarray()
    changed = np.array([1, 4, 10])  # 4 had no ratings
    dense[changed] = rng.integers(1, 6, (3, sparse.n_items))
    new = rng.integers(0, 6, (2, sparse.n_items))
    ratings = Ratings.from_csr(
        csr_array(np.concatenate([dense, new])), users=[*r.users, "v1", "v2"], items=r.items, scale=r.scale
    )
    data = sparse.with_ratings(ratings)
    found, side = old.with_data(*updated(old, data, changed)), old.item_side
    kernel = found.user_side.kernel
    untouched = np.setdiff1d(np.arange(sparse.n_users), changed)
    before = old.user_side.kernel.features
    assert np.array_equal(kernel.features[untouched], before[untouched])
    for u in changed.tolist():  # placed as a guest with these ratings would be, also if a landmark
        guest = model.guest(dict(zip(r.items.tolist(), dense[u].tolist(), strict=True)), name="guest")
        assert kernel.features[u] == pytest.approx(old.place(guest), abs=1e-5)
    rest = found.likes.toarray() - side.scores(found.likes)
    again = UserSide.fit(kernel, kernel.features.T @ rest.astype(np.float32), SETTINGS.user_penalty)
    assert found.user_side.weights == pytest.approx(again.weights, abs=1e-4)
    assert found.likes.toarray() == pytest.approx(oracle.likes(ratings))
    assert np.isfinite(found.block(np.arange(data.n_users)).total).all()


def test_parts_sum_to_the_scores_after_an_item_got_its_first_rating(sparse):
    r = sparse.ratings
    dense = r.matrix.toarray()
    dense[0, 2] = 5.0  # nobody had rated it
    ratings = Ratings.from_csr(csr_array(dense), users=r.users, items=r.items, scale=r.scale)
    model = fitted(sparse)
    ranker = model.ranker_.with_data(*updated(model.ranker_, sparse.with_ratings(ratings), np.array([0])))
    state, everything = model._state(r.users[1]), np.arange(sparse.n_items)
    parts = ranker.terms(state, everything, np.arange(sparse.n_users))
    items, users = ranker.block(np.array([1]))
    assert parts.item_terms.sum(axis=0) == pytest.approx(items[0], abs=1e-4)
    assert parts.user_terms.sum(axis=0) == pytest.approx(users[0], abs=1e-3)


def test_implicit_feedback(played):
    model = fitted(played)
    ranker, everyone = model.ranker_, np.arange(played.n_users)
    D = ranker.similarity.exact_values(everyone, everyone)
    items, users = twin(played, np.exp(-2.5 * D), ranker)
    found = ranker.block(everyone)
    assert found.items == pytest.approx(items, abs=1e-3)
    assert found.users == pytest.approx(users, abs=2e-3)
    top = model.recommend(played.ratings.users[0], 3)
    assert [one.rating for one in top] == [None] * 3
    guest = model.guest({played.ratings.items[0]: 7})
    assert len(model.recommend(guest, 3)) == 3
    pair = played.ratings.users[0], played.ratings.items[0]
    with pytest.raises(InputError, match="implicit"):
        model.predict_one(*pair)
    with pytest.raises(InputError, match="implicit"):
        model.explain_rating(*pair)


@pytest.mark.parametrize("damping", ["log", "none"])
def test_counts_that_are_all_equal(data, damping):
    r = data.ratings
    ratings = Ratings.from_arrays(
        r.users[r.rows()].tolist(), r.items[r.matrix.indices].tolist(), feedback="implicit", damping=damping
    )
    model = fitted(data.with_ratings(ratings))
    assert (model.ranker_.likes.data == 1).all()
    assert len(model.recommend(r.users[0], 5)) == 5


def test_estimated_distances_rank_nearly_as_exact_ones():
    cinema = datasets.load("cinema")
    cinema = cinema.with_ratings(cinema.ratings.take(users=range(150)))
    model = fitted(cinema)
    assert model.calibration_ is not None
    everyone = np.arange(cinema.n_users)
    similarity = model.similarity_
    values = similarity.exact_values(everyone, everyone)
    compared = LandmarkValues(everyone, values, similarity.self_values(everyone))
    exact = TwoSidedRanker.fit(similarity, model.settings_["ranking"], compared)
    a, b = model.ranker_.block(everyone).total, exact.block(everyone).total
    assert np.corrcoef(a.ravel(), b.ravel())[0, 1] > 0.99


def test_without_distances_there_is_no_content(data):
    for ranking in ("tuned", RankingSettings()):
        model = Recommender("jmsd", ranking=ranking).fit(Dataset(data.ratings))
        settings = model.settings_["ranking"]
        assert settings.features == 0.0
