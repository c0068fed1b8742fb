import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefmover.data.ids import IdIndex, as_ids, encode
from prefmover.errors import InputError, UnknownIdError
from tests.messages import names


def where(row):
    return f"row {row + 1}"


@given(
    st.one_of(
        st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1),
        st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1),
    )
)
def test_encode_is_sorted_and_comes_back(values):
    ids, codes = encode(values, "user", where)
    assert ids.tolist() == sorted(set(values))
    assert ids[codes].tolist() == values


@given(st.lists(st.from_regex(r"\A(0{0,2}[0-9]{1,4}|-?[1-9][0-9]{0,18}|[a-z])\Z"), min_size=1))
def test_texts_become_integers_only_if_nothing_is_lost(texts):
    ids, codes = encode(texts, "user", where, parse=True)
    assert [str(i) for i in ids[codes]] == texts
    fits = all(str(int(t)) == t and abs(int(t)) < 2**63 for t in texts if not t.isalpha())
    assert (ids.dtype == np.int64) == (fits and not any(t.isalpha() for t in texts))


def test_blanks_around_texts_do_not_make_another_id():
    ids, codes = encode(["a ", " a", "b"], "user", where, parse=True)
    assert ids.tolist() == ["a", "b"]
    assert codes.tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    "column",
    [
        pa.chunked_array([["b"], ["a", "b"]]),
        pa.array(["b", "a", "b"]).dictionary_encode(),
        pa.array(["b", "a", "b"], pa.large_string()),
        pa.array(["b", "a", "b"], pa.string_view()),
        np.array(["b", "a", "b"]),
        np.array(["b", "a", "b"], dtype=object),
        ("b", "a", "b"),
    ],
    ids=lambda column: str(getattr(column, "type", getattr(column, "dtype", "tuple"))),
)
def test_columns_of_all_kinds(column):
    ids, codes = encode(column, "item", where)
    assert ids.tolist() == ["a", "b"]
    assert ids.dtype == object
    assert codes.tolist() == [1, 0, 1]
    assert not ids.flags.writeable


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["a", None], names(2, "user")),
        (["a", "", "b"], names(2, "user")),
        (["a", 1], names("user")),
        ([1.0, 2.0], names("1.0")),
        ([True], names("bool")),
        ([2**64 - 1], names(64)),
        ("ann", names("'ann'")),
    ],
)
def test_what_is_no_column_of_ids(column, message):
    with pytest.raises(InputError, match=message):
        encode(column, "user", where)


def test_ids_are_unique():
    with pytest.raises(InputError, match=names("item", "'b'")):
        as_ids(["a", "b", "c", "b"], "item")


def test_positions():
    index = IdIndex("user", as_ids([30, 10, 20], "user"))
    assert index.position(10) == 1
    assert index.position(np.int32(20)) == 2
    assert index.positions(None).tolist() == [0, 1, 2]
    assert index.positions([20, 30]).tolist() == [2, 0]
    assert index.positions(np.array([20, 30])).tolist() == [2, 0]
    assert index.positions([]).dtype == np.int64


def test_ids_as_they_are_here_need_no_pandas():
    """It takes longer to import than a second list takes in all."""
    code = """
import sys, numpy as np
from prefmover.data.ids import as_ids
made = [as_ids(ids, "item") for ids in (["b", "a"], np.array([2, 1]), np.array(["b", "a"], object))]
assert [one.tolist() for one in made] == [["b", "a"], [2, 1], ["b", "a"]]
assert "pandas" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("ids", "id_", "message"),
    [
        (["ann", "bob"], "Anna", names("'Anna'", "'ann'")),
        (["ann", "bob"], "xyz", names(2, "'ann'", "'bob'")),
        ([1, 2, 9], 10, names(9, 2, 1)),
        ([1, 2], "2", names("user", 2)),
        ([1, 2], None, names("user")),
        (["1", "2"], 2, names("user", "'2'")),
        (["1", "2"], [2], names("user")),
        ([], "a", names("user")),
    ],
)
def test_unknown_ids_are_explained(ids, id_, message):
    with pytest.raises(UnknownIdError, match=message):
        IdIndex("user", as_ids(ids, "user")).position(id_)


def test_a_misspelled_id_is_not_compared_with_very_many():
    """A service would spend long on each wrong id."""
    index = IdIndex("user", as_ids([f"user-{k}" for k in range(200_001)], "user"))
    with pytest.raises(UnknownIdError, match=names("'user-x'", "200,001")):
        index.position("user-x")


def test_a_single_id_is_not_a_list_of_ids():
    with pytest.raises(InputError, match=names("user")):
        IdIndex("user", as_ids(["a"], "user")).positions("a")


def test_ids_that_cannot_be_ids_are_unknown():
    assert IdIndex("user", as_ids([7, 9], "user")).get([9, [7], {}]).tolist() == [1, -1, -1]
