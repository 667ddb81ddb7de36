"""First values of several fields by one kernel.

A call of the driver for each field, and for each value at one vertex, would cost the host more than
a short run takes.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from typing import Any, Final

from weft.arrays.device import Device
from weft.arrays.fill import WORD, fill, words_of
from weft.backends.cuda.drivers import driver_of
from weft.backends.cuda.drivers.base import Geometry
from weft.backends.cuda.host.headers import read_header

Start = tuple[Any, Any, Sequence[tuple[int, Any]]]  # a field, its value, and others at some items

TOGETHER: Final = 2  # fields that one launch takes
PARAMETERS: Final = 8  # that a kernel has for each of them
SIZES: Final = (WORD, 2 * WORD)  # bytes of their values
BLOCK: Final = 256
BLOCKS_EACH: Final = 8  # of a multiprocessor, at most
_own = threading.local()  # arguments: two threads must not use the same


def can_fill(array: Any, others: Sequence[Any]) -> bool:
    """Whether a field can be filled with others: of whole words, one item another at most."""
    alone = not others or (len(others) == 1 and array.ndim == 1)
    return alone and array.itemsize in SIZES


def fill_fields(device: Device, starts: Sequence[Start]) -> None:
    """Write the first values of fields, each of which has just been made."""
    together = []
    for start in starts:
        if can_fill(start[0], start[2]):
            together.append(start)
        else:
            fill(*start)
    for first in range(0, len(together), TOGETHER):
        _fill(driver_of(device.kind, device.index), together[first : first + TOGETHER])


def _fill(driver: Any, starts: Sequence[Start]) -> None:
    given: list[Any] = []
    most = 0
    for array, value, others in starts:
        dtype = array.dtype
        words = words_of(value, dtype)
        count = array.size * len(words)
        most = max(most, count)
        if others:
            ((place, other),) = others
            own = words_of(other, dtype)
            other_words = (place * len(own), own[0], own[-1], len(own))
        else:
            other_words = (count, 0, 0, 0)  # beyond the end
        given += [array, count, words[0], words[-1], *other_words]
    while len(given) < TOGETHER * PARAMETERS:
        given += [given[0], *[0] * (PARAMETERS - 1)]
    grid = max(1, min(-(-most // (4 * BLOCK)), BLOCKS_EACH * driver.limits.multiprocessors))
    driver.launch(_kernel(driver), Geometry(grid, BLOCK), _arguments(driver), given)


def source_and_headers() -> tuple[str, tuple[str, ...], dict[str, str]]:
    """Return the source, the names of its kernels and its headers."""
    headers = {
        "device.cuh": read_header("weft.backends.cuda.runtime", "device.cuh"),
        "fill.cuh": read_header("weft.backends.cuda.runtime", "fill.cuh"),
    }
    return '#include "fill.cuh"\n', ("fill_fields",), headers


@functools.cache
def _kernel(driver: Any) -> Any:
    return driver.compile(*source_and_headers()).kernel("fill_fields")


def _arguments(driver: Any) -> Any:
    """Return arguments of this thread for a driver, all of them open."""
    known = _own.__dict__.setdefault("known", {})
    if driver not in known:
        known[driver] = driver.pack([None] * (TOGETHER * PARAMETERS))
    return known[driver]
