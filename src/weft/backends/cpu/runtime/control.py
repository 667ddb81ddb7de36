"""The control block: one int64 array through which the threads of a gang meet.

Every cell that is written independently lies `STRIDE` words (128 bytes, two cache lines, since
processors fetch lines in pairs) from the next. The named cells come first; an engine owns the
ones from `FIRST_FREE` on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

STRIDE = 16
"""Words between two cells."""

ARRIVED = 0 * STRIDE
"""Threads that wait in the present barrier."""
GENERATION = 1 * STRIDE
"""Twice the number of barriers passed, plus `ASLEEP` if a thread sleeps in the present one."""
ASLEEP = 1
"""The lowest bit of that word."""
STOP = 2 * STRIDE
"""Nonzero: the caller asks the loop to end; one thread samples it and tells the others."""
PATIENCE = STOP + 1
"""Nanoseconds that a thread waits in a barrier before it sleeps."""
CROWDED = STOP + 2
"""When a waiting thread last lost its processor to others, by `clock_ns`."""
ABORT = 3 * STRIDE
"""Nonzero: a worker is lost; every barrier returns at once."""
FAULT = 4 * STRIDE
"""Cause of the first fault, or 0. In the next words: its function, its vertex, and of an index out
of range the index and how many there are."""
FAULT_FUNCTION = FAULT + 1
FAULT_VERTEX = FAULT + 2
FAULT_INDEX = FAULT + 3
FAULT_COUNT = FAULT + 4
FIRST_FREE = 5 * STRIDE
"""First word of the first cell that an engine may use."""


def aligned(length: int, dtype: DTypeLike, alignment: int = 128) -> np.ndarray:
    """Return an array of zeros whose first element lies at a multiple of `alignment` bytes."""
    kind = np.dtype(dtype)
    raw = np.zeros(length * kind.itemsize + alignment, np.uint8)
    start = -raw.__array_interface__["data"][0] % alignment
    return raw[start : start + length * kind.itemsize].view(kind)


def control(cells: int = 0) -> np.ndarray:
    """Return a cleared control block with room for `cells` further cells.

    Cell k starts at word ``FIRST_FREE + k * STRIDE``.
    """
    return aligned(FIRST_FREE + cells * STRIDE, np.int64)


def rearm(ctl: np.ndarray) -> None:
    """Make the block usable again after a stopped or aborted run; faults are kept.

    Only while no worker uses the block.
    """
    ctl[ARRIVED] = 0
    ctl[STOP] = 0
    ctl[ABORT] = 0
