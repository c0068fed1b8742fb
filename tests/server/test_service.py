"""Readiness, kept answers, metrics, pages: what surrounds the answers."""

import json
import re
import socket
import threading

import httpx
import pytest

from prefmover.server.assets import read_assets
from prefmover.server.cache import KeptAnswers
from prefmover.server.handlers import Answers
from prefmover.server.labels import Names
from prefmover.server.metrics import Metrics
from prefmover.server.strict_json import BadJsonError, parse
from tests.server.conftest import is_problem, listening
from tests.server.test_handlers import speaking_for

ONE = {"ratings": [{"item": "alien-1979", "rating": 5}]}


class Held(Answers):
    """Answers that wait to be let go."""

    def __init__(self, like):
        super().__init__(like.model, like.name, {})
        self.go_on, self.begun = threading.Event(), threading.Semaphore(0)
        self.go_on.set()

    def users(self, q, offset, limit):
        self.begun.release()
        assert self.go_on.wait(60)
        return super().users(q, offset, limit)


@pytest.fixture(scope="module")
def held(answers):
    made = Held(answers)
    with listening(made, workers=1, queue=1, seconds=60) as client:
        yield made, client
        made.go_on.set()


def samples(client):
    text = client.get("/metrics").text
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


def test_too_much_at_once_is_refused(held):
    made, client = held
    made.go_on.clear()
    answers = []

    def ask(n):
        with httpx.Client(base_url=client.base_url, timeout=60) as own:
            answers.append(own.get("/api/v1/users", params={"offset": n}))

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(2)]
    threads[0].start()
    assert made.begun.acquire(timeout=30)
    threads[1].start()
    while samples(client)["prefmover_pool_held"] < 2:
        pass
    refused = client.get("/api/v1/users", params={"offset": 5})
    is_problem(refused, 503)
    assert int(refused.headers["retry-after"]) >= 1
    assert client.get("/healthz").status_code == 200
    made.go_on.set()
    for thread in threads:
        thread.join(30)
    assert [answer.status_code for answer in answers] == [200, 200]


def test_a_client_that_hangs_up_is_dropped(held):
    made, client = held
    made.go_on.clear()
    before = samples(client).get("prefmover_pool_dropped_total", 0)
    address = (client.base_url.host, client.base_url.port)
    connection = socket.create_connection(address)
    connection.sendall(b"GET /api/v1/users?offset=11 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert made.begun.acquire(timeout=30)
    connection.close()
    while samples(client)["prefmover_pool_dropped_total"] == before:
        pass
    made.go_on.set()


def test_time_is_over(answers):
    made = Held(answers)
    with listening(made, workers=1, seconds=0.2) as client:
        made.go_on.clear()
        answer = client.get("/api/v1/users")
        made.go_on.set()
        is_problem(answer, 503)
        assert "retry-after" in answer.headers


def test_not_ready_until_warm(answers):
    class Cold(Answers):
        warm = threading.Event()

        def warm_up(self, budget):
            assert self.warm.wait(60)

    made = Cold(answers.model, "cold", {})
    seen = []

    def look(client):
        seen.append((client.get("/readyz"), client.get("/healthz"), client.get("/api/v1/model")))
        made.warm.set()

    import tests.server.conftest as conftest

    ready = conftest.wait_until_ready
    try:
        conftest.wait_until_ready = lambda client: (look(client), ready(client))
        with listening(made) as client:
            assert client.get("/api/v1/model").status_code == 200
    finally:
        conftest.wait_until_ready = ready
    readiness, health, model = seen[0]
    is_problem(readiness, 503)
    is_problem(model, 503)
    assert health.status_code == 200


def test_equal_requests_are_computed_once(client):
    body = {"ratings": [{"item": "heat-1995", "rating": 3.5}, {"item": "alien-1979", "rating": 2}], "k": 3}
    turned = {**body, "ratings": body["ratings"][::-1]}
    first = client.post("/api/v1/guest/neighbors", json=body)
    before = samples(client)
    again = client.post("/api/v1/guest/neighbors", json=turned)
    after = samples(client)
    assert again.content == first.content
    hits = 'prefmover_kept_requests_total{result="hit"}'
    assert after[hits] == before[hits] + 1


def test_kept_answers_have_a_bound():
    kept = KeptAnswers(most=100_000)
    for n in range(1000):
        kept.put(n, bytes(1000))
        assert kept.size <= 100_000
    assert kept.get(999) == bytes(1000)
    assert kept.get(0) is None
    kept.put("large", bytes(90_000))
    assert kept.get("large") is None
    assert len(kept) == kept.size // (1000 + kept.OVERHEAD)


def test_the_least_recently_used_goes_first():
    kept = KeptAnswers(most=3 * (100 + KeptAnswers.OVERHEAD))
    for name in "abc":
        kept.put(name, bytes(100))
    kept.get("a")
    kept.put("d", bytes(100))
    assert [name for name in "abcd" if kept.get(name)] == ["a", "c", "d"]


SAMPLE = re.compile(r'^[a-z_]+(\{([a-z]+="([^"\\]|\\.)*",?)+\})? (\d+(\.\d+)?(e[+-]?\d+)?)$')


def test_metrics_are_prometheus_text(client):
    client.post("/api/v1/guest/neighbors", json={**ONE, "k": 7})
    client.get('/"evil"{label}\\')
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    kinds = {line.split()[2]: line.split()[3] for line in lines if line.startswith("# TYPE")}
    for line in lines:
        if not line.startswith("#"):
            assert SAMPLE.match(line), line
            name = re.sub(r"_(bucket|sum|count)$", "", re.match("[a-z_]+", line)[0])
            assert name in kinds
    found = samples(client)
    route = "/api/v1/guest/neighbors"
    assert found[f'prefmover_requests_total{{method="POST",route="{route}",status="200"}}'] >= 1
    assert found['prefmover_pairs_total{by="solved"}'] > 0
    assert found["process_resident_memory_bytes"] > 2**20
    assert not any("evil" in name for name in found)


def test_a_histogram_adds_up():
    metrics = Metrics()
    for seconds in (0.0005, 0.003, 0.003, 100.0):
        metrics.request("GET", "/x", 200, seconds)
    text = metrics.text()
    assert 'prefmover_request_seconds_bucket{route="/x",le="0.001"} 1' in text
    assert 'prefmover_request_seconds_bucket{route="/x",le="0.005"} 3' in text
    assert 'prefmover_request_seconds_bucket{route="/x",le="+Inf"} 4' in text
    assert 'prefmover_request_seconds_count{route="/x"} 4' in text
    assert 'prefmover_request_seconds_sum{route="/x"} 100.0065' in text


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
        answer = client.get(path)
        assert answer.content == asset.content
        assert answer.headers["content-type"] == asset.media_type
        again = client.get(path, headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")


def test_pages_load_nothing_from_elsewhere():
    for path, asset in read_assets().items():
        if asset.media_type.startswith("text/"):
            text = asset.content.decode()
            loaded = re.findall(
                r"""(?:src|href)=["']([^"']+)|url\(([^)]+)|(?:from|import\()\s*["']([^"']+)""", text
            )
            for target in (one for some in loaded for one in some if one):
                assert not re.match(r"\s*['\"]?(https?:)?//", target), f"{path}: {target}"
        if asset.media_type.startswith("text/html"):
            assert not re.search(r"<script(?![^>]*\bsrc=)[^>]*>|<style|\son\w+=|\sstyle=", text), path


def test_ids_that_look_like_paths():
    """Ids are the data's own; whatever is in them, their address finds them."""
    from prefmover import ItemGeometry, Ratings, UserKNN

    ids = {"a/b": "a%2Fb", "50%": "50%25", "a%2Fb": "a%252Fb", "ü ?#": "%C3%BC%20%3F%23", "..": "%2E%2E"}
    who = [*ids, *ids]
    ratings = Ratings.from_arrays(who, ["x"] * len(ids) + ["y"] * len(ids), [1, 2, 3, 4, 5, 3, 3, 3, 3, 3])
    geometry = ItemGeometry.from_vectors(["x", "y"], [[1, 0], [1, 0.5]])
    model = UserKNN(n_jobs=1).fit(ratings, geometry)
    with listening(Answers(model, "odd", {})) as client:
        for id_, path in ids.items():
            head = f"GET /api/v1/users/{path}/neighbors?k=1 HTTP/1.1\r\nHost: localhost\r\nConnection: close"
            with socket.create_connection((client.base_url.host, client.base_url.port)) as raw:
                raw.sendall(f"{head}\r\n\r\n".encode())
                received = b""
                while chunk := raw.recv(2**16):
                    received += chunk
            found = json.loads(received.partition(b"\r\n\r\n")[2])
            assert found["user"]["id"] == id_
            assert found["neighbors"][0]["user"]["id"] == model.neighbors(id_, 1)[0].id


def test_integer_ids_travel_as_text():
    from prefmover import ItemGeometry, Ratings, UserKNN

    ratings = Ratings.from_arrays([7, 7, 10, 10], [1, 2, 2, 3], [5, 3, 4, 1])
    geometry = ItemGeometry.from_vectors([1, 2, 3], [[1, 0], [1, 0.5], [0, 1]])
    with listening(Answers(UserKNN(n_jobs=1).fit(ratings, geometry), "numbers", {})) as client:
        found = client.get("/api/v1/users/7/neighbors").json()
        assert found["neighbors"][0]["user"]["id"] == "10"
        is_problem(client.get("/api/v1/users/07"), 404)
        is_problem(client.get("/api/v1/users/7.0"), 404)
        body = {"ratings": [{"item": "3", "rating": 5}], "n": 1}
        best = client.post("/api/v1/guest/recommendations", json=body).json()["recommendations"]
        assert best[0]["item"]["id"] in ("1", "2")


def test_a_user_called_guest_is_not_in_the_way():
    from prefmover import ItemGeometry, Ratings, UserKNN

    ratings = Ratings.from_arrays(["guest", "guest", "ann"], ["x", "y", "y"], [5, 3, 4])
    geometry = ItemGeometry.from_vectors(["x", "y"], [[1, 0], [1, 0.5]])
    made = Answers(UserKNN(n_jobs=1).fit(ratings, geometry), "guests", {})
    with listening(made) as client:
        body = {"ratings": [{"item": "x", "rating": 4}]}
        found = client.post("/api/v1/guest/neighbors", json=body).json()
        assert {row["user"]["id"] for row in found["neighbors"]} == {"guest", "ann"}


def test_other_models_are_served_too(answers):
    """A measure without geometry, averaged: no plan, but everything else."""
    from prefmover import UserKNN

    model = UserKNN.paper("cos", k=10, n_jobs=1).fit(answers.model.ratings_)
    user, other = model.ratings_.users[:2].tolist()
    with listening(Answers(model, "cosine", {})) as client:
        found = client.get(f"/api/v1/users/{user}/neighbors").json()
        assert [(n["user"]["id"], n["distance"]) for n in found["neighbors"]] == model.neighbors(user, 10)
        best = client.get(f"/api/v1/users/{user}/recommendations?n=3").json()["recommendations"]
        expected = model.recommend(user, 3)
        assert [(row["item"]["id"], row["rating"]) for row in best] == [(p.item, p.rating) for p in expected]
        for row, p in zip(best, expected, strict=True):
            assert [r["user"]["id"] for r in row["reasons"]] == [
                n.user for n in speaking_for(p.neighbors)[:3]
            ]
        guest = model.for_ratings({"alien-1979": 5.0, "heat-1995": 2.0}, name="guest").recommend(3)
        body = {"ratings": [{"item": "alien-1979", "rating": 5}, {"item": "heat-1995", "rating": 2}], "n": 3}
        best = client.post("/api/v1/guest/recommendations", json=body).json()["recommendations"]
        assert [(row["item"]["id"], row["rating"]) for row in best] == [(p.item, p.rating) for p in guest]
        is_problem(client.get(f"/api/v1/explanations?user={user}&other={other}"), 422)
        compared = client.get(f"/api/v1/comparison?user={user}&other={other}").json()["measures"]
        assert {row["name"] for row in compared if row["why"] and not row["defined"]} >= {"pmd", "bcf"}


def test_names_are_searched_by_label_and_id():
    import numpy as np

    names = Names("item", np.array(["k1", "k2", "k3"], dtype=object), {"k1": "Der Himmel", "k2": "Himmel"})
    assert names.search("him") == [1, 0]
    assert names.search("K3") == [2]
    assert names.search("  ") == [0, 1, 2]


@pytest.mark.parametrize(
    "text", ['"[[[["', '{"a": "\\"[[[[["}', "[" * 32 + "]" * 32, '{"a": [1.5, -2, true, null]}']
)
def test_strict_json_reads_json(text):
    assert parse(text.encode()) == json.loads(text)


def test_strict_json_counts_brackets_outside_of_strings():
    assert parse(b'["' + b"[" * 100 + b'"]') == ["[" * 100]
    with pytest.raises(BadJsonError):
        parse(b"[" * 33 + b"]" * 33)
