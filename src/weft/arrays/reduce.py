"""Reductions of arrays to one number, using only kernels that CuPy ships precompiled.

CuPy ships sums in the array's own dtype, minima and maxima. For others, such as `mask.all()` or the
sum of a mask, it compiles a kernel with CUB's headers on first use, which takes three to six
seconds each. The functions here express those in terms of the former. NumPy arrays use NumPy.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from weft.arrays.device import is_device_array

_AT_ONCE: Final = 1 << 25  # entries converted to int64 at a time, to bound memory


def all_true(mask: Any) -> bool:
    """Whether all entries of a mask are true; True for an empty mask.

    Examples
    --------
    >>> all_true(np.array([True, False])), all_true(np.zeros(0, bool))
    (False, True)
    """
    if not is_device_array(mask):
        return bool(mask.all())
    return not mask.size or bool(_bytes(mask).min())


def any_true(mask: Any) -> bool:
    """Whether any entry of a mask is true.

    Examples
    --------
    >>> any_true(np.array([True, False])), any_true(np.zeros(0, bool))
    (True, False)
    """
    if not is_device_array(mask):
        return bool(mask.any())
    return bool(mask.size) and bool(_bytes(mask).max())


def count_true(mask: Any) -> int:
    """Return the number of true entries of a mask.

    Examples
    --------
    >>> count_true(np.array([True, False, True]))
    2
    """
    return total(mask)


def total(values: Any) -> int:
    """Return the sum of integers or booleans, accumulated in int64.

    Examples
    --------
    >>> total(np.array([2**31 - 1, 1], np.int32))
    2147483648
    """
    if not is_device_array(values):
        return int(values.sum(dtype=np.int64))
    flat = values.ravel()
    if flat.dtype == np.int64:
        return int(flat.sum()) if flat.size else 0
    parts = (flat[at : at + _AT_ONCE] for at in range(0, flat.size, _AT_ONCE))
    return sum(int(part.astype(np.int64).sum()) for part in parts)


def equal_arrays(left: Any, right: Any) -> bool:
    """Whether two arrays on one device have the same shape and entries.

    Examples
    --------
    >>> equal_arrays(np.array([1, 2]), np.array([1, 2])), equal_arrays(np.zeros(1), np.zeros(2))
    (True, False)
    """
    return left.shape == right.shape and all_true(left == right)


def _bytes(mask: Any) -> Any:
    """Return a mask as a flat view of uint8."""
    return mask.ravel().view(np.uint8)
