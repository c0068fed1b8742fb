"""Hostile and malformed requests: each gets a clean response, and the service stays up.

The tests use real sockets, because slow, truncated and malformed requests need them.
"""

import json
import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from prefmover.server.middleware import CSP, OPENAPI
from tests.messages import unnamed
from tests.server.conftest import HOSTILE, NEAR, ONE, is_problem, listening

KIND = "Content-Type: application/json\r\n"
JSON = {"Content-Type": "application/json"}


@pytest.fixture(autouse=True)
def _still_alive(client):
    yield
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.post(NEAR, json=ONE).status_code == 200


def raw(client, *parts, pause=0.0, read_for=60.0):
    """Send bytes, and return all bytes received until the other side closes."""
    with socket.create_connection((client.base_url.host, client.base_url.port)) as connection:
        connection.settimeout(read_for)
        received = b""
        try:
            for part in parts:
                connection.sendall(part)
                time.sleep(pause)
            while chunk := connection.recv(2**16):
                received += chunk
        except (ConnectionError, TimeoutError):
            pass
    return received


def status_of(received):
    match = re.match(rb"HTTP/1\.1 (\d{3}) ", received)
    return int(match[1]) if match else None


def post_bytes(client, content, **headers):
    return client.post(NEAR, content=content, headers={**JSON, **headers})


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"", "not JSON"),
        (b"{ratings}", "line 1 column 2"),
        (b"\xff\xfe\x00", "UTF-8"),
        (b'{"ratings": [{"item": "alien-1979", "rating": NaN}]}', "NaN"),
        (b'{"ratings": [{"item": "alien-1979", "rating": Infinity}]}', "Infinity"),
        (b'{"ratings": [{"item": "alien-1979", "rating": ' + b"9" * 5000 + b"}]}", ""),
        (b'{"k": 1, "k": 2, "ratings": []}', "'k'"),
        (b"[" * 100_000, "nested"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested"),
    ],
    ids=["empty", "cut off", "bytes", "NaN", "Infinity", "digits", "keys", "deep list", "deep object"],
)
def test_malformed_json(client, content, named):
    assert named in is_problem(post_bytes(client, content), 400)


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ([], "body"),
        (None, "body"),
        ({}, "ratings"),
        ({"ratings": []}, "ratings"),
        ({"ratings": "alien-1979"}, "ratings"),
        ({"ratings": [{"item": "alien-1979"}]}, "rating"),
        ({"ratings": [{"item": "alien-1979", "rating": "5"}]}, "rating"),
        ({"ratings": [{"item": "alien-1979", "rating": True}]}, "rating"),
        ({"ratings": [{"item": "alien-1979", "rating": None}]}, "rating"),
        ({"ratings": [{"item": "alien-1979", "rating": -1}]}, "rating"),
        ({"ratings": [{"item": 7, "rating": 5}]}, "item"),
        ({"ratings": [{"item": "", "rating": 5}]}, "item"),
        ({"ratings": [{"item": "\ud800", "rating": 5}]}, "item"),
        ({"ratings": [{"item": "alien-1979", "rating": 5}] * 2}, "alien-1979"),
        ({**ONE, "k": 0}, "k"),
        ({**ONE, "k": 101}, "k"),
        ({**ONE, "k": 1.5}, "k"),
        ({**ONE, "surprise": 1}, "surprise"),
        ({"ratings": [{"item": f"film-{n}", "rating": 5} for n in range(10_000)]}, "500"),
    ],
    ids=lambda value: json.dumps(value)[:40] if not isinstance(value, str) else value,
)
def test_wrong_bodies(client, body, named):
    assert named in is_problem(post_bytes(client, json.dumps(body).encode()), 422).lower()


def test_a_number_beyond_all_floats(client):
    content = b'{"ratings": [{"item": "alien-1979", "rating": 1e999}]}'
    assert "rating" in is_problem(post_bytes(client, content), 422)


def test_an_unknown_item_is_named_and_escaped(client):
    body = {"ratings": [{"item": "<img src=x onerror=alert(1)>", "rating": 5}]}
    response = client.post(NEAR, json=body)
    assert "<img" in is_problem(response, 404)
    assert response.headers["x-content-type-options"] == "nosniff"


def test_a_film_called_script_is_sent_as_json(client):
    response = client.get("/api/v1/items", params={"q": HOSTILE})
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.json()["items"][0]["title"] == HOSTILE


@pytest.mark.slow
def test_imports_of_a_mebibyte_of_near_titles(client, data):
    """They are matched in bulk, while others are answered; titles that are no titles are refused."""
    films = list(zip(data.catalog.titles, data.catalog.years.tolist(), strict=True))
    some = ((k, *films[k % len(films)]) for k in range(19_000))
    rows = (f'"{title[1:]} {k:x}zz",{year},4' for k, title, year in some)
    text = "\n".join(["Name,Year,Rating", *rows, "Heat,1995,5"])
    with ThreadPoolExecutor(2) as pool:
        sent = [pool.submit(client.post, "/api/v1/import", json={"csv": one}) for one in (text, text + "\n")]
        for letter in "abcdefgh":
            assert client.get("/api/v1/search", params={"q": letter}).status_code == 200
        assert client.post(NEAR, json={**ONE, "k": 7}).status_code == 200
        for answer in sent:
            assert "Heat (1995)" in {one["title"] for one in answer.result().json()["ratings"]}
    for one in (" " * 100_000, "(" * 100_000, ", " * 50_000, "Alien (" + " " * 100_000 + ")"):
        is_problem(client.post("/api/v1/import", json={"csv": f'Name,Rating\n"{one}",5\n'}), 422)


def test_too_large_with_a_length(client):
    assert "1,048,576" in is_problem(post_bytes(client, b" " * (2**20 + 1)), 413)


def test_too_large_in_chunks(client):
    chunks = (b" " * 2**16 for _ in range(40))
    assert "1,048,576" in is_problem(client.post(NEAR, content=chunks, headers=JSON), 413)


def test_too_large_is_refused_before_it_is_sent(client):
    head = (
        f"POST {NEAR} HTTP/1.1\r\nHost: localhost\r\n{KIND}"
        "Content-Length: 99999999999\r\nExpect: 100-continue\r\n\r\n"
    )
    assert status_of(raw(client, head.encode())) == 413


def test_just_large_enough(client):
    body = json.dumps(ONE).encode()
    assert post_bytes(client, body + b" " * (2**20 - len(body))).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "application/json; charset=utf-16"},
        {"Content-Type": ""},
        {"Content-Encoding": "gzip"},
    ],
    ids=str,
)
def test_other_content_types(client, headers):
    is_problem(post_bytes(client, json.dumps(ONE).encode(), **headers), 415)


def test_json_with_a_charset_is_fine(client):
    kind = {"Content-Type": 'application/json; charset="UTF-8"'}
    assert post_bytes(client, json.dumps(ONE).encode(), **kind).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/assets/../../../../etc/passwd",
        "/assets/..%2f..%2f..%2fetc%2fpasswd",
        "/assets/%2e%2e%2f%2e%2e%2fapp.py",
        "/assets//etc/passwd",
        "/assets/..\\..\\app.py",
        "/docs/../app.py",
        "/docs/%00",
        "/assets/index.html%00.css",
        "//etc/passwd",
        "/api/v1/users/..%2f..%2fetc%2fpasswd",
        "/api/v1/users/%2e%2e",
        "/api/v1/items/..%5c..%5capp.py/near",
    ],
)
def test_traversal(client, path):
    received = raw(client, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    assert status_of(received) == 404
    assert b"root:" not in received
    assert b"application/problem+json" in received


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"])
def test_other_methods(client, method):
    response = client.request(method, "/api/v1/users")
    assert response.headers["allow"] == "GET, HEAD"
    is_problem(response, 405)


@pytest.mark.parametrize(
    "path", ["/", "/docs", "/assets/main.js", "/healthz", "/readyz", "/metrics", "/api/v1/users", OPENAPI]
)
def test_head_is_get_without_the_body(client, path):
    whole, head = client.get(path), client.head(path)
    assert (head.status_code, head.content) == (200, b"")
    if path != "/metrics":
        same = ("content-length", "content-type", "etag", "content-encoding")
        assert [head.headers.get(name) for name in same] == [whole.headers.get(name) for name in same]


def test_head_of_errors(client):
    assert client.head("/api/v1/users/nobody").status_code == 404
    refused = client.head(NEAR)
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")


def test_an_unknown_path(client):
    assert "/docs" in is_problem(client.get("/api/v1/nothing"), 404)


def test_a_get_with_a_body(client):
    is_problem(client.request("GET", "/api/v1/users", content=b"x"), 400)


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("limit=0", "query.limit"),
        ("limit=201", "200"),
        ("limit=x", "query.limit"),
        ("limit=1.5", "query.limit"),
        ("offset=-1", "query.offset"),
        ("offset=99999999999999999999", "query.offset"),
        ("q=" + "x" * 201, "query.q"),
        ("k=3", "'k'"),
        ("limitt=3", "'limitt'"),
        ("limit=1&limit=2", "limit"),
    ],
)
def test_wrong_parameters(client, query, named):
    response = client.get(f"/api/v1/users?{query}")
    is_problem(response, 422)
    assert named in response.text


def test_too_many_items(client):
    is_problem(client.post("/api/v1/predictions", json={**ONE, "items": ["x"] * 201}), 422)


@pytest.mark.parametrize(
    "request_",
    [
        b"rubbish\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /healthz HTTP/x.y\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nbad header\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 64,
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    ],
    ids=[
        "rubbish",
        "short",
        "version",
        "no host",
        "header",
        "tls",
        "long path",
        "long header",
        "lengths",
        "length",
    ],
)
def test_bytes_that_are_not_http(client, request_):
    received = raw(client, request_)
    assert 400 <= status_of(received) < 500
    assert b"application/problem+json" in received


@pytest.mark.slow
def test_slow_headers(hasty):
    """A client that sends a byte now and then is refused, and its connection closed."""
    received = raw(hasty, b"GET /healthz HTTP/1.1\r\n", *[b"X"] * 20, pause=0.2)
    assert received == b"" or status_of(received) == 408


@pytest.mark.slow
def test_silence(hasty):
    assert status_of(raw(hasty)) == 408


@pytest.mark.slow
@pytest.mark.parametrize("pause", [0.0, 0.3], ids=["at once", "later"])
def test_slow_headers_after_a_first_request(hasty, pause):
    """Also if they begin before the first response is there."""
    first = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    received = raw(hasty, first, b"GET /healthz HTTP/1.1\r\n", pause=pause)
    assert received.count(b"HTTP/1.1 200") == 1
    assert received.count(b"HTTP/1.1 408") == 1


@pytest.mark.slow
def test_slow_body(hasty):
    head = f"POST {NEAR} HTTP/1.1\r\nHost: localhost\r\n{KIND}Content-Length: 1000\r\n\r\n"
    assert status_of(raw(hasty, head.encode(), b"{", b'"', pause=0.2)) == 408


def test_a_client_that_hangs_up_in_its_body(client):
    head = f"POST {NEAR} HTTP/1.1\r\nHost: localhost\r\n{KIND}Content-Length: 9\r\n\r\n"
    with socket.create_connection((client.base_url.host, client.base_url.port)) as connection:
        connection.sendall(head.encode() + b"{")
    assert client.post(NEAR, json=ONE).status_code == 200


def test_many_slow_clients_do_not_keep_others_out(client):
    address = (client.base_url.host, client.base_url.port)
    slow = [socket.create_connection(address) for _ in range(200)]
    try:
        for connection in slow:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nX: ")
        assert client.post(NEAR, json=ONE).status_code == 200
    finally:
        for connection in slow:
            connection.close()


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.2", "", "[::1]evil", "[::1]:80x"],
)
def test_other_hosts(client, host):
    """A page of another site whose name resolves to loopback gets nothing."""
    detail = is_problem(client.get("/api/v1/users", headers={"Host": host}), 421)
    assert not unnamed(detail, "localhost", "127.0.0.1")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1234", "127.0.0.1:80", "[::1]:80", "[::1]"])
def test_hosts_of_loopback(client, host):
    assert client.get("/api/v1/users", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("path", ["/healthz", "/docs", "/api/v1/users", "/api/v1/users/nobody", "/nothing"])
def test_security_headers(client, path):
    headers = client.get(path).headers
    assert headers["content-security-policy"] == CSP
    assert "unsafe" not in CSP
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers
    assert "access-control-allow-origin" not in headers


TOKEN = "a-token-of-some-length"


@pytest.fixture(scope="module")
def with_token(handlers):
    with listening(handlers, token=TOKEN) as client:
        yield client


@pytest.mark.parametrize(
    "authorization",
    [None, "", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", TOKEN, f"Bearer {TOKEN[:-1]}"],
)
@pytest.mark.parametrize("path", ["/api/v1/users", "/api/v1/nothing", "/metrics"])
def test_wrong_tokens(with_token, path, authorization):
    headers = {} if authorization is None else {"Authorization": authorization}
    response = with_token.get(path, headers=headers)
    is_problem(response, 401)
    assert response.headers["www-authenticate"].startswith("Bearer")


def test_the_right_token(with_token):
    headers = {"Authorization": f"Bearer {TOKEN}"}
    assert with_token.get("/api/v1/users", headers=headers).status_code == 200
    assert with_token.get("/metrics", headers=headers).status_code == 200


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/docs", "/api/v1/openapi.json"])
def test_addresses_without_a_token(with_token, path):
    assert with_token.get(path).status_code == 200


def test_no_way_around_the_token(with_token):
    for path in ("/api/v1//users", "/API/v1/users", "/api%2fv1/users", "/%61pi/v1/users", "//api/v1/users"):
        assert with_token.get(path).status_code in (401, 404)


@pytest.mark.slow
def test_a_crowd(client):
    """More requests than the queue holds: some get 503, none waits forever, none fails."""

    def request(n):
        body = {"ratings": [{"item": "alien-1979", "rating": 1 + n % 9 / 2}], "k": 1 + n // 9}
        return client.post(NEAR, json=body).status_code

    with ThreadPoolExecutor(50) as crowd:
        assert set(crowd.map(request, range(200))) <= {200, 503}
