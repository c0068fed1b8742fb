"""HTTP connections with time limits, and the limit on their number.

uvicorn waits forever for a client that sends its header byte by byte or never reads its response. Here each
step has a time limit. Bytes that are not HTTP are answered with a problem, like every other error.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from prefmover.server.problems import MEDIA_TYPE, problem_bytes
from prefmover.server.settings import Settings

__all__ = ["connection_class"]

LINGER_SECONDS = 1.0


def connection_class(settings: Settings) -> type[H11Protocol]:
    """Return the protocol class that applies the limits of a service."""

    class Connection(H11Protocol):
        _header_timer: asyncio.TimerHandle | None = None
        _write_timer: asyncio.TimerHandle | None = None
        _refused = False

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self.connections) > settings.connections:
                self._refuse(503, "There are too many connections. Try again in a moment.")
                return
            self._await_header()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_timers()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self._refused or self.transport.is_closing():
                return
            super().data_received(data)
            if self._between_requests():
                if self._header_timer is None and not self.transport.is_closing():
                    self._await_header()
            elif self._header_timer is not None:
                self._header_timer.cancel()
                self._header_timer = None

        def pause_writing(self) -> None:
            super().pause_writing()
            self._write_timer = self.loop.call_later(settings.write_seconds, self.transport.abort)

        def resume_writing(self) -> None:
            if self._write_timer is not None:
                self._write_timer.cancel()
                self._write_timer = None
            super().resume_writing()

        def send_400_response(self, msg: str) -> None:
            self._refuse(400, "This is not a valid HTTP request.")

        def _between_requests(self) -> bool:
            return self.cycle is None or (
                self.cycle.response_complete and self.conn.their_state in (h11.IDLE, h11.DONE)
            )

        def _await_header(self) -> None:
            self._header_timer = self.loop.call_later(settings.header_seconds, self._header_is_late)

        def _header_is_late(self) -> None:
            self._header_timer = None
            if not self._refused and not self.transport.is_closing() and self._between_requests():
                self._refuse(408, "The request did not arrive in time.")

        def _refuse(self, status: int, detail: str) -> None:
            """Respond outside of a request, then close.

            Closing waits a moment: closing with unread bytes resets the connection, and the response is lost.
            """
            self._stop_timers()
            self._unset_keepalive_if_required()
            self._refused = True
            body = problem_bytes(status, detail)
            retry = "Retry-After: 1\r\n" if status == 503 else ""
            head = (
                f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: {MEDIA_TYPE}\r\n{retry}"
                f"X-Content-Type-Options: nosniff\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
            self.transport.write_eof()
            self.loop.call_later(LINGER_SECONDS, self.transport.close)

        def _stop_timers(self) -> None:
            for timer in (self._header_timer, self._write_timer):
                if timer is not None:
                    timer.cancel()
            self._header_timer = self._write_timer = None

    return Connection
