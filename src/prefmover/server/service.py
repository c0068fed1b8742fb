"""The state that all requests share: the handlers, the workers, the response cache and the metrics."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress

import anyio
from cachetools import LRUCache
from fastapi import Request, Response
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, disable_created_metrics
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from pydantic import BaseModel

from prefmover.server.handlers import Handlers
from prefmover.server.problems import ProblemError
from prefmover.server.settings import Settings
from prefmover.server.workers import Workers

__all__ = ["Service"]

WARM_UP_SECONDS = 600.0
ENTRY_BYTES = 512  # approximate cost of a cache entry besides its content
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
logger = logging.getLogger("prefmover.server")
disable_created_metrics()


class Service(Collector):
    """A model that answers requests, with everything they share.

    Routes, not paths, label the metrics: clients cannot create new series.
    """

    def __init__(self, handlers: Handlers, settings: Settings) -> None:
        self.handlers, self.settings = handlers, settings
        self.workers = Workers(settings.threads, settings.queue)
        self.cache: LRUCache[Hashable, bytes] = LRUCache(settings.cache, lambda body: len(body) + ENTRY_BYTES)
        self.hits = self.misses = 0
        self.ready = self.failed = False
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

    async def warm_up(self) -> None:
        """Compile the kernels and build the indexes; then the service is ready."""
        try:
            await self.workers.run(self.handlers.warm_up, WARM_UP_SECONDS, anyio.sleep_forever)
        except Exception as error:
            logger.error("the model does not answer", exc_info=error)
            self.failed = True
            return
        self.ready = True
        logger.info("ready")

    def check_ready(self) -> None:
        """Raise a problem until the service is warm."""
        if self.failed:
            raise ProblemError(503, "The model does not answer. The log of the service says why.")
        if not self.ready:
            raise ProblemError(
                503, "The service is starting. Try again in a few seconds.", headers={"Retry-After": "2"}
            )

    async def respond(
        self, request: Request, key: Hashable, work: Callable[[Handlers], BaseModel]
    ) -> Response:
        """Return the cached response, or compute it on a worker.

        Parameters
        ----------
        key
            Everything that the response depends on.
        """
        self.check_ready()
        body = self.cache.get(key)
        if body is None:
            self.misses += 1

            async def client_left() -> None:
                while (await request.receive())["type"] != "http.disconnect":
                    pass

            body = await self.workers.run(
                lambda: work(self.handlers).model_dump_json(exclude_unset=True).encode(),
                self.settings.seconds,
                client_left,
            )
            self.store(key, body)
        else:
            self.hits += 1
        return Response(body, media_type="application/json")

    def store(self, key: Hashable, body: bytes) -> None:
        """Put a response into the cache, unless it is larger than the cache."""
        with suppress(ValueError):
            self.cache[key] = body

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def collect(self) -> Iterator[Metric]:
        """Return the metrics that are read off the state of the service."""
        pairs = CounterMetricFamily(
            "prefmover_pairs", "Pairs of users, by the search step that dealt with them.", labels=("by",)
        )
        for step, n in self.handlers.searched.items():
            pairs.add_metric((step,), n)
        cached = CounterMetricFamily(
            "prefmover_cache_requests", "Requests answered from the cache or computed.", labels=("result",)
        )
        cached.add_metric(("hit",), self.hits)
        cached.add_metric(("miss",), self.misses)
        workers = self.workers
        yield pairs
        yield cached
        yield GaugeMetricFamily("prefmover_cache_bytes", "Size of the cache.", self.cache.currsize)
        yield GaugeMetricFamily(
            "prefmover_requests_active", "Requests that wait or are computed.", workers.active
        )
        yield CounterMetricFamily(
            "prefmover_requests_refused", "Requests refused: queue full.", workers.refused
        )
        yield CounterMetricFamily("prefmover_requests_expired", "Requests out of time.", workers.expired)
        yield CounterMetricFamily(
            "prefmover_requests_dropped", "Requests whose client left.", workers.dropped
        )
