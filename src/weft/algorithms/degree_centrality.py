"""Degree centrality.

Method: the number of edges at a vertex over the number of other vertices, O(n).

L. Freeman: Centrality in social networks: conceptual clarification (Social Networks 1, 1978).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.config import Config
from weft.errors import ConfigError, unknown
from weft.graph import Graph

Array = np.ndarray[Any, Any]


@algorithm(
    group="centrality",
    summary="the share of other vertices that each vertex has edges with",
    reference="L. Freeman: Centrality in social networks: conceptual clarification (1978)",
    needs=Needs((), Fields(own=16), frontier=False, degrees=BOTH),
)
def degree_centrality(g: Graph, direction: str = "both", *, config: Config | None = None) -> Array:
    """Return the number of edges at every vertex over the number of other vertices.

    Parameters
    ----------
    g
        A graph. Parallel edges count each, a self-loop counts once in each direction.
    direction
        Which edges of a directed graph count: "in", "out" or "both". An undirected edge counts
        once at each end.
    config
        Accepted as by every algorithm; nothing is compiled.

    Returns
    -------
    ndarray of float64
        1 where a vertex has one edge with each other vertex; 1 in a graph of one vertex.

    Examples
    --------
    >>> import weft
    >>> weft.degree_centrality(weft.generators.star(4)).round(3).tolist()
    [1.0, 0.333, 0.333, 0.333]
    """
    if direction not in ("in", "out", "both"):
        raise ConfigError(unknown("direction", direction, ["in", "out", "both"]))
    n = g.num_vertices
    degree = (g.in_degree if direction == "in" else g.out_degree).astype(np.float64)
    if direction == "both" and g.directed:
        degree = degree + g.in_degree
    return degree / (n - 1) if n > 1 else degree * 0 + 1
