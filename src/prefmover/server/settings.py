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
PATH_PART = re.compile(r"[\w.~-]*\w", re.ASCII)
OWN_PATHS = frozenset({"api", "assets", "docs", "favicon.ico", "healthz", "metrics", "readyz"})
HOST_NAME = re.compile(r"[a-z0-9]([a-z0-9_.-]*[a-z0-9])?|\[[0-9a-f:.]+\]")


@dataclass(frozen=True, slots=True)
class Settings:
    """Address, limits and token of the service."""

    host: str = "127.0.0.1"
    port: int = 8000  # 0 for any free port
    token: str | None = None  # that clients must send as ``Authorization: Bearer``; None to require none
    # Names that clients may call the service by, besides those of loopback. Without any, a service on
    # loopback accepts only the names of loopback, and one on another address accepts every name.
    allowed_hosts: tuple[str, ...] = ()
    # Path of the service at the proxy in front of it, such as /films; the proxy may remove it or not.
    root_path: str = ""
    # Addresses or networks of proxies. Their ``X-Forwarded-For`` names the client, and they may open any
    # number of connections.
    proxies: tuple[str, ...] = ()
    n_threads: int | None = None  # requests computed at the same time; None for one per core
    queue: int = 64  # requests that may wait for a thread; further ones get 503
    seconds: float = 20.0  # time limit of a request, including the time in the queue
    # After SIGTERM, requests in progress get ``grace`` seconds. Before that, for the seconds of ``notice``,
    # /readyz returns 503 and everything else works as usual, so that a load balancer can notice.
    grace: float = 8.0
    notice: float = 0.0
    body: int = MIB  # largest request body, in bytes
    cache: int = 32 * MIB  # size of the response cache, in bytes
    # Time limits for a client to send its header, to send its body, and to read some of the response.
    header_seconds: float = 10.0
    body_seconds: float = 20.0
    write_seconds: float = 30.0
    connections: int = 1000  # open at the same time: in all, and from one address
    client_connections: int = 200
    user_noun: str | None = None  # what the pages call a user and an item; None for the words of the data
    item_noun: str | None = None

    def __post_init__(self) -> None:
        if not self.seconds > 0:
            raise InputError(f"seconds is {self.seconds!r}; give a number above 0")
        for name in ("grace", "notice"):
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
        path, parts = self.root_path, self.root_path.split("/")[1:]
        if path and (path[0] != "/" or not all(PATH_PART.fullmatch(part) for part in parts)):
            raise InputError(f"root path {path!r} is not a path such as /films or /apps/films")
        if path and parts[0] in OWN_PATHS:
            raise InputError(
                f"root path {path!r} begins like an address of the service itself; choose another first part"
            )
        token = self.token
        if token is None and not is_loopback(self.host):
            raise InputError(
                f"host {self.host!r} can be reached from other machines, and no token is set. Set a token "
                "(--token-file, or PREFMOVER_TOKEN), or listen on 127.0.0.1"
            )
        if token is not None and (len(token) < SHORTEST_TOKEN or not re.fullmatch("[!-~]*", token)):
            raise InputError(
                f"a token needs at least {SHORTEST_TOKEN} printable ASCII characters without spaces; "
                "`openssl rand -hex 24` makes a good one"
            )


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
