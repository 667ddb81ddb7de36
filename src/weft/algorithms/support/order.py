"""Fixed random orders of vertices and edges, for greedy algorithms with one result."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.ir.ops import INT64
from weft.ir.trace import functions as fn
from weft.program import vertex

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@vertex(on="all")
def place(v: Any, seed: Any) -> None:
    """Set the field `place`, by which vertices are ordered: the degree above 32 random bits."""
    bits = fn.cast(fn.random_bits(seed, v.id) >> 32, INT64)
    v.place = (fn.cast(v.out_degree, INT64) << 32) | bits


@vertex(on="all")
def place_at_random(v: Any, seed: Any) -> None:
    """Set the field `place` to 32 random bits, whatever the degree."""
    v.place = fn.cast(fn.random_bits(seed, v.id) >> 32, INT64)


def comes_before(u: Any, v: Any) -> Any:
    """Whether u has the smaller place: fewer neighbours, then smaller bits, then a smaller id."""
    return (u.place < v.place) | ((u.place == v.place) & (u.id < v.id))


def drawn_bits(xp: Any, count: int, seed: int) -> Any:
    """Return 31 random bits for each of the numbers from 0 to count - 1, by SplitMix64."""
    z = (xp.arange(count, dtype=np.uint64) + np.uint64(seed % 2**64 + 1)) * _STEP
    z = (z ^ (z >> np.uint64(30))) * _MIX[0]
    z = (z ^ (z >> np.uint64(27))) * _MIX[1]
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(33)).astype(np.int64)
