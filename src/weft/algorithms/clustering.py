"""Local clustering coefficients.

Method: the triangles of an oriented graph are found as in `triangle_count`, each once; each is
credited to its three corners. With t triangles and d neighbours,

    clustering(v) = 2 t(v) / (d(v) · (d(v) - 1)).

D. Watts, S. Strogatz: Collective dynamics of small-world networks (Nature 393, 1998).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.simple import simple
from weft.algorithms.triangle_count import oriented
from weft.config import Config
from weft.engine.state import full
from weft.graph import Graph
from weft.ir.trace import monoids
from weft.ir.trace.neighbors import common
from weft.program import edge

Array = np.ndarray[Any, Any]


@edge(order_free=True)
def credit(u: Any, v: Any, e: Any) -> bool:
    """Credit the triangles over an edge to its ends and to the third corner of each."""

    def third(w: Any) -> int:
        w.triangles.at(w.id).add(1)
        return 1

    found = common(u, v, third, monoids.sum)
    u.triangles.at(u.id).add(found)
    v.triangles.at(v.id).add(found)
    return False


@algorithm(
    group="structure",
    summary="the local clustering coefficient of every vertex",
    directed="ignored",
    reference=(
        "D. J. Watts, S. H. Strogatz: Collective dynamics of small-world networks (Nature 1998)"
    ),
    needs=Needs((), Fields(lambda i, w: 8, own=48), frontier=False, simple=True, oriented=True),
)
def clustering(g: Graph, *, config: Config | None = None) -> Array:
    """Return the share of the pairs of neighbours of each vertex that are adjacent themselves.

    Parameters
    ----------
    g
        A graph. Self-loops are ignored, parallel edges count once, and directed edges are taken to
        run both ways.
    config
        How to run it.

    Returns
    -------
    ndarray of float64
        One coefficient from 0 to 1 per vertex; 0 where there are fewer than two neighbours.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 0, 1], [1, 2, 3, 2], directed=False)
    >>> weft.clustering(g).round(3).tolist()
    [0.333, 1.0, 1.0, 0.0]
    """
    g = simple(g)
    arcs = oriented(g)
    state = arcs.state(triangles=full(0))
    arcs.run(credit, state, config=config)
    degree = g.out_degree.astype(np.float64)
    return 2 * state.triangles / g.topology.xp.maximum(degree * (degree - 1), 1)
