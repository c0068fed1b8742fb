"""Worker threads in lanes: short queues that serve all clients alike, time limits, and cancellation.

Cheap lookups, searches and large jobs have a lane each, so that none waits for another kind. In a lane, the
next thread goes to the client that has had the least time lately. If the queue is full, the newest request of
the client with most requests in it is dropped, and gets 503 with ``Retry-After``; so does a request that
could not be finished in time anyway. A request that takes too long is answered when its time is up. A worker
cannot be interrupted, so it keeps its slot until its work calls :func:`check_cancelled`, which raises as soon
as nobody waits for the result.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from cachetools import LRUCache

from prefmover.server.problems import ProblemError

__all__ = ["ClientLeftError", "Lane", "LaneName", "Ticket", "Workers", "check_cancelled", "stopping"]

Result = TypeVar("Result")
LaneName = Literal["light", "heavy", "large"]

HALF_LIFE = 10.0  # seconds after which half of a client's use is forgotten
CLIENTS = 1024  # clients whose use is remembered
LONGEST_RETRY = 60
LIGHT_THREADS = 2


class ClientLeftError(Exception):
    """The client has closed the connection; nobody reads the response."""


@dataclass(slots=True, eq=False)
class Ticket:
    """Work that can be abandoned."""

    abandoned: bool = False


@dataclass(slots=True, eq=False)
class _Job(Ticket):
    work: Callable[[], Any] = lambda: None
    client: str = ""
    result: Any = None  # asyncio.Future
    seconds: float = 0.0

    def answer(self, value: Any = None, error: BaseException | None = None) -> None:
        """Hand the result, or an error, to whoever waits for it."""
        if not self.abandoned and not self.result.done():
            if error is None:
                self.result.set_result(value)
            else:
                self.result.set_exception(error)


_thread = threading.local()


def check_cancelled(*_: int) -> None:
    """Stop the work of this thread if it was abandoned; can be passed as a ``progress``.

    On a thread that belongs to no request, do nothing.
    """
    ticket = getattr(_thread, "ticket", None)
    if ticket is not None and ticket.abandoned:
        raise asyncio.CancelledError


def work_on(ticket: Ticket, work: Callable[[], Result]) -> Result:
    """Call ``work``, which stops at its next check once the ticket is abandoned."""
    _thread.ticket = ticket
    try:
        return work()
    finally:
        _thread.ticket = None


def stopping() -> ProblemError:
    """Return the problem of a request that comes, or is still computed, when the service stops."""
    return ProblemError(503, "The service is stopping. Try again in a few seconds.", {"Retry-After": "5"})


def _busy(seconds: float) -> ProblemError:
    wait = min(max(math.ceil(seconds), 1), LONGEST_RETRY)
    return ProblemError(
        503,
        "The service is busy: too many requests are waiting. Try again in a moment.",
        {"Retry-After": str(wait)},
    )


class Lane:
    """Threads that compute for all clients in turn, behind a queue of fixed length.

    Parameters
    ----------
    threads
        Requests that are computed at the same time.
    queue
        Requests that may wait.

    Attributes
    ----------
    running
        Number of threads at work, also those whose request was abandoned.
    refused, expired, dropped
        Number of requests that found the queue full, ran out of time, or lost their client.
    """

    def __init__(self, threads: int, queue: int, name: str = "worker") -> None:
        self.threads, self.queue = threads, queue
        self.running = self.refused = self.expired = self.dropped = 0
        self._waiting: dict[str, deque[_Job]] = {}
        self._at_work: set[_Job] = set()
        self._by_client: Counter[str] = Counter()
        self._used: LRUCache[str, tuple[float, float]] = LRUCache(CLIENTS)  # seconds, and when that was
        self._mean = 0.0  # seconds of a request, lately
        self._stopped = False
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=f"prefmover-{name}")

    @property
    def waiting(self) -> int:
        """Number of requests that wait."""
        return sum(map(len, self._waiting.values()))

    @property
    def active(self) -> int:
        """Number of requests that wait or are computed."""
        return self.running + self.waiting

    async def run(
        self,
        work: Callable[[], Result],
        seconds: float,
        client_left: Callable[[], Awaitable[object]],
        client: str = "",
    ) -> Result:
        """Return the result of ``work``, computed on a worker thread.

        Parameters
        ----------
        work
            Calls :func:`check_cancelled` between its steps.
        seconds
            Time limit, including the time in the queue.
        client_left
            Returns when the client goes away.
        client
            Requests of the same client share its part of the threads.

        Raises
        ------
        ProblemError
            503 if the queue is full, the time is over, or the service stops.
        ClientLeftError
            If the client left.
        """
        if self._stopped:
            raise stopping()
        job = _Job(work=work, client=client, result=asyncio.get_running_loop().create_future())
        self._admit(job, seconds)
        left = asyncio.ensure_future(client_left())
        try:
            await asyncio.wait({job.result, left}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if job.result.done():
                result: Result = job.result.result()
                return result
            if left.done():
                self.dropped += 1
                raise ClientLeftError
            self.expired += 1
            raise ProblemError(
                503,
                "The request took too long. Ask for less, or try again when the service is less busy.",
                {"Retry-After": "5"},
            )
        finally:
            self._abandon(job)
            left.cancel()

    def stop(self) -> None:
        """Answer every request with 503, those that are computed too."""
        self._stopped = True
        for job in [*self._at_work, *(job for jobs in self._waiting.values() for job in jobs)]:
            job.answer(error=stopping())
            job.abandoned = True
        self._waiting.clear()

    def _admit(self, job: _Job, seconds: float) -> None:
        """Start a job, let it wait, or raise a problem."""
        mine = self._waiting.get(job.client, ())
        ahead = len(mine) + sum(
            min(len(jobs), len(mine) + 1) for client, jobs in self._waiting.items() if client != job.client
        )
        wait = (ahead + self.running) * self._mean / self.threads
        if self.running >= self.threads:
            if wait > seconds:
                self.refused += 1
                raise _busy(wait)
            if self.waiting >= self.queue:
                self._make_room(len(mine), wait)
        self._waiting.setdefault(job.client, deque()).append(job)
        self._start()

    def _make_room(self, mine: int, wait: float) -> None:
        self.refused += 1
        most = max(self._waiting, key=lambda client: len(self._waiting[client]), default=None)
        if most is None or len(self._waiting[most]) <= mine + 1:
            raise _busy(wait)
        job = self._waiting[most].pop()
        job.answer(error=_busy(wait))

    def _start(self) -> None:
        while self._waiting and self.running < self.threads:
            client = min(self._waiting, key=lambda one: (self._by_client[one], self._use(one)))
            job = self._waiting[client].popleft()
            if not self._waiting[client]:
                del self._waiting[client]
            self.running += 1
            self._by_client[client] += 1
            self._at_work.add(job)
            loop = asyncio.get_running_loop()

            def done(future: Any, job: _Job = job, loop: asyncio.AbstractEventLoop = loop) -> None:
                with suppress(RuntimeError):  # the loop is closed: nobody waits
                    loop.call_soon_threadsafe(self._finish, job, future)

            self._pool.submit(_timed, job).add_done_callback(done)

    def _finish(self, job: _Job, future: Any) -> None:
        self.running -= 1
        self._at_work.discard(job)
        self._by_client[job.client] -= 1
        if not self._by_client[job.client]:
            del self._by_client[job.client]
        self._mean += 0.2 * (job.seconds - self._mean)
        self._used[job.client] = (self._use(job.client) + job.seconds, time.monotonic())
        error = future.exception()
        job.answer(None if error else future.result(), error)
        self._start()

    def _abandon(self, job: _Job) -> None:
        job.abandoned = True
        jobs = self._waiting.get(job.client, ())
        if job in jobs:
            self._waiting[job.client].remove(job)
            if not self._waiting[job.client]:
                del self._waiting[job.client]

    def _use(self, client: str) -> float:
        """Return the seconds that a client has had; old ones count less."""
        used, then = self._used.get(client, (0.0, 0.0))
        return float(used * 0.5 ** ((time.monotonic() - then) / HALF_LIFE)) if used else 0.0


def _timed(job: _Job) -> Any:
    begin = time.perf_counter()
    try:
        return work_on(job, job.work) if not job.abandoned else None
    except asyncio.CancelledError:
        return None  # nobody waits
    finally:
        job.seconds = time.perf_counter() - begin


class Workers(dict[LaneName, Lane]):
    """The lanes: ``light`` for lookups, ``heavy`` for searches, ``large`` for jobs of many searches.

    Large jobs get half of the threads, so a few of them do not keep everybody else waiting.
    """

    def __init__(self, threads: int, queue: int) -> None:
        self["light"] = Lane(LIGHT_THREADS, queue, "light")
        self["heavy"] = Lane(threads, queue, "heavy")
        self["large"] = Lane(max(1, threads // 2), queue, "large")

    def stop(self) -> None:
        """Answer every request with 503."""
        for lane in self.values():
            lane.stop()

    @property
    def running(self) -> int:
        """Number of threads at work."""
        return sum(lane.running for lane in self.values())
