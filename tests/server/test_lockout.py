"""Attempts to keep others out: many connections, slow senders, bodies that nobody reads.

All on loopback, with few connections and low limits. Attackers have addresses of their own: 127.0.0.2, ...
"""

import contextlib
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from prefmover.server.served import ServedModel
from tests.server.conftest import NEAR, ONE, is_problem, listening

SECONDS = 60  # for what comes in a moment unless the machine is busy
HUGE = "Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000000\r\n\r\n"
SLOW = HUGE.replace("1000000000", "900").join([f"POST {NEAR} HTTP/1.1\r\n", "{"]).encode()
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


@pytest.fixture(scope="module")
def small(handlers):
    """A service with room for 40 connections, 20 from one address."""
    with listening(handlers, connections=40, client_connections=20, body_seconds=3.0) as client:
        yield client


@contextlib.contextmanager
def attack(client, n, *sources, send=b""):
    """Open connections from each address, and send the same to each."""
    with contextlib.ExitStack() as opened:
        some = []
        for source in n * list(sources or ["127.0.0.2"]):
            try:
                one = socket.create_connection(
                    (client.base_url.host, client.base_url.port), 5, source_address=(source, 0)
                )
            except OSError:
                if not some:
                    pytest.skip(f"this system has no address {source}")
                raise
            some.append(opened.enter_context(one))
            one.settimeout(SECONDS)
            with contextlib.suppress(OSError):
                one.sendall(send)
        yield some


def received(one):
    """Return everything until the other side closes; it must close."""
    parts = []
    with contextlib.suppress(ConnectionError):
        while part := one.recv(2**16):
            parts.append(part)
    return b"".join(parts)


def connections(client):
    """Return the open connections, which the server's thread changes meanwhile."""
    return list(client.server.server_state.connections)


def open_connections(client):
    return len(connections(client))


def until(condition):
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "the condition did not come true"
        time.sleep(0.02)


def drip(some, stop):
    """Send a byte to each connection now and then, until all are closed."""
    while not stop.wait(0.05):
        for one in some:
            with contextlib.suppress(OSError):
                one.send(b"x")


UNREAD = {
    "POST /api/v1/model": b"405",
    "POST /nothing": b"404",
    "PUT /": b"405",
    "GET /api/v1/users": b"400",
    "HEAD /healthz": b"400",
    f"POST {NEAR}": b"413",
}


def test_a_body_that_nobody_reads_ends_with_the_response(small):
    """A gigabyte is announced, and a byte comes now and then: the connection is closed all the same."""
    some, stop = {}, threading.Event()
    with ThreadPoolExecutor(1) as pool, contextlib.ExitStack() as opened:
        for head, status in UNREAD.items():
            body = f"{head} HTTP/1.1\r\n{HUGE}x".encode()
            some |= dict.fromkeys(opened.enter_context(attack(small, 3, send=body)), status)
        pool.submit(drip, some, stop)
        opened.callback(stop.set)
        for one, status in some.items():
            answer = received(one)
            assert answer.split()[1] == status
            assert b"connection: close" in answer.lower()
        until(lambda: open_connections(small) <= 2)


def test_before_any_token(handlers):
    body = f"POST {NEAR} HTTP/1.1\r\n{HUGE}x".encode()
    with (
        listening(handlers, token="a-token-of-some-length", connections=20) as client,
        attack(client, 30, send=body) as some,
    ):
        answers = [received(one) for one in some]
        assert {answer.split()[1] for answer in answers if answer} <= {b"401", b"503"}
        assert client.get("/healthz").status_code == 200
        until(lambda: open_connections(client) <= 1)


def test_a_body_in_chunks_that_nobody_reads(small):
    head = (
        b"POST /api/v1/model HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
    )
    with attack(small, 1, send=head) as (one,):
        assert received(one).split()[1] == b"405"


def test_a_complete_body_that_nobody_reads_does_not_become_a_request(small):
    """The body of a refused request looks like a request; it is not answered."""
    inner = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    head = f"POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(inner)}\r\n\r\n"
    with attack(small, 1, send=head.encode() + inner) as (one,):
        assert received(one).count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("send", [b"", b"GET /healthz HTTP/1.1\r\nX: "], ids=["silent", "slow header"])
def test_one_address_has_its_own_limit(small, send):
    """The newest connection of an address takes the place of its oldest; others notice nothing."""
    with attack(small, 25, send=send) as some:
        until(lambda: open_connections(small) <= 21)
        assert received(some[0]) == b""
        assert small.get("/healthz").status_code == 200
        with attack(small, 1, send=HEALTH) as (last,):
            assert received(last).split()[1] == b"200"


def test_several_addresses_do_not_keep_another_one_out(small):
    with attack(small, 15, "127.0.0.2", "127.0.0.3", "127.0.0.4"):
        assert small.post(NEAR, json=ONE).status_code == 200
        until(lambda: open_connections(small) <= 41)


def test_slow_bodies_fill_the_limit_of_their_address_only(handlers):
    """Requests in progress are not ended for a new connection; it is refused. Other addresses have room."""
    with (
        listening(handlers, client_connections=5, body_seconds=600.0) as client,
        attack(client, 5, send=SLOW),
    ):
        until(lambda: sum(one.worth() == 3 for one in connections(client)) == 5)
        with attack(client, 1) as (one,):
            assert received(one).split()[1] == b"503"
        assert client.post(NEAR, json=ONE).status_code == 200


def test_a_slow_body_has_its_time(small):
    with attack(small, 1, send=SLOW) as (one,):
        assert received(one).split()[1] == b"408"


def test_a_proxy_may_open_many_connections(handlers):
    with (
        listening(handlers, connections=40, client_connections=5, proxies=("127.0.0.2",)) as client,
        attack(client, 20) as some,
    ):
        for one in some:
            one.sendall(HEALTH)
        assert {received(one).split()[1] for one in some} == {b"200"}


def test_a_flood_of_connections_beyond_all_limits(handlers):
    """Nobody waits in a queue of refused connections, and afterward there is room again."""
    with listening(handlers, connections=10, body_seconds=2.0) as client:
        with attack(client, 10, *(f"127.0.0.{k}" for k in range(2, 17)), send=SLOW) as some:
            answers = [received(one) for one in some]
        assert {answer.split()[1] for answer in answers if answer} <= {b"503", b"408"}
        until(lambda: open_connections(client) <= 1)
        assert client.get("/healthz").status_code == 200


def test_a_client_that_does_not_read(handlers):
    """A large response that is not read is dropped, and its connection with it."""
    with listening(handlers, write_seconds=1.0) as client:
        path = "/api/v1/users?limit=200"
        request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() * 3000
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.connect((client.base_url.host, client.base_url.port))
        one.settimeout(0.2)
        with contextlib.suppress(OSError):
            one.sendall(request)
        until(lambda: open_connections(client) <= 1)
        one.close()


class Slow(ServedModel):
    """A model whose guests take long."""

    def __init__(self, like):
        super().__init__(like.model, like.name)
        self.go_on = threading.Event()

    def guest(self, ratings):
        if len(ratings) > 100:
            assert self.go_on.wait(60)
        return super().guest(ratings)


def test_large_guests_do_not_keep_others_waiting(handlers, data):
    """As many guests with 150 ratings as there are: lookups, searches and small guests are answered."""
    slow = Slow(handlers)
    films = data.ratings.items[:150].tolist()
    with listening(slow, n_threads=2, queue=10, seconds=60) as client, ThreadPoolExecutor(16) as pool:

        def large(n):
            ratings = [{"item": film, "rating": 1 + (n + k) % 9 / 2} for k, film in enumerate(films)]
            return client.post("/api/v1/recommendations", json={"ratings": ratings, "n": 1})

        crowd = [pool.submit(large, n) for n in range(16)]
        until(lambda: client.server.service.workers["large"].active >= 11)
        assert client.get("/api/v1/items?q=heat").status_code == 200
        assert client.post(NEAR, json={"user": "ada-b", "k": 3}).status_code == 200
        assert client.post(NEAR, json=ONE).status_code == 200
        assert len(client.server.service.workers["large"].running) == 1
        slow.go_on.set()
        answers = [one.result(60) for one in crowd]
        assert {one.status_code for one in answers} <= {200, 503}
        assert [one.status_code for one in answers].count(200) >= 11
        refused = [one for one in answers if one.status_code == 503]
        for one in refused:
            is_problem(one, 503)
            assert int(one.headers["retry-after"]) >= 1


def test_clients_behind_a_proxy_are_told_apart(handlers):
    """Shares go by the address that the proxy reports; what a client wrote before it counts for nothing."""
    seen = []
    forwarded = ["203.0.113.7", "6.6.6.6, 203.0.113.8", "2001:db8:1:2:3:4:5:6", "nonsense"]
    with listening(handlers, proxies=("127.0.0.1",)) as client:
        lane = client.server.service.workers["heavy"]
        run = lane.run

        async def spy(work, seconds, left, client):
            seen.append(client)
            return await run(work, seconds, left, client)

        lane.run = spy
        for k, addresses in enumerate(forwarded, 1):
            headers = {"X-Forwarded-For": addresses}
            assert client.post(NEAR, json={"user": "ada-b", "k": k}, headers=headers).status_code == 200
    assert seen == ["203.0.113.7", "203.0.113.8", "2001:db8:1:2::/64", "127.0.0.1"]
