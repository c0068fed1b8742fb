"""Settings of the service, with safe defaults."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from ipaddress import ip_address, ip_network

from prefmover.errors import InputError
from prefmover.execution.threads import resolve_threads

MIB = 2**20
SHORTEST_TOKEN = 16
OWN_PATHS = frozenset({"api", "assets", "docs", "favicon.ico", "healthz", "metrics", "readyz"})
HOST_NAME = re.compile(r"[a-z0-9]([a-z0-9_.-]*[a-z0-9])?|\[[0-9a-f:.]+\]")
POSITIVE = (
    "seconds", "header_seconds", "body_seconds", "write_seconds", "connections", "client_connections",
    "body",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Settings:
    """Address, limits and token of the service.

    Attributes
    ----------
    host, port
        Address to listen on; port 0 for any free port.
    token
        Token that clients must send as ``Authorization: Bearer``; None to require no token.
    allowed_hosts
        Names that clients may call the service by, besides those of loopback. Without any, a service on
        loopback accepts only the names of loopback, and one on another address accepts every name.
    root_path
        Path of the service at the proxy in front of it, such as ``/films``; the proxy may remove it or not.
    proxies
        Addresses or networks of proxies. Their ``X-Forwarded-For`` names the client, and they may open any
        number of connections.
    n_threads
        Requests computed at the same time; None for one per core.
    queue
        Requests that may wait for a thread; further ones get 503.
    seconds
        Time limit of a request, including the time in the queue.
    grace, notice
        After SIGTERM, seconds that requests in progress get; and seconds before that, in which ``/readyz``
        returns 503 and everything else works as usual, so that a load balancer can notice.
    body
        Largest request body, in bytes.
    cache
        Size of the response cache, in bytes.
    header_seconds, body_seconds, write_seconds
        Time limits for a client to send its header, to send its body, and to read some of the response.
    connections, client_connections
        Largest number of open connections, in all and from one address.
    user_noun, item_noun
        What a user and an item are called on the pages, such as "viewer" and "film"; None for the words of
        the data set.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    root_path: str = ""
    proxies: tuple[str, ...] = ()
    n_threads: int | None = None
    queue: int = 64
    seconds: float = 20.0
    grace: float = 8.0
    notice: float = 0.0
    body: int = MIB
    cache: int = 32 * MIB
    header_seconds: float = 10.0
    body_seconds: float = 20.0
    write_seconds: float = 30.0
    connections: int = 1000
    client_connections: int = 200
    user_noun: str | None = None
    item_noun: str | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.port < 2**16:
            raise InputError(f"port is {self.port}; give a number from 0 to 65535")
        for name in POSITIVE:
            if not getattr(self, name) > 0:
                raise InputError(f"{name} is {getattr(self, name)!r}; give a number above 0")
        for name in ("queue", "cache", "grace", "notice"):
            if not getattr(self, name) >= 0:
                raise InputError(f"{name} is {getattr(self, name)!r}; give 0 or more")
        resolve_threads(self.n_threads)
        for host in self.allowed_hosts:
            if not HOST_NAME.fullmatch(host.lower()):
                raise InputError(
                    f"allowed host {host!r} is not a host name; give the name without scheme, port and path, "
                    "such as films.example.org"
                )
        for proxy in self.proxies:
            try:
                ip_network(proxy)
            except ValueError as error:
                raise InputError(
                    f"proxy {proxy!r} is not an address or network ({error}); give one such as 127.0.0.1 or "
                    "10.0.0.0/8"
                ) from None
        _check_root(self.root_path)
        if self.token is not None:
            _check_token(self.token)
        elif not is_loopback(self.host):
            raise InputError(
                f"host {self.host!r} can be reached from other machines, and no token is set. Set a token "
                "(--token-file, or PREFMOVER_TOKEN), or listen on 127.0.0.1"
            )

    @property
    def threads(self) -> int:
        """Requests computed at the same time."""
        return resolve_threads(self.n_threads)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a host.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        pass
    try:
        entries = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise InputError(f"host {host!r} is unknown; give an address, such as 127.0.0.1") from None
    return all(ip_address(str(entry[4][0]).partition("%")[0]).is_loopback for entry in entries)


def _check_token(token: str) -> None:
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise InputError(
            f"a token needs at least {SHORTEST_TOKEN} printable ASCII characters without spaces; "
            "`openssl rand -hex 24` makes a good one"
        )


def _check_root(path: str) -> None:
    parts = path.split("/")[1:]
    if path and (path[0] != "/" or not all(re.fullmatch(r"[\w.~-]*\w", part, re.ASCII) for part in parts)):
        raise InputError(f"root path {path!r} is not a path such as /films or /apps/films")
    if path and parts[0] in OWN_PATHS:
        raise InputError(
            f"root path {path!r} begins like an address of the service itself; choose another first part"
        )
