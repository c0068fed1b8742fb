"""What stands before the application: host, token, size, type and pace of a request, headers of an answer.

One ASGI layer, so that a request is refused before anything is made of it.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any
from urllib.parse import unquote

from prefmover.server import strict_json
from prefmover.server.metrics import Metrics
from prefmover.server.problems import MEDIA_TYPE, ProblemError, as_problem, problem_bytes
from prefmover.server.settings import Settings, is_loopback
from prefmover.server.workers import StoppedError

__all__ = ["OPENAPI", "Guards"]

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

OPENAPI = "/api/v1/openapi.json"
POSTED = "/api/v1/guest/"
LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
LONGEST_HEADER = 2**15
DRAINED = 2**24  # bytes of a body that is too large that are read, so that the client sees the answer
DRAIN_SECONDS = 2.0
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


class Guards:
    """The outermost layer of the service."""

    def __init__(self, app: App, settings: Settings, metrics: Metrics) -> None:
        self.app, self.settings, self.metrics = app, settings, metrics
        self._secret = None if settings.token is None else _digest(settings.token.encode())
        # A page of another site can make a browser call us under its own name (DNS rebinding); on
        # loopback, where no token is asked for, only our own names are answered.
        self._hosts = LOCAL_NAMES if is_loopback(settings.host) else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request through, or answer it here."""
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
            await self.app(scope, await self._let_in(scope, receive), send_guarded)
        except StoppedError:
            status = 499  # the client has left; nobody reads this
        except Exception as error:
            if not status:
                await _send_problem(send_guarded, as_problem(error), scope["path"])
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self.metrics.request(_method(scope), route, status or 499, time.perf_counter() - started)

    async def _let_in(self, scope: Scope, receive: Receive) -> Receive:
        """Check a request, and return where its body is read from."""
        headers = _Headers(scope["headers"])
        if headers.size > LONGEST_HEADER:
            raise ProblemError(
                431, f"The header is longer than {LONGEST_HEADER:,} bytes.", headers={"Connection": "close"}
            )
        self._check_host(headers)
        self._check_token(scope["path"], headers)
        if scope["path"].startswith("/api/") and scope.get("raw_path"):
            scope["path"] = _segments(scope["raw_path"])
        takes_body = scope["path"].startswith(POSTED)
        if scope["method"] != "POST" or not takes_body:
            with_body = headers.one(b"transfer-encoding") or headers.one(b"content-length", b"0") != b"0"
            if scope["method"] == "GET" and with_body and not takes_body:
                raise ProblemError(400, "A GET request has no body here.", headers={"Connection": "close"})
            return receive
        body = await self._read(headers, receive)
        try:
            strict_json.parse(body)
        except strict_json.BadJsonError as error:
            raise ProblemError(400, f"{str(error)[0].upper()}{str(error)[1:]}.") from None
        return _replay(body, receive)

    def _check_host(self, headers: _Headers) -> None:
        if self._hosts is None:
            return
        host = headers.one(b"host").decode("latin-1").lower()
        name = host[: host.index("]") + 1] if host.startswith("[") and "]" in host else host.partition(":")[0]
        if name not in self._hosts:
            raise ProblemError(
                421,
                "This service listens on loopback; ask it as localhost or 127.0.0.1, not under another name.",
            )

    def _check_token(self, path: str, headers: _Headers) -> None:
        guarded = (path.startswith("/api/") and path != OPENAPI) or path == "/metrics"
        if self._secret is None or not guarded:
            return
        scheme, _, given = headers.one(b"authorization").partition(b" ")
        if scheme.lower() != b"bearer" or not hmac.compare_digest(_digest(given.strip()), self._secret):
            raise ProblemError(
                401,
                "A token is needed: send it as `Authorization: Bearer TOKEN`.",
                headers={"WWW-Authenticate": 'Bearer realm="prefmover"'},
            )

    async def _read(self, headers: _Headers, receive: Receive) -> bytes:
        kind, _, parameters = headers.one(b"content-type").decode("latin-1").lower().partition(";")
        charset = parameters.replace(" ", "").replace('"', "")
        if kind.strip() != "application/json" or charset not in ("", "charset=utf-8"):
            raise ProblemError(
                415, "Send JSON, with `Content-Type: application/json`.", headers={"Connection": "close"}
            )
        if headers.one(b"content-encoding", b"identity").lower() != b"identity":
            raise ProblemError(
                415, "Send the body as it is, not compressed.", headers={"Connection": "close"}
            )
        declared = headers.one(b"content-length")
        too_large = declared.isdigit() and int(declared[:20]) > self.settings.body
        if too_large and b"100-continue" in headers.one(b"expect").lower():
            raise self._too_large()
        body = bytearray()
        try:
            async with asyncio.timeout(self.settings.body_seconds):
                async for chunk in _chunks(receive):
                    body += chunk
                    if too_large or len(body) > self.settings.body:
                        await _drain(receive)
                        raise self._too_large()
        except TimeoutError:
            raise ProblemError(
                408, "The body did not come in time; send it at once.", headers={"Connection": "close"}
            ) from None
        return bytes(body)

    def _too_large(self) -> ProblemError:
        return ProblemError(
            413,
            f"The body is larger than {self.settings.body:,} bytes; send fewer ratings.",
            headers={"Connection": "close"},
        )


class _Headers:
    """Headers by lower-case name."""

    def __init__(self, raw: Iterable[tuple[bytes, bytes]]) -> None:
        self._first: dict[bytes, bytes] = {}
        self.size = 0
        for name, value in raw:
            self.size += len(name) + len(value)
            self._first.setdefault(name.lower(), value)

    def one(self, name: bytes, default: bytes = b"") -> bytes:
        return self._first.get(name, default)


async def _chunks(receive: Receive) -> Any:
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise StoppedError
        yield message.get("body", b"")
        more = message.get("more_body", False)


async def _drain(receive: Receive) -> None:
    """Read on for a moment: a connection closed with unread bytes is reset, and the answer lost."""
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
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again


async def _send_problem(send: Send, problem: ProblemError, path: str) -> None:
    content = problem_bytes(problem.status, problem.detail, path, problem.errors)
    headers = [(name.lower().encode(), value.encode()) for name, value in problem.headers.items()]
    headers += [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def _segments(raw_path: bytes) -> str:
    """Return a path in which an encoded slash still is one segment's own: ids may have slashes.

    Routes match decoded paths; the segments' own ``%`` and ``/`` stay encoded, and routes decode them.

    >>> _segments(b"/api/v1/users/a%2Fb%20c/neighbors")
    '/api/v1/users/a%2Fb c/neighbors'
    """
    path, _, _ = raw_path.partition(b"?")  # Starlette's older test client leaves the query on
    parts = path.decode("latin-1").split("/")
    return "/".join(unquote(part).replace("%", "%25").replace("/", "%2F") for part in parts)


def _method(scope: Scope) -> str:
    known = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT")
    return scope["method"] if scope["method"] in known else "other"


def _digest(secret: bytes) -> bytes:
    return hashlib.sha256(secret).digest()
