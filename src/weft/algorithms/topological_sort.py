"""Topological order of a directed acyclic graph.

Method: Kahn's. Vertices without predecessors are the first generation; every vertex counts its
unplaced predecessors, and is placed one generation after the last of them. Each edge is visited
once, O(m); there are as many supersteps as vertices on a longest path.

A. Kahn: Topological sorting of large networks (Communications of the ACM 5, 1962).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from weft.algorithms.registry import Fields, Needs, algorithm
from weft.arrays.reduce import any_true
from weft.errors import GraphError

Array = np.ndarray[Any, Any]

NEEDS = Needs(
    ("out",), Fields(lambda i, w: 4 + i, lambda i, w: 4 + i, lambda i, w: 8 + 2 * i, own=16),
    degrees=("in",),
)  # fmt: skip
REFERENCE = "A. Kahn: Topological sorting of large networks (1962)"


@weft.edge(
    into=("generation", "waits"),
    reduce=(weft.max, weft.sum),
    active=lambda v, old: v.waits == 0,
)
def place(u: Any, v: Any, e: Any) -> Any:
    """Place v after u, and remove u from the predecessors that v waits for."""
    return u.generation + 1, -1


@algorithm(
    group="structure",
    summary="the generation of every vertex in a topological order",
    column="generation",
    reference=REFERENCE,
    needs=NEEDS,
)
def topological_generations(g: weft.Graph, *, config: weft.Config | None = None) -> Array:
    """Return the number of edges on a longest path to every vertex.

    All predecessors of a vertex are in earlier generations, one of them in the one before.

    Parameters
    ----------
    g
        A directed graph without cycles.
    config
        How to run it.

    Returns
    -------
    ndarray of int32

    Raises
    ------
    GraphError
        If the graph is undirected or has a cycle.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 3], [1, 2, 2, 1])
    >>> weft.topological_generations(g).tolist()
    [0, 1, 2, 0]
    """
    if not g.directed:
        raise GraphError("the graph is undirected. Expected a directed one without cycles.")
    waits = g.topology.in_degree
    state = g.state(generation=weft.full(0, np.int32), waits=waits.copy())
    g.iterate(place, state, g.frontier(waits == 0), config=config)
    if any_true(state.waits > 0):
        v = int((state.waits > 0).argmax())
        raise GraphError(
            f"the graph has a cycle, which vertex {v} lies on or behind. Expected none; "
            "weft.condensation makes each strongly connected component one vertex."
        )
    return state.generation


@algorithm(
    group="structure",
    summary="the vertices in a topological order",
    column="vertex",
    per="result",
    reference=REFERENCE,
    needs=NEEDS,
)
def topological_sort(g: weft.Graph, *, config: weft.Config | None = None) -> Array:
    """Return the vertices in an order in which all edges run forward.

    Parameters
    ----------
    g
        A directed graph without cycles.
    config
        How to run it.

    Returns
    -------
    ndarray of int
        The vertices by generation, and by number within a generation.

    Raises
    ------
    GraphError
        If the graph is undirected or has a cycle.

    Examples
    --------
    >>> import weft
    >>> weft.topological_sort(weft.Graph.from_edges([0, 0, 1, 3], [1, 2, 2, 1])).tolist()
    [0, 3, 1, 2]
    """
    generation = topological_generations(g, config=config)
    return g.topology.xp.argsort(generation, kind="stable").astype(g.topology.index_dtype)
