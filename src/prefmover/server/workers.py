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
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from cachetools import LRUCache
from starlette.requests import ClientDisconnect

from prefmover._typing import Progress
from prefmover.errors import InputError
from prefmover.server.logs import SERVICE
from prefmover.server.problems import ProblemError

Result = TypeVar("Result")
LaneName = Literal["light", "heavy", "large"]

HALF_LIFE = 10.0  # seconds after which half of a client's use is forgotten
CLIENTS = 1024  # clients whose use is remembered
LONGEST_RETRY = 60
LIGHT_THREADS = 2


@dataclass(slots=True, eq=False)
class _Request:
    """The work for a request of a client."""

    work: Callable[[], Any]
    client: str
    result: asyncio.Future[Any]
    seconds: float = 0.0
    abandoned: bool = False

    def answer(self, value: Any = None, error: BaseException | None = None) -> None:
        """Hand the result, or an error, to whoever waits for it."""
        if not self.abandoned and not self.result.done():
            if error is None:
                self.result.set_result(value)
            else:
                self.result.set_exception(error)


class Job(threading.Thread, Generic[Result]):
    """Work that takes longer than a request may: done once, on a thread of its own.

    ``result`` is None until it is there; or ``error`` is what the work ended with. ``done`` of ``total``
    steps are done; ``total`` is 0 until it is known. If ``abandoned`` is set, the work stops at the next one.
    """

    def __init__(self, work: Callable[[Progress], Result], name: str) -> None:
        super().__init__(name=f"prefmover-{name}", daemon=True)
        self.result: Result | None = None
        self.error: BaseException | None = None
        self.done = self.total = 0
        self.abandoned = False
        self._work = work

    def run(self) -> None:
        """Do the work."""
        _thread.work = self
        try:
            self.result = self._work(self._report)
        except asyncio.CancelledError:
            pass
        except BaseException as error:
            self.error = error
            if not isinstance(error, InputError):
                SERVICE.exception("%s failed", self.name)

    def _report(self, done: int, total: int) -> None:
        check_cancelled()
        self.done, self.total = done, total


_thread = threading.local()


def check_cancelled(*_: int) -> None:
    """Stop the work of this thread if it was abandoned; can be passed as a ``progress``.

    On a thread that belongs to no request, do nothing.
    """
    work: _Request | Job[Any] | None = getattr(_thread, "work", None)
    if work is not None and work.abandoned:
        raise asyncio.CancelledError


def stopping() -> ProblemError:
    """Return the problem of a request that comes, or is still computed, when the service stops."""
    return ProblemError(503, "The service is stopping. Try again in a few seconds.", {"Retry-After": "5"})


class Lane:
    """Threads that compute for all clients in turn, behind a queue of fixed length.

    Requests are ``refused`` if the queue is full, ``expired``, or ``dropped`` by their client: so many each.
    """

    def __init__(self, threads: int, queue: int, name: str = "worker") -> None:
        self.threads, self.queue = threads, queue
        self.refused = self.expired = self.dropped = 0
        self.waiting: list[_Request] = []
        self.running: list[_Request] = []  # also those that were abandoned, and still take a thread
        self._used: LRUCache[str, tuple[float, float]] = LRUCache(CLIENTS)  # seconds, and when that was
        self._mean = 0.0  # seconds of a request, lately
        self._stopped = False
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=f"prefmover-{name}")

    @property
    def active(self) -> int:
        """Number of requests that wait or are computed."""
        return len(self.running) + len(self.waiting)

    async def run(
        self,
        work: Callable[[], Result],
        seconds: float,
        client_left: Callable[[], Awaitable[object]],
        client: str = "",
    ) -> Result:
        """Return the result of ``work``, which calls :func:`check_cancelled` between its steps.

        ``seconds`` include the time in the queue, and ``client_left`` returns when the client goes away.
        Requests of the same client share its part of the threads. The error is 503 if the queue is full, the
        time is over, or the service stops, and ``ClientDisconnect`` if the client left.
        """
        if self._stopped:
            raise stopping()
        asked = _Request(work, client, asyncio.get_running_loop().create_future())
        self._admit(asked, seconds)
        left = asyncio.ensure_future(client_left())
        try:
            await asyncio.wait({asked.result, left}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if asked.result.done():
                result: Result = asked.result.result()
                return result
            if left.done():
                self.dropped += 1
                raise ClientDisconnect
            self.expired += 1
            raise ProblemError(
                503,
                "The request took too long. Ask for less, or try again when the service is less busy.",
                {"Retry-After": "5"},
            )
        finally:
            asked.abandoned = True
            if asked in self.waiting:
                self.waiting.remove(asked)
            left.cancel()

    def stop(self) -> None:
        """Answer every request with 503, those that are computed too."""
        self._stopped = True
        for asked in self.running + self.waiting:
            asked.answer(error=stopping())
            asked.abandoned = True
        self.waiting.clear()

    def _admit(self, asked: _Request, seconds: float) -> None:
        """Start the work for a request, let it wait, or raise a problem."""
        if len(self.running) >= self.threads:
            waiting = Counter(one.client for one in self.waiting)
            mine = waiting.pop(asked.client, 0)
            ahead = mine + sum(min(theirs, mine + 1) for theirs in waiting.values())
            wait = (ahead + len(self.running)) * self._mean / self.threads
            late = wait > seconds
            if late or len(self.waiting) >= self.queue:
                self.refused += 1
                retry = str(min(max(math.ceil(wait), 1), LONGEST_RETRY))
                detail = "The service is busy: too many requests are waiting. Try again in a moment."
                busy = ProblemError(503, detail, {"Retry-After": retry})
                greedy, most = max(waiting.items(), key=lambda one: one[1], default=("", 0))
                if late or most <= mine + 1:
                    raise busy
                newest = [one for one in self.waiting if one.client == greedy][-1]
                self.waiting.remove(newest)
                newest.answer(error=busy)
        self.waiting.append(asked)
        self._start()

    def _start(self) -> None:
        loop = asyncio.get_running_loop()
        while self.waiting and len(self.running) < self.threads:
            computed = Counter(one.client for one in self.running)
            clients = dict.fromkeys(one.client for one in self.waiting)
            client = min(clients, key=lambda one: (computed[one], self._use(one)))
            asked = next(one for one in self.waiting if one.client == client)
            self.waiting.remove(asked)
            self.running.append(asked)

            def done(future: Any, asked: _Request = asked) -> None:
                with suppress(RuntimeError):  # the loop is closed: nobody waits
                    loop.call_soon_threadsafe(self._finish, asked, future)

            self._pool.submit(_timed, asked).add_done_callback(done)

    def _finish(self, asked: _Request, future: Any) -> None:
        self.running.remove(asked)
        self._mean += 0.2 * (asked.seconds - self._mean)
        self._used[asked.client] = (self._use(asked.client) + asked.seconds, time.monotonic())
        error = future.exception()
        asked.answer(None if error else future.result(), error)
        self._start()

    def _use(self, client: str) -> float:
        """Return the seconds that a client has had; old ones count less."""
        used, then = self._used.get(client, (0.0, 0.0))
        return float(used * 0.5 ** ((time.monotonic() - then) / HALF_LIFE)) if used else 0.0


def _timed(asked: _Request) -> Any:
    begin = time.perf_counter()
    _thread.work = asked
    try:
        return asked.work() if not asked.abandoned else None
    except asyncio.CancelledError:
        return None  # nobody waits
    finally:
        _thread.work = None
        asked.seconds = time.perf_counter() - begin


def lanes(threads: int, queue: int) -> dict[LaneName, Lane]:
    """Return the lanes: ``light`` for lookups, ``heavy`` for searches, ``large`` for jobs of many searches.

    Large jobs get half of the threads, so a few of them do not keep everybody else waiting.
    """
    return {
        "light": Lane(LIGHT_THREADS, queue, "light"),
        "heavy": Lane(threads, queue, "heavy"),
        "large": Lane(max(1, threads // 2), queue, "large"),
    }
