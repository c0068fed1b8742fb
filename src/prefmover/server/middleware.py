"""Checks before the application: host, token, size, type and speed of a request; headers of a response.

One ASGI layer, so that a request is refused before anything is computed for it. It also answers HEAD, removes
the root path, finds the client behind a proxy, and writes the access log.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Collection
from urllib.parse import unquote

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prefmover.server.clients import Clients
from prefmover.server.logs import ACCESS, REQUEST_ID
from prefmover.server.problems import MEDIA_TYPE, ProblemError, as_problem, problem_bytes
from prefmover.server.service import Service
from prefmover.server.settings import is_loopback
from prefmover.server.workers import stopping

OPENAPI = "/api/v1/openapi.json"
HEALTH = frozenset({"/healthz", "/readyz"})
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"})
LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
HOST = re.compile(r"(\[[0-9a-f:.]*\]|[^:\[\]]*)(?::[0-9]*)?")
GIVEN_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
LONGEST_HEADER = 2**15
LONGEST_LOGGED = 200  # characters of a path
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
    """The outermost layer of the service; a body is read only if it is sent to one of the ``posts``."""

    def __init__(self, app: ASGIApp, service: Service, posts: Collection[str]) -> None:
        self.app, self.service, self.settings, self.posts = app, service, service.settings, posts
        self.clients = Clients(self.settings.proxies)
        token = self.settings.token
        self._secret = None if token is None else _digest(token)
        # A page of another site can make a browser call this service under that site's name (DNS rebinding).
        # Loopback needs no token, so only the names of loopback are accepted there, and those that are given.
        given = frozenset(name.lower() for name in self.settings.allowed_hosts)
        self._hosts = LOCAL_NAMES | given if given or is_loopback(self.settings.host) else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request on, or answer it with a problem."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        started = time.perf_counter()
        exchange = _Exchange(scope, receive, send, self.clients, self.settings.root_path)
        mark = REQUEST_ID.set(exchange.request_id)
        try:
            channel = await self._admit(exchange, receive)
            await self.app(exchange.scope, channel, exchange.send)
        except ClientDisconnect:
            exchange.status = 499
        except asyncio.CancelledError:  # the service stops, and did not wait any longer
            if not exchange.status:
                await exchange.send_problem(stopping())
        except Exception as error:
            if not exchange.status:
                await exchange.send_problem(as_problem(error))
        finally:
            seconds = time.perf_counter() - started
            method = scope["method"] if scope["method"] in METHODS else "other"
            status = exchange.status or 499
            self.service.metrics.count(method, exchange.route or "other", status, seconds)
            ACCESS.info("", extra={"fields": exchange.fields(method, status, seconds)})
            REQUEST_ID.reset(mark)

    async def _admit(self, exchange: _Exchange, receive: Receive) -> Receive:
        """Check a request, and return the channel that its body is read from."""
        scope = exchange.scope
        if sum(len(name) + len(value) for name, value in scope["headers"]) > LONGEST_HEADER:
            raise ProblemError(
                431, f"The header is longer than {LONGEST_HEADER:,} bytes.", {"Connection": "close"}
            )
        headers, path = exchange.headers, scope["path"]
        if exchange.folder is not None:
            raise ProblemError(308, f"The pages are at {exchange.folder}.", {"Location": exchange.folder})
        if path not in HEALTH:  # probes call the service by its address
            self._check_host(headers)
        self._check_token(path, headers)
        if path.startswith("/api/") and scope.get("raw_path"):
            scope["path"] = _segments(scope["raw_path"])
        takes_body = scope["path"] in self.posts
        if scope["method"] == "POST" and takes_body:
            self.service.check_open()
            body = await self._read(scope, headers, receive)
            exchange.unread = False
            return _replay(body, receive)
        if exchange.unread and scope["method"] == "GET" and not takes_body:
            raise ProblemError(400, "A GET request takes no body.")
        return receive

    def _check_host(self, headers: Headers) -> None:
        if self._hosts is None:
            return
        match = HOST.fullmatch(headers.get("host", "").lower())
        if match is None or match[1] not in self._hosts:
            raise ProblemError(
                421,
                "This service has another name. Address it as localhost or 127.0.0.1, or start it with "
                "--allowed-host NAME.",
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
                {"WWW-Authenticate": 'Bearer realm="prefmover"'},
            )

    async def _read(self, scope: Scope, headers: Headers, receive: Receive) -> bytes:
        kind, _, parameters = headers.get("content-type", "").lower().partition(";")
        charset = parameters.replace(" ", "").replace('"', "")
        if kind.strip() != "application/json" or charset not in ("", "charset=utf-8"):
            raise ProblemError(415, "Send JSON, with `Content-Type: application/json`.")
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise ProblemError(415, "Send the body without compression.")
        declared = headers.get("content-length", "")
        too_large = ProblemError(
            413, f"The body is larger than {self.settings.body:,} bytes. Send fewer ratings."
        )
        if declared.isdecimal() and int(declared[:20]) > self.settings.body:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(self.settings.body_seconds):
                async for chunk in Request(scope, receive).stream():
                    body += chunk
                    if len(body) > self.settings.body:
                        raise too_large
        except TimeoutError:
            raise ProblemError(408, "The body did not arrive in time. Send it at once.") from None
        if not body:
            raise ProblemError(400, "The body is empty, which is not JSON.")
        return bytes(body)


class _Exchange:
    """A request and its response."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, clients: Clients, root: str) -> None:
        self.headers = Headers(scope=scope)
        peer = scope["client"][0] if scope.get("client") else None
        self.client = clients.address(peer, self.headers.getlist("x-forwarded-for"))
        given = self.headers.get("x-request-id", "") if clients.is_proxy(peer) else ""
        self.request_id = given if GIVEN_ID.fullmatch(given) else secrets.token_hex(8)
        self.head = scope["method"] == "HEAD"
        self.path = scope["path"]
        # as the application sees it: GET for HEAD, without the root path, the client's address
        self.scope = dict(scope, client=(self.client, 0))
        if self.head:
            self.scope["method"] = "GET"
        if root and (scope["path"] + "/").startswith(root + "/"):
            self.scope["path"] = scope["path"].removeprefix(root) or "/"
            self.scope["raw_path"] = scope.get("raw_path", b"").removeprefix(root.encode())
        # where the pages are, if the request lacks the last slash: paths in them are relative
        self.folder = root + "/" if root and scope["path"] == root else None
        length = self.headers.get("content-length", "0").strip()
        # with a body that nobody has read, the connection closes: the rest of it could take any time
        self.unread = "transfer-encoding" in self.headers or length.strip("0") != ""
        self.status = self.size = 0
        self._receive, self._send = receive, send

    @property
    def route(self) -> str | None:
        return getattr(self.scope.get("route"), "path", None)

    async def send(self, message: Message) -> None:
        """Send a part of the response, with the headers of every response."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [*message.get("headers", ()), *SECURITY_HEADERS]
            headers.append((b"x-request-id", self.request_id.encode()))
            names = {name for name, _ in headers}
            if b"cache-control" not in names:
                headers.append((b"cache-control", b"no-store"))
            if self.unread and b"connection" not in names:
                headers.append((b"connection", b"close"))
            message["headers"] = headers
        else:
            self.size += len(message.get("body", b""))
            if self.head:
                message["body"] = b""
        await self._send(message)

    async def send_problem(self, problem: ProblemError) -> None:
        """Send a problem as the response."""
        body = problem_bytes(problem.status, problem.detail, self.path, **problem.members)
        response = Response(body, problem.status, problem.headers, MEDIA_TYPE)
        await response(self.scope, self._receive, self.send)

    def fields(self, method: str, status: int, seconds: float) -> dict[str, str | int | float | None]:
        """Return the line of the access log: no query, no body, no token."""
        return {
            "request": self.request_id,
            "client": self.client,
            "method": method,
            "path": self.path[:LONGEST_LOGGED],
            "route": self.route,
            "status": status,
            "ms": round(1000 * seconds, 1),
            "bytes": 0 if self.head else self.size,
        }


def _replay(body: bytes, receive: Receive) -> Receive:
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return messages.pop() if messages else await receive()

    return again


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
