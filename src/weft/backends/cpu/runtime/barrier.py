"""The barrier of a gang and the fault flag, for nopython code."""

from __future__ import annotations

from weft.backends.cpu.host.lean_numba import inner
from weft.backends.cpu.runtime.atomics import (
    atomic_cas,
    atomic_load,
    atomic_store,
    load_acquire,
    sync_add,
    sync_or,
    sync_xchg,
)
from weft.backends.cpu.runtime.control import (
    ABORT,
    ARRIVED,
    ASLEEP,
    CROWDED,
    FAULT,
    FAULT_FUNCTION,
    FAULT_VERTEX,
    GENERATION,
    PATIENCE,
)
from weft.backends.cpu.runtime.processor import (
    FUTEX,
    clock_ns,
    pause,
    sleep_while,
    wake_all,
    yield_thread,
)

SPINS = 128
"""Rounds of waiting between two looks at the clock, some 2 us."""
LONGEST_NS, SHORTEST_NS = 200_000, 2_000
"""How long a thread spins before it sleeps: on a free machine, and on a crowded one."""
GAP_NS = 500_000
"""A thread that misses so much time between two looks did not run: another had its processor."""
OFTEN_NS = 20_000_000
"""Two gaps within this time show a crowd; a single one does not."""
GROWTH = 8
"""After each sleep threads spin longer by one part in 2 to this power: the crowd may be gone."""
NAP_NS = 20_000_000
"""The longest sleep, since an abort wakes no thread."""


@inner()
def barrier(ctl, nt):
    """Wait until all `nt` threads are here; return whether the gang is aborted.

    Everything written before the barrier by any thread is visible to all after it. A kernel
    that gets True must return: some thread will not come to the next barrier.

    On a crowded machine a waiting thread sleeps almost at once. The system soon runs a thread again
    that has used little time, but one that spins or yields loses its processor for milliseconds
    when it is needed, and the whole gang waits for it.
    """
    if nt == 1:
        return False
    generation = load_acquire(ctl, GENERATION) & ~ASLEEP
    if sync_add(ctl, ARRIVED, 1) == nt - 1:
        atomic_store(ctl, ARRIVED, 0)
        if sync_xchg(ctl, GENERATION, generation + 2) & ASLEEP and FUTEX:
            wake_all(ctl, GENERATION)
    elif not _passed(ctl, generation):
        _sleep(ctl, generation)
    return atomic_load(ctl, ABORT) != 0


@inner()
def _passed(ctl, generation):
    """Spin while patience lasts; return whether the barrier was passed or the gang aborted."""
    began = last = 0
    while True:
        for _ in range(SPINS):
            if load_acquire(ctl, GENERATION) & ~ASLEEP != generation:
                return True
            if atomic_load(ctl, ABORT) != 0:
                return True
            pause()
        now = clock_ns()
        if began == 0:
            began = last = now
        if now - last > GAP_NS:
            if now - atomic_load(ctl, CROWDED) < OFTEN_NS:
                atomic_store(ctl, PATIENCE, SHORTEST_NS)
            atomic_store(ctl, CROWDED, now)
        if now - began >= atomic_load(ctl, PATIENCE):
            return False
        last = now


@inner()
def _sleep(ctl, generation):
    """Sleep until the barrier is passed or the gang aborted."""
    while atomic_load(ctl, ABORT) == 0:
        if sync_or(ctl, GENERATION, ASLEEP) & ~ASLEEP != generation:
            break
        if FUTEX:
            sleep_while(ctl, GENERATION, generation | ASLEEP, NAP_NS)
        else:
            yield_thread()
        if load_acquire(ctl, GENERATION) & ~ASLEEP != generation:
            break
    patience = atomic_load(ctl, PATIENCE)
    atomic_store(ctl, PATIENCE, min(patience + (patience >> GROWTH), LONGEST_NS))


@inner()
def fault(ctl, cause, function, vertex):
    """Record a fault (`cause` is not 0) unless there is one already."""
    if atomic_load(ctl, FAULT) == 0 and atomic_cas(ctl, FAULT, 0, cause) == 0:
        atomic_store(ctl, FAULT_FUNCTION, function)
        atomic_store(ctl, FAULT_VERTEX, vertex)
