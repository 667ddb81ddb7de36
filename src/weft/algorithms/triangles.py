"""Triangle counting.

Method: edges are oriented from the end of lower degree (of lower id among equals) to the other one,
so that no vertex keeps more than √(2m) of them and each triangle has one vertex that points to
both others. A triangle is then a vertex w that both ends of an edge point to:

    number = Σ |out(v) ∩ out(u)| over oriented edges u -> v.

The sum is taken by v: the vertices that v points to are marked once for all u.

T. Schank, D. Wagner: Finding, counting and listing all triangles in large graphs (WEA 2005).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.adjacency import Adjacency, fitting_dtype
from weft.algorithms.simple import simple
from weft.config import Config
from weft.engine.state import scalar
from weft.graph import Graph
from weft.ir import functions as fn
from weft.ir import monoids
from weft.ir.proxies import common
from weft.program import vertex
from weft.topology import Topology

Array = np.ndarray[Any, Any]


@vertex
def close(v: Any) -> None:
    """Count the vertices that both v and a vertex that points to v point to."""
    closed = v.gather(lambda u, e: common(v, u, lambda w: 1, monoids.sum), monoids.sum)
    fn.reduce("triangles", closed, monoids.sum)


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
    rows = g.topology.out
    place = np.empty(g.num_vertices, rows.targets.dtype)  # of each vertex in the order of degrees
    place[np.argsort(g.out_degree, kind="stable")] = np.arange(g.num_vertices)
    kept = np.repeat(place, g.out_degree) < place[rows.targets]
    before = np.zeros(kept.size + 1, fitting_dtype(kept.size))
    np.cumsum(kept, out=before[1:])
    offsets = before[rows.offsets].astype(np.int64)
    out = Adjacency(offsets, np.compress(kept, rows.targets))
    in_ = Adjacency(rows.offsets - offsets, np.compress(~kept, rows.targets))
    return Graph(Topology.from_sorted(out, directed=True, other=in_))
