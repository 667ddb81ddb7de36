"""Filter: keep the items of a frontier for which a condition holds, and drop duplicates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.config import CHOICES, Config
from weft.engine.frontier import Frontier
from weft.engine.state import State
from weft.errors import ConfigError, unknown
from weft.graph.execution import signature_for
from weft.ir.trace.cache import _identity
from weft.operators import recording
from weft.operators.arc_steps import arc_step
from weft.operators.dedup import Tables, without_duplicates
from weft.operators.functions import MARK, How, given
from weft.operators.queue import Queue, checked, repeated_in
from weft.operators.running import Call, check_state, finished, mark_of, perform, with_choices
from weft.operators.standing import repeated
from weft.operators.vertex_steps import vertex_step

Function = Callable[..., Any]


def filter(  # noqa: PLR0913
    g: Any,
    frontier: Any,
    fn: Function | None = None,
    state: Any = None,
    *,
    cond: Function | None = None,
    apply: Function | None = None,
    dedup: str | None = None,
    tables: Tables | None = None,
    edge_state: State | None = None,
    config: Config | None = None,
) -> Frontier:
    """Return the items of a frontier for which a function returns true.

    Parameters
    ----------
    g
        The graph.
    frontier
        Vertices, a `Queue` or a frontier of arcs; None for all vertices.
    fn
        ``fn(v)`` returns whether v stays, and may assign its fields; over arcs ``fn(u, v, e)``. It
        is called once for a vertex, however often a queue repeats it.
    state
        Made by ``g.state``.
    cond, apply
        Instead of `fn`: ``apply(v)`` is called where ``cond(v)`` holds.
    dedup
        Which copies of a vertex a queue keeps: "none" drops none, "exact" (the default) all but
        the first; "bitmask", "history" and "warp" are the heuristics of GPUs, which keep at least
        one. The result is a `Queue` unless it is exact. A frontier has no duplicates.
    tables
        Sizes of the tables of "history" and "warp".
    edge_state
        Made by ``g.edge_state``, for functions of arcs.
    config
        How to run it.

    Examples
    --------
    >>> import weft
    >>> from weft.operators import Queue, filter
    >>> g = weft.generators.path(4)
    >>> state = g.state(x=[3, 1, 4, 1])
    >>> def odd(v):
    ...     return v.x % 2 == 1
    >>> filter(g, None, odd, state).tolist()
    [0, 1, 3]
    >>> filter(g, Queue(g, [3, 2, 3, 0]), odd, state, dedup="none").tolist()
    [3, 3, 0]
    """
    if dedup not in CHOICES["dedup"]:
        raise ConfigError(unknown("dedup", dedup, CHOICES["dedup"]))
    first = checked(g, frontier, "filter", arcs=True)
    config = with_choices(config, None, dedup)
    everywhere = frontier is None
    recurs = ("filter", _identity((fn, cond, apply)), id(config), everywhere, first.arcs)
    kept = repeated(g, first, state, edge_state, recurs, (fn, cond, apply))
    if kept is not None:
        kept = finished(g, first, kept, "vertices", False)
    else:
        check_state("filter", state)
        functions = given("filter", "u, v, e" if first.arcs else "v", fn, cond, apply)
        step: Any
        if first.arcs:
            how = How("arcs", False, "out", False, recording.next_mark(MARK), everywhere)
            step = arc_step("filter", functions, how, signature_for(g, state, edge_state))
        else:
            step = vertex_step("filter", functions, everywhere)
        kept = perform(
            Call(
                who="filter",
                graph=g,
                steps=(step,),
                state=state,
                frontier=first,
                output="arcs" if first.arcs else "vertices",
                edge_state=edge_state,
                config=config,
                marks=mark_of((step,)),
                counts=functions.wants_iteration(),
                key=(*functions, everywhere, dedup),
                recurs=recurs,
                functions=(fn, cond, apply),
            )
        )
    if not isinstance(first, Queue) or dedup in (None, "exact"):
        return kept
    left = Queue(g, without_duplicates(repeated_in(kept, first), dedup, tables or Tables()))
    left.iteration = kept.iteration
    return left
