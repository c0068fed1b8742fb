"""Work that takes longer than a request may: done once, on a thread of its own, when first asked for."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from prefmover._typing import Progress
from prefmover.errors import InputError
from prefmover.server.workers import Ticket, check_cancelled, work_on

__all__ = ["Job"]

Result = TypeVar("Result")
logger = logging.getLogger("prefmover.server")


class Job(Generic[Result]):
    """A result that is computed once.

    Attributes
    ----------
    result
        The result; None until it is there.
    error
        What the work ended with instead; the log has it, unless it is an error of input.
    done, total
        How far the work is; ``total`` is 0 until that is known.
    """

    def __init__(self, work: Callable[[Progress], Result], name: str) -> None:
        self.result: Result | None = None
        self.error: BaseException | None = None
        self.done = self.total = 0
        self.ticket = Ticket()
        self._work = work
        self._thread = threading.Thread(target=self._run, name=f"prefmover-{name}", daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether the thread is at work."""
        return self._thread.is_alive()

    def _run(self) -> None:
        try:
            self.result = work_on(self.ticket, lambda: self._work(self._report))
        except (asyncio.CancelledError, InputError) as error:
            self.error = error
        except Exception as error:
            self.error = error
            logger.exception("%s failed", self._thread.name)

    def _report(self, done: int, total: int) -> None:
        check_cancelled()
        self.done, self.total = done, total
