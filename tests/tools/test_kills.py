"""A few kills of each job; ``make kills`` kills a hundred times, and at every step."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(not hasattr(sys, "addaudithook") or sys.platform == "win32", reason="forks and signals")
def test_whatever_is_killed_ends_the_same_when_it_is_started_again():
    """In a process of its own, which forks: this one may have threads."""
    command = [sys.executable, "-m", "tools.kills", "--kills", "2", "--stride", "29", "--fresh", "0"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 4
    assert all("2 random kills" in line and "every restart ended the same" in line for line in lines)


@pytest.mark.skipif(not hasattr(sys, "addaudithook") or sys.platform == "win32", reason="forks and signals")
def test_a_new_process_that_is_killed():
    command = [
        sys.executable,
        "-m",
        "tools.kills",
        "--kills",
        "1",
        "--stride",
        "40",
        "--fresh",
        "1",
        "data add",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 of new processes" in done.stdout
