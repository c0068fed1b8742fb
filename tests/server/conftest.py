"""A small model with a hostile title, served over real sockets."""

import threading
import time
from contextlib import contextmanager

import httpx
import numpy as np
import pytest

from prefmover import Dataset, ItemGeometry, Ratings, Recommender, datasets
from prefmover.server.run import Server, address, listen
from prefmover.server.served import ServedModel
from prefmover.server.service import Service, warm_up
from prefmover.server.settings import Settings
from tests.model.conftest import with_title

NEAR = "/api/v1/neighbors"
ONE = {"ratings": [{"item": "alien-1979", "rating": 5}]}
HOSTILE = "<script>alert('film')</script>"


def small_data(users, items, ratings, vectors, **options):
    """Return a data set whose items have vectors, in the order of their first mention."""
    geometry = ItemGeometry.from_vectors(list(dict.fromkeys(items)), vectors)
    return Dataset(Ratings.from_arrays(users, items, ratings, **options), geometry)


@pytest.fixture(scope="session")
def data():
    cinema = datasets.load("cinema")
    some = cinema.with_ratings(cinema.ratings.take(users=np.arange(0, 800, 10)))
    return with_title(some, "alien-1979", HOSTILE)


@pytest.fixture(scope="session")
def model(data):
    return Recommender(n_threads=1).fit(data)


@pytest.fixture(scope="session")
def handlers(model):
    return ServedModel(model, "some of cinema")


class Held(ServedModel):
    """A model that waits until it is released before it answers questions."""

    def __init__(self, like):
        super().__init__(like.model, like.name)
        self.go_on, self.begun = threading.Event(), threading.Semaphore(0)

    def person(self, asked):
        self.begun.release()
        assert self.go_on.wait(60)
        return super().person(asked)


def hold(handlers, **settings):
    """Serve a held model that is not warmed up."""
    return listening(Held(handlers), warm_up=lambda served, progress: None, **settings)


def wait_until_ready(client):
    for _ in range(6000):
        response = client.get("/readyz")
        if response.status_code == 200:
            return
        assert response.status_code == 503
        assert "log" not in response.json()["detail"], "the warm-up failed"
        time.sleep(0.05)
    raise AssertionError("the service did not become ready")


@pytest.fixture(scope="session")
def client(handlers):
    with listening(handlers) as client:
        yield client


@contextmanager
def listening(source, *, wait=True, warm_up=warm_up, **settings):
    """Serve over a real socket, on a thread; yields a client that knows the address and the server.

    Requests have all the time they need on a busy machine, unless ``seconds`` is given.
    """
    chosen = Settings(port=0, **{"seconds": 600.0, **settings})
    bound = listen(chosen)
    url = address(bound)  # a start that fails closes the socket at once
    listens = threading.Event()
    load = source if callable(source) else lambda report: source
    server = Server(Service(load, chosen, warm_up), listens.set)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    try:
        assert listens.wait(60)
        with httpx.Client(base_url=url, timeout=600) as client:
            client.server, client.thread = server, thread
            if wait:
                wait_until_ready(client)
            yield client
    finally:
        server.should_exit = True
        thread.join(60)
        assert not thread.is_alive()


@pytest.fixture(scope="session")
def hasty(handlers):
    """A service that gives clients a second for their headers, and one for their body."""
    with listening(handlers, header_seconds=1.0, body_seconds=1.0) as client:
        yield client


def get(client, path, **query):
    """Return the JSON at an address."""
    response = client.get(f"/api/v1/{path}", params=query)
    assert response.status_code == 200, response.text
    return response.json()


def ask(client, path, **body):
    """Return the JSON that answers a question."""
    response = client.post(f"/api/v1/{path}", json=body)
    assert response.status_code == 200, response.text
    return response.json()


def is_problem(response, status):
    """Assert that a response is a problem as in RFC 9457, and return its detail."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert body["status"] == status
    assert body["type"] == "about:blank"
    assert body["title"]
    assert len(body["detail"]) > 10
    return body["detail"]
