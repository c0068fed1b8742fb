"""The thread driver: order, exceptions, progress, interrupts."""

import threading
import time

import numpy as np
import pytest

from prefmover.errors import InputError
from prefmover.execution.threads import resolve_threads, run
from tests.messages import names


@pytest.mark.parametrize("n_threads", [1, 2, 7, None])
def test_every_block_once(n_threads):
    counts = np.zeros(50, int)

    def work(i):
        time.sleep(0.001 * (i % 3))
        counts[i] += 1

    run(work, range(50), n_threads=n_threads)
    assert (counts == 1).all()


def test_blocks_begin_in_the_order_given():
    begun = []
    run(lambda i: begun.append(i), [5, 3, 9, 1], n_threads=1)
    assert begun == [5, 3, 9, 1]


def test_blocks_run_at_the_same_time():
    both_here = threading.Barrier(2, timeout=20)
    arrived = []
    run(
        lambda _: arrived.append(both_here.wait()), range(2), n_threads=2
    )  # one alone would break the barrier
    assert sorted(arrived) == [0, 1]


def test_no_more_threads_than_requested():
    running, most, lock = 0, 0, threading.Lock()

    def work(_):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.001)
        with lock:
            running -= 1

    run(work, range(40), n_threads=3)
    assert most <= 3


@pytest.mark.parametrize("n_threads", [1, 2])
def test_progress_adds_up_and_comes_from_the_calling_thread(n_threads):
    seen, threads = [], set()

    def progress(done, total):
        seen.append((done, total))
        threads.add(threading.get_ident())

    run(lambda _: None, range(20), n_threads=n_threads, sizes=range(20), progress=progress)
    assert len(seen) == 20
    assert seen[-1] == (190, 190)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert threads == {threading.get_ident()}


@pytest.mark.parametrize("n_threads", [1, 2])
def test_nothing_to_do(n_threads):
    called = []
    run(called.append, [], n_threads=n_threads, progress=lambda *_: called.append(_))
    assert not called


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_the_first_exception_ends_the_run(n_threads):
    begun = []

    def work(i):
        begun.append(i)
        if i == 3:
            raise ZeroDivisionError("block 3")
        time.sleep(0.002)

    with pytest.raises(ZeroDivisionError, match="block 3"):
        run(work, range(1000), n_threads=n_threads)
    assert len(begun) < 100


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_interrupt_ends_the_run(n_threads):
    """Ctrl-C arrives in the thread that called, here while it reports progress."""
    begun, ended = [], []

    def work(i):
        begun.append(i)
        time.sleep(0.002)
        ended.append(i)

    def interrupt(done, total):
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(work, range(1000), n_threads=n_threads, progress=interrupt)
    assert len(begun) < 100
    assert sorted(begun) == sorted(ended)  # nothing is still running
    time.sleep(0.02)
    assert sorted(begun) == sorted(ended)


def test_a_signal_interrupts_the_wait():
    """The real thing: SIGINT while the calling thread waits for blocks."""
    import signal

    begun = []

    def work(i):
        begun.append(i)
        if i == 1:
            signal.raise_signal(signal.SIGINT)
        time.sleep(0.005)

    with pytest.raises(KeyboardInterrupt):
        run(work, range(10_000), n_threads=2)
    assert len(begun) < 1000


@pytest.mark.parametrize("n_threads", [0, -1, 1.5, 2.0, "two", float("nan"), [2]])
def test_bad_number_of_threads(n_threads):
    with pytest.raises(InputError, match=names("n_threads", 1, "None")):
        resolve_threads(n_threads)


def test_number_of_threads():
    assert resolve_threads(np.int32(3)) == 3
    assert resolve_threads(None) >= 1
