"""New ratings and new items without refitting."""

import numpy as np
import pytest

from prefmover.data.ratings import Ratings
from prefmover.dataset import Dataset
from prefmover.errors import InputError, UnknownIdError
from prefmover.items.geometry import ItemGeometry
from prefmover.measures import Measure
from prefmover.model import KNNRecommender, Recommender, storage
from prefmover.rank import RankingSettings
from tests.messages import names

BOTH = pytest.mark.parametrize("kind", [Recommender, KNNRecommender], ids=["kernel", "knn"])
NEW = {"i01": 5.0, "i02": 1.0, "i05": 4.0}


def predicted(model, user, data):
    return model.predict([(user, item) for item in data.ratings.items.tolist()]).ratings


def ranked(model, user):
    best = model.recommend(user, 6)
    return [one.item for one in best], [one.score for one in best]


@BOTH
def test_a_new_user_is_what_a_guest_was(data, kind):
    model = kind().fit(data)
    guest = model.guest(NEW)
    before, items, scores = predicted(model, guest, data), *ranked(model, guest)
    assert model.update("new", NEW) is model
    # The biases of a neighbor average follow all ratings; the kernel model leaves them as they are.
    assert predicted(model, "new", data) == pytest.approx(before, abs=1e-5 if kind is Recommender else 0.05)
    assert ranked(model, "new")[0] == items
    assert ranked(model, "new")[1] == pytest.approx(scores, abs=1e-5)
    assert model.data_.ratings["new"] == NEW


@BOTH
def test_a_known_user_is_as_a_guest_of_a_model_without_the_user(data, kind):
    # Taste factors of few users depend on each of them.
    settings = {"ranking": RankingSettings(factors=0.0)} if kind is Recommender else {}
    others = data.with_ratings(data.ratings.take(users=np.arange(1, data.n_users)))
    without = kind(**settings).fit(others)
    guest = without.guest({**data.ratings["u00"], **NEW}, name="u00")
    model = kind(**settings).fit(data).update("u00", NEW)
    assert predicted(model, "u00", data) == pytest.approx(predicted(without, guest, data), abs=0.15)
    a, b = (dict(zip(*ranked(one, user), strict=True)) for one, user in ((model, "u00"), (without, guest)))
    assert len(a.keys() & b.keys()) >= 5
    assert [a[item] for item in a.keys() & b.keys()] == pytest.approx(
        [b[item] for item in a.keys() & b.keys()], abs=0.05
    )
    assert model.data_.ratings["u00"] == {**data.ratings["u00"], **NEW}
    assert not {one.item for one in model.recommend("u00")} & NEW.keys()


def test_the_equations_of_a_changed_user_hold(data):
    """Of the changed user, what a rating is above its prediction is its coefficient; others stay."""
    model = Recommender().fit(data)
    before = model.predictor_
    after = model.update("u03", NEW).predictor_
    user = model.data_.ratings.user_position("u03")
    items, values = model.data_.ratings.row(user)
    scores = model.predictor_.predict(np.full(len(items), user), items).values
    assert values - scores == pytest.approx(after.coefficients(user).alpha, abs=1e-5)
    others = [u for u in range(data.n_users) if u != user]
    for u in others:
        assert after.coefficients(u).alpha.tolist() == before.coefficients(u).alpha.tolist()
    # The sums by item are those of the new coefficients.
    coefficients = after.ratings.matrix.copy()
    coefficients.data = after.solved.alpha.copy()
    near = np.exp(-after.settings.item_rate * data.geometry.block())
    weights = after.settings.neighbors * np.eye(data.n_items) + after.settings.shared_taste * near
    expected = weights @ (coefficients.T @ after.kernel.features)
    assert after.solved.item_factors == pytest.approx(expected, abs=1e-4)


@BOTH
def test_an_update_is_nearly_a_fit(data, kind):
    settings = {"ranking": RankingSettings()} if kind is Recommender else {}
    model = kind(**settings).fit(data).update("u07", NEW)
    again = kind(**settings).fit(model.data_)
    pairs = [(u, i) for u in data.ratings.users for i in data.ratings.items]
    a, b = model.predict(pairs).ratings, again.predict(pairs).ratings
    assert np.abs(a - b).mean() < (0.1 if kind is Recommender else 1e-9)


@BOTH
def test_landmarks_keep_their_places(data, kind):
    model = kind().fit(data)
    item = next(iter(data.ratings["u00"]))
    rating = data.ratings["u00"][item]
    guest = ranked(model, model.guest(NEW))
    for value in (5, 1, 3, rating):
        model.update("u00", {item: value})
    assert model.data_.ratings["u00"] == data.ratings["u00"]
    again = ranked(model, model.guest(NEW))
    assert again[0] == guest[0]
    assert again[1] == pytest.approx(guest[1], abs=1e-4)


@BOTH
def test_updated_models_are_saved(data, kind, tmp_path):
    model = kind().fit(data).update("u00", NEW).update("new", NEW)
    model.save(tmp_path / "m")
    again = storage.load(tmp_path / "m")
    for user in ("u00", "u05", "new"):
        assert again.recommend(user).to_dict() == model.recommend(user).to_dict()
        assert predicted(again, user, data).tolist() == predicted(model, user, data).tolist()
    guests = [one.recommend(one.guest(NEW)).to_dict() for one in (again, model)]
    assert guests[0] == guests[1]
    more = [ranked(one.update("u00", {"i09": 2}), "u00") for one in (again, model)]
    assert more[0] == more[1]


def test_counts_of_implicit_feedback(data):
    users = ["ann", "ann", "bob", "bob", "cid"]
    plays = Ratings.from_arrays(users, list("xyxzz"), [1, 9, 4, 2, 7], feedback="implicit")
    geometry = ItemGeometry.from_vectors(list("xyz"), [[1, 0], [1, 1], [0, 1]])
    model = Recommender().fit(Dataset(plays, geometry)).update("ann", {"y": 1023}).update("dan", {"x": 3})
    assert model.data_.ratings["ann"] == {"x": 1.0, "y": 10.0}
    assert model.data_.ratings["dan"] == {"x": 2.0}
    assert model.data_.ratings.scale.highest == 10
    assert {one.item for one in model.recommend("dan")} == {"y", "z"}


@BOTH
@pytest.mark.parametrize(
    ("user", "ratings", "error", "message"),
    [
        ("u00", {"i01": 9}, InputError, names("'i01'", 9, 1, 5)),
        ("u00", {"i99": 3}, UnknownIdError, names("'i99'")),
        ("u00", {}, InputError, names("'u00'")),
        ("u00", [("i01", 3)], InputError, names("list")),
        ("u00", {"i01": "much"}, InputError, names("'much'")),
        (7, {"i01": 3}, InputError, names(7)),
        (None, {"i01": 3}, InputError, "user"),
    ],
)
def test_bad_updates_change_nothing(data, kind, user, ratings, error, message):
    model = kind().fit(data)
    parts = model.predictor_, model.ranker_
    with pytest.raises(error, match=message):
        model.update(user, ratings)
    assert model.data_.ratings is data.ratings
    assert (model.predictor_, model.ranker_) == parts


@BOTH
def test_an_update_that_fails_changes_nothing(data, kind, monkeypatch):
    model = kind().fit(data)
    parts = model.data_, model.predictor_, model.ranker_

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(model.ranker_), "with_data", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.update("u00", NEW)
    assert (model.data_, model.predictor_, model.ranker_) == parts


def test_ratings_do_not_change_a_matrix(data):
    friends = Measure.from_matrix("friends", np.eye(data.n_users), data.ratings.users)
    model = KNNRecommender(friends).fit(data).update("u00", NEW)
    assert model.data_.ratings["u00"]["i01"] == 5


@BOTH
def test_new_items_are_those_of_a_fit_with_them(data, kind, tmp_path):
    vectors = np.random.default_rng(4).random((3, data.geometry.vectors.shape[1]))
    ids = [*data.ratings.items.tolist(), "n1", "n2", "n3"]
    together = ItemGeometry.from_vectors(ids, np.concatenate([data.geometry.vectors, vectors]))
    settings = {"ranking": RankingSettings()} if kind is Recommender else {}
    whole = kind(**settings).fit(Dataset(data.ratings, together))
    alone = ItemGeometry.from_vectors(ids[-3:], vectors)
    pairs = [(u, i) for u in data.ratings.users for i in ids]
    for geometry in (alone, together):
        model = kind(**settings).fit(data).add_items(geometry, {"n1": "Alien", "n3": "Heat"})
        assert model.data_.ratings.items.tolist() == ids
        assert model.predict(pairs).ratings == pytest.approx(whole.predict(pairs).ratings, abs=1e-5)
        a, b = ({one.item: one.score for one in m.recommend("u00", 50)} for m in (model, whole))
        assert a == pytest.approx(b, abs=1e-5)
        assert a.keys() >= {"n1", "n2", "n3"}
        titles = {one.item: one.title for one in model.recommend("u00", 50)}
        assert (titles["n1"], titles["n2"]) == ("Alien", "n2")
    model.save(tmp_path / "m")
    assert storage.load(tmp_path / "m").recommend("u00", 50).to_dict() == model.recommend("u00", 50).to_dict()


@BOTH
def test_a_new_item_is_rated_later(data, kind):
    near_i01 = data.geometry.vectors[1] + 0.01
    model = kind().fit(data).add_items(ItemGeometry.from_vectors(["new"], [near_i01]))
    before = {one.item: one.score for one in model.recommend("u00", 50, seen=True)}
    model.update("u05", {"new": 5}).update("u06", {"new": 5})
    after = {one.item: one.score for one in model.recommend("u00", 50, seen=True)}
    assert after["new"] >= before["new"] > 0
    assert model.recommend("u00", 50)[0].n_ratings >= 0
    assert model.data_.ratings["u05"]["new"] == 5


def test_items_that_cannot_be_added(data):
    model = Recommender().fit(data)
    before = model.data_
    with pytest.raises(InputError, match=names("dict")):
        model.add_items({"n1": [1, 0]})
    with pytest.raises(InputError, match="nothing to add"):
        model.add_items(data.geometry)
    with pytest.raises(InputError, match=names(18)):
        model.add_items(ItemGeometry.from_vectors(["n1"], [[1.0]]))
    with pytest.raises(InputError, match="type"):
        model.add_items(ItemGeometry.from_vectors([7], [[1.0]]))
    vectors = np.ones((1, data.geometry.vectors.shape[1]))
    with pytest.raises(InputError, match=names("'zzz'", "'n1'")):
        model.add_items(ItemGeometry.from_vectors(["n1"], vectors), {"zzz": "Alien"})
    assert model.data_ is before


def test_lists_of_a_neighbor_average_survive_saving_after_an_update(data, tmp_path):
    more = data.with_new_items(ItemGeometry.from_vectors(["new"], [[1.0, 2.0, 0.5, 0.1]]))
    model = KNNRecommender().fit(more)
    model.update("u00", {"new": 5})
    model.save(tmp_path / "model")
    again = KNNRecommender.load(tmp_path / "model")
    for user in ("u01", "u02", "u03"):
        assert ranked(again, user) == ranked(model, user)


def test_new_items_keep_the_nouns(data):
    named = Dataset(data.ratings, data.geometry, user_noun="reader", item_noun="book")
    more = named.with_new_items(ItemGeometry.from_vectors(["new"], [[1.0, 2.0, 0.5, 0.1]]))
    assert (more.user_noun, more.item_noun) == ("reader", "book")
