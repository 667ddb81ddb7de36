"""How many tables gathers by key have for the longest rows, and how large they are."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from weft.topology.topology import Direction, Topology

LEAST_PLACES = 32  # of a table, as in by_key.cuh
MOST_TABLES = 512  # for the longest rows: one for each block that is at work

_tables: weakref.WeakKeyDictionary[Topology, dict[Any, tuple[int, int]]] = (
    weakref.WeakKeyDictionary()
)


def table_sizes(topology: Topology, direction: Any, hops: int, vertices: bool) -> tuple[int, int]:
    """Return how many tables blocks have for the longest rows, and the places of each.

    `vertices` says that keys are ids of vertices, of which no row has more than there are. There is
    room for the entries of the longest row, and no more of it in all than for one entry of
    each arc, unless a single table takes more.
    """
    known = _tables.setdefault(topology, {})
    room = direction, hops, vertices
    if room not in known:
        if hops == 2:
            lengths = topology.paths_of_two(direction)
        else:
            ways: tuple[Direction, ...] = ("in", "out") if direction == "both" else (direction,)
            lengths = topology.xp.zeros(topology.num_vertices, np.int64)
            for way in ways:
                offsets = topology.adjacency(way).offsets
                lengths += offsets[1:] - offsets[:-1]
        longest = int(lengths.max()) if topology.num_vertices else 0
        longest = min(longest, topology.num_vertices) if vertices else longest
        places = LEAST_PLACES
        while places // 4 * 3 < longest:
            places *= 2
        tables = min(MOST_TABLES, max(1, topology.num_arcs // places))
        known[room] = tables, places
    return known[room]
