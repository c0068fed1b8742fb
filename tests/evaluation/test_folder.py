import gzip
import json
import os
from pathlib import Path

import pytest

from prefmover.errors import InputError
from prefmover.evaluation import Experiment, RunFolder, run_experiment
from prefmover.evaluation.recommenders import Method
from tests.messages import names

BIAS = Experiment(dataset="cinema", recommenders="bias", task="rating", repeats=1)


@pytest.fixture
def folder(tmp_path):
    run_experiment(BIAS, tmp_path)
    return tmp_path


def test_two_runs_in_one_folder(tmp_path):
    (tmp_path / "holder").write_text("process 1 on a machine that went away\n")  # stale: no process holds it
    with RunFolder(tmp_path).locked():
        assert str(os.getpid()) in (tmp_path / "holder").read_text()
        with pytest.raises(InputError, match=names(tmp_path.name, os.getpid())):
            run_experiment(BIAS, tmp_path)
    with RunFolder(tmp_path).locked():
        pass


def test_other_data_are_refused(folder):
    file = folder / "experiment.json"
    content = json.loads(file.read_text())
    content["data"]["ratings"] = "0" * 16
    file.write_text(json.dumps(content))
    with pytest.raises(InputError, match=names("ratings")):
        run_experiment(BIAS, folder)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("records.jsonl.gz", '{"key": ', names("records.jsonl.gz", 1)),
        ("records.jsonl.gz", "[]", names("records.jsonl.gz")),
        ("records.jsonl.gz", '{"share": 0.8}', names("records.jsonl.gz", 1, "task")),
        ("experiment.json", '{"format": 99}', names("experiment.json", 99)),
        ("experiment.json", '{"format": 3, "settings": 1}', names("experiment.json")),
        ("experiment.json", '{"format": 3, "settings": {}, "data": {}}', names("experiment.json")),
        ("experiment.json", "nothing", names("experiment.json")),
    ],
)
def test_damaged_folders(folder, name, content, message):
    packed = gzip.compress(content.encode()) if name.endswith(".gz") else content.encode()
    (folder / name).write_bytes(packed)
    with pytest.raises(InputError, match=message):
        run_experiment(BIAS, folder)


@pytest.mark.parametrize("damage", [lambda packed: packed[:-9], lambda packed: b"no gzip"])
def test_damaged_packing(folder, damage):
    file = folder / "records.jsonl.gz"
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(InputError, match=names("records.jsonl.gz")):
        RunFolder(folder).records()


RUNS = [file.parent for file in (Path(__file__).parents[2] / "docs" / "results").rglob("records.jsonl.gz")]


@pytest.mark.parametrize("path", RUNS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_published_runs_are_read(path):
    """The records of docs/results are those of the settings beside them."""
    folder = RunFolder(path)
    settings, records = folder.content().settings, folder.records().values()
    assert all(Method.parse(record.recommender).label == record.label for record in records)
    assert {record.share for record in records} == set(settings.train)
    assert {record.task for record in records} == set(settings.tasks)
    assert {record.tuning.budget for record in records if record.tuning} <= {settings.trials}


def test_records_without_settings(folder):
    (folder / "experiment.json").unlink()
    with pytest.raises(InputError, match=names("experiment.json")):
        run_experiment(BIAS, folder)
    with pytest.raises(InputError, match=names("experiment.json")):
        RunFolder(folder).content()


def test_a_folder_covers_all_its_runs(folder):
    more = Experiment(dataset="cinema", recommenders="user-mean", task="rating", train=0.5, repeats=1)
    run_experiment(more, folder)
    merged = RunFolder(folder).content().settings
    assert merged.recommenders == ("bias", "user-mean")
    assert merged.train == (0.8, 0.5)
    assert len(RunFolder(folder).records()) == 2  # not the combinations that nobody ran
