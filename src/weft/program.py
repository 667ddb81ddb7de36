"""The programming model: edge functions, vertex functions, folds, and how they are traced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from weft.errors import TraceError, expected, listed, nearest, unknown
from weft.ir.builder import Builder, fail
from weft.ir.calls import check_takes, parameters_of
from weft.ir.expr import Expr, node
from weft.ir.monoids import Monoid
from weft.ir.ops import BOOL, FLOAT64, INT64, Block, Program, Signature, Step, Value
from weft.ir.proxies import Edge, Sent, Vertex, messages_of

Function = Callable[..., Any]


def _name(function: Function) -> str:
    return getattr(function, "__name__", type(function).__name__)


class EdgeFunction:
    """A function of an edge u -> v, with what becomes of its messages; made by `weft.edge`."""

    kind = "edge"

    def __init__(
        self, function: Function, into: tuple[str, ...], reduce: Any, **roles: Any
    ) -> None:
        self.function = function
        self.into = into
        self.reduce = reduce
        self.accept: Function | None = roles.get("accept")
        self.active: Function | None = roles.get("active")
        self.priority: Function | None = roles.get("priority")
        self.everywhere = roles.get("on") == "all"
        self.order_free = bool(roles.get("order_free"))
        self.__name__ = _name(function)
        self.__doc__ = function.__doc__

    def __repr__(self) -> str:
        return f"<weft.edge {self.__name__}>"


class VertexFunction:
    """A function of a vertex v; made by `weft.vertex`."""

    kind = "vertex"

    def __init__(self, function: Function, wake: str | None, **roles: Any) -> None:
        self.function = function
        self.wake = wake
        self.active: Function | None = roles.get("active")
        self.everywhere = roles.get("on") == "all"
        self.order_free = bool(roles.get("order_free"))
        self.__name__ = _name(function)
        self.__doc__ = function.__doc__

    def __repr__(self) -> str:
        return f"<weft.vertex {self.__name__}>"


class Fold:
    """A sequence that runs without device-wide barriers where none can be seen."""

    def __init__(self, parts: tuple[EdgeFunction | VertexFunction, ...], relaxed: bool) -> None:
        self.parts = parts
        self.relaxed = relaxed

    def __repr__(self) -> str:
        return f"weft.fold({', '.join(p.__name__ for p in self.parts)})"


AnyFunction = EdgeFunction | VertexFunction | Fold


def _checked(function: Any, kind: str, first: str) -> Function:
    if not callable(function):
        raise TraceError(f"weft.{kind} takes a function of {first}, but got {function!r}.")
    return function


def _check_on(on: str | None) -> str | None:
    if on not in (None, "all"):
        raise TraceError(unknown("on", on, ["all"]))
    return on


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
    order_free: bool = False,
) -> Callable[[Function], EdgeFunction]: ...


def edge(
    function: Function | None = None,
    *,
    into: str | Sequence[str] | None = None,
    reduce: Monoid | tuple[Monoid, ...] | None = None,
    accept: Function | None = None,
    active: Function | None = None,
    priority: Function | None = None,
    on: str | None = None,
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
        `priority(v)`: process vertices in this order where that cannot change the result.
    on
        ``"all"``: run on every edge, whatever the frontier.
    order_free
        A promise that live accesses give the same result in any order.

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
        () if into is None else (into,) if isinstance(into, str) else tuple(into)
    )
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
        raise TraceError(f"{reduce!r} needs two fields at least: the key and what goes with it.")

    def decorate(f: Function) -> EdgeFunction:
        f = _checked(f, "edge", "u, v, e")
        return EdgeFunction(
            f, names, reduce, accept=accept, active=active, priority=priority, on=_check_on(on),
            order_free=order_free,
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
) -> VertexFunction: ...


@overload
def vertex(
    function: None = None,
    *,
    wake: str | None = None,
    active: Function | None = None,
    on: str | None = None,
    order_free: bool = False,
) -> Callable[[Function], VertexFunction]: ...


def vertex(
    function: Function | None = None,
    *,
    wake: str | None = None,
    active: Function | None = None,
    on: str | None = None,
    order_free: bool = False,
) -> Any:
    """Make a vertex function: `f(v)` reads and assigns the fields of v.

    Parameters
    ----------
    wake
        Who is in the next frontier of `iterate`: ``"changed"`` (default without gather), ``"all"``
        while anything changed (default with gather) or ``"neighbors"``: those that gather from a
        changed vertex.
    active
        `active(v, old)`: replaces "a field changed". ``v.changed = condition`` inside the function,
        or returning a condition, does the same.
    on
        ``"all"``: run at every vertex, whatever the frontier.
    order_free
        A promise that live accesses give the same result in any order.

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
        f = _checked(f, "vertex", "v")
        return VertexFunction(f, wake, active=active, on=_check_on(on), order_free=order_free)

    return decorate if function is None else decorate(function)


def fold(*functions: EdgeFunction | VertexFunction, relaxed: bool = False) -> Fold:
    """Join functions into a sequence that runs as one sweep where nobody can see the difference.

    Runs of edge functions go over the arcs once, each applied only where the one before it sent;
    runs of vertex functions likewise. A vertex run after an edge run runs at the vertices that the
    edge run changed. ``relaxed=True`` lets functions see other vertices as they are.
    """
    if not functions:
        raise TraceError("weft.fold needs at least one function.")
    for function in functions:
        if not isinstance(function, EdgeFunction | VertexFunction):
            raise TraceError(
                f"weft.fold takes functions made by weft.edge or weft.vertex, but got {function!r}."
            )
    return Fold(functions, relaxed)


# -- tracing


def _scalar_arguments(function: Function, taken: int, builder: Builder) -> list[Any]:
    """Return the scalars that a function asks for by the names of its further parameters."""
    found = parameters_of(function)
    if found is None:
        return []
    names, defaults = found.names[taken:], found.defaults
    required = len(found.names) - len(defaults)
    arguments: list[Any] = []
    for position, name in enumerate(names, start=taken):
        if name in builder.scalars:
            dtype = builder.scalars[name]
            arguments.append(Expr(builder.emit("load", (), ("scalar", name), dtype)))
        elif name in builder.parameters:
            dtype, shape = builder.parameters[name]
            attr = ("parameter", "all", name)
            arguments.append(Expr(builder.emit("load", (), attr, dtype, shape)))
        elif position >= required:
            arguments.append(defaults[position - required])
        else:
            known = [*builder.scalars, *builder.parameters]
            raise fail(
                f"{_name(function)} asks for {name!r}, which is not a scalar of the state. "
                f"{expected(known)}; declare it with "
                f"g.state({name}=weft.scalar(...)) or weft.parameter(...).{nearest(name, known)}"
            )
    return arguments


def call_function(function: Function, proxies: tuple[Any, ...], builder: Builder) -> Any:
    """Call a user's function with proxies, and with the scalars that its parameters name."""
    builder.code = getattr(function, "__code__", None)
    first = {0: (), 1: ("v",), 2: ("v", "old"), 3: ("u", "v", "e")}[len(proxies)]
    check_takes(function, _name(function), *first, more="scalars of the state by name")
    return function(*proxies, *_scalar_arguments(function, len(proxies), builder))


def _condition(function: Function, signature: Signature, who: tuple[Any, ...], what: str) -> Block:
    """Trace accept, active, priority or until: one scalar result, no effects."""
    with Builder(signature, what) as builder:
        builder.effects = False
        if not callable(function):
            raise fail(f"{what}={function!r} is not possible. Expected a function.")
        returned = call_function(function, who, builder)
        if returned is None:
            raise fail(f"{what} returned nothing. Expected a value.")
        result = node(returned)
        if what == "priority" and result.shape:
            raise fail(f"{what} must be a scalar, but has shape {result.shape}.")
        result = builder.strong(result) if what == "priority" else builder.test(result, what)
        block = builder.blocks[0]
        block.results = (result,)
        return block


def _trace_edge(f: EdgeFunction, signature: Signature) -> Step:
    with Builder(signature, f.__name__) as builder:
        builder.kind = "edge"
        edge_ends = (Vertex("u"), Vertex("v"), Edge(own=True))
        returned = call_function(f.function, edge_ends, builder)
        step = Step("edge", f.__name__, builder.blocks[0])
        if f.into:
            messages, when = messages_of(returned, f.__name__)
            step.into, step.reductions = f.into, ()
            step.body.results = _fit_messages(f, messages, builder, step)
        else:
            when = None
            if isinstance(returned, Sent | tuple):
                raise fail(
                    f"{f.__name__} returned messages, but no field takes them. Name the fields by "
                    f"into= and how they combine by reduce=, or return one condition."
                )
            if returned is not None:
                when = builder.test(node(returned), f"what {f.__name__} returns without into=")
        if when is not None:
            step.body.results += (when,)
            step.conditional = True
    vertex_proxy = (Vertex("v"),)
    if f.accept is not None:
        step.accept = _condition(f.accept, signature, vertex_proxy, "accept")
    if f.active is not None:
        step.active = _condition(f.active, signature, (Vertex("v"), Vertex("before")), "active")
    if f.priority is not None:
        step.priority = _condition(f.priority, signature, vertex_proxy, "priority")
    step.everywhere, step.order_free = f.everywhere, f.order_free
    return step


def _fit_messages(
    f: EdgeFunction, messages: tuple[Value, ...], builder: Builder, step: Step
) -> tuple[Value, ...]:
    """Check messages against the fields that take them, and note the reductions."""
    from weft.ir.proxies import no_field

    if len(messages) != len(f.into):
        raise fail(
            f"{f.__name__} returned {len(messages)} message(s) for into={listed(f.into)}. Expected "
            f"{len(f.into)}."
        )
    fitted = []
    for name, message in zip(f.into, messages, strict=True):
        if name not in builder.fields:
            raise no_field(builder, "the state", name, builder.fields)
        dtype, shape = builder.fields[name]
        fitted.append(builder.fit(message, dtype, shape, f"field {name!r} (into of {f.__name__})"))
    dtypes = [builder.fields[name][0] for name in f.into]
    if isinstance(f.reduce, tuple):
        step.reductions = tuple(m.reduction(d) for m, d in zip(f.reduce, dtypes, strict=True))
    elif f.reduce.name in ("any", "argmin", "argmax"):
        step.reductions = (f.reduce.reduction(dtypes[0]),)
        shapes = [builder.fields[name][1] for name in f.into]
        if f.reduce.name != "any" and any(shapes):
            raise fail(f"{f.reduce!r} works on scalar fields, but into= has shapes {shapes}.")
    else:
        step.reductions = tuple(f.reduce.reduction(d) for d in dtypes)
    for name, reduction in zip(f.into, step.reductions, strict=False):
        shape = builder.fields[name][1]
        if reduction.name == "user" and shape:
            raise fail(
                f"a user-made monoid combines scalars, but field {name!r} has shape {shape}. Use "
                f"weft.sum, weft.min, ... or one field per feature."
            )
    live = builder.live.intersection(f.into)
    if live:
        raise fail(
            f"{f.__name__} sends into {listed(sorted(live))} and touches it by .at(i) as well. "
            f"Messages arrive after the step, live updates at once: use one of the two."
        )
    return tuple(fitted)


def _trace_vertex(f: VertexFunction, signature: Signature) -> Step:
    with Builder(signature, f.__name__) as builder:
        returned = call_function(f.function, (Vertex("v", own=True),), builder)
        step = Step("vertex", f.__name__, builder.blocks[0])
        if returned is not None:
            condition = builder.test(node(returned), f"what {f.__name__} returns")
            step.body.results = (condition,)
            step.conditional = True
    if f.active is not None:
        step.active = _condition(f.active, signature, (Vertex("v"), Vertex("before")), "active")
    gathers = any(value.op == "gather" for value in step.body.body)
    step.wake = f.wake or ("all" if gathers else "changed")
    step.everywhere, step.order_free = f.everywhere, f.order_free
    return step


def trace_step(function: AnyFunction, signature: Signature) -> list[Step]:
    """Trace one function, or the functions of a fold, into steps."""
    if isinstance(function, Fold):
        steps = [trace_step(part, signature)[0] for part in function.parts]
        for step in steps[1:]:
            step.folded = True
        for step in steps:
            step.relaxed = function.relaxed
        return steps
    if isinstance(function, EdgeFunction):
        return [_trace_edge(function, signature)]
    if isinstance(function, VertexFunction):
        return [_trace_vertex(function, signature)]
    raise TraceError(
        f"expected functions made by weft.edge, weft.vertex or weft.fold, but got {function!r}."
    )


def trace_steps(functions: Any, signature: Signature) -> tuple[Step, ...]:
    """Trace a function or a list of functions."""
    many = functions if isinstance(functions, list | tuple) else [functions]
    if not many:
        raise TraceError("there is no function to run. Pass one made by weft.edge or weft.vertex.")
    return tuple(step for function in many for step in trace_step(function, signature))


class ThresholdStats:
    """What `next_threshold(old, stats)` may look at.

    `stats.min` is the least waiting priority, `stats.waiting` the number of waiting vertices and
    `stats.edges` the number of edges that the last superstep looked at.
    """

    def __init__(self, builder: Builder) -> None:
        self.min = Expr(builder.emit("load", (), ("threshold", "min"), FLOAT64))
        self.waiting = Expr(builder.emit("load", (), ("threshold", "waiting"), INT64))
        self.edges = Expr(builder.emit("load", (), ("threshold", "edges"), INT64))


def _trace_threshold(function: Function, signature: Signature) -> Block:
    with Builder(signature, "next_threshold") as builder:
        old = Expr(builder.emit("load", (), ("threshold", "old"), FLOAT64))
        check_takes(function, "next_threshold", "old", "stats")
        returned = function(old, ThresholdStats(builder))
        if returned is None:
            raise fail("next_threshold returned nothing. Expected a number.")
        result = node(returned)
        if result.shape or result.dtype == BOOL:
            raise fail("next_threshold must return a number.")
        result = builder.cast(result, np.dtype(np.float64))
        block = builder.blocks[0]
        block.results = (result,)
        return block


def trace_program(
    functions: Any,
    signature: Signature,
    mode: str,
    *,
    until: Function | None = None,
    refill: Any = (),
    next_threshold: Function | None = None,
    bounded: bool = False,
    trail: bool = False,
) -> Program:
    """Trace everything that one `run`, `iterate` or `replay` executes."""
    program = Program(
        trace_steps(functions, signature), signature, mode, bounded=bounded, trail=trail
    )
    if until is not None:
        program.until = _condition(until, signature, (), "until")
    if refill:
        program.refill = trace_steps(refill, signature)
        if program.refill[-1].kind != "vertex":
            raise TraceError("the last step of refill= must be a vertex function.")
    if next_threshold is not None:
        program.next_threshold = _trace_threshold(next_threshold, signature)
    return program
