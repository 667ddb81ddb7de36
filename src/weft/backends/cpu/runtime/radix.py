"""A radix sort by all threads of a gang: stable, and the same whatever their number."""

from __future__ import annotations

import numpy as np

from weft.backends.cpu.host.lean_numba import inner
from weft.backends.cpu.runtime.barrier import barrier
from weft.backends.cpu.runtime.bits import clz

DIGIT = 11  # bits that are sorted by at a time
DIGITS = 1 << DIGIT
FEW_DIGIT = 8  # the same where there are fewer items than a pass has counters


@inner(forceinline=True)
def bits_of(n):
    """Return how many bits the numbers from 0 to n take."""
    return np.uint64(64 - clz(np.int64(n) | 1))


@inner()
def radix_sort(keys, spare, count, low, high, table, ctl, tid, nt):
    """Sort unsigned keys by their bits from `low` up to `high`, those that are equal as they lay.

    All threads call. `table` has two counters per thread and digit. Returns 1 if the sorted keys
    are in `spare`, 0 if they are where they were, -1 if the gang is aborted.
    """
    digit = DIGIT if count > DIGITS else FEW_DIGIT
    digits = 1 << digit
    mask = np.uint64(digits - 1)
    first, last = count * tid // nt, count * (tid + 1) // nt
    mine, places = tid * DIGITS, (nt + tid) * DIGITS
    moved = 0
    shift = low
    if barrier(ctl, nt):  # all keys are there
        return -1
    while shift < high:
        for d in range(digits):
            table[mine + d] = 0
        for i in range(first, last):
            table[mine + np.int64((np.uint64(keys[i]) >> shift) & mask)] += 1
        if barrier(ctl, nt):
            return -1
        place = 0
        for d in range(digits):
            for t in range(nt):
                if t == tid:
                    table[places + d] = place
                place += table[t * DIGITS + d]
        for i in range(first, last):
            d = places + np.int64((np.uint64(keys[i]) >> shift) & mask)
            spare[table[d]] = keys[i]
            table[d] += 1
        keys, spare = spare, keys
        moved = 1 - moved
        shift += np.uint64(digit)
        if barrier(ctl, nt):
            return -1
    return moved
