"""The edges of a graph as edges of its simple graph."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft

Array = np.ndarray[Any, Any]


def pair_numbers(g: weft.Graph, plain: weft.Graph) -> Array:
    """Return for each edge of g the corresponding edge of its simple graph.

    -1 for self-loops. The simple graph is undirected, or directed as g.
    """
    xp = g.topology.xp
    keys = _keys(plain, plain.directed)
    order = xp.argsort(keys, kind="stable")
    src, dst = g.topology.edge_endpoints()
    if not keys.size:
        return xp.full(src.size, -1, np.int64)
    wanted = _keys(g, plain.directed)
    place = xp.minimum(xp.searchsorted(keys[order], wanted), keys.size - 1)
    return xp.where(src != dst, order[place], -1)


def _keys(g: weft.Graph, directed: bool) -> Array:
    """Return one integer for each edge, equal for equal pairs of vertices."""
    xp = g.topology.xp
    src, dst = (ends.astype(np.int64) for ends in g.topology.edge_endpoints())
    if not directed:
        src, dst = xp.minimum(src, dst), xp.maximum(src, dst)
    return src * g.num_vertices + dst
