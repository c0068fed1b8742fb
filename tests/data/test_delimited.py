"""Files in: every format gives the same ratings, every defect is located."""

import gzip
import json
import re
import subprocess
import sys

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from prefmover.data.columns import read_pairs
from prefmover.data.file_options import FileOptions
from prefmover.data.ids import MISSING_ID
from prefmover.data.ratings import Ratings
from prefmover.errors import InputError
from tests.data.conftest import as_dicts
from tests.messages import names

EXPECTED = {"ann": {7: 4.5, 12: 3.0}, "bob": {7: 0.0}}
ROWS = [("ann", "7", "4.5"), ("bob", "7", "0"), ("ann", "12", "3")]


def lines(separator, *, header=None, end="\n"):
    rows = [header, *ROWS] if header else ROWS
    return end.join(separator.join(row) for row in rows) + end


@pytest.mark.parametrize("separator", [",", "\t", "::", ";", "|", " ", "||", ", ", "§", ":", "--"])
@pytest.mark.parametrize("header", [None, ("user", "item", "rating")])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_separators_headers_and_line_ends(write, separator, header, end):
    path = write(lines(separator, header=header, end=end))
    assert as_dicts(Ratings.read(path, FileOptions(separator=separator))) == EXPECTED
    if separator in {",", "\t", "::", ";", "|", " ", ", "}:
        assert as_dicts(Ratings.read(path)) == EXPECTED  # detected


@pytest.mark.parametrize(
    "header",
    [
        ("userId", "movieId", "rating"),
        ("user_id", "item_id", "Rating"),
        ("UID", "iid", "rating"),
        ("viewer.id", "film", "Stars"),
    ],
)
def test_usual_names_are_recognized(write, header):
    assert as_dicts(Ratings.read(write(lines(",", header=header)))) == EXPECTED


SNOW = {"\u96ea": {"\u65e5\u672c": 5.0}}
AS_READ = {
    "columns by name": (
        'time,"how much",what,who\n1,4.5,7,ann\n2,0,7,bob\n3,3,12,ann\n',
        {"user": "who", "item": "what", "rating": "how much"},
        EXPECTED,
    ),
    "columns by position": ("4.5,7,ann\n0,7,bob\n3,12,ann\n", {"user": 2, "item": 1, "rating": 0}, EXPECTED),
    "a header that is stated": (
        "a,b,c\nann,7,4.5\nbob,7,0\nann,12,3\n",
        {"header": True, "user": 0, "item": 1, "rating": 2},
        EXPECTED,
    ),
    "no header, though it looks like one": (
        "user,item,5\nann,item,4\n",
        {"header": False},
        {"ann": {"item": 4.0}, "user": {"item": 5.0}},
    ),
    "quoted fields": (
        'user,item,rating\n"Smith, Ann","the ""best""",5\n"two\nlines",x,4\n',
        {},
        {"Smith, Ann": {'the "best"': 5.0}, "two\nlines": {"x": 4.0}},
    ),
    "quotes between two-character separators": (
        '1::"Great::5\n2::"Great::4\n',
        {},
        {1: {'"Great': 5.0}, 2: {'"Great': 4.0}},
    ),
    "a separator that overlaps itself is cut from the left": ("a:::b::5\n", {}, {"a": {":b": 5.0}}),
    "a control character": ("a\x1fb::c::5\n", {}, {"a\x1fb": {"c": 5.0}}),
    "Latin-1": ("Zo\u00eb::Caf\u00e9::5\n", {"encoding": "latin-1"}, {"Zo\u00eb": {"Caf\u00e9": 5.0}}),
    **{
        name: ("\u96ea,\u65e5\u672c,5\n", {"encoding": name}, SNOW)
        for name in ("iso2022_jp", "utf-7", "utf-8-sig")
    },
}


@pytest.mark.parametrize(("text", "options", "expected"), AS_READ.values(), ids=AS_READ)
def test_what_is_read(write, text, options, expected):
    path = write(text.encode(options.get("encoding", "utf-8")))
    assert as_dicts(Ratings.read(path, FileOptions(**options))) == expected


def test_gzip_parquet_bom_blank_lines_and_no_last_line_end(write, tmp_path):
    text = lines(",", header=("user", "item", "rating"))
    assert as_dicts(Ratings.read(write(gzip.compress(text.encode())))) == EXPECTED
    assert as_dicts(Ratings.read(write(b"\xef\xbb\xbf" + text.encode()))) == EXPECTED
    assert as_dicts(Ratings.read(write("\n\n" + text.replace("\n", "\n\n").rstrip()))) == EXPECTED
    assert as_dicts(Ratings.read(write(text.encode("utf-16")), FileOptions(encoding="utf-16"))) == EXPECTED
    table = pa.table({"userId": ["ann", "bob", "ann"], "item": [7, 7, 12], "rating": [4.5, 0, 3]})
    parquet.write_table(table, tmp_path / "ratings.parquet")
    assert as_dicts(Ratings.read(tmp_path / "ratings.parquet")) == EXPECTED
    assert (
        as_dicts(Ratings.read(tmp_path / "ratings.parquet", FileOptions(user=0, rating="rating"))) == EXPECTED
    )


def test_json_lines(write):
    rows = [("ann", 7, 4.5, ["fine"]), ("bob", 7, 0, None), ("ann", 12, 3, [])]
    text = "\n".join(
        json.dumps(dict(zip(("userId", "asin", "overall", "tags"), row, strict=True))) for row in rows
    )
    for content in (text.encode(), b"\xef\xbb\xbf\n" + text.encode(), gzip.compress(text.encode())):
        assert as_dicts(Ratings.read(write(content), FileOptions(rating="overall"))) == EXPECTED
    assert as_dicts(Ratings.read(write('{"user": "ann", "item": 7}\n'))) == {"ann": {7: 1.0}}
    with pytest.raises(InputError, match=names("line 2", "'overall'")):
        Ratings.read(write(text.replace("0,", "null,")), FileOptions(rating="overall"))


@pytest.mark.parametrize(
    "text",
    [
        "[" + '{"user": 1}, ' * 20_000 + "]",
        '{"user": 1}\n{"user": ',
        '{"a": 1}\n[2]\n',
        '{"a": 1}\n{"a": "b"}',
        *('{"user": 1, "x": ' + a * 200_000 + "1" + b * 200_000 + "}" for a, b in ("[]", ('{"a": ', "}"))),
    ],
)
def test_other_json(write, text):
    with pytest.raises(InputError, match=names("input.csv", "JSON")) as caught:
        Ratings.read(write(text))
    assert len(str(caught.value)) < 1000


def test_ids_keep_their_type(write):
    path = write("user,item,rating\n1,007,5\n2,7,4\n")
    ratings = Ratings.read(path)
    assert ratings.users.tolist() == [1, 2]
    assert ratings.items.tolist() == ["007", "7"]


NAME = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Z"], exclude_characters='":,'), min_size=1
).filter(lambda text: not re.match(MISSING_ID, text))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
@given(
    st.dictionaries(st.tuples(NAME, NAME), st.sampled_from([0.5 * k for k in range(11)]), min_size=1),
    st.sampled_from([",", "::", "\t"]),
)
def test_what_is_written_is_read(write, triples, separator):
    rows = [separator.join((u, i, str(r))) for (u, i), r in triples.items()]
    ratings = Ratings.read(write("\n".join(rows)), FileOptions(separator=separator, header=False))
    read = {(str(u), str(i)): r for u in ratings.users for i, r in ratings[u].items()}
    assert read == triples


H = "user,item,rating\n"


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("", {}, names("input.csv")),
        (" \n\n", {}, names("input.csv")),
        (H, {}, names("input.csv")),
        (H + "a,1,5\nb,1,x\n", {}, names(3, "'rating'", "'x'")),
        ("a,1,5\nb,1,x\n", {}, names(2, 3, "'x'")),
        ("a;1;3.5\na;2;4,5\n", {}, names(2, 3, "'4,5'")),
        (H + "a,1,5\nb,1,1_000\n", {}, names(3, "'1_000'")),
        (H + "a,1,5\n\nb,1,\n", {}, names(4, "'rating'", 1, "'b'")),
        (H + "a,1,5\nb,1,NaN\n", {}, names(3)),
        (H + "a,1,5\nb,1,NA\n", {}, names(3)),
        (H + "a,1,-1\n", {}, names("input.csv", 2, "'rating'", -1, 1, "'a'")),
        (H + "a,1,-1\nb,1,-2\n", {}, names(2, 1)),
        (H + "a,1,inf\n", {}, names(2, "'rating'", "inf", 1, "'a'")),
        (H + "a,1,1e999\n", {}, names(2)),
        (H + "a,1,5\n,1,4\n", {}, names(3, "'user'")),
        (H + "a,1,5\nb, ,4\n", {}, names(3, "'item'")),
        (H + "a,1,5\nb,1,3\na,1,4\n", {}, names(2, 4, "'a'", 1, 5, 4, "duplicates", "last", "mean")),
        (H + '"x\ny",1,5\nb,1,-3\n', {}, names(4)),
        (H + "a,1,5\nb,1\n", {}, names("input.csv", 3, 2, "'b,1'")),
        (H + "a,1,5\nb,1,4,9\n", {}, names(3, 4)),
        ("user,item,given\na,1,5\n", {}, names("'rating'", "'user'", "'item'", "'given'")),
        ("users,item,rating\na,1,5\n", {}, names("'user'", "'users'", "user=")),
        ("from,to,stars\na,1,5\n", {}, names("'user'")),
        (H + "a,1,5\n", {"user": "usr"}, names("'usr'", "'user'", "user=")),
        ("user,user,item,rating\na,a,1,5\n", {}, names(2, "'user'")),
        ("a,1,5\n", {"user": 7}, names("input.csv", 3, 7, "separator", "user=")),
        ("a,1,5\n", {"user": 1}, names("user", "item", "rating")),
        ("a,1,5\n", {"user": "a", "header": False}, names("'a'", "user=")),
        ("a,1\nb,2\n", {"feedback": "explicit"}, names("separator")),
        ("a,1,5\n", {"separator": ";"}, names("input.csv", "'a,1,5'")),
        ("a,1,5\n", {"separator": ":::"}, names("separator")),
        ("a,1,5\n", {"separator": '"'}, names("separator")),
        (H.encode() + b"a,1,5\nZo\xeb,1,4\n", {}, names(3, "0xeb", "encoding", "latin-1")),
        ("a,1,5\n".encode("utf-16"), {}, names("encoding", "utf-16")),
        ("a,1,5\n", {"encoding": "klingon"}, names("encoding", "'klingon'", "latin-1")),
        (gzip.compress(b"a,1,5\n" * 99, mtime=0)[:-9], {}, names("gzip")),
        (b"PK\x03\x04abc", {}, names("zip")),
        (b"PAR1abc", {}, names("Parquet")),
        (H + "a,1,5\n", {"duplicates": "first"}, names("duplicates", "'first'", "error", "last", "mean")),
    ],
)
def test_every_defect_is_located(write, content, options, message):
    with pytest.raises(InputError, match=message) as caught:
        Ratings.read(write(content), FileOptions(**options))
    assert "\n" not in str(caught.value)


def test_missing_files_and_folders(write, tmp_path):
    write(H, "ratings.csv")
    with pytest.raises(InputError, match=names("rating.csv", "ratings.csv")):
        Ratings.read(tmp_path / "rating.csv")
    with pytest.raises(InputError, match=names("folder.csv")):
        Ratings.read(tmp_path / "no" / "such" / "folder.csv")
    with pytest.raises(InputError, match=tmp_path.name):
        Ratings.read(tmp_path)


def test_a_parquet_file_without_the_column(tmp_path):
    parquet.write_table(pa.table({"userId": [1], "thing": [2], "rating": [3.0]}), tmp_path / "r.parquet")
    with pytest.raises(InputError, match=names("'item'")):
        Ratings.read(tmp_path / "r.parquet")
    with pytest.raises(InputError, match=names(5)):
        Ratings.read(tmp_path / "r.parquet", FileOptions(item=5))


def test_reading_does_not_import_pandas(write):
    """Arrow imports it, where it is installed, for conversions that can be had without."""
    path = write(lines("::"))
    probe = f"from prefmover import Ratings; Ratings.read({str(path)!r}); import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert "pyarrow" in done.stdout.split()
    assert "pandas" not in done.stdout.split()


def test_pairs(write):
    path = write("rating;Film;who\n1;Alien;ann\n;Heat; bob\n")
    assert read_pairs(path) == (["ann", "bob"], ["Alien", "Heat"])
    assert read_pairs(path, FileOptions(user="Film", item="who")) == (["Alien", "Heat"], ["ann", "bob"])
    table = pa.table({"user": [1, 2], "item": ["a", "b"]})
    parquet.write_table(table, path)
    assert read_pairs(path) == (["1", "2"], ["a", "b"])
    with pytest.raises(InputError, match=names(3, "'item'")):
        read_pairs(write("user,item\n1,a\n2,\n"))
    with pytest.raises(InputError, match=names("'item'")):
        read_pairs(write("user,x\n1,a\n"))
