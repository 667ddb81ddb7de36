"""Fields from one order of the vertices into another, several by one kernel.

An array operation of CuPy for each field would cost the host more than a short run takes.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from typing import Any, Final

from weft.arrays.device import Device
from weft.backends.cuda.drivers import driver_of
from weft.backends.cuda.drivers.base import Geometry
from weft.backends.cuda.host.headers import read_header

TOGETHER: Final = 4  # fields that one launch takes
SIZES: Final = (1, 2, 4, 8)  # bytes of their values
BLOCK: Final = 256
BLOCKS_EACH: Final = 8  # of a multiprocessor, at most
PARAMETERS: Final = 2 + 3 * TOGETHER  # of a kernel
_own = threading.local()  # arguments: two threads must not use the same


def can_carry(array: Any) -> bool:
    """Whether a field can be carried: one number of a common size for each vertex, side by side."""
    return array.ndim == 1 and array.itemsize in SIZES and bool(array.flags.c_contiguous)


def carry(device: Device, places: Any, pairs: Sequence[tuple[Any, Any]]) -> None:
    """Copy what each first array has at `places` to the second one of its pair."""
    driver = driver_of(device.kind, device.index)
    n = int(places.size)
    kernel = _kernel(driver, f"carry_{8 * places.itemsize}")
    grid = max(1, min(-(-n // BLOCK), BLOCKS_EACH * driver.limits.multiprocessors))
    for first in range(0, len(pairs), TOGETHER):
        given: list[Any] = [places, n]
        for source, target in pairs[first : first + TOGETHER]:
            given += [source, target, source.itemsize]
        while len(given) < PARAMETERS:
            given += [places, places, 0]
        driver.launch(kernel, Geometry(grid, BLOCK), _arguments(driver), given)


def source_and_headers() -> tuple[str, tuple[str, ...], dict[str, str]]:
    """Return the source, the names of its kernels and its headers."""
    headers = {
        "device.cuh": read_header("weft.backends.cuda.runtime", "device.cuh"),
        "carry.cuh": read_header("weft.backends.cuda.runtime", "carry.cuh"),
    }
    return '#include "carry.cuh"\n', ("carry_32", "carry_64"), headers


@functools.cache
def _kernel(driver: Any, name: str) -> Any:
    return driver.compile(*source_and_headers()).kernel(name)


def _arguments(driver: Any) -> Any:
    """Return arguments of this thread for a driver, all of them open."""
    known = _own.__dict__.setdefault("known", {})
    if driver not in known:
        known[driver] = driver.pack([None] * PARAMETERS)
    return known[driver]
