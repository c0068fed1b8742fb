"""A listening process that serves a model until a signal stops it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from types import FrameType
from typing import Protocol

import uvicorn
from threadpoolctl import threadpool_limits

from prefmover._typing import Progress
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.model import Recommender, cache
from prefmover.model.base_recommender import BaseRecommender
from prefmover.server.app import create_app
from prefmover.server.connection import connection_class
from prefmover.server.logs import SERVICE
from prefmover.server.served import ServedModel
from prefmover.server.service import Report, Service, warm_up
from prefmover.server.settings import Settings

LAST_SECONDS = 1.0  # time to send the last responses
KEEP_ALIVE_SECONDS = 15
SPARE_FILES = 200  # open files other than connections


class _Notes(Protocol):
    """What is told of a start: the address of the service, the progress, and that it is ready."""

    def started(self, address: str) -> None: ...

    def report(self, doing: str, done: int, total: int) -> None: ...

    def ready(self) -> None: ...


def serve(
    data_or_model: Dataset | BaseRecommender,
    settings: Settings,
    notes: _Notes,
    *,
    name: str,
    bound: socket.socket,
    refit: bool,
) -> int:
    """Serve a model until SIGINT or SIGTERM, and return the exit code: 130 or 0.

    The default model of a data set is fitted and stored the first time, or if ``refit``; the service listens
    meanwhile. The pages show the name. The socket is from :func:`listen`: the address is checked before a
    model is loaded.
    """
    if isinstance(data_or_model, Dataset):
        cache.folder_of(
            Recommender(), data_or_model
        )  # data that cannot be fitted are an error before anybody can connect
    _allow_files(settings.connections + SPARE_FILES)
    limits = ExitStack()

    def load(tell: Report) -> ServedModel:
        def both(doing: str, done: int, total: int) -> None:
            tell(doing, done, total)
            notes.report(doing, done, total)

        model = data_or_model
        if isinstance(model, Dataset):
            model = _fitted(model, refit, both)
        # After the fit: requests run side by side, each on one thread.
        limits.enter_context(threadpool_limits(1, user_api="blas"))
        return ServedModel(model, name, settings.item_noun, settings.user_noun)

    def prepare(served: ServedModel, progress: Progress) -> None:
        warm_up(served, progress)
        notes.ready()

    service = Service(load, settings, prepare)
    server = Server(service, lambda: notes.started(address(bound)))
    with limits:
        server.run(sockets=[bound])
    code = 130 if server.stopped_by == signal.SIGINT else 0
    if service.opening.error is not None:
        raise service.opening.error
    if service.busy and threading.current_thread() is threading.main_thread():
        # A kernel cannot be interrupted, and the end of the interpreter would wait for it. Files are renamed
        # when they are complete, so nothing is lost.
        for handler in SERVICE.handlers:
            handler.close()  # writes the last lines
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _fitted(data: Dataset, refit: bool, report: Report) -> BaseRecommender:
    report("loading the model", 0, 0)
    fit = partial(report, "fitting the model")
    # Requests run side by side, each on one thread.
    return cache.fit_once(Recommender(), data, refit=refit, n_threads=1, progress=fit)


def listen(settings: Settings) -> socket.socket:
    """Return a bound socket; the error of an address that is taken names it."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError):
        raise InputError(f"host {settings.host!r} is unknown; give an address of this machine") from None
    bound = socket.socket(family, kind, protocol)
    try:
        # Windows lets several programs listen on one port with the option that others need after a restart.
        alone = getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)
        bound.setsockopt(socket.SOL_SOCKET, alone, 1)
        bound.bind(address)
    except OSError as error:
        bound.close()
        raise InputError(
            f"cannot listen on {settings.host} port {settings.port}: {error.strerror}; "
            "choose another --port, or stop the program that listens there"
        ) from None
    return bound


def address(bound: socket.socket) -> str:
    """Return the URL of a bound socket."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def _allow_files(n: int) -> None:
    """Raise the limit on open files as far as needed and allowed: each connection is one."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < n:
        allowed = n if hard == resource.RLIM_INFINITY else min(n, hard)
        with suppress(ValueError, OSError):  # macOS names no limit and has one
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))


class Server(uvicorn.Server):
    """uvicorn's server with our limits and an orderly end; it remembers the signal that stopped it.

    After SIGTERM, ``/readyz`` returns 503 at once. For the seconds of ``notice``, everything else works as
    usual. Then nobody can connect any more, new requests on open connections get 503, and those in progress
    have ``grace`` seconds. What is not finished then gets 503, too. Ctrl-C skips the notice.
    """

    def __init__(self, service: Service, started: Callable[[], None]) -> None:
        settings = service.settings
        config = uvicorn.Config(
            create_app(service),
            http=connection_class(settings),
            ws="none",
            lifespan="on",
            access_log=False,
            log_config=None,
            log_level="critical",  # its messages are about itself; ours are in logs.py
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
        )
        super().__init__(config)
        self.service = service
        self._on_started = started
        self.stopped_by: int | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen, then call back."""
        await super().startup(sockets)
        self._on_started()

    async def on_tick(self, counter: int) -> bool:
        """Return whether to stop: after a signal, or if the service cannot become ready."""
        return await super().on_tick(counter) or self.service.state == "failed"

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop in order: notice, no new connections, grace, 503 for the rest."""
        service, settings = self.service, self.service.settings
        service.give_notice()
        if self.stopped_by == signal.SIGTERM and service.opening.result:
            await self._wait(settings.notice, lambda: False)
        for server in self.servers:
            server.close()
        for sock in sockets or []:
            sock.close()
        service.refuse()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        await self._wait(settings.grace, self._is_idle)
        service.stop()
        await self._wait(LAST_SECONDS, lambda: self._is_idle() and not self.server_state.connections)
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await self._wait(LAST_SECONDS, lambda: not self.server_state.tasks)
        await self.lifespan.shutdown()

    def _is_idle(self) -> bool:
        unsent = (one.transport.get_write_buffer_size() for one in self.server_state.connections)
        return not self.server_state.tasks and not any(unsent)

    async def _wait(self, seconds: float, done: Callable[[], bool]) -> None:
        end = time.monotonic() + seconds
        while not done() and not self.force_exit and (left := end - time.monotonic()) > 0:
            await asyncio.sleep(min(0.05, left))

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Remember the signal, and stop; a second Ctrl-C does not wait.

        uvicorn's own would also send the signal again when the server has stopped.
        """
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        self.stopped_by = sig
        self.should_exit = True
        self.service.give_notice()
