"""Worker threads with a bounded queue, a time limit, and cancellation.

Requests wait in a queue of fixed length. When it is full, the next request is refused at once with 503 and a
``Retry-After`` header. The client of a request that takes too long hears so immediately. A worker cannot be
interrupted, so it keeps its slot until its work calls :func:`check_cancelled`, which raises as soon as nobody
waits for the result.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread

from prefmover.server.problems import ProblemError

__all__ = ["ClientLeftError", "Workers", "check_cancelled"]

Result = TypeVar("Result")


class ClientLeftError(Exception):
    """The client has closed the connection; nobody reads the response."""


def check_cancelled(*_: int) -> None:
    """Stop the work of this thread if its request was abandoned; can be passed as a ``progress``.

    On a thread that belongs to no request, do nothing.
    """
    try:
        anyio.from_thread.check_cancelled()
    except RuntimeError:
        return


class Workers:
    """Threads that compute, behind a queue of fixed length.

    Parameters
    ----------
    threads
        Requests that are computed at the same time.
    queue
        Requests that may wait.

    Attributes
    ----------
    active
        Number of requests that wait or are computed.
    refused, expired, dropped
        Number of requests that met a full queue, ran out of time, or lost their client.
    """

    def __init__(self, threads: int, queue: int) -> None:
        self.capacity = threads + queue
        self.active = self.refused = self.expired = self.dropped = 0
        self._limiter = anyio.CapacityLimiter(threads)

    async def run(
        self, work: Callable[[], Result], seconds: float, client_left: Callable[[], Awaitable[object]]
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

        Raises
        ------
        ProblemError
            503 if the queue is full or the time is over.
        ClientLeftError
            If the client left.
        """
        if self.active >= self.capacity:
            self.refused += 1
            raise ProblemError(
                503,
                "The service is busy: too many requests are waiting. Try again in a moment.",
                headers={"Retry-After": "1"},
            )
        scope = anyio.CancelScope()
        job = asyncio.create_task(self._compute(work, scope))
        self.active += 1
        job.add_done_callback(self._release)
        left = asyncio.ensure_future(client_left())
        try:
            await asyncio.wait({job, left}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if job.done():
                return job.result()
            if left.done():
                self.dropped += 1
                raise ClientLeftError
            self.expired += 1
            raise ProblemError(
                503,
                "The request took too long. Ask for less, or try again when the service is less busy.",
                headers={"Retry-After": "5"},
            )
        finally:
            scope.cancel()  # not the task: it holds the slot until the thread is free again
            left.cancel()

    async def _compute(self, work: Callable[[], Result], scope: anyio.CancelScope) -> Result:
        with scope:
            return await anyio.to_thread.run_sync(work, limiter=self._limiter)
        raise ClientLeftError

    def _release(self, job: asyncio.Task[Result]) -> None:
        self.active -= 1
        if not job.cancelled():
            job.exception()  # nobody may be waiting for it anymore; asyncio would complain
