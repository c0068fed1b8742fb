"""A model is fitted once for the same data and parameters, and the oldest leave."""

import os

import numpy as np
import pytest

from prefmover import Dataset, KNNRecommender, Recommender, datasets
from prefmover.dataset import geometry_from_ratings
from prefmover.execution.jit import kernel_folder
from prefmover.model import cache
from tests.model.conftest import with_title


@pytest.fixture
def few(monkeypatch, tmp_path):
    """A small data set, and an empty cache folder."""
    kernel_folder()  # it stays where it is
    monkeypatch.setenv("PREFMOVER_CACHE", str(tmp_path))
    cinema = datasets.load("cinema")
    return cinema.with_ratings(cinema.ratings.take(users=np.arange(0, 800, 40)))


def fits(monkeypatch):
    """Return a list that grows with each fit."""
    made, fit = [], Recommender.fit
    monkeypatch.setattr(Recommender, "fit", lambda self, *a, **b: made.append(self) or fit(self, *a, **b))
    return made


def test_a_model_is_fitted_once(few, monkeypatch):
    made = fits(monkeypatch)
    assert cache.find(Recommender(), few) is None
    first = cache.fit_once(Recommender(), few)
    second = cache.fit_once(Recommender(), few, n_threads=1)
    assert len(made) == 1
    assert second.n_threads == 1
    assert second.data_.catalog.labels == few.catalog.labels
    assert second.data_.name == "cinema"
    user = few.ratings.users[0]
    assert first.recommend(user, 3).to_dict() == second.recommend(user, 3).to_dict()
    cache.fit_once(Recommender(), few, refit=True)
    assert len(made) == 2


def test_threads_are_no_property_of_a_model(few):
    assert cache.folder_of(Recommender(), few) == cache.folder_of(Recommender(n_threads=2), few)


def test_what_decides_a_model_is_part_of_its_name(few):
    retitled = with_title(few, "alien-1979", "Another title")
    less = few.with_ratings(few.ratings.take(users=np.arange(10)))
    nearer = few.with_geometry(geometry_from_ratings(few.ratings))
    pairs = [(Recommender(), data) for data in (few, retitled, less, nearer)]
    pairs += [(Recommender(seed=1), few), (KNNRecommender(), few), (KNNRecommender(k=10), few)]
    assert len({cache.folder_of(*pair) for pair in pairs}) == len(pairs)


def test_distances_from_ratings_are_not_made_to_find_a_model(few):
    data = Dataset(few.ratings, geometry_from_ratings)
    cache.folder_of(Recommender(), data)
    assert "geometry" not in vars(data)


def test_the_models_that_were_not_used_for_longest_leave(few, monkeypatch):
    models = [KNNRecommender(k=k) for k in (5, 6, 7)]
    homes = [cache.folder_of(model, few) for model in models]
    for age, model in zip((300, 200, 100), models, strict=True):
        cache.fit_once(model, few)
        home = cache.folder_of(model, few)
        os.utime(home, (home.stat().st_mtime - age,) * 2)
    assert cache.find(models[0], few) is not None  # now it was used
    size = sum(file.stat().st_size for file in homes[0].iterdir())
    monkeypatch.setattr(cache, "MOST_BYTES", int(2.5 * size))
    other = homes[0].parent / "of-somebody-else"
    other.mkdir()
    last = KNNRecommender(k=8)
    cache.fit_once(last, few)
    assert {one.name for one in other.parent.iterdir()} == {
        other.name, homes[0].name, cache.folder_of(last, few).name
    }  # fmt: skip
    monkeypatch.setattr(cache, "MOST_BYTES", 0)
    cache.fit_once(models[1], few)
    assert [cache.find(one, few) is None for one in (*models, last)] == [True, False, True, True]


def test_a_cache_that_cannot_be_written_does_not_matter(few, tmp_path):
    (tmp_path / "models").write_text("a file in place of the folder")
    assert cache.find(Recommender(), few) is None
    assert cache.fit_once(Recommender(), few).data_.catalog.labels == few.catalog.labels
