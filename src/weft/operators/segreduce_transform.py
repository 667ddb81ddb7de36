"""Segmented reduction: one value for every row of a frontier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.config import Config
from weft.engine.state import State
from weft.ir.trace.monoids import Monoid
from weft.operators.queue import checked
from weft.operators.running import check_state, scheduled
from weft.operators.values import reduced_values, single


def segreduce_transform(
    g: Any,
    frontier: Any,
    fn: Callable[..., Any],
    monoid: Monoid | tuple[Monoid, ...],
    state: State,
    *,
    schedule: Any = None,
    config: Config | None = None,
) -> Any:
    """Return the reduction of what a function returns at the arcs of every row of a frontier.

    Parameters
    ----------
    g
        The graph; ``g.reverse()`` for the arcs that enter the frontier. `segments` makes one whose
        rows are the segments of an array.
    frontier
        The rows; None for all.
    fn
        ``fn(u, v, e, idx, segment, rank)`` as for `lbs_transform`.
    monoid
        How the values of a row combine.
    state
        Made by ``g.state``.
    schedule, config
        As for `lbs_transform`.

    Returns
    -------
    ndarray or tuple of ndarray
        One element for every row in ascending order; of an empty row, the identity.

    Examples
    --------
    >>> import weft
    >>> from weft.operators import segments, segreduce_transform
    >>> rows = segments([0, 2, 2, 5])
    >>> state = rows.state()
    >>> segreduce_transform(rows, None, lambda u, v, e, idx, segment, rank: idx, weft.sum,
    ...                     state).tolist()
    [1, 0, 9]
    """
    check_state("segreduce_transform", state)
    first = checked(g, frontier, "segreduce_transform")
    config = scheduled(g, first, config, schedule, "out")
    return single(reduced_values(g, first, fn, monoid, state, config))
