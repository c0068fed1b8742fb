"""Files as people have them: odd names, half stars, text for ids, tags, BOM, quoted commas."""

import csv
import json

import numpy as np
import pytest

import prefmover as pm
from tests.messages import unnamed

pytestmark = pytest.mark.slow

FILMS = {
    "Alien": "space, monster",
    "Aliens": "space, war, monster",
    "Amélie": "romance, Paris",
    "Clueless": "romance, school",
    "Crouching Tiger, Hidden Dragon": "martial arts, romance",
    "Heat": "crime, city",
    'The "Burbs"': "comedy, suburb",
}
PEOPLE = ["Zoë K.", "ann-lee", "Bob O'Neil", "007", *(f"viewer {k}" for k in range(12))]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    films = list(FILMS)
    with open("my ratings.csv", "w", newline="", encoding="utf-8-sig") as file:
        rows = csv.writer(file, delimiter=";")
        rows.writerow(["Customer Name", "When", "Film Title", "Your Rating"])
        for who in PEOPLE:
            for k in rng.choice(len(films), 4, replace=False):
                rows.writerow([who, "2024-01-10", films[k], rng.integers(1, 11) / 2])
        rows.writerow(["Zoë K.", "2024-01-11", "Ronin", "4.5"])
    with open("keywords.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("Film Title", "Keywords"), *FILMS.items()])
    return tmp_path


SOURCE = ("--ratings", "my ratings.csv", "--items", "keywords.csv", "--missing", "far")


def test_who_is_like_them_why_and_what_should_they_watch(run):
    code, out, err = run("neighbors", *SOURCE, "--user", "Zoë K.", "-n", 3, "--json")
    assert code == 0
    assert not unnamed(err, "'Customer Name'", "'Film Title'", "'Your Rating'", "'Keywords'")
    nearest = json.loads(out)["users"][0]["neighbors"][0]["user"]
    data = pm.Dataset.from_files("my ratings.csv", ["keywords.csv"], options=pm.FileOptions(missing="far"))
    assert nearest == pm.nearest(data)["Zoë K."][0].user
    code, out, _ = run("explain", *SOURCE, "--user", "Zoë K.", "--other", nearest)
    assert code == 0
    assert "↔" in out
    code, out, _ = run("recommend", *SOURCE, "--user", "Zoë K.", "-n", 2)
    assert code == 0
    assert out.strip()


@pytest.mark.filterwarnings("default")  # which the command line shows as a line
def test_items_that_the_tags_do_not_know(run):
    files = SOURCE[:4]
    code, out, err = run("neighbors", *files, "--user", "007")
    assert (code, out) == (2, "")
    assert not unnamed(err, 1, 8, 65, "--missing", "drop", "far")
    assert "'Ronin'" in err
    code, _, err = run("neighbors", *files, "--missing", "drop", "--user", "007")
    assert code == 0
    assert "'Ronin'" in err


def test_columns_by_option(run):
    with open("odd.tsv", "w") as file:
        file.write("a\tb\tc\n" + "".join(f"{who}\t{film}\t3\n" for who in "uvw" for film in list(FILMS)[:2]))
    code, _, err = run("distance", "-r", "odd.tsv", "-u", "u", "--other", "v")
    assert code == 2
    assert "--user-column" in err
    names = ("--user-column", "a", "--item-column", "b", "--rating-column", "c")
    code, out, _ = run("distance", "-r", "odd.tsv", *names, "-u", "u", "--other", "v")
    assert (code, float(out)) == (0, 0.0)


def test_a_scale_that_nobody_used_the_ends_of(run):
    guest = ("recommend", *SOURCE, "--rated", "Alien=0", "--rated", "Heat=10", "-n", 1)
    code, _, err = run(*guest)
    assert (code, not unnamed(err, 0.5, 5)) == (2, True)
    assert run(*guest, "--scale", "0:10:0.5")[0] == 0
    code, _, err = run(*guest, "--scale", "5")
    assert (code, "'5'" in err) == (2, True)


def test_other_encodings(run):
    with open("my ratings.csv", encoding="utf-8-sig") as file:
        text = file.read()
    with open("latin.csv", "w", encoding="latin-1", newline="") as file:
        file.write(text)
    code, _, err = run("neighbors", "-r", "latin.csv", "-u", "007")
    assert code == 2
    assert not unnamed(err, "--encoding", "latin-1")
    assert run("neighbors", "-r", "latin.csv", "--encoding", "latin-1", "-u", "Zoë K.")[0] == 0


def test_rated_twice(run):
    with open("my ratings.csv", "a", encoding="utf-8") as file:
        file.write("Zoë K.;2024-02-02;Ronin;1\r\n")
    code, _, err = run("neighbors", *SOURCE, "-u", "007")
    assert code == 2
    assert not unnamed(err, "--duplicates", "last")
    assert run("neighbors", *SOURCE, "--duplicates", "mean", "-u", "007")[0] == 0


@pytest.mark.filterwarnings("default")
def test_items_by_id_and_ratings_by_title(run):
    with open("catalog.csv", "w", newline="", encoding="utf-8") as file:
        rows = [(k, film, tags) for k, (film, tags) in enumerate(FILMS.items())]
        csv.writer(file).writerows([("id", "title", "genres"), *rows])
    source = ("-r", "my ratings.csv", "-i", "catalog.csv", "--missing", "drop")
    code, out, err = run("recommend", *source, "--user", "007", "-n", 1)
    assert code == 0
    assert "'title'" in err
    assert out.splitlines()[0][8:].split("  (")[0] in FILMS


def test_titles_find_items_whatever_the_accents(run):
    found = json.loads(
        run("recommend", *SOURCE, "--rated", "amelie=5", "--rated", "burbs=2", "-n", 1, "--json")[1]
    )
    assert found["recommendations"][0]["item"] not in ("Amélie", 'The "Burbs"')
    code, _, err = run("recommend", *SOURCE, "--rated", "alie=5")
    assert code == 2
    assert not unnamed(err, "[Alien]", "[Aliens]")
