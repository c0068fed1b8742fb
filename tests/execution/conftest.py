"""A Ray cluster of several nodes on this machine, one for all tests that need it."""

import importlib.util
import os
import secrets
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from prefmover import Dataset, ItemGeometry, Ratings
from prefmover.search import NeighborIndex

# Before Ray is imported: a token of this run's own, and nothing sent home.
os.environ.setdefault("RAY_AUTH_MODE", "token")
os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

NODE = {"num_cpus": 1, "object_store_memory": 80 * 2**20}
QUICK = {  # a node that is killed is missed after a second or two
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 500,
    "health_check_failure_threshold": 3,
}


@pytest.fixture(scope="session")
def cluster():
    if importlib.util.find_spec("ray") is None:
        pytest.skip("Ray is not installed (there are no wheels of it for every Python): extra ray")
    from ray.cluster_utils import Cluster

    head = {**NODE, "include_dashboard": False, "_system_config": QUICK}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    cluster.add_node(**NODE)
    yield cluster
    cluster.shutdown()


@pytest.fixture(scope="session")
def executor(cluster):
    """Everything in shards of a quarter or so of the users."""
    from prefmover.execution import RayExecutor

    with RayExecutor(cluster.address, shard_bytes=80_000) as executor:
        yield executor


def make(n_users=360):
    """Return a data set of users of very different sizes, with ties, and a user without mass."""
    rng = np.random.default_rng(8)
    lengths = np.minimum(rng.geometric(0.04, n_users), 90)
    users = np.repeat(np.arange(n_users), lengths)
    items = np.concatenate([rng.choice(120, n, replace=False) for n in lengths])
    stars = rng.integers(1, 6, users.size)
    stars[users == 5] = 0
    return Dataset(
        Ratings.from_arrays(users, items, stars),
        ItemGeometry.from_vectors(np.arange(120), rng.integers(0, 3, (120, 5)) + np.eye(1, 5)),
    )


@pytest.fixture(scope="session")
def index():
    return NeighborIndex(make())


@pytest.fixture(scope="session")
def whole(index):
    """The result of one thread."""
    return index.nearest(k=7, n_threads=1)


def workers(cluster):
    """Yield processes that run a task, of all nodes: children of their raylets with a task's title."""
    raylets = {
        str(process.process.pid)
        for node in cluster.list_all_nodes()
        for process in node.all_processes.get("raylet", [])
    }
    for folder in Path("/proc").iterdir():
        try:
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            if parent in raylets and (folder / "cmdline").read_bytes().startswith(b"ray::_perform"):
                yield int(folder.name)
        except (OSError, IndexError):
            continue


def kill_a_worker(cluster):
    """Kill a process in the middle of a task: stopped first, so that it cannot finish meanwhile.

    Return False if all under way were finished before one could be caught.
    """
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline:
        for pid in workers(cluster):
            os.kill(pid, signal.SIGSTOP)
            busy = pid in set(workers(cluster))
            os.kill(pid, signal.SIGKILL if busy else signal.SIGCONT)
            if busy:
                return True
    return False
