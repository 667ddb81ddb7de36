"""Lists of triangles, and their number at every edge.

Method: each triangle of an oriented graph is found once, as in `triangle_count`, and listed. At an
edge, the common neighbours of its ends are counted at the end of higher degree: the neighbours of
the other end are looked up among its own, O(Σ min(d(u), d(v))). Both are O(m^1.5) at most.

T. Schank, D. Wagner: Finding, counting and listing all triangles in large graphs (WEA 2005).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.simple import simple
from weft.algorithms.support.simple_edges import pair_numbers
from weft.algorithms.triangle_count import oriented, places
from weft.topology.adjacency_gpu import sums_of_keys

Array = np.ndarray[Any, Any]

REFERENCE = "T. Schank, D. Wagner: Finding, counting and listing all triangles (WEA 2005)"


@weft.edge
def tell(u: Any, v: Any, e: Any) -> None:
    """Emit the triangles over an edge."""
    weft.common(u, v, lambda w: weft.emit(u.id, v.id, w.id))


@weft.edge
def count_common(u: Any, v: Any, e: Any) -> bool:
    """Count the triangles over an arc."""
    e.found = weft.common(u, v, lambda w: weft.cast(1, np.int64), weft.sum)
    return False


@algorithm(
    group="structure",
    summary="all triangles, one by one",
    directed="ignored",
    per="result",
    reference=REFERENCE,
    needs=Needs((), Fields(own=48), frontier=False, simple=True, oriented=True),
)
def list_triangles(g: weft.Graph, *, config: weft.Config | None = None) -> Array:
    """Return all triangles: sets of three vertices that are all adjacent.

    Parameters
    ----------
    g
        A graph. Self-loops are ignored, parallel edges count once, and directed edges are taken to
        run both ways.
    config
        How to run it.

    Returns
    -------
    ndarray
        A row of three ascending vertices for each triangle, in lexicographic order.

    Raises
    ------
    DeviceMemoryError
        If they do not fit into memory; `triangle_count` returns their number.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 2, 1], [1, 2, 2, 3, 3], directed=False)
    >>> weft.list_triangles(g).tolist()
    [[0, 1, 2], [1, 2, 3]]
    """
    arcs, xp = oriented(simple(g)), g.topology.xp
    found = xp.sort(xp.stack(arcs.emit(tell, config=config), axis=1), axis=1)
    found = found.astype(g.topology.index_dtype, copy=False)
    return found[xp.lexsort(found.T[::-1])]


@algorithm(
    group="structure",
    summary="the number of triangles that each edge belongs to",
    directed="ignored",
    column="triangles",
    per="result",
    reference=REFERENCE,
    needs=Needs(("out",), Fields(own=400), simple=True, degrees=("out",)),
)
def edge_triangles(g: weft.Graph, *, config: weft.Config | None = None) -> Array:
    """Return the number of triangles that contain each edge.

    Parameters
    ----------
    g
        A graph. Parallel edges belong to the same triangles, self-loops to none, and directed edges
        are taken to run both ways.
    config
        How to run it.

    Returns
    -------
    ndarray of int64
        One number per edge, in the order of `Graph.to_edges`.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 2, 1], [1, 2, 2, 3, 3], directed=False)
    >>> weft.edge_triangles(g).tolist()
    [1, 1, 2, 1, 1]
    """
    plain = simple(g)
    found, number = supports(plain, config), pair_numbers(g, plain)
    xp = g.topology.xp
    if not found.size:
        return xp.zeros(number.size, np.int64)
    return xp.where(number >= 0, found[xp.maximum(number, 0)], 0)


def supports(plain: weft.Graph, config: weft.Config | None) -> Array:
    """Return the number of triangles at each edge of a simple undirected graph."""
    count = plain.num_edges
    if not count:
        return plain.topology.xp.zeros(0, np.int64)
    place, (src, dst) = places(plain), plain.topology.endpoints()
    state = plain.edge_state(found=weft.full(0))
    downward = plain.edge_frontier(place[src] > place[dst])
    plain.run(count_common, plain.state(), downward, edge_state=state, config=config)
    number = plain.topology.edges("out")
    found = state.found if number is None else sums_of_keys(number, state.found, count)
    return found.astype(np.int64, copy=False)
