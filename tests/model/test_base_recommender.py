"""The methods that both recommenders share: fits that are all or nothing, requests, guests, new users."""

import pickle

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from prefmover.data.ratings import Ratings
from prefmover.data.scale import Scale
from prefmover.data.splits import random_split
from prefmover.dataset import Dataset
from prefmover.errors import InputError, UnknownIdError
from prefmover.items.catalog import Catalog
from prefmover.items.geometry import ItemGeometry
from prefmover.measures import MEASURES, Measure, weight
from prefmover.model import KNNRecommender, Recommender
from prefmover.predict import RatingSettings
from tests.messages import names, unnamed
from tests.predict.conftest import make_data

BOTH = pytest.mark.parametrize("kind", [Recommender, KNNRecommender], ids=["kernel", "knn"])


@BOTH
def test_a_fit_that_fails_changes_nothing(data, kind, monkeypatch):
    model = kind().fit(data)
    before = model.recommend("u00", 3).to_dict()
    other = make_data(7, n_users=9, n_items=11)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(kind, "_fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(other)
    with pytest.raises(KeyboardInterrupt):
        kind().fit(other)
    monkeypatch.undo()
    assert model.data_.ratings is data.ratings
    assert model.recommend("u00", 3).to_dict() == before


def test_progress_of_a_fit_with_estimates():
    calls = []
    many = make_data(5, n_users=160, n_items=12)
    model = Recommender().fit(many, progress=lambda *call: calls.append(call))
    assert model.calibration_ is not None  # so many users are estimated
    assert {total for _, total in calls} == {100}
    done = [number for number, _ in calls]
    assert done == sorted(done)
    assert {0, 70, 73, 75, 95, 100} <= set(done)


@pytest.mark.parametrize("at", [0, 73, 95])
def test_a_fit_that_is_interrupted_by_its_progress_changes_nothing(data, at):
    model = Recommender().fit(data)
    before = model.recommend("u00", 3).to_dict()

    def stop(done, total):
        if done >= at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.fit(make_data(7, n_users=9, n_items=11), progress=stop)
    assert model.data_.ratings is data.ratings
    assert model.recommend("u00", 3).to_dict() == before


def test_ratings_are_no_list_of_users(data):
    model = KNNRecommender().fit(data)
    with pytest.raises(InputError, match="guest"):
        model.recommend({"u00": 5.0})  # an id of a user, so that it must not be taken for one


@BOTH
def test_changed_parameters_wait_for_the_next_fit(data, kind, tmp_path):
    model = kind().fit(data)
    before = model.predict(data.ratings).ratings.tolist()
    model.set_params(convention="b", measure="cos")
    assert model.predict(data.ratings).ratings.tolist() == before
    assert model.explain("u00", "u01").measure == "pmd"
    model.save(tmp_path / "m")
    again = kind.load(tmp_path / "m")
    assert (again.measure, again.convention) == ("pmd", None)
    assert again.predict(data.ratings).ratings.tolist() == before


@BOTH
def test_added_users_are_users(data, kind):
    first = data.with_ratings(data.ratings.take(users=np.arange(20)))
    last = data.ratings.take(users=np.arange(20, 24))
    grown = kind().fit(first).add_users(last)
    assert grown.add_users(last.take(users=[])).data_.n_users == grown.data_.n_users
    assert grown.data_.ratings.users.tolist() == data.ratings.users.tolist()
    whole = kind().fit(data)
    pairs = [(u, i) for u in data.ratings.users for i in data.ratings.items]
    a, b = grown.predict(pairs).ratings, whole.predict(pairs).ratings
    assert a == pytest.approx(b, abs=0.25 if kind is Recommender else 1e-9)
    assert np.abs(a - b).mean() < 0.02
    with pytest.raises(InputError, match=names("'u20'")):
        grown.add_users(last)


@pytest.mark.parametrize(
    ("user", "item", "rating", "error", "message"),
    [
        ("new", "i01", 9, InputError, names(9, 1, 5)),
        ("new", "i99", 3, UnknownIdError, names("'i99'")),
        (7, "i01", 3, InputError, "user ids"),
    ],
)
def test_bad_users_to_add(data, user, item, rating, error, message):
    model = Recommender().fit(data)
    with pytest.raises(error, match=message):
        model.add_users(Ratings.from_arrays([user], [item], [rating]))
    assert model.data_.ratings is data.ratings


def test_the_state_of_another_fit(data):
    model = Recommender().fit(data)
    guest = model.guest({"i01": 5})
    assert not unnamed(repr(guest), "'guest'", "1 rating")
    model.fit(data)
    with pytest.raises(InputError, match=names("'guest'")):
        model.recommend(guest)
    with pytest.raises(InputError, match=names("'guest'")):
        model.predict([("u00", "i01"), (guest, "i01")])


def test_guests_among_users(data):
    model = Recommender().fit(data)
    ann, bob = model.guest({"i01": 5}, name="ann"), model.guest({"i02": 1, "i07": 5}, name="bob")
    pairs = [(ann, "i04"), ("u03", "i04"), (bob, "i04"), (ann, "i09"), ("nobody", "i04")]
    together = model.predict(pairs)
    assert together.users == ["ann", "u03", "bob", "ann", "nobody"]
    alone = [model.predict_one(*pair) for pair in pairs]
    assert together.ratings == pytest.approx([p.rating for p in alone], abs=1e-6)
    assert [p.how for p in together] == [p.how for p in alone] == ["neighbors"] * 4 + ["unknown user"]


@BOTH
def test_a_guest_is_explained_as_the_user(data, kind):
    model = kind().fit(data)
    assert model.explain(model.guest(data.ratings["u03"]), "u05").value == model.explain("u03", "u05").value


def test_pairs_in_any_form(data):
    model = KNNRecommender.paper().fit(data)
    pairs = [("u01", "i02"), ("u05", "i07")]
    expected = model.predict(pairs).ratings.tolist()
    frame = pl.DataFrame(pairs, schema=["user", "item"], orient="row")
    assert model.predict(frame).ratings.tolist() == expected
    assert model.predict(np.array(pairs)).ratings.tolist() == expected
    assert len(model.predict(data.ratings)) == data.ratings.n_ratings
    split = random_split(data.ratings, 0.8)
    assert model.predict(split).ratings.tolist() == model.predict(split.test_pairs()).ratings.tolist()


def test_titles(data):
    item = next(i for i in data.ratings.items.tolist() if i not in data.ratings["u00"])
    films = Catalog([item], ["Alien"], [1979], [["Horror"]])
    model = Recommender().fit(Dataset(data.ratings, data.geometry, films))
    titles = {one.item: one.title for one in model.recommend("u00", 1000)}
    assert titles.pop(item) == "Alien (1979)"
    assert list(titles.keys()) == list(titles.values())
    assert "Alien (1979)" in str(model.explain_recommendation("u00", item))


@pytest.mark.parametrize(
    "model", [KNNRecommender("jmsd", k=7), Recommender("jmsd", landmarks=9)], ids=["knn", "kernel"]
)
def test_scikit_learn_conventions(model):
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert twin is not model
    assert repr(twin) == repr(model)
    assert model.set_params(measure="cos").measure == "cos"
    with pytest.raises(InputError, match=names("'kk'")):
        model.set_params(kk=1)


def test_copies_of_models_with_measures_and_weights_of_your_own(data):
    measure = Measure.from_matrix("mine", np.eye(data.n_users) / 2 + 0.5, data.ratings.users)
    for row in (MEASURES["cos"], measure):
        twin = clone(Recommender(row, rating=RatingSettings(weight("exponential(2)"))))
        assert (twin.measure.name, str(twin.rating.weight)) == (row.name, "exponential(2)")
    model = KNNRecommender(measure).fit(data)
    again = pickle.loads(pickle.dumps(model))
    assert again.predict(data.ratings).ratings.tolist() == model.predict(data.ratings).ratings.tolist()


def test_bad_requests(data):
    with pytest.raises(InputError, match=names("fit")):
        Recommender().predict([("a", "b")])
    with pytest.raises(InputError, match=names("Dataset", "Ratings")):
        Recommender().fit(data.ratings)
    with pytest.raises(InputError, match=names("'pmd'")):
        Recommender().fit(Dataset(data.ratings))
    model = Recommender().fit(data)
    for call, error, named in (
        (lambda: model.neighbors("u99"), UnknownIdError, "'u99'"),
        (lambda: model.explain("u00", "u99"), UnknownIdError, "'u99'"),
        (lambda: model.explain_recommendation("u99", "i01"), UnknownIdError, "'u99'"),
        (lambda: model.explain_recommendation("u00", "i99"), UnknownIdError, "'i99'"),
        (lambda: model.recommend("u00", items=["i99"]), UnknownIdError, "'i99'"),
        (lambda: model.recommend("u00", by="score"), InputError, "'score'"),
        (lambda: model.recommend("u00", 0), InputError, "n"),
        (lambda: model.recommend(), TypeError, "user"),
    ):
        with pytest.raises(error, match=names(named)):
            call()


@BOTH
def test_the_number_of_threads_does_not_matter(data, kind):
    pairs = [(u, i) for u in data.ratings.users for i in data.ratings.items]
    one, two = (kind(n_threads=n).fit(data).predict(pairs).ratings for n in (1, 2))
    assert one.tolist() == two.tolist()


def test_integer_ids_and_users_without_ratings():
    matrix = csr_array(np.array([[5.0, 3, 0], [0, 4, 2], [0, 0, 0]]))
    ratings = Ratings.from_csr(matrix, users=[1, 2, 3], items=[10, 20, 30], scale=Scale(1, 5, 1))
    data = Dataset(ratings, ItemGeometry.from_vectors([10, 20, 30], [[1, 0], [1, 1], [0, 1]]))
    for model in (Recommender().fit(data), KNNRecommender.paper().fit(data)):
        lonely = model.predict_one(3, 10)
        assert lonely.how == "no neighbor"
        assert 1 <= lonely.rating <= 5
        assert model.recommend(3, 3)
        assert len(model.neighbors(3)) == 0
        assert [type(one.item) for one in model.recommend(1, 1)] == [int]


@pytest.mark.parametrize(
    ("users", "items", "values"),
    [(["a"], ["x"], [3]), (["a", "a"], ["x", "y"], [3, 5]), (["a", "b"], ["x", "x"], [4, 4])],
    ids=["one rating", "one user", "one item, one level"],
)
@BOTH
def test_tiny_data(users, items, values, kind):
    ratings = Ratings.from_arrays(users, items, values, scale=Scale(1, 5, 1))
    geometry = ItemGeometry.from_vectors(["x", "y", "z"], [[1, 0], [1, 1], [0, 1]])
    model = kind().fit(Dataset(ratings, geometry))
    for user in ("a", "nobody", model.guest({"y": 2})):
        predicted = model.predict([(user, item) for item in ("x", "y", "z", "w")]).ratings
        assert np.isfinite(predicted).all()
        assert predicted.min() >= 1
        assert predicted.max() <= 5
    assert {one.item for one in model.recommend("a", 5)} == {"x", "y", "z"} - set(ratings["a"])


@BOTH
def test_users_that_a_matrix_lacks_are_not_added(data, kind):
    ratings = data.ratings
    friends = Measure.from_matrix("friends", np.eye(ratings.n_users), ratings.users)
    model = kind(friends).fit(data)
    with pytest.raises(InputError, match=names("'friends'", "'new'")):
        model.add_users(Ratings.from_arrays(["new"], ["i01"], [3]))
    assert model.data_.ratings is ratings
    assert len(model.recommend("u00", 3)) == 3
    with pytest.raises(InputError, match=names("dict")):
        model.add_users({"new": {"i01": 3}})


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Recommender(landmarks=True), "landmarks"),
        (Recommender(landmarks=0), names("landmarks", 0)),
        (Recommender(measure="pdm"), names("'pdm'", "'pmd'")),
        (Recommender(convention="mine"), "mine"),
        (Recommender(rating={"item": 1}), names("rating", "RatingSettings")),
        (Recommender(ranking="linear"), names("ranking", "'linear'", "RankingSettings")),
        (Recommender(seed=-1), names("seed", -1)),
        (Recommender(seed="a"), names("seed", "'a'")),
        (KNNRecommender(k=0), names("k", 0)),
        (KNNRecommender(k=2.5), names("k", 2.5)),
        (KNNRecommender(neighborhood="all"), "all"),
        (KNNRecommender(centering="median"), "median"),
        (KNNRecommender(shrinkage=-1), names("shrinkage", -1)),
        (KNNRecommender(shrinkage=float("nan")), names("shrinkage", "nan")),
        (KNNRecommender(shrinkage="a"), names("shrinkage", "'a'")),
    ],
    ids=repr,
)
def test_bad_parameters_are_named_by_fit(data, model, message):
    with pytest.raises(InputError, match=message):
        model.fit(data)


@pytest.mark.parametrize(
    ("kind", "other"),
    [
        (Recommender, ["k", "centering", "neighborhood", "shrinkage"]),
        (KNNRecommender, ["covariance", "landmarks", "seed"]),
    ],
)
def test_parameters_of_the_other_model_do_not_exist(kind, other):
    for name in other:
        with pytest.raises(TypeError, match=name):
            kind(**{name: 1})


@BOTH
@pytest.mark.parametrize("n", [None, "x", 2.0])
def test_numbers_of_results(data, kind, n):
    model = kind().fit(data)
    with pytest.raises(InputError, match=names("n", repr(n))):
        model.recommend("u00", n)
    with pytest.raises(InputError, match=names("k", repr(n))):
        model.neighbors("u00", n)


def test_ids_that_cannot_be_ids(data):
    model = Recommender().fit(data)
    with pytest.raises(UnknownIdError, match=names("u00", "strings")):
        model.predict([(["u00"], "i01")])
    for explain in (model.explain_recommendation, model.explain_rating):
        with pytest.raises(UnknownIdError, match=names("i01", "strings")):
            explain("u00", ["i01"])
