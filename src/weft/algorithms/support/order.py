"""Fixed random orders of vertices and edges, for greedy algorithms with one result."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from weft.ir.ops import INT64

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@weft.vertex(on="all")
def place(v: Any, seed: Any) -> None:
    """Set the field `place`, which orders vertices: the degree above 32 random bits."""
    bits = weft.cast(weft.random_bits(seed, v.id) >> 32, INT64)
    v.place = (weft.cast(v.out_degree, INT64) << 32) | bits


@weft.vertex(on="all")
def place_at_random(v: Any, seed: Any) -> None:
    """Set the field `place` to 32 random bits, regardless of degree."""
    v.place = weft.cast(weft.random_bits(seed, v.id) >> 32, INT64)


SHUFFLED = 31
"""Bits of the numbers that `shuffled` puts into another order."""

_ALL = (1 << SHUFFLED) - 1


def shuffled(number: Any, turn: Any) -> Any:
    """Return an int64 from 0 to 2**31 - 1 for another one, none of them twice.

    Takes arrays and expressions. `turn` is such a number too; it chooses the order.
    """
    x = (number + turn) & _ALL
    for shift, factor in ((16, 0x2C1B3C6D), (12, 0x297A2D39), (15, 1)):
        x = ((x ^ (x >> shift)) * factor) & _ALL  # odd factors and shifts to the right lose nothing
    return x


def turn_of(seed: int) -> int:
    """Return what `shuffled` takes for a seed."""
    return int(drawn_bits(np, 1, seed)[0])


def drawn_bits(xp: Any, count: int, seed: int) -> Any:
    """Return 31 random bits for each of the numbers from 0 to count - 1, by SplitMix64."""
    z = (xp.arange(count, dtype=np.uint64) + np.uint64(seed % 2**64 + 1)) * _STEP
    z = (z ^ (z >> np.uint64(30))) * _MIX[0]
    z = (z ^ (z >> np.uint64(27))) * _MIX[1]
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(33)).astype(np.int64)
