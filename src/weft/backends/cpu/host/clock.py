"""Turns the cycle counts of a kernel's records into nanoseconds."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from weft.backends.cpu.runtime.processor import cycles
from weft.storage.compiled import njit

FIELDS = ("step", "phase", "direction", "frontier", "edges", "ns")
WIDTH = len(FIELDS)


@njit(cache=True)
def _now():
    return cycles()


class Clock:
    """Compares the cycle counter with the wall clock over a run."""

    def __init__(self) -> None:
        self.cycles = _now()
        self.wall_ns = time.perf_counter_ns()

    def records(self, ring: np.ndarray[Any, Any], count: int, began: int) -> dict[str, Any]:
        """Return the records of a run, oldest first, with the time that each sweep took.

        If the ring does not hold all of them, the oldest one gives the start of the next.
        """
        rate = (time.perf_counter_ns() - self.wall_ns) / max(1, _now() - self.cycles)
        capacity = ring.size // WIDTH
        first = max(0, count - capacity)
        rows = ring.reshape(-1, WIDTH)[np.arange(first, count) % capacity]
        before = began
        if first:
            before, rows = int(rows[0, -1]), rows[1:]
        result = {name: rows[:, position].copy() for position, name in enumerate(FIELDS)}
        result["ns"] = (np.diff(rows[:, -1], prepend=before) * rate).astype(np.int64)
        return result
