import json
import re
from pathlib import Path

import pytest

from tests.messages import names, unnamed


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
    assert not unnamed(err, "[3/3]", "1:19", "PMD")
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
    assert not unnamed(err, "[1/1]", "1:4")


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
    assert not unnamed(err, "jobs", "'two'")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("evaluate", "--measures", "kos", "--out", "x"), "'cos'"),
        (("evaluate", "--train", "80", "--out", "x"), names("train", "'80'")),
        (("evaluate", "--geometry", "bets", "--out", "x"), names("bets")),
        (("evaluate", "--geometry", "best.txt", "--out", "x"), "best.txt"),
        (("evaluate", "--train", "", "--out", "x"), names("train")),
        (
            ("evaluate", "--protocol", "k-fold", "--train", ".5", "--out", "x"),
            names("train"),
        ),
        (("paper", "figures", "--peers", "SVD, KNN", "--out", "x"), names("peer", "'KNN'")),
        (("paper", "figures", "--panels", "z", "--out", "x"), names("a, b, c")),
        (("report", "nowhere"), names("nowhere")),
        (("evaluate",), "--out"),
    ],
)
def test_errors(run, tmp_path, monkeypatch, args, message):
    monkeypatch.chdir(tmp_path)
    code, _, err = run(*args)
    assert code == 2
    assert re.search(message, err)
    assert not (tmp_path / "x").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("in_shop")
def test_ratings_of_ones_own(run):
    options = ("--measures", "jaccard", "--controls", "bias", "--repeats", 1, "--k", 5, "--no-report")
    code, _, err = run("evaluate", "-d", "ratings.csv", "--geometry", "tags.csv", *options, "-o", "a")
    assert (code, "[2/2]" in err) == (0, True)
    code, _, err = run("evaluate", "-d", "ratings.csv", *options, "-o", "b")
    assert code == 0
    assert not unnamed((Path("b") / "experiment.json").read_text(), "SVD", 50)
    code, _, err = run("evaluate", "-d", "ratings.csv", "--geometry", "best", *options, "-o", "c")
    assert code == 2
    assert "best" in err
    text = Path("ratings.csv").read_text()
    Path("odd.csv").write_text("a,b,c\n" + text.split("\n", 1)[1])
    code, _, err = run("evaluate", "-d", "odd.csv", *options, "-o", "d")
    assert (code, "--user-column" in err) == (2, True)
    columns = ("--user-column", "a", "--item-column", "b", "--rating-column", "c")
    code, _, err = run("evaluate", "-d", "odd.csv", *columns, *options, "-o", "d")
    assert code == 0
    code, _, err = run("evaluate", "-d", "cinema", *columns, *options, "-o", "e")
    assert code == 2
    code, _, err = run("evaluate", "-d", "ratngs.csv", *options, "-o", "c")
    assert code == 2
    assert not unnamed(err, "ratngs.csv", "ratings.csv")
