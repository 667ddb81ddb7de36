"""Counter-based random numbers, the same on every device and for every chunk size.

Word number i of a stream is `mix(key ^ i · STEP)`, as in `weft.arrays.random`; the key mixes the
seed and the number of the stream. Whole arrays of integers are computed at a time, by functions
that NumPy and CuPy share.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from weft.arrays.device import Device
from weft.arrays.random import STEP, mix, random_bits

# Numbers per chunk: on a host the temporaries stay in the cache, on a GPU they occupy all of it.
HOST_CHUNK: Final = 1 << 16
DEVICE_CHUNK: Final = 1 << 24


def chunks(count: int, device: Device) -> Iterator[slice]:
    """Yield the ranges of `count` items that are processed at a time."""
    size = HOST_CHUNK if device.on_host else DEVICE_CHUNK
    for begin in range(0, count, size):
        yield slice(begin, min(begin + size, count))


def words(seed: int, stream: int, counters: Any) -> Any:
    """Return 64 random bits for each counter (uint64); the counters are overwritten.

    Different counters of one stream never have the same bits.
    """
    key = np.uint64(random_bits(seed, stream))
    counters *= np.uint64(STEP)
    counters ^= key
    return mix(counters)


def numbers(xp: Any, part: slice) -> Any:
    """Return the numbers of a chunk as uint64."""
    return xp.arange(part.start, part.stop, dtype=np.uint64)


def threshold(probability: float) -> np.uint64:
    """Return the number that 32 random bits are below with the given probability."""
    return np.uint64(round(probability * 2.0**32))


def permutation(xp: Any, seed: int, stream: int, count: int) -> Any:
    """Return the numbers below `count` in random order."""
    return xp.argsort(words(seed, stream, numbers(xp, slice(0, count))), kind="stable")
