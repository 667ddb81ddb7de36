"""Intersect: the common neighbours of pairs of vertices, or of the two ends of arcs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from weft.config import Config
from weft.engine.frontier import Frontier
from weft.engine.state import State
from weft.errors import GraphError, TraceError
from weft.graph.execution import edge_state as state_of_arcs
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.ir.trace.builder import fail
from weft.ir.trace.emits import emit
from weft.ir.trace.monoids import Monoid
from weft.ir.trace.neighbors import common
from weft.ir.trace.steps import EdgeFunction, name_of
from weft.operators.functions import called, kept_step
from weft.operators.queue import checked, vertices_in_order
from weft.operators.running import check_choice, check_state
from weft.operators.values import as_parts, recording_ends, single
from weft.program import check_function

Function = Callable[..., Any]
PLACE = "operator_place"  # the hidden edge field: which pair, or which arc, this is
COUNT = "operator_count"  # the hidden edge field: how many common neighbours passed
FIRST = ("u", "v", "w", "eu", "ev")


class Items(NamedTuple):
    """Common neighbours, pair after pair: which pair, and the common neighbour."""

    pair: Any
    vertex: Any


def intersect(  # noqa: PLR0913
    g: Any,
    a: Any,
    b: Any = None,
    fn: Function | None = None,
    state: State | None = None,
    *,
    monoid: Monoid | tuple[Monoid, ...] | None = None,
    output: str | None = "items",
    edge_state: State | None = None,
    config: Config | None = None,
) -> Any:
    """Call a function at the common out-neighbours of two vertices, for every pair.

    Parameters
    ----------
    g
        The graph.
    a, b
        Two lists of vertices of equal length: pair i is ``a[i], b[i]``. Or, with ``b=None``, a
        frontier of arcs, whose ends are the pairs.
    fn
        ``fn(u, v, w, eu, ev)`` is called at every common neighbour w; eu is the arc from u to w
        and ev that from v to w. Without a monoid it returns whether w counts; nothing counts as
        true. With one it returns a message. It may also update ``w.x.at(w.id)``.
    state
        Made by ``g.state``.
    monoid
        How the messages of a pair combine.
    output
        Without a monoid, "items": the common neighbours that count; "counts": their number for
        every pair; None: nothing, `fn` is called for its updates alone.
    edge_state
        Made by ``g.edge_state``: what `fn` reads of eu and ev beside columns.
    config
        How to run it.

    Returns
    -------
    Items, ndarray, tuple of ndarray or None
        With a monoid, the reductions, one for every pair. Pairs come in the order given, arcs in
        ascending order; the common neighbours of a pair ascend. Parallel arcs count once.

    Examples
    --------
    >>> import weft
    >>> from weft.operators import intersect
    >>> g = weft.generators.complete(4)
    >>> def any_of_them(u, v, w, eu, ev):
    ...     return w.id > 0
    >>> found = intersect(g, [1, 0], [2, 1], any_of_them, g.state())
    >>> found.pair.tolist(), found.vertex.tolist()
    ([0, 1, 1], [3, 2, 3])
    >>> intersect(g, g.edge_frontier([0]), None, any_of_them, g.state(), output="counts").tolist()
    [2]
    """
    check_choice("output", output, ("items", "counts", None))
    check_state("intersect", state)
    if fn is None:
        raise TraceError("intersect got no function. Expected one of u, v, w, eu, ev.")
    check_function(fn, "intersect", "u, v, w, eu, ev")
    recording_ends("intersect")
    what, held, count = _pairs(g, a, b, edge_state)
    assert state is not None
    if monoid is not None:
        step = _kept(fn, "values", monoid)
        return single(g.emit(step, state, what, edge_state=held, config=config))
    if output == "items":
        pair, vertex = g.emit(_kept(fn, "items"), state, what, edge_state=held, config=config)
        if b is None:
            pair = _positions(g, what, pair)
        return Items(pair, vertex)
    g.run(_kept(fn, "counts"), state, what, edge_state=held, config=config)
    if output is None:
        return None
    counts = held.fields[COUNT]
    return counts[what.items] if b is None else counts[:count]


def _pairs(g: Any, a: Any, b: Any, edge_state: State | None) -> tuple[Any, State, int]:
    """Return the frontier of the run, its state with the hidden fields, and the number of pairs."""
    if b is None:
        if not (isinstance(a, Frontier) and a.arcs):
            raise TraceError(
                f"intersect got {a!r} and no second list. Expected two lists of vertices of equal "
                f"length, or one frontier of arcs."
            )
        arcs = checked(g, a, "intersect", arcs=True)
        given = {} if edge_state is None else edge_state.fields
        hidden = state_of_arcs(g, _hidden(g.topology.num_arcs)).fields
        return arcs, State({**given, **hidden}, {}, version=g._history.version), len(arcs)
    if edge_state is not None:
        raise TraceError("intersect got edge_state= for pairs. Expected it with arcs alone.")
    left, right = (vertices_in_order(g, part, "intersect") for part in (a, b))
    if left.size != right.size:
        raise GraphError(
            f"intersect got {left.size} vertices and {right.size}. Expected two lists of equal "
            f"length: pair i is a[i], b[i]."
        )
    pairs = g.pairs(left, right)
    return pairs, pairs.state(**_hidden(int(left.size))), int(left.size)


def _hidden(count: int) -> dict[str, Any]:
    return {PLACE: np.arange(count), COUNT: np.zeros(count, np.int64)}


def _positions(g: Any, arcs: Frontier, pair: Any) -> Any:
    """Return the places of arcs within their frontier."""
    with g.topology.device.current():
        return g.topology.xp.searchsorted(arcs.items, pair)


def _kept(function: Function, kind: str, monoid: Any = None) -> EdgeFunction:
    made: EdgeFunction = kept_step(
        lambda: _made(function, kind, monoid), ("intersect", kind), (function, monoid), None
    )
    return made


def _made(function: Function, kind: str, monoid: Any) -> EdgeFunction:
    def call(u: Any, v: Any, w: Any, eu: Any, ev: Any) -> Any:
        return called(function, (u, v, w, eu, ev), FIRST)

    def items(u: Any, v: Any, e: Any) -> None:
        place = getattr(e, PLACE)
        common(u, v, lambda w, eu, ev: emit(place, w.id, when=call(u, v, w, eu, ev)))

    def counts(u: Any, v: Any, e: Any) -> None:
        def one(w: Any, eu: Any, ev: Any) -> Any:
            held = call(u, v, w, eu, ev)
            return fn.where(True if held is None else held, 1, 0)

        setattr(e, COUNT, common(u, v, one, monoids.sum))

    def values(u: Any, v: Any, e: Any) -> None:
        def message(w: Any, eu: Any, ev: Any) -> Any:
            returned = call(u, v, w, eu, ev)
            if returned is None:
                raise fail(f"{name_of(function)} returned nothing. Expected a message.")
            return returned

        emit(*as_parts(common(u, v, message, monoid), name_of(function)))

    step = {"items": items, "counts": counts, "values": values}[kind]
    step.__name__ = step.__qualname__ = name_of(function)
    return EdgeFunction(step, (), None)
