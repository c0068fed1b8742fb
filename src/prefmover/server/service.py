"""The state that all requests share: the handlers, the workers, the response cache and the metrics.

A service is ``starting`` while its model is fitted and its kernels are compiled, then ``ready``, and
``stopping`` after a signal. ``failed`` means that it cannot become ready.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import logging
import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from typing import Literal, NamedTuple

from cachetools import LRUCache
from fastapi import Request, Response
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, disable_created_metrics
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from pydantic import BaseModel

from prefmover._typing import Progress
from prefmover.server.clients import group
from prefmover.server.handlers import Handlers
from prefmover.server.jobs import Job
from prefmover.server.problems import ProblemError
from prefmover.server.schemas import JobOut
from prefmover.server.settings import Settings
from prefmover.server.workers import LaneName, Ticket, Workers, check_cancelled, stopping, work_on

__all__ = ["Answer", "Loading", "Report", "Service", "accepts_gzip", "etag_of", "is_current"]

Report = Callable[[str, int, int], None]
"""Takes what is being done, and the steps done and in all."""
Loading = Callable[[Report], Handlers]
"""Fits or loads a model; called once, on a thread."""

ENTRY_BYTES = 512  # a cache entry besides its content: digest, ETag, objects
SMALLEST_ZIPPED = 1024
ZIP_LEVEL = 5
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
logger = logging.getLogger("prefmover.server")
disable_created_metrics()


class Answer(NamedTuple):
    """The body of a response as it is cached: compressed, unless it is small."""

    content: bytes
    zipped: bool
    etag: str

    @classmethod
    def of(cls, body: bytes) -> Answer:
        """Return the answer with a body."""
        zipped = len(body) >= SMALLEST_ZIPPED
        return cls(gzip.compress(body, ZIP_LEVEL, mtime=0) if zipped else body, zipped, etag_of(body))

    def response(self, request: Request) -> Response:
        """Return the response to a request: compressed if the client takes that, empty if it has this."""
        headers = {"Vary": "Accept-Encoding"}
        if request.method == "GET":  # the answer to a POST depends on its body
            headers |= {"ETag": self.etag, "Cache-Control": "private, no-cache"}
            if is_current(request.headers.get("if-none-match"), self.etag):
                return Response(status_code=304, headers=headers)
        content = self.content
        if self.zipped and accepts_gzip(request.headers.get("accept-encoding")):
            headers["Content-Encoding"] = "gzip"
        elif self.zipped:
            content = gzip.decompress(content)
        return Response(content, headers=headers, media_type="application/json")


def etag_of(body: bytes) -> str:
    """Return the ETag of a body; weak, because it is the same with and without compression."""
    return f'W/"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'


def is_current(if_none_match: str | None, etag: str) -> bool:
    """Return whether a client has the content with an ETag.

    >>> is_current('"a", W/"b"', 'W/"b"'), is_current("*", 'W/"b"'), is_current(None, 'W/"b"')
    (True, True, False)
    """
    tags = [tag.strip().removeprefix("W/") for tag in (if_none_match or "").split(",")]
    return etag.removeprefix("W/") in tags or tags == ["*"]


def accepts_gzip(accept_encoding: str | None) -> bool:
    """Return whether a client takes gzip.

    >>> accepts_gzip("br, gzip;q=0.8"), accepts_gzip("gzip;q=0"), accepts_gzip(None)
    (True, False, False)
    """
    for part in (accept_encoding or "").lower().split(","):
        name, _, quality = part.replace(" ", "").partition(";q=")
        if name in ("gzip", "*"):
            return quality.strip("0.") != "" if quality else True
    return False


class Service(Collector):
    """A model that answers requests, with everything they share.

    Routes, not paths, label the metrics: clients cannot create new series.

    Parameters
    ----------
    source
        The handlers; or a function that returns them, which is called on a thread while the service listens.
    """

    def __init__(self, source: Handlers | Loading, settings: Settings) -> None:
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
        self._handlers = source if isinstance(source, Handlers) else None
        self._starting = Ticket()
        self._thread: threading.Thread | None = None
        self._refuses = False
        self.metrics = CollectorRegistry()
        self._requests = Counter(
            "prefmover_requests",
            "Requests answered.",
            ("method", "route", "status"),
            registry=self.metrics,
        )
        self._seconds = Histogram(
            "prefmover_request_seconds",
            "Time from the header of a request to the end of its response.",
            ("route",),
            buckets=BUCKETS,
            registry=self.metrics,
        )
        ProcessCollector(registry=self.metrics)
        self.metrics.register(self)

    @property
    def handlers(self) -> Handlers:
        """The handlers; a problem while the model is fitted."""
        if self._handlers is None:
            self.check_ready()
            raise AssertionError("a ready service has handlers")
        return self._handlers

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

        if self._handlers is None:
            assert not isinstance(self._source, Handlers)
            self._handlers = self._source(report)
        step: Progress = lambda done, total: report("compiling kernels and building indexes", done, total)  # noqa: E731
        self._handlers.warm_up(step)

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
                headers={"Retry-After": "2"},
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
        work: Callable[[Handlers], BaseModel],
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
        handlers = self.handlers
        digest = hashlib.blake2b(repr(key).encode(errors="surrogatepass"), digest_size=16).digest()
        answer = self.cache.get(digest)
        if answer is None:
            self.misses += 1

            async def client_left() -> None:
                while (await request.receive())["type"] != "http.disconnect":
                    pass

            answer = await self.workers[lane].run(
                lambda: Answer.of(work(handlers).model_dump_json(exclude_unset=True).encode()),
                self.settings.seconds,
                client_left,
                group(request.scope["client"][0] if request.scope.get("client") else ""),
            )
            self.store(digest, answer)
        else:
            self.hits += 1
        return answer.response(request)

    async def respond_later(
        self, request: Request, name: str, work: Callable[[Handlers, Progress], BaseModel]
    ) -> Response:
        """Return the result of a job, or 202 and how far it is; the first request starts it."""
        self.check_open()
        handlers, job = self.handlers, self.jobs.get(name)
        if job is None:
            job = self.jobs[name] = Job(
                lambda progress: Answer.of(work(handlers, progress).model_dump_json().encode()), name
            )
        if job.failed:
            raise ProblemError(503, "This could not be computed. The log of the service says why.")
        if job.result is not None:
            return job.result.response(request)
        content = JobOut(done=job.done, total=job.total).model_dump_json()
        return Response(content, 202, {"Retry-After": "1", "Cache-Control": "no-store"}, "application/json")

    def store(self, digest: bytes, answer: Answer) -> None:
        """Put a response into the cache, unless it is larger than the cache."""
        with suppress(ValueError):
            self.cache[digest] = answer

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def collect(self) -> Iterator[Metric]:
        """Return the metrics that are read off the state of the service."""
        pairs = CounterMetricFamily(
            "prefmover_pairs", "Pairs of users, by the search step that dealt with them.", labels=("by",)
        )
        for step, n in (self._handlers.searched if self._handlers else {}).items():
            pairs.add_metric((step,), n)
        cached = CounterMetricFamily(
            "prefmover_cache_requests", "Requests answered from the cache or computed.", labels=("result",)
        )
        cached.add_metric(("hit",), self.hits)
        cached.add_metric(("miss",), self.misses)
        yield pairs
        yield cached
        yield GaugeMetricFamily("prefmover_ready", "Whether the service is ready.", self.state == "ready")
        yield GaugeMetricFamily("prefmover_cache_bytes", "Size of the cache.", self.cache.currsize)
        active = GaugeMetricFamily(
            "prefmover_requests_active", "Requests that wait or are computed.", labels=("lane",)
        )
        counters = {
            "refused": CounterMetricFamily(
                "prefmover_requests_refused", "Requests refused because the queue was full.", labels=("lane",)
            ),
            "expired": CounterMetricFamily(
                "prefmover_requests_expired", "Requests out of time.", labels=("lane",)
            ),
            "dropped": CounterMetricFamily(
                "prefmover_requests_dropped", "Requests whose client left.", labels=("lane",)
            ),
        }
        for name, lane in self.workers.lanes.items():
            active.add_metric((name,), lane.active)
            for field, counter in counters.items():
                counter.add_metric((name,), getattr(lane, field))
        yield active
        yield from counters.values()
