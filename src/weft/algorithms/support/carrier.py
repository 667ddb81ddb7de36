"""Programs over items other than vertices: walks, pairs of vertices.

A program has one row of its state per vertex. A *carrier* is a graph with as many vertices as there
are items, the first of which have the out-edges of a graph; so an item can read the row of any
vertex with `neighbor`, `degree`, `common` and `has_edge`. Rows are shared, not copied.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from weft.topology.adjacency import Adjacency, index_dtype_for
from weft.topology.topology import Topology

Array = np.ndarray[Any, Any]


def carrier(g: weft.Graph, items: int, *columns: str) -> weft.Graph:
    """Return a directed graph of `items` vertices at least, whose first rows are those of g.

    Its arcs have the named edge columns of g.
    """
    topology = g.topology
    rows, xp, n = topology.out, topology.xp, topology.num_vertices
    count = max(n, items)
    offsets = xp.full(count + 1, topology.num_arcs, np.int64)
    offsets[: n + 1] = rows.offsets
    targets = rows.targets.astype(index_dtype_for(count, topology.index_dtype), copy=False)
    held = Topology.from_sorted(
        Adjacency(offsets, targets), directed=True, keep="out", device=topology.device
    )
    return weft.Graph(held, edge={name: g.edge.in_slots(name, "out") for name in columns})
