"""Conditions on items."""

import pytest

from prefmover.errors import InputError
from prefmover.items.catalog import Catalog, parse_where
from tests.messages import names

FILMS = Catalog(
    [1, 2, 3, 4],
    ["Alien", "Star Wars", "A Star Is Born", "Emma"],
    [1979, 1977, 2018, 0],
    [["Horror", "Sci-Fi"], ["Sci-Fi"], ["Drama"], []],
)


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ({}, [1, 2, 3, 4]),
        ({"year": 1979}, [1]),
        ({"year": [1979, 2018]}, [1, 3]),
        ({"year": (1978, None)}, [1, 3]),
        ({"year": (None, 1979)}, [1, 2]),
        ({"year": (None, None)}, [1, 2, 3]),
        ({"year": range(1970, 1980)}, [1, 2]),
        ({"genre": "sci-fi"}, [1, 2]),
        ({"genres": ["Horror", "drama"]}, [1, 3]),
        ({"title": "star"}, [2, 3]),
        ({"title": ["WARS", "émma"]}, [2, 4]),
        ({"title": "star", "year": (2000, None)}, [3]),
        ({"year": 1800}, []),
    ],
)
def test_matching(where, ids):
    assert FILMS.ids[FILMS.matching(where)].tolist() == ids


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"director": "Scott"}, names("'director'", "year", "genre", "title")),
        ({"genre": "horor"}, names("'horor'", "'Horror'")),
        ({"genre": 5}, names("genre", 5)),
        ({"genre": []}, names("genre")),
        ({"year": "1979"}, names("'1979'")),
        ({"year": True}, names("True")),
        ({"year": (1990, 1980)}, names(1990, 1980)),
        ({"title": "?!"}, names("title", "'?!'")),
        ("year=1979", names("where", "str")),
    ],
)
def test_conditions_that_cannot_be(where, message):
    with pytest.raises(InputError, match=message):
        FILMS.matching(where)


def test_columns_without_values():
    plain = Catalog([1], ["Alien"])
    for column, value in (("year", 1979), ("genre", "Horror")):
        with pytest.raises(InputError, match=names(column)):
            plain.matching({column: value})


@pytest.mark.parametrize(
    ("texts", "ids"),
    [
        ("year=1970..1979", [1, 2]),
        ("year=1979..", [1, 3]),
        ("year=..1977", [2]),
        ("year=1979", [1]),
        ("year = 1977|2018", [2, 3]),
        ("Genre=Horror|Drama", [1, 3]),
        ("title=star", [2, 3]),
        (["title=star", "genres=drama"], [3]),
    ],
)
def test_parsing(texts, ids):
    assert FILMS.ids[FILMS.matching(parse_where(texts))].tolist() == ids


@pytest.mark.parametrize("text", ["year", "=1979", "year=", "year=old", "year=1..2..3", "year=1970..x"])
def test_texts_that_are_no_condition(text):
    with pytest.raises(InputError, match=names(f"'{text.removeprefix('year=') or text}'")):
        parse_where(text)


def test_two_conditions_on_one_column():
    with pytest.raises(InputError, match=names("year")):
        parse_where(["year=1979", "years=1980"])
