"""Checks before the application: host, token, size, type and speed of a request; headers of a response.

One ASGI layer, so that a request is refused before anything is computed for it.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import time
from collections.abc import AsyncIterator
from urllib.parse import unquote

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prefmover.server.problems import MEDIA_TYPE, ProblemError, as_problem, problem_bytes
from prefmover.server.service import Service
from prefmover.server.settings import is_loopback
from prefmover.server.workers import ClientLeftError

__all__ = ["CSP", "OPENAPI", "Guard"]

OPENAPI = "/api/v1/openapi.json"
GUEST = "/api/v1/guest/"
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"})
LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
LONGEST_HEADER = 2**15
DRAINED = (
    2**24
)  # bytes of a body that are read although it is too large, so that the client sees the response
DRAIN_SECONDS = 2.0
CLOSE = {"Connection": "close"}
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = (
    (b"content-security-policy", CSP.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class Guard:
    """The outermost layer of the service."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app, self.service, self.settings = app, service, service.settings
        token = self.settings.token
        self._secret = None if token is None else _digest(token)
        # A page of another site can make a browser call this service under that site's name (DNS rebinding).
        # Loopback needs no token, so only the names of loopback are accepted there.
        self._hosts = LOCAL_NAMES if is_loopback(self.settings.host) else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request on, or answer it with a problem."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        started, status = time.perf_counter(), 0

        async def send_guarded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *SECURITY_HEADERS]
                if not any(name == b"cache-control" for name, _ in message["headers"]):
                    message["headers"].append((b"cache-control", b"no-store"))
            await send(message)

        try:
            await self.app(scope, await self._admit(scope, receive), send_guarded)
        except ClientLeftError:
            status = 499
        except Exception as error:
            if not status:
                await _send_problem(send_guarded, as_problem(error), scope["path"])
        finally:
            method = scope["method"] if scope["method"] in METHODS else "other"
            route = getattr(scope.get("route"), "path", "other")
            self.service.count(method, route, status or 499, time.perf_counter() - started)

    async def _admit(self, scope: Scope, receive: Receive) -> Receive:
        """Check a request, and return the channel that its body is read from."""
        if sum(len(name) + len(value) for name, value in scope["headers"]) > LONGEST_HEADER:
            raise ProblemError(431, f"The header is longer than {LONGEST_HEADER:,} bytes.", headers=CLOSE)
        headers = Headers(scope=scope)
        self._check_host(headers)
        self._check_token(scope["path"], headers)
        if scope["path"].startswith("/api/") and scope.get("raw_path"):
            scope["path"] = _segments(scope["raw_path"])
        takes_body = scope["path"].startswith(GUEST)
        if scope["method"] == "POST" and takes_body:
            return _replay(await self._read(headers, receive), receive)
        has_body = "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
        if scope["method"] == "GET" and has_body and not takes_body:
            raise ProblemError(400, "A GET request takes no body.", headers=CLOSE)
        return receive

    def _check_host(self, headers: Headers) -> None:
        if self._hosts is None:
            return
        host = headers.get("host", "").lower()
        name = host[: host.index("]") + 1] if host.startswith("[") and "]" in host else host.partition(":")[0]
        if name not in self._hosts:
            raise ProblemError(
                421,
                "This service listens on loopback. Address it as localhost or 127.0.0.1.",
            )

    def _check_token(self, path: str, headers: Headers) -> None:
        protected = (path.startswith("/api/") and path != OPENAPI) or path == "/metrics"
        if self._secret is None or not protected:
            return
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(_digest(token.strip()), self._secret):
            raise ProblemError(
                401,
                "A token is needed. Send it as `Authorization: Bearer TOKEN`.",
                headers={"WWW-Authenticate": 'Bearer realm="prefmover"'},
            )

    async def _read(self, headers: Headers, receive: Receive) -> bytes:
        kind, _, parameters = headers.get("content-type", "").lower().partition(";")
        charset = parameters.replace(" ", "").replace('"', "")
        if kind.strip() != "application/json" or charset not in ("", "charset=utf-8"):
            raise ProblemError(415, "Send JSON, with `Content-Type: application/json`.", headers=CLOSE)
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise ProblemError(415, "Send the body without compression.", headers=CLOSE)
        declared = headers.get("content-length", "")
        too_large = ProblemError(
            413, f"The body is larger than {self.settings.body:,} bytes. Send fewer ratings.", headers=CLOSE
        )
        is_too_large = declared.isdigit() and int(declared[:20]) > self.settings.body
        if is_too_large and "100-continue" in headers.get("expect", "").lower():
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(self.settings.body_seconds):
                async for chunk in _chunks(receive):
                    body += chunk
                    if is_too_large or len(body) > self.settings.body:
                        await _drain(receive)
                        raise too_large
        except TimeoutError:
            raise ProblemError(
                408, "The body did not arrive in time. Send it at once.", headers=CLOSE
            ) from None
        if not body:
            raise ProblemError(400, "The body is empty, which is not JSON.")
        return bytes(body)


async def _chunks(receive: Receive) -> AsyncIterator[bytes]:
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientLeftError
        yield message.get("body", b"")
        more = message.get("more_body", False)


async def _drain(receive: Receive) -> None:
    """Read on for a moment: closing a connection with unread bytes resets it, and the response is lost."""
    size = 0
    try:
        async with asyncio.timeout(DRAIN_SECONDS):
            async for chunk in _chunks(receive):
                size += len(chunk)
                if size > DRAINED:
                    return
    except TimeoutError:
        return


def _replay(body: bytes, receive: Receive) -> Receive:
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return messages.pop() if messages else await receive()

    return again


async def _send_problem(send: Send, problem: ProblemError, path: str) -> None:
    body = problem_bytes(problem.status, problem.detail, path, problem.errors)
    headers = [(name.lower().encode(), value.encode()) for name, value in problem.headers.items()]
    headers += [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _segments(raw_path: bytes) -> str:
    """Return a path in which an encoded slash stays part of its segment, because ids may contain slashes.

    Starlette matches decoded paths. ``%`` and ``/`` inside a segment stay encoded here; routes decode them.

    >>> _segments(b"/api/v1/users/a%2Fb%20c/neighbors")
    '/api/v1/users/a%2Fb c/neighbors'
    """
    path, _, _ = raw_path.partition(b"?")  # older versions of Starlette's test client include the query
    parts = path.decode("latin-1").split("/")
    return "/".join(unquote(part).replace("%", "%25").replace("/", "%2F") for part in parts)


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("latin-1", "replace")).digest()
