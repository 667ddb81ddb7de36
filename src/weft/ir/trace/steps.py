"""Edge functions, vertex functions and folds, and how they are traced into steps of a program."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from weft.errors import TraceError, expected, listed, nearest
from weft.ir.ops import BOOL, FLOAT64, INT64, Block, Program, Signature, Step, Value
from weft.ir.trace.builder import Builder, fail
from weft.ir.trace.calls import check_takes, parameters_of
from weft.ir.trace.emits import make_pass, mark_arcs
from weft.ir.trace.expr import Expr, node
from weft.ir.trace.looks import FieldView, Settled, VertexAt
from weft.ir.trace.proxies import Edge, Sent, Vertex, messages_of

Function = Callable[..., Any]


def name_of(function: Function) -> str:
    """Return the name of a user's function."""
    return getattr(function, "__name__", type(function).__name__)


class _Made:
    """Base class of edge functions, vertex functions and folds; counts attribute changes."""

    edits = 0

    def __setattr__(self, name: str, value: Any) -> None:
        held = vars(self)
        held[name] = value
        held["edits"] = self.edits + 1

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        vars(self)["edits"] = self.edits + 1


class _Function(_Made):
    """Base class of edge and vertex functions."""

    function: Function

    def __call__(self, *arguments: Any, **scalars: Any) -> Any:
        """Call the function itself, to debug it on plain objects and numbers."""
        return self.function(*arguments, **scalars)


class EdgeFunction(_Function):
    """A function of an edge u -> v, with what becomes of its messages; made by `weft.edge`."""

    kind = "edge"

    def __init__(
        self, function: Function, into: tuple[str, ...], reduce: Any, **roles: Any
    ) -> None:
        vars(self).update(
            function=function, into=into, reduce=reduce, accept=roles.get("accept"),
            active=roles.get("active"), priority=roles.get("priority"),
            everywhere=roles.get("on") == "all", order_free=bool(roles.get("order_free")),
            along=roles.get("along") or "out",
            __name__=name_of(function), __doc__=function.__doc__,
        )  # fmt: skip

    function: Function
    into: tuple[str, ...]
    reduce: Any
    accept: Function | None
    active: Function | None
    priority: Function | None
    everywhere: bool
    order_free: bool
    along: str
    __name__: str

    def __repr__(self) -> str:
        return f"<weft.edge {self.__name__}>"


class Over:
    """A function that runs over a graph of another name; made by `weft.over`."""

    def __init__(self, name: str, function: Any) -> None:
        self.name, self.function = name, function

    def __repr__(self) -> str:
        return (
            f"<weft.over {self.name!r}, {self.function!r}; it needs graphs={{{self.name!r}: ...}}>"
        )


class VertexFunction(_Function):
    """A function of a vertex v; made by `weft.vertex`."""

    kind = "vertex"

    def __init__(self, function: Function, wake: str | None, **roles: Any) -> None:
        vars(self).update(
            function=function, wake=wake, active=roles.get("active"),
            everywhere=roles.get("on") == "all", order_free=bool(roles.get("order_free")),
            shrinks=bool(roles.get("shrinks")),
            __name__=name_of(function), __doc__=function.__doc__,
        )  # fmt: skip

    function: Function
    wake: str | None
    active: Function | None
    everywhere: bool
    order_free: bool
    shrinks: bool
    __name__: str

    def __repr__(self) -> str:
        return f"<weft.vertex {self.__name__}>"


class Fold(_Made):
    """A sequence that runs without device-wide barriers where none can be seen."""

    def __init__(self, parts: tuple[EdgeFunction | VertexFunction, ...], relaxed: bool) -> None:
        vars(self).update(parts=parts, relaxed=relaxed)

    parts: tuple[EdgeFunction | VertexFunction, ...]
    relaxed: bool

    def __repr__(self) -> str:
        return f"weft.fold({', '.join(p.__name__ for p in self.parts)})"


AnyFunction = EdgeFunction | VertexFunction | Fold


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
        elif name in builder.fields and builder.function == "until":
            arguments.append(FieldView(name))
        elif position >= required:
            arguments.append(defaults[position - required])
        else:
            known = [*builder.scalars, *builder.parameters]
            raise fail(
                f"{name_of(function)} asks for {name!r}, which is not a scalar of the state. "
                f"{expected(known)}; declare it with "
                f"g.state({name}=weft.scalar(...)) or weft.parameter(...).{nearest(name, known)}"
            )
    return arguments


_NAMES = {0: (), 1: ("v",), 2: ("v", "old"), 3: ("u", "v", "e")}


def call_function(
    function: Function,
    proxies: tuple[Any, ...],
    builder: Builder,
    first: tuple[str, ...] | None = None,
) -> Any:
    """Call a user's function with proxies, and with the scalars that its parameters name.

    `first` names the proxies if their number does not determine their kinds.
    """
    builder.code = getattr(function, "__code__", None)
    first = _NAMES[len(proxies)] if first is None else first
    check_takes(function, name_of(function), *first, more="scalars of the state by name")
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


def place_of(function: Any) -> str:
    """Return the file and line of a function; empty if it has no code of its own."""
    code = getattr(function, "__code__", None)
    return "" if code is None else f"{code.co_filename}:{code.co_firstlineno}"


def _trace_edge(f: EdgeFunction, signature: Signature) -> Step:
    with Builder(signature, f.__name__) as builder:
        builder.kind = "edge"
        edge_ends = (Vertex("u"), Vertex("v"), Edge(own=True))
        returned = call_function(f.function, edge_ends, builder)
        step = Step("edge", f.__name__, builder.blocks[0], place_of(f.function))
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
            step.sends_always = isinstance(returned, Sent) and returned.always
    vertex_proxy = (Vertex("v"),)
    if f.accept is not None:
        step.accept = _condition(f.accept, signature, vertex_proxy, "accept")
    if f.active is not None:
        step.active = _condition(f.active, signature, (Vertex("v"), Vertex("before")), "active")
    if f.priority is not None:
        step.priority = _condition(f.priority, signature, vertex_proxy, "priority")
    step.everywhere, step.order_free, step.along = f.everywhere, f.order_free, f.along
    return step


def _fit_messages(
    f: EdgeFunction, messages: tuple[Value, ...], builder: Builder, step: Step
) -> tuple[Value, ...]:
    """Check messages against the fields that take them, and note the reductions."""
    from weft.ir.trace.proxies import no_field

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
        step = Step("vertex", f.__name__, builder.blocks[0], place_of(f.function))
        if returned is not None:
            condition = builder.test(node(returned), f"what {f.__name__} returns")
            step.body.results = (condition,)
            step.conditional = True
    if f.active is not None:
        step.active = _condition(f.active, signature, (Vertex("v"), Vertex("before")), "active")
    gathers = any(value.op in ("gather", "gather_by") for value in step.body.body)
    step.wake = f.wake or ("all" if gathers else "changed")
    step.everywhere, step.order_free, step.shrinks = f.everywhere, f.order_free, f.shrinks
    if f.shrinks and (not step.conditional or f.everywhere):
        raise TraceError(
            f"{f.__name__}: shrinks=True says that vertices for which the function returns False "
            f"are left out from then on. Expected a function that returns a condition, without "
            f"on='all'."
        )
    return step


def _check_one_way(steps: list[Step]) -> None:
    """Raise unless the edge functions of a fold that share a sweep go along the same arcs."""
    for before, step in itertools.pairwise(steps):
        if before.kind == step.kind == "edge" and before.along != step.along:
            raise TraceError(
                f"{before.name} goes along={before.along!r} and {step.name} along={step.along!r}, "
                f"but edge functions that follow each other in a weft.fold share one sweep. Put "
                f"them into a list instead."
            )


def trace_step(function: AnyFunction, signature: Signature) -> list[Step]:
    """Trace one function, or the functions of a fold, into steps."""
    if isinstance(function, Fold):
        steps = [trace_step(part, signature)[0] for part in function.parts]
        _check_one_way(steps)
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


def _trace_settled(until: Settled, functions: Any, signature: Signature) -> Block:
    """Trace whether no vertex of the frontier comes before the target."""
    first = functions[0] if isinstance(functions, list | tuple) else functions
    if not isinstance(first, EdgeFunction) or first.priority is None:
        raise TraceError(
            f"weft.settled({until.target}) needs a step with a priority, which says in which order "
            f"vertices are settled: weft.edge(..., priority=lambda v: v.dist)."
        )
    with Builder(signature, "until") as builder:
        builder.effects = False
        priority = node(call_function(first.priority, (VertexAt(until.place()),), builder))
        least = builder.emit("load", (), ("least",), FLOAT64)
        result = builder.emit("le", (builder.cast(priority, FLOAT64), least), None, BOOL)
        block = builder.blocks[0]
        block.results = (result,)
        return block


class ThresholdStats:
    """The `stats` argument of `next_threshold(old, stats)`.

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


class Roles(NamedTuple):
    """The roles of a program in addition to its functions."""

    until: Function | Settled | None = None
    refill: Any = ()
    next_threshold: Function | None = None
    bounded: bool = False  # it ends after some supersteps at the latest
    trail: bool = False
    emits: str = ""
    arcs_into: str = ""


NO_ROLES = Roles()


def _check_shrinking(program: Program) -> None:
    """Raise where a function shrinks what no refill begins with."""
    followed = program.refill[1:] and program.refill[1].folded
    for step in program.all_steps():
        first = bool(program.refill) and step is program.refill[0]
        if step.shrinks and (not first or followed):
            raise TraceError(
                f"{step.name}: shrinks=True belongs to the first function of refill=, which a fold "
                f"does not continue."
            )


def trace_program(
    functions: Any, signature: Signature, mode: str, roles: Roles = NO_ROLES
) -> Program:
    """Trace everything that one `run`, `iterate` or `replay` executes."""
    until, refill, next_threshold, bounded, trail, emits, arcs_into = roles
    program = Program(
        trace_steps(functions, signature), signature, mode, bounded=bounded, trail=trail
    )
    if arcs_into:
        mark_arcs(program, arcs_into)
    if emits:
        make_pass(program, emits)
    elif any(v.op == "emit" for step in program.steps for v in step.body.walk()):
        raise TraceError(
            "weft.emit adds to the results of g.emit(function, state): run it by that."
        )
    if isinstance(until, Settled):
        program.until = _trace_settled(until, functions, signature)
    elif until is not None:
        program.until = _condition(until, signature, (), "until")
    if refill:
        program.refill = trace_steps(refill, signature)
        if program.refill[-1].kind != "vertex":
            raise TraceError("the last step of refill= must be a vertex function.")
    _check_shrinking(program)
    if next_threshold is not None:
        program.next_threshold = _trace_threshold(next_threshold, signature)
    return program
