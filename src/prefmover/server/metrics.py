"""Metrics for Prometheus. Routes, not paths, are labels: clients cannot create new series."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from prefmover.server.service import Service

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
LANES = {
    "refused": "Requests refused because the queue was full.",
    "expired": "Requests out of time.",
    "dropped": "Requests whose client left.",
}
disable_created_metrics()


class Metrics(Collector):
    """The counters of a service, and what is read off its state when somebody asks."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "prefmover_requests", "Requests answered.", ("method", "route", "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "prefmover_request_seconds",
            "Time from the header of a request to the end of its response.",
            ("route",),
            buckets=BUCKETS,
            registry=self._registry,
        )
        ProcessCollector(registry=self._registry)
        self._registry.register(self)

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """Return the metrics that are read off the state of the service."""
        service, lanes = self._service, self._service.workers
        ready = service.state == "ready"
        yield GaugeMetricFamily("prefmover_ready", "Whether the service is ready.", ready)
        yield GaugeMetricFamily("prefmover_cache_bytes", "Size of the cache.", service.cache.currsize)
        about = "Pairs of users, by the search step that dealt with them."
        yield _counter("prefmover_pairs", about, "by", service.loaded.searched if service.loaded else {})
        cached = {"hit": service.hits, "miss": service.misses}
        about = "Requests answered from the cache or computed."
        yield _counter("prefmover_cache_requests", about, "result", cached)
        about = "Requests that wait or are computed."
        active = GaugeMetricFamily("prefmover_requests_active", about, labels=("lane",))
        for name, lane in lanes.items():
            active.add_metric((name,), lane.active)
        yield active
        for field, about in LANES.items():
            counts = {name: getattr(lane, field) for name, lane in lanes.items()}
            yield _counter(f"prefmover_requests_{field}", about, "lane", counts)


def _counter(name: str, about: str, label: str, values: Mapping[Any, int]) -> Metric:
    family = CounterMetricFamily(name, about, labels=(label,))
    for key, value in values.items():
        family.add_metric((key,), value)
    return family
