"""What can be wrong with a command line: exit code 2, one line that says what to do, nothing written."""

import re

import pytest

from tests.messages import names

pytestmark = pytest.mark.usefixtures("in_shop")

FILES = ("-r", "ratings.csv", "-i", "tags.csv")
MODEL = ("-m", "my-model")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        # which data
        (("neighbors", "-u", 42), names("--model", "--dataset", "--ratings")),
        (("neighbors", *FILES, *MODEL, "-u", 42), names("--model", "--ratings")),
        (("neighbors", *MODEL, "--items", "tags.csv", "-u", 42), names("--items", "--ratings")),
        (("distance", "-d", "cinema", "--user-column", "x", "-u", 1, "--other", 2), names("--user-column")),
        (("recommend", "-m", "nowhere", "-u", "x"), names("nowhere")),
        (("recommend", "-m", ".", "-u", "x"), names("header.json")),
        (("predict", "-r", "rating.csv", "-u", 1, "--item", "x"), names("rating.csv", "ratings.csv")),
        (
            ("explain", "-r", "ratings.csv", "-i", "tag.csv", "-u", 1, "--other", 2),
            names("tag.csv", "tags.csv"),
        ),
        (("neighbors", *FILES, "--separator", "abc", "-u", 42), names("'abc'")),
        (("fit", *FILES, "--user-column", "x", "-o", "m"), names("'x'", "--user-column", "'userId'")),
        (("data", "add", "ml-1m", "--from", "tags.csv"), names("tags.csv")),
        (("report", "."), names("experiment.json")),
        (("neighbors", *FILES, "--encoding", "utf-9", "-u", 42), names("'utf-9'")),
        # who and what
        (("neighbors", *FILES), names("--user", "--rated", "--all")),
        (("neighbors", *FILES, "-u", 42, "--all"), names("--user", "--rated", "--all")),
        (("neighbors", *FILES, "-u", 42, "--method", "candidates"), names("--method", "--all")),
        (("neighbors", *FILES, "--all", "-o", "all.csv", "--recall", 0.9), names("--recall", "--method")),
        (
            ("neighbors", *FILES, "--all", "-o", "all.csv", "--method", "candidates", "--recall", 2),
            names(2.0),
        ),
        (
            ("neighbors", *FILES, "--all", "-o", "a.csv", "--method", "candidates", "--measure", "cos"),
            names("candidates", "PMD"),
        ),
        (("neighbors", *FILES, "-u", 4200), names(4200, 60)),
        (("neighbors", *FILES, "-u", "bob"), names("'bob'")),
        (("neighbors", *FILES, "--rated", "Alien"), names("--rated", "'Alien'")),
        (("neighbors", *FILES, "--rated", "Alien=x"), names("--rated", "'Alien=x'")),
        (("neighbors", *FILES, "--rated", "Alein=5"), names("'Alien'")),
        (("neighbors", *FILES, "--rated", "Alien=5", "--rated", "alien=4"), names("Alien")),
        (("recommend", *FILES), names("--user", "--rated", "--all")),
        (("recommend", *FILES, "-u", 42, "--all", "-o", "all.csv"), names("--user", "--rated", "--all")),
        (("recommend", *FILES, "-u", 4200), names(4200)),
        (("recommend", *FILES, "-u", 42, "--item", "Zardoz"), names("'Zardoz'")),
        (("recommend", *FILES, "-u", 42, "--exclude", "Zardoz"), names("'Zardoz'")),
        (("recommend", *FILES, "-u", 42, "--item-file", "none.txt"), names("--item-file", "none.txt")),
        (("recommend", *FILES, "-u", 42, "--where", "color=red"), names("'color'", "year", "genre", "title")),
        (("recommend", *FILES, "-u", 42, "--where", "genre=space"), names("genre")),
        (("recommend", *FILES, "-u", 42, "--where", "space"), names("'space'")),
        (("recommend", *FILES, "-u", 42, "--where", "genre>space"), names("genre=space")),
        (("recommend", *FILES, "-u", 42, "--min-ratings", 1000), names("min_ratings")),
        (("recommend", *FILES, "-u", 42, "--item", "Alien", "--exclude", "Alien"), names("items", "exclude")),
        (("recommend", *FILES, "-u", 42, "--rated", "Alien=5"), names("--user", "--rated")),
        (("recommend", *FILES, "--rated", "Alien=9"), names(0.5, 5)),
        (("predict", *FILES, "-u", 42), names("--user", "--item", "--pairs")),
        (("predict", *FILES, "--item", "Alien"), names("--user", "--item", "--pairs")),
        (
            ("predict", *FILES, "-u", 42, "--item", "Alien", "--pairs", "pairs.csv"),
            names("--user", "--item", "--pairs"),
        ),
        (("predict", *FILES, "-u", 42, "--item", "Zardoz"), names("'Zardoz'")),
        (("predict", *FILES, "--pairs", "tags.csv"), names("'user'")),
        (("predict", *FILES, "--pairs", "none.csv"), names("none.csv")),
        (("explain", *FILES, "-u", 42), names("--other", "--item")),
        (("explain", *FILES, "-u", 42, "--other", 7, "--item", "Alien"), names("--other", "--item")),
        # how
        (("neighbors", *FILES, "-u", 42, "--convention", "median"), names("'pmd'", "'median'", "table-1")),
        (("neighbors", *FILES, "--all"), names("--out")),
        (("recommend", *FILES, "--all"), names("--out")),
        (("recommend", *FILES, "-u", 42, "--executor", "ray"), names("--executor", "--all")),
        (("neighbors", *FILES, "-u", 42, "--executor", "ray"), names("--executor", "--all")),
        (("fit", *FILES, "-o", "m", "--paper", "--weight", "heavy"), "heavy"),
        (("fit", *FILES, "-o", "m", "--k", 20), names("--k", "--model-type", "knn", "--paper")),
        (("fit", *FILES, "-o", "m", "--shrinkage", 0), names("--shrinkage", "--model-type", "knn")),
        (("fit", *FILES, "-o", "m", "--model-type", "default", "--centering", "mean"), names("--centering")),
        (("fit", *FILES, "-o", "m", "--model-type", "knn", "--landmarks", 9), names("--landmarks")),
        (("fit", *FILES, "-o", "m", "--paper", "--model-type", "default"), names("--paper", "--model-type")),
        (("neighbors", *FILES, "-u", 42, "--address", "auto"), names("--address", "--executor")),
        (("recommend", *MODEL, "-u", 42, "--measure", "cos"), names("--measure")),
        (("recommend", *MODEL, "-u", 42, "--refit"), names("--refit")),
        (("recommend", *MODEL, "-u", 42, "--model-type", "knn"), names("--model-type")),
        (("explain", *MODEL, "-u", 42, "--other", 7, "--centering", "mean"), names("--centering")),
        (("explain", *FILES, "-u", 42, "--other", 7, "--paper"), names("--paper")),
        (("distance", "-r", "zeros.csv", "-u", "ann", "--other", "bob"), names("'ann'")),
        # where to
        (("fit", *FILES, "-o", "tags.csv"), names("tags.csv")),
        (("neighbors", *FILES, "--all", "-o", "out.txt"), names(".csv", ".parquet")),
        (("neighbors", *FILES, "--all", "-o", "no/out.csv"), names("no")),
        (("recommend", *FILES, "--all", "-o", "no/out.csv"), names("no")),
        (("recommend", *FILES, "--all", "-o", "out.txt"), names(".csv", ".parquet")),
        (("predict", *MODEL, "--pairs", "pairs.csv", "-o", "p.json"), names(".csv", ".parquet")),
        (
            ("explain", *FILES, "-u", 42, "--other", 7, "--picture", "plan.jpg"),
            names("--picture", "'plan.jpg'"),
        ),
        (("explain", *FILES, "-u", 42, "--other", 7, "--html", "plan.txt"), names("--html", "'plan.txt'")),
        (("explain", *FILES, "-u", 42, "--item", "Alien", "--picture", "p.png"), names("--picture")),
        (("explain", *FILES, "-u", 42, "--other", 7, "--measure", "cos", "--picture", "p.png"), names("PMD")),
        (("items", "near", "Alien", "-d", "cinema", "-i", "tags.csv"), names("--items", "--dataset")),
        (("items", "near", "Alien"), names("--model", "--dataset", "--ratings")),
        (("serve",), names("--model", "--dataset", "--ratings")),
        (("serve", "-d", "cinema", "--items", "tags.csv"), names("--items", "--dataset")),
    ],
)
def test_bad_command_lines(run, in_shop, args, message):
    (in_shop / "zeros.csv").write_text("user,item,rating\nann,x,0\nann,y,0\nbob,x,3\nbob,z,5\n")
    before = sorted(path.name for path in in_shop.rglob("*"))
    code, out, err = run(*args)
    assert (code, out) == (2, "")
    assert re.search(message, err)
    assert err.splitlines()[-1].startswith("prefmover: ")
    assert "Traceback" not in err
    assert sorted(path.name for path in in_shop.rglob("*")) == before


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("neighbors", *FILES, "-u", 42, "-n", 0), "'-n'"),
        (("neighbors", *FILES, "-u", 42, "-n", "ten"), "'-n'"),
        (("neighbors", *FILES, "-u", 42, "--threads", 0), "'--threads'"),
        (("recommend", *FILES, "-u", 42, "-n", -1), "'-n'"),
        (("recommend", *FILES, "-u", 42, "-n", 0), "'-n'"),
        (("recommend", *FILES, "-u", 42, "--by", "stars"), "'stars'.*"),
        (("recommend", *FILES, "-u", 42, "--novelty", 2), "'--novelty'"),
        (("recommend", *FILES, "-u", 42, "--diversify", -1), "'--diversify'"),
        (("fit", *FILES), "--out"),
        (("distance", *FILES, "-u", 42), "--other"),
        (("neighbors", *FILES, "--usr", 42), "--usr"),
        (("data", "get", "ml-1m", "--forced"), names("--forced", "--force")),
        (("neighbours", *FILES), "'neighbors'"),
        (("recommend", "-d", "cinma", "-u", "x"), "'cinma'.*'cinema'"),
        (("neighbors", *FILES, "--duplicates", "first", "-u", 42), "'first'.*'last'"),
        (("neighbors", *FILES, "--missing", "no", "-u", 42), "'no'.*'drop'"),
        (("neighbors", *FILES, "-u", 42, "--measure", "pdm"), "'pdm'.*'pmd'"),
        (("neighbors", *FILES, "-u", 42, "--convention", "tabel-1"), "'tabel-1'.*'table-1'"),
        (("neighbors", *FILES, "-u", 42, "--executor", "spark"), "'spark'.*'ray'"),
        (("distance", *FILES, "-u", 42, "--other", 7, "--measure", "none"), "'none'.*'all'"),
        (("fit", *FILES, "-o", "m", "--model-type", "magic"), "'magic'.*'knn'"),
        (("fit", *FILES, "-o", "m", "--paper", "--centering", "median"), "'median'.*'z-score'"),
        (("evaluate", "-d", "cinema", "--protocol", "none", "-o", "x"), "'none'.*'k-fold'"),
    ],
)
def test_options_that_typer_checks(run, args, message):
    code, out, err = run(*args)
    assert (code, out) == (2, "")
    assert re.search(message, err)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("ratings.csv", "", names("ratings.csv")),
        ("ratings.csv", "userId,film,stars\n", names("ratings.csv")),
        ("ratings.csv", "userId,film,stars\n1,Alien,x\n", names("ratings.csv", 2, "'stars'", "'x'")),
        ("ratings.csv", "userId,film,stars\n1,Alien,3\n1,Alien\n", names("ratings.csv", 3)),
        ("ratings.csv", "userId,film,stars\n1,Alien,-3\n", names("ratings.csv", 2)),
        ("ratings.csv", "userId,film,stars\n,Alien,3\n", names("ratings.csv", 2)),
        ("tags.csv", "", names("tags.csv")),
        ("tags.csv", "film,tag\n", names("tags.csv")),
        ("tags.csv", "film,tag\n,space\n", names("tags.csv", 2, "'film'")),
        ("tags.csv", "film,tag\nAlien,space,x\n", names("tags.csv", 2, 3)),
        ("tags.csv", "film,tag,count\nAlien,a,1\nAlien,b,no\n", names("tags.csv", 3, "'count'", "'no'")),
        ("tags.csv", "film,tag\nKane,space\n", names("tags.csv")),
        ("tags.csv", "film,x,y\nAlien,1,2\nAliens,1,b\n", names(3, "'y'", "'b'")),
        ("tags.csv", "film,color\nAlien,blue\n", names("genres", "tags", "text")),
        ("tags.csv", "a,b\nAlien,blue\n", names("'item'", "'a'", "'b'")),
        ("pairs.csv", "user,item\n42,\n", names("pairs.csv", 2, "'item'")),
        ("pairs.csv", "user\n42\n", "pairs.csv"),
    ],
)
def test_bad_files_are_named(run, in_shop, name, text, message):
    (in_shop / name).write_text(text)
    args = (
        ("predict", *FILES, "--pairs", "pairs.csv") if name == "pairs.csv" else ("neighbors", *FILES, "-u", 1)
    )
    code, out, err = run(*args)
    assert (code, out) == (2, "")
    assert re.search(message, err)
    assert err.splitlines()[-1].startswith("prefmover: ")
    assert "Traceback" not in err


def test_a_damaged_model(run, in_shop):
    for path in (in_shop / "my-model").glob("arrays-*"):
        path.write_bytes(path.read_bytes()[:-8])
    code, _, err = run("recommend", *MODEL, "-u", 42)
    assert code == 2
    assert re.search(r"arrays-\w+", err)
    assert "Traceback" not in err
