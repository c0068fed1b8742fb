"""Several processes with one folder, and clocks that go backward: the result is that of one process."""

import itertools
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from prefmover.evaluation.folder import RunFolder
from tests.reliability.jobs import JOBS, digest

ROOT = Path(__file__).parents[2]

PROGRAM = """
import sys, time
from pathlib import Path
from prefmover.errors import InputError
from tests.reliability.jobs import JOBS, warm

job, folder, others = JOBS[sys.argv[1]], Path(sys.argv[2]), Path(sys.argv[3])
warm()
(others / sys.argv[4]).touch()
while len(list(others.iterdir())) < 2:
    time.sleep(0.001)
try:
    job.work(folder, lambda name: None)
    print("done")
except InputError as error:
    print("InputError", error)
"""


def at_once(name, folder, tmp_path):
    """Run a job in two processes at the same moment; return what they said."""
    others = tmp_path / "ready"
    others.mkdir()
    command = [sys.executable, "-c", PROGRAM, name, str(folder), str(others)]
    both = [subprocess.Popen([*command, str(k)], cwd=ROOT, stdout=subprocess.PIPE, text=True) for k in (1, 2)]
    return [process.communicate(timeout=300)[0].splitlines()[-1] for process in both]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nearest", "evaluate", "fit and save"])
def test_two_processes_write_one_folder(name, tmp_path):
    job = JOBS[name]
    folders = [tmp_path / part / "folder" for part in ("alone", "shared")]
    for folder in folders:
        folder.parent.mkdir()
        job.prepare(folder)
    job.work(folders[0], lambda name: None)
    said = at_once(name, folders[1], tmp_path)
    assert "done" in said
    if name == "evaluate":  # a folder of records belongs to one process at a time; the other is told
        assert all(line == "done" or ("InputError" in line and "in use by process" in line) for line in said)
        job.work(folders[1], lambda name: None)
    else:
        assert said == ["done", "done"]
    assert job.outcome(folders[1]) == job.outcome(folders[0])


@pytest.fixture
def backward(monkeypatch):
    """A clock of the day that goes back an hour at every look; clocks that measure go on."""
    hours = itertools.count()
    monkeypatch.setattr(time, "time", lambda: 1.8e9 - 3600 * next(hours))
    monkeypatch.setattr(time, "time_ns", lambda: 10**9 * int(1.8e9 - 3600 * next(hours)))


@pytest.mark.parametrize("name", ["nearest", "evaluate", "fit and save"])
def test_a_clock_that_goes_backward(name, tmp_path, backward):
    job = JOBS[name]
    for part in ("first", "second"):
        (tmp_path / part).mkdir()
        job.prepare(tmp_path / part / "folder")
        job.work(tmp_path / part / "folder", lambda name: None)
    assert job.outcome(tmp_path / "first" / "folder") == job.outcome(tmp_path / "second" / "folder")
    if name == "evaluate":
        records = RunFolder(tmp_path / "first" / "folder").records().values()
        assert all(record.run.seconds >= 0 for record in records)


def test_files_from_the_future(tmp_path):
    """A folder whose files are dated after now, as after a clock was set right, is read and resumed."""
    job, folder = JOBS["nearest"], tmp_path / "search"
    job.work(folder, lambda name: None)
    parts = sorted(folder.glob("part-*"))
    parts[0].unlink()
    for file in folder.iterdir():
        os.utime(file, (4e9, 4e9))
    assert job.outcome(folder) == job.expected(folder)
    assert digest(*sorted(p.name for p in folder.glob("part-*"))) == digest(*(p.name for p in parts))
