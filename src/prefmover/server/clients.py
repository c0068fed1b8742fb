"""Who sends a request: the address of a client, also behind proxies, and the group that shares its limits."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network


class Clients:
    """Distinguishes clients from proxies: addresses or networks whose ``X-Forwarded-For`` is believed.

    >>> clients = Clients(["10.0.0.0/8"])
    >>> clients.address("10.0.0.1", ["203.0.113.7, 198.51.100.2, 10.0.0.9"])
    '198.51.100.2'
    >>> clients.address("198.51.100.2", ["203.0.113.7"])  # not a proxy: anyone can write a header
    '198.51.100.2'
    """

    def __init__(self, proxies: Iterable[str] = ()) -> None:
        self._networks = [ip_network(proxy) for proxy in proxies]

    def is_proxy(self, host: str | None) -> bool:
        """Return whether an address is that of a proxy."""
        address = _parsed(host)
        return address is not None and any(address in network for network in self._networks)

    def address(self, peer: str | None, forwarded: Iterable[str] = ()) -> str:
        """Return the address of the client behind a connection.

        Each proxy appends the address that it was called from, so the client is the last one in the list
        that is not a proxy itself. What comes before it was written by the client.
        """
        if not self.is_proxy(peer):
            return peer or "unknown"
        nearest = str(peer)
        for text in reversed([part for value in forwarded for part in value.split(",")]):
            address = _parsed(_without_port(text.strip()))
            if address is None:
                break
            nearest = str(address)
            if not self.is_proxy(nearest):
                break
        return nearest


def group(address: str) -> str:
    """Return the group that an address shares its limits with: itself, or the /64 network of IPv6.

    >>> group("198.51.100.2"), group("2001:db8:1:2:3::4")
    ('198.51.100.2', '2001:db8:1:2::/64')
    """
    parsed = _parsed(address)
    if isinstance(parsed, IPv6Address):
        return str(ip_network((parsed, 64), strict=False))
    return address


def _parsed(text: str | None) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address((text or "").partition("%")[0])
    except ValueError:
        return None
    return (address.ipv4_mapped if isinstance(address, IPv6Address) else None) or address


def _without_port(text: str) -> str:
    """Return an address without its port.

    >>> _without_port("[2001:db8::1]:443"), _without_port("198.51.100.2:80"), _without_port("2001:db8::1")
    ('2001:db8::1', '198.51.100.2', '2001:db8::1')
    """
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0] if text.count(":") == 1 else text
