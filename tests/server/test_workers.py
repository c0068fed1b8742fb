"""The pool: bounded, timed, and not working for clients who have left."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from prefmover.server.problems import ProblemError
from prefmover.server.workers import Budget, Pool, StoppedError


async def never():
    await asyncio.Event().wait()


async def until(condition):
    for _ in range(2000):
        if condition():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it did not come about")


def finished(coroutine):
    """Run a coroutine on a thread of its own: that of the tests may have a loop already, a browser's."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


def endless():
    """Return work that ends only when it is stopped, and the event that it then sets."""
    stopped = threading.Event()

    def work(budget):
        try:
            while True:
                budget.check()
                time.sleep(0.005)
        except StoppedError:
            stopped.set()
            raise

    return work, stopped


@pytest.fixture
def pool():
    made = Pool(workers=2, waiting=3)
    yield made
    made.close()


def test_work_is_done_on_other_threads(pool):
    async def ask():
        return await pool.run(lambda _: threading.current_thread().name, Budget(10), never)

    assert finished(ask()).startswith("prefmover-")


def test_errors_come_back(pool):
    def work(_):
        raise KeyError("this one")

    async def ask():
        await pool.run(work, Budget(10), never)

    with pytest.raises(KeyError, match="this one"):
        finished(ask())


def test_no_more_than_fits_waits(pool):
    """Two are computed, three wait, the sixth is refused at once; afterward there is room again."""
    go_on = threading.Event()

    async def ask():
        tasks = [asyncio.create_task(pool.run(lambda _: go_on.wait(30), Budget(30), never)) for _ in range(5)]
        await until(lambda: pool.held == 5)
        with pytest.raises(ProblemError) as refused:
            await pool.run(lambda _: True, Budget(30), never)
        assert refused.value.status == 503
        assert int(refused.value.headers["Retry-After"]) >= 1
        go_on.set()
        assert await asyncio.gather(*tasks) == [True] * 5
        await until(lambda: pool.held == 0)
        return await pool.run(lambda _: "room again", Budget(30), never)

    assert finished(ask()) == "room again"
    assert pool.refused == 1


def test_time_ends(pool):
    """The client hears at once; the thread is free again at the next check."""
    work, stopped = endless()

    async def ask():
        with pytest.raises(ProblemError) as late:
            await pool.run(work, Budget(0.05), never)
        assert late.value.status == 503
        await until(stopped.is_set)
        await until(lambda: pool.held == 0)

    finished(ask())
    assert pool.expired == 1


def test_a_client_that_leaves_stops_costing(pool):
    work, stopped = endless()

    async def ask():
        left = asyncio.Event()
        task = asyncio.create_task(pool.run(work, Budget(30), left.wait))
        await until(lambda: pool.held == 1)
        left.set()
        with pytest.raises(StoppedError):
            await task
        await until(stopped.is_set)

    finished(ask())
    assert pool.dropped == 1


def test_waiting_work_of_a_client_that_left_is_not_begun(pool):
    begun = []
    go_on = threading.Event()

    async def ask():
        busy = [asyncio.create_task(pool.run(lambda _: go_on.wait(30), Budget(30), never)) for _ in range(2)]
        left = asyncio.Event()
        waiting = asyncio.create_task(pool.run(begun.append, Budget(30), left.wait))
        await until(lambda: pool.held == 3)
        left.set()
        with pytest.raises(StoppedError):
            await waiting
        go_on.set()
        await asyncio.gather(*busy)
        await until(lambda: pool.held == 0)

    finished(ask())
    assert begun == []


def test_closing_tells_those_who_wait(pool):
    begun = []
    go_on = threading.Event()

    async def ask():
        busy = [asyncio.create_task(pool.run(lambda _: go_on.wait(30), Budget(30), never)) for _ in range(2)]
        await until(lambda: pool.held == 2 and pool._queue.empty())
        waiting = asyncio.create_task(pool.run(begun.append, Budget(30), never))
        await until(lambda: pool.held == 3)
        pool.close()
        with pytest.raises(ProblemError):
            await waiting
        go_on.set()
        await asyncio.gather(*busy)

    finished(ask())
    assert begun == []
    for thread in pool._threads:
        thread.join(10)
        assert not thread.is_alive()
