"""Neighbour reduction: every vertex of a frontier combines a message over its neighbours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.config import Config
from weft.engine.frontier import Frontier
from weft.engine.state import State
from weft.errors import TraceError, shortened
from weft.ir.trace.cache import _identity
from weft.ir.trace.monoids import Monoid
from weft.ir.trace.steps import EdgeFunction
from weft.operators.functions import How, given
from weft.operators.queue import checked
from weft.operators.running import (
    Call,
    check_choice,
    check_state,
    finished,
    perform,
    scheduled,
)
from weft.operators.standing import repeated
from weft.operators.vertex_steps import reached, reduce_step


def neighbor_reduce(  # noqa: PLR0913
    g: Any,
    frontier: Any,
    message: Callable[..., Any],
    monoid: Monoid | tuple[Monoid, ...],
    state: State,
    *,
    into: str | tuple[str, ...],
    identity: Any = None,
    output: str | None = "rows",
    along: str = "out",
    schedule: Any = None,
    edge_state: State | None = None,
    config: Config | None = None,
) -> Frontier:
    """Combine a message over the neighbours of every vertex of a frontier.

    Parameters
    ----------
    g
        The graph.
    frontier
        The rows: vertices that reduce; None for all.
    message
        ``message(u, v, e)`` returns the message of the neighbour v of the row u, or a tuple.
        ``weft.send(x, when=...)`` leaves out neighbours.
    monoid
        How the messages of a row combine; a tuple gives one to each message.
    state
        Made by ``g.state``.
    into
        The field of the row, or the fields, that take the result.
    identity
        What a reduction begins with, by default the identity of the monoid, which is also the
        result of a row without neighbours.
    output
        "rows": the rows whose fields changed; "neighbors": all neighbours of the frontier; None:
        an empty frontier.
    along
        "out" reduces over the ends of the arcs that leave u, "in" over the sources of those that
        enter it.
    schedule, edge_state, config
        As for `advance`.

    Examples
    --------
    >>> import weft
    >>> from weft.operators import neighbor_reduce
    >>> def priority(u, v, e):
    ...     return v.hash
    >>> g = weft.generators.path(4)
    >>> state = g.state(hash=[5, 9, 2, 7], best=weft.full(0))
    >>> neighbor_reduce(g, None, priority, weft.max, state, into="best").tolist()
    [0, 1, 2, 3]
    >>> state.best.tolist()
    [9, 5, 9, 2]
    """
    check_choice("output", output, ("rows", "neighbors", None))
    check_choice("along", along, ("out", "in"))
    first = checked(g, frontier, "neighbor_reduce")
    config = scheduled(g, first, config, schedule, along)
    names = (into,) if isinstance(into, str) else _names(into)
    recurs = (
        "neighbor_reduce", _identity((message, monoid)), names, id(identity), output, along,
        id(config), frontier is None,
    )  # fmt: skip
    put_out = None if output is None else "vertices"
    found = repeated(g, first, state, edge_state, recurs, (message, monoid))
    if found is not None:
        return finished(g, first, found, put_out, False)
    check_state("neighbor_reduce", state)
    functions = given("neighbor_reduce", "u, v, e", message, None, None)
    how = How(output, along=along, everywhere=frontier is None)
    steps: tuple[Any, ...] = (
        reduce_step("neighbor_reduce", message, monoid, names, identity, how),
    )
    if output == "neighbors":
        steps = (*steps, EdgeFunction(reached, (), None, along=along))
    return perform(
        Call(
            who="neighbor_reduce",
            graph=g,
            steps=steps,
            state=state,
            frontier=first,
            output=put_out,
            edge_state=edge_state,
            config=config,
            counts=functions.wants_iteration(),
            key=(message, monoid, names, identity, *how),
            recurs=recurs,
            functions=(message, monoid),
        )
    )


def _names(into: Any) -> tuple[str, ...]:
    if not isinstance(into, list | tuple) or not all(isinstance(name, str) for name in into):
        raise TraceError(
            f"neighbor_reduce got into={shortened(into)}. Expected the name of a field, or a tuple "
            f"of names, one for each message."
        )
    return tuple(into)
