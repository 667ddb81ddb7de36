"""Calls of Python functions on several threads, for front ends with kernels of their own.

Unlike in a gang, which meets at barriers, the caller works too and does not wait for a thread that
has not begun: on a busy machine the work is done before the others wake.
"""

from __future__ import annotations

import itertools
import os
from _thread import LockType, allocate_lock, start_new_thread
from collections.abc import Callable
from typing import Any


class Job:
    """Calls ``compute(k)`` for every k below `count`; each thread takes the next k."""

    def __init__(self, compute: Callable[[int], Any], count: int) -> None:
        self.compute, self.count = compute, count
        self.found: list[Any] = [None] * count
        self.error: BaseException | None = None
        self.finished = False
        self._turn, self._ended = itertools.count(), itertools.count(1)
        self._done = allocate_lock()
        self._done.acquire()

    def work(self) -> None:
        """Process one k after another; after an error, only count the rest."""
        while (k := next(self._turn)) < self.count:
            try:
                if self.error is None:
                    self.found[k] = self.compute(k)
            except BaseException as error:
                self.error = error
            if next(self._ended) == self.count:
                self.finished = True
                self._done.release()

    def wait(self) -> None:
        """Wait for threads that are not done with their last k."""
        while not self.finished:
            self._done.acquire()


class Helpers:
    """Threads that are started as they are needed, and sleep until there is a job."""

    def __init__(self) -> None:
        self.busy = allocate_lock()
        self._job: Job | None = None
        self._sleepers: list[LockType] = []

    def run(self, job: Job, threads: int) -> None:
        """Run a job with the help of up to ``threads - 1`` other threads."""
        while len(self._sleepers) < threads - 1:
            start = allocate_lock()
            start.acquire()
            start_new_thread(self._serve, (start,))
            self._sleepers.append(start)
        self._job = job
        try:
            for start in self._sleepers[: threads - 1]:
                if start.locked():
                    start.release()
            job.work()
            job.wait()
        finally:
            self._job = None

    def _serve(self, start: LockType) -> None:
        while True:
            start.acquire()
            job = self._job
            if job is not None:
                job.work()
            job = None  # its arrays must not live on here


_helpers = Helpers()


def _after_fork() -> None:
    """The child has none of the threads."""
    global _helpers
    _helpers = Helpers()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def on_threads(compute: Callable[[int], Any], count: int, threads: int) -> list[Any]:
    """Return ``compute(k)`` for every k below `count`, in their order.

    Threads take the next k when they are done with one, so `compute` should spend its time in
    kernels that release the GIL. A call from within another one, or beside one of another thread,
    runs alone. The first error is raised when all have ended.
    """
    helpers = _helpers
    if min(threads, count) <= 1 or not helpers.busy.acquire(blocking=False):
        return [compute(k) for k in range(count)]
    job = Job(compute, count)
    try:
        helpers.run(job, min(threads, count))
    finally:
        helpers.busy.release()
    if job.error is not None:
        raise job.error
    return job.found
