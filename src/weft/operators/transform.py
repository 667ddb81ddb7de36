"""Transform: an array of what a function returns at the items of a frontier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.config import Config
from weft.engine.state import State
from weft.operators.queue import checked
from weft.operators.running import check_state
from weft.operators.values import indexed_values, single


def transform(
    g: Any,
    frontier: Any,
    fn: Callable[..., Any],
    state: State,
    *,
    config: Config | None = None,
) -> Any:
    """Return the values of a function at every vertex of a frontier, as an array.

    Parameters
    ----------
    g
        The graph.
    frontier
        Vertices, visited in ascending order; None for all.
    fn
        ``fn(v, idx)`` returns a scalar, or a tuple of scalars; idx is the position of v in the
        frontier. It writes nothing: see `compute`.
    state
        Made by ``g.state``.
    config
        How to run it.

    Examples
    --------
    >>> import weft
    >>> from weft.operators import transform
    >>> g = weft.generators.path(4)
    >>> transform(g, [1, 3], lambda v, idx: v.x * 10 + idx, g.state(x=[5, 6, 7, 8])).tolist()
    [60, 81]
    """
    check_state("transform", state)
    first = checked(g, frontier, "transform")
    return single(indexed_values(g, first, fn, state, config, "transform"))
