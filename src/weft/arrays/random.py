"""Counter-based random numbers: a pure function of key and counter, equal on every backend.

All arithmetic is modulo 2**64, including negative arguments. With

    mix(z):  z = (z ^ (z >> 30)) * MIX_1
             z = (z ^ (z >> 27)) * MIX_2
             return z ^ (z >> 31)                 (the finaliser of splitmix64)

the numbers are

    random_bits(key, counter) = mix(mix(key + GAMMA) ^ (counter * STEP))
    random_unit(key, counter) = (random_bits(key, counter) >> 11) * 2**-53

Key and counter are combined by exclusive or, not by addition, so that the sequences of two keys are
not shifted copies of each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

GAMMA = 0x9E3779B97F4A7C15
STEP = 0xD1342543DE82EF95
MIX_1 = 0xBF58476D1CE4E5B9
MIX_2 = 0x94D049BB133111EB

_MASK = (1 << 64) - 1


def _mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * MIX_1) & _MASK
    z = ((z ^ (z >> 27)) * MIX_2) & _MASK
    return z ^ (z >> 31)


def random_bits(key: int, counter: int) -> int:
    """Return 64 random bits as an integer from 0 to 2**64 - 1.

    Examples
    --------
    >>> random_bits(1, 2) == random_bits(1, 2)
    True
    >>> random_bits(1, 2) == random_bits(2, 1)
    False
    """
    state = _mix((int(key) + GAMMA) & _MASK)
    return _mix(state ^ (int(counter) * STEP & _MASK))


def random_unit(key: int, counter: int) -> float:
    """Return a random number in [0, 1), a multiple of 2**-53."""
    return (random_bits(key, counter) >> 11) * 2.0**-53


def mix(words: Any) -> Any:
    """Apply the mixing function to a NumPy or CuPy array of uint64."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(MIX_1)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(MIX_2)
    return words ^ (words >> np.uint64(31))
