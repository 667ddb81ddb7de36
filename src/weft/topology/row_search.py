"""A compiled search for many sorted pairs in sorted rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.storage.compiled import njit

Array = np.ndarray[Any, Any]


@njit(nogil=True, cache=True)
def search_rows(offsets: Array, targets: Array, rows: Array, wanted: Array, right: bool) -> Array:
    """Compiled version of `merge.slots_of`.

    The search in a row continues where the previous pair ended, in steps that double.
    """
    slots = np.empty(rows.size, np.int64)
    for pair in range(rows.size):
        row, target = rows[pair], wanted[pair]
        low, high = offsets[row], offsets[row + 1]
        if pair > 0 and rows[pair - 1] == row:
            low = slots[pair - 1]
        step = 1
        while low + step < high and (
            targets[low + step] < target or (right and targets[low + step] == target)
        ):
            low += step
            step *= 2
        high = min(high, low + step)
        while low < high:
            middle = (low + high) >> 1
            if targets[middle] < target or (right and targets[middle] == target):
                low = middle + 1
            else:
                high = middle
        slots[pair] = low
    return slots
