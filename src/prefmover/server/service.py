"""The state that all requests share: the model, the workers, the response cache and the metrics.

A service is ``starting`` while its model is fitted and its kernels are compiled, then ``ready``, and
``stopping`` after a signal. ``failed`` means that it cannot become ready.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Any, Literal

import numpy as np
from cachetools import LRUCache
from fastapi import Request, Response
from pydantic import BaseModel

from prefmover._typing import Progress
from prefmover.errors import InputError
from prefmover.execution.threads import resolve_threads
from prefmover.server.answers import Answer
from prefmover.server.clients import group
from prefmover.server.handlers import neighbors, pairs, recommend
from prefmover.server.logs import SERVICE
from prefmover.server.metrics import Metrics
from prefmover.server.problems import ProblemError
from prefmover.server.schemas import requests
from prefmover.server.schemas.responses import JobOut
from prefmover.server.served import ServedModel
from prefmover.server.settings import Settings
from prefmover.server.workers import Job, LaneName, lanes, stopping

Report = Callable[[str, int, int], None]
"""Takes what is being done, and the steps done and in all."""

ENTRY_BYTES = 512  # a cache entry besides its content: digest, ETag, objects


def warm_up(served: ServedModel, progress: Progress = lambda done, total: None) -> None:
    """Call everything for a user with a typical number of ratings, and for a guest."""
    _ = served.spread
    counts, users, items = served.users.n_ratings, served.users.texts, served.items.texts
    raters = np.flatnonzero(counts > 0)
    typical = int(raters[np.argsort(counts[raters], kind="stable")[len(raters) // 2]])
    other = users[raters[0] if raters[0] != typical else raters[-1]]
    rated, ratings = (part[:5].tolist() for part in served.data.ratings.row(typical))
    guest = [{"item": items[k], "rating": rating} for k, rating in zip(rated, ratings, strict=True)]
    calls: list[tuple[Callable[[ServedModel, Any], object], type[requests.Person], dict[str, Any]]] = [
        (neighbors.get_neighbors, requests.NeighborsOf, {}),
        (recommend.get_recommendations, requests.RecommendationsFor, {"n": 3}),
        (recommend.get_predictions, requests.PredictionsFor, {"items": items[:2]}),
        (recommend.explain_recommendation, requests.PersonAndItem, {"item": items[0]}),
        (recommend.explain_prediction, requests.PersonAndItem, {"item": items[0]}),
        (pairs.explain_users, requests.PersonAndUser, {"other": other}),
        (pairs.compare_users, requests.PersonAndUser, {"other": other}),
    ]
    everyone: list[dict[str, Any]] = [{"user": users[typical]}, {"ratings": guest}]
    steps = [(call, body(**person, **more)) for person in everyone for call, body, more in calls]
    for done, (call, body) in enumerate(steps):
        progress(done, len(steps))
        with suppress(InputError):  # undefined for this user, perhaps not for others
            call(served, body)


class Service:
    """A model that answers requests, with everything they share.

    Its ``opening`` loads the model, compiles the kernels and builds the indexes; then the service is ready.
    """

    def __init__(
        self,
        load: Callable[[Report], ServedModel],
        settings: Settings,
        warm_up: Callable[[ServedModel, Progress], None] = warm_up,
    ) -> None:
        self.settings = settings
        self.workers = lanes(resolve_threads(settings.n_threads), settings.queue)
        self.cache: LRUCache[bytes, Answer] = LRUCache(
            settings.cache, lambda answer: len(answer.content) + ENTRY_BYTES
        )
        self.jobs: dict[str, Job[Answer]] = {}
        self.hits = self.misses = 0
        self._loading, self._warm_up = load, warm_up
        self.loaded: ServedModel | None = None
        self.opening = Job(self._load, "start")
        self._doing = "starting"
        self._noticed = self._refuses = False
        self.metrics = Metrics(self)

    @property
    def state(self) -> Literal["starting", "ready", "stopping", "failed"]:
        """How far the service is between its start and its end."""
        if self.opening.error is not None:
            return "failed"
        if self._noticed:
            return "stopping"
        return "ready" if self.opening.result else "starting"

    @property
    def served(self) -> ServedModel:
        """The model; a problem while it is fitted."""
        if self.loaded is None:
            self.check_ready()
            raise AssertionError("a ready service has a model")
        return self.loaded

    @property
    def busy(self) -> bool:
        """Whether a thread is still at work."""
        jobs: list[Job[Any]] = [self.opening, *self.jobs.values()]
        return any(lane.running for lane in self.workers.values()) or any(job.is_alive() for job in jobs)

    def _load(self, progress: Progress) -> bool:
        def report(doing: str, done: int, total: int) -> None:
            self._doing = doing
            progress(done, total)

        self.loaded = self._loading(report)
        report("compiling kernels and building indexes", 0, 0)
        self._warm_up(self.loaded, progress)
        SERVICE.info("ready")
        return True

    def check_ready(self) -> None:
        """Raise a problem unless the service is ready; while it starts, the problem has the progress."""
        if self.state == "failed":
            detail = "The model does not answer. The log of the service says why."
            raise ProblemError(503, detail, state="failed")
        if self.state == "starting":
            raise ProblemError(
                503,
                f"The service is starting: {self._doing}. Try again in a few seconds.",
                {"Retry-After": "2"},
                state="starting",
                progress={"doing": self._doing, "done": self.opening.done, "total": self.opening.total},
            )
        if self.state == "stopping":
            raise stopping()

    def check_open(self) -> None:
        """Raise a problem unless requests are answered: after the start, to the end of the notice."""
        if self.state != "stopping" or self._refuses:
            self.check_ready()

    def give_notice(self) -> None:
        """Let ``/readyz`` return 503; everything else goes on."""
        self._noticed = True
        self.opening.abandoned = True

    def refuse(self) -> None:
        """Answer new requests with 503; those in progress go on."""
        self.give_notice()
        self._refuses = True
        for job in self.jobs.values():
            job.abandoned = True

    def stop(self) -> None:
        """Answer the requests in progress with 503, too."""
        self.refuse()
        for lane in self.workers.values():
            lane.stop()

    async def respond(
        self, request: Request, key: Hashable, work: Callable[[ServedModel], BaseModel], lane: LaneName
    ) -> Response:
        """Return the cached response, or compute it on a worker of a lane.

        The response depends on nothing but the key, whose ``repr`` tells different keys apart.
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
        return await answer.response(request)

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
            job.start()
        if job.error is not None:  # it would fail again
            if isinstance(job.error, InputError):
                raise job.error
            raise ProblemError(500, "This could not be computed. The log of the service says why.")
        if job.result is not None:
            return await job.result.response(request)
        content = JobOut(done=job.done, total=job.total).model_dump_json()
        return Response(content, 202, {"Retry-After": "1", "Cache-Control": "no-store"}, "application/json")

    def store(self, digest: bytes, answer: Answer) -> None:
        """Put a response into the cache, unless it is larger than the cache."""
        with suppress(ValueError):
            self.cache[digest] = answer
