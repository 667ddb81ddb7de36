"""Triangles at every vertex, and transitivity.

Method: each triangle of an oriented graph is found once, as in `clustering`, and credited to its
three corners. Transitivity is the share of the pairs of edges at a vertex that a third one closes:

    transitivity = Σ triangles(v) / Σ d(v) · (d(v) - 1) / 2.

O(m^1.5) at most.

D. Watts, S. Strogatz: Collective dynamics of small-world networks (Nature 393, 1998).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from weft.algorithms.clustering import credit
from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.simple import simple
from weft.algorithms.triangle_count import oriented, triangle_count

Array = np.ndarray[Any, Any]

NEEDS = Needs((), Fields(lambda i, w: 8, own=32), frontier=False, simple=True, oriented=True)
REFERENCE = "D. J. Watts, S. H. Strogatz: Collective dynamics of small-world networks (1998)"


@algorithm(
    group="structure",
    summary="the number of triangles that each vertex belongs to",
    directed="ignored",
    reference=REFERENCE,
    needs=NEEDS,
)
def triangles(g: weft.Graph, *, config: weft.Config | None = None) -> Array:
    """Return the number of triangles that contain each vertex.

    Parameters
    ----------
    g
        A graph. Self-loops are ignored, parallel edges count once, and directed edges are taken to
        run both ways.
    config
        How to run it.

    Returns
    -------
    ndarray of int64

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 0, 1], [1, 2, 3, 2], directed=False)
    >>> weft.triangles(g).tolist()
    [1, 1, 1, 0]
    """
    arcs = oriented(simple(g))
    state = arcs.state(triangles=weft.full(0))
    arcs.run(credit, state, config=config)
    return state.triangles


@algorithm(
    group="structure",
    summary="the share of pairs of adjacent edges that are closed to a triangle",
    directed="ignored",
    per="result",
    reference=REFERENCE,
    needs=NEEDS,
)
def transitivity(g: weft.Graph, *, config: weft.Config | None = None) -> float:
    """Return the share of the paths of two edges whose ends are adjacent.

    Parameters
    ----------
    g
        A graph. Self-loops are ignored, parallel edges count once, and directed edges are taken to
        run both ways.
    config
        How to run it.

    Returns
    -------
    float
        From 0 to 1; 0 in a graph without paths of two edges.

    Examples
    --------
    >>> import weft
    >>> weft.transitivity(weft.Graph.from_edges([0, 0, 0, 1], [1, 2, 3, 2], directed=False))
    0.6
    """
    g = simple(g)
    degree = g.out_degree.astype(np.float64)
    pairs = float((degree * (degree - 1)).sum())
    return 6 * triangle_count(g, config=config) / pairs if pairs else 0.0
