"""Which geometry a data set gets, and what its name says."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from prefmover import Ratings, datasets
from prefmover.datasets import SOURCES, folders
from prefmover.datasets.movielens import movielens_ids, read_items, read_movie_tags
from prefmover.datasets.reading import assemble
from prefmover.datasets.tag_genome import FILES, read_genome
from prefmover.items.catalog import Catalog
from prefmover.items.geometry import ItemGeometry
from prefmover.items.tag_profiles import tag_profiles


@pytest.fixture
def installed(made_up, own_folders):
    made_up.folder = own_folders / "data"
    return made_up


def movie_tags(made_up) -> None:
    """The same tags, which twenty movies and more share, as a table of ``movie-tags``."""
    home = made_up.folder / "movie-tags"
    home.mkdir(parents=True)
    rows = [f"{m},{t},1,movielens-10m" for m in (10, 30, *range(100, 130)) for t in ("dark", "vienna")]
    rows += [f"{m},{t},2,movielens-10m" for m in (20, *range(130, 160)) for t in ("robots", "space")]
    rows += ["10,space,9,tmdb-keyword"]  # another source is not used
    (home / "tags.csv").write_text("\n".join(["movieId,tag,count,source", *rows]) + "\n")


def ten_million(made_up) -> None:
    """A made-up ml-10m with these tags, and some of a movie that no other data set lists."""
    home = made_up.write("ml-10m")
    made_up.more_movies("ml-10m")
    rows = [f"1::{m}::{t}::0" for m in (10, 30, *range(100, 130)) for t in ("Dark", "vienna")]
    rows += [f"{u}::{m}::{t}::0" for m in (20, *range(130, 160)) for t in ("robots", "space") for u in (1, 2)]
    rows += ["1::10::dark ::7", "3::999::vienna::0", "3::999::robots::0"]  # the first: by the same user again
    (home / "tags.dat").write_text("\n".join(rows) + "\n")


def test_genres_when_there_is_nothing_else(installed):
    installed.write("ml-1m")
    geometry = datasets.load("ml-1m").geometry
    assert geometry.name == "genres: 4 of ml-1m"
    assert geometry.is_metric
    # Nothing is known of movie 40: at a right angle to the rest, at zero only from itself.
    assert np.allclose(geometry.block([3], None), [[np.pi / 2] * 3 + [0]])


def test_distances_are_in_memory_once():
    """The first item of the geometry has no ratings, so it is the last of the data set."""
    ratings, vectors = Ratings.from_arrays(["u", "u", "v"], [2, 3, 3], [5, 3, 4]), [[1, 1], [1, 0], [0, 1]]
    items, made = np.array([1, 2, 3]), []
    data = assemble(
        SOURCES["ml-1m"], None, ratings, Catalog.from_ids(items),
        lambda: made.append(ItemGeometry.from_vectors(items, vectors)) or made[0],
    )  # fmt: skip
    assert data.geometry.items.tolist() == data.ratings.items.tolist() == [2, 3, 1]
    assert np.array_equal(data.geometry.grid, made[0].grid[np.ix_([1, 2, 0], [1, 2, 0])])
    assert data.with_ratings(data.ratings.take(users=[0])).geometry is data.geometry
    assert len(made) == 1


def test_tag_profiles_when_there_are_tags(installed):
    installed.write("ml-1m")
    installed.more_movies("ml-1m")
    movie_tags(installed)
    data = datasets.load("ml-1m")
    assert data.geometry.name == (
        "tag profiles (4 genres, 4 tags, SVD to 2) from the tags of ml-10m and the genres of ml-1m"
    )
    assert data.geometry is data.geometry
    at = [data.catalog.position(m) for m in (10, 20, 30)]
    D = data.geometry.block(at, at)
    assert D[0, 2] < D[0, 1]


@pytest.mark.parametrize("name", ["ml-1m", "ml-100k"])
def test_the_archive_of_ml_10m_and_a_table_of_its_tags_give_the_same_distances(installed, name):
    for one in ("ml-1m", "ml-100k"):
        installed.write(one)
        installed.more_movies(one)
    ten_million(installed)
    by_archive = datasets.load(name).geometry
    (installed.folder / "ml-10m" / "tags.dat").unlink()
    assert datasets.load(name).geometry.name.startswith("genres")
    movie_tags(installed)
    by_table = datasets.load(name).geometry
    assert by_table.name == by_archive.name
    assert "the tags of ml-10m" in by_table.name
    assert by_table.digest() == by_archive.digest()


def test_too_few_tags_are_no_geometry(installed):
    installed.write("ml-latest-small")
    assert datasets.load("ml-latest-small").geometry.name == "genres: 4 of ml-latest-small"


def test_the_genome_when_it_covers_the_ratings(installed):
    home = installed.write("ml-25m")
    installed.genome(home)
    # 6 of 7 ratings have a genome row, which is not nine in ten.
    assert datasets.load("ml-25m").geometry.name.startswith("genres")
    text = (home / "ratings.csv").read_text()
    (home / "ratings.csv").write_text(text.replace("3,40,3.5,96498\n", ""))
    data = datasets.load("ml-25m")
    assert data.geometry.name == "Tag Genome (ml-25m, 4 tags, 100.0% of ratings)"
    rows = read_genome(installed.files("ml-25m")).scores.astype(float)
    cosine = rows[0] @ rows[1] / np.linalg.norm(rows[0]) / np.linalg.norm(rows[1])
    assert np.isclose(data.geometry.block([0], [1])[0, 0], np.arccos(cosine), atol=1e-6)


def test_the_genome_of_2012_serves_other_data_sets(installed):
    home = installed.write("ml-1m")
    installed.genome(installed.folder / "tag-genome", "dat")
    (home / "ratings.dat").write_text("1::10::5::0\n1::20::3::0\n")
    assert datasets.load("ml-1m").geometry.name == "Tag Genome (2012, 4 tags, 100.0% of ratings)"


def test_ml_100k_without_a_list_of_movielens_ids(installed):
    installed.write("ml-100k")
    installed.more_movies("ml-100k")
    movie_tags(installed)
    assert datasets.load("ml-100k").geometry.name == "genres: 4 of ml-100k"
    installed.write("ml-1m")
    installed.more_movies("ml-1m")
    assert "ml-1m" in datasets.load("ml-100k").geometry.name


def agreement(geometry, genome, movies):
    """Return Spearman's rank correlation of the distances with the angles between genome rows.

    ``movies`` are the MovieLens ids of the items of the geometry, -1 for none.
    """
    ids = np.asarray(movies, dtype=np.int64)
    _, first = np.unique(ids, return_index=True)  # two items may be one movie
    positions = np.intersect1d(first, np.flatnonzero(np.isin(ids, genome.movies)))
    rows = genome.rows(ids[positions]).astype(np.float64)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    upper = np.triu_indices(len(positions), 1)
    angles = np.arccos(np.clip(rows @ rows.T, 0.0, 1.0))[upper]
    return spearmanr(geometry.block(positions, positions)[upper], angles).statistic


def test_agreement(made_up, tmp_path):
    genome = read_genome(made_up.files("ml-25m", made_up.genome(tmp_path / "genome")))
    same = ItemGeometry.from_vectors([1, 2, 3, 4], np.vstack([genome.scores, [[1, 0, 0, 0]]]))
    assert agreement(same, genome, [10, 20, 30, -1]) == 1


@pytest.mark.slow
@pytest.mark.real_data
def test_the_default_geometry_agrees_with_the_genome(real_data, own_folders, monkeypatch):
    monkeypatch.setenv("PREFMOVER_DATA", str(real_data))
    from prefmover.datasets.folders import Files

    genome = read_genome(Files.open(real_data / "tag-genome-sample", FILES))
    for name in ("ml-1m", "ml-100k"):
        data = datasets.load(name)
        ids, _, _ = movielens_ids(SOURCES[name], data.catalog)
        assert "genome" not in data.geometry.name.lower()
        assert agreement(data.geometry, genome, ids) > 0.4


@pytest.mark.slow
@pytest.mark.real_data
def test_the_default_geometry_is_the_same_every_time(real_data):
    known = SOURCES["ml-1m"]
    items = read_items(folders.locate(known), known)
    tags = read_movie_tags(folders.locate(SOURCES["movie-tags"]))
    vectors = [
        tag_profiles(tags.items, tags.tags, tags.counts, ids=items.ids, genres=items.genres) for _ in range(2)
    ]
    assert vectors[0].vectors.tobytes() == vectors[1].vectors.tobytes()
