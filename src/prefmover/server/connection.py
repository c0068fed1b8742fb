"""HTTP connections with time limits, and limits on their number.

uvicorn waits forever for a client that sends its header byte by byte, never reads its response, or goes on
sending a body that nobody reads. Here each step has a time limit, and a connection closes after the response
to a request whose body was not read. Bytes that are not HTTP are answered with a problem, like every error.

When there are too many connections, an idle one of the address that has most is closed, so a single client
cannot keep the others out.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from contextlib import suppress
from http import HTTPStatus
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from prefmover.server.clients import Clients, group
from prefmover.server.logs import ACCESS
from prefmover.server.problems import MEDIA_TYPE, problem_bytes
from prefmover.server.settings import Settings

__all__ = ["connection_class"]

LINGER_SECONDS = 1.0
MOST_REFUSED = 100  # connections above the limit that get a response; others are closed without one
QUIET = logging.getLogger("prefmover.server.connection")
QUIET.setLevel(logging.ERROR)  # uvicorn warns of each request that is not HTTP; the access log has them


class _Transport:
    """A transport whose ``close`` lets the client read the response first.

    Closing a socket with unread bytes resets the connection, and the client may lose the response. So only
    our half is closed; what still comes is thrown away, for a second at most.
    """

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop, write_seconds: float) -> None:
        self._transport, self._loop, self._write_seconds = transport, loop, write_seconds
        self._closed: float | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        return self._closed is not None or self._transport.is_closing()

    def close(self) -> None:
        if self.is_closing():
            return
        self._closed = time.monotonic()
        with suppress(OSError, RuntimeError):
            self._transport.resume_reading()
            self._transport.write_eof()
        self._loop.call_later(LINGER_SECONDS, self._end)

    def _end(self) -> None:
        assert self._closed is not None
        unsent = self._transport.get_write_buffer_size() > 0
        if unsent and time.monotonic() - self._closed < self._write_seconds:
            self._loop.call_later(LINGER_SECONDS, self._end)
        else:
            self._transport.abort()


def connection_class(settings: Settings) -> type[H11Protocol]:
    """Return the protocol class that applies the limits of a service."""
    return type(
        "Connection", (Connection,), {"settings": settings, "open_connections": OpenConnections(settings)}
    )


class Connection(H11Protocol):
    """A connection that applies the limits of a service; :func:`connection_class` sets the two fields."""

    settings: ClassVar[Settings]
    open_connections: ClassVar[OpenConnections]

    _header_timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(_Transport(transport, self.loop, self.settings.write_seconds))  # type: ignore[arg-type]
        self.logger = QUIET
        if self.open_connections.add(self):
            self._await_header()
        elif len(self.connections) > self.settings.connections + MOST_REFUSED:
            self.transport.abort()
        else:
            self._refuse(503, "There are too many connections. Try again in a moment.")

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timers()
        self.open_connections.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self._between_requests():
            if self._header_timer is None and not self.transport.is_closing():
                self._await_header()
        elif self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def on_response_complete(self) -> None:
        if self.conn.their_state is h11.SEND_BODY:  # nobody reads the rest of the body
            self.transport.close()
        super().on_response_complete()
        begun, _ = self.conn.trailing_data
        idle = self._header_timer is None and self._between_requests()
        if begun and idle and not self.transport.is_closing():
            self._await_header()  # the next header began before this response ended

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_timer = self.loop.call_later(self.settings.write_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None
        super().resume_writing()

    def shutdown(self) -> None:
        if not self.transport.is_closing():
            super().shutdown()

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "This is not a valid HTTP request.")

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: an upgrade is an offer, which a server may ignore."""

    @property
    def peer(self) -> str:
        """The address of the other end; "" if there is none, as on a Unix socket."""
        return self.client[0] if self.client else ""

    def worth(self) -> int:
        """Return what an end costs: 0 nothing, 1 a late header, 2 a connection for later, 3 a request."""
        if self.transport.is_closing():
            return 0
        if not self._between_requests():
            return 3
        return 1 if self.cycle is None else 2

    def _between_requests(self) -> bool:
        return self.cycle is None or (
            self.cycle.response_complete and self.conn.their_state in (h11.IDLE, h11.DONE)
        )

    def _await_header(self) -> None:
        self._header_timer = self.loop.call_later(self.settings.header_seconds, self._header_is_late)

    def _header_is_late(self) -> None:
        self._header_timer = None
        if not self.transport.is_closing() and self._between_requests():
            self._refuse(408, "The request did not arrive in time.")

    def _refuse(self, status: int, detail: str) -> None:
        """Respond outside of a request, then close."""
        self._stop_timers()
        self._unset_keepalive_if_required()
        body = problem_bytes(status, detail)
        retry = "Retry-After: 1\r\n" if status == 503 else ""
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: {MEDIA_TYPE}\r\n{retry}"
            f"X-Content-Type-Options: nosniff\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()
        ACCESS.info("", extra={"fields": {"client": self.peer, "status": status, "message": detail}})

    def _stop_timers(self) -> None:
        for timer in (self._header_timer, self._write_timer):
            if timer is not None:
                timer.cancel()
        self._header_timer = self._write_timer = None


class OpenConnections:
    """The open connections of a service in order of arrival, each with the group of its client.

    A refused connection is not among them: it takes nobody's place.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._clients = Clients(settings.proxies)
        self._groups: dict[Connection, str] = {}

    def add(self, connection: Connection) -> bool:
        """Add a connection, in place of an idle one if there are too many; return whether it may stay."""
        mine = self._groups[connection] = group(connection.peer)
        numbers = Counter(self._groups.values())
        admitted = True
        if numbers[mine] > self._settings.client_connections and not self._clients.is_proxy(connection.peer):
            admitted = self._evict(mine)
        elif len(self._groups) > self._settings.connections:
            admitted = any(self._evict(name) for name, _ in numbers.most_common())
        if not admitted:
            self.remove(connection)
        return admitted

    def remove(self, connection: Connection) -> None:
        """Remove a connection that has ended."""
        self._groups.pop(connection, None)

    def _evict(self, name: str) -> bool:
        """Close the connection of a group that is worth least, the oldest of equals; never the newest.

        Return whether there is one.
        """
        some = [one for one, of in self._groups.items() if of == name]
        least = min(some[:-1], key=Connection.worth, default=None)
        if least is None or least.worth() == 3:
            return False
        least.transport.abort()
        self.remove(least)  # now: several may arrive before connection_lost is called
        least.connections.discard(least)
        return True
