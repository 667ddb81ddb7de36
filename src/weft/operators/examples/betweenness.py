"""Betweenness centrality (Brandes): count shortest paths forward, gather dependencies backward."""

from typing import Any

from weft.engine.state import full
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.operators import advance, compute, neighbor_reduce


def betweenness(g: Any, sources: Any = None) -> Any:
    """Return how many shortest paths from the sources lead through each vertex, in shares.

    Parallel edges are separate paths. On an undirected graph every pair counts twice.

    Examples
    --------
    >>> import weft
    >>> from weft.operators.examples.betweenness import betweenness
    >>> betweenness(weft.generators.path(4)).tolist()
    [0.0, 4.0, 4.0, 0.0]
    """
    state = g.state(level=full(-1), paths=full(0.0), through=full(0.0), score=full(0.0))
    for source in range(g.num_vertices) if sources is None else sources:
        state.level, state.paths, state.through = -1, 0.0, 0.0
        state.level[source], state.paths[source] = 0, 1.0
        trail = [g.frontier([source])]
        while trail[-1]:
            trail.append(advance(g, trail[-1], None, state, cond=unseen, apply=count_paths,
                                 idempotent=True))  # fmt: skip
        for frontier in trail[:0:-1]:
            neighbor_reduce(g, frontier, depend, monoids.sum, state, into="through", output=None)
            compute(g, frontier, add, state)
    return state.score


def unseen(u: Any, v: Any, e: Any) -> Any:
    """Hold where an arc leads to a new vertex."""
    return v.level < 0


def count_paths(u: Any, v: Any, e: Any) -> None:
    """Add the paths to u to those to v, one level further."""
    v.paths += u.paths
    v.level = u.level + 1


def depend(u: Any, v: Any, e: Any) -> Any:
    """Return the part of the paths through v that come from u."""
    return fn.where(v.level == u.level + 1, u.paths / v.paths * (1 + v.through), 0.0)


def add(v: Any) -> None:
    """Add what one source contributes."""
    v.score += v.through
