"""Mixing of vertices by edges: reciprocity, degree assortativity, and the rich club.

Method: one pass over the edges each, O(m). Assortativity is the correlation of Pearson between the
degrees at both ends of an edge; an undirected edge counts in both directions. The rich club of
degree k consists of the vertices with more than k neighbours; its coefficient is the share of pairs
of these that are adjacent.

M. Newman: Mixing patterns in networks (Physical Review E 67, 2003).
S. Zhou, R. Mondragón: The rich-club phenomenon in the internet topology (IEEE Communications
Letters 8, 2004).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.algorithms.support.simple import simple
from weft.topology.adjacency import count_keys

Array = np.ndarray[Any, Any]

NEEDS = Needs((), Fields(own=64), frontier=False, simple=True, degrees=BOTH)


@algorithm(
    group="structure",
    summary="the share of edges that are answered by one in the other direction",
    per="result",
    reference="M. Newman, S. Forrest, J. Balthrop: Email networks and computer viruses (2002)",
    needs=NEEDS,
)
def reciprocity(g: weft.Graph, *, config: weft.Config | None = None) -> float:
    """Return the share of the edges u -> v for which there is an edge v -> u.

    Parameters
    ----------
    g
        A graph. Self-loops are ignored, and parallel edges count once.
    config
        Accepted for uniformity; nothing is compiled.

    Returns
    -------
    float
        From 0 to 1; 1 for an undirected graph, 0 for one without edges.

    Examples
    --------
    >>> import weft
    >>> weft.reciprocity(weft.Graph.from_edges([0, 1, 1, 2], [1, 0, 2, 3]))
    0.5
    """
    arcs = simple(g, directed=True).num_edges
    if not g.directed or arcs == 0:
        return 1.0 if arcs else 0.0
    return 2 * (arcs - simple(g).num_edges) / arcs


@algorithm(
    group="structure",
    summary="the correlation between the degrees at both ends of the edges",
    per="result",
    reference="M. Newman: Mixing patterns in networks (2003)",
    needs=NEEDS,
)
def degree_assortativity(g: weft.Graph, *, config: weft.Config | None = None) -> float:
    """Return the correlation between the degrees at both ends of the edges.

    Parameters
    ----------
    g
        A graph; in a directed one the out-degree of the source is compared with the in-degree of
        the destination. Self-loops are ignored, and parallel edges count once.
    config
        Accepted for uniformity; nothing is compiled.

    Returns
    -------
    float
        From -1 to 1; NaN if all edges have the same degree at an end.

    Examples
    --------
    >>> import weft
    >>> round(weft.degree_assortativity(weft.generators.path(4)), 3)
    -0.5
    """
    g = simple(g, directed=True)
    src, dst = g.topology.endpoints()
    if not src.size:
        return float("nan")
    a, b = (d.astype(np.float64) for d in (g.out_degree[src], g.in_degree[dst]))
    a, b = a - a.mean(), b - b.mean()
    spread = float((a * a).sum()) * float((b * b).sum())
    return float((a * b).sum()) / spread**0.5 if spread > 0 else float("nan")


@algorithm(
    group="structure",
    summary="how densely the vertices of more than each degree are joined",
    directed="ignored",
    per="result",
    reference="S. Zhou, R. Mondragón: The rich-club phenomenon in the internet topology (2004)",
    needs=NEEDS,
)
def rich_club(g: weft.Graph, *, config: weft.Config | None = None) -> Array:
    """Return the share of adjacent pairs among the vertices with more than k neighbours.

    Parameters
    ----------
    g
        A graph. Self-loops are ignored, parallel edges count once, and directed edges are taken to
        run both ways.
    config
        Accepted for uniformity; nothing is compiled.

    Returns
    -------
    ndarray of float64
        One value for each k from 0 on, as long as two vertices have more than k neighbours.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 0, 1, 1, 4], [1, 2, 3, 4, 5, 5], directed=False)
    >>> weft.rich_club(g).round(3).tolist()
    [0.4, 0.667, 1.0]
    """
    g, xp = simple(g), g.topology.xp
    degree = g.out_degree
    if not g.num_edges:
        return xp.zeros(0)
    most = int(degree.max())
    src, dst = g.topology.edge_endpoints()
    poorer = xp.minimum(degree[src], degree[dst])
    # Vertices, and edges by their poorer end, with more than k neighbours.
    vertices = g.num_vertices - xp.cumsum(count_keys(degree, most + 1))[:most]
    edges = g.num_edges - xp.cumsum(count_keys(poorer, most + 1))[:most]
    several = vertices > 1
    vertices, edges = vertices[several].astype(np.float64), edges[several]
    return 2 * edges / (vertices * (vertices - 1))
