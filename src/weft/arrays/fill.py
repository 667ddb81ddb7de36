"""Constant values into arrays: on a GPU by the driver's own fills, without a kernel of CuPy.

A kernel of CuPy costs the host 10 to 25 microseconds, be it a fill or an assignment to one element.
States are made in every call.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.arrays.device import is_device_array
from weft.errors import DeviceError

WORD = 4  # bytes that the driver fills with at most


def fill(array: Any, value: Any, but: Sequence[tuple[int, Any]] = ()) -> None:
    """Write one number everywhere, or everywhere but at some places of the first axis.

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
    """Return the bits of a value of a dtype, in words of at most four bytes, the lowest first."""
    return _whole_words(value, dtype) if type(value) is int else _words(value, dtype)


def _words(value: Any, dtype: Any) -> tuple[int, ...]:
    held = np.empty(1, dtype)
    held.fill(value)
    return tuple(held.view(f"u{min(held.itemsize, WORD)}").tolist())


_whole_words = functools.lru_cache(maxsize=256)(_words)  # not of floats: -0.0 is equal to 0.0


def set_words(array: Any, first: int, count: int, word: int) -> None:
    """Write a word to some words of an array of a GPU, in CuPy's present stream."""
    setters, success = _setters()
    size = min(array.itemsize, WORD)
    cuda = sys.modules["cupy"].cuda
    where = (array.data.ptr + first * size, word, count, cuda.get_current_stream().ptr)
    (error,) = setters[size](*where)
    if error != success:
        cuda.runtime.free(0)  # gives a thread that is new to CUDA the context of its device
        (error,) = setters[size](*where)
    if error != success:
        raise DeviceError(f"memory of a GPU could not be filled: {error.name}.")


@functools.cache
def _setters() -> tuple[dict[int, Any], Any]:
    """Return the driver's fills by the size of a word, and what they answer."""
    from cuda.bindings import driver

    setters = {1: driver.cuMemsetD8Async, 2: driver.cuMemsetD16Async, 4: driver.cuMemsetD32Async}
    return setters, driver.CUresult.CUDA_SUCCESS
