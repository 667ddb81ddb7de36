"""Fixed random orders of vertices and edges, for greedy algorithms with one result."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.ir.trace import functions as fn

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def comes_before(u: Any, v: Any, seed: Any) -> Any:
    """Whether u comes before v where vertices with few neighbours are first."""
    return (u.out_degree < v.out_degree) | ((u.out_degree == v.out_degree) & _drawn(u, v, seed))


def comes_first(u: Any, v: Any, seed: Any) -> Any:
    """Whether u comes before v where vertices with many neighbours are first."""
    return (u.out_degree > v.out_degree) | ((u.out_degree == v.out_degree) & _drawn(u, v, seed))


def _drawn(u: Any, v: Any, seed: Any) -> Any:
    """Whether u has the smaller random bits, or the smaller number if they are equal."""
    theirs, ours = fn.random_bits(seed, u.id), fn.random_bits(seed, v.id)
    return (theirs < ours) | ((theirs == ours) & (u.id < v.id))


def drawn_bits(xp: Any, count: int, seed: int) -> Any:
    """Return 31 random bits for each of the numbers from 0 to count - 1, by SplitMix64."""
    z = (xp.arange(count, dtype=np.uint64) + np.uint64(seed % 2**64 + 1)) * _STEP
    z = (z ^ (z >> np.uint64(30))) * _MIX[0]
    z = (z ^ (z >> np.uint64(27))) * _MIX[1]
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(33)).astype(np.int64)
