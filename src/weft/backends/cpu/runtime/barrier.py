"""The spin barrier of a gang and the fault flag, for nopython code."""

from __future__ import annotations

from weft.backends.cpu.host.lean_numba import inner
from weft.backends.cpu.runtime.atomics import (
    atomic_cas,
    atomic_load,
    atomic_store,
    load_acquire,
    store_release,
    sync_add,
)
from weft.backends.cpu.runtime.control import (
    ABORT,
    ARRIVED,
    FAULT,
    FAULT_FUNCTION,
    FAULT_VERTEX,
    GENERATION,
)
from weft.backends.cpu.runtime.processor import pause, yield_thread

SPINS = 128
"""Rounds of waiting, some 2 us, before the thread offers its processor to others.

On a free processor an offer costs a fraction of that. On a busy machine the thread that is waited
for is often queued behind this one: 2000 rounds made each barrier there ten times as slow.
"""


@inner()
def barrier(ctl, nt):
    """Wait until all `nt` threads are here; return whether the gang is aborted.

    Everything written before the barrier by any thread is visible to all after it. A kernel
    that gets True must return: some thread will not come to the next barrier.
    """
    if nt == 1:
        return False
    generation = load_acquire(ctl, GENERATION)
    if sync_add(ctl, ARRIVED, 1) == nt - 1:
        atomic_store(ctl, ARRIVED, 0)
        store_release(ctl, GENERATION, generation + 1)
    else:
        spins = 0
        while load_acquire(ctl, GENERATION) == generation:
            if atomic_load(ctl, ABORT) != 0:
                return True
            if spins < SPINS:
                spins += 1
                pause()
            else:
                yield_thread()
    return atomic_load(ctl, ABORT) != 0


@inner()
def fault(ctl, cause, function, vertex):
    """Record a fault (`cause` is not 0) unless there is one already."""
    if atomic_load(ctl, FAULT) == 0 and atomic_cas(ctl, FAULT, 0, cause) == 0:
        atomic_store(ctl, FAULT_FUNCTION, function)
        atomic_store(ctl, FAULT_VERTEX, vertex)
