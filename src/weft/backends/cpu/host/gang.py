"""Gangs: one kernel on several threads at once, while the caller waits interruptibly.

A pool of daemon threads serves one gang at a time. Each worker sleeps on a lock of its own; the
caller posts a job, releases those locks and sleeps on the job's lock, which the last worker to
finish releases. Python's locks can be interrupted by signals, so Ctrl-C reaches the caller at
once, also while the workers run compiled code.

A signal may raise between any two steps of the caller. Hence waking is idempotent: a worker that
wakes without a new job sleeps again, and what counts is `Job.finished`, not who holds a lock.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from _thread import LockType, allocate_lock, get_ident, start_new_thread
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import typeof
from numba.core.dispatcher import Dispatcher

from weft.arrays.threads import num_threads
from weft.backends.cpu.host.lean_numba import compiling
from weft.backends.cpu.runtime.barrier import LONGEST_NS
from weft.backends.cpu.runtime.control import ABORT, CROWDED, PATIENCE, STOP, rearm
from weft.backends.limits import TimeLimit

__all__ = ["num_threads", "run"]

LATE_S = 0.0005  # beyond a limit before it is looked at
LONGEST_S = 3600.0  # to sleep in one go


class Job:
    """One call of a kernel by `nt` workers."""

    def __init__(self, serial: int, kernel: Callable[..., Any], nt: int, ctl: np.ndarray, args):
        self.serial = serial
        self.kernel = kernel
        self.nt = nt
        self.places = _places(nt)
        self.ctl = ctl
        self.args = args
        self.error: BaseException | None = None
        self.finished = False
        self.done = allocate_lock()
        self.done.acquire()
        self._left = itertools.count(1)

    def work(self, tid: int) -> None:
        """Run one worker's part; the last to leave wakes the caller."""
        try:
            self.kernel(tid, self.nt, self.ctl, *self.args)
        except BaseException as error:
            self.ctl[ABORT] = 1
            if self.error is None:
                self.error = error
        if next(self._left) == self.nt:
            self.finished = True
            self.done.release()

    def wait(
        self, begin: Callable[[], None], limit: TimeLimit | None = None
    ) -> BaseException | None:
        """Begin, wait for the last worker and return what a signal or a limit raised meanwhile.

        The first signal asks the kernel to stop, a second one to leave at the next barrier.
        `begin` wakes the workers. It is called again, as the signal may have come before it.
        """
        try:
            begin()
            if limit is not None:
                self._sleep_until(limit)
            self._sleep()
            return None
        except BaseException as error:
            interrupt = error
            try:
                self.ctl[STOP] = 1
                begin()
                self._sleep()
            except BaseException as error:
                interrupt = error
                self.ctl[ABORT] = 1
                begin()
                self._sleep()
        return interrupt

    def _sleep_until(self, limit: TimeLimit) -> None:
        while not self.finished:
            self.done.acquire(timeout=min(max(limit.left_s, 0) + LATE_S, LONGEST_S))
            if not self.finished:
                limit.check()

    def _sleep(self) -> None:
        while not self.finished:
            self.done.acquire()


class Pool:
    """Threads that are started as they are needed and kept."""

    def __init__(self) -> None:
        self._turn = allocate_lock()
        self._owner: int | None = None
        self._sleepers: list[LockType] = []
        self._workers: set[int] = set()
        self._serials = itertools.count(1)
        self._job: Job | None = None
        # Of barriers; less patient while others want the processors (`weft...runtime.barrier`).
        self._patience_ns, self._crowded_ns = LONGEST_NS, 0

    def serves(self, ident: int) -> bool:
        """Return whether this thread runs, or waits for, the present gang."""
        return ident == self._owner or ident in self._workers

    def run(
        self, kernel: Callable[..., Any], nt: int, ctl: np.ndarray, args,
        limit: TimeLimit | None = None,
    ) -> None:  # fmt: skip
        """Run the kernel when the gangs of earlier callers are done."""
        with self._turn:
            self._grow(nt)
            ctl[PATIENCE], ctl[CROWDED] = self._patience_ns, self._crowded_ns
            job = Job(next(self._serials), kernel, nt, ctl, args)
            interrupt = None
            try:
                self._owner = get_ident()
                self._job = job
                interrupt = job.wait(lambda: self._wake(nt), limit)
            finally:
                self._owner = None
                self._job = None
                self._patience_ns = min(2 * int(ctl[PATIENCE]), LONGEST_NS)
                self._crowded_ns = int(ctl[CROWDED])
                if not job.finished:  # Signals within the handling of signals.
                    ctl[ABORT] = 1
                    _forget(self)
            raised = interrupt or job.error
            job.error = None
        if raised is not None:
            rearm(ctl)
            try:
                raise raised
            finally:  # Its traceback holds this frame and the worker's: no cycle may remain.
                del raised, interrupt

    def _grow(self, nt: int) -> None:
        while len(self._sleepers) < nt:
            start = allocate_lock()
            start.acquire()
            # Not threading.Thread, whose start() does not survive a signal.
            start_new_thread(self._serve, (len(self._sleepers), start))
            self._sleepers.append(start)

    def _wake(self, nt: int) -> None:
        for start in self._sleepers[:nt]:
            with contextlib.suppress(RuntimeError):  # Released; its sleeper has not run yet.
                start.release()

    def _serve(self, tid: int, start: LockType) -> None:
        """Serve jobs for ever as worker `tid`."""
        self._workers.add(get_ident())
        last, place = 0, None
        while True:
            start.acquire()
            job = self._job
            if job is not None and job.serial != last and tid < job.nt:
                last = job.serial
                if place != job.places[tid]:
                    place = job.places[tid]
                    _stay_on(place)
                job.work(tid)
            job = None  # Its arrays must not live on here.


def _places(nt: int) -> list[frozenset[int]]:
    """Return the processors that each of `nt` workers may use.

    As many workers as processors have one each. Woken together, two of them often came to lie on
    one processor and took turns there, a switch at every barrier: BFS on a road network of a
    million vertices took 22 ms in place of 14. Fewer are left to the system, which knows what else
    is running.
    """
    if not hasattr(os, "sched_getaffinity"):
        return [frozenset()] * nt
    mine = os.sched_getaffinity(0)
    if nt != len(mine):
        return [frozenset(mine)] * nt
    return [frozenset({processor}) for processor in sorted(mine)]


def _stay_on(processors: frozenset[int]) -> None:
    """Restrict the calling thread to these processors, if the system allows it."""
    if processors:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, processors)


_pool = Pool()


def _forget(pool: Pool) -> None:
    """Make later callers use new threads; those of `pool` stay asleep."""
    global _pool
    if pool is _pool:
        _pool = Pool()


def _after_fork() -> None:
    """The child has none of the threads, and perhaps a lock that will never be released."""
    global _pool
    _pool = Pool()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def run(
    kernel: Callable[..., Any],
    nt: int,
    ctl: np.ndarray,
    args: tuple[Any, ...] = (),
    limit: TimeLimit | None = None,
) -> None:
    """Call ``kernel(tid, nt, ctl, *args)`` for every tid below `nt`, each on a thread.

    Parameters
    ----------
    kernel
        A compiled function that releases the GIL. It returns nothing, meets its fellows by
        ``barrier(ctl, nt)``, leaves if that returns True, and ends soon after ``ctl[STOP]``
        becomes nonzero.
    nt
        Number of threads. One is a direct call in the caller's thread, and so is a call from
        within a gang (by a worker or a signal handler), whatever its `nt`.
    ctl
        The control block. It must not be in use by another gang.
    args
        The other arguments, the same for all threads.
    limit
        How long it may take; looked at by the caller while threads of the pool work.

    Raises
    ------
    KeyboardInterrupt
        Or whatever else a signal handler raised in the caller's thread, after all workers left.
    Exception
        The first one raised by a worker, after the others left. The block is rearmed in both
        cases; what the kernel wrote is incomplete.
    """
    pool = _pool
    if isinstance(kernel, Dispatcher) and not kernel.overloads:
        with compiling():
            kernel.compile(tuple(typeof(arg) for arg in (0, nt, ctl, *args)))
    if nt == 1 and limit is None:
        kernel(0, 1, ctl, *args)
        return
    with limit.running() if limit is not None else contextlib.nullcontext():
        if nt == 1 or pool.serves(get_ident()):
            kernel(0, 1, ctl, *args)
        else:
            pool.run(kernel, nt, ctl, args, limit)
