"""A few kills of each job; ``make kills`` kills a hundred times, and at every step."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="forks and signals")]


@pytest.mark.parametrize(
    ("options", "jobs", "said"),
    [
        ("--kills 2 --stride 29 --fresh 0", [], ["2 random kills", "every restart ended the same"]),
        ("--kills 1 --stride 40 --fresh 1", ["data add"], ["1 of new processes"]),
    ],
    ids=["all jobs", "a new process"],
)
def test_whatever_is_killed_ends_the_same_when_it_is_started_again(options, jobs, said):
    """In a process of its own, which forks: this one may have threads."""
    command = [sys.executable, "-m", "tools.kills", *options.split(), *jobs]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == (len(jobs) or 4)
    assert all(words in line for line in lines for words in said)
