"""Whatever is wrong with a cluster is said in one line, with what to do."""

import importlib.util
import re
import subprocess
import sys

import pytest

from prefmover.errors import InputError, MissingExtraError
from prefmover.execution import RayExecutor
from prefmover.execution import ray as on_ray
from prefmover.search import nearest
from tests.messages import names

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed: extra ray"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


def in_another_process(program, *words):
    """Return the error that a program ends with."""
    catch = (
        "import sys\nfrom prefmover.execution import RayExecutor\nfrom prefmover.errors import InputError\n"
        f"try:\n  {program}\nexcept InputError as error:\n  print('InputError:', error)"
    )
    command = [sys.executable, "-c", catch, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("127.0.0.1:1", names("'127.0.0.1:1'", "ray start --head --port=1")),
        ("no-such-host.invalid:6379", names("'no-such-host.invalid:6379'")),
        ("somewhere", names("auto", "local", "host:port")),
        ("ray://10.0.0.5:10001", "ray job submit"),
    ],
)
def test_no_cluster_there(address, message):
    assert re.search(message, in_another_process("RayExecutor(sys.argv[1])", address))


def test_no_cluster_on_this_machine():
    """Another test's cluster may be running: Ray's answer is played."""
    program = (
        "import ray; ray.init = lambda **_: (_ for _ in ()).throw(ConnectionError('none is running')); "
        "RayExecutor('auto')"
    )
    assert "'auto'" in in_another_process(program)


def test_another_version_of_ray(cluster):
    program = "import ray; ray.__version__ = '1.2.3'; RayExecutor(sys.argv[1])"
    said = in_another_process(program, cluster.address)
    assert "1.2.3" in said


def test_another_token(cluster, monkeypatch):
    monkeypatch.setenv("RAY_AUTH_TOKEN", "x" * 64)
    monkeypatch.setenv("RAY_gcs_rpc_server_reconnect_timeout_s", "1")
    monkeypatch.setenv("RAY_NUM_REDIS_GET_RETRIES", "2")
    assert "RAY_AUTH_TOKEN" in in_another_process("RayExecutor(sys.argv[1])", cluster.address)


def test_another_version_of_this_package(cluster, executor, monkeypatch):
    monkeypatch.setattr(on_ray, "identity", lambda: ("0.0.1", "abc"))
    with pytest.raises(InputError, match=names("0.0.1")):
        RayExecutor(cluster.address)
    with pytest.raises(InputError, match=names("0.0.1")):  # a node that came later
        list(executor.run(iter([on_ray.Task(0, print, ()), None]).__next__))


def test_an_object_store_that_is_too_small(executor, index, monkeypatch):
    monkeypatch.setattr(on_ray, "STORE_FACTOR", 1e4)
    with pytest.raises(InputError, match=names("80 MB", "--object-store-memory")):
        index.nearest(k=3, executor=executor)


def test_settings(index):
    for settings in ({"retries": -1}, {"in_flight": 0}, {"n_threads": 0}):
        with pytest.raises(InputError):
            RayExecutor(**settings)
    with pytest.raises(InputError, match=names("threads", "ray")):
        index.nearest(k=3, executor="dask")
    with pytest.raises(InputError, match=names("executor", "PMD")):
        nearest(index.data, k=3, measure="jaccard", executor="ray")


def test_ray_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=names("pip install", "[ray]")):
        RayExecutor()
