"""Simple graphs, for algorithms that are defined on these alone.

A graph is simple if it has no self-loops and no parallel edges.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np

from weft.graph import Graph
from weft.topology import Topology

Array = np.ndarray[Any, Any]

# What was found for a topology, undirected or not; None where it is the simple one itself.
_known: weakref.WeakKeyDictionary[Topology, dict[bool, Graph | None]] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def simple(g: Graph, *, directed: bool = False) -> Graph:
    """Return the simple graph of g, without columns; g itself if it is simple.

    Directed edges are taken to run both ways, unless `directed` says that they keep their
    direction. The result is kept for as long as the structure of g is.
    """
    topology = g.topology
    directed = directed and g.directed
    with _lock:
        known = _known.setdefault(topology, {})
        if directed not in known:
            itself = directed == g.directed and is_simple(topology)
            known[directed] = None if itself else _simplified(topology, directed)
        return known[directed] or g


def is_simple(topology: Topology) -> bool:
    """Whether a structure has neither self-loops nor parallel arcs."""
    rows = topology.adjacency(topology.primary_direction)
    targets, xp = rows.targets, topology.xp
    follows = xp.flatnonzero(targets[1:] == targets[:-1]) + 1  # the same target as the slot before
    begins = xp.zeros(targets.size + 1, bool)
    begins[rows.offsets] = True
    return bool(begins[follows].all()) and not bool((targets == rows.rows()).any())


def _simplified(topology: Topology, directed: bool) -> Graph:
    src, dst = topology.edge_endpoints()
    return Graph.from_edges(
        src,
        dst,
        num_vertices=topology.num_vertices,
        directed=directed,
        duplicates="first",
        self_loops="drop",
        index_dtype=topology.index_dtype,
        device=topology.device,
    )
