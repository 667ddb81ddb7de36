"""Compact: the items of a frontier that pass, or a value of each, without gaps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.config import Config
from weft.engine.state import State
from weft.operators.queue import checked
from weft.operators.running import check_state
from weft.operators.values import compacted_values, single


def compact_transform(
    g: Any,
    frontier: Any,
    fn: Callable[..., Any],
    state: State,
    *,
    value: Callable[..., Any] | None = None,
    config: Config | None = None,
) -> Any:
    """Return the vertices of a frontier that pass, or what a second function returns at them.

    The up-sweep counts the items that pass, a prefix sum gives them places, and the down-sweep
    writes them there.

    Parameters
    ----------
    g
        The graph.
    frontier
        Vertices, visited in ascending order; None for all.
    fn
        ``fn(v, idx)`` returns whether the item passes; idx is its position in the frontier.
    state
        Made by ``g.state``.
    value
        ``value(v, idx)``: what to return of the items that pass.
    config
        How to run it.

    Returns
    -------
    Frontier, ndarray or tuple of ndarray
        A frontier without `value`.

    Examples
    --------
    >>> import weft
    >>> from weft.operators import compact_transform
    >>> g = weft.generators.path(5)
    >>> state = g.state(x=[3, 1, 4, 1, 5])
    >>> compact_transform(g, None, lambda v, idx: v.x > 2, state).tolist()
    [0, 2, 4]
    >>> compact_transform(g, [1, 2, 4], lambda v, idx: idx != 0, state,
    ...                   value=lambda v, idx: v.x).tolist()
    [4, 5]
    """
    check_state("compact_transform", state)
    first = checked(g, frontier, "compact_transform")
    found = compacted_values(g, first, (fn, value), state, config)
    if value is not None:
        return single(found)
    kept = g.frontier(found[0])
    kept.iteration = first.iteration
    return kept
