"""Bodies and addresses that are sent to the service: the status is always below 500."""

import atexit
from functools import cache
from typing import Any

import oracle

oracle.load()

from prefmover import Dataset, ItemGeometry, Ratings, Recommender

ROUTES = ("neighbors", "recommendations", "recommendations/why", "predictions", "explanations", "comparison")
PATHS = ("/api/v1/users/{}", "/api/v1/items/{}", "/api/v1/items/{}/near", "/api/v1/users?{}", "/{}")


@cache
def client() -> Any:
    """Return a client of the service, in this process, on a model of four users."""
    from starlette.testclient import TestClient

    from prefmover.server.app import create_app
    from prefmover.server.served import ServedModel
    from prefmover.server.service import Service
    from prefmover.server.settings import Settings

    users = ["a", "a", "a", "b", "b", "c", "c", "d"]
    ratings = Ratings.from_arrays(users, [1, 2, 3, 1, 4, 2, 3, 4], [5, 3, 1, 4, 4, 2, 5, 1])
    space = ItemGeometry.from_vectors([1, 2, 3, 4], [[1, 0], [1, 1], [0, 1], [1, 3]])
    model = Recommender(n_threads=1).fit(Dataset(ratings, space))
    app = create_app(Service(lambda _: ServedModel(model, "small"), Settings()))
    test_client = TestClient(app, base_url="http://localhost", raise_server_exceptions=False)  # type: ignore[arg-type]
    test_client.__enter__()
    atexit.register(test_client.__exit__, None, None, None)
    return test_client


def target(data: bytes) -> None:
    choices = oracle.Choices(data)
    if choices.below(4):
        path = f"/api/v1/{choices.pick(ROUTES)}"
        response = client().post(path, content=choices.rest(), headers={"content-type": "application/json"})
    else:
        from urllib.parse import quote

        path = choices.pick(PATHS).format(quote(choices.rest(), safe="=&"))
        response = client().get(path)
    status = response.status_code
    assert status < 500 or status == 503, (path, status, response.text)
    if status >= 400 and response.headers.get("content-type") == "application/problem+json":
        assert response.json()["status"] == status


def seeds() -> list[bytes]:
    bodies = [
        b'{"ratings": [{"item": "1", "rating": 5}]}',
        b'{"user": "a"}',
        b'{"ratings": [{"item": "1", "rating": 5}], "k": 2}',
        b'{"ratings": [{"item": "2", "rating": 4.5}], "items": ["3", "77"]}',
        b'{"ratings": [{"item": "2", "rating": 1e0}], "item": "3"}',
        b'{"ratings": [{"item": "4", "rating": 0}], "other": "a"}',
    ]
    return [bytes((1, k)) + body for k, body in enumerate(bodies)] + [
        b"\x00\x00a",
        b"\x00\x01\xff",
        b"\x00\x03limit=2",
    ]


if __name__ == "__main__":
    client()
    oracle.main("http", target, seeds())
