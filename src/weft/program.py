"""The programming model: how edge functions, vertex functions and folds are declared."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from weft.errors import TraceError, unknown
from weft.ir.trace.monoids import Monoid
from weft.ir.trace.steps import EdgeFunction, Fold, Function, Over, VertexFunction, name_of

_BUILTIN = (types.BuiltinFunctionType, types.MethodWrapperType, np.ufunc)


def check_function(function: Any, who: str, first: str) -> Function:
    """Return the function to trace; raise unless it is a function written in Python."""
    calls = (function, function.__call__) if callable(function) else ()
    got = None
    if not calls or isinstance(function, EdgeFunction | VertexFunction):
        got = repr(function)
    elif isinstance(function, type):
        got = f"the class {function.__name__!r}"
    elif any(inspect.isgeneratorfunction(f) or inspect.isasyncgenfunction(f) for f in calls):
        got = f"the generator function {name_of(function)!r}"
    elif any(inspect.iscoroutinefunction(f) for f in calls):
        got = f"the async function {name_of(function)!r}"
    elif isinstance(function, _BUILTIN):
        got = f"the built-in function {name_of(function)!r}"
    if got is None:
        return function
    raise TraceError(
        f"{who} takes a function of {first}, but got {got}. Expected a plain Python function "
        f"(def or lambda), or a method of an object."
    )


def _check_on(on: str | None) -> str | None:
    if on not in (None, "all"):
        raise TraceError(unknown("on", on, ["all"]))
    return on


def _check_along(along: str) -> str:
    if along not in ("out", "in"):
        raise TraceError(unknown("along", along, ["out", "in"]))
    return along


@overload
def edge(
    function: Function,
    *,
    into: str | Sequence[str] | None = None,
    reduce: Monoid | tuple[Monoid, ...] | None = None,
    accept: Function | None = None,
    active: Function | None = None,
    priority: Function | None = None,
    on: str | None = None,
    along: str = "out",
    order_free: bool = False,
) -> EdgeFunction: ...


@overload
def edge(
    function: None = None,
    *,
    into: str | Sequence[str] | None = None,
    reduce: Monoid | tuple[Monoid, ...] | None = None,
    accept: Function | None = None,
    active: Function | None = None,
    priority: Function | None = None,
    on: str | None = None,
    along: str = "out",
    order_free: bool = False,
) -> Callable[[Function], EdgeFunction]: ...


def edge(  # noqa: PLR0913
    function: Function | None = None,
    *,
    into: str | Sequence[str] | None = None,
    reduce: Monoid | tuple[Monoid, ...] | None = None,
    accept: Function | None = None,
    active: Function | None = None,
    priority: Function | None = None,
    on: str | None = None,
    along: str = "out",
    order_free: bool = False,
) -> Any:
    """Make an edge function: `f(u, v, e)` returns a message from u to v.

    Parameters
    ----------
    into
        The field of v, or the fields, that take the message or the tuple of messages. Without it
        the function only writes edge state or live fields, and may return a condition: vertices v
        where it held are the next frontier.
    reduce
        The monoid that combines the old value and all messages that meet at v; a tuple gives one
        to each field.
    accept
        `accept(v)`: only vertices where it holds take messages.
    active
        `active(v, old)`: replaces "a field changed" as the test for the next frontier.
    priority
        `priority(v)`: process vertices with small values first, where that cannot change the final
        result; vertices that are not yet due stay in the frontier (see ``max_iter`` of `iterate`).
    on
        ``"all"``: run on every edge, whatever the frontier.
    along
        ``"out"``: messages run from the source of an arc to its destination. ``"in"``: they run
        against it; the function sees the arc a -> b as if it ran b -> a, so that `u` is b and `v`
        is a. Needs the rows of both directions (``keep="both"``). Whether a step pushes or pulls
        is a separate choice, see `Config.direction`.
    order_free
        A promise that live accesses give the same result in any order. ``deterministic=True``
        needs it where a field is accessed through ``.at(i)`` and written in the same step.

    Examples
    --------
    >>> import weft
    >>> @weft.edge(into="level", reduce=weft.any, accept=lambda v: v.level < 0)
    ... def discover(u, v, e):
    ...     return u.level + 1
    >>> g = weft.Graph.from_edges([0, 1], [1, 2])
    >>> state = g.state(level=weft.full(-1, weft.int32))
    >>> state.level[0] = 0
    >>> g.iterate(discover, state, g.frontier([0])).steps
    3
    >>> state.level.tolist()
    [0, 1, 2]
    """
    names: tuple[str, ...] = (
        () if into is None
        else (into,) if isinstance(into, str) or not np.iterable(into) else tuple(into)
    )  # fmt: skip
    if not all(isinstance(name, str) for name in names):
        raise TraceError(f"into={into!r} names no field. Expected a name, or a tuple of names.")
    if names and reduce is None:
        raise TraceError("into= needs reduce=: say how messages that meet combine, e.g. weft.min.")
    if active is not None and not names:
        raise TraceError(
            "active= needs into=: without messages, return the condition under which v is active."
        )
    if reduce is not None and not names:
        raise TraceError("reduce= needs into=: name the field that takes the messages.")
    monoids = reduce if isinstance(reduce, tuple) else (reduce,) if reduce is not None else ()
    for monoid in monoids:
        if not isinstance(monoid, Monoid):
            raise TraceError(
                f"reduce={monoid!r} is not a monoid. Expected weft.sum, weft.min, weft.any, ... or "
                f"one made by weft.monoid."
            )
        if monoid.name == "mode":
            raise TraceError("weft.mode works in gathers only: v.gather(..., weft.mode).")
    if len(set(names)) < len(names):
        raise TraceError(f"into={names} names a field twice. Expected different fields.")
    if isinstance(reduce, tuple) and len(reduce) != len(names):
        raise TraceError(f"{len(reduce)} monoids for {len(names)} fields. Expected one for each.")
    if isinstance(reduce, tuple) and any(m.name in ("argmin", "argmax") for m in reduce):
        raise TraceError("argmin and argmax take the whole tuple: pass the monoid, not a tuple.")
    if isinstance(reduce, Monoid) and reduce.name in ("argmin", "argmax") and len(names) < 2:
        raise TraceError(f"{reduce!r} needs at least two fields: the key and its payload.")

    def decorate(f: Function) -> EdgeFunction:
        f = check_function(f, "weft.edge", "u, v, e")
        return EdgeFunction(
            f, names, reduce, accept=accept, active=active, priority=priority, on=_check_on(on),
            along=_check_along(along), order_free=order_free,
        )  # fmt: skip

    return decorate if function is None else decorate(function)


@overload
def vertex(
    function: Function,
    *,
    wake: str | None = None,
    active: Function | None = None,
    on: str | None = None,
    order_free: bool = False,
    shrinks: bool = False,
) -> VertexFunction: ...


@overload
def vertex(
    function: None = None,
    *,
    wake: str | None = None,
    active: Function | None = None,
    on: str | None = None,
    order_free: bool = False,
    shrinks: bool = False,
) -> Callable[[Function], VertexFunction]: ...


def vertex(
    function: Function | None = None,
    *,
    wake: str | None = None,
    active: Function | None = None,
    on: str | None = None,
    order_free: bool = False,
    shrinks: bool = False,
) -> Any:
    """Make a vertex function: `f(v)` reads and assigns the fields of v.

    Parameters
    ----------
    wake
        The next frontier of `iterate`: ``"changed"`` (default without gather), ``"all"``
        while anything changed (default with gather) or ``"neighbors"``: the vertices that gather
        from a changed one.
    active
        `active(v, old)`: replaces "a field changed". ``v.changed = condition`` inside the function,
        or returning a condition, does the same.
    on
        ``"all"``: run at every vertex, whatever the frontier.
    order_free
        A promise that live accesses give the same result in any order. ``deterministic=True``
        needs it where a field is accessed through ``.at(i)`` and written in the same step.
    shrinks
        For the first function of ``refill=``: a promise that a vertex for which it returned False
        would return False in all later rounds of the run, and add nothing to what it reduces. The
        engine may leave such vertices out, so that rounds cost what is left.

    Examples
    --------
    >>> import weft
    >>> @weft.vertex
    ... def count(v):
    ...     v.seen = v.gather(lambda u, e: 1, weft.sum)
    >>> g = weft.Graph.from_edges([0, 1, 2], [2, 2, 0])
    >>> state = g.state(seen=weft.full(0, weft.int64))
    >>> g.run(count, state).tolist()
    [0, 2]
    >>> state.seen.tolist()
    [1, 0, 2]
    """
    if wake not in (None, "changed", "all", "neighbors"):
        raise TraceError(unknown("wake", wake, ["changed", "all", "neighbors"]))

    def decorate(f: Function) -> VertexFunction:
        f = check_function(f, "weft.vertex", "v")
        roles = {"active": active, "on": _check_on(on), "order_free": order_free}
        return VertexFunction(f, wake, shrinks=shrinks, **roles)

    return decorate if function is None else decorate(function)


def over(name: str, function: EdgeFunction | VertexFunction | Fold) -> Over:
    """Make a function of a list run over another graph, named in ``graphs=`` of a run.

    The graphs have the same vertices. A function sees the edges, columns, degrees and neighbours of
    the graph that it runs over, and the fields of the one state.

    Examples
    --------
    Vertices that are reached by a road, then a ferry, then a road, and so on:

    >>> import weft
    >>> @weft.edge(into="day", reduce=weft.any, accept=lambda v: v.day < 0)
    ... def travel(u, v, e):
    ...     return u.day + 1
    >>> roads = weft.Graph.from_edges([0, 2, 3], [1, 3, 4], num_vertices=5)
    >>> ferries = weft.Graph.from_edges([1, 3], [2, 0], num_vertices=5)
    >>> state = roads.state(day=weft.full(-1).but(0, 0))
    >>> done = roads.iterate(
    ...     [travel, weft.over("sea", travel)], state, [0], graphs={"sea": ferries}
    ... )
    >>> state.day.tolist(), done.steps
    ([0, 1, 2, 3, -1], 2)
    """
    if not isinstance(name, str):
        raise TraceError(f"weft.over takes the name of a graph first, but got {name!r}.")
    if not isinstance(function, EdgeFunction | VertexFunction | Fold):
        raise TraceError(
            "weft.over takes a function made by weft.edge, weft.vertex or weft.fold, but got "
            f"{function!r}."
        )
    return Over(name, function)


def fold(*functions: EdgeFunction | VertexFunction, relaxed: bool = False) -> Fold:
    """Join functions into a sequence that runs as one sweep where that cannot be observed.

    Consecutive edge functions share one pass over the arcs, each applied only where the one before
    it sent; consecutive vertex functions share one pass likewise. Vertex functions after edge
    functions run at the vertices that these changed. ``relaxed=True`` lets functions see other
    vertices as they are.
    """
    if not functions:
        raise TraceError("weft.fold needs at least one function.")
    for function in functions:
        if not isinstance(function, EdgeFunction | VertexFunction):
            raise TraceError(
                f"weft.fold takes functions made by weft.edge or weft.vertex, but got {function!r}."
            )
    return Fold(functions, relaxed)
