"""Load-balancing search: a function called at every arc of a frontier, as one list of work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.config import Config
from weft.engine.state import State
from weft.operators.queue import checked
from weft.operators.running import check_state, scheduled
from weft.operators.values import single, work_values


def lbs_transform(
    g: Any,
    frontier: Any,
    fn: Callable[..., Any],
    state: State,
    *,
    schedule: Any = None,
    config: Config | None = None,
) -> Any:
    """Return the values of a function at every arc that leaves a frontier, as one array.

    The arcs are numbered through, row after row. Threads share that list by the schedule of the
    call, which is the partition of the work; the result does not depend on it.

    Parameters
    ----------
    g
        The graph; ``g.reverse()`` for the arcs that enter the frontier. `segments` makes one whose
        rows are the segments of an array.
    frontier
        The rows; None for all.
    fn
        ``fn(u, v, e, idx, segment, rank)`` returns a scalar, or a tuple of scalars: idx is the
        number of the work item, segment the position of u in the frontier, and rank the position
        of the arc in its row. It writes nothing.
    state
        Made by ``g.state``.
    schedule, config
        As for `advance`.

    Examples
    --------
    >>> import weft
    >>> from weft.operators import lbs_transform
    >>> g = weft.Graph.from_edges([0, 0, 2, 2, 2], [1, 2, 0, 1, 3])
    >>> def work(u, v, e, idx, segment, rank):
    ...     return idx, segment, rank, v.id
    >>> for part in lbs_transform(g, [0, 2], work, g.state()):
    ...     print(part.tolist())
    [0, 1, 2, 3, 4]
    [0, 0, 1, 1, 1]
    [0, 1, 0, 1, 2]
    [1, 2, 0, 1, 3]
    """
    check_state("lbs_transform", state)
    first = checked(g, frontier, "lbs_transform")
    config = scheduled(g, first, config, schedule, "out")
    return single(work_values(g, first, fn, state, config))
