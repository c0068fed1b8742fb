"""A full disk or a read-only folder: a clear error, the old state intact, nothing half-written."""

import os
import re
import subprocess
import sys
import warnings
from contextlib import contextmanager

import pytest

from prefmover import datasets
from prefmover.cli import main
from prefmover.datasets import SOURCES
from prefmover.errors import InputError
from prefmover.execution import atomic
from prefmover.model import Recommender
from prefmover.report import write_report
from prefmover.search import nearest
from tests.reliability.disk import fill, largest_file, read_only, small_disk
from tests.reliability.jobs import JOBS, contents, files, small

CLEAR = r"(No space left on device|is free|File too large|Read-only file system|Permission denied)"
TROUBLES = ("full disk", "limit", "read-only")


@pytest.fixture(scope="module", autouse=True)
def _compiled(tmp_path_factory):
    """Run everything once: a kernel compiled under a limit could not be kept."""
    home = tmp_path_factory.mktemp("compiled")
    for name in ("nearest", "evaluate", "fit and save"):
        JOBS[name].work(home / name, lambda name: None)
    nearest(datasets.load("cinema"), users=["petra-h"])


@pytest.fixture(params=TROUBLES)
def trouble(request, tmp_path):
    """A folder, and a context in which it cannot take what it is to be given."""
    home = tmp_path / "home"
    home.mkdir()

    @contextmanager
    def full():
        ballast = fill(home, leave=2048)
        try:
            yield
        finally:
            ballast.unlink()

    if request.param == "full disk":
        with small_disk(home, 8192):
            yield home, full
    elif request.param == "limit":
        yield home, lambda: largest_file(64)
    else:
        yield home, lambda: read_only(home)


def no_litter(folder):
    return [name for name in files(folder) if "unfinished" in name] == []


def test_save(trouble):
    home, troubled = trouble
    job = JOBS["fit and save"]
    model = home / "model"
    job.prepare(model)
    before, seen = contents(model), job.seen(model)
    with troubled(), pytest.raises(InputError, match=rf"model.*{CLEAR}"):
        job.work(model, lambda name: None)
    assert contents(model) == before  # no temporary files either
    assert job.seen(model) == seen
    job.work(model, lambda name: None)
    assert job.seen(model) != seen


def test_save_where_nothing_was(trouble):
    home, troubled = trouble
    with troubled(), pytest.raises(InputError, match=CLEAR):
        JOBS["fit and save"].work(home / "model", lambda name: None)
    with pytest.raises(InputError, match="model"):
        Recommender.load(home / "model")


def test_checkpoint(trouble):
    home, troubled = trouble
    folder = home / "search"
    with troubled(), pytest.raises(InputError, match=CLEAR):
        JOBS["nearest"].work(folder, lambda name: None)
    assert no_litter(home)
    table, expected = JOBS["nearest"].work(folder, lambda name: None), nearest(small(), k=5)
    assert table.neighbors.tolist() == expected.neighbors.tolist()


def test_checkpoint_half_done(trouble):
    """Parts that were finished before the disk was full stay, and the search ends the same."""
    home, troubled = trouble
    folder, job = home / "search", JOBS["nearest"]
    job.work(folder, lambda name: None)
    parts = sorted(folder.glob("part-*"))
    for part in parts[5:]:
        part.unlink()
    with troubled(), pytest.raises(InputError, match=CLEAR):
        job.work(folder, lambda name: None)
    assert no_litter(home)
    assert job.outcome(folder) == job.expected(folder)


@pytest.mark.slow
def test_evaluate_and_report(trouble):
    home, troubled = trouble
    folder, job = home / "run", JOBS["evaluate"]
    with troubled(), pytest.raises(InputError, match=CLEAR):
        job.work(folder, lambda name: None)
    assert no_litter(home)
    job.work(folder, lambda name: None)
    assert job.seen(folder) == "8 records"
    write_report(folder)
    before = contents(folder)
    with troubled(), pytest.raises(InputError, match=CLEAR):
        write_report(folder)
    assert contents(folder) == before
    with troubled(), pytest.raises(InputError, match=CLEAR):
        write_report(folder, home / "elsewhere")


def test_data_add(trouble, monkeypatch):
    for name in ("XDG_DATA_HOME", "PREFMOVER_CACHE", "PREFMOVER_DATA"):
        monkeypatch.setenv(name, os.environ.get(name, ""))  # put back afterward
    monkeypatch.setitem(SOURCES, "ml-100k", SOURCES["ml-100k"])  # put back afterward
    home, troubled = trouble
    job = JOBS["data add"]
    data = home / "data"
    job.prepare(data)
    before, seen = contents(data), job.seen(data)
    with troubled(), pytest.raises(InputError, match=CLEAR):
        job.work(data, lambda name: None)
    assert contents(data) == before
    assert job.seen(data) == seen


def cli(capsys, *arguments):
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    return caught.value.code or 0, capsys.readouterr().err


def test_the_error_of_the_command_line_is_one_line(trouble, capsys, monkeypatch):
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    home, troubled = trouble
    table = home / "near.csv"
    table.write_text("as it was")
    for arguments in (
        ("neighbors", "--dataset", "cinema", "--user", "petra-h", "--out", table),
        ("evaluate", "-d", "cinema", "--recommenders", "bias", "--repeats", 1, "--out", home / "run"),
    ):
        with troubled():
            code, error = cli(capsys, "--quiet", *arguments)
        assert code == 2
        assert re.search(CLEAR, error)
        assert error.startswith("prefmover: error: ")
        assert len(error.splitlines()) == 1
    assert table.read_text() == "as it was"
    assert no_litter(home)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_results_into_a_full_disk():
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "prefmover.cli", "data", "list"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


# What kills leave behind


def test_what_the_killed_left_is_cleared_and_what_others_write_is_not(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    host = atomic._host()
    left = tmp_path / f".part.json.unfinished-{host}-{gone.pid}"
    kept = [
        tmp_path / f".part.json.unfinished-{host}-{os.getpid()}",  # at work
        tmp_path / f".part.json.unfinished-elsewhere-{gone.pid}",  # on another machine
        tmp_path / ".part.json.unfinished-mine",
        tmp_path / "part.json",
    ]
    for file in (left, *kept):
        file.write_text("half")
    atomic.remove_stale_files(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted(kept)
