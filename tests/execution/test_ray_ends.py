"""The end of a cluster that was started here: our message if it breaks, and nothing left behind."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from prefmover.execution import ray as on_ray
from tests.messages import unnamed

RAY = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None or not sys.platform.startswith("linux"),
    reason="needs the extra ray, and reads /proc",
)

PROGRAM = """
import os, signal, sys, time
from prefmover.errors import PrefmoverError
from prefmover.execution import RayExecutor
from prefmover.execution.executor import Task
import ray

def work(n_threads, progress):
    time.sleep(0.2)

if __name__ == "__main__":
    with RayExecutor(n_threads=1) as executor:
        node = ray._private.worker.global_worker.node
        print(node.get_session_dir_path(), flush=True)
        if sys.argv[1] == "raylet":
            os.kill(node.all_processes["raylet"][0].process.pid, signal.SIGKILL)
        tasks = iter([Task(k, work, ()) for k in range(1000)])
        try:
            for _ in executor.run(lambda: next(tasks, None)):
                pass
        except PrefmoverError as error:
            print(type(error).__name__, error, flush=True)
"""


def processes_of(session):
    """Return the processes that name a session in their command lines."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if str(session).encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


@pytest.mark.slow
@RAY
def test_the_raylet_dies():
    command = [sys.executable, "-c", PROGRAM, "raylet"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    session, *said = done.stdout.splitlines()
    assert done.returncode == 0
    (ours,) = (line for line in said if line.startswith("PrefmoverError"))  # beside Ray's own notices
    assert not unnamed(ours, "Ray", "again")
    assert not Path(session).exists()


@pytest.mark.slow
@RAY
def test_the_driver_is_killed():
    """Ray's processes end with the driver, and the next cluster removes what is left of its folder."""
    driver = subprocess.Popen([sys.executable, "-c", PROGRAM, "wait"], stdout=subprocess.PIPE, text=True)
    session = Path(driver.stdout.readline().strip())
    assert session.parent.name.startswith(f"{on_ray.SESSION_PREFIX}{driver.pid}-")
    assert processes_of(session)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    driver.stdout.close()
    for _ in range(600):
        if not processes_of(session):
            break
        time.sleep(0.1)
    assert processes_of(session) == []
    shutil.rmtree(on_ray.new_session_folder())
    assert not session.parent.exists()


def test_folders_of_the_living_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(on_ray, "LONGEST_PATH", 10_000)
    dead = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True
    )
    (tmp_path / f"{on_ray.SESSION_PREFIX}{int(dead.stdout)}-abc").mkdir()
    (tmp_path / "prefmover-1000").mkdir()
    own = on_ray.new_session_folder()
    assert own.name.startswith(f"{on_ray.SESSION_PREFIX}{os.getpid()}-")
    assert {file.name for file in tmp_path.iterdir()} == {own.name, "prefmover-1000"}


def test_a_deep_temporary_folder_is_left_to_ray(tmp_path, monkeypatch):
    deep = tmp_path / ("x" * 60)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    assert on_ray.new_session_folder() is None
    assert list(deep.iterdir()) == []
