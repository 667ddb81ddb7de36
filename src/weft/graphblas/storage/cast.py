"""Values of one data type as values of another, as C casts them in GraphBLAS."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any
# So few equal values are stored one by one: setting up a broadcast takes longer.
FEW = 64


def cast(values: Array, to: np.dtype) -> Array:
    """Return values in another NumPy type.

    Anything but zero is true; floats become integers by truncation, clipped to the range, and NaN
    becomes 0; integers wrap. Stride-0 arrays (one value for all) stay so.
    """
    if values.dtype == to:
        return values
    if is_iso(values) and values.size > 1:
        return np.broadcast_to(cast(values[:1], to), values.shape)
    if to.kind == "b":
        return values != 0
    if values.dtype.kind == "f" and to.kind in "iu":
        return float_to_integer(values, to)
    return values.astype(to)


def float_to_integer(values: Array, to: np.dtype) -> Array:
    """Truncate floats into an integer type, clipped to its range; NaN becomes 0."""
    limits = np.iinfo(to)
    # The limits of wide integers are no floats: compare, then convert only what fits.
    low, high = float(limits.min), float(limits.max)
    with np.errstate(invalid="ignore"):
        above, below = values >= high, values <= low
        inside = ~(above | below | np.isnan(values))
        out = np.where(inside, values, 0).astype(to)
    if not inside.all():
        out[above] = limits.max
        out[below] = limits.min
    return out


def is_iso(values: Array) -> bool:
    """Return whether an array stores one value for all of its elements."""
    return values.ndim == 1 and values.strides[0] == 0


def iso(value: Any, count: int, np_type: np.dtype) -> Array:
    """Return `count` equal values that take the memory of one, unless they are few."""
    one = cast(np.asarray(value).reshape(1), np_type)
    if count < FEW:
        return one.repeat(count)
    return np.broadcast_to(one, (count,))


def take(values: Array, where: Array) -> Array:
    """Return values at positions or at a mask, keeping a stride-0 array one."""
    if is_iso(values):
        count = np.count_nonzero(where) if where.dtype.kind == "b" else len(where)
        if len(values):
            return np.broadcast_to(values[:1], (int(count),))
    return values[where]
