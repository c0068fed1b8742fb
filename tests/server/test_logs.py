"""The log: a line of JSON for each request, without ratings, and never in the way."""

import io
import json
import logging
import socket
import threading
import time

import pytest

from prefmover.server import logs
from prefmover.server.served import ServedModel
from tests.server.conftest import is_problem, listening

TOKEN = "a-token-of-some-length"
BODY = {"ratings": [{"item": "alien-1979", "rating": 4.5}, {"item": "heat-1995", "rating": 1.5}], "k": 3}
RATING = 4.012345678901  # no time, duration, size or id has these digits by chance


class Broken(ServedModel):
    def __init__(self, model):
        super().__init__(model)
        self.items.facts = self.fail

    def fail(self, position):
        raise RuntimeError("something unforeseen")


@pytest.fixture
def logged(handlers):
    """A service, and a function that returns the lines of its log, once it has so many of requests."""
    stream = io.StringIO()
    settings = {"token": TOKEN, "proxies": ("127.0.0.1",)}
    with logs.log_to(stream, access=True), listening(Broken(handlers.model), **settings) as client:
        client.headers["Authorization"] = f"Bearer {TOKEN}"

        def lines(n):
            end = time.monotonic() + 60
            while len(access(got := [json.loads(line) for line in complete(stream)])) < n:
                assert time.monotonic() < end, f"the log has {len(access(got))} of {n} lines"
                time.sleep(0.01)
            return got

        yield client, lines


def complete(stream):
    """Return the lines of a log that another thread writes."""
    return stream.getvalue().rpartition("\n")[0].splitlines()


def access(lines):
    return [line for line in lines if "status" in line and line.get("path") != "/readyz"]


def test_every_request_is_a_line(logged):
    client, lines = logged
    sent = [
        client.get("/api/v1/users/ada-b?limit=3", headers={"X-Forwarded-For": "203.0.113.7"}),
        client.post("/api/v1/neighbors", json=BODY),
        client.get("/api/v1/users/nobody"),
        client.head("/healthz"),
        client.get("/nothing"),
        client.get("/api/v1/users", headers={"Authorization": ""}),
    ]
    got = access(lines(len(sent)))
    assert [line["status"] for line in got] == [200, 200, 404, 200, 404, 401]
    assert [line["request"] for line in got] == [one.headers["x-request-id"] for one in sent]
    assert len({line["request"] for line in got}) == len(sent)
    assert [line["client"] for line in got] == ["203.0.113.7", *["127.0.0.1"] * 5]
    assert [line["method"] for line in got] == ["GET", "POST", "GET", "HEAD", "GET", "GET"]
    assert got[0]["path"] == "/api/v1/users/ada-b"
    assert got[0]["route"] == "/api/v1/users/{user}"
    assert got[3]["bytes"] == 0
    for line in got:
        assert line["time"].endswith("Z")
        assert isinstance(line["ms"], float)
        assert isinstance(line["bytes"], int)


def test_no_ratings_no_queries_no_tokens(logged):
    client, lines = logged
    body = {"ratings": [{"item": "alien-1979", "rating": RATING}], "k": 3}
    assert client.post("/api/v1/neighbors", json=body).status_code == 200
    client.get("/api/v1/items", params={"q": "something private"})
    client.get("/api/v1/items", params={"q": "heat-1995"})
    written = lines(3)
    fields = {"time", "request", "client", "method", "path", "route", "status", "ms", "bytes"}
    assert {key for line in access(written) for key in line} == fields
    values = [str(value) for line in written for value in line.values()]
    for private in ("alien-1979", "heat-1995", "private", TOKEN, str(RATING)):
        assert [value for value in values if private in value] == []


def test_a_line_is_one_line(logged):
    client, lines = logged
    client.get("/api/v1/users/a%0A%22%7Bb%E2%80%A8")
    line = access(lines(1))[0]
    assert line["path"] == '/api/v1/users/a\n"{b\u2028'


def test_request_ids_of_proxies_are_kept(logged):
    client, lines = logged
    given = client.get("/healthz", headers={"X-Request-ID": "abc-123.4"}).headers["x-request-id"]
    made = client.get("/healthz", headers={"X-Request-ID": 'a"b'}).headers["x-request-id"]
    assert given == "abc-123.4"
    assert made not in ('a"b', given)
    assert [line["request"] for line in access(lines(2))] == [given, made]


def test_an_internal_error_is_found_by_its_request_id(logged):
    client, lines = logged
    response = client.get("/api/v1/items/heat-1995")
    request = response.headers["x-request-id"]
    assert request in is_problem(response, 500)
    assert "unforeseen" not in response.text
    error = next(line for line in lines(1) if line.get("level") == "error")
    assert error["request"] == request
    assert "RuntimeError: something unforeseen" in error["traceback"]


def test_upgrades_and_nonsense_cause_no_messages(logged):
    """A line each at most, not the advice of a library."""
    client, lines = logged
    address = (client.base_url.host, client.base_url.port)
    upgrade = (
        b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n"
    )
    sent = [
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + upgrade + b"\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
        b"nonsense\r\n\r\n",
    ]
    for content in sent:
        with socket.create_connection(address, 10) as one:
            one.sendall(content)
            assert one.recv(100).split()[1] in (b"200", b"400")
    got = lines(len(sent))
    assert [line["status"] for line in access(got)] == [200, 200, 400]
    others = [line["message"] for line in got if line.get("level", "info") != "info"]
    assert [message for message in others if "compiling" not in message] == []


def test_requests_of_others_do_not_choose_their_id(handlers):
    with listening(handlers) as client:
        response = client.get("/healthz", headers={"X-Request-ID": "mine", "X-Forwarded-For": "6.6.6.6"})
        assert response.headers["x-request-id"] != "mine"


def test_a_log_that_nobody_reads_does_not_stop_the_service(monkeypatch):
    """Lines beyond those that may wait are dropped and counted."""
    monkeypatch.setattr(logs, "WAITING", 100)
    monkeypatch.setattr(logs, "LAST_SECONDS", 0.05)
    blocked = threading.Event()

    class Stuck(io.StringIO):
        def write(self, text):
            blocked.wait(30)
            return super().write(text)

    writer = logs.Writer(Stuck(), logs.JsonLines())
    logger = logging.Logger("test")
    logger.addHandler(writer)
    for k in range(500):
        logger.error("line %d", k)
    assert 395 <= writer.dropped <= 400
    writer.close()
    blocked.set()


def test_a_log_whose_reader_is_gone():
    tried = []

    class Gone(io.StringIO):
        def write(self, text):
            tried.append(text)
            raise BrokenPipeError

    writer = logs.Writer(Gone(), logs.JsonLines())
    logger = logging.Logger("test")
    logger.addHandler(writer)
    for _ in range(10):
        logger.error("nobody hears this")
    writer.close()
    writer._thread.join(60)
    assert len(tried) == 1


def test_what_the_package_says_is_a_line_too():
    """For example that kernels are compiled, which takes a while."""
    stream, package = io.StringIO(), logging.getLogger("prefmover")
    before = list(package.handlers)
    with logs.log_to(stream, access=True):
        package.error("first use")  # an earlier test may have been --quiet
    assert [json.loads(line)["message"] for line in complete(stream)] == ["first use"]
    assert package.handlers == before


def test_text_for_people():
    stream = io.StringIO()
    with logs.log_to(stream, access=False):
        logs.SERVICE.error("the model does not answer")
        logs.ACCESS.info("", extra={"fields": {"status": 200}})
    assert stream.getvalue().endswith(" the model does not answer\n")
    assert stream.getvalue().count("\n") == 1
