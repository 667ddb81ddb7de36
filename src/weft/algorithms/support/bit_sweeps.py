"""Breadth-first searches from up to 64 sources at once, one bit each.

A vertex keeps the set of sources that have reached it. In every superstep it passes on those that
arrived in the one before, so that an edge is read once for all searches that cross it together.

M. Then et al.: The more the merrier: efficient multi-source graph traversal (VLDB 2014).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from weft.arrays.device import move
from weft.config import Config
from weft.engine.state import State, full, scalar
from weft.graph import Graph
from weft.ir.trace import monoids
from weft.program import edge

Array = np.ndarray[Any, Any]

WIDTH: Final = 64


@edge(into="arrived", reduce=monoids.or_, accept=lambda v, goal: v.seen != goal)
def pass_on(u: Any, v: Any, e: Any) -> Any:
    """Pass the sources that reached u last on to v."""
    return u.fresh


def newcomers(v: Any) -> Any:
    """Take note of the sources that have just reached v, and return them."""
    fresh = v.arrived & ~v.seen
    v.fresh = fresh
    v.seen = v.arrived
    return fresh


def sweep_state(g: Graph, **fields: Any) -> State:
    """Return a state for sweeps, with fields of the algorithm's own."""
    bits = full(0, np.uint64)
    return g.state(arrived=bits, seen=bits, fresh=bits, goal=scalar(0, np.uint64), **fields)


def blocks(sources: Array) -> Iterator[Array]:
    """Yield distinct sources, as many at a time as one sweep takes."""
    for begin in range(0, sources.size, WIDTH):
        yield sources[begin : begin + WIDTH]


def sweep(g: Graph, state: State, take: Any, sources: Array, config: Config | None) -> None:
    """Search from one block of sources; `take` runs at the vertices that some have just reached."""
    device = g.topology.device
    bits = np.uint64(1) << np.arange(sources.size, dtype=np.uint64)
    places, bits = move(sources, device), move(bits, device)
    for name in ("arrived", "seen", "fresh"):
        setattr(state, name, full(0, np.uint64))
        getattr(state, name)[places] = bits
    state.goal = np.uint64(2**64 - 1) >> np.uint64(WIDTH - sources.size)
    g.iterate([pass_on, take], state, g.frontier(places), config=config)
