"""Exports of Letterboxd and IMDb: columns, scales, titles, and files that are none."""

import pytest

from prefmover import Dataset, InputError, Ratings, Scale, datasets
from prefmover.datasets.matching import TitleIndex
from prefmover.server import imports

LETTERBOXD = """Date,Name,Year,Letterboxd URI,Rating
2021-03-02,Alien,1979,https://boxd.it/1,5
2023-01-01,"Good, the Bad and the Ugly, The",1966,https://boxd.it/2,0.5
2022-01-01,No Such Film,1999,https://boxd.it/3,3.5
2022-01-01,The Thing,1982,https://boxd.it/4,
"""
IMDB = """Const,Your Rating,Date Rated,Title,Original Title,URL,Title Type,Year
tt0078748,10,2021-03-02,Alien,Alien,https://x,Movie,1979
tt0084787,1,2022-03-02,The Thing,The Thing,https://y,Movie,1982
"""


def read_export(text, data):
    return imports.read_export(text, data, TitleIndex(data.catalog))


@pytest.fixture(scope="module")
def cinema():
    return datasets.load("cinema")


def test_letterboxd(cinema):
    found = read_export(LETTERBOXD, cinema)
    assert found.origin == "Letterboxd"
    assert [one.rating for one in found.ratings] == [1.0, 5.0]  # the newest comes first
    assert found.ratings[-1].item == "alien-1979"
    assert [(row.title, row.year) for row in found.unmatched] == [("No Such Film", 1999)]
    assert found.n_unrated == 1


def test_imdb(cinema):
    found = read_export("\ufeff" + IMDB, cinema)
    assert found.origin == "IMDb"
    assert [(one.item, one.rating) for one in found.ratings] == [("the-thing-1982", 1.0), ("alien-1979", 5.0)]


def test_ratings_fall_on_steps_of_the_scale():
    ratings = Ratings.from_arrays(["u"] * 3, ["Alien (1979)", "b", "c"], [1, 3, 5], scale=Scale(1, 5, 1))
    data = Dataset(ratings, items={"Alien (1979)": "Alien", "b": "B", "c": "C"})
    given = {0.5: 1, 1.5: 2, 2.5: 3, 3.5: 4, 4.5: 5, 5: 5}
    for stars, expected in given.items():
        (found,) = read_export(f"Name,Rating\nAlien,{stars}\n", data).ratings
        assert (found.item, found.rating) == ("Alien (1979)", expected)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "Name"),
        ("Film,Stars\nAlien,5\n", "Name"),
        ("Name,Rating\nAlien,five\n", "five"),
        ("Name,Rating\nAlien,9\n", "9"),
        ("Name,Rating\nAlien,nan\n", "nan"),
        (f"Name,Rating\n{'(' * 401},5\n", "row 2"),
        ("Name,Rating\n" + "Alien,5\n" * 20_001, "20,000"),
        ('Name,Rating\n"' + "x" * 200_000 + '",5\n', "CSV"),
    ],
    ids=["empty", "columns", "word", "scale", "nan", "title", "long", "field"],
)
def test_what_is_no_export(cinema, text, named):
    with pytest.raises(InputError, match=named):
        read_export(text, cinema)


def test_rows_without_the_last_cells(cinema):
    found = read_export("Name,Year,Rating,Date\nAlien,1979,5\nThe Thing,1982,4,2022-01-01\n", cinema)
    assert [one.rating for one in found.ratings] == [4.0, 5.0]  # a row without a date comes last
