"""Same inputs, same bytes: on 1 thread and on 2, in other processes, under other hash seeds.

That the executor makes no difference either is tested in ``tests/execution``.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


def printed(threads, hash_seed):
    """Start a process that computes one of everything."""
    environment = os.environ | {"PYTHONHASHSEED": str(hash_seed)}
    environment.pop("OPENBLAS_NUM_THREADS", None)  # make test sets it; here threads are what is tested
    command = [sys.executable, "-m", "tests.reliability.same_bytes", str(threads)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_other_threads_and_hash_seeds_give_the_same_bytes():
    one, two = printed(1, 0), printed(2, 4242)
    assert len(one) > 50
    assert len(set(one)) == len(one)
    assert two == one
