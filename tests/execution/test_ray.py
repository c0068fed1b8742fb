"""The same result on a Ray cluster, to the last bit: undisturbed, and whatever is lost on the way."""

import importlib.util
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow.parquet as pq
import pytest

from prefmover.evaluation import Experiment, run_experiment
from prefmover.execution import RayExecutor
from prefmover.model import KNNRecommender, batch
from prefmover.ot import NeighborIndex as NeighborIndexOfHistograms
from prefmover.search import nearest
from prefmover.search.candidates import CandidateSearch
from prefmover.search.index import Request
from tests.evaluation.test_run import lasting
from tests.execution.conftest import NODE, kill_a_worker, make
from tests.messages import names, unnamed
from tests.model.test_batch import assert_same as assert_same_lists
from tests.search.test_nearest import assert_same

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed: extra ray"),
    pytest.mark.skipif(not os.path.isdir("/proc"), reason="finds worker processes in /proc"),
    # Ray leaves sockets and processes to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

SMALL = Experiment(
    dataset="cinema",
    task="rating",
    train=0.05,
    repeats=1,
    ks=(5, 40),
    recommenders="controls, knn:cos, knn:pmd",
)

DRIVER = """
import sys
from prefmover.execution import RayExecutor
from prefmover.search import NeighborIndex
from tests.execution.conftest import make
with RayExecutor(sys.argv[1], shard_bytes=80_000) as executor:
    NeighborIndex(make()).nearest(k=7, executor=executor, checkpoint=sys.argv[2])
"""


class Once:
    """A progress callback that does something when a third is done, once; again if that returns False."""

    def __init__(self, act, total=None):
        self.act, self.total, self.calls, self.acted = act, total, [], False

    def __call__(self, done, total):
        self.calls.append((done, total))
        if total / 3 < done < total and not self.acted and self.total in (None, total):
            self.acted = self.act() is not False


def test_neighbors_are_the_same(executor, index, whole, tmp_path):
    progress = Once(lambda: None)
    found = index.nearest(k=7, executor=executor, checkpoint=tmp_path, progress=progress)
    assert_same(found, whole)
    assert found.stats.pairs == whole.stats.pairs
    assert progress.calls[-1] == (360, 360)
    assert progress.calls == sorted(progress.calls)
    summary = executor.summary
    n_parts = len(list(tmp_path.glob("part-*.parquet")))
    assert n_parts > 5
    assert summary.tasks > 2 * n_parts  # of several shards
    assert summary.retries == 0
    assert summary.solved == found.stats.solved > 0
    assert 1 <= len(summary.seconds) <= 2  # nodes that were at work
    table = pq.read_table(tmp_path)  # the parts are the result
    assert table.column_names == ["user", "neighbors", "distances"]
    row = table["user"].to_pylist().index(17)
    assert table["neighbors"].to_pylist()[row] == whole[17].users.tolist()
    again = index.nearest(k=7, checkpoint=tmp_path)  # what Ray began, threads end
    assert_same(again, whole)


def test_some_users_and_new_users(executor, index):
    ratings = index.data.ratings
    some = ratings.users[[3, 300, 3, 5]]
    assert_same(index.nearest(some, 4, executor=executor), index.nearest(some, 4))
    new = ratings.take(users=[7, 2])
    assert_same(index.nearest(k=4, new=new, executor=executor), index.nearest(k=4, new=new))


def test_a_worker_is_killed(cluster, executor, index, whole):
    progress = Once(lambda: kill_a_worker(cluster))
    found = index.nearest(k=7, executor=executor, progress=progress)
    assert progress.acted
    assert_same(found, whole)
    assert executor.summary.retries >= 1


def test_a_node_is_lost(cluster, executor, index, whole):
    node = cluster.add_node(**NODE)
    progress = Once(lambda: cluster.remove_node(node, allow_graceful=False))
    found = index.nearest(k=7, executor=executor, progress=progress)
    assert progress.acted
    assert_same(found, whole)
    cluster.wait_for_nodes()


def removing(cluster, total):
    """Return a progress callback that removes a node of its own when a third of so many is done."""
    node = cluster.add_node(**NODE)
    return Once(lambda: cluster.remove_node(node, allow_graceful=False), total)


def test_candidates_are_the_same_when_a_node_is_lost(cluster, executor, index, tmp_path):
    here = nearest(index.data, 7, method="candidates", recall=0.9)
    progress = removing(cluster, 360)  # while lists are made; the sample has fewer queries
    request = Request.from_ids(index.data, None, k=7, checkpoint=tmp_path, progress=progress)
    there, recall = CandidateSearch(index, request, request.users, 0.9, 0, executor, users_per_block=30).run()
    assert progress.acted
    assert_same(there, here)
    assert recall == here.recall
    cluster.wait_for_nodes()
    again = nearest(index.data, 7, method="candidates", recall=0.9, checkpoint=tmp_path)  # resumed on threads
    assert_same(again, here)


@pytest.mark.parametrize("metric", ["euclidean", "angle"])
def test_histograms_are_searched_on_a_cluster(executor, metric):
    rng = np.random.default_rng(6)
    weights = rng.integers(0, 3, (90, 40)) * (rng.random((90, 40)) < 0.3)
    weights[:, 0] += 1
    index = NeighborIndexOfHistograms(weights, rng.normal(size=(40, 3)), metric)
    here, there = index.nearest(5), index.nearest(5, executor=executor)
    assert_same(there, here)
    assert executor.summary.tasks > 1


def test_an_evaluation_survives_the_loss_of_a_node(cluster, executor, tmp_path):
    here = run_experiment(SMALL, tmp_path / "here", n_threads=1)
    lines, progress = [], removing(cluster, 6)

    def tell(line):
        lines.append(line)
        progress(len(lines), 6)

    there = run_experiment(SMALL, tmp_path / "there", executor=executor, tell=tell)
    assert progress.acted
    assert lasting(there) == lasting(here)
    cluster.wait_for_nodes()


def test_recommendations_for_everybody_survive_the_loss_of_a_node(cluster, executor, index, monkeypatch):
    monkeypatch.setattr(batch, "BLOCK", 20)
    model = KNNRecommender(k=5).fit(index.data)
    progress = removing(cluster, 360)
    there = model.recommend_all(3, executor=executor, progress=progress)
    assert progress.acted
    assert_same_lists(there, model.recommend_all(3))
    cluster.wait_for_nodes()


def test_the_driver_is_killed_and_the_run_resumed(cluster, executor, index, whole, tmp_path):
    def parts():
        return {file.name: file.stat().st_mtime_ns for file in tmp_path.glob("part-*.parquet")}

    with subprocess.Popen([sys.executable, "-c", DRIVER, cluster.address, str(tmp_path)]) as driver:
        deadline = time.monotonic() + 120
        while len(parts()) < 3 and driver.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        driver.send_signal(signal.SIGKILL)
    before = parts()
    assert len(before) >= 3
    found = index.nearest(k=7, executor=executor, checkpoint=tmp_path)
    assert_same(found, whole)
    assert executor.summary.resumed == len(before)
    assert before.items() <= parts().items()  # what was done is not done again


def test_an_evaluation_is_the_same(cluster, executor, tmp_path):
    here = run_experiment(SMALL, tmp_path / "here", n_threads=1)
    lines, progress = [], Once(lambda: kill_a_worker(cluster))

    def tell(line):
        lines.append(line)
        progress(len(lines), 6)

    there = run_experiment(SMALL, tmp_path / "there", executor=executor, tell=tell)
    assert lasting(there) == lasting(here)
    assert progress.acted
    assert executor.summary.retries >= 1
    assert executor.summary.tasks == len(lines) == len(there) == 6
    assert "[6/6]" in lines[-1]


def test_the_command_line(cluster, executor, tmp_path, capsys):
    """In this process, which is connected already."""
    from prefmover.cli import main

    def run(*words):
        with pytest.raises(SystemExit) as ended:
            main(words)
        return ended.value.code, capsys.readouterr()

    search = ["neighbors", "--dataset", "cinema", "--all", "-n", "3", "--out"]
    for name, more in (("here", []), ("there", ["--executor", "ray", "--address", cluster.address])):
        code, said = run(*search, str(tmp_path / f"{name}.parquet"), *more)
        assert code == 0, said.err
        assert "\\" not in said.err  # each line of the summary is a line
    assert pq.read_table(tmp_path / "there.parquet") == pq.read_table(tmp_path / "here.parquet")
    code, said = run(
        "--quiet", "evaluate", "--dataset=cinema", "--out", str(tmp_path / "run"), "--repeats=1", "--ks=5",
        "--recommenders=knn:jaccard", "--no-report", "--executor", "ray", "--address", cluster.address,
    )  # fmt: skip
    assert code == 0, said.err
    assert pq.read_table(tmp_path / "run" / "records.parquet").num_rows == 1
    code, said = run("evaluate", "-d", "cinema", "--out", str(tmp_path / "x"), "--address", "auto")
    assert (code, "--executor" in said.err) == (2, True)
    code, said = run(*search, str(tmp_path / "x.csv"), "--executor", "dask")
    assert (code, not unnamed(said.err, "threads", "ray")) == (2, True)


def test_a_task_that_fails_says_why(executor):
    from prefmover.errors import InputError
    from prefmover.execution import Task

    tasks = iter([Task(0, fails, ("no such thing",))])
    with pytest.raises(InputError, match="no such thing"):
        list(executor.run(lambda: next(tasks, None)))


def fails(message, n_threads, progress):
    from prefmover.errors import InputError

    raise InputError(message)


def test_tasks_in_flight_are_bounded(executor):
    from prefmover.execution import Task

    taken, seen = 0, []

    def next_task():
        nonlocal taken
        if taken == 30:
            return None
        taken += 1
        return Task(taken, echo, (taken,))

    for number, done in enumerate(executor.run(next_task)):
        assert taken - number <= executor.slots
        seen.append(done.value)
    assert sorted(seen) == list(range(1, 31))


def echo(value, n_threads, progress):
    assert n_threads == 1
    return value


def test_lost_once_too_often(cluster, index, executor):
    from prefmover.errors import PrefmoverError
    from prefmover.execution import Task

    patient = executor.retries
    executor.retries = 1
    try:
        tasks = iter([Task(0, dies, ())])
        with pytest.raises(PrefmoverError, match=names(2)):
            list(executor.run(lambda: next(tasks, None)))
    finally:
        executor.retries = patient


def dies(n_threads, progress):
    os.kill(os.getpid(), signal.SIGKILL)


def test_on_this_machine_alone():
    """Without an address a cluster is made, and ends; in another process, since this one is connected."""
    program = (
        "from tests.execution.conftest import make; from prefmover.search import nearest\n"
        "found = nearest(make(60), 3, executor='ray', n_threads=1)\n"
        "import ray; print(ray.is_initialized(), found.neighbors.tolist())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    expected = nearest(make(60), 3, n_threads=1).neighbors.tolist()
    assert done.stdout.strip() == f"False {expected}"


def test_connected_already(executor):
    with RayExecutor() as same:
        assert "2 nodes" in repr(same) or "3 nodes" in repr(same)
    assert "nodes" in repr(RayExecutor("auto"))  # and is still connected
