"""Files from the wild on the command line: their options, and nothing raw on the terminal."""

import inspect
import json
import re
import warnings

import pytest

from prefmover.cli import as_command
from prefmover.cli.evaluate import evaluate
from prefmover.items import features
from tests.messages import unnamed

ESCAPE = "evil\x1b[31mred\x9b2J\u202e"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def plays(here):
    (here / "plays.csv").write_text(
        "user,artist,plays\nann,x,3\nann,y,7\nbob,x,1\nbob,z,1023\ncid,y,3\ncid,z,1\n", encoding="utf-8"
    )
    return "plays.csv"


def test_counts_and_their_damping(run, plays):
    code, out, err = run("neighbors", "-r", plays, "-u", "ann", "-n", 2, "--json")
    assert code == 0
    assert {one["user"] for one in json.loads(out)["users"][0]["neighbors"]} == {"bob", "cid"}
    assert not unnamed(err, "'plays'", "6 interactions", "log", 10)
    assert not unnamed(run("neighbors", "-r", plays, "-u", "ann", "--damping", "none")[2], 1023, "none")
    code, _, err = run("neighbors", "-r", plays, "-u", "ann", "--feedback", "explicit")
    assert code == 2
    assert not unnamed(err, "plays.csv", "'rating'", "--rating-column")


def test_a_guest_of_implicit_data_names_what_they_know(run, plays):
    by_count = run("-q", "neighbors", "-r", plays, "--rated", "x=1", "--rated", "y=1")
    by_name = run("-q", "neighbors", "-r", plays, "--rated", "x", "--rated", "y")
    assert by_count[0] == 0
    assert by_count == by_name
    code, _, err = run("neighbors", "-r", plays, "--rated", "x=0")
    assert (code, unnamed(err, 0)) == (2, [])


def test_messages_name_options_of_the_command_line(run, here):
    (here / "r.csv").write_text("user,item,rating\na,x,0\nNULL,x,3\nb,x,5\n")
    code, _, err = run("neighbors", "-r", "r.csv", "-u", "b")
    assert (code, unnamed(err, "r.csv", 3, "NULL", "--on-bad-lines")) == (2, [])
    code, _, err = run("neighbors", "-r", "r.csv", "-u", "b", "--on-bad-lines", "skip", "--damping", "log")
    assert (code, unnamed(err, "--damping", "--feedback")) == (2, [])
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        code, _, err = run(
            "neighbors", "-r", "r.csv", "-u", "b", "--on-bad-lines", "warn", "--zeros", "missing"
        )
    assert code == 0
    assert not unnamed(err, "warning", "1 bad line", "1 of 2 rows")


def test_books_by_author(run, here):
    (here / "books.csv").write_text(
        "isbn,title,author\n1,Carrie,King\n2,Christine,King\n3,Emma,Austen\n4,Persuasion,Austen\n"
    )
    code, _, err = run("items", "near", "Carrie", "-i", "books.csv")
    assert (code, unnamed(err, "books.csv", "'author'", "--tag-column", "--text-column")) == (2, [])
    code, out, _ = run("items", "near", "Carrie", "-i", "books.csv", "--tag-column", "author", "-n", 1)
    assert code == 0
    assert re.search(r"0\.0000\s+Christine", out)
    weighted = ("--tag-column", "author", "--text-column", "title", "--column-weight", "title=0.5")
    code, _, err = run("items", "near", "Carrie", "-i", "books.csv", *weighted)
    assert code == 0
    assert not unnamed(err, "0.5 x text")
    code, _, err = run("items", "near", "Carrie", "-i", "books.csv", "--tag-column", "autor")
    assert (code, unnamed(err, "'autor'", "--tag-column 'author'")) == (2, [])
    code, _, err = run("items", "near", "Carrie", "-i", "books.csv", "--column-weight", "author")
    assert (code, unnamed(err, "'author'")) == (2, [])


def test_titles_are_looked_up_before_distances_are_computed(run, here, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("features were computed")

    monkeypatch.setattr(features, "from_tags", refuse)
    (here / "tags.csv").write_text("item,title,tags\n1,Alien,a\n2,Alien (1979),a\n3,Alien (1986),b\n")
    (here / "r.csv").write_text("user,item,rating\na,1,4\nb,2,3\nb,9,3\n")
    code, _, err = run("items", "near", "Nobody", "-i", "tags.csv")
    assert (code, unnamed(err, "'Nobody'")) == (2, [])
    for options, words in (
        ((), (9, "--missing")),
        (("--missing", "far", "--rated", "Nobody=4"), ("Nobody",)),
    ):
        source = ("-r", "r.csv", "-i", "tags.csv", *(options or ("--user", "a")))
        code, _, err = run("neighbors", *source)
        assert (code, unnamed(err, *words)) == (2, [])


def test_neighbors_that_mean_nothing_are_called_so(run, here):
    (here / "r.csv").write_text("user,item,rating\n" + "".join(f"u{k},i{k},{k % 5 + 1}\n" for k in range(9)))
    (here / "t.csv").write_text("item,tag\n" + "".join(f"i{k},t{k}\n" for k in range(9)))
    code, out, err = run("neighbors", "-r", "r.csv", "-i", "t.csv", "-u", "u0", "-n", 4)
    assert code == 0
    assert out.count("1.5708") == 4
    assert not unnamed(err, "u0", "nobody")
    (here / "t.csv").write_text("item,tag\n" + "".join(f"i{k},t{k // 3}\n" for k in range(9)))
    assert unnamed(run("neighbors", "-r", "r.csv", "-i", "t.csv", "-u", "u0", "-n", 4)[2], "nobody")


def test_nothing_raw_reaches_the_terminal(run, here):
    rows = "".join(f'"{ESCAPE}{k}","film\x1b]0;title\x07{k % 3}",{k % 5 + 1}\n' for k in range(6))
    (here / "r.csv").write_text('user,item,rating\n"two\nlines",film,4\n' + rows, encoding="utf-8")
    outputs = [
        run("neighbors", "-r", "r.csv", "-u", "two\nlines", "-n", 6),
        run("neighbors", "-r", "r.csv", "-u", "two\nlines", "-n", 6, "--json"),
        run("neighbors", "-r", "r.csv", "-u", f"{ESCAPE}9"),
        run("items", "near", f"{ESCAPE}", "-r", "r.csv"),
        run("items", "near", "film", "-r", "r.csv"),
    ]
    assert [code for code, *_ in outputs] == [0, 0, 2, 2, 0]
    for _, out, err in outputs:
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", out + err)
    lines = outputs[0][1].splitlines()
    assert len(lines) == 6
    assert all(r"evil\x1b[31mred" in line for line in lines)
    assert any(ESCAPE in one["user"] for one in json.loads(outputs[1][1])["users"][0]["neighbors"])
    assert r"two\nlines: 1 rating" in outputs[0][2]


def test_evaluate_has_the_options_of_the_files():
    groups = as_command(evaluate).option_groups.values()
    options = {name for kind in groups for name in inspect.get_annotations(kind)}
    advised = "missing encoding separator duplicates scale feedback damping zeros on_bad_lines"
    columns = (
        "id_column user_column item_column rating_column title_column tag_column text_column column_weight"
    )
    assert not {*advised.split(), *columns.split()} - options


@pytest.mark.slow
def test_evaluate_reads_what_the_other_verbs_read(run, here):
    rows = "".join(
        f'"{u}";"{i}";"{(u * i) % 5 + 1 if (u + i) % 4 else 0}"\n' for u in range(9) for i in range(8)
    )
    (here / "BX.csv").write_text('"User-ID";"ISBN";"Book-Rating"\n' + rows + '"broken"\n', encoding="latin-1")
    books = "ISBN;Book-Title;Book-Author\n" + "".join(f"{i};Bücher {i};Ann {i % 3}\n" for i in range(8))
    (here / "books.csv").write_text(books, encoding="latin-1")
    source = ("-r", "BX.csv", "-i", "books.csv", "--encoding", "latin-1", "--on-bad-lines", "skip")
    source += ("--zeros", "missing", "--tag-column", "Book-Author")
    settings = ("--recommenders", "knn:pmd", "--repeats", 1, "--ks", 2, "--no-report")
    code, _, err = run("evaluate", *source, *settings, "--out", "run")
    assert code == 0, err
    assert not unnamed(err, "1 bad line", "'Book-Author'", "18 of 72")
