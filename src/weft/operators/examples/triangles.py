"""Triangles by intersecting the neighbours of the two ends of every edge."""

from typing import Any

from weft.engine.state import full
from weft.ir.trace import functions as fn
from weft.operators import filter, intersect


def triangles(g: Any) -> Any:
    """Return how many triangles each vertex of an undirected graph is in.

    Parallel edges count once, and loops are ignored.

    Examples
    --------
    >>> import weft
    >>> from weft.operators.examples.triangles import triangles
    >>> triangles(weft.generators.complete(4)).tolist()
    [3, 3, 3, 3]
    """
    state = g.state(count=full(0))
    arcs = filter(g, g.edge_frontier(), rises, state)
    intersect(g, arcs, None, close, state, output=None)
    return state.count


def rises(u: Any, v: Any, e: Any) -> Any:
    """Keep one of all arcs between two vertices."""
    return (u.id < v.id) & (e.id == fn.find_edge(u.id, v.id))


def close(u: Any, v: Any, w: Any, eu: Any, ev: Any) -> None:
    """Count the triangle of rising vertices at each of them."""
    for corner in (u, v, w):
        corner.count.at(corner.id).add(fn.where(v.id < w.id, 1, 0))
