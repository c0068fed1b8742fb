import json
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.usefixtures("small_cinema")
def test_evaluate_and_report(run, tmp_path):
    folder = tmp_path / "run"
    options = (
        "--measures",
        "jaccard,pmd",
        "--train",
        "1:19",
        "--k",
        "5,40",
        "--repeats",
        "1",
        "--controls",
        "bias",
    )
    code, out, err = run("evaluate", "--out", str(folder), *options)
    assert (code, out.split()) == (
        0,
        [str(folder / "records.parquet"), str(folder / "report" / "report.html")],
    )
    assert "[3/3] train:test 1:19, repeat 1, PMD (published): MAE" in err
    code, out, _ = run("report", str(folder), "--out", str(tmp_path / "there"))
    assert (code, out.strip()) == (0, str(tmp_path / "there" / "report.html"))
    assert (tmp_path / "there" / "gaps.png").exists()


def test_options_win_over_the_file(run, tmp_path):
    file = tmp_path / "e.toml"
    file.write_text('measures = "cos"\ncontrols = "none"\nrepeats = 3\ntrain = ".2"\nks = "5"\n')
    code, _, err = run(
        "evaluate", "--config", str(file), "--repeats", "1", "-o", str(tmp_path / "r"), "--no-report"
    )
    assert code == 0
    assert "[1/1] train:test 1:4" in err


@pytest.mark.slow
@pytest.mark.usefixtures("small_cinema")
def test_paper_figures(run, tmp_path):
    """On cinema, one panel, one repeat: all twelve measures and the controls, and the report."""
    code, out, err = run(
        "paper", "figures", "--dataset", "cinema", "--panels", "c", "--repeats", "1", "--out", str(tmp_path)
    )
    assert code == 0
    assert "[22/22]" in err
    page = (tmp_path / "report" / "report.html").read_text()
    assert out.splitlines()[-1] == str(tmp_path / "report" / "report.html")
    assert "prefmover paper figures --dataset cinema --panels c --repeats 1" in page


def test_the_file_may_have_every_option(run, tmp_path):
    out = tmp_path / "r"
    file = tmp_path / "e.toml"
    file.write_text(
        f'[evaluate]\nmeasures = "cos"\ncontrols = "none"\nrepeats = 1\ntrain = [0.2]\nk = "5"\n'
        f"out = '{out}'\nreport = false\njobs = 1\njson = true\n"
    )
    code, found, _ = run("evaluate", "--config", file)
    assert (code, json.loads(found)) == (0, {"records": str(out / "records.parquet")})
    file.write_text(file.read_text() + "jbos = 2\n")
    code, _, err = run("evaluate", "--config", file)
    assert code == 2
    assert "'jbos'" in err
    file.write_text("jobs = 'two'\n")
    code, _, err = run("evaluate", "--config", file, "-o", out)
    assert code == 2
    assert "jobs is 'two'; expected a whole number" in err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("evaluate", "--measures", "kos", "--out", "x"), "'cos'"),
        (("evaluate", "--train", "80", "--out", "x"), "train is '80'"),
        (("evaluate", "--geometry", "bets", "--out", "x"), "a file of items"),
        (("evaluate", "--geometry", "best.txt", "--out", "x"), "best.txt"),
        (("evaluate", "--train", "", "--out", "x"), "train is empty"),
        (
            ("evaluate", "--protocol", "k-fold", "--train", ".5", "--out", "x"),
            "train goes with random splits",
        ),
        (("paper", "figures", "--peers", "SVD, KNN", "--out", "x"), "peer is 'KNN'"),
        (("paper", "figures", "--panels", "z", "--out", "x"), "panels a, b, c"),
        (("report", "nowhere"), "not the folder of a run"),
        (("evaluate",), "--out"),
    ],
)
def test_errors(run, tmp_path, monkeypatch, args, message):
    monkeypatch.chdir(tmp_path)
    code, _, err = run(*args)
    assert code == 2
    assert message in err
    assert not (tmp_path / "x").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("in_shop")
def test_ratings_of_ones_own(run):
    options = ("--measures", "jaccard", "--controls", "bias", "--repeats", 1, "--k", 5, "--no-report")
    code, _, err = run("evaluate", "-d", "ratings.csv", "--geometry", "tags.csv", *options, "-o", "a")
    assert (code, "[2/2]" in err) == (0, True)
    code, _, err = run("evaluate", "-d", "ratings.csv", *options, "-o", "b")
    assert code == 0
    assert "SVD to 50 of each split's training ratings" in (Path("b") / "experiment.json").read_text()
    code, _, err = run("evaluate", "-d", "ratings.csv", "--geometry", "best", *options, "-o", "c")
    assert code == 2
    assert "best would look at the test ratings" in err
    text = Path("ratings.csv").read_text()
    Path("odd.csv").write_text("a,b,c\n" + text.split("\n", 1)[1])
    code, _, err = run("evaluate", "-d", "odd.csv", *options, "-o", "d")
    assert (code, "--user-column with the name" in err) == (2, True)
    columns = ("--user-column", "a", "--item-column", "b", "--rating-column", "c")
    code, _, err = run("evaluate", "-d", "odd.csv", *columns, *options, "-o", "d")
    assert code == 0
    code, _, err = run("evaluate", "-d", "cinema", *columns, *options, "-o", "e")
    assert (code, "columns are named for a file" in err) == (2, True)
    code, _, err = run("evaluate", "-d", "ratngs.csv", *options, "-o", "c")
    assert code == 2
    assert "did you mean ratings.csv?" in err
