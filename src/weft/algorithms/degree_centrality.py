"""Degree centrality.

Method: the number of edges at a vertex over the number of other vertices, O(n).

L. Freeman: Centrality in social networks: conceptual clarification (Social Networks 1, 1978).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.errors import ConfigError, unknown

Array = np.ndarray[Any, Any]


@algorithm(
    group="centrality",
    summary="the share of other vertices that each vertex has edges with",
    reference="L. Freeman: Centrality in social networks: conceptual clarification (1978)",
    needs=Needs((), Fields(own=16), frontier=False, degrees=BOTH),
)
def degree_centrality(
    g: weft.Graph, direction: str = "both", *, config: weft.Config | None = None
) -> Array:
    """Return the number of edges at every vertex over the number of other vertices.

    Parameters
    ----------
    g
        A graph. Each parallel edge counts; a self-loop counts once in each direction.
    direction
        Which edges of a directed graph count: "in", "out" or "both". An undirected edge counts
        once at each end.
    config
        Accepted for uniformity; nothing is compiled.

    Returns
    -------
    ndarray of float64
        1 at a vertex with one edge to every other vertex; 1 in a graph of one vertex.

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
