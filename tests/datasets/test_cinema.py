"""cinema: the files are sound, the viewers never change, and PMD recovers their tastes."""

import csv
import hashlib
import re
from importlib.resources import files

import numpy as np
import pytest

from prefmover.datasets import cinema
from prefmover.measures import MEASURES, pairwise

GENRES = {
    "Action", "Adventure", "Animation", "Comedy", "Crime", "Documentary", "Drama", "Family",
    "Fantasy", "History", "Horror", "Music", "Mystery", "Romance", "Science Fiction", "Sport",
    "Thriller", "War", "Western",
}  # fmt: skip


def rows(name: str) -> list[dict[str, str]]:
    lines = files("prefmover.datasets").joinpath(name).read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def test_every_film_is_well_formed():
    for row in rows("cinema_films.csv"):
        assert None not in row.values(), row
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", row["film"]), row
        assert row["film"].endswith("-" + row["year"]), row
        assert row["title"] == row["title"].strip() != "", row
        assert 1920 <= int(row["year"]) <= 2024, row
        assert re.fullmatch("[A-Z]{2}", row["country"]), row
        assert set(row["genres"].split("|")) <= GENRES, row
        assert row["fame"] in "12345", row
        pairs = [pair.split(":") for pair in row["tags"].split()]
        assert len({tag for tag, _ in pairs}) == len(pairs) >= 5, row
        assert all(score in set("12345") for _, score in pairs), row


def test_the_catalog_is_wide():
    f = cinema.films()
    catalog = f.catalog
    assert len(catalog) == 485
    assert list(catalog.years) == sorted(catalog.years)
    assert len({row["country"] for row in rows("cinema_films.csv")}) >= 30
    decades, counts = np.unique(catalog.years // 10, return_counts=True)
    assert list(decades) == list(range(192, 203))
    assert counts.min() >= 10
    assert {g for genres in catalog.genres for g in genres} == GENRES
    assert len(f.tags) == 83
    assert (f.scores > 0).sum(axis=0).min() >= 4, "a tag that fewer films have tells little"


def test_tastes_use_the_films_tags_and_share_out_a_hundred():
    tags = set(cinema.films().tags)
    for row in rows("cinema_tastes.csv"):
        pairs = [pair.split(":") for pair in row["tags"].split()]
        assert {tag for tag, _ in pairs} <= tags, row
        assert len({tag for tag, _ in pairs}) == len(pairs), row
    names, shares, weights = cinema.tastes()
    assert len(set(names)) == len(names) == len(weights) == 12
    assert shares.sum() == 100


@pytest.mark.parametrize(
    ("film", "expected"),
    [
        ("alien-1979", {"aliens-1986", "the-thing-1982"}),
        ("the-godfather-1972", {"the-godfather-part-ii-1974"}),
        ("blade-runner-1982", {"blade-runner-2049-2017", "ghost-in-the-shell-1995"}),
        ("pride-and-prejudice-2005", {"sense-and-sensibility-1995", "a-room-with-a-view-1985"}),
        ("toy-story-1995", {"up-2009", "finding-nemo-2003"}),
        ("dr-no-1962", {"goldfinger-1964", "casino-royale-2006"}),
        ("all-the-presidents-men-1976", {"spotlight-2015", "zodiac-2007"}),
        ("the-maltese-falcon-1941", {"the-big-sleep-1946", "double-indemnity-1944"}),
        ("tokyo-story-1953", {"late-spring-1949"}),
        ("city-lights-1931", {"safety-last-1923", "the-gold-rush-1925"}),
        ("das-boot-1981", {"dunkirk-2017"}),
        ("spirited-away-2001", {"howls-moving-castle-2004", "my-neighbor-totoro-1988"}),
        ("unforgiven-1992", {"high-noon-1952", "django-unchained-2012"}),
        ("la-la-land-2016", {"moulin-rouge-2001", "singin-in-the-rain-1952"}),
    ],
)
def test_near_films_are_those_that_a_film_lover_would_name(film, expected):
    near = [other for other, _ in cinema.geometry().near(film, 5)]
    assert expected <= set(near), near


def test_geometry_is_a_metric():
    assert cinema.geometry().is_metric


def digest(viewers: cinema.Viewers) -> str:
    table = np.stack([viewers.rows, viewers.films, (2 * viewers.ratings).astype(np.int64)])
    return hashlib.sha256(table.astype("<i8").tobytes()).hexdigest()


def test_viewers_are_the_same_on_every_machine_and_with_every_version():
    # Change this only with the films, the tastes or the simulation, and say so in the changelog.
    assert digest(cinema.viewers()) == "a3bc1e9f1a30bf733ae04f3a8b040e131cba0b0c151fd0caba5cf310b29ac9c7"


def test_another_seed_gives_other_viewers():
    assert digest(cinema.viewers(1)) != digest(cinema.viewers())


def test_viewers_look_like_an_audience():
    v, f = cinema.viewers(), cinema.films()
    assert len(set(v.ids)) == len(v.ids) == 800
    assert list(v.ids) == sorted(v.ids)
    counts = np.bincount(v.rows, minlength=800)
    assert counts.min() >= 3
    assert counts.max() <= 80
    assert 0.15 < (counts <= 8).mean() < 0.25
    assert set(np.unique(v.ratings)) == set(np.arange(1, 5.5, 0.5))
    assert 3.4 < v.ratings.mean() < 4.0
    assert len(set(zip(v.rows.tolist(), v.films.tolist(), strict=True))) == len(v.rows)
    seen = np.bincount(v.films, minlength=len(f.catalog))
    assert seen.min() >= 1, "every film is rated by somebody"
    assert seen[f.fame == 5].mean() > 5 * seen[f.fame == 1].mean()
    has = np.zeros((800, len(f.catalog)))
    has[v.rows, v.films] = 1
    common = (has @ has.T)[np.triu_indices(800, 1)]
    assert (common == 0).mean() > 0.3, "pairs with nothing in common are the point"
    assert min(v.tastes.count(name) for name in cinema.tastes()[0]) >= 20


def test_viewers_rate_films_of_their_taste_higher_and_see_more_of_them():
    v, f = cinema.viewers(), cinema.films()
    horror = np.array(["Horror" in genres for genres in f.catalog.genres])[v.films]
    fan = (np.array(v.tastes) == "frights")[v.rows]
    assert v.ratings[horror & fan].mean() > v.ratings[horror & ~fan].mean() + 0.4
    assert horror[fan].mean() > 3 * horror[~fan].mean()


def test_bell_is_centered_with_variance_one_and_bounded():
    sample = cinema._Dice(3).bell(50_000)
    assert abs(sample.mean()) < 0.02
    assert abs(sample.var() - 1) < 0.02
    assert np.abs(sample).max() < 3.47


def test_draws_are_distinct_and_follow_the_chances():
    u = cinema._Dice(4).uniform(4000)
    first = [cinema._draw(np.array([1, 0, 3]), u[k : k + 1])[0] for k in range(4000)]
    share = np.bincount(first, minlength=3) / 4000
    assert share[1] == 0
    assert abs(share[2] - 0.75) < 0.03
    assert sorted(cinema._draw(np.array([5, 1, 1]), u[:3])) == [0, 1, 2]


def test_load_gives_ratings_catalog_and_geometry_and_says_that_it_is_simulated():
    data = cinema.load()
    assert data.name == "cinema"
    assert "simulated" in data.terms
    assert "simulated" in data.citation
    assert set(data.ratings.items) == set(data.catalog.ids) == set(data.geometry.items)
    assert list(data.ratings.users) == list(cinema.viewers().ids)
    assert data.catalog.ids[data.catalog.find("Alien")] == "alien-1979"
    v, f = cinema.viewers(), cinema.films()
    k = 4321
    assert data.ratings[v.ids[v.rows[k]]][f.catalog.ids[v.films[k]]] == v.ratings[k]


def recovery(values, users, truth, *, larger_is_closer, k=10):
    """Return the share of the k nearest of each user that belong to the user's group.

    ``values`` (queries x users) may have NaN, which makes no neighbor; a user with fewer than k neighbors
    misses the others. Equal values come in the order of users.
    """
    distance = np.array(-values if larger_is_closer else values, dtype=np.float64)
    distance[np.arange(len(users)), users] = np.nan
    nearest = np.argsort(distance, axis=1, kind="stable")[:, :k]  # NaN sorts last
    known = ~np.isnan(np.take_along_axis(distance, nearest, axis=1))
    return ((truth[nearest] == truth[users][:, None]) & known).sum(axis=1) / k


def test_recovery_counts_the_group_among_the_nearest():
    truth = np.array(list("aabab"))
    values = np.array([[9.0, 0.5, 0.9, np.nan, 0.5], [0.1, 0.2, np.nan, np.nan, np.nan]])
    who = np.array([0, 1])
    # User 0: b (.9), then a (.5) before b (.5) by order. User 1: one neighbor, a; two are missing.
    np.testing.assert_allclose(recovery(values, who, truth, larger_is_closer=True, k=3), [1 / 3, 1 / 3])
    np.testing.assert_allclose(recovery(values, who, truth, larger_is_closer=False, k=1), [1.0, 1.0])


def test_pmd_finds_the_like_minded_where_co_rated_measures_do_not():
    data = cinema.load()
    ratings = data.ratings
    truth = np.array(cinema.viewers().tastes)
    counts = np.diff(ratings.matrix.indptr)
    who = np.arange(0, 800, 7)
    sparse = counts[who] <= 8
    assert sparse.sum() >= 15
    shares = {}
    for name in ("pmd", "cos", "pcc", "msd", "jaccard", "jmsd"):
        values = pairwise(data, name, users=ratings.users[who])
        closer = MEASURES[name].larger_is_closer
        shares[name] = recovery(values, who, truth, larger_is_closer=closer)
    best = shares.pop("pmd")
    for name, share in shares.items():
        assert best.mean() > share.mean() + 0.1, name
        assert best[sparse].mean() > share[sparse].mean() + 0.1, name
