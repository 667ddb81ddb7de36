"""Compiled: the double nearest to a decimal number, without a library call.

Method: Lemire, "Number parsing at a gigabyte per second" (Software: Practice and Experience, 2021).
A number w · 10^q is w · 5^q · 2^q. With w shifted to 64 bits and 5^q known to 128 bits, the upper
half of their product holds the 53 bits of the result and what decides its rounding.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from weft.storage.compiled import njit

LEAST_POWER: Final = -342
LARGEST_POWER: Final = 308


def _powers_of_five() -> np.ndarray:
    """Return 5^q for each q in range as 128 bits, highest set: rows of (upper, lower) half."""
    table = np.empty((LARGEST_POWER - LEAST_POWER + 1, 2), np.uint64)
    for q in range(LEAST_POWER, LARGEST_POWER + 1):
        if q < 0:
            power = 5**-q
            width = (power - 1).bit_length()
            bits = width + 127 if q >= -27 else 2 * width + 128
            value = 2**bits // power + 1
        else:
            value = 5**q << 128
        value >>= value.bit_length() - 128
        table[q - LEAST_POWER] = value >> 64, value & (2**64 - 1)
    return table


POWERS: Final = _powers_of_five()
_ONE = np.uint64(1)
_LOW32 = np.uint64(0xFFFFFFFF)
_LOW9 = np.uint64(0x1FF)
_U3, _U9, _U32, _U52, _U63 = (np.uint64(k) for k in (3, 9, 32, 52, 63))
_HIDDEN = np.uint64(1 << 52)
_INFINITY = np.uint64(0x7FF << 52)


@njit(cache=True, inline="always")
def _product(a, b):
    """Return the upper and the lower half of a · b."""
    a1, a0, b1, b0 = a >> _U32, a & _LOW32, b >> _U32, b & _LOW32
    low = a0 * b0
    middle = a1 * b0 + (low >> _U32)
    other = a0 * b1 + (middle & _LOW32)
    return a1 * b1 + (middle >> _U32) + (other >> _U32), (other << _U32) | (low & _LOW32)


@njit(cache=True)
def nearest_double(w, q):
    """Return the bits of the double nearest to w · 10^q, for a uint64 w."""
    if w == 0 or q < LEAST_POWER:
        return np.uint64(0)
    if q > LARGEST_POWER:
        return _INFINITY
    zeros = 0
    for step in (32, 16, 8, 4, 2, 1):
        if (w >> np.uint64(64 - step)) == 0:
            w <<= np.uint64(step)
            zeros += step
    high, low = _product(w, POWERS[q - LEAST_POWER, 0])
    if (high & _LOW9) == _LOW9:
        carry, _ = _product(w, POWERS[q - LEAST_POWER, 1])
        low += carry
        if carry > low:
            high += _ONE
    top = high >> _U63
    shift = top + _U9
    mantissa = high >> shift
    exponent = ((217706 * q) >> 16) + 63 + np.int64(top) - zeros + 1023
    if exponent <= 0:
        if 1 - exponent >= 64:
            return np.uint64(0)
        mantissa >>= np.uint64(1 - exponent)
        mantissa = (mantissa + (mantissa & _ONE)) >> _ONE
        # A carry into bit 52 is already the exponent 1.
        return mantissa
    # Exactly half way between two doubles: the even one.
    tie = low <= _ONE and -4 <= q <= 23 and (mantissa & _U3) == _ONE
    if tie and (mantissa << shift) == high:
        mantissa &= ~_ONE
    mantissa = (mantissa + (mantissa & _ONE)) >> _ONE
    if mantissa >= (_HIDDEN << _ONE):
        mantissa = _HIDDEN
        exponent += 1
    if exponent >= 0x7FF:
        return _INFINITY
    return (mantissa & ~_HIDDEN) | (np.uint64(exponent) << _U52)
