"""Matching the movies of two catalogs by title and year."""

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefmover import datasets
from prefmover.datasets import SOURCES, folders
from prefmover.datasets.matching import AT_ONCE, MOST_NAMES, TitleIndex, match
from prefmover.datasets.movielens import read_items
from prefmover.items.catalog import Catalog, split_year


def films(*labels: str, first: int = 1) -> Catalog:
    split = [split_year(label) for label in labels]
    ids = list(range(first, first + len(labels)))
    return Catalog(ids, [t for t, _ in split], [y for _, y in split], [[] for _ in labels])


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ("Shining, The (1980)", "The Shining (1980)"),
        ("Seven (Se7en) (1995)", "Se7en (1995)"),
        ("Hard Eight (1996)", "Hard 8 (a.k.a. Sydney, a.k.a. Hard Eight) (1996)"),
        ("Postino, Il (1994)", "Postman, The (Postino, Il) (1994)"),
        ("Conan the Barbarian (1981)", "Conan the Barbarian (1982)"),
        ("Star Wars (1977)", "Star Wars: Episode IV - A New Hope (1977)"),
        ("Misson to Mars (2000)", "Mission to Mars (2000)"),
        ("Metropolis", "Metropolis (1927)"),
    ],
)
def test_rules(here, there):
    assert match(films(here), films("Something Else (1981)", there, first=70)) == {1: 71}


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ("Solaris (1972)", "Solaris (2002)"),
        ("Scream 2 (1997)", "Scream 3 (1997)"),
        ("Rocky II (1979)", "Rocky III (1979)"),
        ("Alien (1979)", "Manhattan (1979)"),
    ],
)
def test_what_is_not_the_same(here, there):
    assert match(films(here), films(there, first=70)) == {}


def test_the_smallest_id_decides_last():
    assert match(films("Hamlet (1996)"), films("Hamlet (1996)", "Hamlet (1996)", first=70)) == {1: 70}


def test_the_genres_decide_between_equal_titles():
    here = Catalog([1], ["Hamlet"], [1996], [["Comedy"]])
    there = Catalog([7, 8], ["Hamlet", "Hamlet"], [1996, 1996], [["Drama"], ["Comedy"]])
    assert match(here, there) == {1: 8}


@given(st.lists(st.text("abc (1i)", max_size=12), min_size=1, max_size=8))
def test_near_spellings_are_those_of_one_pair_at_a_time(titles):
    there = ["abacab", "abacab ii", "cabbac (baabaa)", "1 abc cab"]
    here, there = (Catalog(range(len(some)), some, [1999] * len(some)) for some in (titles, there))
    whole = TitleIndex(there).match(here)
    for k, title in enumerate(titles):
        alone = match(Catalog([0], [title], [1999]), there)
        assert whole.get(k) == alone.get(0)


def test_matching_ends_between_two_steps_if_nobody_waits():
    steps = []

    def progress(done, total):
        steps.append(total)
        if total != n_titles:  # titles are being compared by their spelling
            raise KeyboardInterrupt

    n_titles = 3 * AT_ONCE
    index = TitleIndex(films("Mission to Mars (2000)"))
    with pytest.raises(KeyboardInterrupt):
        index.match(
            Catalog(range(n_titles), ["Misson to Mars"] * n_titles, [2000] * (n_titles - 1) + [0]), progress
        )
    assert len(steps) == n_titles + 1


def test_a_title_has_few_names():
    many = "".join(f"(name {letter})" for letter in "bcdefgh")
    assert match(films(f"Other {many} (1980)"), films("Name B (1980)", first=70)) == {1: 70}
    assert match(films(f"Other {many} (1980)"), films("Name H (1980)", first=70)) == {}
    assert len("bcdefgh") > MOST_NAMES


@pytest.mark.real_data
def test_ml_100k_by_movielens_ids(real_data):
    here, there = (read_items(folders.locate(SOURCES[name]), SOURCES[name]) for name in ("ml-100k", "ml-1m"))
    matches = match(here, there)
    assert len(matches) >= 0.98 * len(here)
    with (real_data / "movie-tags" / "ml100k_to_movielens.csv").open() as file:
        published = {int(row["ml100k_item"]): int(row["movieId"]) for row in csv.DictReader(file)}
    listed = set(there.ids.tolist())
    reachable = {item: movie for item, movie in published.items() if movie in listed}
    agree = sum(matches.get(item) == movie for item, movie in reachable.items())
    assert agree >= 0.98 * len(reachable)
    wrong = [item for item, movie in reachable.items() if matches.get(item, movie) != movie]
    assert not wrong
    assert there.label(there.position(matches[50])) == "Star Wars: Episode IV - A New Hope (1977)"


@pytest.mark.real_data
def test_the_geometry_of_ml_100k_says_that_it_was_matched(real_data):
    data = datasets.load("ml-100k")
    assert "ml-1m" in data.geometry.name
    assert data.geometry.n_items == 1682
    alien = data.catalog.find("Alien (1979)")
    near = data.geometry.near(data.catalog.ids[alien], 5)
    near = [data.catalog.label(data.catalog.position(item)) for item, _ in near]
    assert "Alien 3 (1992)" in near
