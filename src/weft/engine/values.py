"""Checks that a dtype can represent the values assigned to a field or scalar."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from weft.arrays.device import is_device_array
from weft.errors import FieldError, shortened


@functools.cache
def _range(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Return the smallest and the largest number of a dtype."""
    if dtype.kind == "b":
        return 0, 1
    info = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    return int(info.min), int(info.max)


def check_holds(dtype: np.dtype[Any], value: Any, what: str) -> None:
    """Raise unless a dtype can represent a number, or every element of an array.

    Integers must be in range, and floats assigned to an integer dtype must be whole. A float dtype
    rounds any number within its range. Arrays on a GPU are not checked, which would stall it.

    Examples
    --------
    >>> check_holds(np.dtype(np.int8), 100.0, "field 'x'")
    >>> check_holds(np.dtype(np.int8), 300, "field 'x'")
    Traceback (most recent call last):
    weft.errors.FieldError: field 'x' is int8, which cannot hold 300. Expected integers from -128 \
to 127; declare another dtype.
    """
    if type(value) is int or type(value) is float:  # the common case
        low, high = _range(dtype)
        if low <= value <= high and (dtype.kind == "f" or value == int(value)):
            return
        if dtype.kind != "f" or abs(value) < np.inf:
            raise _cannot_hold(dtype, value, what)
        return  # inf and NaN
    array = value if hasattr(value, "dtype") else np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise _cannot_hold(dtype, value, what)
    if np.can_cast(array.dtype, dtype, casting="safe") or is_device_array(array):
        return
    fits = _held(dtype, array)
    if not fits.all():
        first = array[()] if array.ndim == 0 else array.ravel()[int(fits.ravel().argmin())]
        raise _cannot_hold(dtype, first.item(), what)


def _held(dtype: np.dtype[Any], array: Any) -> Any:
    """Return a mask of the elements that a dtype can represent."""
    if dtype.kind == "f":
        if array.dtype.kind != "f":
            return np.ones(array.shape, np.bool_)
        return ~(np.abs(array) > _range(dtype)[1]) | np.isinf(array)
    low, high = _range(dtype)
    if array.dtype.kind == "f":  # as floats, `high + 1` is exact, while `high` may be rounded
        return (array >= float(low)) & (array < float(high + 1)) & (array == np.floor(array))
    own_low, own_high = _range(array.dtype)
    fits = np.ones(array.shape, np.bool_)
    if own_low < low:
        fits &= array >= low
    if own_high > high:
        fits &= array <= high
    return fits


def _cannot_hold(dtype: np.dtype[Any], value: Any, what: str) -> FieldError:
    if dtype.kind == "f":
        expected = "numbers within its range"
    else:
        low, high = _range(dtype)
        expected = "booleans" if dtype.kind == "b" else f"integers from {low} to {high}"
    return FieldError(
        f"{what} is {dtype}, which cannot hold {shortened(value)}. Expected {expected}; declare "
        "another dtype."
    )
