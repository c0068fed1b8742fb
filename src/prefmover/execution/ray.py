"""The executor that runs tasks on a Ray cluster: one core each, bounded in number, again if they are lost.

Ray moves arguments and results between processes. It pickles them, except arrays, which are read in place;
this package writes no pickle. Anyone who may submit to a Ray cluster may run any code on it: leave its token
authentication on.

Ray keeps logs and sockets of every session in its temporary folder, and never removes them. A cluster that is
started here gets a folder named after its process. It is removed when the cluster ends; if the process is
killed, the next one that starts a cluster removes it.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import socket
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from prefmover._format import counted, size
from prefmover.errors import InputError, MissingExtraError, PrefmoverError, install_command
from prefmover.execution.atomic import is_alive
from prefmover.execution.executor import Done, Summary, Task
from prefmover.execution.jit import kernel_folder

logger = logging.getLogger("prefmover")

SHARD_BYTES = 2**29
NODES_SECONDS = 10.0  # seconds between checks of the nodes
TOKEN = "set RAY_AUTH_MODE=token, and its token in RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH"
CONNECT_SECONDS = 5.0  # seconds for an address to answer
STORE_FACTOR = 1.25  # object store needed per byte of shared values: Ray and results in transit need some too
SESSION_PREFIX = "prefmover-ray-"
LONGEST_PATH = 44  # bytes: Ray adds 62 for its sockets, whose paths have 107 at most


class RayExecutor(AbstractContextManager["RayExecutor"]):
    """Runs tasks on a Ray cluster.

    Parameters
    ----------
    address
        ``"auto"`` for the cluster that this machine belongs to, or ``"host:port"`` of its head. By default
        that of ``RAY_ADDRESS``, or else ``"local"``: a cluster of this machine's cores, for as long as the
        executor is open. A process that is already connected to Ray stays connected.
    retries
        Number of times to run a task again that was lost with its process or node.
    in_flight
        Number of tasks to submit to Ray at a time; by default two for each core of the cluster, so that no
        core waits.
    shard_bytes
        Bytes of the searched users that one task reads, with the table of their distances to items. The
        shards that a node works on, and the item geometry, are in its object store.
    n_threads
        Number of cores of a cluster that is started here; all by default.

    Examples
    --------
    ::

        with RayExecutor("auto") as executor:
            neighbors = nearest(data, k=10, executor=executor)
            print(executor.summary)
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        retries: int = 5,
        in_flight: int | None = None,
        shard_bytes: int = SHARD_BYTES,
        n_threads: int | None = None,
    ) -> None:
        counts = ("retries", retries, 0), ("in_flight", in_flight, 1), ("n_threads", n_threads, 1)
        for name, value, least in counts:
            if value is not None and value < least:
                raise InputError(f"{name} is {value!r}; pass a whole number from {least} up")
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # for a cluster that is started here
        try:
            import ray
        except ImportError as error:
            raise MissingExtraError(
                f"Ray is not installed: {install_command('ray')}; here and on every node of the cluster"
            ) from error
        self._ray, e = ray, ray.exceptions
        self._losses = (e.WorkerCrashedError, e.NodeDiedError, e.ObjectLostError, e.OutOfMemoryError)
        self.retries, self.in_flight = retries, in_flight
        self.shard_bytes: int | None = shard_bytes
        self.summary = Summary()
        self._looked, self._cores, self._nodes = -NODES_SECONDS, 1, set[str]()
        self._ours = not self._ray.is_initialized()
        self._folder: Path | None = None
        try:
            if self._ours:
                address = address or os.environ.get("RAY_ADDRESS") or "local"
                if address == "local":
                    self._folder = new_session_folder()
                _connect(self._ray, address, n_threads, self._folder)
            self._perform = self._ray.remote(num_cpus=1, max_retries=0, num_returns=2)(_perform)
            self._look()
            self._check_nodes()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"RayExecutor({len(self._nodes)} nodes, {self._cores} cores)"

    def close(self) -> None:
        """Disconnect from the cluster; a cluster that was started here ends."""
        if self._ours and self._ray.is_initialized():
            self._ray.shutdown()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._ours, self._folder = False, None

    @property
    def slots(self) -> int:
        """Number of tasks to submit to Ray at a time."""
        if time.monotonic() - self._looked > NODES_SECONDS:
            self._look()
        return self.in_flight or 2 * max(self._cores, 1)

    def begin(self, shared: int, largest: int) -> None:
        """Check that the object stores have room, and reset the summary."""
        self.summary = Summary()
        need = int(STORE_FACTOR * largest)
        for node in self._alive():
            room = int(node["Resources"].get("object_store_memory", 0))
            if room < need:
                raise InputError(
                    f"the object store of node {_name(node)} has {size(room)}, and a task needs {size(need)} "
                    f"({size(STORE_FACTOR * shared)} hold everything); start Ray with "
                    f"--object-store-memory={need} or more, or pass shard_bytes= less than {self.shard_bytes}"
                )

    def share(self, value: Any) -> Any:
        """Put a value into the object store; a node that needs it fetches it once."""
        try:
            return self._ray.put(value)
        except self._ray.exceptions.ObjectStoreFullError as error:
            raise InputError(
                f"the object store of this node is full ({_line(error)}); start Ray with a larger "
                "--object-store-memory"
            ) from error
        except self._ray.exceptions.RayError as error:
            raise _broken(error) from error

    def derive(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Compute a value that many tasks read, on some node; Ray computes it again if it is lost.

        It runs on all cores of a node (of the smallest, if they differ), since tasks wait for it.
        """
        cores = min((int(node["Resources"]["CPU"]) for node in self._alive()), default=1)
        again = self._perform.options(num_cpus=cores, max_retries=self.retries)
        return again.remote(identity(), cores, function, *arguments)[0]

    def run(self, next_task: Callable[[], Task | None]) -> Iterator[Done]:
        """Run tasks as they become ready, each on one core; run lost ones again."""
        ray, pending, lost = self._ray, dict[Any, tuple[Task, Any]](), Counter[Any]()
        again: list[Task] = []
        try:
            while True:
                while len(pending) < self.slots:
                    task = again.pop() if again else next_task()
                    if task is None:
                        break
                    value, node = self._perform.remote(identity(), 1, task.function, *task.arguments)
                    pending[value] = task, node
                if not pending:
                    self._look()
                    return
                ready, _ = ray.wait(list(pending), num_returns=1, timeout=NODES_SECONDS)
                if not ready:
                    self._look()
                    if not self._nodes:
                        logger.warning("prefmover: no node with a core is left; waiting for one to join")
                for reference in ready:
                    task, there = pending.pop(reference)
                    try:
                        value, node = ray.get([reference, there])
                    except self._losses as error:
                        lost[task.key] += 1
                        self._lost(lost[task.key], error)
                        again.append(task)
                        continue
                    except ray.exceptions.RayTaskError as error:  # ours is raised unchanged
                        raise error.cause if isinstance(error.cause, PrefmoverError) else error from error
                    except ray.exceptions.RayError as error:
                        raise _broken(error) from error
                    yield Done(task.key, value, node)
        finally:
            for reference in pending:
                ray.cancel(reference)

    def _lost(self, times: int, error: Exception) -> None:
        self.summary.retries += 1
        self._look()
        if times > self.retries:
            raise PrefmoverError(
                f"a task was lost {times} times ({type(error).__name__}: {_line(error)}); run the same call "
                "again to resume from the finished parts"
            ) from error
        logger.warning("prefmover: a task was lost (%s); it runs again", type(error).__name__)

    def _alive(self) -> list[dict[str, Any]]:
        return [node for node in self._ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]

    def _look(self) -> None:
        """Update the list of nodes."""
        nodes = self._alive()
        self._looked = time.monotonic()
        self._cores = sum(int(node["Resources"]["CPU"]) for node in nodes)
        here = {node["NodeID"] for node in nodes}
        gone = self._nodes - here
        self.summary.nodes_lost += len(gone)
        if gone:
            logger.warning("prefmover: %s lost, %d left", counted(len(gone), "node"), len(here))
        self._nodes = here

    def _check_nodes(self) -> None:
        """Raise an error unless every node has this package in the same version."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        ray, nodes = self._ray, self._alive()
        if not nodes:
            raise InputError("the Ray cluster has no node with a core; start one with ray start --num-cpus")

        def probe() -> tuple[str, str]:  # nested, so that Ray sends its code: the module may be missing there
            from prefmover.execution import ray as on_ray

            return on_ray.identity()

        remote_probe = ray.remote(num_cpus=0, max_retries=2)(probe)
        probes = {}
        for node in nodes:
            there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            probes[remote_probe.options(scheduling_strategy=there).remote()] = node
        for reference, node in probes.items():
            try:
                identity_there = ray.get(reference)
            except ray.exceptions.RayTaskError as error:
                raise InputError(
                    f"node {_name(node)} cannot import prefmover ({_line(error.cause)}); install prefmover "
                    f"{version('prefmover')} there, in the Python that runs Ray"
                ) from error
            except self._losses:  # a node that left meanwhile does not matter
                continue
            _check_same(tuple(identity_there), identity(), _name(node))


@cache
def identity() -> tuple[str, str]:
    """Return the version of the package, and a digest of its kernels, which distinguishes working copies."""
    return version("prefmover"), kernel_folder().name.removeprefix("kernels-")


def _check_same(there: tuple[str, ...], driver: tuple[str, ...], node: str) -> None:
    """Raise an error unless a node has the version of the process that started the run."""
    if there != driver:
        raise InputError(
            f"node {node} has prefmover {there[0]} (kernels {there[1]}), and the run was started by "
            f"{driver[0]} (kernels {driver[1]}); install the same version everywhere"
        )


def _perform(
    driver: tuple[str, str], n_threads: int, function: Callable[..., Any], *arguments: Any
) -> tuple[Any, str]:
    """Run a task on a worker; return its value and the name of the node."""
    import ray

    node = f"{socket.gethostname()} {ray.get_runtime_context().get_node_id()[:6]}"
    _check_same(identity(), driver, node)  # again: a node may have joined later
    return function(*arguments, n_threads=n_threads, progress=None), node


def _name(node: dict[str, Any]) -> str:
    return f"{node['NodeManagerHostname']} {node['NodeID'][:6]}"


def _connect(ray: Any, address: str, n_threads: int | None, folder: Path | None) -> None:
    """Connect to a cluster, or start one with its files in a folder."""
    if address.startswith("ray://"):
        raise InputError(
            f"{address} is a Ray Client address; run prefmover on a node of the cluster (ray job submit), "
            'with the address "auto"'
        )
    if address not in ("auto", "local"):  # Ray itself would try for minutes, and then abort
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal():
            raise InputError(f'the address {address!r} is not "auto", "local" or host:port (10.0.0.5:6379)')
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()
        except OSError as error:
            raise InputError(
                f"there is no Ray cluster at {address!r} ({error}); start one with ray start --head "
                f"--port={port}, or pass the address of one"
            ) from error
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    options: dict[str, Any] = {}
    if address == "local":
        options = {"num_cpus": n_threads, "include_dashboard": False}
        options |= {} if folder is None else {"_temp_dir": str(folder)}
    try:
        ray.init(address=address, **options, **quiet)
    except ConnectionError as error:
        raise InputError(
            f"there is no Ray cluster at {address!r} that admits this process ({_line(error)}); "
            f"start one with ray start --head, pass the address of one, or {TOKEN}"
        ) from error
    except ray.exceptions.AuthenticationError as error:
        raise InputError(f"the Ray cluster requires its token; {TOKEN}") from error
    except (RuntimeError, ValueError) as error:
        message = f"Ray could not be reached at {address!r}: {_line(error)}"
        if "Version mismatch" in str(error):
            message = (
                f"{' '.join(str(error).split())} Install the same versions of Ray and Python on both sides"
            )
        raise InputError(message) from error


def _broken(error: BaseException) -> PrefmoverError:
    """Return the error about a cluster that no longer works, such as one that lost its raylet here."""
    return PrefmoverError(
        f"Ray failed ({type(error).__name__}: {_line(error)}); was one of its processes killed, or the "
        "memory full? Run the same call again to resume from the finished parts"
    )


def _line(error: BaseException | None) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def new_session_folder() -> Path | None:
    """Return a new folder for this process; None if the temporary folder is too deep for Ray's sockets.

    Folders of processes that are gone are removed.
    """
    for old in Path(tempfile.gettempdir()).glob(f"{SESSION_PREFIX}*"):
        match = re.match(rf"{SESSION_PREFIX}(\d+)-", old.name)
        if match and not is_alive(int(match[1])):
            shutil.rmtree(old, ignore_errors=True)  # what belongs to another user stays
    folder = Path(tempfile.mkdtemp(prefix=f"{SESSION_PREFIX}{os.getpid()}-"))
    if len(os.fsencode(folder)) <= LONGEST_PATH:
        return folder
    folder.rmdir()
    return None
