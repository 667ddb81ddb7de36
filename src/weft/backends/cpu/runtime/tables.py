"""Hash tables of rows: which entry a key has, and the order of entries."""

from __future__ import annotations

import numpy as np

from weft.backends.cpu.host.lean_numba import inner
from weft.backends.cpu.runtime.loops import MULTIPLIER, ONE

HALF = np.uint64(32)


@inner()
def clear_table(table, first, size):
    """Empty the places of a table."""
    for place in range(first, first + size):
        table[place] = 0


@inner()
def entry_of(keys, first, table, begin, size, count, key):
    """Return the number of the entry of a key; a new one becomes entry `count`.

    A place holds the number of an entry plus one, 0 for none. Less than half of them are taken.
    """
    place = (((np.uint64(key) * MULTIPLIER) >> HALF) * size) >> HALF
    while True:
        held = np.uint64(table[begin + place])
        if held == 0:
            table[begin + place] = count + 1
            keys[first + np.uint64(count)] = key
            return count
        if keys[first + held - ONE] == key:
            return np.int64(held) - 1
        place += ONE
        if place == size:
            place = np.uint64(0)


@inner()
def sort_entries(keys, first, values, start, count):
    """Sort the entries of a row by their keys: by heapsort, which needs no memory."""
    root = count // 2 - 1
    end = count
    while end > 1:
        if root >= 0:
            begin = root
            root -= 1
        else:
            end -= 1
            _swap(keys, first, 0, end)
            _swap(values, start, 0, end)
            begin = 0
        while 2 * begin + 1 < end:
            child = 2 * begin + 1
            if (
                child + 1 < end
                and keys[first + np.uint64(child)] < keys[first + np.uint64(child + 1)]
            ):
                child += 1
            if not keys[first + np.uint64(begin)] < keys[first + np.uint64(child)]:
                break
            _swap(keys, first, begin, child)
            _swap(values, start, begin, child)
            begin = child


@inner()
def _swap(array, first, a, b):
    """Exchange two elements."""
    kept = array[first + np.uint64(a)]
    array[first + np.uint64(a)] = array[first + np.uint64(b)]
    array[first + np.uint64(b)] = kept
