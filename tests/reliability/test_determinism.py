"""Same inputs, same bytes: on 1 thread and on 2, in other processes, hash seeds, and on other processors.

That the executor makes no difference either is tested in ``tests/execution``.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.machines import environment

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


def printed(threads, variables, what="everything"):
    """Start a process that computes one of everything."""
    command = [sys.executable, "-m", "tests.reliability.same_bytes", str(threads), what]
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_other_threads_and_hash_seeds_give_the_same_bytes():
    ours = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    one, two = (printed(n, {**ours, "PYTHONHASHSEED": seed}) for n, seed in ((1, "0"), (2, "4242")))
    assert len(one) > 50
    assert len(set(one)) == len(one)
    assert two == one


def test_other_processors_give_the_same_bytes():
    one, two = (printed(1, environment(name), "everywhere") for name in ("Haswell", "Prescott"))
    assert len(one) > 15
    assert two == one
