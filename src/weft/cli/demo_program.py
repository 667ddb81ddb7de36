# mypy: allow-untyped-defs, allow-untyped-calls
"""Breadth-first search as a user writes it. The page of the demo shows this file."""

import weft


@weft.edge(into="level", reduce=weft.any, accept=lambda v: v.level < 0)
def discover(u, v, e):
    """Give the next level to an undiscovered neighbour."""
    return u.level + 1


def bfs(g, source):
    """Return the level of every vertex, -1 where it is not reached."""
    state = g.state(level=weft.full(-1))
    state.level[source] = 0
    g.iterate(discover, state, g.frontier([source]))
    return state.level
