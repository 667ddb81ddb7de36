"""Simple undirected graphs, for algorithms that are defined on these alone.

A graph is simple if it has no self-loops and no parallel edges. Directed edges are taken to run
both ways.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np

from weft.graph import Graph
from weft.topology import Topology

Array = np.ndarray[Any, Any]

# What was found for a topology: its simple graph, or None if it is simple itself.
_known: weakref.WeakKeyDictionary[Topology, Graph | None] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def simple(g: Graph) -> Graph:
    """Return the simple undirected graph of g, without columns; g itself if it is one.

    The result is kept for as long as the structure of g is.
    """
    topology = g.topology
    with _lock:
        if topology not in _known:
            found = None if not g.directed and is_simple(topology) else _simplified(topology)
            _known[topology] = found
        return _known[topology] or g


def is_simple(topology: Topology) -> bool:
    """Whether a structure has neither self-loops nor parallel arcs."""
    rows = topology.adjacency(topology.primary_direction)
    targets = rows.targets
    equal = np.flatnonzero(targets[1:] == targets[:-1])  # also where a row ends and the next begins
    if not np.isin(equal + 1, rows.offsets, assume_unique=False).all():
        return False
    return not np.any(targets == rows.rows())


def _simplified(topology: Topology) -> Graph:
    src, dst = topology.edge_endpoints()
    return Graph.from_edges(
        src,
        dst,
        num_vertices=topology.num_vertices,
        directed=False,
        duplicates="first",
        self_loops="drop",
        index_dtype=topology.index_dtype,
    )
