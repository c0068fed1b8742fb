"""``prefmover data`` and ``prefmover items``: what is printed, and the exit code of errors."""

import json
import re

import pytest

from prefmover.datasets import SOURCES, folders
from tests.messages import names


@pytest.fixture
def run(run, tmp_path, monkeypatch):
    monkeypatch.delenv("PREFMOVER_DATA", raising=False)
    monkeypatch.setenv("PREFMOVER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(folders, "data_folder", lambda: tmp_path / "data")
    return run


@pytest.fixture
def tags_folder(tmp_path):
    home = tmp_path / "copy"
    home.mkdir()
    (home / "tags.csv").write_text("movieId,tag,count,source\n1,dark,2,us\n")
    return home


def test_list(run):
    code, out, err = run("data", "list")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == ["cinema", "synthetic", *SOURCES]
    assert "data get" in err
    rows = json.loads(run("data", "list", "--json")[1])
    assert rows[0] == {"name": "cinema", "title": "built in", "path": "built in"}


def test_a_damaged_archive_does_not_hide_the_others(run, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "ml-1m.zip").write_bytes(b"PK, or not")
    code, out, _ = run("data", "list")
    assert code == 0
    assert "ml-1m.zip" in out
    assert "ml-32m" in out


def test_add_and_path(run, tmp_path, tags_folder):
    assert run("data", "path")[1].strip() == str(tmp_path / "data")
    code, _, err = run("data", "path", "movie-tags")
    assert code == 2
    assert "movie-tags" in err
    code, out, err = run("data", "add", "movie-tags", "--from", str(tags_folder))
    assert (code, out.strip()) == (0, str(tmp_path / "data" / "movie-tags"))
    assert run("data", "path", "movie-tags")[1].strip() == out.strip()
    done = json.loads(run("data", "add", "movie-tags", "--from", str(tags_folder), "--link", "--json")[1])
    assert done["verified"] == "contents"
    assert run("data", "get", "movie-tags")[2].count("already installed") == 1


def test_terms_are_shown_before_data_are_used(run, tmp_path, monkeypatch):
    from dataclasses import replace

    source = replace(SOURCES["movietweetings"], counts=None)
    monkeypatch.setitem(SOURCES, "movietweetings", source)
    copy = tmp_path / "elsewhere" / "movietweetings-100k"
    copy.mkdir(parents=True)
    (copy / "ratings.dat").write_text("1::0111161::0::9\n1::1853728::7::9\n2::0111161::8::9\n")
    (copy / "movies.dat").write_text("0111161::A (1994)::Crime\n1853728::B (2012)::Western\n")
    monkeypatch.setenv("PREFMOVER_DATA", str(tmp_path / "elsewhere"))
    verb = ("neighbors", "--dataset", "movietweetings", "--user", "1", "-n", "1")
    code, _, err = run(*verb)
    assert code == 0
    assert source.terms in err
    monkeypatch.delenv("PREFMOVER_DATA")
    code, _, err = run("data", "add", "movietweetings", "--from", str(copy))
    assert code == 0
    assert source.terms in err
    assert source.citation in err
    assert source.terms not in run(*verb)[2]  # shown when it was installed


def test_errors_are_one_line(run, tmp_path):
    for args in (
        ("data", "get", "cinema"),
        ("data", "get", "ml1m"),
        ("data", "path", "cinema"),
        ("data", "add", "ml-1m", "--from", str(tmp_path / "none")),
        ("items", "near", "No Such Film", "-d", "cinema"),
        ("items", "near", "x", "--items", str(tmp_path / "none.csv")),
    ):
        code, out, err = run(*args)
        assert (code, out, len(err.splitlines())) == (2, "", 1), args


def test_near(run):
    code, out, err = run("items", "near", "alien", "-d", "cinema", "-n", "3")
    assert code == 0
    assert len(out.splitlines()) == 3
    assert "Aliens (1986)" in out
    assert "Alien (1979)" in err
    found = json.loads(run("items", "near", "Alien", "-d", "cinema", "--json")[1])
    assert found["item"] == "alien-1979"
    assert len(found["near"]) == 10


def test_summary(run):
    code, out, _ = run("items", "summary", "-d", "cinema")
    assert code == 0
    assert "cinema" in out
    assert json.loads(run("items", "summary", "-d", "cinema", "--json")[1])["metric"] == "yes"


def test_a_table_of_ones_own(run, tmp_path):
    table = tmp_path / "cheese.csv"
    table.write_text(
        "\ufeffid,name,genres,tags,text\r\n"
        '7,Brie,soft,cow|france,"White rind, creamy."\r\n'
        "8,Camembert,soft,cow|france,White rind and creamy\r\n"
        "9,Manchego,hard,sheep|spain,Firm\r\n",
        encoding="utf-8",
    )
    code, out, err = run("items", "near", "brie", "--items", str(table))
    assert code == 0
    assert "Camembert" in out.splitlines()[0]
    assert "cheese.csv" in err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,genres\nBrie,soft\n", names(1, "'item'")),
        ("item,title\n1,Brie\n", names("genres", "tags", "text")),
        ("item,genres\n", names("t.csv")),
        ("item,genres\n1,soft,x\n", names(2, 3)),
        ("item,genres,year\n1,soft,old\n", names("'year'", "'old'")),
        ("item,genres\n1,\n", names("t.csv")),
        ("item,title,genres\n1,x,a\n1,y,b\n", names("'1'")),
    ],
)
def test_bad_tables(run, tmp_path, text, message):
    (tmp_path / "t.csv").write_text(text)
    code, _, err = run("items", "near", "1", "--items", str(tmp_path / "t.csv"))
    assert code == 2
    assert re.search(message, err)
