"""The model: the contract for every measure x predictor, and what is particular to UserKNN."""

import json
import pickle
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

import prefmover.model
from prefmover.data.ratings import Ratings, Scale
from prefmover.errors import InputError, UnknownIdError
from prefmover.items.geometry import ItemGeometry
from prefmover.measures import MEASURES, Measure, register, similarities, weight
from prefmover.model import UserKNN
from prefmover.paper.table_1 import table_1
from prefmover.predict import Shared
from tests.contracts.model import ModelContract
from tests.messages import names, unnamed
from tests.oracles.prediction import knn, regression
from tests.predict.conftest import make_world


@pytest.fixture(scope="module")
def world():
    return make_world(3)


@pytest.mark.parametrize("measure", MEASURES, scope="class")
class TestKernelPredictor(ModelContract):
    @pytest.fixture(scope="class")
    @classmethod
    def model(cls, world, measure):
        return UserKNN(measure).fit(*world)


@pytest.mark.parametrize("measure", MEASURES, scope="class")
class TestPaperPredictor(ModelContract):
    @pytest.fixture(scope="class")
    @classmethod
    def model(cls, world, measure):
        return UserKNN.paper(measure, k=5).fit(*world)


@pytest.mark.parametrize("settings", [
    {"neighborhood": "global", "k": 8},
    {"centering": "z-score"},
    {"centering": "none"},
    {"centering": "baseline", "shrinkage": 1.5},
], ids=str, scope="class")  # fmt: skip
class TestVariants(ModelContract):
    @pytest.fixture(scope="class")
    @classmethod
    def model(cls, world, settings):
        return UserKNN(predictor="average", **settings).fit(*world)


class TestFewLandmarks(ModelContract):
    @pytest.fixture(scope="class")
    @classmethod
    def model(cls, world):
        return UserKNN(landmarks=9).fit(*world)


class TestWithoutGeometry(ModelContract):
    @pytest.fixture(scope="class")
    @classmethod
    def model(cls, world):
        return UserKNN("jmsd").fit(world[0])


@pytest.mark.parametrize("measure", ["pmd", "msd", "pcc", "husm"])
@pytest.mark.parametrize("centering", ["none", "mean", "z-score", "baseline"])
@pytest.mark.parametrize("among", ["raters", "global"])
def test_average_is_the_formula(world, measure, centering, among):
    ratings, geometry = world
    row = MEASURES[measure]
    values = similarities(ratings, row, geometry=geometry)
    model = UserKNN(
        measure, 4, predictor="average", centering=centering, shrinkage=0.5, neighborhood=among
    ).fit(ratings, geometry)
    pairs = [(u, i) for u in range(ratings.n_users) for i in range(0, ratings.n_items, 5)]
    predicted = model.predict([(ratings.users[u], ratings.items[i]) for u, i in pairs])
    spoke = 0
    for (u, i), p in zip(pairs, predicted, strict=True):
        expected = knn(
            ratings, values, row.larger_is_closer, weight(row.weight), u, i, 4, centering, 0.5, among
        )
        if expected is None:
            assert p.how == "no neighbor"
        else:
            spoke += 1
            assert p.rating == pytest.approx(np.clip(expected, 1, 5), abs=1e-8)
    assert spoke > 20


@pytest.mark.parametrize("landmarks", [1000, 10])
@pytest.mark.parametrize("with_geometry", [True, False])
def test_kernel_is_the_formula(world, landmarks, with_geometry):
    ratings, geometry = world
    measure, geometry = ("pmd", geometry) if with_geometry else ("jaccard", None)
    shared = Shared(lending=0.7, own_taste=0.3, item_rate=1.5, level=0.2)
    model = UserKNN(measure, shared=shared, landmarks=landmarks).fit(ratings, geometry)
    kernel = model.predictor_.regression.kernel
    K = kernel.features.astype(float) @ kernel.features.astype(float).T + np.diag(kernel.rest)
    expected = regression(ratings, None if geometry is None else geometry.block(), K, shared)
    users, items = (x.ravel() for x in np.indices(ratings.matrix.shape))
    values = model.predictor_.answer(users, items).values
    assert values == pytest.approx(expected.ravel(), abs=2e-3)  # conjugate gradients end at 1e-4


def test_user_kernel_is_the_weight(world):
    ratings, geometry = world
    model = UserKNN(weight="exponential(2)").fit(ratings, geometry)
    kernel = model.predictor_.regression.kernel
    K = kernel.features @ kernel.features.T
    assert pytest.approx(np.exp(-2 * similarities(ratings, "pmd", geometry=geometry)), abs=1e-4) == K


def test_a_guest_is_almost_a_user(world):
    """Everybody else's coefficients stay as they are; the prediction hardly moves."""
    ratings, geometry = make_world(8, n_users=60, n_items=30, per_user=14)
    rest = ratings.take(users=np.arange(59))
    last = ratings[ratings.users[59]]
    guest = UserKNN().fit(rest, geometry).for_ratings(last)
    whole = UserKNN().fit(ratings, geometry)
    items = [i for i in ratings.items if i not in last]
    fitted = whole.predict([(ratings.users[59], i) for i in items]).ratings
    asked = guest.predict(items).ratings
    nobody = whole.predict([("nobody", i) for i in items]).ratings
    assert np.abs(asked - fitted).mean() < 0.1
    assert np.abs(asked - fitted).mean() < 0.3 * np.abs(nobody - fitted).mean()


def test_a_guest_of_the_average_is_the_user(world):
    ratings, geometry = world
    model = UserKNN.paper(k=5).fit(ratings, geometry)
    user = ratings.users[4]
    twin = model.for_ratings(ratings[user], name="twin")
    assert twin.neighbors(1)[0] == (user, 0.0)
    rest = UserKNN.paper(k=5).fit(ratings.take(users=np.arange(ratings.n_users) != 4), geometry)
    items = [i for i in ratings.items if i not in ratings[user]]
    asked = rest.for_ratings(ratings[user]).predict(items)
    assert asked.ratings == pytest.approx(model.predict([(user, i) for i in items]).ratings)


@pytest.mark.parametrize("settings", [{}, {"predictor": "average"}], ids=["kernel", "average"])
def test_added_users_are_users(world, settings):
    ratings, geometry = world
    first, last = ratings.take(users=np.arange(20)), ratings.take(users=np.arange(20, 24))
    grown = UserKNN(**settings).fit(first, geometry).add_users(last)
    assert grown.ratings_.users.tolist() == ratings.users.tolist()
    whole = UserKNN(**settings, landmarks=24).fit(ratings, geometry)
    pairs = [(u, i) for u in ratings.users for i in ratings.items]
    a, b = grown.predict(pairs).ratings, whole.predict(pairs).ratings
    assert a == pytest.approx(b, abs=0.25 if not settings else 1e-9)
    assert np.abs(a - b).mean() < 0.02
    with pytest.raises(InputError):
        grown.add_users(last)


def test_items_nobody_rated_are_predicted(world):
    ratings, geometry = world
    half = ratings.take(items=np.arange(0, 18, 2))
    model = UserKNN().fit(half, geometry)
    one, other = (model.predict_one(u, "i03") for u in ("u00", "u01"))
    assert one.how == other.how == "neighbors"
    assert one.rating != pytest.approx(other.rating, abs=1e-3)


def test_table_1_by_hand():
    """Worked in docs/guide/predictions.md."""
    table = table_1()
    model = UserKNN.paper().fit(table.ratings(), table.geometry)
    p = model.predict_one("u1", "Bat Man")
    # u1: 5/10 Iron Man, 2/10 Spider Man, 3/10 Titanic. u2 has Bat Man for Iron Man. u4: a third each hero.
    to_u2 = 0.5 * np.arccos(0.8)
    to_u4 = 1 / 6 * np.arccos(0.8) + 0.3 * np.arccos(0.3)
    w = np.exp(-4 * np.array([to_u2, to_u4]))
    assert p.rating == pytest.approx(10 / 3 + (w[0] * (5 - 10 / 3) + w[1] * 0) / w.sum(), abs=1e-6)
    assert p.rating == pytest.approx(4.433, abs=5e-4)
    assert {n.user: n.rating for n in p.neighbors} == {"u2": 5, "u4": 5}
    assert [n.distance for n in p.neighbors] == pytest.approx([to_u2, to_u4], abs=1e-6)
    page = (Path(__file__).parents[2] / "docs" / "guide" / "predictions.md").read_text()
    for shown in (model.explain_recommendation("u1", "Bat Man"), model.explain("u1", "u2")):
        assert "\n".join(line.rstrip() for line in str(shown).splitlines()) in page


def test_explanations_of_users(world):
    ratings, geometry = world
    model = UserKNN().fit(ratings, geometry)
    why = model.explain("u00", "u01", labels={"i00": "Alien"})
    assert sum(m.share for m in why.moves) == pytest.approx(1)
    assert sum(m.mass for m in why.moves) == pytest.approx(1)
    assert sum(m.mass * np.arccos(m.similarity) for m in why.moves) == pytest.approx(why.distance, abs=1e-4)
    assert why.distance == pytest.approx(model.compare("u00", "u01").value)
    json.dumps(why.to_dict())
    assert not unnamed(str(why), "u00", "u01")
    assert "<table>" in why._repr_html_()
    assert why.to_table().row_count == min(15, len(why.moves))
    for m in why.moves:
        assert (m.rating, m.other_rating) == (ratings["u00"][m.item], ratings["u01"][m.other_item])


def test_guest_explanation_is_the_users(world):
    ratings, geometry = world
    model = UserKNN().fit(ratings, geometry)
    asked = model.for_ratings(ratings["u03"]).explain("u05")
    assert asked.distance == model.explain("u03", "u05").distance


def test_picture(world):
    import matplotlib

    matplotlib.use("Agg")
    ax = UserKNN().fit(*world).explain("u00", "u01").plot(n=5)
    ribbons = [patch for patch in ax.patches if isinstance(patch, matplotlib.patches.PathPatch)]
    assert len(ribbons) == 5
    assert len(ax.texts) >= 4
    matplotlib.pyplot.close(ax.figure)


def test_explanation_of_a_recommendation_reads(world):
    model = UserKNN().fit(*world)
    top = model.recommend("u00", 1)[0]
    why = model.explain_recommendation("u00", top.item, labels={top.item: "Blade <Runner>"})
    json.dumps(why.to_dict())
    assert "Blade <Runner>" in str(why)
    assert "Blade &lt;Runner&gt;" in why._repr_html_()
    assert why.to_table(3).row_count == len(why.base) + 3 + 2
    named = why.neighbors[0]
    spoken = why.through[named.user]
    assert all(model.ratings_[named.user][t.item] == t.rating for t in spoken)
    assert not np.isnan(named.distance)


def test_tuning_is_on_training_ratings_and_visible(world):
    ratings, geometry = make_world(5, n_users=50, n_items=20, per_user=12)
    model = UserKNN().fit(ratings, geometry, tune=True)
    assert len(model.tuning_) == 14
    assert min(t["mae"] for t in model.tuning_) == next(
        t["mae"] for t in model.tuning_ if t["shared"] == model.settings_["shared"].to_dict()
        and t["weight"] == str(model.settings_["weight"])
    )  # fmt: skip
    average = UserKNN(predictor="average", weight="cosine").fit(ratings, geometry, tune=True)
    assert {t["weight"] for t in average.tuning_} == {"cosine"}
    with pytest.raises(InputError):
        UserKNN().fit(ratings.take(users=[0, 1, 2]), geometry, tune=True)


def test_tuning_leaves_what_was_given(world):
    ratings, geometry = make_world(5, n_users=50, n_items=20, per_user=12)
    both = UserKNN.paper(k=7, shrinkage=0.3).fit(ratings, geometry, tune=True)
    assert {(t["k"], t["shrinkage"]) for t in both.tuning_} == {(7, 0.3)}
    assert (both.settings_["k"], both.settings_["shrinkage"]) == (7, 0.3)
    one = UserKNN.paper(k=7).fit(ratings, geometry, tune=True)
    assert {t["k"] for t in one.tuning_} == {7}
    assert len({t["shrinkage"] for t in one.tuning_}) > 1
    other = UserKNN.paper(shrinkage=0.3).fit(ratings, geometry, tune=True)
    assert {t["shrinkage"] for t in other.tuning_} == {0.3}
    assert len({t["k"] for t in other.tuning_}) > 1


@pytest.mark.parametrize("with_geometry", [True, False])
def test_neighbors_who_add_nothing_are_not_counted(with_geometry):
    """Users without a co-rated item have no say by cosine; without geometry, only raters have an opinion."""
    ids = [f"i{k}" for k in range(6)]
    geometry = ItemGeometry.from_vectors(ids, np.eye(6) + 0.1) if with_geometry else None
    alone = Ratings.from_arrays([f"u{k}" for k in range(6)], ids, [1, 2, 3, 4, 5, 1], scale=Scale(1, 5, 1))
    model = UserKNN("cos").fit(alone, geometry)
    lonely = model.predict_one("u0", "i5")
    assert (lonely.how, lonely.n_neighbors, lonely.neighbors) == ("no neighbor", 0, ())
    rows = [("a", "i0", 5), ("a", "i1", 2), ("b", "i0", 4), ("b", "i2", 1), ("c", "i1", 3), ("c", "i3", 5)]
    few = Ratings.from_arrays(*map(list, zip(*rows, strict=True)), scale=Scale(1, 5, 1))
    model = UserKNN("cos").fit(few, geometry)
    pairs = [(u, i) for u in "abc" for i in ids[: 6 if with_geometry else 4]]
    for p in model.predict(pairs):
        assert p.n_neighbors == len(p.neighbors) == sum(part.value != 0 for part in p.neighbors)
    assert model.predict_one("a", "i2").n_neighbors == (2 if with_geometry else 1)
    guest = model.for_ratings({"i0": 5})
    for p in guest.predict(ids[:4]):
        assert p.n_neighbors == len(p.neighbors) == sum(part.value != 0 for part in p.neighbors)


def test_neighbors_of_weight_0_are_not_listed():
    """The average: a value of 0 is a weight of 0, which the count leaves out, and so does the list."""
    ratings = Ratings.from_arrays(["a", "a", "b", "b", "c", "c"], list("xyxzxz"), [3, 4, 5, 2, 1, 4])
    zero = Measure.from_function("zero", lambda u, v: 0.0 if 1.0 in (u["x"], v["x"]) else 0.5, symmetric=True)
    model = UserKNN(zero, predictor="average").fit(ratings)
    p = model.predict_one("a", "z")
    assert (p.n_neighbors, [part.user for part in p.neighbors]) == (1, ["b"])
    assert [part.user for part in model.explain_recommendation("a", "z").neighbors] == ["b"]


def test_distances_that_were_not_computed_are_none_in_json(world):
    why = UserKNN().fit(*world).explain_recommendation("u00", "i03")
    assert np.isnan(why.neighbors[10].distance)
    whole = json.loads(json.dumps(why.to_dict(), allow_nan=False))["neighbors"]
    assert [part["distance"] is None for part in whole] == [False] * 10 + [True] * (len(whole) - 10)


def test_copies_of_models_with_measures_and_weights_of_ones_own(world):
    ratings, _ = world
    measure = Measure.from_matrix("mine", np.eye(ratings.n_users) / 2 + 0.5, ratings.users)
    for row in (MEASURES["cos"], measure):
        twin = clone(UserKNN(row, weight=weight("exponential(2)")))
        assert (twin.measure.name, str(twin.weight)) == (row.name, "exponential(2)")
    model = UserKNN(measure, predictor="average").fit(ratings)
    again = pickle.loads(pickle.dumps(model))
    assert again.predict(ratings).ratings.tolist() == model.predict(ratings).ratings.tolist()


def test_a_loaded_model_is_pickled_whole(world, tmp_path):
    model = UserKNN().fit(*world)
    model.save(tmp_path / "m")
    data = pickle.dumps(UserKNN.load(tmp_path / "m"))
    (tmp_path / "m").rename(tmp_path / "gone")
    assert pickle.loads(data).recommend("u00", 3)[0].rating == model.recommend("u00", 3)[0].rating


def test_singular_and_plural(world):
    ratings = Ratings.from_arrays(["ann", "ann", "bob"], ["x", "y", "x"], [5, 3, 4])
    model = UserKNN("jaccard", predictor="average", centering="mean").fit(ratings)
    assert repr(model.predict_one("bob", "y")).endswith("1 neighbor)")
    assert repr(model.predict_one("ann", "y")).endswith("no neighbor)")
    assert not unnamed(repr(model.predict([("bob", "y")])), "Predictions", 1)
    assert not unnamed(repr(model.for_ratings({"x": 5})), "Guest", "'you'", 1)
    why = UserKNN().fit(*world).explain_recommendation("u00", "i03")
    n = len(why.neighbors)
    assert [why._rows(n - k)[-2][0] for k in (1, 2)] == ["1 other", "2 others"]


def test_scikit_learn_conventions():
    model = UserKNN("jmsd", k=7, predictor="average")
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert twin is not model
    assert repr(model) == "UserKNN(measure='jmsd', k=7, predictor='average')"
    assert model.set_params(k=9).k == 9
    with pytest.raises(InputError, match=names("'kk'")):
        model.set_params(kk=1)
    assert UserKNN(k=-3).k == -3  # no work, and no complaint, before fit


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 0}, names("k", 0)),
        ({"k": 2.5}, names("k", 2.5)),
        ({"landmarks": True}, "landmarks"),
        ({"predictor": "magic"}, "predictor"),
        ({"neighborhood": "all"}, "neighborhood"),
        ({"predictor": "average", "centering": "median"}, "centering"),
        ({"shrinkage": -1}, "shrinkage"),
        ({"measure": "pdm"}, names("'pdm'", "'pmd'")),
        ({"convention": "mine"}, "convention"),
        ({"weight": "linear"}, "weight"),
        ({"shared": {"item": 1}}, "Shared"),
    ],
)
def test_bad_parameters(world, settings, message):
    with pytest.raises(InputError, match=message):
        UserKNN(**settings).fit(*world)


def test_bad_requests(world):
    ratings, geometry = world
    with pytest.raises(InputError, match=names("fit")):
        UserKNN().predict([("a", "b")])
    with pytest.raises(InputError, match=names("pmd")):
        UserKNN().fit(ratings)
    model = UserKNN().fit(ratings, geometry)
    with pytest.raises(InputError):
        model.predict([1, 2])
    with pytest.raises(InputError):
        model.predict(3.0)
    with pytest.raises(UnknownIdError, match=names("'u99'")):
        model.neighbors("u99")
    with pytest.raises(UnknownIdError):
        model.explain("u00", "u99")
    with pytest.raises(InputError, match=names("n", 0)):
        model.recommend("u00", 0)
    with pytest.raises(UnknownIdError, match="'i99'"):
        model.for_ratings({"i99": 3})
    with pytest.raises(InputError, match=names(1, 5)):
        model.for_ratings({"i01": 7})
    with pytest.raises(InputError):
        model.for_ratings({})
    with pytest.raises(InputError, match=names("name=")):
        model.for_ratings({"i01": 3}, name="u00")
    with pytest.raises(InputError, match=names("geometry")):
        UserKNN("jaccard").fit(ratings).explain("u00", "u01")


def test_pairs_in_any_form(world):
    ratings, geometry = world
    model = UserKNN.paper().fit(ratings, geometry)
    pairs = [("u01", "i02"), ("u05", "i07")]
    expected = model.predict(pairs).ratings.tolist()
    frame = pl.DataFrame(pairs, schema=["user", "item"], orient="row")
    assert model.predict(frame).ratings.tolist() == expected
    assert model.predict(np.array(pairs)).ratings.tolist() == expected
    assert len(model.predict(ratings)) == ratings.n_ratings
    assert model.predict(frame).to_frame().column_names[:3] == ["user", "item", "rating"]
    with pytest.raises(InputError, match=names("'item'")):
        model.predict(frame.rename({"item": "film"}))


def test_one_thread_is_many(world):
    ratings, geometry = world
    pairs = [(u, i) for u in ratings.users for i in ratings.items]
    for settings in ({}, {"predictor": "average"}):
        one, two = (
            UserKNN(**settings, n_jobs=n).fit(ratings, geometry).predict(pairs).ratings for n in (1, 2)
        )
        assert one.tolist() == two.tolist()


def test_integer_ids_and_users_without_ratings():
    ratings = Ratings.from_arrays([1, 1, 2, 2], [10, 20, 20, 30], [5, 3, 4, 2], scale=Scale(1, 5, 1))
    from scipy.sparse import csr_array

    matrix = csr_array(np.vstack([ratings.matrix.toarray(), np.zeros(3)]))
    ratings = Ratings.from_csr(matrix, users=[1, 2, 3], items=[10, 20, 30], scale=Scale(1, 5, 1))
    geometry = ItemGeometry.from_vectors([10, 20, 30], [[1, 0], [1, 1], [0, 1]])
    for model in (UserKNN(), UserKNN.paper()):
        model.fit(ratings, geometry)
        lonely = model.predict_one(3, 10)
        assert lonely.how == "no neighbor"
        assert 1 <= lonely.rating <= 5
        assert model.recommend(3, 3)
        assert model.neighbors(3) == []
        assert [type(p.item) for p in model.recommend(1, 1)] == [int]


def test_own_measure_saved_and_loaded(world, tmp_path):
    ratings, _ = world
    row = register(Measure.from_function("agree", lambda u, v: float(len(u.keys() & v.keys())) or None))
    try:
        model = UserKNN("agree", predictor="average").fit(ratings)
        model.save(tmp_path / "m")
        assert UserKNN.load(tmp_path / "m").neighbors("u00") == model.neighbors("u00")
    finally:
        del MEASURES[row.name]
    with pytest.raises(InputError):
        UserKNN.load(tmp_path / "m")
    own_weight = UserKNN("jaccard", weight=prefmover.measures.Weight("mine", lambda x: x + 1)).fit(ratings)
    with pytest.raises(InputError):
        own_weight.save(tmp_path / "n")


@pytest.mark.parametrize(
    ("users", "items", "values"),
    [(["a"], ["x"], [3]), (["a", "a"], ["x", "y"], [3, 5]), (["a", "b"], ["x", "x"], [4, 4])],
    ids=["one rating", "one user", "one item, one level"],
)
@pytest.mark.parametrize("settings", [{}, {"predictor": "average"}], ids=["kernel", "average"])
def test_tiny_worlds(users, items, values, settings):
    ratings = Ratings.from_arrays(users, items, values, scale=Scale(1, 5, 1))
    geometry = ItemGeometry.from_vectors(["x", "y", "z"], [[1, 0], [1, 1], [0, 1]])
    model = UserKNN(**settings).fit(ratings, geometry)
    for user in ("a", "nobody"):
        predicted = model.predict([(user, item) for item in ("x", "y", "z", "w")]).ratings
        assert np.isfinite(predicted).all()
        assert predicted.min() >= 1
        assert predicted.max() <= 5
    assert {p.item for p in model.recommend("a", 5)} == {"x", "y", "z"} - set(ratings["a"])
    guest = model.for_ratings({"y": 2})
    assert np.isfinite(guest.predict(["x", "z"]).ratings).all()


def test_added_ratings_are_on_the_scale(world):
    ratings, geometry = world
    more = Ratings.from_arrays(["new"], ["i01"], [9])
    with pytest.raises(InputError):
        UserKNN().fit(ratings, geometry).add_users(more)
    odd = Ratings.from_arrays(["new"], ["i99"], [3])
    with pytest.raises(InputError, match=names("'i99'")):
        UserKNN().fit(ratings, geometry).add_users(odd)
