import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from prefmover.errors import InputError
from prefmover.evaluation import Experiment, Panel, RunFolder, run_experiment
from prefmover.evaluation.run import methods, places
from tests.messages import names, unnamed

SMALL = Experiment(
    "cinema",
    train=(0.05,),
    repeats=2,
    ks=(5, 40),
    measures=("cos", "nhsm", "bcf", "pmd"),
    top_n=5,
)


def lasting(folder):
    """Return the records without what may differ from run to run."""
    return {key: {k: v for k, v in cell.items() if k != "run"} for key, cell in folder.cells().items()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run in one go, on one thread."""
    lines = []
    folder = run_experiment(SMALL, tmp_path_factory.mktemp("run"), n_jobs=1, tell=lines.append)
    return folder, lines


def test_every_cell_is_there(finished):
    folder, lines = finished
    n = len(places(SMALL)) * len(methods(SMALL))
    assert n == 2 * (4 + 1 + 2 + 3 + 1)
    assert len(folder.cells()) == n
    assert f"[{n}/{n}]" in lines[-1]
    assert not (folder.path / "cells").exists()
    table = pq.read_table(folder.path / "records.parquet")
    assert table.num_rows == 2 * (2 * 1 + 2 * 2 + 7 * 2)
    assert {"mae", "rmse", "coverage", "ndcg", "seed", "versions", "solved", "geometry"} <= set(
        table.column_names
    )


def test_records_tell_what_they_are(finished):
    cell = finished[0].cells()["0.05-1-pmd-published"]
    assert (cell["weight"], cell["seed"], cell["share"], cell["repeat"]) == ("exponential(4)", 1, 0.05, 1)
    assert cell["geometry"].startswith("cinema")
    assert cell["n_train"] + cell["n_test"] == 21644
    assert cell["new_users"] > 0
    assert cell["run"]["solved"] > 0
    assert cell["run"]["versions"]["prefmover"]
    for at in range(2):  # the groups of users add up to the whole
        assert sum(cell["groups"]["error"][at]) / cell["n_test"] == pytest.approx(cell["mae"][at], abs=1e-5)


def test_a_second_run_computes_nothing(finished):
    folder, _ = finished
    before = (folder.path / "cells.jsonl").read_bytes()
    lines = []
    run_experiment(SMALL, folder.path, tell=lines.append)
    assert lines == ["22 cells are here from before, 0 to go"]
    assert (folder.path / "cells.jsonl").read_bytes() == before


@pytest.mark.slow
def test_killed_and_resumed(finished, tmp_path):
    """SIGKILL in the middle, then on with other threads: the same records."""
    config = tmp_path / "experiment.toml"
    config.write_text(
        'dataset = "cinema"\ntrain = "1:19"\nrepeats = 2\nks = "5,40"\n'
        'measures = ["cos", "nhsm", "bcf", "pmd"]\ntop_n = 5\n'
    )
    assert Experiment.read(config) == SMALL
    run, cells = tmp_path / "run", tmp_path / "run" / "cells"
    command = [sys.executable, "-m", "prefmover.cli", "evaluate", "--config", str(config), "--out", str(run)]
    process = subprocess.Popen([*command, "-j", "1", "--no-report"], stderr=subprocess.DEVNULL)
    try:
        while not cells.exists() or len(list(cells.glob("*.json"))) < 4:
            assert process.poll() is None
            time.sleep(0.005)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    saved = len(list(cells.glob("*.json")))
    assert 4 <= saved < 22
    lines = []
    folder = run_experiment(SMALL, run, n_jobs=2, tell=lines.append)
    assert lines[0] == f"{saved} cells are here from before, {22 - saved} to go"
    assert lasting(folder) == lasting(finished[0])


def test_two_runs_on_one_folder(tmp_path):
    (tmp_path / "lock").write_text("process 1 on a machine that went away\n")  # stale: nobody holds it
    here = pytest.raises(InputError, match=names(os.getpid()))
    with RunFolder(tmp_path).locked(), here:
        run_experiment(SMALL, tmp_path)
    with RunFolder(tmp_path).locked():
        pass


def test_an_experiment_may_grow_but_not_change(tmp_path):
    first = Experiment("cinema", measures=("cos",), controls=(), repeats=1, ks=(5,), train=(0.2,))
    run_experiment(first, tmp_path)
    more = Experiment(
        "cinema", measures=("cos", "msd"), controls=("bias",), repeats=2, ks=(5,), train=(0.2, 0.1)
    )
    lines = []
    assert len(run_experiment(more, tmp_path, tell=lines.append).cells()) == 12
    assert not unnamed(lines[0], 1, 11)
    for changed in ({"ks": (5, 10)}, {"seed": 3}, {"geometry": "genres"}, {"centering": "baseline"}):
        other = Experiment(**{"dataset": "cinema", "measures": ("cos",), "ks": (5,), **changed})
        with pytest.raises(InputError, match=next(iter(changed))):
            run_experiment(other, tmp_path)


def test_other_data_are_refused(tmp_path):
    run_experiment(Experiment("cinema", controls=("bias",), repeats=1), tmp_path)
    file = tmp_path / "experiment.json"
    about = json.loads(file.read_text())
    about["data"]["ratings"] = "0" * 16
    file.write_text(json.dumps(about))
    with pytest.raises(InputError, match=names("ratings")):
        run_experiment(Experiment("cinema", controls=("bias",), repeats=1), tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("cells.jsonl", '{"key": ', names("cells.jsonl", 1)),
        ("cells.jsonl", "[]", names("cells.jsonl")),
        ("experiment.json", '{"format": 99}', names("experiment.json", 99)),
        ("experiment.json", "nothing", names("experiment.json")),
    ],
)
def test_damaged_folders(tmp_path, name, content, message):
    experiment = Experiment("cinema", controls=("bias",), repeats=1)
    run_experiment(experiment, tmp_path)
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message):
        run_experiment(experiment, tmp_path)


def test_records_without_settings(tmp_path):
    experiment = Experiment("cinema", controls=("bias",), repeats=1)
    run_experiment(experiment, tmp_path)
    (tmp_path / "experiment.json").unlink()
    with pytest.raises(InputError, match=names("experiment.json")):
        run_experiment(experiment, tmp_path)


def test_settings_without_records_may_change(tmp_path):
    """A run that failed at once does not hold its folder for ever."""
    file = tmp_path / "ratings.csv"
    file.write_text("user,item,rating\n" + "".join(f"u{k % 4},i{k // 4},3\n" for k in range(40)))
    same = {"geometry": "ratings", "controls": ("bias",), "repeats": 1}
    with pytest.raises(InputError):
        run_experiment(Experiment(str(file), top_n=3, **same), tmp_path / "run")
    assert len(run_experiment(Experiment(str(file), **same), tmp_path / "run").cells()) == 1


def test_a_folder_remembers_all_that_was_asked(tmp_path):
    panel = Panel("b", "k", (0.2,), (5,))
    same = {"dataset": "cinema", "controls": (), "ks": (5,), "train": (0.2,)}
    run_experiment(Experiment(measures=("cos",), repeats=2, panels=(panel,), title="both", **same), tmp_path)
    folder = run_experiment(Experiment(measures=("msd",), repeats=1, **same), tmp_path)
    there = folder.experiment()
    assert (there.measures, there.repeats, there.panels) == (("cos", "msd"), 2, (panel,))
    assert there.title == "both"
    more = replace(there, panels=(Panel("a", "k", (0.2,), (5,)),))
    assert [panel.name for panel in there.joined(more).panels] == ["a", "b"]


def test_folds_that_differ_by_a_rating_have_one_share(tmp_path):
    file = tmp_path / "ratings.csv"
    file.write_text("user,item,rating\n" + "".join(f"u{k % 4},i{k // 4},{k % 5}\n" for k in range(43)))
    folds = Experiment(str(file), geometry="ratings", protocol="k-fold", controls=("bias",), repeats=4)
    cells = run_experiment(folds, tmp_path / "run").cells()
    assert len({cell["n_train"] for cell in cells.values()}) == 2
    assert {cell["share"] for cell in cells.values()} == {0.75}
    with pytest.raises(InputError, match=names("repeats")):  # other folds, not more of them
        run_experiment(replace(folds, repeats=5), tmp_path / "run")


def test_no_genres_no_geometry(tmp_path):
    file = tmp_path / "ratings.csv"
    file.write_text("user,item,rating\na,x,1\nb,x,2\n")
    with pytest.raises(InputError, match=names("genres")):
        run_experiment(Experiment(str(file), geometry="genres"), tmp_path / "run")


def test_folds_and_ratings_as_geometry(tmp_path):
    experiment = Experiment(
        "cinema", protocol="k-fold", repeats=2, ks=(10,), measures=("n-bcf",), controls=(), geometry="ratings"
    )
    cells = run_experiment(experiment, tmp_path).cells()
    assert list(cells) == sorted(
        f"folds-{r}-n-bcf-{c}" for r in range(2) for c in ("median", "published", "table-1")
    )
    assert {round(cell["share"], 3) for cell in cells.values()} == {0.5}
    assert cells["folds-0-n-bcf-median"]["geometry"]
    with pytest.raises(InputError, match=names("cinema")):
        run_experiment(Experiment("cinema", protocol="published"), tmp_path / "other")


def test_peers_on_the_same_splits(tmp_path):
    pytest.importorskip("surprise")
    experiment = Experiment(
        "cinema",
        repeats=1,
        train=(0.1,),
        controls=("user-mean",),
        peers=("SVD", "KNNWithMeans", "BaselineOnly"),
    )
    cells = run_experiment(experiment, tmp_path / "a").cells()
    again = run_experiment(experiment, tmp_path / "b").cells()
    errors = {cell["method"]: cell["mae"][0] for cell in cells.values()}
    assert errors == {cell["method"]: cell["mae"][0] for cell in again.values()}
    assert cells["0.1-0-SVD"]["kind"] == "peer"
    assert errors["BaselineOnly"] < errors["user-mean"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"measures": ("kos",)}, "'cos'"),
        ({"controls": ("biases",)}, names("control", "'biases'")),
        ({"peers": ("svd",)}, names("peer", "'svd'")),
        ({"train": (1.5,)}, names("train", 1.5)),
        ({"repeats": 0}, names("repeats", 0)),
        ({"protocol": "folds"}, names("protocol", "'folds'")),
        ({"centering": "median"}, names("centering", "'median'")),
        ({"ks": (0,)}, names(0)),
        ({"controls": ()}, names()),
        ({"top_n": -1}, "top_n"),
        ({"train": ()}, names("train")),
        ({"shrinkage": float("nan")}, names("shrinkage", "nan")),
        ({"protocol": "k-fold", "stratify": "user"}, names("stratify")),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(InputError, match=message):
        Experiment("cinema", **settings)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('dataset = "cinema"\nmeasure = "cos"', names("'measure'", "'measures'")),
        ('measures = "cos"', names("dataset")),
        ('dataset = "cinema"\nks = "5:x"', names("k", "'5:x'")),
        ('dataset = "cinema"\nrepeats = "many"', names("'repeats'", "'many'")),
        ('dataset = "cinema"\npanels = [{name = "a"}]', names("'panels'")),
        ("dataset = ", names("TOML")),
    ],
)
def test_bad_files(tmp_path, text, message):
    file = tmp_path / "experiment.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        Experiment.read(file)
    assert str(file) in str(caught.value)


def test_nothing_is_run_twice():
    experiment = Experiment(
        "cinema", measures=("cos", "COS"), controls=("bias", "bias"), peers=("SVD", "SVD")
    )
    assert [method.name for method in methods(experiment)] == ["bias", "cos", "SVD"]


def test_one_k_needs_no_list():
    assert Experiment.from_dict({"dataset": "cinema", "ks": 5}).ks == (5,)


def test_settings_survive_json():
    assert Experiment.from_dict(json.loads(json.dumps(SMALL.to_dict()))) == SMALL
