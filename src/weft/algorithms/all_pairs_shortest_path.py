"""Distances between all pairs of vertices, or from many sources.

Method: blocks of sources share their sweeps. Without weights, 64 breadth-first searches run at a
time, one bit each; with weights, every vertex holds the distances from `LANES` sources, which an
edge relaxes together:

    dist[v, s] = min(dist[v, s], dist[u, s] + w(u, v)).

O(n · m / 64) reads of edges without weights, O(n · m · rounds / LANES) with them. The result takes
8 n · k bytes for k sources.

R. Bellman: On a routing problem (Quarterly of Applied Mathematics 16, 1958).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import weft
from weft.algorithms.multi_source_bfs import multi_source_bfs
from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.algorithms.support.sources import check_each
from weft.arrays.device import move
from weft.arrays.distinct import distinct
from weft.errors import GraphError

Array = np.ndarray[Any, Any]

LANES: Final = 16


@weft.edge(into="dist", reduce=weft.min)
def relax(u: Any, v: Any, e: Any) -> Any:
    """Reach v through u from all sources for which that is shorter."""
    return u.dist + weft.cast(e.weight, np.float64)


@algorithm(
    group="traversal",
    summary="the distances between all pairs of vertices",
    weights="used",
    column="dist",
    per="result",
    reference="R. Bellman: On a routing problem (1958)",
    needs=Needs(
        BOTH, Fields(lambda i, w: 8 * LANES, lambda i, w: 8 * LANES, lambda i, w: 8 * LANES),
        weighted=True,
    ),
)  # fmt: skip
def all_pairs_shortest_path(
    g: weft.Graph, sources: Any = None, *, weighted: bool = True, config: weft.Config | None = None
) -> Array:
    """Return the distance from every vertex, or from each source, to every vertex.

    Parameters
    ----------
    g
        A graph. Weights may be negative, but no cycle may have negative weight.
    sources
        The vertices to start from, by their labels if the graph has labels; all by default.
    weighted
        Whether weights are lengths; otherwise, and in unweighted graphs, every edge has length 1.
    config
        How to run it.

    Returns
    -------
    ndarray of float64
        A row per source and a column per vertex; inf where there is no path.

    Raises
    ------
    GraphError
        If a source does not exist, a weight is NaN, or there is a negative cycle.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 1, 0], [1, 2, 2], weight=[1.0, 2.0, 5.0])
    >>> weft.all_pairs_shortest_path(g).tolist()
    [[0.0, 1.0, 3.0], [inf, 0.0, 2.0], [inf, inf, 0.0]]
    """
    n, xp = g.num_vertices, g.topology.xp
    if n == 0:
        return xp.zeros((0, 0))
    if not (weighted and g.weighted and g.num_edges):
        every = sources is None
        levels = multi_source_bfs(g, all_of(g) if every else sources, config=config).T
        return xp.where(levels < 0, np.inf, levels)
    low, _ = g.edge.extent("weight")
    if low != low:
        raise GraphError("some weights are NaN. Expected numbers.")
    chosen = np.arange(n) if sources is None else check_each(g, sources)
    result, state = xp.empty((chosen.size, n)), g.state(dist=weft.full(np.inf, shape=LANES))
    for begin in range(0, chosen.size, LANES):
        block = move(chosen[begin : begin + LANES], g.topology.device)
        state.dist = np.inf
        state.dist[block, xp.arange(block.size)] = 0.0
        run = g.iterate(
            relax, state, distinct(block), max_iter=None if low >= 0 else n, config=config
        )
        if not run.converged:
            raise GraphError("there is a cycle of negative weight, so that distances do not exist.")
        result[begin : begin + LANES] = state.dist[:, : block.size].T
    return result


def all_of(g: weft.Graph) -> Any:
    """Return all vertices, as labels or numbers."""
    return np.arange(g.num_vertices) if g.labels is None else g.labels
