"""Fixed random orders of vertices, for greedy algorithms with one result."""

from __future__ import annotations

from typing import Any

from weft.ir.trace import functions as fn


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
