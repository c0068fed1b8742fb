"""A listening process that serves a model until a signal stops it."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn
from threadpoolctl import threadpool_limits

from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.model.base import BaseRecommender
from prefmover.server.app import create_app
from prefmover.server.connection import connection_class
from prefmover.server.handlers import Handlers
from prefmover.server.loading import fitted
from prefmover.server.settings import Settings

__all__ = ["Server", "address", "listen", "serve"]

STOP_SECONDS = 3
KEEP_ALIVE_SECONDS = 15


def serve(
    data_or_model: Dataset | BaseRecommender,
    settings: Settings | None = None,
    *,
    name: str = "",
    bound: socket.socket | None = None,
    started: Callable[[str], None] = lambda _: None,
) -> int:
    """Serve a model until SIGINT or SIGTERM, and return the exit code: 130 or 0.

    Parameters
    ----------
    data_or_model
        A fitted model, or a data set, whose default model is fitted the first time and stored.
    name
        Name of the model on the pages; the name of its data set by default.
    bound
        The socket from :func:`listen`, for callers that check the address before they load a model.
    started
        Called with the address as soon as the service listens.
    """
    settings = settings or Settings()
    bound = bound or listen(settings)
    model = fitted(data_or_model) if isinstance(data_or_model, Dataset) else data_or_model
    handlers = Handlers(model, name, settings.item_noun)
    server = Server(handlers, settings, lambda: started(address(bound)))
    with threadpool_limits(1, user_api="blas"):  # requests run side by side, each on one thread
        server.run(sockets=[bound])
    return 130 if server.stopped_by == signal.SIGINT else 0


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
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
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


class Server(uvicorn.Server):
    """uvicorn's server with our limits; it remembers the signal that stopped it."""

    def __init__(
        self, handlers: Handlers, settings: Settings, started: Callable[[], None] = lambda: None
    ) -> None:
        config = uvicorn.Config(
            create_app(handlers, settings),
            http=connection_class(settings),
            ws="none",
            lifespan="on",
            access_log=False,
            log_config=None,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=STOP_SECONDS,
        )
        super().__init__(config)
        self._on_started = started
        self.stopped_by: int | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen, then call back."""
        await super().startup(sockets)
        self._on_started()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Remember the signal, and stop."""
        self.stopped_by = sig
        super().handle_exit(sig, frame)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals while serving, if this is the main thread."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {sig: signal.signal(sig, self.handle_exit) for sig in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for sig, handler in before.items():
                signal.signal(sig, handler)
