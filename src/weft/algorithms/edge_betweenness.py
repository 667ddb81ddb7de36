"""Betweenness centrality of edges.

Method: the sweeps of `shortest_dags` from every source. With σ the numbers of shortest paths and
share(v) the weight of each path to v, the tight arc u -> v carries

    flow(u, v) += σ(u) · share(v).

O(n m) for all sources without weights, O(n m log n) with them.

U. Brandes: On variants of shortest-path betweenness centrality and their generic computation
(Social Networks 30, 2008).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.algorithms.support.shortest_dags import Sweeps
from weft.algorithms.support.simple_edges import pair_numbers
from weft.algorithms.support.sources import check_sources
from weft.topology.adjacency import count_keys
from weft.topology.adjacency_gpu import sums_of_keys

Array = np.ndarray[Any, Any]


@algorithm(
    group="centrality",
    summary="the share of shortest paths that run along each edge",
    weights="optional",
    per="result",
    reference=(
        "U. Brandes: On variants of shortest-path betweenness centrality and their generic "
        "computation (2008)"
    ),
    needs=Needs(
        BOTH, Fields(lambda i, w: 48, lambda i, w: 20, lambda i, w: 52 + i, own=96), simple=True,
        trail=True, weighted=True,
    ),
)  # fmt: skip
def edge_betweenness(
    g: weft.Graph,
    sources: Any = None,
    normalized: bool = True,
    *,
    weighted: bool = False,
    seed: int = 0,
    config: weft.Config | None = None,
) -> Array:
    """Return the number of shortest paths between vertices along each edge.

    Parameters
    ----------
    g
        A graph; a directed one is searched along its edges. Equally long parallel edges share their
        paths equally; self-loops have none.
    sources
        The vertices that paths start from: all by default, a random sample for a number, or an
        array of vertices (labels, if the graph has them). The result is then scaled up to estimate
        that of all sources.
    normalized
        Whether to divide by the number of pairs of vertices, so that the maximum is 1.
    weighted
        Whether weights are the lengths of edges; they must be finite and above 0.
    seed
        Chooses the sample.
    config
        How to run it.

    Returns
    -------
    ndarray of float64
        One value per edge, in the order of `Graph.to_edges`.

    Raises
    ------
    GraphError
        If a source does not exist, the sample is larger than the graph, or weights are to be used
        and some are not above 0, or not finite.

    Examples
    --------
    >>> import weft
    >>> weft.edge_betweenness(weft.generators.path(4), normalized=False).tolist()
    [3.0, 4.0, 3.0]
    """
    chosen = check_sources(g, sources, seed)
    sweeps, n = Sweeps(g, weighted, config), g.num_vertices
    for source in chosen.tolist():
        sweeps.add_flow(source)
    if n < 2 or not sweeps.g.num_edges:
        return g.topology.xp.zeros(g.num_edges)
    found = _of_edges(g, sweeps)
    if normalized:
        return found / (chosen.size * (n - 1))
    return found * n / (chosen.size * (1 if g.directed else 2))


def _of_edges(g: weft.Graph, sweeps: Sweeps) -> Array:
    """Divide the flow of every pair of vertices equally among its lightest edges."""
    held, xp = sweeps.g, g.topology.xp
    numbers = held.topology.edges(held.topology.primary_direction)
    flow = sweeps.flows.flow
    if numbers is not None:
        flow = sums_of_keys(numbers, flow, held.num_edges)
    pair = pair_numbers(g, held)
    src, dst = g.topology.edge_endpoints()
    shares = src != dst
    if sweeps.weighted:
        weight = g.edge.storage("weight").astype(np.float64)
        shares &= weight == held.edge.storage("weight")[pair]
    parallel = count_keys(pair[shares], held.num_edges)
    return xp.where(shares, flow[pair] / xp.maximum(parallel[pair], 1), 0.0)
