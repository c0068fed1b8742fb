"""The default model of a data set is fitted once."""

import numpy as np
import pytest

from prefmover import datasets
from prefmover.execution.jit import kernel_folder
from prefmover.model import storage
from tests.server.conftest import with_title


@pytest.fixture
def few(monkeypatch, tmp_path):
    """A small data set, and an empty cache folder."""
    kernel_folder()  # it stays where it is
    monkeypatch.setenv("PREFMOVER_CACHE", str(tmp_path))
    cinema = datasets.load("cinema")
    return cinema.with_ratings(cinema.ratings.take(users=np.arange(0, 800, 40)))


def test_a_data_set_is_fitted_once(few):
    assert storage.stored(few) is None
    first = storage.fit_and_store(few)
    second = storage.stored(few)
    assert second.data_.catalog.labels == few.catalog.labels
    assert second.data_.name == "cinema"
    user = few.ratings.users[0]
    assert first.recommend(user, 3)[0].rating == second.recommend(user, 3)[0].rating


def test_other_titles_are_another_model(few):
    retitled = with_title(few, "alien-1979", "Another title")
    assert storage.stored_folder(few) != storage.stored_folder(retitled)


def test_a_cache_that_cannot_be_written_does_not_matter(few, tmp_path):
    (tmp_path / "models").write_text("a file in place of the folder")
    assert storage.stored(few) is None
    assert storage.fit_and_store(few).data_.catalog.labels == few.catalog.labels
