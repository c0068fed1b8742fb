"""The addresses behind the explorer's pages, compared with the library."""

import threading
import time

import numpy as np
import pytest

from prefmover.server.workers import Job
from tests.server.conftest import ask, get, is_problem, listening

ADA = {"user": "ada-b"}
GUEST = [{"item": "the-thing-1982", "rating": 4.5}, {"item": "aliens-1986", "rating": 2}]


def finished(client, path):
    for _ in range(6000):
        answer = client.get(f"/api/v1/{path}")
        if answer.status_code == 200:
            return answer.json()
        assert answer.status_code == 202
        assert answer.json()["done"] <= max(answer.json()["total"], 0)
        time.sleep(0.05)
    raise AssertionError(f"{path} is not finished")


def test_one_search_for_items_and_users(client):
    found = get(client, "search", q="a")
    assert (len(found["items"]), len(found["users"])) == (6, 6)
    assert (found["n_items"], found["n_users"]) == (
        get(client, "items", q="a")["total"],
        get(client, "users", q="a")["total"],
    )
    assert get(client, "search", q="ada b")["users"][0]["id"] == "ada-b"
    assert get(client, "search", q="no such thing")["n_items"] == 0


def test_a_user_has_a_taste_and_an_item_has_fans(client):
    assert get(client, "users/ada-b")["taste"]
    found = get(client, "items/the-thing-1982")
    assert found["n_fans"] >= len(found["fans"]) > 0
    assert sum(one["count"] for one in found["ratings"]) == found["n_ratings"]


def test_neighbors_say_how_near_they_are(client, handlers):
    near = ask(client, "neighbors", **ADA)["neighbors"]
    shares = [one["nearer_than"] for one in near]
    assert shares == sorted(shares, reverse=True)
    assert shares == [handlers.spread.nearer_than(one["distance"]) for one in near]
    spread = get(client, "model")["spread"]
    assert 0 < spread["nearest"] < spread["median"] < spread["farthest"]


def test_neighbors_without_common_items(client, model):
    near = ask(client, "neighbors", **ADA, k=5, without_common_items=True)["neighbors"]
    assert {one["n_common"] for one in near} == {0}
    assert [one["user"] for one in near] == model.neighbors(
        "ada-b", 5, without_common_items=True
    ).users.tolist()
    body = {"ratings": GUEST, "without_common_items": True, "k": 3}
    theirs = client.post("/api/v1/neighbors", json=body).json()["neighbors"]
    assert {one["n_common"] for one in theirs} == {0}
    others = client.post("/api/v1/neighbors", json={**body, "without_common_items": False}).json()[
        "neighbors"
    ]
    assert others[0]["n_common"] > 0


def test_lists_of_neighbors(client):
    found = ask(client, "neighbors/lists", **ADA)["lists"]
    assert [one["name"] for one in found] == ["pmd", "cos", "jmsd"]
    assert all(len(one["neighbors"]) == 10 and one["test"]["n_hidden"] > 0 for one in found)
    guest = client.post("/api/v1/neighbors/lists", json={"ratings": GUEST}).json()
    assert len(guest["lists"]) == 3
    assert guest["lists"][0]["test"] is None


def test_every_item_of_a_plan_has_its_groups(client, data):
    found = ask(client, "explanations", **ADA, other=str(data.ratings.users[-1]))
    shown = {flow[end] for flow in found["flows"] for end in ("source", "target")}
    assert {one["item"] for one in found["items"]} == shown
    assert all(one["groups"].keys() == {"genre", "decade", "cluster"} for one in found["items"])


def test_jobs_answer_once_they_are_done(client, data):
    ground = finished(client, "common-ground")
    assert 0 <= ground["neighbors_without"] <= ground["pairs_without"] <= 1
    assert ground["examples"]
    users, items = finished(client, "map/users"), finished(client, "map/items")
    assert [one["id"] for one in users["points"]] == data.ratings.users.tolist()
    rated = np.flatnonzero(np.bincount(data.ratings.matrix.indices, minlength=data.n_items))
    assert {one["id"] for one in items["points"]} == set(data.ratings.items[rated].tolist())
    for drawn in (users, items):
        assert all(0 <= one["x"] <= 1 and 0 <= one["y"] <= 1 for one in drawn["points"])
        used = {one["group"] for one in drawn["points"]} - {None}
        assert used == set(range(len(drawn["groups"])))


def test_a_job_that_fails_is_a_problem(handlers, caplog):
    with listening(handlers) as client:
        service = client.server.service

        def fail(progress):
            raise RuntimeError("no map")

        job = service.jobs["map-users"] = Job(fail, "map-users")
        job.start()
        job.join(60)
        is_problem(client.get("/api/v1/map/users"), 500)  # nobody should ask again
    assert "no map" in caplog.text


def test_a_job_ends_with_the_service(handlers):
    begun = threading.Event()

    def endless(progress):
        while True:
            progress(1, 2)
            begun.set()
            time.sleep(0.001)

    with listening(handlers) as client:
        job = client.server.service.jobs["map-items"] = Job(endless, "map-items")
        job.start()
        assert begun.wait(60)
        assert client.get("/api/v1/map/items").json() == {"done": 1, "total": 2}
    job.join(60)
    assert not job.is_alive()


def test_import(client):
    text = "Date,Name,Year,Letterboxd URI,Rating\n2020-01-01,The Thing,1982,x,4.5\n2020-01-02,Nothing,1,x,3\n"
    answer = client.post("/api/v1/import", json={"csv": text})
    assert answer.json()["origin"] == "Letterboxd"
    assert [(one["item"], one["rating"]) for one in answer.json()["ratings"]] == [("the-thing-1982", 4.5)]
    assert answer.json()["unmatched"] == [{"title": "Nothing", "year": 1}]
    detail = is_problem(client.post("/api/v1/import", json={"csv": "a,b\n1,2\n"}), 422)
    assert "Rating" in detail


def test_items_by_id(client):
    answer = client.post("/api/v1/lookup", json={"ids": ["the-thing-1982", "nothing", "aliens-1986"]}).json()
    assert [one["id"] for one in answer["items"]] == ["the-thing-1982", "aliens-1986"]
    assert answer["unknown"] == ["nothing"]


@pytest.mark.parametrize("path", ["map/users", "common-ground"])
def test_jobs_take_no_parameters(client, path):
    is_problem(client.get(f"/api/v1/{path}", params={"k": 3}), 422)
