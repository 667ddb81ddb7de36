"""Shortest paths by repeated relaxation (Bellman and Ford), on the vertices that changed."""

from typing import Any

from weft.engine.state import full
from weft.operators import advance


def sssp(g: Any, source: int) -> Any:
    """Return the distance of every vertex from a source; inf if there is no path.

    Examples
    --------
    >>> import weft
    >>> from weft.operators.examples.sssp import sssp
    >>> sssp(weft.Graph.from_edges([0, 0, 1], [1, 2, 2], [1.0, 5.0, 2.0]), 0).tolist()
    [0.0, 1.0, 3.0]
    """
    state = g.state(dist=full(float("inf")).but(source, 0.0))
    frontier = g.frontier([source])
    while frontier:
        frontier = advance(g, frontier, relax, state)
    return state.dist


def relax(u: Any, v: Any, e: Any) -> Any:
    """Offer a path through u; v goes on if it is shorter."""
    return v.dist.min(u.dist + e.weight)
