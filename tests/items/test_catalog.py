"""Titles: splitting, comparing and searching them."""

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefmover.data.ratings import Ratings
from prefmover.dataset import Dataset
from prefmover.errors import InputError, UnknownIdError
from prefmover.items.catalog import Catalog, plain_title, split_year
from tests.messages import names

FILMS = Catalog(
    [5, 3, 8, 9],
    ["Alien", "Aliens", "Solaris", "Solaris"],
    [1979, 1986, 1972, 2002],
    [["Horror"], [], [], []],
)


def test_find():
    assert FILMS.find("ALIEN") == 0
    assert FILMS.find("Solaris (2002)") == 3
    assert FILMS.find("8") == 2
    assert FILMS.search("sol") == [2, 3]
    assert FILMS.search("lien") == [0, 1]
    with pytest.raises(InputError, match=names("Solaris (1972)", "[8]", "Solaris (2002)", "[9]")):
        FILMS.find("solaris")
    with pytest.raises(InputError, match=names("'Alien'")):
        FILMS.find("Alein")
    with pytest.raises(UnknownIdError):
        FILMS.position(77)
    assert FILMS.search("") == [0, 1, 2, 3]
    assert FILMS.search("alien 19") == [0]
    with pytest.raises(UnknownIdError):
        FILMS.find(" ")


def test_lengths_must_agree():
    with pytest.raises(InputError):
        Catalog([1, 2], ["a"], [0, 0], [[], []])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Usual Suspects, The", "The Usual Suspects"),
        ("L'Avventura", "Avventura, L'"),
        ("Amélie", "AMELIE"),
        ("Dr. Strangelove", "Dr Strangelove"),
        ("Alien³", "Alien3"),
        ("Lock, Stock & Two Smoking Barrels", "Lock, Stock and Two Smoking Barrels"),
    ],
)
def test_titles_that_are_the_same(one, other):
    assert plain_title(one) == plain_title(other)


@given(st.text(max_size=40))
def test_a_plain_title_stays_as_it_is_in_case_and_marks(title):
    plain = plain_title(title)
    assert plain == plain.strip()
    assert "  " not in plain


@given(st.text(st.characters(codec="ascii", exclude_categories=["C"]), max_size=20), st.integers(1000, 9999))
def test_a_year_at_the_end_is_split_off(title, year):
    title = title.strip()
    if title:
        assert split_year(f"{title} ({year})") == (title, year)


@pytest.mark.parametrize(
    "items",
    [
        {"b": "Bound", "a": "Alien"},
        pa.table({"item": ["b", "a"], "title": ["Bound", "Alien"]}),
        Catalog(["b", "a"], ["Bound", "Alien"]),
    ],
    ids=["mapping", "frame", "catalog"],
)
def test_items_of_a_dataset_in_every_form(items):
    data = Dataset(Ratings.from_arrays(["u", "u"], ["a", "c"], [5, 3]), items=items)
    assert data.catalog.labels == ["Alien", "c", "Bound"]  # an item without a title goes by its id


def test_years_and_genres_of_a_frame():
    frame = pa.table({"item": [7], "title": ["Alien"], "year": [1979], "genres": [["Horror"]]})
    catalog = Catalog.from_items(frame)
    assert (catalog.label(0), catalog.genres) == ("Alien (1979)", (("Horror",),))


@pytest.mark.parametrize(
    ("items", "named"), [(["Alien"], "list"), (pa.table({"item": [7], "name": ["Alien"]}), "'title'")]
)
def test_items_in_no_known_form(items, named):
    with pytest.raises(InputError, match=named):
        Catalog.from_items(items)


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_missing_titles_years_and_genres(missing):
    assert Catalog.from_items({7: "Alien", 9: missing}).labels == ["Alien", "9"]
    frame = pd.DataFrame({"item": [7, 9], "title": ["Alien", missing], "year": [1979, missing]})
    catalog = Catalog.from_items(frame.assign(genres=["Horror|Sci-Fi", missing]))
    assert catalog.labels == ["Alien (1979)", "9"]
    assert catalog.genres == (("Horror", "Sci-Fi"), ())
