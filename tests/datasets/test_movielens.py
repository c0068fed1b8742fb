"""Every layout of MovieLens, from a folder and from a zip archive; the real files where they are."""

import numpy as np
import pytest

from prefmover import datasets
from prefmover.datasets import SOURCES, by_name, movielens
from prefmover.errors import InputError
from tests.messages import names

NAMES = ["ml-100k", "ml-1m", "ml-10m", "ml-20m", "ml-25m", "ml-32m", "ml-latest-small"]
PUBLISHED = dict(SOURCES)  # before the tests forget counts and hashes
STARS = {"ml-100k": 5.0, "ml-1m": 4.0, "ml-10m": 4.5}


@pytest.mark.parametrize("packed", [False, True], ids=["folder", "zip"])
@pytest.mark.parametrize("name", NAMES)
def test_every_data_set_is_read(made_up, name, packed):
    path = (
        made_up.zip(name, inner="ml-10M100K" if name == "ml-10m" else None) if packed else made_up.write(name)
    )
    data = by_name.read(SOURCES[name], made_up.files(name, path))
    assert data.name == name
    assert (data.ratings.n_ratings, data.ratings.n_users, data.ratings.n_items) == (7, 3, 4)
    assert data.ratings[1][10] == STARS.get(name, 4.5)
    assert (data.ratings.scale.lowest, data.ratings.scale.step) == ((0.5, 0.5), (1, 1))[
        name in ("ml-100k", "ml-1m")
    ]
    assert data.catalog.label(data.catalog.position(10)) == "Café Noir, Le (1950)"
    assert data.catalog.label(data.catalog.position(20)) == 'Robots, Love & "Quotes" (1984)'
    assert data.catalog.genres[0] == ("Drama", "Film-Noir")
    assert data.catalog.genres[3] == ()
    assert data.catalog.years.tolist() == [1950, 1984, 1949, 0]
    assert "redistribution" in data.terms
    assert "Harper" in data.citation


def test_tags_are_counted_without_case(made_up):
    for name in ("ml-10m", "ml-25m"):
        made_up.write(name)
        tags = movielens.read_user_tags(made_up.files(name), SOURCES[name])
        assert list(zip(tags.items, tags.tags, tags.counts, strict=True)) == [
            (10, "dark", 2),
            (20, "robots", 1),
            (30, "dark", 1),
            (30, "vienna, at night", 1),
        ]
    made_up.write("ml-1m")
    assert movielens.read_user_tags(made_up.files("ml-1m"), SOURCES["ml-1m"]) is None


def test_the_publishers_folds(made_up):
    made_up.write("ml-100k")
    data = by_name.read(SOURCES["ml-100k"], made_up.files("ml-100k"))
    folds = data.folds()
    assert len(folds) == 5
    assert (folds[1].train.n_ratings, folds[1].n_test) == (6, 1)
    assert folds[1].test_pairs() == [(2, 10)]
    made_up.write("ml-1m")
    with pytest.raises(InputError):
        by_name.read(SOURCES["ml-1m"], made_up.files("ml-1m")).folds()


def test_a_converted_file_is_not_garbled(made_up):
    # movies.dat of ml-1m is Latin-1; somebody saved it as UTF-8
    home = made_up.write("ml-1m")
    text = (home / "movies.dat").read_bytes().decode("latin-1")
    (home / "movies.dat").write_bytes(text.encode("utf-8"))
    assert movielens.read_items(made_up.files("ml-1m"), SOURCES["ml-1m"]).titles[0] == "Café Noir, Le"


def test_load_looks_in_prefmover_data_first(made_up, own_folders, monkeypatch):
    made_up.folder = own_folders / "data"
    made_up.write("ml-1m")
    assert datasets.load("ML-1M").ratings.n_ratings == 7
    made_up.folder = own_folders / "first"
    home = made_up.write("ml-1m")
    (home / "ratings.dat").write_text("1::10::5::0\n")
    monkeypatch.setenv("PREFMOVER_DATA", str(own_folders / "first"))
    assert datasets.load("ml-1m").ratings.n_ratings == 1


def test_a_data_folder_that_does_not_exist(monkeypatch, tmp_path):
    monkeypatch.setenv("PREFMOVER_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match=names("PREFMOVER_DATA", "nowhere")):
        datasets.load("ml-1m")


def test_another_size_than_published_is_refused(made_up, own_folders, monkeypatch):
    made_up.folder = own_folders / "data"
    made_up.write("ml-1m")
    monkeypatch.setitem(SOURCES, "ml-1m", PUBLISHED["ml-1m"])
    with pytest.raises(InputError, match=names(7, 3, "1,000,209", "6,040", "3,706")):
        datasets.load("ml-1m")


def test_tags_and_genome_alone_are_no_data_set(made_up):
    made_up.genome(made_up.folder / "tag-genome", "dat")
    with pytest.raises(InputError):
        by_name.read(SOURCES["tag-genome"], made_up.files("tag-genome"))


def test_built_in_data_sets():
    assert datasets.load("Cinema").name == "cinema"
    assert datasets.load("synthetic").ratings.n_users > 0
    assert datasets.synthetic(30, 40, ratings=(5, 5)).ratings.n_users == 30


def test_the_registry_has_hashes_and_only_https():
    for known in SOURCES.values():
        assert known.url == "" or known.url.startswith("https://")
        algorithm, _, digits = known.digest.partition(":")
        assert len(digits) == {"": 0, "md5": 32, "sha256": 64}[algorithm]
    without = [name for name, known in SOURCES.items() if known.url and not known.digest]
    assert without == ["ml-latest-small", "tag-genome", "goodbooks", "movietweetings"]


@pytest.mark.real_data
def test_ml_100k_as_published(real_data):
    data = datasets.load("ml-100k")
    r = data.ratings
    assert (r.n_ratings, r.n_users, r.n_items, len(data.catalog)) == (100_000, 943, 1_682, 1_682)
    assert r[196][242] == 3  # the first line of u.data
    assert r[186][302] == 3
    assert data.catalog.label(data.catalog.position(1)) == "Toy Story (1995)"
    assert data.catalog.genres[0] == ("Animation", "Children's", "Comedy")
    assert "Misérables, Les" in data.catalog.titles
    assert [(fold.train.n_ratings, fold.n_test) for fold in data.folds()] == [(80_000, 20_000)] * 5


@pytest.mark.real_data
def test_ml_1m_as_published(real_data):
    data = datasets.load("ml-1m")
    r = data.ratings
    assert (r.n_ratings, r.n_users, r.n_items, len(data.catalog)) == (1_000_209, 6_040, 3_883, 3_883)
    assert len(np.unique(r.matrix.indices)) == 3_706  # items with ratings come first
    assert r.matrix.indices.max() == 3_705
    assert r[1][1193] == 5  # the first line of ratings.dat
    assert r[6040][1097] == 4  # the last
    assert np.isclose(r.matrix.data.mean(), 3.5816, atol=1e-4)
    assert data.catalog.label(data.catalog.position(1193)) == "One Flew Over the Cuckoo's Nest (1975)"
    assert np.isin(r.items, data.catalog.ids).all()


def test_load_takes_a_name_or_a_file(tmp_path, own_folders):
    path = tmp_path / "stars.csv"
    path.write_text("user,item,rating\nann,x,5\nbob,y,3\n")
    assert datasets.load(path).name == datasets.load(str(path)).name == "stars.csv"
    with pytest.raises(InputError, match=names("'ml1m'", "'ml-1m'", "cinema")):
        datasets.load("ml1m")
    with pytest.raises(InputError, match=names("movie-tags")):
        datasets.load("movie-tags")
    with pytest.raises(InputError, match=names("ml-25m", "data get ml-25m", "data add ml-25m --from")):
        datasets.load("ml-25m")
