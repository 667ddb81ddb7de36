"""Accumulators that are kept between operations, one set for each thread."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

Array = Any
_local = threading.local()
_lock = threading.Lock()
_totals = {"held": 0, "peak": 0}


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
