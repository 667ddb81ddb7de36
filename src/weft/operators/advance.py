"""Advance: visit the arcs of a frontier, update their ends, and collect the next frontier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.arrays.device import module_of
from weft.config import Config
from weft.engine.frontier import Frontier
from weft.engine.state import State
from weft.errors import TraceError
from weft.graph.execution import signature_for
from weft.ir.request import Deferred
from weft.ir.trace.cache import _identity
from weft.ir.trace.steps import Fold
from weft.operators import recording
from weft.operators.arc_steps import arc_step
from weft.operators.functions import MARK, OPEN, How, given
from weft.operators.queue import checked
from weft.operators.running import (
    Call,
    check_choice,
    check_state,
    finished,
    mark_of,
    perform,
    scheduled,
)
from weft.operators.standing import repeated
from weft.operators.twins import twin_of

Function = Callable[..., Any]


def advance(  # noqa: PLR0913
    g: Any,
    frontier: Any,
    fn: Function | None = None,
    state: Any = None,
    *,
    cond: Function | None = None,
    apply: Function | None = None,
    output: str | None = "vertices",
    idempotent: bool = False,
    along: str = "out",
    direction: str | None = None,
    schedule: Any = None,
    edge_state: State | None = None,
    config: Config | None = None,
) -> Any:
    """Visit the arcs that leave a frontier; return the vertices or arcs that pass.

    Parameters
    ----------
    g
        The graph.
    frontier
        Vertices whose arcs are visited, or a frontier of arcs; None visits all arcs. With
        ``direction="pull"`` also a pair ``(active, unvisited)``: only unvisited vertices are
        visited, and the result is such a pair again.
    fn
        ``fn(u, v, e)`` updates v and returns whether the item joins the output. It reads values
        from before the advance. The updates are ``v.x += ...``, ``*=``, ``|=``, ``&=``,
        ``v.x.min(...)`` and ``v.x.max(...)``, of which the last two return whether the new value
        is better. ``v.x.at(v.id)`` is the current value, with ``min``, ``add``, ``cas`` and
        others that return the value before. Or a function made by `weft.edge`.
    state
        Made by ``g.state``.
    cond, apply
        Instead of `fn`: ``cond(u, v, e)`` decides whether an arc passes, and ``apply(u, v, e)``
        is called where it does. A condition on v alone is tested before the arcs of v are read. If
        `apply` returns nothing, the vertices that it changed are the output. After a condition on
        both ends, an `apply` that changes live fields, edge state or scalars is pushed.
    output
        "vertices": the vertices v with an arc that passed; "arcs": the arcs that passed; None: an
        empty frontier, at no cost.
    idempotent
        Whether a plain assignment ``v.x = ...`` is allowed. One of the assigned values is
        stored, without atomics.
    along
        "out", or "in" to follow arcs backwards: u is then the end of the arc.
    direction
        "push", "pull" or "auto".
    schedule
        "auto", "input", "output" or the name of a schedule; see `weft.operators.balance`.
    edge_state
        Made by ``g.edge_state``; `fn` may assign it.
    config
        Further options.

    Returns
    -------
    Frontier
        Or a pair of frontiers, if one was given.

    Examples
    --------
    >>> import weft
    >>> from weft.operators import advance
    >>> def relax(u, v, e):
    ...     return v.dist.min(u.dist + e.weight)
    >>> g = weft.Graph.from_edges([0, 0, 1], [1, 2, 2], [1.0, 5.0, 2.0])
    >>> state = g.state(dist=[0.0, float("inf"), float("inf")])
    >>> frontier = g.frontier([0])
    >>> while frontier:
    ...     frontier = advance(g, frontier, relax, state)
    >>> state.dist.tolist()
    [0.0, 1.0, 3.0]

    The pair of a condition and what happens where it holds:

    >>> state = g.state(level=[0, -1, -1])
    >>> def unseen(u, v, e):
    ...     return v.level < 0
    >>> def label(u, v, e):
    ...     v.level = u.level + 1
    >>> advance(g, [0], None, state, cond=unseen, apply=label, idempotent=True).tolist()
    [1, 2]
    """
    check_choice("output", output, ("vertices", "arcs", None))
    check_choice("along", along, ("out", "in"))
    if type(frontier) is tuple and _are_two(frontier):
        check_state("advance", state)
        functions = given("advance", "u, v, e", fn, cond, apply)
        how = How(output, idempotent, along, True)
        options = (direction, edge_state, config, schedule)
        return _pull(g, frontier, functions, state, how, options)
    first = checked(g, frontier, "advance", arcs=True)
    config = scheduled(g, first, config, schedule, along)
    recurs = (
        "advance", _identity((fn, cond, apply)), output, idempotent, along, id(direction),
        id(config), frontier is None, first.arcs,
    )  # fmt: skip
    found = repeated(g, first, state, edge_state, recurs, (fn, cond, apply))
    if found is not None:
        return finished(g, first, found, output, True)
    check_state("advance", state)
    functions = given("advance", "u, v, e", fn, cond, apply)
    how = How(output, idempotent, along, False, recording.next_mark(MARK), frontier is None)
    counts = functions.wants_iteration()
    counted = _counting if counts else signature_for
    signature = counted(g, state, edge_state)
    step = arc_step("advance", functions, how, signature)
    return perform(
        Call(
            who="advance",
            graph=g,
            steps=(step,),
            state=state,
            frontier=first,
            output=output,
            edge_state=edge_state,
            config=config,
            direction=direction,
            marks=mark_of((step,)),
            counts=counts,
            advances=True,
            key=(*functions, *how._replace(mark=MARK)),
            recurs=recurs,
            functions=(fn, cond, apply),
        )
    )


def _are_two(parts: tuple[Any, ...]) -> bool:
    """Whether these are two frontiers, rather than vertices."""
    return len(parts) == 2 and any(
        isinstance(part, Frontier | list | range | np.ndarray) for part in parts
    )


def _counting(g: Any, state: State, edge_state: State | None) -> Any:
    """Return the signature of a state with the number of the iteration."""
    return signature_for(g, twin_of(state, state.fields, 0), edge_state)


def _pull(
    g: Any,
    pair: tuple[Frontier, Frontier],
    functions: Any,
    state: State,
    how: How,
    options: tuple[Any, ...],
) -> tuple[Frontier, Frontier]:
    """Visit unvisited vertices from active ones; return those reached, and those that remain."""
    direction, edge_state, config, schedule = options
    active, unvisited = (checked(g, part, "advance") for part in pair)
    config = scheduled(g, unvisited, config, schedule, "in" if how.along == "out" else "out")
    if direction not in (None, "pull", "auto"):
        raise TraceError(
            f"advance got a pair of frontiers and direction={direction!r}. Expected 'pull', which "
            f"visits the unvisited vertices."
        )
    if how.output != "vertices":
        raise TraceError(
            f"advance got a pair of frontiers and output={how.output!r}. Expected 'vertices'."
        )
    mask = unvisited.mask()
    held = twin_of(state, {**state.fields, OPEN: mask})
    if functions.wants_iteration():
        held = twin_of(held, held.fields, active.iteration)
    step = arc_step("advance", functions, how, signature_for(g, held, edge_state))
    reached = perform(
        Call(
            who="advance",
            graph=g,
            steps=(step,),
            state=held,
            frontier=active,
            output="vertices",
            edge_state=edge_state,
            config=config,
            # A condition on both ends, before what takes effect at once, is tested in pushes.
            direction=direction or (None if isinstance(step, Fold) else "pull"),
            marks=mark_of((step,)),
            advances=True,
            key=(*functions, *how, "pair"),
            owner=state,
        )
    )
    with g.topology.device.current():
        left = mask & ~reached.mask()
    kind, size = g.topology.index_dtype, len(unvisited) - len(reached)
    items = Deferred(lambda: module_of(left).flatnonzero(left).astype(kind), size)
    remaining = Frontier(items, g.num_vertices, device=g.topology.device)
    remaining.version, remaining.iteration = reached.version, reached.iteration
    return reached, remaining
