"""The state that all requests share: the model, the workers, the response cache and the metrics.

A service is ``starting`` while its model is fitted and its kernels are compiled, then ``ready``, and
``stopping`` after a signal. ``failed`` means that it cannot become ready.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import threading
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Literal

from cachetools import LRUCache
from fastapi import Request, Response
from pydantic import BaseModel

from prefmover._typing import Progress
from prefmover.errors import InputError
from prefmover.server.answers import Answer
from prefmover.server.clients import group
from prefmover.server.handlers.warm_up import warm_up
from prefmover.server.jobs import Job
from prefmover.server.metrics import Metrics
from prefmover.server.problems import ProblemError
from prefmover.server.schemas.service import JobOut
from prefmover.server.served import ServedModel
from prefmover.server.settings import Settings
from prefmover.server.workers import LaneName, Ticket, Workers, check_cancelled, stopping, work_on

__all__ = ["Loading", "Report", "Service"]

Report = Callable[[str, int, int], None]
"""Takes what is being done, and the steps done and in all."""
Loading = Callable[[Report], ServedModel]
"""Fits or loads a model; called once, on a thread."""

ENTRY_BYTES = 512  # a cache entry besides its content: digest, ETag, objects
logger = logging.getLogger("prefmover.server")


class Service:
    """A model that answers requests, with everything they share.

    Parameters
    ----------
    source
        The model; or a function that returns it, which is called on a thread while the service listens.
    warm_up
        Makes a model ready to answer at once.
    """

    def __init__(
        self,
        source: ServedModel | Loading,
        settings: Settings,
        warm_up: Callable[[ServedModel, Progress], None] = warm_up,
    ) -> None:
        self.settings = settings
        self.workers = Workers(settings.threads, settings.queue)
        self.cache: LRUCache[bytes, Answer] = LRUCache(
            settings.cache, lambda answer: len(answer.content) + ENTRY_BYTES
        )
        self.jobs: dict[str, Job[Answer]] = {}
        self.hits = self.misses = 0
        self.state: Literal["starting", "ready", "stopping", "failed"] = "starting"
        self.was_ready = False
        self.error: BaseException | None = None
        self.progress = ("starting", 0, 0)
        self._source = source
        self._warm_up = warm_up
        self._served = source if isinstance(source, ServedModel) else None
        self._starting = Ticket()
        self._thread: threading.Thread | None = None
        self._refuses = False
        self.metrics = Metrics(self)

    @property
    def served(self) -> ServedModel:
        """The model; a problem while it is fitted."""
        if self._served is None:
            self.check_ready()
            raise AssertionError("a ready service has a model")
        return self._served

    @property
    def searched(self) -> dict[str, int]:
        """Number of pairs of users, by the search step that dealt with them."""
        return {} if self._served is None else self._served.searched

    @property
    def busy(self) -> bool:
        """Whether a thread is still at work."""
        starts = self._thread is not None and self._thread.is_alive()
        return self.workers.running > 0 or starts or any(job.running for job in self.jobs.values())

    async def start(self) -> None:
        """Load the model, compile the kernels and build the indexes; then the service is ready."""
        loop = asyncio.get_running_loop()
        done = asyncio.Event()

        def work() -> None:
            try:
                work_on(self._starting, self._load)
            except asyncio.CancelledError:
                pass
            except BaseException as error:
                self.error = error
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(done.set)

        # A thread of its own: the workers have time limits, and the exit waits for asyncio's threads.
        self._thread = threading.Thread(target=work, name="prefmover-start", daemon=True)
        self._thread.start()
        await done.wait()
        if self.error is not None:
            self.state = "failed"
        elif self.state == "starting":
            self.state, self.was_ready = "ready", True
            logger.info("ready")

    def _load(self) -> None:
        def report(doing: str, done: int, total: int) -> None:
            self.progress = (doing, done, total)
            check_cancelled()

        if self._served is None:
            assert not isinstance(self._source, ServedModel)
            self._served = self._source(report)
        step: Progress = lambda done, total: report("compiling kernels and building indexes", done, total)  # noqa: E731
        self._warm_up(self._served, step)

    def check_ready(self) -> None:
        """Raise a problem unless the service is ready; while it starts, the problem has the progress."""
        if self.state == "failed":
            detail = "The model does not answer. The log of the service says why."
            raise ProblemError(503, detail, state="failed")
        if self.state == "starting":
            doing, done, total = self.progress
            raise ProblemError(
                503,
                f"The service is starting: {doing}. Try again in a few seconds.",
                {"Retry-After": "2"},
                state="starting",
                progress={"doing": doing, "done": done, "total": total},
            )
        if self.state == "stopping":
            raise stopping()

    def check_open(self) -> None:
        """Raise a problem unless requests are answered: after the start, to the end of the notice."""
        if self.state != "stopping" or self._refuses:
            self.check_ready()

    def give_notice(self) -> None:
        """Let ``/readyz`` return 503; everything else goes on."""
        if self.state != "failed":
            self.state = "stopping"
        self._starting.abandoned = True

    def refuse(self) -> None:
        """Answer new requests with 503; those in progress go on."""
        self.give_notice()
        self._refuses = True
        for job in self.jobs.values():
            job.ticket.abandoned = True

    def stop(self) -> None:
        """Answer the requests in progress with 503, too."""
        self.refuse()
        self.workers.stop()

    async def respond(
        self,
        request: Request,
        key: Hashable,
        work: Callable[[ServedModel], BaseModel],
        lane: LaneName = "heavy",
    ) -> Response:
        """Return the cached response, or compute it on a worker.

        Parameters
        ----------
        key
            Everything that the response depends on. Its ``repr`` must tell different keys apart.
        lane
            The lane for requests of this cost.
        """
        self.check_open()
        served = self.served
        digest = hashlib.blake2b(repr(key).encode(errors="surrogatepass"), digest_size=16).digest()
        answer = self.cache.get(digest)
        if answer is None:
            self.misses += 1

            async def client_left() -> None:
                while (await request.receive())["type"] != "http.disconnect":
                    pass

            answer = await self.workers[lane].run(
                lambda: Answer.of(work(served).model_dump_json(exclude_unset=True).encode()),
                self.settings.seconds,
                client_left,
                group(request.scope["client"][0] if request.scope.get("client") else ""),
            )
            self.store(digest, answer)
        else:
            self.hits += 1
        return answer.response(request)

    async def compute_once(
        self, request: Request, name: str, work: Callable[[ServedModel, Progress], BaseModel]
    ) -> Response:
        """Return the result of a job, or 202 and how far it is; the first request starts it."""
        self.check_open()
        served, job = self.served, self.jobs.get(name)
        if job is None:
            job = self.jobs[name] = Job(
                lambda progress: Answer.of(work(served, progress).model_dump_json().encode()), name
            )
        if isinstance(job.error, InputError):
            raise job.error
        if job.error is not None:
            raise ProblemError(503, "This could not be computed. The log of the service says why.")
        if job.result is not None:
            return job.result.response(request)
        content = JobOut(done=job.done, total=job.total).model_dump_json()
        return Response(content, 202, {"Retry-After": "1", "Cache-Control": "no-store"}, "application/json")

    def store(self, digest: bytes, answer: Answer) -> None:
        """Put a response into the cache, unless it is larger than the cache."""
        with suppress(ValueError):
            self.cache[digest] = answer
