"""Calls of functions on several threads: all are made once, whoever makes them."""

import threading
import time

import pytest

from weft.backends import host_threads
from weft.backends.host_threads import on_threads


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 3, 200])
def test_every_call_is_made_once(threads, count):
    made = []

    def compute(k):
        made.append(k)
        return k * k

    assert on_threads(compute, count, threads) == [k * k for k in range(count)]
    assert sorted(made) == list(range(count))


def test_others_help():
    together = threading.Barrier(3)
    assert on_threads(lambda k: together.wait(timeout=60) >= 0, 3, 3) == [True] * 3


def test_the_first_error_is_raised_and_the_rest_left_out():
    made = []

    def compute(k):
        made.append(k)
        if k == 2:
            raise ValueError("the third")
        time.sleep(0.001)

    with pytest.raises(ValueError, match="the third"):
        on_threads(compute, 1000, 3)
    assert len(made) < 1000
    assert on_threads(str, 2, 2) == ["0", "1"]


def test_calls_from_within_and_beside_run_alone():
    def outer(k):
        return on_threads(lambda j: (k, j), 3, 3)

    expected = [[(k, j) for j in range(3)] for k in range(4)]
    assert on_threads(outer, 4, 2) == expected
    found = []
    others = [
        threading.Thread(target=lambda: found.append(on_threads(outer, 4, 2))) for _ in range(4)
    ]
    for each in others:
        each.start()
    for each in others:
        each.join()
    assert found == [expected] * 4


def test_nothing_of_a_job_is_kept():
    class Big:
        pass

    import weakref

    big = Big()
    kept = weakref.ref(big)
    on_threads(lambda k, big=big: big is None, 4, 2)
    del big
    for _ in range(200):
        if kept() is None:
            break
        time.sleep(0.01)
    assert kept() is None and host_threads._helpers._job is None
