"""Lanes: a bounded queue, fair shares, a time limit, and no work for clients who have left."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from starlette.requests import ClientDisconnect

from prefmover.server.problems import ProblemError
from prefmover.server.workers import Lane, check_cancelled, lanes

SECONDS = 60  # for what comes in a moment unless the machine is busy


async def never():
    await asyncio.Event().wait()


async def until(condition):
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "the condition did not come true"
        await asyncio.sleep(0.005)


def finished(coroutine):
    """Run a coroutine on a new thread: the thread of the tests may have an event loop, the browser's."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


def start(lane, work, client="", left=never):
    return asyncio.create_task(lane.run(work, SECONDS, left, client))


def endless():
    """Return work that ends only when it is canceled, and two events: that it begins, and that it stops."""
    begun, stopped = threading.Event(), threading.Event()

    def work():
        begun.set()
        try:
            while True:
                check_cancelled()
                time.sleep(0.005)
        except asyncio.CancelledError:
            stopped.set()
            raise

    return work, begun, stopped


@pytest.fixture
def lane():
    return Lane(threads=2, queue=3)


def test_work_is_done_on_other_threads(lane):
    async def request():
        return await lane.run(threading.get_ident, 10, never) != threading.get_ident()

    assert finished(request())


def test_errors_come_back(lane):
    def work():
        raise KeyError("this one")

    with pytest.raises(KeyError, match="this one"):
        finished(lane.run(work, 10, never))


def test_the_queue_is_bounded(lane):
    """Two are computed, three wait, the sixth is refused at once; afterward there is room again."""
    release = threading.Event()

    async def requests():
        jobs = [start(lane, lambda: release.wait(SECONDS)) for _ in range(5)]
        await until(lambda: lane.active == 5)
        with pytest.raises(ProblemError) as refused:
            await lane.run(lambda: True, SECONDS, never)
        assert refused.value.status == 503
        assert int(refused.value.headers["Retry-After"]) >= 1
        release.set()
        assert await asyncio.gather(*jobs) == [True] * 5
        await until(lambda: lane.active == 0)
        return await lane.run(lambda: "room again", SECONDS, never)

    assert finished(requests()) == "room again"
    assert lane.refused == 1


def test_no_more_than_the_threads_compute(lane):
    running, most, lock, pairs = 0, 0, threading.Lock(), threading.Barrier(2)

    def work():
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        pairs.wait(SECONDS)  # two are at work at the same time
        with lock:
            running -= 1

    async def requests():
        await asyncio.gather(*[lane.run(work, SECONDS, never) for _ in range(4)])

    finished(requests())
    assert most == 2


def test_the_time_limit(lane):
    """The client hears at once; the thread is free again at its next check, if it began in time."""
    work, begun, stopped = endless()

    async def request():
        with pytest.raises(ProblemError) as late:
            await lane.run(work, 0.05, never)
        assert late.value.status == 503
        await until(lambda: lane.active == 0)

    finished(request())
    assert stopped.is_set() == begun.is_set()
    assert lane.expired == 1


def test_a_slot_is_held_until_the_thread_is_free(lane):
    """Requests that were abandoned do not make room for more threads than there are."""
    release, begun = threading.Event(), []

    def work():
        begun.append(1)
        return release.wait(SECONDS)

    async def requests():
        left = asyncio.Event()
        jobs = [start(lane, work, left=left.wait) for _ in range(2)]
        await until(lambda: len(begun) == 2)
        left.set()
        for job in jobs:
            with pytest.raises(ClientDisconnect):
                await job
        assert lane.active == 2
        with pytest.raises(ProblemError):
            await lane.run(lambda: pytest.fail("a third thread"), 0.05, never)
        release.set()
        await until(lambda: lane.active == 0)

    finished(requests())
    assert (lane.dropped, lane.expired) == (2, 1)


def test_a_client_that_leaves_stops_costing(lane):
    work, begun, stopped = endless()

    async def request():
        left = asyncio.Event()
        job = start(lane, work, left=left.wait)
        await until(begun.is_set)
        left.set()
        with pytest.raises(ClientDisconnect):
            await job
        await until(stopped.is_set)

    finished(request())
    assert lane.dropped == 1


def test_waiting_work_of_a_client_that_left_is_not_begun(lane):
    begun = []
    release = threading.Event()

    async def requests():
        busy = [start(lane, lambda: release.wait(SECONDS)) for _ in range(2)]
        left = asyncio.Event()
        waiting = start(lane, lambda: begun.append(1), left=left.wait)
        await until(lambda: lane.active == 3)
        left.set()
        with pytest.raises(ClientDisconnect):
            await waiting
        release.set()
        await asyncio.gather(*busy)
        await until(lambda: lane.active == 0)

    finished(requests())
    assert begun == []


def test_work_stops_when_its_request_is_canceled(lane):
    """As uvicorn does when the service stops."""
    work, begun, stopped = endless()

    async def request():
        job = start(lane, work)
        await until(begun.is_set)
        job.cancel()
        await until(stopped.is_set)

    finished(request())


def test_checking_outside_of_a_request_does_nothing():
    check_cancelled(1, 2)


def order_of(lane, jobs):
    """Return the order in which jobs of clients were computed, while one thread was busy."""
    release, order = threading.Event(), []

    async def requests():
        busy = start(lane, lambda: release.wait(SECONDS), "busy")
        await until(lambda: len(lane.running) == 1)
        waiting = []
        for k, client in enumerate(jobs):
            waiting.append(start(lane, lambda k=k, c=client: order.append((c, k)), client))
            await asyncio.sleep(0)
        await until(lambda: len(lane.waiting) == len(jobs))
        release.set()
        await asyncio.gather(busy, *waiting)

    finished(requests())
    return order


def test_clients_take_turns():
    """A client with one request does not wait for all those of another."""
    order = order_of(Lane(threads=1, queue=20), ["greedy"] * 10 + ["modest"])
    place = order.index(("modest", 10))
    assert place <= 1
    assert [k for client, k in order if client == "greedy"] == list(range(10))


def test_a_client_whose_requests_take_long_gets_fewer_turns(monkeypatch):
    """Shares are of time, not of requests; the time of this test is that of its work."""
    lane, order, release, now = Lane(threads=1, queue=20), [], threading.Event(), [0.0]
    clock = SimpleNamespace(perf_counter=lambda: now[0], monotonic=lambda: now[0])
    monkeypatch.setattr("prefmover.server.workers.time", clock)

    def work(client, seconds):
        now[0] += seconds
        order.append(client)

    async def requests():
        busy = start(lane, lambda: release.wait(SECONDS), "busy")
        await until(lambda: len(lane.running) == 1)
        tasks = [
            start(lane, lambda c=c, s=s: work(c, s), c)
            for _ in range(5)
            for c, s in (("slow", 0.05), ("quick", 0.0))
        ]
        await until(lambda: len(lane.waiting) == 10)
        release.set()
        await asyncio.gather(busy, *tasks)

    finished(requests())
    assert order.index("slow") <= 1
    last_quick = max(k for k, client in enumerate(order) if client == "quick")
    assert last_quick <= 5  # all five of them, and one slow one at most


def test_a_full_queue_makes_room_for_others():
    """The newest request of the client with most gets 503; a client that has most gets it itself."""
    lane, release = Lane(threads=1, queue=4), threading.Event()

    async def requests():
        greedy = [start(lane, lambda: release.wait(SECONDS), "greedy") for _ in range(5)]
        await until(lambda: lane.active == 5)
        with pytest.raises(ProblemError) as own:
            await lane.run(lambda: True, SECONDS, never, "greedy")
        modest = start(lane, lambda: "served", "modest")
        with pytest.raises(ProblemError) as moved:
            await greedy[-1]
        release.set()
        assert await modest == "served"
        await asyncio.gather(*greedy[:-1])
        return own.value, moved.value

    for problem in finished(requests()):
        assert problem.status == 503
        assert int(problem.headers["Retry-After"]) >= 1
    assert lane.refused == 2


def test_a_request_that_cannot_be_in_time_is_refused_at_once():
    lane, release = Lane(threads=1, queue=50), threading.Event()

    async def requests():
        for _ in range(20):
            await lane.run(lambda: time.sleep(0.02), SECONDS, never)  # the lane learns how long they take
        busy = start(lane, lambda: release.wait(SECONDS), "a")
        await until(lambda: len(lane.running) == 1)
        with pytest.raises(ProblemError) as refused:
            await lane.run(lambda: True, 0.001, never, "b")
        waiting = start(lane, lambda: True, "b")
        await until(lambda: len(lane.waiting) == 1)
        release.set()
        assert await waiting
        await busy
        return refused.value

    assert finished(requests()).status == 503
    assert (lane.refused, lane.expired) == (1, 0)


def test_the_end_answers_everybody(lane):
    work, begun, stopped = endless()

    async def requests():
        tasks = [start(lane, work) for _ in range(4)]
        await until(lambda: lane.active == 4 and begun.is_set())
        lane.stop()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        with pytest.raises(ProblemError):
            await lane.run(lambda: True, SECONDS, never)
        await until(lambda: lane.active == 0)
        return results

    results = finished(requests())
    assert [one.status for one in results] == [503] * 4
    assert all(int(one.headers["Retry-After"]) >= 1 for one in results)
    assert stopped.is_set()


def test_lookups_do_not_wait_for_searches():
    workers, release = lanes(threads=1, queue=10), threading.Event()

    async def requests():
        busy = [
            start(workers[name], lambda: release.wait(SECONDS))
            for name in ("heavy", "heavy", "large", "large")
        ]
        await until(lambda: len(workers["heavy"].running) + len(workers["large"].running) == 2)
        answer = await workers["light"].run(lambda: "at once", SECONDS, never)
        release.set()
        await asyncio.gather(*busy)
        return answer

    assert finished(requests()) == "at once"


@pytest.mark.parametrize(("threads", "large"), [(1, 1), (2, 1), (8, 4)])
def test_large_jobs_have_half_of_the_threads(threads, large):
    assert lanes(threads, 5)["large"].threads == large
