"""One running service: the model that answers, the pool that computes, answers that are kept, metrics."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable

from fastapi import Request, Response
from pydantic import BaseModel

from prefmover.server.cache import KeptAnswers
from prefmover.server.handlers import Answers
from prefmover.server.metrics import Metrics, Sample, resident_bytes
from prefmover.server.problems import ProblemError
from prefmover.server.settings import Settings
from prefmover.server.workers import Budget, Pool

__all__ = ["Service"]

WARM_UP_SECONDS = 600.0
logger = logging.getLogger("prefmover.server")


class Service:
    """What all requests share."""

    def __init__(self, answers: Answers, settings: Settings) -> None:
        self.answers, self.settings = answers, settings
        self.pool = Pool(settings.n_workers, settings.queue)
        self.kept = KeptAnswers(settings.cache)
        self.metrics = Metrics()
        self.ready = self.failed = False

    async def warm_up(self) -> None:
        """Compile kernels and make indexes; then the service is ready."""
        try:
            await self.pool.run(self.answers.warm_up, Budget(WARM_UP_SECONDS), _nobody_leaves)
        except Exception as error:
            logger.error("the model does not answer", exc_info=error)
            self.failed = True
            return
        self.ready = True
        logger.info("ready")

    def check_ready(self) -> None:
        """Raise a problem until the service is warm."""
        if self.failed:
            raise ProblemError(503, "The model does not answer; the log of the service says why.")
        if not self.ready:
            raise ProblemError(
                503, "The service is starting; try again in a few seconds.", headers={"Retry-After": "2"}
            )

    async def answer(
        self, request: Request, key: Hashable, work: Callable[[Answers, Budget], BaseModel]
    ) -> Response:
        """Return a kept answer, or compute it on the pool.

        Parameters
        ----------
        key
            Says everything that the answer depends on.
        """
        self.check_ready()
        content = self.kept.get(key)
        if content is None:

            def compute(budget: Budget) -> bytes:
                return work(self.answers, budget).model_dump_json().encode()

            async def client_left() -> None:
                while (await request.receive())["type"] != "http.disconnect":
                    pass

            content = await self.pool.run(compute, Budget(self.settings.seconds), client_left)
            self.kept.put(key, content)
        return Response(content, media_type="application/json")

    def metrics_text(self) -> str:
        """Return all metrics in Prometheus' text format."""
        pool, kept, stats = self.pool, self.kept, self.answers.searched
        names = ("rwmd", "prices", "abandoned", "solved", "known", "undefined")
        pairs: list[Sample] = [({"by": name}, getattr(stats, name)) for name in names]
        memory = resident_bytes()
        return self.metrics.text(
            ("prefmover_pairs_total", "counter", "Pairs of users, by the step that dealt with them.", pairs),
            ("prefmover_pivots_total", "counter", "Simplex steps.", [({}, stats.pivots)]),
            ("prefmover_pool_held", "gauge", "Requests that wait or are computed.", [({}, pool.held)]),
            ("prefmover_pool_refused_total", "counter", "Requests refused: too many.", [({}, pool.refused)]),
            ("prefmover_pool_expired_total", "counter", "Requests that took too long.", [({}, pool.expired)]),
            ("prefmover_pool_dropped_total", "counter", "Requests whose client left.", [({}, pool.dropped)]),
            (
                "prefmover_kept_requests_total",
                "counter",
                "Answers that were kept (hit) or computed (miss).",
                [({"result": "hit"}, kept.hits), ({"result": "miss"}, kept.misses)],
            ),
            ("prefmover_kept_bytes", "gauge", "Size of the answers that are kept.", [({}, kept.size)]),
            (
                "process_resident_memory_bytes",
                "gauge",
                "Memory of the process.",
                [] if memory is None else [({}, memory)],
            ),
        )


async def _nobody_leaves() -> None:
    import asyncio

    await asyncio.Event().wait()
