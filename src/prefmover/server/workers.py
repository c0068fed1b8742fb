"""A bounded pool of threads: no pile-up, a time budget, and nothing for clients who have left.

Work waits in a queue of fixed length; when it is full, the next request is refused at once with 503, which
costs nothing and tells the client when to come back. Each piece of work carries a :class:`Budget`. It is
looked at when the work leaves the queue, and by the work itself between its steps; a client that goes away,
or a budget that ends, thus frees the thread at the next step.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from prefmover.server.problems import ProblemError

__all__ = ["Budget", "Pool", "StoppedError"]

Result = TypeVar("Result")


class StoppedError(Exception):
    """The work is not wanted any more: the client has left, or the time is over."""


class Budget:
    """The time one request may take, and whether anybody still waits for it."""

    def __init__(self, seconds: float) -> None:
        self.ends = time.monotonic() + seconds
        self._gone = threading.Event()

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self.ends - time.monotonic()

    def cancel(self) -> None:
        """Say that nobody waits any more."""
        self._gone.set()

    def check(self, *_: int) -> None:
        """Raise if the work is not wanted any more; may be passed as a ``progress``."""
        if self._gone.is_set() or self.left <= 0:
            raise StoppedError


class _Task:
    def __init__(self, work: Callable[[Budget], Any], budget: Budget) -> None:
        self.work, self.budget = work, budget
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()

    def run(self) -> None:
        try:
            self.budget.check()
            result, error = self.work(self.budget), None
        except BaseException as raised:
            result, error = None, raised
        with contextlib.suppress(RuntimeError):  # the loop was closed while we worked
            self.loop.call_soon_threadsafe(self._finish, result, error)

    def _finish(self, result: Any, error: BaseException | None) -> None:
        if self.future.done():
            return
        if error is None:
            self.future.set_result(result)
        else:
            self.future.set_exception(error)


class Pool:
    """So many threads, and a queue of fixed length before them.

    Attributes
    ----------
    refused, expired, dropped
        Requests that found the queue full, ran out of time, or whose client left.
    """

    def __init__(self, workers: int, waiting: int) -> None:
        self.workers = workers
        self.waiting = waiting
        self.refused = self.expired = self.dropped = 0
        self._held = 0
        self._queue: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._work, name=f"prefmover-{k}", daemon=True) for k in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def held(self) -> int:
        """How many requests wait or are computed."""
        return self._held

    async def run(
        self, work: Callable[[Budget], Result], budget: Budget, left: Callable[[], Awaitable[None]]
    ) -> Result:
        """Return what ``work`` returns, computed on a thread.

        Parameters
        ----------
        left
            Returns when the client goes away.

        Raises
        ------
        ProblemError
            503 if the queue is full or the budget ends.
        StoppedError
            If the client left.
        """
        if self._held >= self.workers + self.waiting:
            self.refused += 1
            raise ProblemError(
                503,
                "The service is busy: too many requests wait already. Try again in a moment.",
                headers={"Retry-After": "1"},
            )
        task = _Task(work, budget)
        self._held += 1
        task.future.add_done_callback(_look_at)
        self._queue.put(task)
        gone = asyncio.ensure_future(left())
        try:
            await asyncio.wait(
                {task.future, gone}, timeout=max(budget.left, 0.0), return_when=asyncio.FIRST_COMPLETED
            )
            if task.future.done():
                result: Result = self._result(task)
                return result
            if gone.done():
                self.dropped += 1
                raise StoppedError
            raise self._too_long()
        finally:
            budget.cancel()
            gone.cancel()

    def _result(self, task: _Task) -> Any:
        try:
            return task.future.result()
        except StoppedError:
            raise self._too_long() from None

    def _too_long(self) -> ProblemError:
        self.expired += 1
        return ProblemError(
            503,
            "This took longer than a request may. Ask for less, or try again when the service is less busy.",
            headers={"Retry-After": "5"},
        )

    def _work(self) -> None:
        while (task := self._queue.get()) is not None:
            try:
                task.run()
            finally:
                with contextlib.suppress(RuntimeError):
                    task.loop.call_soon_threadsafe(self._release)

    def _release(self) -> None:
        self._held -= 1

    def close(self) -> None:
        """Let the threads end; what waits is not computed, and told so."""
        with contextlib.suppress(queue.Empty):
            while True:
                task = self._queue.get_nowait()
                if task is not None:
                    task.budget.cancel()
                    task.run()  # no more than the look at the budget
                    self._held -= 1
        for _ in self._threads:
            self._queue.put(None)


def _look_at(future: asyncio.Future[Any]) -> None:
    """Take the exception of an answer nobody waits for, lest asyncio complain."""
    if not future.canceled():
        future.exception()
