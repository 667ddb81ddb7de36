"""Compute: call a function at every item of a frontier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.config import Config
from weft.engine.frontier import Frontier
from weft.engine.state import State
from weft.graph.execution import signature_for
from weft.ir.trace.cache import _identity
from weft.operators import recording
from weft.operators.arc_steps import arc_step
from weft.operators.functions import MARK, How, given
from weft.operators.queue import checked
from weft.operators.running import Call, check_state, mark_of, perform
from weft.operators.standing import repeated
from weft.operators.vertex_steps import vertex_step


def compute(
    g: Any,
    frontier: Any,
    fn: Callable[..., Any],
    state: State,
    *,
    edge_state: State | None = None,
    config: Config | None = None,
) -> Frontier:
    """Call a function at every vertex (or arc) of a frontier; return the frontier.

    Parameters
    ----------
    g
        The graph.
    frontier
        Vertices, or a frontier of arcs; None for all vertices.
    fn
        ``fn(v)`` assigns the fields of v; over arcs, ``fn(u, v, e)`` updates v as in an advance.
    state
        Made by ``g.state``.
    edge_state
        Made by ``g.edge_state``, for functions of arcs.
    config
        How to run it.

    Examples
    --------
    >>> import weft
    >>> from weft.operators import compute
    >>> def double(v):
    ...     v.x = 2 * v.x
    >>> g = weft.generators.path(3)
    >>> state = g.state(x=[1, 2, 3])
    >>> compute(g, [0, 2], double, state)
    Frontier(2 of 3 vertices)
    >>> state.x.tolist()
    [2, 2, 6]
    """
    first = checked(g, frontier, "compute", arcs=True)
    everywhere = frontier is None
    recurs = ("compute", _identity(fn), id(config), everywhere, first.arcs)
    if repeated(g, first, state, edge_state, recurs, (fn,)) is not None:
        return first
    check_state("compute", state)
    functions = given("compute", "u, v, e" if first.arcs else "v", fn, None, None)
    if first.arcs:
        how = How(None, mark=recording.next_mark(MARK), everywhere=everywhere)
        step: Any = arc_step("compute", functions, how, signature_for(g, state, edge_state))
    else:
        step = vertex_step("compute", functions, everywhere)
    return perform(
        Call(
            who="compute",
            graph=g,
            steps=(step,),
            state=state,
            frontier=first,
            output="same",
            edge_state=edge_state,
            config=config,
            marks=mark_of((step,)),
            counts=functions.wants_iteration(),
            key=(*functions, everywhere),
            recurs=recurs,
            functions=(fn,),
        )
    )
