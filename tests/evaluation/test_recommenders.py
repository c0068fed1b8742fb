import numpy as np
import pytest

from prefmover import Dataset, KNNRecommender, Recommender, datasets
from prefmover.data.ratings import Ratings
from prefmover.data.scale import Scale
from prefmover.data.splits import published_folds, random_split
from prefmover.errors import InputError
from prefmover.evaluation import Experiment
from prefmover.evaluation.recommenders import Method, Request, expand, name_objects
from prefmover.items.geometry import ItemGeometry
from prefmover.measures import MEASURES
from prefmover.predict.predictor import clip
from tests.messages import names
from tests.oracles import evaluation as slow

KS = (1, 2, 3, 5, 9)


def small(seed, n_users=14, n_items=9):
    """Return a split and its training data."""
    rng = np.random.default_rng(seed)
    users, items = np.nonzero(rng.random((n_users, n_items)) < 0.5)
    users, items = np.append(users, [0, 1]), np.append(items, [n_items, n_items])  # an item with two raters
    ratings = Ratings.from_arrays(users, items, rng.integers(1, 6, users.size), scale=Scale(1.0, 5.0, 1.0))
    geometry = ItemGeometry.from_vectors(ratings.items, rng.random((ratings.n_items, 3)) + 0.01)
    data = Dataset(ratings, geometry)
    split = random_split(data.ratings, 0.5, seed)
    return split, data.with_ratings(split.train)


def predict(data, split, name, ks=KS, seed=0, **settings):
    """Return the predictions of a named neighbor average for every K, and the numbers of neighbors."""
    experiment = Experiment(dataset="cinema", recommenders=(name,), ks=ks, **settings)
    model = Request(Method.parse(name), experiment, seed, 1).create().fit(data)
    all_k = model.predictor_.predict_all_k(split.users, split.items, ks)
    return clip(all_k.values, split.train.scale)[0], all_k.used


@pytest.mark.parametrize("name", expand(["knn:all:all"]))
def test_all_k_at_once_match_the_formula(name):
    method = Method.parse(name)
    for seed in (0, 1):
        split, data = small(seed)
        predicted, used = predict(data, split, name)
        for at, k in enumerate(KS):
            expected, counts = slow.predictions(data, split, method.method, k, convention=method.convention)
            np.testing.assert_allclose(predicted[:, at], expected, atol=1e-9)
            assert used[:, at].tolist() == counts.tolist()


def test_shrinkage_reaches_the_formula():
    split, data = small(4)
    predicted, _ = predict(data, split, "knn:jaccard", shrinkage=0.5)
    expected, _ = slow.predictions(data, split, "jaccard", 3, shrinkage=0.5)
    np.testing.assert_allclose(predicted[:, KS.index(3)], expected, atol=1e-9)


def test_users_without_training_ratings_get_the_mean():
    ratings = Ratings.from_arrays([1, 1, 2, 3], list("abab"), [5, 1, 3, 4], scale=Scale(1, 5, 1))
    geometry = ItemGeometry.from_vectors(list("ab"), [[1, 0], [1, 1]])
    (split,) = published_folds(ratings, [(ratings.take(users=[0, 1]), ratings.take(users=[2]))])
    data = Dataset(ratings, geometry).with_ratings(split.train)
    for name in ("pmd", "bcf", "jaccard"):
        predicted, used = predict(data, split, f"knn:{name}", (3,))
        assert predicted[0, 0] == pytest.approx(3.0)
        assert used[0, 0] == 0


def test_cosine_predictions_match_surprise():
    """KNNWithMeans with its cosine: the same neighbors, weights, fallback and clipping."""
    surprise = pytest.importorskip("surprise")
    whole = datasets.load("cinema")
    split = random_split(whole.ratings, 0.4, 1)
    train = split.train
    predicted, _ = predict(whole.with_ratings(train), split, "knn:cos", (5, 40))
    columns = train.rows().tolist(), train.matrix.indices.tolist(), train.matrix.data.tolist()
    rows = [(u, i, r, None) for u, i, r in zip(*columns, strict=True)]
    data = surprise.Dataset(surprise.Reader(rating_scale=(train.scale.lowest, train.scale.highest)))
    trainset = data.construct_trainset(rows)
    known_users, known_items = set(columns[0]), set(columns[1])
    for at, k in enumerate((5, 40)):
        model = surprise.KNNWithMeans(k=k, sim_options={"name": "cosine"}, verbose=False).fit(trainset)
        compared = 0
        for pair, (u, i) in enumerate(zip(split.users.tolist(), split.items.tolist(), strict=True)):
            if pair % 10 == 0 and u in known_users and i in known_items:
                assert model.predict(u, i).est == pytest.approx(predicted[pair, at], abs=1e-9)
                compared += 1
        assert compared > 1000


def test_conventions_that_differ():
    named = {name: [Method.parse(m).convention for m in expand([f"knn:{name}:all"])] for name in MEASURES}
    assert named["pmd"] == ["published"]
    assert named["cos"] == ["published"]
    assert named["bcf"] == ["published", "median", "table-1"]
    paper = [name for name, row in MEASURES.items() if not row.extension]
    assert sum(len(named[name]) for name in paper) == 18
    assert expand(["knn:all"]) == tuple(f"knn:{name}" for name in paper)
    more = ("knn:pmd-agreement", "knn:pmd-opinions", "agreement")
    assert expand(["extensions"]) == more
    assert expand(["knn:all:table-1"])[-1] == "knn:pmd:table-1"


def test_names_are_expanded_once():
    assert expand(["bias", "knn:COS", "knn:cos", "knn:cos:published", "controls"]) == (
        "bias",
        "knn:cos",
        "uniform",
        "mean-vector",
        "user-mean",
    )
    assert expand(["surprise"])[0] == "surprise:SVD"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("knn:kos", "'cos'"),
        ("knn:bcf:medium", names("'bcf'", "'medium'")),
        ("biased", names("'biased'", "'bias'")),
        ("surprise:svd", names("'surprise:svd'", "'surprise:SVD'")),
        ("knn", names("'knn'")),
        ("estimated:jmsd", names("'estimated:jmsd'", "'estimated:pmd'")),
        ("", names("''")),
        (3, names(3)),
    ],
)
def test_unknown_names(name, message):
    with pytest.raises(InputError, match=message):
        expand([name])


def test_names_become_recommenders():
    experiment = Experiment(dataset="cinema", ks=(5, 20), centering="baseline", shrinkage=0.5)
    model = Request(Method.parse("knn:bcf:median"), experiment, 0, 2).create()
    assert isinstance(model, KNNRecommender)
    assert (model.measure, model.convention, model.k) == ("bcf", "median", 20)
    assert (model.centering, model.shrinkage, model.n_threads) == ("baseline", 0.5, 2)
    assert isinstance(Request(Method.parse("default"), experiment, 0, 1).create(), Recommender)
    with pytest.raises(InputError, match=names("'mine'")):
        Request(Method.parse("object:mine"), experiment, 0, 1).create()


class Constant:
    def fit(self, data):
        self.value = 3.0

    def predict(self, pairs):
        return [self.value] * len(pairs)


def test_objects_have_labels():
    named, objects = name_objects(["bias", Constant(), KNNRecommender("jaccard", 7)])
    assert named[:2] == ("bias", "object:Constant")
    assert "jaccard" in named[2]
    assert set(objects) == set(named[1:])
    assert name_objects({"three": Constant(), "": "bias"})[0] == ("object:three", "bias")
    assert name_objects("bias, knn:pmd")[0] == ("bias", "knn:pmd")
    assert name_objects(Constant())[0] == ("object:Constant",)


@pytest.mark.parametrize(
    ("recommenders", "message"),
    [
        ([Constant(), Constant()], names("Constant")),
        ([Constant], names("Constant")),
        ([object()], names("fit")),
    ],
)
def test_bad_objects(recommenders, message):
    with pytest.raises(InputError, match=message):
        name_objects(recommenders)
