"""Workers: a bounded queue, a time limit, and no work for clients who have left."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from prefmover.server.problems import ProblemError
from prefmover.server.workers import ClientLeftError, Workers, check_cancelled


async def never():
    await asyncio.Event().wait()


async def until(condition):
    for _ in range(2000):
        if condition():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("the condition did not come true")


def finished(coroutine):
    """Run a coroutine on a new thread: the thread of the tests may have an event loop, the browser's."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


def endless():
    """Return work that ends only when it is canceled, and the event that it then sets."""
    stopped = threading.Event()

    def work():
        try:
            while True:
                check_cancelled()
                time.sleep(0.005)
        except asyncio.CancelledError:
            stopped.set()
            raise

    return work, stopped


@pytest.fixture
def workers():
    return Workers(threads=2, queue=3)


def test_work_is_done_on_other_threads(workers):
    async def request():
        return await workers.run(threading.get_ident, 10, never) != threading.get_ident()

    assert finished(request())


def test_errors_come_back(workers):
    def work():
        raise KeyError("this one")

    with pytest.raises(KeyError, match="this one"):
        finished(workers.run(work, 10, never))


def test_the_queue_is_bounded(workers):
    """Two are computed, three wait, the sixth is refused at once; afterward there is room again."""
    release = threading.Event()

    async def requests():
        jobs = [asyncio.create_task(workers.run(lambda: release.wait(30), 30, never)) for _ in range(5)]
        await until(lambda: workers.active == 5)
        with pytest.raises(ProblemError) as refused:
            await workers.run(lambda: True, 30, never)
        assert refused.value.status == 503
        assert int(refused.value.headers["Retry-After"]) >= 1
        release.set()
        assert await asyncio.gather(*jobs) == [True] * 5
        await until(lambda: workers.active == 0)
        return await workers.run(lambda: "room again", 30, never)

    assert finished(requests()) == "room again"
    assert workers.refused == 1


def test_no_more_than_the_threads_compute(workers):
    running, most, lock = 0, 0, threading.Lock()

    def work():
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.02)
        with lock:
            running -= 1

    async def requests():
        await asyncio.gather(*[workers.run(work, 30, never) for _ in range(5)])

    finished(requests())
    assert most == 2


def test_the_time_limit(workers):
    """The client hears at once; the thread is free again at its next check."""
    work, stopped = endless()

    async def request():
        with pytest.raises(ProblemError) as late:
            await workers.run(work, 0.05, never)
        assert late.value.status == 503
        await until(stopped.is_set)
        await until(lambda: workers.active == 0)

    finished(request())
    assert workers.expired == 1


def test_a_slot_is_held_until_the_thread_is_free(workers):
    """Requests that ran out of time do not make room for more threads than there are."""
    release = threading.Event()

    async def requests():
        for _ in range(2):
            with pytest.raises(ProblemError):
                await workers.run(lambda: release.wait(30), 0.02, never)
        assert workers.active == 2
        with pytest.raises(ProblemError):
            await workers.run(lambda: pytest.fail("a third thread"), 0.05, never)
        release.set()
        await until(lambda: workers.active == 0)

    finished(requests())
    assert workers.expired == 3


def test_a_client_that_leaves_stops_costing(workers):
    work, stopped = endless()

    async def request():
        left = asyncio.Event()
        job = asyncio.create_task(workers.run(work, 30, left.wait))
        await until(lambda: workers.active == 1)
        left.set()
        with pytest.raises(ClientLeftError):
            await job
        await until(stopped.is_set)

    finished(request())
    assert workers.dropped == 1


def test_waiting_work_of_a_client_that_left_is_not_begun(workers):
    begun = []
    release = threading.Event()

    async def requests():
        busy = [asyncio.create_task(workers.run(lambda: release.wait(30), 30, never)) for _ in range(2)]
        left = asyncio.Event()
        waiting = asyncio.create_task(workers.run(lambda: begun.append(1), 30, left.wait))
        await until(lambda: workers.active == 3)
        left.set()
        with pytest.raises(ClientLeftError):
            await waiting
        release.set()
        await asyncio.gather(*busy)
        await until(lambda: workers.active == 0)

    finished(requests())
    assert begun == []


def test_work_stops_when_its_request_is_canceled(workers):
    """As uvicorn does when the service stops."""
    work, stopped = endless()

    async def request():
        job = asyncio.create_task(workers.run(work, 30, never))
        await until(lambda: workers.active == 1)
        job.cancel()
        await until(stopped.is_set)

    finished(request())


def test_checking_outside_of_a_request_does_nothing():
    check_cancelled(1, 2)
