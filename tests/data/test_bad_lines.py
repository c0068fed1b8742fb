"""Files from the wild: damaged lines, backslashes, missing ids, mixed encodings."""

import logging
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from prefmover import Ratings
from prefmover.data.delimited import to_utf8
from prefmover.data.file_options import FileOptions
from prefmover.errors import BadLinesWarning, InputError
from tests.data.conftest import as_dicts
from tests.messages import names, unnamed

H = "user,item,rating\n"


DAMAGED = H + "a,x,5\nb,y\nc,x,4,9,9\nNULL,x,3\nd,,3\ne,y,good\nf,y,\na,y,3\n"


def test_a_bad_line_is_an_error_that_names_the_option(write):
    for rows in ("b,y\n", "NULL,x,3\n", "None,x,3\n", " NA ,x,3\n", "b,y,good\n"):
        with pytest.raises(InputError, match=names("input.csv", 3, "on_bad_lines")):
            Ratings.read(write(H + "a,x,5\n" + rows))


def test_skipped_lines_are_counted(write, caplog):
    with caplog.at_level(logging.INFO, "prefmover"), warnings.catch_warnings():
        warnings.simplefilter("error")
        ratings = Ratings.read(write(DAMAGED), FileOptions(on_bad_lines="skip"))
    assert as_dicts(ratings) == {"a": {"x": 5.0, "y": 3.0}}
    assert not unnamed(caplog.text, "input.csv", "6 bad lines", "line 3", "line 4", "line 5")


def test_bad_lines_as_a_warning(write):
    with pytest.warns(BadLinesWarning, match=names("input.csv", 6)):
        ratings = Ratings.read(write(DAMAGED), FileOptions(on_bad_lines="warn"))
    assert as_dicts(ratings) == {"a": {"x": 5.0, "y": 3.0}}


def test_good_lines_are_no_reason_to_warn(write):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Ratings.read(write(H + "a,x,5\n"), FileOptions(on_bad_lines="warn")).n_ratings == 1


def test_lines_after_bad_ones_keep_their_numbers(write):
    with pytest.raises(InputError, match=names("input.csv", 5, "'rating'", -1)):
        Ratings.read(
            write(H + "b,y\nNULL,x,3\na,x,5\n" + "c,x,-1\n"), options=FileOptions(on_bad_lines="skip")
        )


def test_no_line_is_left(write):
    with pytest.raises(InputError, match=names("input.csv")):
        Ratings.read(write(H + "NA,x,3\n"), FileOptions(on_bad_lines="skip"))


def test_the_same_in_parquet(tmp_path):
    path = tmp_path / "ratings.parquet"
    table = {"user": ["a", None, "b", "c"], "item": [1, 2, None, 4], "rating": [5.0, 3.0, 3.0, np.nan]}
    pq.write_table(pa.table(table), path)
    with pytest.warns(BadLinesWarning, match=names("ratings.parquet", 3)):
        assert as_dicts(Ratings.read(path, FileOptions(on_bad_lines="warn"))) == {"a": {1: 5.0}}


def test_an_unknown_choice(write):
    with pytest.raises(InputError, match=names("on_bad_lines", "'drop'", "skip")):
        Ratings.read(write(H + "a,x,5\n"), FileOptions(on_bad_lines="drop"))


def test_names_that_look_like_missing_ones_in_memory_are_names():
    assert Ratings.from_arrays(["NA", "None"], [1, 1], [5, 4]).users.tolist() == ["NA", "None"]


def test_backslashes_before_quotes(write):
    text = r'''
"User-ID";"Book";"Book-Rating"
"1";"the \"Bo\" diet; a novel";"5"
"2";"a \\ b \"c\"";"4"
"3";"say ""hi""";"3"
'''.lstrip()
    ratings = Ratings.read(write(text))
    assert ratings.users.tolist() == [1, 2, 3]
    assert set(ratings.items) == {'the "Bo" diet; a novel', 'a \\ b "c"', 'say "hi"'}
    assert ratings[2] == {'a \\ b "c"': 4.0}


def test_a_backslash_at_the_end_of_a_field_is_a_backslash(write):
    ratings = Ratings.read(write('user,item,rating\n"a","C:\\",5\n"b","D:\\films\\",4\n'))
    assert ratings.items.tolist() == ["C:\\", "D:\\films\\"]


BOTH = H.encode() + "Zoë,x,5\nAnaïs,x,4\n".encode() + "José,x,3\n".encode("latin-1")


def test_a_file_of_two_encodings_is_not_told_to_be_latin_1(write):
    with pytest.raises(InputError, match=names("input.csv", 4, "0xe9", 2, "encoding='mixed'")) as caught:
        Ratings.read(write(BOTH))
    assert "encoding='latin-1'" not in str(caught.value)
    assert Ratings.read(write(BOTH), FileOptions(encoding="mixed")).users.tolist() == ["Anaïs", "José", "Zoë"]


def test_latin_1_is_told_to_be_latin_1(write):
    text = (H + "José,x,3\n" * 30 + "Ã¤,x,5\n").encode("latin-1")  # two bytes that are UTF-8 by chance
    with pytest.raises(InputError, match=names("encoding='latin-1'")):
        Ratings.read(write(text), FileOptions(duplicates="last"))


def test_mixed_reads_plain_utf_8_as_it_is():
    for text in ("plain", "Zoë", "\ufeffZoë", "日本"):
        assert to_utf8(text.encode(), "mixed", "a.csv").decode() == text.removeprefix("\ufeff")


def test_books_in_the_shape_of_book_crossing(write, caplog):
    """BX-Book-Ratings.csv: semicolons, everything quoted, Latin-1, zeros for "no rating", a damaged line."""
    rows = ['"User-ID";"ISBN";"Book-Rating"']
    rows += [
        f'"{276725 + k % 40}";"03{k * 37 % 1000:07d}X";"{0 if k % 3 else k % 9 + 2}"' for k in range(300)
    ]
    rows += ['"276999";"é0345";"7"', '"277000";"broken']
    path = write("\n".join(rows).encode("latin-1"), "BX-Book-Ratings.csv")
    with caplog.at_level(logging.INFO, "prefmover"):
        ratings = Ratings.read(
            path, options=FileOptions(encoding="latin-1", zeros="missing", on_bad_lines="skip")
        )
    assert ratings.n_ratings == 101
    assert ratings[276999] == {"é0345": 7.0}
    assert ratings.scale.lowest == 2
    assert not unnamed(caplog.text, "1 bad line", "200 of 301")
