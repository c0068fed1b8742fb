"""Settings of the service, with safe defaults."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass

from prefmover.errors import InputError
from prefmover.execution.threads import resolve_threads

__all__ = ["MIB", "Settings", "is_loopback"]

MIB = 2**20
SHORTEST_TOKEN = 16


@dataclass(frozen=True, slots=True)
class Settings:
    """Address, limits and token of the service.

    Attributes
    ----------
    host, port
        Address to listen on; port 0 for any free port.
    token
        Token that clients must send as ``Authorization: Bearer``; None to require no token.
    n_threads
        Requests computed at the same time; None for one per core.
    queue
        Requests that may wait for a thread; further ones get 503.
    seconds
        Time limit of a request, including the time in the queue.
    body
        Largest request body, in bytes.
    cache
        Size of the response cache, in bytes.
    header_seconds, body_seconds, write_seconds
        Time limits for a client to send its header, to send its body, and to read some of the response.
    connections
        Largest number of open connections; further ones get 503.
    item_noun
        Word for an item on the pages, such as "film"; None to choose it by the name of the data set.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None
    n_threads: int | None = None
    queue: int = 64
    seconds: float = 20.0
    body: int = MIB
    cache: int = 32 * MIB
    header_seconds: float = 10.0
    body_seconds: float = 20.0
    write_seconds: float = 30.0
    connections: int = 1000
    item_noun: str | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.port < 2**16:
            raise InputError(f"port is {self.port}; give a number from 0 to 65535")
        for name in ("seconds", "header_seconds", "body_seconds", "write_seconds", "connections", "body"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} is {getattr(self, name)!r}; give a number above 0")
        for name in ("queue", "cache"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} is {getattr(self, name)!r}; give 0 or more")
        resolve_threads(self.n_threads)
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
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        pass
    try:
        entries = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise InputError(f"host {host!r} is unknown; give an address, such as 127.0.0.1") from None
    return all(ipaddress.ip_address(str(entry[4][0]).partition("%")[0]).is_loopback for entry in entries)


def _check_token(token: str) -> None:
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise InputError(
            f"a token needs at least {SHORTEST_TOKEN} printable ASCII characters without spaces; "
            "`openssl rand -hex 24` makes a good one"
        )
