"""Titles: splitting, comparing and searching them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    assert FILMS.search("") == []


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
