"""Triangle counting.

Method: edges are oriented from the end of lower degree (of lower id among equals) to the other one,
so that no vertex keeps more than √(2m) of them and each triangle has one vertex that points to
both others. A triangle is then a vertex w that both ends of an edge point to:

    number = Σ |out(u) ∩ out(v)| over oriented edges u -> v.

The sum is taken by u, since the few v of high degree that most edges point to stay in the cache.
Vertices are numbered by falling degree as well: the neighbours of high degree, which most triangles
meet in, then lie close together, and whether w is among them is one bit each.

T. Schank, D. Wagner: Finding, counting and listing all triangles in large graphs (WEA 2005).
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np

from weft.algorithms.registry import Needs, algorithm
from weft.algorithms.support.simple import simple
from weft.config import Config
from weft.engine.state import scalar
from weft.graph import Graph
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.ir.trace.neighbors import common
from weft.program import edge
from weft.topology.adjacency import Adjacency, fitting_dtype, sort_arcs
from weft.topology.topology import Topology

Array = np.ndarray[Any, Any]


LONG_ROW = 64  # oriented arcs from which on sorting all arcs again pays on a GPU

# The graphs that triangles were counted in, by the topology of those that were asked about.
_known: weakref.WeakKeyDictionary[Topology, Graph] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


@edge
def close(u: Any, v: Any, e: Any) -> bool:
    """Count the vertices that both ends of an edge point to; nobody goes on."""
    fn.reduce("triangles", common(u, v, lambda w: 1, monoids.sum), monoids.sum)
    return False


@edge
def close_upwards(u: Any, v: Any, e: Any) -> bool:
    """Count the vertices beyond both ends of an edge that are adjacent to both."""
    beyond = common(u, v, lambda w: fn.cast((u.id < v.id) & (v.id < w.id), np.int64), monoids.sum)
    fn.reduce("triangles", beyond, monoids.sum)
    return False


@algorithm(
    group="structure",
    summary="the number of triangles",
    directed="ignored",
    reference=(
        "T. Schank, D. Wagner: Finding, counting and listing all triangles in "
        "large graphs (WEA 2005)"
    ),
    needs=Needs(frontier=False, simple=True, oriented=True),
)
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
    g = simple(g)
    if g.topology.carrier is not None:  # arcs stay where they are: none can be left out
        state = g.state(triangles=scalar(0))
        g.run(close_upwards, state, config=config)
        return int(state.triangles)
    arcs = ranked(g)
    state = arcs.state(triangles=scalar(0))
    arcs.run(close, state, config=config)
    return int(state.triangles)


def ranked(g: Graph) -> Graph:
    """Return the oriented graph with its vertices numbered by falling degree.

    In host memory it is kept for as long as the structure of g is. On a GPU, where memory is
    dearer, it is made again, and graphs of short rows keep their numbers.
    """
    if not g.topology.device.on_host:
        arcs = oriented(g)
        with g.topology.device.current():
            longest = int(arcs.out_degree.max()) if g.num_vertices else 0
            return renumbered(arcs, places(g)) if longest >= LONG_ROW else arcs
    with _lock:
        found = _known.get(g.topology)
        if found is None:
            found = _known[g.topology] = renumbered(oriented(g), places(g))
        return found


def renumbered(arcs: Graph, place: Array) -> Graph:
    """Return a directed graph with its vertices numbered by falling places."""
    n, device = arcs.num_vertices, arcs.topology.device
    number = n - 1 - place
    src, dst = arcs.topology.endpoints()
    offsets, targets, _ = sort_arcs(number[src], number[dst], n)
    rows = Adjacency(offsets, targets)
    return Graph(Topology.from_sorted(rows, directed=True, keep="out", device=device))


def oriented(g: Graph, *columns: str) -> Graph:
    """Return a simple undirected graph with each edge running to its end of higher degree.

    It has the named edge columns of g; edges get new numbers.
    """
    rows, xp = g.topology.out, g.topology.xp
    place = places(g)
    kept = rows.spread(place) < place[rows.targets]
    before = xp.zeros(kept.size + 1, fitting_dtype(kept.size))
    before[1:] = xp.cumsum(kept, dtype=before.dtype)
    offsets = before[rows.offsets].astype(np.int64)
    arcs = Adjacency(offsets, xp.compress(kept, rows.targets))
    topology = Topology.from_sorted(arcs, directed=True, keep="out", device=g.topology.device)
    held = {name: xp.compress(kept, g.edge.in_slots(name, "out")) for name in columns}
    return Graph(topology, edge=held)


def places(g: Graph) -> Array:
    """Return the place of each vertex in the order of rising degrees."""
    xp, dtype = g.topology.xp, g.topology.index_dtype
    place = xp.empty(g.num_vertices, dtype)
    place[xp.argsort(g.out_degree, kind="stable")] = xp.arange(g.num_vertices, dtype=dtype)
    return place
