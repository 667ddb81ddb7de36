"""The built-in operators on arrays, as the C API and SuiteSparse define them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.graphblas.storage.cast import float_to_integer

Array = Any
FP64 = np.dtype(np.float64)


def ones(x: Array, *_: Array) -> Array:
    """Return ones, stored once."""
    return np.broadcast_to(np.ones(1, x.dtype), x.shape)


def trues(x: Array, *_: Array) -> Array:
    """Return trues, stored once."""
    return np.broadcast_to(np.ones(1, np.bool_), x.shape)


def first(x: Array, y: Array) -> Array:
    """Return the left value."""
    return x


def second(x: Array, y: Array) -> Array:
    """Return the right value."""
    return y


def nonzero(x: Array) -> Array:
    """Return whether values count as true."""
    return x != 0


def lnot(x: Array) -> Array:
    """Logical not, in the type of the input."""
    return x == 0


def divide_integers(x: Array, y: Array) -> Array:
    """Divide as C does; x / 0 is 0 for 0 and else the limit of the type with the sign of x."""
    limits = np.iinfo(x.dtype)
    zero = y == 0
    safe = np.where(zero, 1, y).astype(x.dtype, copy=False)
    quotient = np.floor_divide(x, safe)
    if limits.min < 0:
        inexact = (quotient * safe != x) & ((x < 0) != (safe < 0))
        quotient = quotient + inexact.astype(x.dtype)
    if zero.any():
        at_zero = np.where(x == 0, 0, np.where(x < 0, limits.min, limits.max)).astype(x.dtype)
        quotient = np.where(zero, at_zero, quotient)
    return quotient


def divide(x: Array, y: Array) -> Array:
    """Divide in the type of the inputs."""
    if x.dtype.kind == "b":
        return x
    return divide_integers(x, y) if x.dtype.kind in "iu" else x / y


def reciprocal(x: Array) -> Array:
    """1 / x in the type of the input."""
    return divide(np.ones_like(x), x)


def true_divide(x: Array, y: Array) -> Array:
    """x / y as floats."""
    return np.true_divide(x, y)


def floor_divide(x: Array, y: Array) -> Array:
    """Divide and round down; 0 where integers are divided by 0."""
    if x.dtype.kind == "b":
        x, y = x.astype(np.int8), y.astype(np.int8)
    return np.floor_divide(x, y)


def power(x: Array, y: Array) -> Array:
    """x to the power of y; integers through floats, clipped to the range."""
    if x.dtype.kind == "b":
        return x | ~y
    if x.dtype.kind in "iu":
        return float_to_integer(power(x.astype(FP64), y.astype(FP64)), x.dtype)
    result = np.power(x, y)
    bad = np.isnan(x) | np.isnan(y)
    return np.where(bad, np.array(np.nan, x.dtype), result) if bad.any() else result


def ceiled_round(x: Array) -> Array:
    """Round to the nearest integer, halves away from zero."""
    whole = np.trunc(x)
    return whole + np.copysign(np.abs(x - whole) >= 0.5, x).astype(x.dtype)


_remainder = np.frompyfunc(
    lambda x, y: math.nan if y == 0 or math.isinf(x) else math.remainder(x, y), 2, 1
)


def remainder(x: Array, y: Array) -> Array:
    """Return the IEEE remainder, of the smallest magnitude."""
    return np.asarray(_remainder(x.astype(FP64), y.astype(FP64))).astype(x.dtype)


def ldexp(x: Array, y: Array) -> Array:
    """x times 2 to the power of y, truncated to an integer."""
    return np.ldexp(x, float_to_integer(y, np.dtype(np.int32)))


def shift(x: Array, y: Array) -> Array:
    """Shift left by y bits, right where y is negative; the sign is kept."""
    bits = x.dtype.itemsize * 8
    count = y.astype(np.int8)
    left = np.where((count >= 0) & (count < bits), count, 0).astype(x.dtype)
    right = np.where(count < 0, np.minimum(-count.astype(np.int16), bits - 1), 0).astype(x.dtype)
    out = np.where(count >= 0, np.left_shift(x, left), np.right_shift(x, right))
    gone = count >= bits
    if x.dtype.kind == "u":
        gone = gone | (count <= -bits)
    return np.where(gone, 0, out).astype(x.dtype)


def _bit(x: Array, y: Array) -> tuple[Array, Array]:
    """Return whether y names a bit of x, counted from 1, and that bit alone."""
    valid = (y >= 1) & (y <= x.dtype.itemsize * 8)
    return valid, np.left_shift(x.dtype.type(1), np.where(valid, y - 1, 0).astype(x.dtype))


def get_bit(x: Array, y: Array) -> Array:
    """Return bit number y, counted from 1."""
    valid, bit = _bit(x, y)
    return (valid & ((x & bit) != 0)).astype(x.dtype)


def set_bit(x: Array, y: Array) -> Array:
    """Set bit number y, counted from 1."""
    valid, bit = _bit(x, y)
    return np.where(valid, x | bit, x)


def clear_bit(x: Array, y: Array) -> Array:
    """Clear bit number y, counted from 1."""
    valid, bit = _bit(x, y)
    return np.where(valid, x & ~bit, x)


def binomial(n: Array, k: Array) -> Array:
    """Return the number of ways to choose k of n."""
    made = np.frompyfunc(lambda n, k: math.comb(n, k) if n >= 0 and k >= 0 else 0, 2, 1)
    return np.asarray(made(n.astype(object), k.astype(object))).astype(np.int64)


def minimum(x: Array, y: Array) -> Array:
    """Return the smaller value, ignoring NaN."""
    return np.fmin(x, y)


def maximum(x: Array, y: Array) -> Array:
    """Return the larger value, ignoring NaN."""
    return np.fmax(x, y)


def minus(x: Array, y: Array) -> Array:
    """x - y; exclusive or of booleans."""
    return x ^ y if x.dtype.kind == "b" else x - y


def absolute(x: Array) -> Array:
    """|x|."""
    return x if x.dtype.kind in "bu" else np.abs(x)


def negative(x: Array) -> Array:
    """-x; booleans stay."""
    return x if x.dtype.kind == "b" else np.negative(x)


def logical_xnor(x: Array, y: Array) -> Array:
    """Return whether both are true or both false."""
    return (x != 0) == (y != 0)


def bitwise_xnor(x: Array, y: Array) -> Array:
    """Return the bits that are equal."""
    return ~(x ^ y)
