"""Shortest paths by delta-stepping: near vertices are relaxed first, far ones wait in a queue."""

from typing import Any

from weft.engine.state import full
from weft.operators import advance, set_transform, split


def delta_stepping(g: Any, source: int, delta: float) -> Any:
    """Return the distance of every vertex from a source; weights must not be negative.

    Examples
    --------
    >>> import weft
    >>> from weft.operators.examples.delta_stepping import delta_stepping
    >>> g = weft.Graph.from_edges([0, 0, 1], [1, 2, 2], [1.0, 5.0, 2.0])
    >>> delta_stepping(g, 0, 2.0).tolist()
    [0.0, 1.0, 3.0]
    """
    state = g.state(dist=full(float("inf")).but(source, 0.0))
    near, far, limit = g.frontier([source]), g.frontier([]), delta
    while near:
        while near:
            reached = advance(g, near, relax, state)
            near, later = split(g, reached, "dist", state, limit)
            far = set_transform(g, far, later, "union")
        _, far = split(g, far, "dist", state, limit)
        if far:
            limit = max(limit, float(state.dist[far.items].min())) + delta
            near, far = split(g, far, "dist", state, limit)
    return state.dist


def relax(u: Any, v: Any, e: Any) -> Any:
    """Offer a path through u; v goes on if it is shorter."""
    return v.dist.min(u.dist + e.weight)
