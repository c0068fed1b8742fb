"""Start and end of the service: progress until it is ready, and an orderly end under load."""

import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx

from prefmover.errors import InputError
from tests.messages import unnamed
from tests.server.conftest import hold, is_problem, listening, wait_until_ready

SECONDS = 60  # for what comes in a moment unless the machine is busy
NOTICE = 61.0  # ended by the test that has one


def near(client, k):
    """Return the response, or the error of a connection that is closed without one."""
    try:
        return httpx.post(f"{client.base_url}api/v1/neighbors", json={"user": "ada-b", "k": k}, timeout=60)
    except httpx.TransportError as error:
        return error


def test_the_start_tells_how_far_it_is(handlers):
    """The service listens while its model is fitted and its kernels are compiled."""
    fitted, warm, loading = threading.Event(), threading.Event(), threading.Event()

    def warm_up(served, progress):
        progress(3, 12)
        assert warm.wait(SECONDS)

    def load(report):
        report("comparing users", 40, 200)
        loading.set()
        assert fitted.wait(SECONDS)
        return handlers

    def state(client, path="/readyz"):
        response = client.get(path)
        assert is_problem(response, 503)
        assert int(response.headers["retry-after"]) >= 1
        return response.json()

    with listening(load, wait=False, warm_up=warm_up) as client:
        assert loading.wait(SECONDS)
        for path in ("/readyz", "/api/v1/model", "/api/v1/openapi.json"):
            problem = state(client, path)
            assert problem["state"] == "starting"
            assert problem["progress"] == {"doing": "comparing users", "done": 40, "total": 200}
            assert "comparing users" in problem["detail"]
        assert client.get("/healthz").status_code == 200
        assert client.get("/").status_code == 200
        assert client.get("/metrics").status_code == 200
        body = {"ratings": [{"item": "alien-1979", "rating": 5}]}
        is_problem(client.post("/api/v1/neighbors", json=body), 503)
        fitted.set()
        while state(client)["progress"]["done"] != 3:
            time.sleep(0.01)
        warm.set()
        wait_until_ready(client)
        assert client.get("/api/v1/model").status_code == 200
        assert client.get("/api/v1/openapi.json").status_code == 200


def test_a_start_that_fails_ends_the_service():
    def load(report):
        raise InputError("these data cannot be fitted")

    with listening(load, wait=False) as client:
        client.thread.join(SECONDS)
        assert not client.thread.is_alive()
        assert isinstance(client.server.service.opening.error, InputError)
        assert client.server.service.state == "failed"


def test_requests_in_progress_are_finished(handlers):
    """Readiness turns first; then new requests are refused; those in progress get their answers."""
    noticed = threading.Event()
    with hold(handlers, n_threads=2, notice=NOTICE, grace=SECONDS) as client, ThreadPoolExecutor(4) as pool:
        wait = client.server._wait
        client.server._wait = lambda seconds, done: wait(
            seconds, noticed.is_set if seconds == NOTICE else done
        )
        running = [pool.submit(near, client, k) for k in (1, 2, 3)]
        while client.server.service.workers["heavy"].active < 3:
            time.sleep(0.01)
        client.server.handle_exit(signal.SIGTERM, None)
        readiness, lookup = client.get("/readyz"), client.get("/api/v1/items?q=heat")
        is_problem(readiness, 503)
        assert int(readiness.headers["retry-after"]) >= 1
        assert client.get("/healthz").status_code == 200
        assert lookup.status_code == 200  # a load balancer may not have noticed yet
        noticed.set()
        while client.server.servers[0].is_serving():
            time.sleep(0.01)
        assert isinstance(near(client, 4), httpx.ConnectError)
        client.server.service.served.go_on.set()
        answers = [one.result(SECONDS) for one in running]
        assert [len(one.json()["neighbors"]) for one in answers] == [1, 2, 3]
        client.thread.join(SECONDS)
        assert not client.thread.is_alive()


def test_requests_that_do_not_end_get_503(handlers):
    """Computed, waiting and new on an open connection: all hear that the service stops."""
    with hold(handlers, n_threads=1, grace=0.3) as client, ThreadPoolExecutor(4) as pool:
        stuck = [pool.submit(near, client, k) for k in (1, 2, 3)]
        while client.server.service.workers["heavy"].active < 3:
            time.sleep(0.01)
        client.server.handle_exit(signal.SIGTERM, None)
        for one in stuck:
            response = one.result(SECONDS)
            is_problem(response, 503)
            assert int(response.headers["retry-after"]) >= 1
        client.server.service.served.go_on.set()
        client.thread.join(SECONDS)
        assert not client.thread.is_alive()


def test_a_request_that_uvicorn_cancels_gets_503(handlers):
    """As a last resort; without it the client would get 500, and the log a traceback."""
    with hold(handlers, grace=SECONDS) as client, ThreadPoolExecutor(1) as pool:
        stuck = pool.submit(near, client, 1)
        assert client.server.service.served.begun.acquire(timeout=SECONDS)
        state = client.server.server_state
        loop = next(iter(state.tasks)).get_loop()
        loop.call_soon_threadsafe(lambda: [task.cancel() for task in state.tasks])
        response = stuck.result(SECONDS)
        assert not unnamed(is_problem(response, 503), "stopping")
        assert "retry-after" in response.headers
        client.server.service.served.go_on.set()
