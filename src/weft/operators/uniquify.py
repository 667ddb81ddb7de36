"""Uniquify: a queue without repetitions."""

from __future__ import annotations

from typing import Any

from weft.engine.frontier import Frontier
from weft.operators.queue import Queue, checked


def uniquify(g: Any, frontier: Any) -> Frontier:
    """Return the distinct vertices of a queue, as a frontier.

    Examples
    --------
    >>> import weft
    >>> from weft.operators import Queue, uniquify
    >>> g = weft.generators.path(4)
    >>> uniquify(g, Queue(g, [3, 1, 3]))
    Frontier(2 of 4 vertices)
    """
    first = checked(g, frontier, "uniquify", arcs=True)
    if not isinstance(first, Queue):
        return first
    found = g.frontier(first.items)
    assert isinstance(found, Frontier)
    found.iteration = first.iteration
    return found
