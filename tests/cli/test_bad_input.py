"""What can be wrong with a command line: exit code 2, one line that says what to do, nothing written."""

import pytest

pytestmark = pytest.mark.usefixtures("in_shop")

FILES = ("-r", "ratings.csv", "-i", "tags.csv")
MODEL = ("-m", "my-model")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        # which data
        (("neighbors", "-u", 42), "say which data: one of --model FOLDER, --dataset NAME or --ratings FILE"),
        (("neighbors", *FILES, *MODEL, "-u", 42), "--model and --ratings are given"),
        (("neighbors", *MODEL, "--items", "tags.csv", "-u", 42), "--items belongs to --ratings"),
        (("distance", "-d", "cinema", "--user-column", "x", "-u", 1, "-v", 2), "--user-column belongs to"),
        (("recommend", "-d", "cinma", "-u", "x"), "cinema"),
        (("recommend", "-m", "nowhere", "-u", "x"), "there is no folder nowhere"),
        (("recommend", "-m", ".", "-u", "x"), "is not a model of prefmover"),
        (("predict", "-r", "rating.csv", "-u", 1, "--item", "x"), "did you mean ratings.csv?"),
        (("explain", "-r", "ratings.csv", "-i", "tag.csv", "-u", 1, "-v", 2), "did you mean tags.csv?"),
        (("neighbors", *FILES, "--separator", "abc", "-u", 42), "separator 'abc' will not do"),
        (("neighbors", *FILES, "--encoding", "utf-9", "-u", 42), "unknown encoding 'utf-9'"),
        (("neighbors", *FILES, "--duplicates", "first", "-u", 42), "first"),
        (("neighbors", *FILES, "--missing", "no", "-u", 42), "choose"),
        # who and what
        (("neighbors", *FILES), "say whose neighbours"),
        (("neighbors", *FILES, "-u", 42, "--all"), "say whose neighbours"),
        (("neighbors", *FILES, "-u", 4200), "there is no user 4200; close: 60"),
        (("neighbors", *FILES, "-u", "bob"), "there is no user 'bob'; user ids are integers here"),
        (("neighbors", *FILES, "--rated", "Alien"), "--rated is 'Alien'; give an item and its rating"),
        (("neighbors", *FILES, "--rated", "Alien=x"), "--rated is 'Alien=x'"),
        (("neighbors", *FILES, "--rated", "Alein=5"), "did you mean 'Alien'"),
        (("neighbors", *FILES, "--rated", "Alien=5", "--rated", "alien=4"), "Alien is given twice"),
        (("recommend", *FILES), "say to whom"),
        (("recommend", *FILES, "-u", 42, "--rated", "Alien=5"), "say to whom"),
        (("recommend", *FILES, "--rated", "Alien=9"), "the scale is 0.5 to 5"),
        (("predict", *FILES, "-u", 42), "say which pairs"),
        (("predict", *FILES, "--item", "Alien"), "say which pairs"),
        (("predict", *FILES, "-u", 42, "--item", "Alien", "--pairs", "pairs.csv"), "say which pairs"),
        (("predict", *FILES, "-u", 42, "--item", "Zardoz"), "no title among 8 items"),
        (("predict", *FILES, "--pairs", "tags.csv"), "no column 'user'"),
        (("predict", *FILES, "--pairs", "none.csv"), "there is no file none.csv"),
        (("explain", *FILES, "-u", 42), "say what to explain"),
        (("explain", *FILES, "-u", 42, "-v", 7, "--item", "Alien"), "say what to explain"),
        # how
        (("neighbors", *FILES, "-u", 42, "--measure", "pdm"), "'pmd'"),
        (("neighbors", *FILES, "-u", 42, "--convention", "tabel-1"), "table-1"),
        (("neighbors", *FILES, "--all"), "give --out neighbors.parquet"),
        (("neighbors", *FILES, "-u", 42, "--executor", "ray"), "--executor ray is for --all"),
        (("distance", *FILES, "-u", 42, "-v", 7, "--measure", "none"), "none"),
        (("fit", *FILES, "-o", "m", "--predictor", "magic"), "predictor is 'magic'"),
        (("fit", *FILES, "-o", "m", "--weight", "heavy"), "heavy"),
        (("fit", *FILES, "-o", "m", "--paper", "--centering", "median"), "median"),
        (("fit", *MODEL, "-o", "m"), "--model is fitted already"),
        (("recommend", *MODEL, "-u", 42, "--measure", "cos"), "--measure is for fitting"),
        (("recommend", *MODEL, "-u", 42, "--tune"), "--tune is for fitting"),
        (
            ("explain", *MODEL, "-u", 42, "-v", 7, "--centering", "mean"),
            "--centering is for predicted ratings",
        ),
        (("explain", *FILES, "-u", 42, "-v", 7, "--paper"), "--paper is for predicted"),
        (("distance", "-r", "zeros.csv", "-u", "ann", "-v", "bob"), "'ann' has no positive rating"),
        # where to
        (("fit", *FILES, "-o", "tags.csv"), "which is a file; a model is a folder"),
        (("neighbors", *FILES, "--all", "-o", "out.txt"), "a file that ends in .csv or .parquet"),
        (("neighbors", *FILES, "--all", "-o", "no/out.csv"), "there is no folder no; make it first"),
        (("predict", *MODEL, "--pairs", "pairs.csv", "-o", "p.json"), "ends in .csv or .parquet"),
        (("explain", *FILES, "-u", 42, "-v", 7, "--picture", "plan.jpg"), "--picture is 'plan.jpg'"),
        (("explain", *FILES, "-u", 42, "-v", 7, "--html", "plan.txt"), "--html is 'plan.txt'"),
        (("explain", *FILES, "-u", 42, "--item", "Alien", "--picture", "p.png"), "--picture draws the plan"),
        (("explain", *FILES, "-u", 42, "-v", 7, "--measure", "cos", "--picture", "p.png"), "is drawn"),
        (("items", "near", "Alien", "-d", "cinema", "-i", "tags.csv"), "say which items"),
    ],
)
def test_bad_command_lines(run, in_shop, args, message):
    (in_shop / "zeros.csv").write_text("user,item,rating\nann,x,0\nann,y,0\nbob,x,3\nbob,z,5\n")
    before = sorted(path.name for path in in_shop.rglob("*"))
    code, out, err = run(*args)
    assert (code, out) == (2, "")
    assert message in err
    last = err.splitlines()[-1]
    assert last.startswith("prefmover: error: ")
    assert "Traceback" not in err
    assert sorted(path.name for path in in_shop.rglob("*")) == before


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("neighbors", *FILES, "-u", 42, "-k", 0), "'-k'"),
        (("neighbors", *FILES, "-u", 42, "-k", "ten"), "'-k'"),
        (("neighbors", *FILES, "-u", 42, "--jobs", 0), "'--jobs'"),
        (("recommend", *FILES, "-u", 42, "-n", -1), "'-n'"),
        (("fit", *FILES), "--out"),
        (("distance", *FILES, "-u", 42), "--other"),
        (("neighbors", *FILES, "--usr", 42), "--usr"),
        (("neighbours", *FILES), "neighbors"),
    ],
)
def test_options_that_typer_checks(run, args, message):
    code, out, err = run(*args)
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("ratings.csv", "", "ratings.csv is empty"),
        ("ratings.csv", "userId,film,stars\n", "has a header but no rows"),
        ("ratings.csv", "userId,film,stars\n1,Alien,x\n", "line 2, column 'stars': 'x' is not a number"),
        ("ratings.csv", "userId,film,stars\n1,Alien,3\n1,Alien\n", "line 3"),
        ("ratings.csv", "userId,film,stars\n1,Alien,-3\n", "line 2"),
        ("ratings.csv", "userId,film,stars\n,Alien,3\n", "the user id is missing"),
        ("tags.csv", "", "tags.csv is empty"),
        ("tags.csv", "film,tag\n", "has a header but no items"),
        ("tags.csv", "film,tag\n,space\n", "line 2, column 'film': the item is missing"),
        ("tags.csv", "film,tag\nAlien,space,x\n", "line 2: 3 columns where the header has 2"),
        (
            "tags.csv",
            "film,tag,count\nAlien,a,1\nAlien,b,no\n",
            "line 3, column 'count': 'no' is not a count",
        ),
        ("tags.csv", "film,tag\nKane,space\n", "not one is"),
        ("tags.csv", "film,x,y\nAlien,1,2\nAliens,1,b\n", "line 3, column 'y': 'b' is not a number"),
        (
            "tags.csv",
            "film,colour\nAlien,blue\n",
            "needs a column genres, tags or text, or columns of numbers",
        ),
        ("tags.csv", "a,b\nAlien,blue\n", "no column 'item' among 'a', 'b'"),
        ("pairs.csv", "user,item\n42,\n", "line 2, column 'item': the id is missing"),
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
    assert message in err
    assert err.splitlines()[-1].startswith("prefmover: error: ")


def test_a_damaged_model(run, in_shop):
    for path in (in_shop / "my-model").glob("arrays-*"):
        path.write_bytes(path.read_bytes()[:-8])
    code, _, err = run("recommend", *MODEL, "-u", 42)
    assert code == 2
    assert "cut off or damaged" in err


def test_a_damaged_catalogue(run, in_shop):
    (in_shop / "my-model" / "catalogue.parquet").write_bytes(b"PAR1")
    code, _, err = run("recommend", *MODEL, "-u", 42)
    assert code == 2
    assert "catalogue.parquet is damaged" in err
    (in_shop / "my-model" / "catalogue.parquet").unlink()
    assert run("recommend", *MODEL, "-u", 42)[0] == 0
