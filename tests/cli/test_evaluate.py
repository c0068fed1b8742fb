import json
import re
from pathlib import Path

import pytest

from prefmover.evaluation.folder import RunFolder
from tests.messages import names, unnamed


@pytest.mark.slow
@pytest.mark.usefixtures("small_cinema")
def test_evaluate_and_report(run, tmp_path):
    folder = tmp_path / "run"
    options = ("-d", "cinema", "--recommenders", "knn:jaccard,knn:pmd,bias", "--train", "1:19")
    options += ("--task", "rating", "--ks", "5,40", "--repeats", "1")
    code, out, err = run("evaluate", "--out", str(folder), *options)
    files = [str(folder / "records.parquet"), str(folder / "report" / "report.html")]
    assert (code, out.split()[-2:]) == (0, files)
    assert not unnamed(out, "1:19", "knn:pmd", "bias", 40)  # a table of errors
    assert not unnamed(err, "[3/3]", "1:19", "PMD")
    code, out, _ = run("report", str(folder), "--out", str(tmp_path / "there"))
    assert (code, out.strip()) == (0, str(tmp_path / "there" / "report.html"))
    assert (tmp_path / "there" / "gaps.png").exists()


def test_options_win_over_the_file(run, tmp_path):
    file = tmp_path / "e.toml"
    file.write_text('dataset = "cinema"\nrecommenders = "knn:cos"\nrepeats = 3\ntrain = ".2"\nks = "5"\n')
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
    assert "prefmover evaluate --config" in page


def test_the_file_may_have_every_option(run, tmp_path):
    out = tmp_path / "r"
    file = tmp_path / "e.toml"
    file.write_text(
        f'[evaluate]\ndataset = "cinema"\nrecommenders = ["knn:cos"]\nrepeats = 1\ntrain = [0.2]\nks = "5"\n'
        f"out = '{out}'\nreport = false\nthreads = 1\njson = true\n"
    )
    code, found, _ = run("evaluate", "--config", file)
    found = json.loads(found)
    assert (code, found["records"]) == (0, str(out / "records.parquet"))
    assert [row["recommender"] for row in found["lists"]] == ["knn:cos"]
    file.write_text(file.read_text() + "thraeds = 2\n")
    code, _, err = run("evaluate", "--config", file)
    assert code == 2
    assert "'thraeds'" in err
    file.write_text("threads = 'two'\n")
    code, _, err = run("evaluate", "--config", file, "-o", out)
    assert code == 2
    assert not unnamed(err, "threads", "'two'")


def test_a_run_again_from_its_settings(run, tmp_path):
    """A folder's experiment.json stands for the options that made it, panels included."""
    file, first, again = tmp_path / "e.toml", tmp_path / "first", tmp_path / "again"
    file.write_text(
        'dataset = "cinema"\nrecommenders = ["knn:cos", "bias"]\ntrain = [0.5, 0.2]\nrepeats = 2\n'
        '[[panels]]\nname = "a"\nover = "train"\ntrain = [0.5, 0.2]\nks = [5]\n'
    )
    assert run("evaluate", "--config", file, "-o", first, "--no-report")[0] == 0
    assert run("evaluate", "--config", first / "experiment.json", "-o", again, "--no-report")[0] == 0
    assert (again / "experiment.json").read_bytes() == (first / "experiment.json").read_bytes()
    one, two = (RunFolder(folder).records() for folder in (first, again))
    assert len(one) == 8
    assert {k: r.metrics for k, r in one.items()} == {k: r.metrics for k, r in two.items()}


@pytest.mark.parametrize("content", ["{}", "[]", "dataset = 1", '{"settings": 1}'])
def test_a_file_that_is_no_run(run, tmp_path, content):
    (tmp_path / "experiment.json").write_text(content)
    code, _, err = run("evaluate", "--config", tmp_path / "experiment.json", "-o", tmp_path / "r")
    assert code == 2
    assert "experiment.json" in err


@pytest.mark.usefixtures("small_cinema")
def test_lists(run, tmp_path):
    """Lists of several recommenders: a table, records, a page; what was chosen is in --json."""
    options = ["--recommenders", "simple,ease,user-knn", "--train", ".5"]
    options += ["--repeats", "1", "--ns", "5,10", "--trials", "2", "--out", tmp_path / "run"]
    code, out, err = run("evaluate", "-d", "cinema", *options)
    assert (code, out.split()[-1]) == (0, str(tmp_path / "run" / "report" / "report.html"))
    assert not unnamed(out, "nDCG", "recall", "ease", 5, 10)
    assert not unnamed(err, "[6/6]", "1:1", "nDCG@5")
    code, out, _ = run("evaluate", "-d", "cinema", *options, "--json")
    rows = json.loads(out)["lists"]
    assert [(row["recommender"], row["n"]) for row in rows[-4:]] == [
        ("ease", 5), ("ease", 10), ("user-knn", 5), ("user-knn", 10),
    ]  # fmt: skip
    assert all(0 < row["ndcg"] < 1 and row["fit_seconds"] is not None for row in rows)
    code, out, _ = run("report", tmp_path / "run", "--out", tmp_path / "there")
    assert code == 0
    assert (tmp_path / "there" / "density.png").exists()


def test_lists_by_time(run, tmp_path):
    file = tmp_path / "log.csv"
    rows = [f"u{k % 7},i{k * 5 % 11},{1 + k % 5},{k}" for k in range(60)]
    file.write_text("user,item,rating,when\n" + "\n".join(rows) + "\n")
    options = ("--recommenders", "popularity", "--no-report", "--duplicates", "last")
    for protocol in ("time", "last"):
        time = ("--protocol", protocol, "--time-column", "when", "--out", tmp_path / protocol)
        code, _, err = run("evaluate", "-r", file, *options, *time)
        assert (code, "[1/1]" in err) == (0, True), err
    code, _, err = run("evaluate", "-r", file, *options, "--protocol", "time", "--out", tmp_path / "x")
    assert code == 2
    assert "--time-column" in err


EVALUATE = ("evaluate", "--dataset", "cinema", "--out", "x")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((*EVALUATE, "--recommenders", "knn:kos"), "'cos'"),
        ((*EVALUATE, "--recommenders", "surprise:SVDD"), names("'surprise:SVDD'", "SVD")),
        ((*EVALUATE, "--train", "80"), names("train", "'80'")),
        ((*EVALUATE, "--geometry", "bets"), names("bets")),
        ((*EVALUATE, "--task", "lists"), names("lists")),
        ((*EVALUATE, "--task", "ranking", "--recommenders", "eas"), names("'eas'", "ease")),
        ((*EVALUATE, "--task", "ranking", "--recommenders", "surprise:SVD"), names("SVD", "--task rating")),
        ((*EVALUATE, "--task", "ranking", "--relevant", "9"), names("9", "--relevant")),
        (("evaluate", "--out", "x"), names("dataset", "ratings")),
        (
            ("paper", "figures", "--recommenders", "surprise:KNN", "--out", "x"),
            names("'surprise:KNN'", "SVDpp"),
        ),
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
def test_files_of_ratings(run):
    options = ("--recommenders", "knn:jaccard,bias", "--repeats", 1, "--ks", 5, "--no-report")
    code, _, err = run("evaluate", "-r", "ratings.csv", "-i", "tags.csv", *options, "-o", "a")
    assert (code, "[2/2]" in err) == (0, True)
    code, _, err = run("evaluate", "-r", "ratings.csv", "--geometry", "ratings", *options, "-o", "b")
    assert code == 0
    assert not unnamed((Path("b") / "experiment.json").read_text(), "ratings.csv")
    text = Path("ratings.csv").read_text()
    Path("odd.csv").write_text("a,b,c\n" + text.split("\n", 1)[1])
    code, _, err = run("evaluate", "-r", "odd.csv", *options, "-o", "d")
    assert (code, "--user-column" in err) == (2, True)
    columns = ("--user-column", "a", "--item-column", "b", "--rating-column", "c")
    assert run("evaluate", "-r", "odd.csv", *columns, *options, "-o", "d")[0] == 0
    code, _, err = run("evaluate", "-r", "ratngs.csv", *options, "-o", "c")
    assert code == 2
    assert not unnamed(err, "ratngs.csv", "ratings.csv")


def test_every_setting_is_an_option(run):
    from prefmover.evaluation.experiment import Experiment

    said = run("evaluate", "--help")[1]
    for name in Experiment.model_fields.keys() - {"panels"}:
        assert f"--{name.replace('_', '-')}" in said


def test_panels_come_from_a_file(run, tmp_path):
    file = tmp_path / "e.toml"
    file.write_text(
        "dataset = 'cinema'\nrecommenders = 'bias'\nrepeats = 1\ntrain = '.2'\nks = '5'\n"
        "[[panels]]\nname = 'a'\nover = 'k'\ntrain = ['.2']\nks = [5]\n"
    )
    out = tmp_path / "r"
    assert run("evaluate", "--config", file, "-o", out, "--no-report")[0] == 0
    assert json.loads((out / "experiment.json").read_text())["settings"]["panels"][0]["name"] == "a"
