"""Accumulators that are kept between operations, one set for each thread."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

Array = Any
_local = threading.local()
_lock = threading.Lock()
_totals = {"held": 0, "peak": 0}
_free: list[Array] = []
# Entries of a result that a thread keeps room for, at most.
MOST_ROOM = 1 << 24


def borrow(name: str, size: int, np_type: Any) -> Array:
    """Return an array of at least `size` elements, zeroed when it is made and never after.

    Whoever borrows an array under a name leaves it as the next one under that name expects it.
    """
    arrays = getattr(_local, "arrays", None)
    if arrays is None:
        arrays = _local.arrays = {}
    key = name, np_type
    found = arrays.get(key)
    if found is None or len(found) < size:
        old = 0 if found is None else found.nbytes
        found = arrays[key] = np.zeros(max(size, 2 * (0 if found is None else len(found))), np_type)
        with _lock:
            _totals["held"] += found.nbytes - old
            _totals["peak"] = max(_totals["peak"], _totals["held"])
    return found


class Rooms:
    """Room for the columns and values of several parts of one result.

    Parts of a thread stand one after another in arrays that are kept for the next operation: memory
    allocated for every part costs as much as the work, above all with several threads. Callers that
    join the parts copy them before the ``with`` block ends.
    """

    def __init__(self) -> None:
        self._rooms: dict[int, tuple[int, Array, Array]] = {}

    def __enter__(self) -> Rooms:
        return self

    def __exit__(self, kind: Any, *rest: object) -> None:
        arrays = [each for _, *both in self._rooms.values() for each in both]
        self._rooms.clear()
        if kind is None:
            with _lock:
                _free.extend(arrays)
        else:  # threads may still write to them
            for each in arrays:
                _forget(each)

    def take(self, size: int, cols: Any, values: Any) -> tuple[Array, Array]:
        """Return room of two types for so many entries, for a part of this thread."""
        me = threading.get_ident()
        at, mine, theirs = self._rooms.get(me, (0, None, None))
        end = at + size
        if end > MOST_ROOM:
            return np.empty(size, cols), np.empty(size, values)
        if mine is None or len(mine) < end:
            # Parts that stand in the room before keep it.
            for old in (mine, theirs):
                _forget(old)
            at, end = 0, size
            mine, theirs = _room(2 * size, cols), _room(2 * size, values)
        self._rooms[me] = at, mine, theirs
        return mine[at:end], theirs[at:end]

    def keep(self, used: int) -> None:
        """Keep so many entries of the room that a part of this thread took last."""
        me = threading.get_ident()
        if me in self._rooms:
            at, *both = self._rooms[me]
            self._rooms[me] = at + used, both[0], both[1]


def _room(size: int, np_type: Any) -> Array:
    """Return an array of a type with that many elements or more."""
    with _lock:
        for k, each in enumerate(_free):
            if each.dtype == np_type and len(each) >= size:
                return _free.pop(k)
        small = next((k for k, each in enumerate(_free) if each.dtype == np_type), None)
        old = None if small is None else _free.pop(small)
    _forget(old)
    made = np.empty(size, np_type)
    with _lock:
        _totals["held"] += made.nbytes
        _totals["peak"] = max(_totals["peak"], _totals["held"])
    return made


def _forget(array: Array | None) -> None:
    """Count an array no longer, which goes away with its last user."""
    if array is not None:
        with _lock:
            _totals["held"] -= array.nbytes


def held() -> int:
    """Return the bytes of all arrays."""
    return _totals["held"]


def peak() -> int:
    """Return the most bytes that the arrays took."""
    return _totals["peak"]


def drop() -> None:
    """Forget this thread's arrays: after an interruption they are in no known state."""
    arrays = getattr(_local, "arrays", None)
    if arrays:
        with _lock:
            _totals["held"] -= sum(each.nbytes for each in arrays.values())
        arrays.clear()
