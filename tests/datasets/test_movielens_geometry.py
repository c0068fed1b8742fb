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
    """Tags that twenty movies and more share, most of them not in the data set."""
    home = made_up.folder / "movie-tags"
    home.mkdir(parents=True)
    rows = [f"{m},{t},1,us" for m in (10, 30, *range(100, 130)) for t in ("dark", "vienna")]
    rows += [f"{m},{t},2,us" for m in (20, *range(130, 160)) for t in ("robots", "space")]
    (home / "tags.csv").write_text("\n".join(["movieId,tag,count,source", *rows]) + "\n")


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
        "tag profiles (4 genres, 4 tags, SVD to 2) from movie-tags and the genres of ml-1m"
    )
    assert data.geometry is data.geometry
    at = [data.catalog.position(m) for m in (10, 20, 30)]
    D = data.geometry.block(at, at)
    assert D[0, 2] < D[0, 1]


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
        ids, _ = movielens_ids(SOURCES[name], data.catalog)
        assert "genome" not in data.geometry.name.lower()
        assert agreement(data.geometry, genome, ids) > 0.45


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
