"""Fields from one order of the vertices into another, several by one kernel.

An array operation of CuPy for each field would cost the host more than a short run takes.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from weft.backends.cuda.drivers import driver_of
from weft.backends.cuda.render import read_header
from weft.devices import Device

TOGETHER: Final = 4  # fields that one launch takes
SIZES: Final = (1, 2, 4, 8)  # bytes of their values
BLOCK: Final = 256
BLOCKS_EACH: Final = 8  # of a multiprocessor, at most


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
        arguments = [places, np.int64(n)]
        for source, target in pairs[first : first + TOGETHER]:
            arguments += [source, target, np.uint32(source.itemsize)]
        missing = TOGETHER - len(pairs[first : first + TOGETHER])
        arguments += [places, places, np.uint32(0)] * missing
        driver.launch(kernel, arguments, grid=grid, block=BLOCK)


def source_and_headers() -> tuple[str, tuple[str, ...], dict[str, str]]:
    """Return what is compiled: a source, the names of its kernels and its headers."""
    headers = {
        "device.cuh": read_header("weft.backends.cuda.simt", "device.cuh"),
        "carry.cuh": read_header("weft.backends.cuda.runtime", "carry.cuh"),
    }
    return '#include "carry.cuh"\n', ("carry_32", "carry_64"), headers


@functools.cache
def _kernel(driver: Any, name: str) -> Any:
    return driver.compile(*source_and_headers()).kernel(name)
