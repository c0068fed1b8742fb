"""Readiness, the response cache, metrics, pages, and other models."""

import asyncio
import json
import re
import socket
import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from fastapi import Request
from pydantic import BaseModel

from prefmover import Dataset, KNNRecommender, Recommender
from prefmover.server.answers import Answer
from prefmover.server.pages import read_assets
from prefmover.server.served import ServedModel
from prefmover.server.service import ENTRY_BYTES, Service
from prefmover.server.settings import Settings
from tests.server.conftest import NEAR, ONE, ask, hold, is_problem, listening, small_data

USER = "ada-b"


@pytest.fixture(scope="module")
def held(handlers):
    with hold(handlers, n_threads=1, queue=1, seconds=60) as client:
        held = client.server.service.served
        yield held, client
        held.go_on.set()


def near(client, k):
    return client.post(NEAR, json={"user": USER, "k": k})


def samples(client):
    text = client.get("/metrics").text
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


def test_too_much_at_once_is_refused(held):
    handlers, client = held
    handlers.go_on.clear()
    responses = []

    def request(n):
        with httpx.Client(base_url=client.base_url, timeout=60) as another:
            responses.append(near(another, 1 + n))

    threads = [threading.Thread(target=request, args=(n,)) for n in range(2)]
    threads[0].start()
    assert handlers.begun.acquire(timeout=30)
    threads[1].start()
    while samples(client)['prefmover_requests_active{lane="heavy"}'] < 2:
        time.sleep(0.01)
    refused = near(client, 5)
    is_problem(refused, 503)
    assert int(refused.headers["retry-after"]) >= 1
    assert client.get("/healthz").status_code == 200
    found = client.get("/api/v1/items", params={"q": "heat"})  # lookups have a lane of their own
    assert found.json()["items"][0]["id"] == "heat-1995"
    handlers.go_on.set()
    for thread in threads:
        thread.join(30)
    assert [response.status_code for response in responses] == [200, 200]


def test_a_client_that_hangs_up_is_dropped(held):
    handlers, client = held
    handlers.go_on.clear()
    dropped = 'prefmover_requests_dropped_total{lane="heavy"}'
    before = samples(client)[dropped]
    address = (client.base_url.host, client.base_url.port)
    connection = socket.create_connection(address)
    body = b'{"user": "ada-b", "k": 11}'
    head = f"Host: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    connection.sendall(f"POST {NEAR} HTTP/1.1\r\n{head}".encode() + body)
    assert handlers.begun.acquire(timeout=30)
    connection.close()
    while samples(client)[dropped] == before:
        pass
    handlers.go_on.set()


def test_the_time_limit(handlers):
    with hold(handlers, n_threads=1, seconds=0.2) as client:
        response = near(client, 3)
        client.server.service.served.go_on.set()
        is_problem(response, 503)
        assert "retry-after" in response.headers


def test_equal_requests_are_computed_once(client):
    body = {"ratings": [{"item": "heat-1995", "rating": 3.5}, {"item": "alien-1979", "rating": 2}], "k": 3}
    turned = {**body, "ratings": body["ratings"][::-1]}
    first = client.post(NEAR, json=body)
    before = samples(client)
    again = client.post(NEAR, json=turned)
    after = samples(client)
    assert again.content == first.content
    hits = 'prefmover_cache_requests_total{result="hit"}'
    assert after[hits] == before[hits] + 1


def test_the_cache_has_a_bound(handlers):
    service = Service(lambda _: handlers, Settings(cache=100_000))
    content = Answer(bytes(1000), False, "")
    for n in range(1000):
        service.store(b"%d" % n, content)
        assert service.cache.currsize <= 100_000
    assert service.cache.get(b"999") == content
    assert service.cache.get(b"0") is None
    assert len(service.cache) == 100_000 // (1000 + ENTRY_BYTES)
    service.store(b"large", Answer(bytes(200_000), False, ""))
    assert b"large" not in service.cache


def test_the_cache_is_no_larger_than_it_says(handlers):
    """Long requests cost as much as short ones: the memory of the cache is within its bound."""
    service = Service(lambda _: handlers, Settings(cache=2**20), lambda served, progress: None)
    request = Request({"type": "http", "method": "POST", "headers": [], "client": ("127.0.0.1", 1)}, never)

    class Empty(BaseModel):
        pass

    async def ask():
        for n in range(1500):
            ratings = tuple((f"item-{n}-{k}", 5.0) for k in range(100))  # 10 kB as objects
            await service.respond(request, ("comparison", ratings), lambda _: Empty(), "heavy")

    service.opening.start()
    while service.state != "ready":
        time.sleep(0.01)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, ask()).result()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert len(service.cache) == 1500
    assert grown < service.cache.currsize <= 2**20


async def never():
    await asyncio.Event().wait()


def test_there_may_be_no_cache(handlers):
    service = Service(lambda _: handlers, Settings(cache=0))
    service.store(b"key", Answer(b"x", False, ""))
    assert len(service.cache) == 0


SAMPLE = re.compile(r'^[a-z_]+(\{([a-z]+="([^"\\]|\\.)*",?)+\})? (\d+(\.\d+)?(e[+-]?\d+)?)$')


def test_metrics_are_prometheus_text(client):
    client.post(NEAR, json={**ONE, "k": 7})
    client.get('/"evil"{label}\\')
    response = client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = response.text.splitlines()
    kinds = {line.split()[2]: line.split()[3] for line in lines if line.startswith("# TYPE")}
    for line in lines:
        if not line.startswith("#"):
            assert SAMPLE.match(line), line
            name = re.sub(r"_(bucket|sum|count)$", "", re.match("[a-z_]+", line)[0])
            assert name in kinds
    values = samples(client)
    assert values[f'prefmover_requests_total{{method="POST",route="{NEAR}",status="200"}}'] >= 1
    assert values['prefmover_pairs_total{by="solved"}'] > 0
    assert values["process_resident_memory_bytes"] > 2**20
    assert not any("evil" in name for name in values)


def test_series_do_not_grow_with_what_clients_send(client):
    before = len(samples(client))
    for n in range(50):
        client.get(f"/nothing/{n}")
        client.request(f"METHOD{n}", "/nothing")
        client.get(f"/api/v1/users/nobody-{n}")
    assert len(samples(client)) <= before + 60  # one more route and one more method at most


def test_pages(client):
    assets = read_assets()
    assert {"/docs", "/docs/reference.js", "/docs/reference.css"} <= set(assets)
    for path, asset in assets.items():
        response = client.get(path)
        assert response.content == asset.body
        assert response.headers["content-type"] == asset.media_type
        again = client.get(path, headers={"If-None-Match": response.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")


def test_large_answers_are_compressed_for_those_who_take_it(client):
    paths = ["/", "/assets/main.js", "/api/v1/openapi.json", "/api/v1/users?limit=80"]
    for path in paths:
        plain = client.get(path, headers={"Accept-Encoding": "identity"})
        zipped = client.get(path, headers={"Accept-Encoding": "gzip"})
        assert "content-encoding" not in plain.headers
        assert zipped.headers["content-encoding"] == "gzip"
        assert int(zipped.headers["content-length"]) < int(plain.headers["content-length"])
        assert zipped.content == plain.content
        assert "accept-encoding" in zipped.headers["vary"].lower()
        assert zipped.headers["etag"] == plain.headers["etag"]
    small = client.get("/api/v1/users?limit=1", headers={"Accept-Encoding": "gzip"})
    assert "content-encoding" not in small.headers


def test_an_answer_that_has_not_changed_is_not_sent_again(client):
    users = "/api/v1/users?limit={}".format
    first = client.get(users(4))
    assert first.headers["cache-control"] == "private, no-cache"
    again = client.get(users(4), headers={"If-None-Match": f'"other", {first.headers["etag"]}'})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    other = client.get(users(5), headers={"If-None-Match": first.headers["etag"]})
    assert other.status_code == 200
    posted = client.post(NEAR, json=ONE)
    assert posted.headers["cache-control"] == "no-store"
    assert "etag" not in posted.headers


def test_pages_load_nothing_from_elsewhere():
    for path, asset in read_assets().items():
        if asset.media_type.startswith("text/"):
            text = asset.body.decode()
            loaded = re.findall(
                r"""(?:src|href)=["']([^"']+)|url\(([^)]+)|(?:from|import\()\s*["']([^"']+)""", text
            )
            for target in (one for some in loaded for one in some if one):
                assert not re.match(r"\s*['\"]?(https?:)?//", target), f"{path}: {target}"
        if asset.media_type.startswith("text/html"):
            assert not re.search(r"<script(?![^>]*\bsrc=)[^>]*>|<style|\son\w+=|\sstyle=", text), path


def test_ids_that_look_like_paths():
    """Ids may contain anything; their percent-encoded address is theirs."""
    ids = {"a/b": "a%2Fb", "50%": "50%25", "a%2Fb": "a%252Fb", "ü ?#": "%C3%BC%20%3F%23", "..": "%2E%2E"}
    ratings = [1, 2, 3, 4, 5, 3, 3, 3, 3, 3]
    data = small_data([*ids, *ids], ["x"] * 5 + ["y"] * 5, ratings, [[1, 0], [1, 0.5]])
    model = Recommender(n_threads=1).fit(data)
    with listening(ServedModel(model)) as client:
        for id_, path in ids.items():
            head = f"GET /api/v1/users/{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close"
            with socket.create_connection((client.base_url.host, client.base_url.port)) as raw:
                raw.sendall(f"{head}\r\n\r\n".encode())
                received = b""
                while chunk := raw.recv(2**16):
                    received += chunk
            answer = json.loads(received.partition(b"\r\n\r\n")[2])
            assert answer["id"] == id_
            near = client.post(NEAR, json={"user": id_, "k": 1}).json()
            assert (near["user"], near["neighbors"][0]["user"]) == (id_, model.neighbors(id_, 1)[0].user)


def test_long_ids():
    """Whatever ids the data have can be asked for."""
    user, item = "u" * 5000, "ü" * 1000
    data = small_data([user, user, "ann"], [item, "y", "y"], [5, 3, 4], [[1, 0], [1, 0.5]])
    with listening(ServedModel(Recommender(n_threads=1).fit(data))) as client:
        listed = client.get("/api/v1/users", params={"q": "uuu"}).json()["users"]
        assert [one["id"] for one in listed] == [user]
        assert client.get(f"/api/v1/users/{user}").json()["id"] == user
        assert client.post(NEAR, json={"user": user}).json()["neighbors"][0]["user"] == "ann"
        assert client.get(f"/api/v1/items/{item}").json()["id"] == item
        for person in ({"user": "ann"}, {"ratings": [{"item": item, "rating": 4}]}):
            answer = client.post("/api/v1/explanations", json={**person, "other": user})
            assert answer.json()["other"] == user
        unknown = client.get("/api/v1/users/" + "x" * 20_000)
        assert len(is_problem(unknown, 404)) < 200


def test_integer_ids_travel_as_text():
    data = small_data([7, 7, 10, 10], [1, 2, 2, 3], [5, 3, 4, 1], [[1, 0], [1, 0.5], [0, 1]])
    with listening(ServedModel(Recommender(n_threads=1).fit(data))) as client:
        answer = client.post(NEAR, json={"user": "7"}).json()
        assert answer["user"] == "7"
        assert answer["neighbors"][0]["user"] == "10"
        is_problem(client.get("/api/v1/users/07"), 404)
        is_problem(client.get("/api/v1/users/7.0"), 404)
        body = {"ratings": [{"item": "3", "rating": 5}], "n": 1}
        top = client.post("/api/v1/recommendations", json=body).json()["recommendations"]
        assert top[0]["item"] in ("1", "2")
        why = client.post("/api/v1/explanations", json={"user": "7", "other": "10"}).json()
        assert (why["user"], why["other"]) == ("7", "10")
        assert {flow["source"] for flow in why["flows"]} == {"1", "2"}
        why = client.post("/api/v1/recommendations/why", json={"user": "7", "item": "3"})
        assert why.json()["item"] == "3"
        same = client.post("/api/v1/comparison", json={"user": "7", "other": "7"})
        assert same.json()["n_common"] == 2


def test_a_user_called_guest():
    data = small_data(["guest", "guest", "ann"], ["x", "y", "y"], [5, 3, 4], [[1, 0], [1, 0.5]])
    with listening(ServedModel(Recommender(n_threads=1).fit(data))) as client:
        body = {"ratings": [{"item": "x", "rating": 4}]}
        answer = client.post(NEAR, json=body).json()
        assert {row["user"] for row in answer["neighbors"]} == {"guest", "ann"}


def test_a_measure_without_geometry(data):
    """Cosine and a neighbor average: similarities everywhere, and no plan."""
    model = KNNRecommender.paper("cos", k=10, n_threads=1).fit(Dataset(data.ratings, items=data.catalog))
    user, other = data.ratings.users[:2].tolist()
    with listening(ServedModel(model)) as client:
        assert client.get("/api/v1/model").json()["value_name"] == "similarity"
        near = ask(client, "neighbors", user=user)["neighbors"]
        library = model.neighbors(user, 10)
        assert [(n["user"], n["similarity"]) for n in near] == [(n.user, n.similarity) for n in library]
        assert all("distance" not in n for n in near)
        top = ask(client, "recommendations", user=user, n=3)["recommendations"]
        library = model.recommend(user, 3)
        assert [(row["item"], row["rating"]) for row in top] == [(one.item, one.rating) for one in library]
        assert [row["reasons"] for row in top] == [list(one.reasons) for one in library]
        assert all("similarity" in part for row in top for part in row["why"]["neighbors"])
        ratings = {"alien-1979": 5.0, "heat-1995": 2.0}
        given = [{"item": item, "rating": r} for item, r in ratings.items()]
        top = ask(client, "recommendations", ratings=given, n=3)["recommendations"]
        library = model.recommend(model.guest(ratings), 3)
        assert [(row["item"], row["rating"]) for row in top] == [(one.item, one.rating) for one in library]
        why = ask(client, "explanations", user=user, other=near[0]["user"])
        assert why["similarity"] == near[0]["similarity"]
        assert why["certificate"] is None
        assert all(flow["mass"] is None for flow in why["flows"])
        is_problem(client.get("/api/v1/items/heat-1995/near"), 422)
        while (drawn := client.get("/api/v1/map/items")).status_code == 202:
            time.sleep(0.01)
        is_problem(drawn, 422)
        rows = ask(client, "comparison", user=user, other=other)["measures"]
        assert {row["name"] for row in rows if row["value"] is None and row["reason"]} >= {"pmd", "bcf"}
