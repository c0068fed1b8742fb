"""A small model with hostile titles, served in process and over real sockets."""

import threading
import time
from contextlib import contextmanager

import httpx
import numpy as np
import pytest

from prefmover import UserKNN, datasets
from prefmover.server.handlers import Answers
from prefmover.server.run import Server, address, listen
from prefmover.server.settings import Settings

HOSTILE = "<script>alert('film')</script>"


@pytest.fixture(scope="session")
def model():
    data = datasets.load("cinema")
    ratings = data.ratings.take(users=np.arange(0, 800, 10))
    return UserKNN(n_jobs=1).fit(ratings, data.geometry)


@pytest.fixture(scope="session")
def labels():
    catalog = datasets.load("cinema").items
    names = {item: catalog.label(item) for item in catalog.ids.tolist()}
    return names | {"alien-1979": HOSTILE}


@pytest.fixture(scope="session")
def answers(model, labels):
    return Answers(model, "some of cinema", labels)


def wait_until_ready(client):
    for _ in range(6000):
        answer = client.get("/readyz")
        if answer.status_code == 200:
            return
        assert answer.status_code == 503
        assert "log" not in answer.json()["detail"], "the warm-up failed"
        time.sleep(0.05)
    raise AssertionError("the service did not become ready")


@pytest.fixture(scope="session")
def client(answers):
    with listening(answers) as client:
        yield client


@contextmanager
def listening(answers, **settings):
    """Serve over a real socket, on a thread; yields a client that knows the address."""
    chosen = Settings(port=0, **settings)
    bound = listen(chosen)
    server = Server(answers, chosen)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    try:
        with httpx.Client(base_url=address(bound), timeout=60) as client:
            wait_until_ready(client)
            yield client
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


@pytest.fixture(scope="session")
def live(answers):
    with listening(answers, header_seconds=1.0, body_seconds=1.0) as client:
        yield client


def is_problem(answer, status):
    """Whether an answer is a problem in the shape of RFC 9457."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["status"] == status
    assert body["type"] == "about:blank"
    assert body["title"]
    assert len(body["detail"]) > 10
    return body["detail"]
