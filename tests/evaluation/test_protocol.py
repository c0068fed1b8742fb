import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefmover import datasets
from prefmover.data.ratings import Ratings, Scale
from prefmover.data.splits import published_folds, random_split
from prefmover.errors import InputError
from prefmover.evaluation import CONTROLS, Method, Task, predict, protocol
from prefmover.evaluation.protocol import methods_of
from prefmover.items.geometry import ItemGeometry, align
from prefmover.measures import MEASURES, weight
from prefmover.predict.base import Lists, average, ratings_of
from prefmover.predict.centering import Centering
from prefmover.search import exhaustive_raters
from tests.messages import names
from tests.oracles import evaluation as slow

KS = (1, 2, 3, 5, 9)


def small(seed, n_users=14, n_items=9):
    rng = np.random.default_rng(seed)
    users, items = np.nonzero(rng.random((n_users, n_items)) < 0.5)
    users, items = np.append(users, [0, 1]), np.append(items, [n_items, n_items])  # an item of two raters
    ratings = Ratings.from_arrays(users, items, rng.integers(1, 6, users.size), scale=Scale(1.0, 5.0, 1.0))
    geometry = ItemGeometry.from_vectors(ratings.items, rng.random((ratings.n_items, 3)) + 0.01)
    return random_split(ratings, 0.5, seed), geometry


@pytest.mark.parametrize("method", [m for name in MEASURES for m in methods_of(name)], ids=str)
def test_all_k_at_once_are_the_formula(method):
    for seed in (0, 1):
        split, geometry = small(seed)
        found = predict(Task(split, KS), method, geometry, n_jobs=1)
        for at, k in enumerate(KS):
            expected, used = slow.predictions(
                split, method.name, k, geometry=geometry, convention=method.convention
            )
            np.testing.assert_allclose(found.ratings[:, at], expected, atol=1e-9)
            assert found.used[:, at].tolist() == used.tolist()


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from(["mean", "baseline", "z-score", "none"]), st.floats(0, 5))
def test_other_centerings_are_those_of_the_model(seed, centering, shrinkage):
    """The same neighbors through prefmover.predict, which predicts one K at a time."""
    split, _ = small(seed)
    train = split.train
    found = predict(
        Task(split, KS, centering, shrinkage), Method("jaccard", "measure", "published"), n_jobs=1
    )
    near = exhaustive_raters(
        train, train.users[split.users], train.items[split.items], 5, "jaccard", n_jobs=1
    )
    habits = Centering.of(train, centering)
    items = np.repeat(split.items, np.diff(near.indptr))
    spots = ratings_of(train, near.neighbors, items)
    lists = Lists(
        near.indptr, near.neighbors, near.values, habits.deviations(train)[spots], train.matrix.data[spots]
    )
    base, spread = habits.base(split.users, split.items), habits.spread[split.users]
    expected, _, spoke = average(base, spread, lists, weight("as-is"), shrinkage)
    expected = np.where(spoke > 0, expected, habits.fallback(split.users, split.items))
    np.testing.assert_allclose(found.ratings[:, KS.index(5)], np.clip(expected, 1, 5), atol=1e-9)


def test_threads_blocks_and_portions_change_nothing(monkeypatch):
    data = datasets.load("cinema")
    ratings, geometry = align(data.ratings, data.geometry)
    split = random_split(ratings.take(users=np.arange(300)), 0.2, 1)
    task = Task(split, (5, 40))
    for name in ("jmsd", "n-husm", "pmd"):
        (method, *_) = methods_of(name)
        one = predict(task, method, geometry, n_jobs=1)
        monkeypatch.setattr(protocol, "PAIRS_AT_ONCE", 700)
        monkeypatch.setattr(protocol, "THREAD_ROWS", 7)
        seen = []
        many = predict(task, method, geometry, n_jobs=3, progress=lambda *at, seen=seen: seen.append(at))
        assert np.array_equal(one.ratings, many.ratings)
        assert np.array_equal(one.used, many.used)
        assert seen[-1] == (len(task.askers[0]),) * 2
        monkeypatch.undo()


def test_uniform_is_a_mean_of_raters():
    split, _ = small(3)
    found = predict(Task(split, (1, 50)), Method("uniform", "control"), n_jobs=1)
    habits = Centering.of(split.train, "mean")
    deviations = habits.deviations(split.train)
    rows = np.repeat(np.arange(split.train.n_users), np.diff(split.train.matrix.indptr))
    for at, (u, i) in enumerate(zip(split.users, split.items, strict=True)):
        of_item = deviations[(split.train.matrix.indices == i) & (rows != u)]
        base = habits.base(np.array([u]), np.array([i]))[0]
        expected = base + (of_item.mean() if of_item.size else 0.0)
        assert found.ratings[at, 1] == pytest.approx(np.clip(expected, 1, 5))
        if of_item.size:  # one rater, whoever it is
            assert np.isclose(np.clip(base + of_item, 1, 5), found.ratings[at, 0]).any()
    other = predict(Task(split, (1, 50), seed=1), Method("uniform", "control"), n_jobs=1)
    assert not np.array_equal(found.ratings[:, 0], other.ratings[:, 0])
    np.testing.assert_allclose(found.ratings[:, 1], other.ratings[:, 1])


def test_mean_vectors_by_hand():
    rng = np.random.default_rng(5)
    X = rng.random((6, 4))
    users, items = np.nonzero(rng.random((8, 6)) < 0.6)
    ratings = Ratings.from_arrays(users, items, rng.integers(1, 6, users.size))
    geometry = ItemGeometry.from_vectors(ratings.items, X[ratings.items])
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    V = ratings.matrix.toarray() @ unit[ratings.items]
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    from prefmover.evaluation.baselines import mean_vector_blocks

    ((positions, values),) = mean_vector_blocks(ratings, geometry, np.array([3, 1]))
    assert positions.tolist() == [3, 1]
    np.testing.assert_allclose(values, V[[3, 1]] @ V.T, atol=1e-6)


def test_without_neighbors():
    split, _ = small(2)
    mean = predict(Task(split, KS), Method("user-mean", "control"))
    bias = predict(Task(split, KS), Method("bias", "control"))
    assert mean.ks == bias.ks == (None,)
    np.testing.assert_allclose(
        mean.ratings[:, 0], Centering.of(split.train, "mean").base(split.users, split.items)
    )
    assert not np.allclose(mean.ratings, bias.ratings)


def test_users_without_training_ratings_get_the_mean():
    ratings = Ratings.from_arrays([1, 1, 2, 3], list("abab"), [5, 1, 3, 4], scale=Scale(1, 5, 1))
    geometry = ItemGeometry.from_vectors(list("ab"), [[1, 0], [1, 1]])
    (split,) = published_folds(ratings, [(ratings.take(users=[0, 1]), ratings.take(users=[2]))])
    for name in ("pmd", "bcf", "jaccard"):
        found = predict(Task(split, (3,)), methods_of(name)[0], geometry, n_jobs=1)
        assert found.ratings[0, 0] == pytest.approx(3.0)
        assert found.used[0, 0] == 0


def test_cosine_predictions_are_surprises():
    """KNNWithMeans with its own cosine: the same neighbors, weights, fallback and clipping."""
    surprise = pytest.importorskip("surprise")
    ratings = datasets.load("cinema").ratings
    split = random_split(ratings, 0.4, 1)
    found = predict(Task(split, (5, 40)), methods_of("cos")[0], n_jobs=1)
    train = split.train
    owner = np.repeat(np.arange(train.n_users), np.diff(train.matrix.indptr))
    rows = zip(owner.tolist(), train.matrix.indices.tolist(), train.matrix.data.tolist(), strict=True)
    data = surprise.Dataset(surprise.Reader(rating_scale=(train.scale.lowest, train.scale.highest)))
    fitted = data.construct_trainset([(u, i, r, None) for u, i, r in rows])
    known_users, known_items = set(owner.tolist()), set(train.matrix.indices.tolist())
    for at, k in enumerate((5, 40)):
        model = surprise.KNNWithMeans(k=k, sim_options={"name": "cosine"}, verbose=False).fit(fitted)
        compared = 0
        for pair, (u, i) in enumerate(zip(split.users.tolist(), split.items.tolist(), strict=True)):
            if pair % 10 == 0 and u in known_users and i in known_items:
                assert model.predict(u, i).est == pytest.approx(found.ratings[pair, at], abs=1e-9)
                compared += 1
        assert compared > 1000


def test_conventions_that_differ():
    named = {name: [m.convention for m in methods_of(name)] for name in MEASURES}
    assert named["pmd"] == ["published"]
    assert named["cos"] == ["published"]
    assert named["bcf"] == ["published", "median", "table-1"]
    assert sum(map(len, named.values())) == 18


def test_bad_input():
    split, _ = small(0)
    for settings_, message in (
        ({"ks": ()}, r"\bk\b"),
        ({"ks": (5, 2)}, names(5, 2)),
        ({"ks": (0, 2)}, names(0)),
    ):
        with pytest.raises(InputError, match=message):
            Task(split, **settings_)
    with pytest.raises(InputError, match="centering"):
        Task(split, (1,), "median")
    with pytest.raises(InputError, match="shrinkage"):
        Task(split, (1,), shrinkage=-1.0)
    with pytest.raises(InputError, match=CONTROLS[0]):
        predict(Task(split, (1,)), Method("nothing", "control"))
    for name in ("pmd", "mean-vector"):
        with pytest.raises(InputError, match="(?i)" + name):
            predict(Task(split, (1,)), Method(name, "measure" if name == "pmd" else "control"))
