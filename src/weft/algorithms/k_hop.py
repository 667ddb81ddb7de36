"""Neighbourhoods of some vertices, and the subgraphs that they induce.

Method: a breadth-first search that ends after k levels, O(m) at most.

S. Wasserman, K. Faust: Social network analysis (1994).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

import weft
from weft.algorithms.bfs import NO_LEVEL, discover_level
from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.algorithms.support.simple import simple
from weft.algorithms.support.sources import check_each, check_source
from weft.arrays.checks import check_integer
from weft.arrays.device import move

Array = np.ndarray[Any, Any]

NEEDS = Needs(BOTH, Fields(lambda i, w: 4, own=2))
REFERENCE = "S. Wasserman, K. Faust: Social network analysis (1994)"


@algorithm(
    group="traversal",
    summary="which vertices lie within k edges of some vertices",
    column="near",
    reference=REFERENCE,
    needs=NEEDS,
)
def k_hop(g: weft.Graph, sources: Any, k: int = 1, *, config: weft.Config | None = None) -> Array:
    """Return which vertices are within k edges of one of the sources.

    Parameters
    ----------
    g
        A graph; in a directed one, paths follow the edges.
    sources
        The vertices to start from, by their labels if the graph has labels.
    k
        The largest number of edges of a path.
    config
        How to run it.

    Returns
    -------
    ndarray of bool
        One value per vertex; True at the sources.

    Raises
    ------
    GraphError
        If a source does not exist.

    Examples
    --------
    >>> import weft
    >>> weft.k_hop(weft.generators.path(6), [0, 5], 1).tolist()
    [True, True, False, False, True, True]
    """
    places = move(np.unique(check_each(g, sources)), g.topology.device)
    state = g.state(level=NO_LEVEL)
    state.level[places] = 0
    most = check_integer("k", k, 0)
    g.iterate(discover_level, state, places, max_iter=most, config=config)
    return state.level >= 0


@algorithm(
    group="traversal",
    summary="the subgraph of the vertices around a vertex",
    per="result",
    reference=REFERENCE,
    needs=NEEDS,
)
def ego_graph(
    g: weft.Graph,
    center: Hashable,
    radius: int = 1,
    *,
    both_ways: bool = False,
    config: weft.Config | None = None,
) -> weft.Graph:
    """Return the subgraph of the vertices within some number of edges of a vertex.

    Parameters
    ----------
    g
        A graph; in a directed one, paths follow the edges.
    center
        The vertex, by its label if the graph has labels.
    radius
        The largest number of edges of a path.
    both_ways
        Whether paths may also run against the edges.
    config
        How to run it.

    Returns
    -------
    Graph
        With the columns and labels of g, as `Graph.subgraph` returns it.

    Raises
    ------
    GraphError
        If the vertex does not exist.

    Examples
    --------
    >>> import weft
    >>> weft.ego_graph(weft.generators.cycle(9), 3, 2).num_vertices
    5
    """
    around: Hashable = check_source(g, center, "center")
    searched = simple(g) if both_ways else g
    if g.labels is not None and searched is g:
        around = center  # which k_hop looks up by its label
    radius = check_integer("radius", radius, 0)
    return g.subgraph(k_hop(searched, [around], radius, config=config))
