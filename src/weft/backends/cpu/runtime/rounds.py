"""Rounds of the schedule `weaver`: threads register rows and take batches of their slots."""

from __future__ import annotations

import numpy as np

from weft.backends.cpu.host.lean_numba import inner
from weft.backends.cpu.runtime.atomics import atomic_add, atomic_load
from weft.backends.cpu.runtime.control import STOP, STRIDE
from weft.backends.cpu.runtime.loops import CURSOR, ONE

ROUND_ROWS = 4096
"""Rows that a thread registers in a round by default: the entries of its part of the table."""


@inner()
def register_rows(offsets, queue, dense, begin, end, table, most, sums, turn, tid, nt):
    """Write running sums of the degrees of a thread's rows into its part of the table.

    The part has `most` entries.
    """
    entry = (turn * nt + tid) * most
    total = np.int64(0)
    for i in range(begin, end):
        u = np.uint64(i) if dense else np.uint64(queue[i])
        total += np.int64(offsets[u + ONE] - offsets[u])
        table[entry + i - begin] = total
    sums[(turn * nt + tid) * STRIDE] = total


@inner()
def registered_slots(sums, turn, nt):
    """Return the number of slots that all threads registered."""
    total = 0
    for t in range(nt):
        total += sums[(turn * nt + t) * STRIDE]
    return total


@inner()
def clear_batches(ctl, base, turn, tid):
    """Clear the cursor of the next round, which no thread has used since the last barrier."""
    if tid == 0:
        ctl[base + CURSOR + 1 - turn] = 0


@inner(forceinline=True)
def next_batch(ctl, base, turn, batch, slots):
    """Return the first slot of the next batch, or the end: also when the run is to stop."""
    if atomic_load(ctl, STOP) != 0:
        return slots
    return atomic_add(ctl, base + CURSOR + turn, batch)


@inner()
def next_entry(table, entries, most, count, row, place):
    """Return the entry in which a slot of a thread's part lies: `row`, or one after it.

    A batch walks its rows in order, so only the first one (`row` = -1) is searched for.
    """
    if row < 0:
        low, high = 0, min(count, most) - 1
        while low < high:
            middle = (low + high) // 2
            if table[entries + middle] > place:
                high = middle
            else:
                low = middle + 1
        return low
    while table[entries + row] <= place:
        row += 1
    return row
