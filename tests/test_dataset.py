"""Dataset: one order of items in ratings, geometry and catalog; ids and titles become positions."""

import copy
import pickle

import numpy as np
import pytest

from prefmover import datasets, estimated_distances, nearest, pairwise, pmd
from prefmover.data.ratings import Ratings
from prefmover.data.splits import random_split
from prefmover.dataset import Dataset, geometry_follows_ratings, geometry_from_ratings
from prefmover.errors import InputError, MissingItemsWarning, UnknownIdError
from prefmover.items.catalog import Catalog
from prefmover.items.geometry import ItemGeometry
from prefmover.model import KNNRecommender, Recommender
from prefmover.search import NeighborIndex
from tests.messages import names


def ratings_of(items):
    return Ratings.from_arrays(["u"] * len(items), items, np.arange(1, len(items) + 1))


def test_rated_items_come_first_and_everything_is_in_their_order():
    geometry = ItemGeometry.from_vectors(["c", "x", "a", "b"], np.random.default_rng(0).random((4, 3)))
    catalog = Catalog(["x", "a"], ["X-Men", "Alien"], [2000, 1979], [["Action"], []])
    data = Dataset(ratings_of(["a", "b", "c"]), geometry, catalog)
    order = ["a", "b", "c", "x"]
    assert data.ratings.items.tolist() == data.geometry.items.tolist() == data.catalog.ids.tolist() == order
    assert (data.geometry.grid == geometry.grid[np.ix_([2, 3, 0, 1], [2, 3, 0, 1])]).all()
    assert data.catalog.labels == ["Alien (1979)", "b", "c", "X-Men (2000)"]
    assert data.catalog.genres == ((), (), (), ("Action",))
    assert data.ratings["u"] == {"a": 1, "b": 2, "c": 3}
    again = Dataset(data.ratings, data.geometry, data.catalog)
    assert (again.ratings, again.geometry, again.catalog) == (data.ratings, data.geometry, data.catalog)


def test_missing_items():
    geometry = ItemGeometry.from_vectors(["a", "c"], np.eye(2), name="tags")
    ratings = ratings_of(["a", "b", "c", "d"])
    named = (2, 4, "tags", "'b'", "'d'")
    with pytest.raises(InputError, match=names(*named, "missing", "drop")):
        Dataset(ratings, geometry)
    with pytest.warns(MissingItemsWarning, match=names(*named)):
        data = Dataset(ratings, geometry, missing="drop")
    assert data.ratings.items.tolist() == data.geometry.items.tolist() == ["a", "c"]
    assert data.ratings["u"] == {"a": 1, "c": 3}
    with pytest.raises(InputError, match=names("missing", "'ignore'")):
        Dataset(ratings, geometry, missing="ignore")
    many = ratings_of([f"film {k}" for k in range(1500)] + ["a"])
    with pytest.warns(MissingItemsWarning, match=names("1,500", "1,501", "'film 0'")):
        Dataset(many, geometry, missing="drop")


@pytest.mark.parametrize("missing", ["error", "drop"])
@pytest.mark.parametrize("items", [[1, 2], ["x"]])
def test_no_item_in_common_with_the_geometry(items, missing):
    geometry = ItemGeometry.from_vectors(["1", "2"], np.eye(2))
    with pytest.raises(InputError):
        Dataset(ratings_of(items), geometry, missing=missing)


def test_positions_of_ids_texts_and_titles():
    ratings = Ratings.from_arrays([7, 8], [10, 20], [5, 3])
    data = Dataset(ratings, items=Catalog([10, 20], ["Alien", "Aliens"], [1979, 1986], [[], []]))
    assert data.user_position(8) == data.user_position("8") == 1
    assert data.item_position(20) == data.item_position("20") == data.item_position("aliens") == 1
    assert data.item_position("Alien") == 0
    with pytest.raises(UnknownIdError, match=names(9)):
        data.user_position("9")
    with pytest.raises(UnknownIdError, match=names("ann")):
        data.user_position("ann")
    with pytest.raises(InputError, match=names("'Alein'", "'Alien'")):
        data.item_position("Alein")
    with pytest.raises(UnknownIdError, match=names(30)):
        data.item_position(30)


def test_a_geometry_from_ratings_is_made_on_demand_and_again_for_other_ratings():
    calls = []

    def geometry(ratings):
        calls.append(ratings)
        return ItemGeometry.from_vectors(["b", "a"], np.eye(2))

    ratings = Ratings.from_arrays(["u", "u", "v", "v"], ["a", "b", "a", "b"], [1, 2, 3, 4])
    data = Dataset(ratings, geometry)
    assert not calls
    assert data.geometry.items.tolist() == ["a", "b"]
    train = data.with_ratings(random_split(ratings, 0.5).train)
    assert train.require_geometry("a test").items.tolist() == ["a", "b"]
    assert [r.n_ratings for r in calls] == [4, 2]


def test_some_items_have_a_geometry_that_does_not_know_other_ratings():
    """Also if a caller's function makes it: ratings that are held out must not be in it."""
    calls = []

    def geometry(ratings):
        calls.append(ratings.n_ratings)
        return ItemGeometry.from_vectors(["b", "a", "c"], np.eye(3))

    ratings = Ratings.from_arrays([*"uuvvw"], [*"ababc"], [1, 2, 3, 4, 5])
    some = Dataset(ratings, geometry).take_items(np.array([0, 1]))
    train = some.with_ratings(random_split(some.ratings, 0.5).train)
    assert train.require_geometry("a test").items.tolist() == ["a", "b"]
    assert calls == [2]
    fixed = Dataset(ratings, ItemGeometry.from_vectors(["b", "a", "c"], np.eye(3)))
    assert fixed.take_items(np.array([0, 2])).require_geometry("a test").items.tolist() == ["a", "c"]


def test_without_geometry_or_folds():
    data = Dataset(ratings_of(["a"]), name="mine")
    assert data.geometry is None
    with pytest.raises(InputError, match=names("PMD")):
        data.require_geometry("PMD")
    with pytest.raises(InputError, match=names("mine")):
        data.folds()
    with pytest.raises(InputError, match=names("list")):
        Dataset([1, 2])


def test_other_distances():
    data = Dataset(ratings_of(["a", "b"]), name="mine")
    geometry = ItemGeometry.from_vectors(["b", "a"], np.eye(2))
    other = data.with_geometry(geometry)
    assert other.geometry.items.tolist() == data.ratings.items.tolist()
    assert (other.name, geometry_follows_ratings(other)) == ("mine", False)
    assert geometry_follows_ratings(data.with_geometry(geometry_from_ratings))


def test_pickle_and_copy():
    """The built-in data make their geometry in a function, which cannot be pickled."""
    data = datasets.load("cinema")
    for twin in (pickle.loads(pickle.dumps(data)), copy.deepcopy(data)):
        assert twin.ratings.digest() == data.ratings.digest()
        assert twin.geometry.digest() == data.geometry.digest()


def test_titles_of_other_items():
    geometry = ItemGeometry.from_vectors(["a", "x"], np.eye(2))
    for known in (None, geometry):
        with pytest.raises(InputError, match=names(7, "'a'")):
            Dataset(ratings_of(["a"]), known, {7: "Alien"})
    assert Dataset(ratings_of(["a"]), geometry, {"x": "X-Men"}).catalog.labels == ["a", "X-Men"]


def test_what_is_not_a_geometry():
    with pytest.raises(InputError, match=names("str", "ItemGeometry")):
        Dataset(ratings_of(["a"]), "geometry")
    with pytest.raises(InputError, match=names("list", "ItemGeometry")):
        _ = Dataset(ratings_of(["a"]), lambda _: [1]).geometry


def test_a_geometry_without_some_items_that_nobody_rated():
    data = Dataset(ratings_of(["a", "b"]), items={"a": "Alien", "x": "X-Men"})
    other = data.with_geometry(ItemGeometry.from_vectors(["b", "a", "c"], np.eye(3)))
    assert other.ratings.items.tolist() == other.geometry.items.tolist() == ["a", "b", "c"]
    assert other.catalog.labels == ["Alien", "b", "c"]


def test_a_geometry_is_not_made_for_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(ItemGeometry, "from_ratings", lambda _: pytest.fail("not needed"))
    data = Dataset(Ratings.from_arrays([1, 1, 2, 2], [10, 20, 20, 30], [5, 3, 4, 1]), geometry_from_ratings)
    assert geometry_follows_ratings(pickle.loads(pickle.dumps(data)))
    model = KNNRecommender("jaccard").fit(data)
    guest = model.guest({10: 4})
    model.recommend(guest)
    model.explain(guest, 1)
    model.similarity_.exact_values(guest.guest, np.arange(2))
    model.save(tmp_path / "model")
    assert KNNRecommender.load(tmp_path / "model").data_.geometry is None


@pytest.mark.parametrize(
    "call",
    [nearest, pairwise, estimated_distances, NeighborIndex, lambda data: pmd(data, 1, 2), Recommender().fit],
    ids=["nearest", "pairwise", "estimates", "index", "pmd", "fit"],
)
def test_functions_take_a_dataset(call):
    with pytest.raises(InputError, match=names("Dataset", "Ratings")):
        call(ratings_of(["a"]))


def test_nouns_stay_with_the_data(tmp_path):
    ratings = Ratings.from_arrays(["ann", "ann", "bob"], ["x", "y", "y"], [5, 4, 3])
    data = Dataset(ratings, user_noun="listener", item_noun="song")
    same = [data, data.with_ratings(ratings.take(users=[0])), data.with_geometry(None)]
    assert {(one.user_noun, one.item_noun) for one in same} == {("listener", "song")}
    plain = Dataset(ratings)
    assert (plain.user_noun, plain.item_noun) == ("user", "item")
    file = tmp_path / "plays.csv"
    file.write_text("user,item,rating\nann,x,5\nbob,x,4\n")
    assert Dataset.from_files(file, item_noun="song").item_noun == "song"


@pytest.mark.parametrize("noun", ["", " ", "two\nlines", None, 7])
def test_nouns_are_words(noun):
    with pytest.raises(InputError, match="item_noun"):
        Dataset(Ratings.from_arrays(["ann"], ["x"], [5]), item_noun=noun)


def test_one_file_of_items_needs_no_list(tmp_path):
    ratings, items = tmp_path / "stars.csv", tmp_path / "books.csv"
    ratings.write_text("user,item,rating\nann,x,4\nann,y,5\nbob,y,2\n")
    items.write_text("item,tags\nx,a|b\ny,b\n")
    listed = Dataset.from_files(ratings, [items]).geometry.digest()
    for one in (items, str(items)):
        assert Dataset.from_files(ratings, one).geometry.digest() == listed
    for wrong in (3, [3], {items: 1}):
        with pytest.raises(InputError, match="items"):
            Dataset.from_files(ratings, wrong)
