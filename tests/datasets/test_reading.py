"""Published files, whose columns are known."""

import pytest

from prefmover.datasets.folders import Files
from prefmover.datasets.reading import Layout
from prefmover.errors import InputError
from tests.messages import names

LINES = Layout({"user": "int", "note": None, "title": "text", "rating": "float"}, "::", header=False)


def test_a_layout():
    columns, origin = LINES.parse(b'1::x::"A::2.5\r\n\r\n2::y::\x1f"B::3\r\n', "a.dat")
    assert columns["user"].tolist() == [1, 2]
    assert columns["title"] == ['"A', '\x1f"B']
    assert columns["rating"].tolist() == [2.5, 3.0]
    assert "note" not in columns
    assert origin.at(1, "rating") == "a.dat, line 3, column 'rating'"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (b"1::x::A::2.5\n2::y::B\n", (2, 3, 4)),
        (b"1::x::A::2.5\n2::y::B::high\n", (2, "'rating'", "'high'")),
        (b"1::x::A::2.5\n2::y::B::\n", (2, "'rating'")),
        (b"1::x::A::2.5\n2.5::y::B::1\n", (2, "'user'", "'2.5'")),
        (b"1,x,A,2.5\n", (1, 4, "commas")),
        (b"1::x::A::2.5\nuser::note::title::rating\n", (2, "'user'", "header")),
        (b"1::x::\xe9::2.5\n", (1, "0xe9", "latin-1")),
        (b"", (0,)),
    ],
)
def test_a_layout_names_the_defect(text, named):
    with pytest.raises(InputError, match=names("a.dat", *named)):
        LINES.parse(text, "a.dat")


def test_a_layout_with_a_header_and_quotes():
    layout = Layout({"id": "int", "name": "text"})
    columns, origin = layout.parse(b'id,name\n1,"a\nb, c"\n2,d\n', "a.csv")
    assert columns["name"] == ["a\nb, c", "d"]
    assert origin.at(1) == "a.csv, line 4"
    with pytest.raises(InputError, match=names("a.csv", 1, "id,name")):
        layout.parse(b"1,a\n2,b\n", "a.csv")
    with pytest.raises(InputError, match=names("a.csv")):
        layout.parse(b"id,name\n", "a.csv")


def test_latin_1_unless_it_is_utf_8():
    layout = Layout({"id": "int", "name": "text"}, "|", header=False, encoding="mixed")
    for encoding in ("latin-1", "utf-8", "utf-8-sig"):
        columns, _ = layout.parse("1|\u00e9t\u00e9\n".encode(encoding), "a")
        assert columns["name"] == ["\u00e9t\u00e9"]


def test_blocks(tmp_path):
    layout = Layout({"id": "int", "x": "float"}, "\t")
    text = b"id\tx\n" + b"".join(b"%d\t%d.5\n" % (k, k) for k in range(600_000))
    (tmp_path / "a.tsv").write_bytes(text + b"\n")
    files = Files.open(tmp_path, ["a.tsv"])
    blocks = list(layout.blocks(files, "a.tsv"))
    assert len(blocks) > 1
    assert sum(columns["x"].sum() for columns, _ in blocks) == sum(k + 0.5 for k in range(600_000))
    columns, origin = blocks[-1]
    assert origin.at(len(columns["id"]) - 1).endswith("line 600,001")
    (tmp_path / "a.tsv").write_bytes(text + b"1\t\xff\n")
    with pytest.raises(InputError, match=names("a.tsv", "600,002", "'x'", "'\u00ff'")):
        list(layout.blocks(files, "a.tsv"))
