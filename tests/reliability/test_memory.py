"""A job that would not fit says so before it starts, with the number."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from prefmover.data.ratings import Ratings
from prefmover.datasets.synthesis import synthetic
from prefmover.errors import InputError
from prefmover.execution import memory
from prefmover.items.geometry import ItemGeometry
from prefmover.measures import find_measure, pairwise
from prefmover.measures.pairs import value_blocks
from prefmover.model import Recommender
from prefmover.predict import gaussian_process
from prefmover.predict.low_rank import ITEM_LANDMARKS
from prefmover.search import NeighborIndex, nearest
from prefmover.search.shard import ShardSearch
from tests.messages import names


@pytest.fixture
def tight(monkeypatch):
    """A machine with half a megabyte free."""
    monkeypatch.setenv("PREFMOVER_MEMORY", "0.5M")


@pytest.fixture(scope="module")
def crowd():
    return synthetic(400, 150, ratings=(5, 8), seed=1)


def test_distances_of_too_many_users(tight, crowd):
    with pytest.raises(InputError, match=names(400)):
        pairwise(crowd, n_threads=1)
    some = crowd.ratings.users[:20]
    assert pairwise(crowd, "pmd", some, some, n_threads=1).shape == (20, 20)


def test_a_measure_between_too_many_users(tight, crowd):
    with pytest.raises(InputError, match=names(400, 1, "prefmover.nearest")):
        pairwise(crowd, "jaccard")
    everyone = np.arange(400)
    blocks = value_blocks(crowd, find_measure("jaccard"), None, everyone, everyone)
    assert sum(len(rows) for rows, _ in blocks) == 400


def test_too_many_neighbors(tight, crowd):
    with pytest.raises(InputError, match=names(400, 2, "k")):
        nearest(crowd, 400, measure="jaccard")
    assert nearest(crowd, measure="jaccard", k=5).counts.tolist() == [5] * 400
    with pytest.raises(InputError, match=names(400, 2)):
        nearest(crowd, k=1000)


@pytest.fixture
def at_once(monkeypatch):
    """The rows that are searched at the same time, a set whenever a search begins."""
    search, lock, running, seen = ShardSearch._search, threading.Lock(), set(), []

    def watched(self, row):
        with lock:
            running.add(row)
            seen.append(set(running))
        time.sleep(0.001)
        found = search(self, row)
        with lock:
            running.discard(row)
        return found

    monkeypatch.setattr(ShardSearch, "_search", watched)
    return seen


def test_heavy_queries_take_turns(crowd, monkeypatch, at_once):
    """A query of 8 ratings takes 8 x (2 x 150 + 12 x 8) bytes: there is room for one, not for four."""
    alone = nearest(crowd, 1, crowd.ratings.users[:40], n_threads=1)
    for free, most in (("5000", 1), ("1M", 4)):
        at_once.clear()
        monkeypatch.setenv("PREFMOVER_MEMORY", free)
        found = nearest(crowd, 1, crowd.ratings.users[:40], n_threads=4)
        assert max(map(len, at_once)) == most
        assert found.neighbors.tolist() == alone.neighbors.tolist()
    monkeypatch.setenv("PREFMOVER_MEMORY", "3000")
    with pytest.raises(InputError, match=names(8, 150)):
        nearest(crowd, 1, crowd.ratings.users[:40], n_threads=4)


def test_a_heavy_query_runs_alone(crowd, monkeypatch, at_once):
    """One user has 100 ratings, the others 8: while the heavy one runs, no other does."""
    users = ["heavy"] * 100 + [f"light {k}" for k in range(9) for _ in range(8)]
    items = [*range(100), *(k + j for k in range(9) for j in range(8))]
    new = Ratings.from_arrays(users, crowd.ratings.items[items], np.arange(172) % 5 + 1.0)
    monkeypatch.setenv("PREFMOVER_MEMORY", "200000")  # 100 x (2 x 150 + 12 x 100) = 150,000 bytes
    steps = []
    nearest(crowd, 1, new=new, n_threads=4, progress=lambda done, total: steps.append((done, total)))
    assert [rows for rows in at_once if 0 in rows] == [{0}]
    assert max(map(len, at_once)) > 1
    assert steps == [(k + 1, 10) for k in range(10)]
    index = NeighborIndex(crowd)
    for _ in range(2):  # what the first query has kept does not count against the second
        index.nearest(["heavy"], k=1, new=new, n_threads=1)


def test_users_from_an_iterator_are_not_used_up(crowd):
    neighbors = nearest(crowd, 2, iter([3, 1]), "jaccard")
    assert neighbors.users.tolist() == [3, 1]


def test_matrices_of_items(tight):
    ids, X = np.arange(500), np.random.default_rng(0).random((500, 3))
    with pytest.raises(InputError, match=names(500, "budget=0")):
        ItemGeometry.from_vectors(ids, X)
    lazy = ItemGeometry.from_vectors(ids, X, budget=0)
    assert lazy.grid is None
    with pytest.raises(InputError, match=names(500, 3)):
        lazy.block()
    assert lazy.block([3], None).shape == (1, 500)
    for make in (ItemGeometry.from_distance, ItemGeometry.from_similarity):
        with pytest.raises(InputError, match=names(500, 8)):
            make(ids, np.eye(500))


def test_a_fit_says_so_before_users_are_compared(tight, crowd, monkeypatch):
    monkeypatch.setattr(
        "prefmover.predict.similarity.UserSimilarity.exact_values", None
    )  # no user is compared
    with pytest.raises(InputError, match=names(400, 150)):
        Recommender(n_threads=1).fit(crowd)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peaks are told by Linux only")
def test_what_a_regression_is_said_to_take_it_does_not_exceed():
    """The peak of a fit in a process of its own stays below the number that was asked for."""
    probe = """
import re
from pathlib import Path
from prefmover.datasets.synthesis import synthetic
from prefmover.model import Recommender

def memory(name):
    return int(re.search(name + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024

few, many = (synthetic(60, n, ratings=(20, 30), seed=1) for n in (50, 1500))
Recommender("jaccard", n_threads=1).fit(few, heads=["rating"])
many.geometry
Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
before = memory("VmRSS")
Recommender("jaccard", n_threads=1).fit(many, heads=["rating"])
print(memory("VmHWM") - before)
"""
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    taken = int(done.stdout)
    assert 4 * 1500 * ITEM_LANDMARKS < taken < gaussian_process.ITEM_BYTES * 1500 * ITEM_LANDMARKS + 2**24


# What is free


def test_the_variable(monkeypatch):
    for text, value in (("8G", 2**33), ("500 mb", 500 * 2**20), ("1.5GiB", 3 * 2**29), ("4096", 4096)):
        monkeypatch.setenv("PREFMOVER_MEMORY", text)
        assert memory.available() == value
    monkeypatch.setenv("PREFMOVER_MEMORY", "off")
    assert memory.available() is None
    memory.require(2**80, "everything", "take a part")
    monkeypatch.setenv("PREFMOVER_MEMORY", "plenty")
    with pytest.raises(InputError, match=names("PREFMOVER_MEMORY", "'plenty'", "8G")):
        memory.require(2**80, "everything", "take a part")


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with 10 MB free and no other limits; returns its folder of control groups."""
    monkeypatch.delenv("PREFMOVER_MEMORY", raising=False)
    (tmp_path / "meminfo").write_text("MemTotal: 99999 kB\nMemFree: 1 kB\nMemAvailable:   10240 kB\n")
    (tmp_path / "cgroup").write_text("")
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "GROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(memory, "GROUP_ROOT", tmp_path / "groups")
    monkeypatch.setattr(memory, "_process", lambda: None)
    return tmp_path


def group(folder, limit, used, cache):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.max").write_text(f"{limit}\n")
    (folder / "memory.current").write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 5\ninactive_file {cache}\nslab 7\n")


def test_of_the_machine(machine):
    assert memory.available() == 10 * 2**20


def test_of_a_container(machine):
    (machine / "cgroup").write_text("0::/box/inner\n")
    group(machine / "groups" / "box", 2_000_000, 1_500_000, 100_000)
    group(machine / "groups" / "box" / "inner", "max", 10, 0)
    assert memory.available() == 600_000


def test_a_container_that_is_full_leaves_nothing(machine):
    (machine / "cgroup").write_text("0::/\n")
    group(machine / "groups", 1000, 2000, 0)
    assert memory.available() == 0


def test_where_nothing_is_told(machine, monkeypatch):
    (machine / "meminfo").unlink()
    (machine / "cgroup").unlink()
    assert memory.available() > 2**20  # all that the machine has
    monkeypatch.delattr("os.sysconf")
    assert memory.available() is None
    memory.require(2**80, "everything", "take a part")


def test_a_limit_of_the_process():
    probe = (
        "import resource\nfrom prefmover.execution import memory\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2**33, 2**33))\nprint(memory.available())"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) < 2**33


def test_giving_back_where_the_c_library_cannot(monkeypatch):
    memory.trim_memory()
    for error in (AttributeError, OSError, TypeError):

        def refuse(name: None, error: type[Exception] = error) -> None:
            raise error

        monkeypatch.setattr("ctypes.CDLL", refuse)
        memory.trim_memory()
