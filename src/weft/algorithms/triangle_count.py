"""Triangle counting.

Method: edges are oriented from the end of lower degree (of lower id among equals) to the other one,
so that no vertex keeps more than √(2m) of them and each triangle has one vertex that points to
both others. A triangle is then a vertex w that both ends of an edge point to:

    number = Σ |out(u) ∩ out(v)| over oriented edges u -> v.

The sum is taken by u, since the few v of high degree that most edges point to stay in the cache.
Vertices are also numbered by decreasing degree: the high-degree neighbours, where most triangles
meet, are then adjacent in memory, and membership of w is one bit.

T. Schank, D. Wagner: Finding, counting and listing all triangles in large graphs (WEA 2005).
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np

import weft
from weft.algorithms.registry import Needs, algorithm
from weft.algorithms.support.simple import simple
from weft.topology.adjacency import Adjacency, fitting_dtype, sort_arcs
from weft.topology.topology import Topology

Array = np.ndarray[Any, Any]


LONG_ROW = 64  # number of oriented arcs from which re-sorting pays on a GPU

# The prepared graphs, by the topology of the original ones.
_known: weakref.WeakKeyDictionary[Topology, weft.Graph] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


@weft.edge
def close(u: Any, v: Any, e: Any) -> bool:
    """Count the vertices that both ends of an edge point to; no vertex stays active."""
    weft.reduce("triangles", weft.common(u, v, lambda w: 1, weft.sum), weft.sum)
    return False


@weft.edge
def close_upwards(u: Any, v: Any, e: Any) -> bool:
    """Count the vertices beyond both ends of an edge that are adjacent to both."""
    beyond = weft.common(
        u, v, lambda w: weft.cast((u.id < v.id) & (v.id < w.id), np.int64), weft.sum
    )
    weft.reduce("triangles", beyond, weft.sum)
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
def triangle_count(g: weft.Graph, *, config: weft.Config | None = None) -> int:
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
    if g.topology.carrier is not None:  # arcs stay in place, so none can be omitted
        state = g.state(triangles=weft.scalar(0))
        g.run(close_upwards, state, config=config)
        return int(state.triangles)
    arcs = ranked(g)
    state = arcs.state(triangles=weft.scalar(0))
    arcs.run(close, state, config=config)
    return int(state.triangles)


def ranked(g: weft.Graph) -> weft.Graph:
    """Return the oriented graph with its vertices numbered by decreasing degree.

    In host memory it is cached with the structure of g. On a GPU, where memory is scarcer, it is
    rebuilt each time, and graphs with short rows are not renumbered.
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


def renumbered(arcs: weft.Graph, place: Array) -> weft.Graph:
    """Return a directed graph with its vertices numbered by decreasing place."""
    n, device = arcs.num_vertices, arcs.topology.device
    number = n - 1 - place
    src, dst = arcs.topology.endpoints()
    offsets, targets, _ = sort_arcs(number[src], number[dst], n)
    rows = Adjacency(offsets, targets)
    return weft.Graph(Topology.from_sorted(rows, directed=True, keep="out", device=device))


def oriented(g: weft.Graph, *columns: str) -> weft.Graph:
    """Return a simple undirected graph with each edge running to its end of higher degree.

    It has the named edge columns of g; edges are renumbered.
    """
    return rising(g, places(g), *columns)


def rising(g: weft.Graph, place: Array, *columns: str) -> weft.Graph:
    """Return a simple undirected graph with each edge running to its end of greater place."""
    rows, xp = g.topology.out, g.topology.xp
    kept = rows.spread(place) < place[rows.targets]
    before = xp.zeros(kept.size + 1, fitting_dtype(kept.size))
    before[1:] = xp.cumsum(kept, dtype=before.dtype)
    offsets = before[rows.offsets].astype(np.int64)
    arcs = Adjacency(offsets, xp.compress(kept, rows.targets))
    topology = Topology.from_sorted(arcs, directed=True, keep="out", device=g.topology.device)
    held = {name: xp.compress(kept, g.edge.in_slots(name, "out")) for name in columns}
    return weft.Graph(topology, edge=held)


def places(g: weft.Graph) -> Array:
    """Return the place of each vertex in ascending order of degree."""
    xp, dtype = g.topology.xp, g.topology.index_dtype
    place = xp.empty(g.num_vertices, dtype)
    place[xp.argsort(g.out_degree, kind="stable")] = xp.arange(g.num_vertices, dtype=dtype)
    return place
