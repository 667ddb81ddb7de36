"""Fill arrays with constants; on a GPU by the driver's memset functions, not CuPy kernels.

States are created in every call, and launching a CuPy kernel costs the host 10 to 25 microseconds,
even to assign one element.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.arrays.device import is_device_array
from weft.errors import DeviceError

WORD = 4  # largest memset unit of the driver, in bytes


def fill(array: Any, value: Any, but: Sequence[tuple[int, Any]] = ()) -> None:
    """Fill an array with one number, except at some indices of the first axis.

    Examples
    --------
    >>> level = np.empty(4, np.int32)
    >>> fill(level, -1, [(2, 0)])
    >>> level
    array([-1, -1,  0, -1], dtype=int32)
    """
    if is_device_array(array) and array.flags.c_contiguous and array.size:
        words = words_of(value, array.dtype)
        if min(words) == max(words):
            set_words(array, 0, array.size * len(words), words[0])
        else:
            array.fill(value)
        if array.ndim == 1:
            for place, other in but:
                words = words_of(other, array.dtype)
                for at, word in enumerate(words):
                    set_words(array, place * len(words) + at, 1, word)
            return
    else:
        array.fill(value)
    for place, other in but:
        array[place] = other


def words_of(value: Any, dtype: Any) -> tuple[int, ...]:
    """Return the bits of a value in a dtype as words of at most four bytes, lowest first."""
    return _whole_words(value, dtype) if type(value) is int else _words(value, dtype)


def _words(value: Any, dtype: Any) -> tuple[int, ...]:
    held = np.empty(1, dtype)
    held.fill(value)
    return tuple(held.view(f"u{min(held.itemsize, WORD)}").tolist())


_whole_words = functools.lru_cache(maxsize=256)(_words)  # integers only: -0.0 == 0.0 as a key


def set_words(array: Any, first: int, count: int, word: int) -> None:
    """Set `count` words of a GPU array, in CuPy's current stream."""
    setters, success = _setters()
    size = min(array.itemsize, WORD)
    cuda = sys.modules["cupy"].cuda
    where = (array.data.ptr + first * size, word, count, cuda.get_current_stream().ptr)
    (error,) = setters[size](*where)
    if error != success:
        cuda.runtime.free(0)  # creates the CUDA context of a new thread
        (error,) = setters[size](*where)
    if error != success:
        raise DeviceError(f"GPU memory could not be filled: {error.name}.")


@functools.cache
def _setters() -> tuple[dict[int, Any], Any]:
    """Return the driver's memset functions by word size, and their success code."""
    from cuda.bindings import driver

    setters = {1: driver.cuMemsetD8Async, 2: driver.cuMemsetD16Async, 4: driver.cuMemsetD32Async}
    return setters, driver.CUresult.CUDA_SUCCESS
