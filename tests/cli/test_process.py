"""The script as a process: Ctrl-C, closed pipes, completion."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from prefmover.cli import VERBS

pytestmark = pytest.mark.slow

PREFMOVER = [sys.executable, "-m", "prefmover.cli"]

BUSY = """
import sys, time
from prefmover.cli import main
from prefmover.execution import threads
import prefmover.cli.doctor as verb
from numba import njit

@njit(nogil=True)
def spin(n):
    x = 0.0
    for i in range(n):
        x += i % 7 * 0.5
    return x

def doctor() -> None:
    spin(10)
    print("busy", flush=True)
    n = int(sys.argv[1])
    threads.run(spin, [10**13] * n, n_threads=n)  # hours

verb.doctor = doctor
main(["doctor"])
"""


def wait_for(process, text):
    for line in process.stdout:
        if text in line:
            return
    raise AssertionError(process.communicate())


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_stops_a_kernel_that_would_take_hours(threads):
    process = subprocess.Popen(
        [sys.executable, "-c", BUSY, str(threads)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        wait_for(process, "busy")
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err


def test_ctrl_c_in_a_long_search_leaves_parts_and_no_result(tmp_path):
    """Stopped once a part is finished; the second run goes on and ends."""
    out = tmp_path / "all.parquet"
    words = ["neighbors", "--dataset", "cinema", "--all", "-n", "5", "--threads", "1", "--out"]
    command = [*PREFMOVER, *words, str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    parts = tmp_path / "all.parquet.parts"
    with process:
        while process.poll() is None and not list(parts.glob("part-*")):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        process_out, err = process.communicate(timeout=60)
    if process.returncode == 0:
        pytest.skip("it was done before it could be stopped")
    assert (process.returncode, process_out) == (130, "")
    assert "Traceback" not in err
    assert not out.exists()
    assert not [file for file in tmp_path.rglob("*") if "unfinished" in file.name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert out.exists()
    assert not parts.exists()


def test_a_closed_pipe_is_no_error(tmp_path):
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("user,item\n" + "petra-h,alien-1979\n" * 50_000)
    (tmp_path / "r.csv").write_text("user,item,rating\na,x,1\nb,x,2\nb,y,3\na,z,2\n")
    command = [*PREFMOVER, "predict", "--ratings", str(tmp_path / "r.csv"), "--pairs", str(pairs)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with process:
        assert process.stdout.readline().startswith("user,item")
        process.stdout.close()
        err = process.stderr.read()
    assert process.returncode == 0
    assert "Traceback" not in err
    assert "Broken" not in err
    assert "Exception ignored" not in err


def complete(words):
    """Return what bash would be offered after some words."""
    environment = {
        **os.environ,
        "_PREFMOVER_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    code = "import sys; sys.argv[0] = 'prefmover'; from prefmover.cli import main; main([])"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["prefmover", "nei"], {"neighbors"}),
        (["prefmover", ""], set(VERBS)),
        (["prefmover", "neighbors", "--mea"], {"--measure"}),
        (["prefmover", "neighbors", "--measure", "jm"], {"jmsd"}),
        (["prefmover", "neighbors", "--dataset", "cin"], {"cinema"}),
        (["prefmover", "items", "ne"], {"near"}),
    ],
)
def test_completion(words, offered):
    assert set(complete(words)) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_shown_for_a_shell(shell):
    environment = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = subprocess.run(
        [*PREFMOVER, "--show-completion", shell], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "_PREFMOVER_COMPLETE" in done.stdout


def test_stdout_is_only_data():
    """The log, notes and progress go to stderr, also from a process of its own."""
    done = subprocess.run(
        [*PREFMOVER, "distance", "--dataset", "cinema", "-u", "petra-h", "--other", "noor-r", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["user"] == "petra-h"


@pytest.mark.parametrize("words", [[], ["--json"]], ids=["text", "JSON"])
def test_a_pipe_that_cannot_take_every_character(tmp_path, words):
    """As on Windows, where it takes the characters of one part of the world."""
    (tmp_path / "stars.csv").write_text("who,film,stars\nann,Alien,5\nŌkami,Alien,4\n", encoding="utf-8")
    command = [*PREFMOVER, "explain", "--ratings", "stars.csv", "--measure", "jaccard", "--user", "ann"]
    done = subprocess.run(
        [*command, "--other", "Ōkami", *words], cwd=tmp_path, capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    out = done.stdout.decode("cp1252")
    assert "\\u014ckami" in out
    assert not words or "Ōkami" in str(json.loads(out))
