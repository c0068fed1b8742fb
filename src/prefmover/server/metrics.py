"""Counters and latencies in Prometheus' text format.

Written here rather than with a library: a dozen lines of text, and one dependency fewer.
"""

from __future__ import annotations

import os
import threading
from bisect import bisect_left
from collections import defaultdict
from pathlib import Path

__all__ = ["MEDIA_TYPE", "Metrics", "resident_bytes"]

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

Sample = tuple[dict[str, str], float]


class Metrics:
    """What the service has done since it was started.

    Routes, not paths, name the series: what clients send must not make new ones.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: dict[tuple[str, str, int], int] = defaultdict(int)
        self._seconds: dict[str, float] = defaultdict(float)
        self._buckets: dict[str, list[int]] = {}

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        with self._lock:
            self._requests[method, route, status] += 1
            self._seconds[route] += seconds
            buckets = self._buckets.setdefault(route, [0] * (len(BOUNDS) + 1))
            buckets[bisect_left(BOUNDS, seconds)] += 1

    def text(self, *others: tuple[str, str, str, list[Sample]]) -> str:
        """Return everything as text; ``others`` are (name, kind, help, samples)."""
        with self._lock:
            requests, seconds = dict(self._requests), dict(self._seconds)
            buckets = {route: list(counts) for route, counts in self._buckets.items()}
        lines = _family(
            "prefmover_requests_total",
            "counter",
            "Requests answered.",
            [
                ({"method": method, "route": route, "status": str(status)}, n)
                for (method, route, status), n in sorted(requests.items())
            ],
        )
        name = "prefmover_request_seconds"
        lines += [
            f"# HELP {name} From the request's header to the end of the answer.",
            f"# TYPE {name} histogram",
        ]
        for route in sorted(buckets):
            total = 0
            for bound, n in zip((*map(str, BOUNDS), "+Inf"), buckets[route], strict=True):
                total += n
                lines.append(f"{name}_bucket{_labels({'route': route, 'le': bound})} {total}")
            lines.append(f"{name}_sum{_labels({'route': route})} {seconds[route]:.6f}")
            lines.append(f"{name}_count{_labels({'route': route})} {total}")
        for family in others:
            lines += _family(*family)
        return "\n".join(lines) + "\n"


def resident_bytes() -> int | None:
    """Return the memory this process holds; None where /proc is not there."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def _family(name: str, kind: str, about: str, samples: list[Sample]) -> list[str]:
    lines = [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
    return lines + [
        f"{name}{_labels(labels)} {value:g}" if value % 1 else f"{name}{_labels(labels)} {value:.0f}"
        for labels, value in samples
    ]


def _labels(labels: dict[str, str]) -> str:
    if not labels:
        return ""
    escaped = (
        (name, value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n"))
        for name, value in labels.items()
    )
    return "{" + ",".join(f'{name}="{value}"' for name, value in escaped) + "}"
