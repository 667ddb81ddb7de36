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
    how: dict[str, Any] = {"cond": reaches, "apply": visit, "idempotent": True}
    while active:
        if len(unvisited) <= ratio * len(active):
            active, unvisited = advance(g, (active, unvisited), None, state, **how)
        else:
            active = advance(g, active, None, state, direction="push", **how)
            unvisited = filter(g, unvisited, unseen, state)
    return state.level


def unseen(v: Any) -> Any:
    """Hold where no level is known."""
    return v.level < 0


def reaches(u: Any, v: Any, e: Any) -> Any:
    """Hold where an arc leads to a new vertex."""
    return v.level < 0


def visit(u: Any, v: Any, e: Any) -> None:
    """Give v the next level; all of its arcs agree on it."""
    v.level = u.level + 1
