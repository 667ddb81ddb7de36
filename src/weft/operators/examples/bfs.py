"""Breadth-first search that pushes from narrow frontiers and pulls into few unvisited vertices."""

from typing import Any

from weft.engine.state import full
from weft.operators import advance, filter


def bfs(g: Any, source: int, ratio: int = 4) -> Any:
    """Return the level of every vertex; -1 if it is not reached.

    It pulls while there are at most `ratio` times as many unvisited vertices as active ones.

    Examples
    --------
    >>> import weft
    >>> from weft.operators.examples.bfs import bfs
    >>> bfs(weft.generators.path(4), 1).tolist()
    [1, 0, 1, 2]
    """
    state = g.state(level=full(-1).but(source, 0))
    active = g.frontier([source])
    unvisited = filter(g, None, unseen, state)
    while active:
        if len(unvisited) <= ratio * len(active):
            pair = (active, unvisited)
            active, unvisited = advance(g, pair, visit, state, idempotent=True, direction="pull")
        else:
            active = advance(
                g, active, None, state, cond=reaches, apply=visit, idempotent=True, direction="push"
            )
            unvisited = filter(g, unvisited, unseen, state)
    return state.level


def unseen(v: Any) -> Any:
    """Hold where no level is known."""
    return v.level < 0


def reaches(u: Any, v: Any, e: Any) -> Any:
    """Hold where an arc leads to a new vertex."""
    return v.level < 0


def visit(u: Any, v: Any, e: Any) -> Any:
    """Give v the next level; all of its arcs agree on it."""
    v.level = u.level + 1
    return True
