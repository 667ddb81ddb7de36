"""Simple graphs, for algorithms that are only defined on these.

A graph is simple if it has no self-loops and no parallel edges.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np

import weft
from weft.arrays.reduce import any_true
from weft.errors import GraphError
from weft.topology.topology import Topology

Array = np.ndarray[Any, Any]

PARTS = 32  # in which slots are processed
LEAST_PART = 1 << 16

# The simple graph by (directed, needs both directions); None if the topology itself is simple.
_known: weakref.WeakKeyDictionary[Topology, dict[tuple[bool, bool], weft.Graph | None]] = (
    weakref.WeakKeyDictionary()
)
_lock = threading.Lock()


def simple(g: weft.Graph, *, directed: bool = False, both: bool = False) -> weft.Graph:
    """Return the simple graph of g, without columns; g itself if it is simple.

    Directed edges are taken to run both ways, unless `directed` keeps their direction. With `both`,
    the result can be traversed in both directions even if g stores only one. The result is cached
    for as long as the structure of g exists.
    """
    topology = g.topology
    directed = directed and g.directed
    key = directed, both and topology.keep != "both"
    with _lock:
        known = _known.setdefault(topology, {})
        if key not in known:
            itself = directed == g.directed and not key[1] and is_simple(topology)
            known[key] = None if itself else _simplified(topology, directed)
        return known[key] or g


def is_simple(topology: Topology) -> bool:
    """Whether a structure has neither self-loops nor parallel arcs."""
    if topology.known_simple is not None:
        return topology.known_simple
    with topology.device.current():
        return not has_loops(topology) and not _has_parallel_arcs(topology)


def has_loops(topology: Topology) -> bool:
    """Whether an edge leads from a vertex to itself."""
    if not topology.directed:  # a self-loop is one arc, any other edge two
        return topology.num_arcs != 2 * topology.num_edges
    rows = topology.adjacency(topology.primary_direction)
    return any_true(rows.targets == rows.rows())


def _has_parallel_arcs(topology: Topology) -> bool:
    """Whether a row has a target twice; processes the slots in parts to limit memory."""
    rows = topology.adjacency(topology.primary_direction)
    offsets, targets, xp = rows.offsets, rows.targets, topology.xp
    length = max(LEAST_PART, -(-targets.size // PARTS))
    for begin in range(1, targets.size, length):
        end = min(begin + length, targets.size)
        same = targets[begin:end] == targets[begin - 1 : end - 1]
        slots = xp.flatnonzero(same) + begin  # allowed at the start of a row
        if slots.size and any_true(offsets[xp.searchsorted(offsets, slots)] != slots):
            return True
    return False


def _simplified(topology: Topology, directed: bool) -> weft.Graph:
    if topology.carrier is not None:
        raise GraphError(
            "This algorithm is defined on simple graphs, and the partitioned graph "
            + ("is directed" if topology.directed and not directed else "is not simple")
            + ". Expected one made with weft.partition(..., duplicates='first', self_loops='drop'"
            + ("" if directed else ", directed=False")
            + "); partition the edges again."
        )
    src, dst = topology.edge_endpoints()
    return weft.Graph.from_edges(
        src,
        dst,
        num_vertices=topology.num_vertices,
        directed=directed,
        duplicates="first",
        self_loops="drop",
        index_dtype=topology.index_dtype,
        device=topology.device,
    )
