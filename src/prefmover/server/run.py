"""From settings to a listening process that stops when it is told to."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn
from threadpoolctl import threadpool_limits

from prefmover.errors import InputError
from prefmover.server.app import create_app
from prefmover.server.connection import connection_class
from prefmover.server.handlers import Answers
from prefmover.server.settings import Settings

__all__ = ["Server", "address", "listen", "serve"]

STOP_SECONDS = 3
KEEP_ALIVE_SECONDS = 15


def listen(settings: Settings) -> socket.socket:
    """Return a socket that is bound; an error names the address if it is taken."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError):
        raise InputError(
            f"host {settings.host!r} is not known here; give an address of this machine"
        ) from None
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as error:
        bound.close()
        raise InputError(
            f"cannot listen on {settings.host} port {settings.port}: {error.strerror}; "
            "choose another --port, or stop what listens there"
        ) from None
    return bound


def address(bound: socket.socket) -> str:
    """Return the address of a bound socket, for a browser."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def serve(answers: Answers, settings: Settings, bound: socket.socket, started: Callable[[str], None]) -> int:
    """Serve until SIGINT or SIGTERM, and return the exit code: 130 or 0.

    Parameters
    ----------
    started
        Called with the address as soon as the service listens.
    """
    server = Server(answers, settings, lambda: started(address(bound)))
    with threadpool_limits(1, user_api="blas"):  # requests run side by side; their products need not
        server.run(sockets=[bound])
    return 130 if server.stopped_by == signal.SIGINT else 0


class Server(uvicorn.Server):
    """uvicorn's server with our limits, which remembers what stopped it rather than dying of it."""

    def __init__(
        self, answers: Answers, settings: Settings, started: Callable[[], None] = lambda: None
    ) -> None:
        config = uvicorn.Config(
            create_app(answers, settings),
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
        self._tell = started
        self.stopped_by: int | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and tell."""
        await super().startup(sockets)
        self._tell()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Remember the signal, and stop."""
        self.stopped_by = sig
        super().handle_exit(sig, frame)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals while serving; on another thread than the main one, none."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {sig: signal.signal(sig, self.handle_exit) for sig in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for sig, handler in before.items():
                signal.signal(sig, handler)
