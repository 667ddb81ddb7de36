"""Breadth-first searches from up to 64 sources at once, one bit each.

A vertex stores the set of sources that have reached it. In every superstep it passes on those that
arrived in the previous one, so an edge is read once for all searches that cross it together.

M. Then et al.: The more the merrier: efficient multi-source graph traversal (VLDB 2014).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

import weft
from weft.arrays.device import move

Array = np.ndarray[Any, Any]

WIDTH: Final = 64


@weft.edge(into="arrived", reduce=weft.or_, accept=lambda v, goal: v.seen != goal)
def pass_on(u: Any, v: Any, e: Any) -> Any:
    """Pass the sources that reached u last on to v."""
    return u.fresh


def newcomers(v: Any) -> Any:
    """Record the sources that have just reached v, and return them."""
    fresh = v.arrived & ~v.seen
    v.fresh = fresh
    v.seen = v.arrived
    return fresh


def sweep_state(g: weft.Graph, **fields: Any) -> weft.State:
    """Return a state for sweeps, with fields of the algorithm's own."""
    bits = weft.full(0, np.uint64)
    return g.state(arrived=bits, seen=bits, fresh=bits, goal=weft.scalar(0, np.uint64), **fields)


def blocks(sources: Array) -> Iterator[Array]:
    """Yield distinct sources in blocks of the size of a sweep."""
    for begin in range(0, sources.size, WIDTH):
        yield sources[begin : begin + WIDTH]


def sweep(
    g: weft.Graph, state: weft.State, take: Any, sources: Array, config: weft.Config | None
) -> None:
    """Search from one block of sources; `take` runs at the vertices just reached."""
    device = g.topology.device
    bits = np.uint64(1) << np.arange(sources.size, dtype=np.uint64)
    places, bits = move(sources, device), move(bits, device)
    for name in ("arrived", "seen", "fresh"):
        setattr(state, name, weft.full(0, np.uint64))
        getattr(state, name)[places] = bits
    state.goal = np.uint64(2**64 - 1) >> np.uint64(WIDTH - sources.size)
    g.iterate([pass_on, take], state, g.frontier(places), config=config)
