"""What can be set about the service, with safe defaults."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass

from prefmover.errors import InputError
from prefmover.execution.threads import resolve_jobs

__all__ = ["MIB", "Settings", "is_loopback"]

MIB = 2**20
SHORTEST_TOKEN = 16


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits and guards of one service.

    Attributes
    ----------
    host, port
        Where to listen; port 0 for any free one.
    token
        What clients must send as ``Authorization: Bearer``; None for nobody is asked.
    workers
        Threads that compute; None for one per core.
    queue
        Requests that may wait for a thread; the next one gets 503.
    seconds
        What a request may take, waiting included.
    body
        Bytes of a request's body.
    cache
        Bytes of answers that are kept.
    header_seconds, body_seconds, write_seconds
        How long a client may take to send its header and its body, and to take some of the answer.
    connections
        Open connections; the next one gets 503.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None
    workers: int | None = None
    queue: int = 64
    seconds: float = 20.0
    body: int = MIB
    cache: int = 32 * MIB
    header_seconds: float = 10.0
    body_seconds: float = 20.0
    write_seconds: float = 30.0
    connections: int = 1000

    def __post_init__(self) -> None:
        if not 0 <= self.port < 2**16:
            raise InputError(f"port is {self.port}; give a number from 0 to 65535")
        for name in ("seconds", "header_seconds", "body_seconds", "write_seconds", "connections", "body"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} is {getattr(self, name)!r}; give a number above 0")
        for name in ("queue", "cache"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} is {getattr(self, name)!r}; give a number from 0")
        resolve_jobs(self.workers)
        if self.token is not None:
            _check_token(self.token)
        elif not is_loopback(self.host):
            raise InputError(
                f"host {self.host!r} can be reached from other machines, and no token is set: anybody there "
                "could ask. Set one (--token-file, or PREFMOVER_TOKEN), or listen on 127.0.0.1"
            )

    @property
    def n_workers(self) -> int:
        """The number of threads that compute."""
        return resolve_jobs(self.workers)


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
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise InputError(f"host {host!r} is not known here; give an address, such as 127.0.0.1") from None
    return all(ipaddress.ip_address(str(entry[4][0]).partition("%")[0]).is_loopback for entry in found)


def _check_token(token: str) -> None:
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise InputError(
            f"a token has at least {SHORTEST_TOKEN} characters, letters, digits and signs without blanks; "
            "`openssl rand -hex 24` makes a good one"
        )
