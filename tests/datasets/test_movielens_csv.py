"""The quirks of MovieLens-20M, -25M and -32M that their READMEs document, from files to recommendations."""

import numpy as np
import pytest

from prefmover import Recommender
from prefmover.datasets import SOURCES, by_name, movielens
from prefmover.datasets.tag_genome import has_genome

MOVIES = '''movieId,title,genres
1,Toy Story (1995),Adventure|Animation|Children|Comedy|Fantasy
11,"American President, The (1995)",Comedy|Drama|Romance
17,"""Great Performances"" Cats (1998)",Musical
29,"City of Lost Children, The (Cité des enfants perdus, La) (1995)",Adventure|Fantasy|IMAX
838,Emma (1996),Comedy
26958,Emma (1996),Romance
40697,Babylon 5,Sci-Fi
131241,Ants in the Pants (2000),(no genres listed)
171749,Death Note: Desu nôto (2006\u20132007),(no genres listed)
209171,"Never Rated,  Twice (1994) ",Drama
'''
# In the order of users, and of movies within a user.
RATED = {1: (1, 11, 17, 29), 2: (1, 838, 26958), 3: (11, 17, 40697, 131241), 4: (1, 29, 838), 5: (29, 171749)}
TAGS = '''userId,movieId,tag,timestamp
1,1,"""Jackal""",1439472355
1,1,Pixar,1439472256
2,1,pixar ,1439472256
2,29," ",1439472256
3,11,,1439472256
4,40697,"space, the final",1439472256
5,29,très beau,1439472256
'''
LINKS = "movieId,imdbId,tmdbId\n1,0114709,862\n131241,0114700,\n"


def time_of(user, item):
    """Seconds since 1970, the first of them in January 1995, in no order."""
    return 789652009 + user * item % 97 * 8_000_000


@pytest.fixture(params=["ml-20m", "ml-25m", "ml-32m"])
def files(request, made_up):
    home = made_up.folder / request.param
    home.mkdir(parents=True)
    rows = [f"{u},{i},{0.5 + (u * i) % 10 / 2},{time_of(u, i)}" for u, rated in RATED.items() for i in rated]
    ratings = "\r\n".join(["userId,movieId,rating,timestamp", *rows, ""])  # ml-20m has Windows line ends
    texts = {"ratings.csv": ratings, "movies.csv": MOVIES, "tags.csv": TAGS, "links.csv": LINKS}
    for name, text in texts.items():
        (home / name).write_bytes(text.encode())
    return request.param, made_up.files(request.param, home)


@pytest.fixture
def data(files):
    return by_name.read(SOURCES[files[0]], files[1])


def test_ratings_have_half_stars_and_all_movies_are_items(data):
    r = data.ratings
    assert (r.n_ratings, r.n_users, data.n_items) == (16, 5, 10)
    assert (r.scale.lowest, r.scale.highest, r.scale.step) == (0.5, 5.0, 0.5)
    for u, rated in RATED.items():
        assert r[u] == {i: 0.5 + (u * i) % 10 / 2 for i in rated}
    assert np.diff(r.matrix.tocsc().indptr)[r.item_index.get([209171])[0]] == 0  # a movie that nobody rated


def test_timestamps_are_seconds(data):
    rows = data.ratings.matrix.tocoo()
    users, items = data.ratings.users[rows.row], data.ratings.items[rows.col]
    times = list(map(time_of, users.tolist(), items.tolist()))
    assert data.times.tolist() == times


@pytest.mark.parametrize("files", ["ml-20m", "ml-25m"], indirect=True)  # ml-32m has none
def test_the_genome_of_some_films(files, made_up):
    """Films without a row, rated or not, are at a right angle to all others, and are recommended."""
    name, opened = files
    home = opened.path
    assert not has_genome(opened)
    relevance = {1: (0.9, 0.025), 11: (0.5, 0.5), 17: (0.1, 0.7), 29: (0.8, 0.1), 838: (0.2, 0.9)}
    relevance |= {26958: (0.25, 0.85), 40697: (0.95, 0.3), 131241: (0.4, 0.1)}  # not 171749, rated once
    rows = [f"{i},{t + 1},{some[t]}" for i, some in relevance.items() for t in (0, 1)]
    (home / "genome-scores.csv").write_text("\r\n".join(["movieId,tagId,relevance", *rows, ""]))
    (home / "genome-tags.csv").write_text('tagId,tag\r\n1,007\r\n2,"based on a book, loosely"\r\n')
    data = by_name.read(SOURCES[name], made_up.files(name, home))
    at = [data.catalog.position(i) for i in (1, 29, 171749, 209171)]
    D = data.geometry.block(at, at)
    assert D[0, 1] == pytest.approx(np.arctan(0.1 / 0.8) - np.arctan(0.025 / 0.9), abs=1e-6)
    assert D[2:, :2] == pytest.approx(np.pi / 2)
    assert D[2, 3] == pytest.approx(np.pi / 2)
    items = [one.item for one in Recommender().fit(data).recommend(1, n=10)]
    assert {171749, 209171} <= set(items)


def test_titles_years_and_genres(files):
    name, opened = files
    items = movielens.read_items(opened, SOURCES[name])
    by_id = {i: k for k, i in enumerate(items.ids.tolist())}
    labels = {i: items.label(k) for i, k in by_id.items()}
    assert labels[11] == "American President, The (1995)"
    assert labels[17] == '"Great Performances" Cats (1998)'
    assert labels[29] == "City of Lost Children, The (Cité des enfants perdus, La) (1995)"
    assert labels[838] == labels[26958] == "Emma (1996)"  # two movies, one title
    years = {i: int(items.years[k]) for i, k in by_id.items()}
    assert years[40697] == 0
    assert years[209171] == 1994
    assert items.genres[by_id[29]] == ("Adventure", "Fantasy", "IMAX")
    assert items.genres[by_id[131241]] == items.genres[by_id[171749]] == ()


def test_tags_with_quotes_commas_and_nothing_in_them(files):
    name, opened = files
    tags = movielens.read_user_tags(opened, SOURCES[name])
    assert list(zip(tags.items.tolist(), tags.tags, tags.counts.tolist(), strict=True)) == [
        (1, '"jackal"', 1),
        (1, "pixar", 2),
        (29, "très beau", 1),
        (40697, "space, the final", 1),
    ]


def test_from_files_to_recommendations(data):
    assert data.geometry.n_items == data.n_items  # from genres: there are too few tags
    model = Recommender().fit(data)
    items = [one.item for one in model.recommend(1, n=10)]
    assert set(items) == set(data.ratings.items.tolist()) - set(RATED[1])  # the one without ratings, too
