"""The executor that runs tasks on a Ray cluster: one core each, bounded in number, again if they are lost.

Ray moves arguments and results between processes (it pickles them, arrays aside, which stay where they are
and are read in place); this package writes no pickle. Who may submit to a Ray cluster may run any code on
it: keep its token authentication on.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import version
from typing import Any, Self

from prefmover.errors import InputError, MissingExtraError, PrefmoverError
from prefmover.execution.executor import Done, Task
from prefmover.execution.summary import Summary

__all__ = ["RayExecutor"]

logger = logging.getLogger("prefmover")

SHARD_BYTES = 2**29
PATIENCE = 10.0  # seconds between looks at the nodes
TOKEN = "set RAY_AUTH_MODE=token, and its token in RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH"
REACH = 5.0  # seconds for an address to answer
SLACK = 1.25  # of the object store: what Ray itself and results on their way need


class RayExecutor:
    """Runs tasks on a Ray cluster.

    Parameters
    ----------
    address
        ``"auto"`` for the cluster that this machine belongs to, or ``"host:port"`` of its head. By default
        that of ``RAY_ADDRESS``, or else ``"local"``: a cluster of this machine's cores, for as long as the
        executor is open. A process that is connected to Ray already stays so.
    retries
        How often a task that was lost with its process or node is run again.
    in_flight
        Tasks handed to Ray at a time; by default two for each core of the cluster, so that none waits.
    shard_bytes
        How much of the reference users one task looks at, with the table of their distances to items. The
        shards that a node works on, and the item geometry, are in its object store.
    cores
        Of a cluster that is made here; all by default.

    Examples
    --------
    ::

        with RayExecutor("auto") as executor:
            found = nearest(ratings, geometry, k=10, executor=executor)
            print(executor.summary)
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        retries: int = 5,
        in_flight: int | None = None,
        shard_bytes: int = SHARD_BYTES,
        cores: int | None = None,
    ) -> None:
        for name, value, least in (("retries", retries, 0), ("in_flight", in_flight, 1), ("cores", cores, 1)):
            if value is not None and value < least:
                raise InputError(f"{name} is {value!r}; give a whole number from {least}")
        self._ray = _installed()
        self.retries, self.in_flight = retries, in_flight
        self.shard_bytes: int | None = shard_bytes
        self.summary = Summary()
        self._looked, self._cores, self._nodes = -PATIENCE, 1, set[str]()
        self._ours = not self._ray.is_initialized()
        if self._ours:
            _connect(self._ray, address, cores)
        try:
            self._perform = self._ray.remote(num_cpus=1, max_retries=0)(_perform)
            self._derive = self._ray.remote(num_cpus=1, max_retries=retries)(_derive)
            self._look()
            self._check_nodes()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"RayExecutor({len(self._nodes)} nodes, {self._cores} cores)"

    def close(self) -> None:
        """Leave the cluster; one that was made here ends."""
        if self._ours and self._ray.is_initialized():
            self._ray.shutdown()
        self._ours = False

    @property
    def slots(self) -> int:
        """Tasks handed to Ray at a time."""
        if time.monotonic() - self._looked > PATIENCE:
            self._look()
        return self.in_flight or 2 * max(self._cores, 1)

    def begin(self, shared: int, largest: int) -> None:
        """Check that the object stores have room, and start counting anew."""
        self.summary = Summary()
        need = int(SLACK * largest)
        for node in self._alive():
            room = int(node["Resources"].get("object_store_memory", 0))
            if room < need:
                raise InputError(
                    f"the object store of node {_name(node)} has {_megabytes(room)} MB, and a task needs "
                    f"{_megabytes(need)} there ({_megabytes(SLACK * shared)} to hold everything): start Ray "
                    f"with --object-store-memory={need} or more, or give a smaller shard_bytes than "
                    f"{self.shard_bytes}"
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

    def derive(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Compute a value that many tasks read, on some node; Ray computes it again if it is lost.

        On all cores of the node (of the smallest, where they differ): the tasks that need it would wait.
        """
        cores = min((int(node["Resources"]["CPU"]) for node in self._alive()), default=1)
        return self._derive.options(num_cpus=cores).remote(identity(), cores, function, *arguments)

    def run(self, take: Callable[[], Task | None]) -> Iterator[Done]:
        """Run tasks as they become ready, each on one core; lost ones again."""
        ray, pending, lost = self._ray, dict[Any, Task](), Counter[Any]()
        again: list[Task] = []
        try:
            while True:
                while len(pending) < self.slots:
                    task = again.pop() if again else take()
                    if task is None:
                        break
                    pending[self._perform.remote(identity(), task.function, *task.arguments)] = task
                if not pending:
                    self._look()
                    return
                ready, _ = ray.wait(list(pending), num_returns=1, timeout=PATIENCE)
                if not ready:
                    self._look()
                    if not self._nodes:
                        logger.warning("prefmover: no node with a core is left; waiting for one to join")
                for reference in ready:
                    task = pending.pop(reference)
                    try:
                        value, node = ray.get(reference)
                    except self._losses as error:
                        lost[task.key] += 1
                        self._lost(task, lost[task.key], error)
                        again.append(task)
                        continue
                    except ray.exceptions.RayTaskError as error:
                        raise _reason(error) from error
                    yield Done(task.key, value, node)
        finally:
            for reference in pending:
                ray.cancel(reference)

    @property
    def _losses(self) -> tuple[type[Exception], ...]:
        e = self._ray.exceptions
        return (e.WorkerCrashedError, e.NodeDiedError, e.ObjectLostError, e.OutOfMemoryError)

    def _lost(self, task: Task, times: int, error: Exception) -> None:
        self.summary.retries += 1
        self._look()
        if times > self.retries:
            raise PrefmoverError(
                f"a task was lost {times} times ({type(error).__name__}: {_line(error)}); finished parts are "
                "kept, and the same call goes on from them"
            ) from error
        logger.warning("prefmover: a task was lost (%s); it runs again", type(error).__name__)

    def _alive(self) -> list[dict[str, Any]]:
        """Return the nodes that can run tasks."""
        return [node for node in self._ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]

    def _look(self) -> None:
        """See which nodes there are."""
        nodes = self._alive()
        self._looked = time.monotonic()
        self._cores = sum(int(node["Resources"]["CPU"]) for node in nodes)
        here = {node["NodeID"] for node in nodes}
        gone = self._nodes - here
        self.summary.nodes_lost += len(gone)
        if gone:
            logger.warning("prefmover: %d node%s lost, %d left", len(gone), "s" * (len(gone) > 1), len(here))
        self._nodes = here

    def _check_nodes(self) -> None:
        """See to it that every node has this package, and the same of it."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        ray, nodes = self._ray, self._alive()
        if not nodes:
            raise InputError("the Ray cluster has no node with a core; start one with ray start --num-cpus")

        def probe() -> tuple[str, str]:  # nested: sent as it is, since the module may not be there
            from prefmover.execution import ray as on_ray

            return on_ray.identity()

        ask = ray.remote(num_cpus=0, max_retries=2)(probe)
        asked = {}
        for node in nodes:
            there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            asked[ask.options(scheduling_strategy=there).remote()] = node
        for reference, node in asked.items():
            try:
                found = ray.get(reference)
            except ray.exceptions.RayTaskError as error:
                raise InputError(
                    f"node {_name(node)} cannot import prefmover ({_line(error.cause)}); install prefmover "
                    f"{version('prefmover')} there, in the Python that runs Ray"
                ) from error
            except self._losses:  # a node that goes away while we ask is no longer our concern
                continue
            _same(tuple(found), f"node {_name(node)}")


@cache
def identity() -> tuple[str, str]:
    """Return the version of the package, and a digest of its kernels, which tells working copies apart."""
    from prefmover.execution.jit import cache_folder

    return version("prefmover"), cache_folder().name.removeprefix("kernels-")


def _same(there: tuple[str, ...], where: str) -> None:
    here = identity()
    if there != here:
        raise InputError(
            f"{where} has prefmover {there[0]} (kernels {there[1]}), this process {here[0]} (kernels "
            f"{here[1]}); install the same version everywhere"
        )


def _perform(expected: tuple[str, str], function: Callable[..., Any], *arguments: Any) -> tuple[Any, str]:
    """Run a task on a worker; return its value and the name of the node."""
    node = _here()
    _same_as_driver(expected, node)
    return function(*arguments, threads=1, progress=None), node


def _derive(expected: tuple[str, str], threads: int, function: Callable[..., Any], *arguments: Any) -> Any:
    """Compute a shared value on a worker."""
    _same_as_driver(expected, _here())
    return function(*arguments, threads=threads, progress=None)


def _same_as_driver(expected: tuple[str, str], node: str) -> None:
    if identity() != expected:  # a node that joined later
        raise InputError(
            f"node {node} has prefmover {identity()[0]}, and the run was started by {expected[0]} "
            "(or another working copy of it); install the same version everywhere"
        )


def _here() -> str:
    import ray

    return f"{socket.gethostname()} {ray.get_runtime_context().get_node_id()[:6]}"


def _name(node: dict[str, Any]) -> str:
    return f"{node['NodeManagerHostname']} {node['NodeID'][:6]}"


def _installed() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # of a cluster that is made here
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError(
            "Ray is not installed: pip install 'prefmover[ray]', here and on every node of the cluster"
        ) from error
    return ray


def _connect(ray: Any, address: str | None, cores: int | None) -> None:
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    if address.startswith("ray://"):
        raise InputError(
            f"{address} is a Ray Client address; run prefmover on a node of the cluster (ray job submit) and "
            'give its address, "auto"'
        )
    if address not in ("auto", "local"):
        _reachable(address)
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    made_here = {"num_cpus": cores, "include_dashboard": False}
    try:
        ray.init(address=address, **(made_here if address == "local" else {}), **quiet)
    except ConnectionError as error:
        raise InputError(
            f"there is no Ray cluster at {address!r} ({_line(error)}), or none that lets this process in: "
            f"start one with ray start --head, give the address of one, or {TOKEN}"
        ) from error
    except ray.exceptions.AuthenticationError as error:
        raise InputError(f"the Ray cluster asks for its token: {TOKEN}") from error
    except (RuntimeError, ValueError) as error:
        if "Version mismatch" in str(error):
            raise InputError(
                f"{' '.join(str(error).split())} Install the same versions of Ray and Python here and there"
            ) from error
        raise InputError(f"Ray could not be reached at {address!r}: {_line(error)}") from error


def _reachable(address: str) -> None:
    """Raise unless something answers at host:port; Ray itself would try for minutes, and then abort."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise InputError(
            f'the address {address!r} is not "auto", "local" or host:port, such as 10.0.0.5:6379'
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=REACH).close()
    except OSError as error:
        raise InputError(
            f"there is no Ray cluster at {address!r} ({error}); start one with ray start --head "
            f"--port={port}, or give the address of one"
        ) from error


def _reason(error: Any) -> BaseException:
    """Return what a task raised: our own errors as they were."""
    cause = getattr(error, "cause", None)
    return cause if isinstance(cause, PrefmoverError) else error


def _line(error: BaseException | None) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _megabytes(n: float) -> str:
    return f"{n / 1e6:,.0f}"
