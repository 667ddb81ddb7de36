"""Triangle counting.

Method: edges are oriented from the end of lower degree (of lower id among equals) to the other one,
so that no vertex keeps more than √(2m) of them and each triangle has one vertex that points to
both others. A triangle is then a vertex w that both ends of an edge point to:

    number = Σ |out(u) ∩ out(v)| over oriented edges u -> v.

The sum is taken by u, since the few v of high degree that most edges point to stay in the cache.

T. Schank, D. Wagner: Finding, counting and listing all triangles in large graphs (WEA 2005).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.adjacency import Adjacency, fitting_dtype
from weft.algorithms.guarding import on_its_device
from weft.algorithms.simple import simple
from weft.config import Config
from weft.engine.state import scalar
from weft.graph import Graph
from weft.ir import functions as fn
from weft.ir import monoids
from weft.ir.proxies import common
from weft.program import edge
from weft.topology import Topology

Array = np.ndarray[Any, Any]


@edge
def close(u: Any, v: Any, e: Any) -> bool:
    """Count the vertices that both ends of an edge point to; nobody goes on."""
    fn.reduce("triangles", common(u, v, lambda w: 1, monoids.sum), monoids.sum)
    return False


@on_its_device
def triangle_count(g: Graph, *, config: Config | None = None) -> int:
    """Return the number of triangles: sets of three vertices that are all adjacent.

    Parameters
    ----------
    g
        A graph. Self-loops are ignored, parallel edges count once, and directed edges are taken to
        run both ways.
    config
        How to run it.

    Returns
    -------
    int

    Examples
    --------
    >>> import weft
    >>> weft.triangle_count(weft.generators.complete(5))
    10
    """
    g = oriented(simple(g))
    state = g.state(triangles=scalar(0))
    g.run(close, state, config=config)
    return int(state.triangles)


def oriented(g: Graph) -> Graph:
    """Return a simple undirected graph with each edge running to its end of higher degree."""
    rows, xp = g.topology.out, g.topology.xp
    dtype = rows.targets.dtype
    place = xp.empty(g.num_vertices, dtype)  # of each vertex in the order of degrees
    place[xp.argsort(g.out_degree, kind="stable")] = xp.arange(g.num_vertices, dtype=dtype)
    kept = rows.spread(place) < place[rows.targets]
    before = xp.zeros(kept.size + 1, fitting_dtype(kept.size))
    before[1:] = xp.cumsum(kept, dtype=before.dtype)
    offsets = before[rows.offsets].astype(np.int64)
    arcs = Adjacency(offsets, xp.compress(kept, rows.targets))
    topology = Topology.from_sorted(arcs, directed=True, keep="out", device=g.topology.device)
    return Graph(topology)
