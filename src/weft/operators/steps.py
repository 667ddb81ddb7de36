"""Functions of operators, traced into steps of the engine.

The updates that a function makes at an arc become messages, as in `weft.maps`. What it returns
decides whether the arc, or the vertex at its end, joins the output. Where that is not "a field
changed", the arcs that pass send the number of the superstep into a hidden field of their vertex.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

from weft.errors import TraceError
from weft.ir.ops import Block, Signature
from weft.ir.trace import builder as tracing
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.ir.trace.builder import Builder, fail
from weft.ir.trace.cache import _identity, _reads_of
from weft.ir.trace.calls import parameters_of
from weft.ir.trace.expr import Expr, node
from weft.ir.trace.proxies import Edge, Sent, Vertex
from weft.ir.trace.steps import EdgeFunction, VertexFunction, call_function, name_of
from weft.maps import _combined
from weft.operators.updates import ArcTarget, Won
from weft.program import check_function, fold
from weft.storage.memory import Cache

Function = Callable[..., Any]
MARK = "operator_mark"  # the hidden field that tells which vertices passed, by superstep
OPEN = "operator_open"  # the hidden field of vertices that a pull may still visit
ITERATION = "iteration"  # what functions may ask for by that name
_NOT_PLAIN = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Given(NamedTuple):
    """The functions that an operator was called with: one, or a condition and what it allows."""

    fn: Function | None = None
    cond: Function | None = None
    apply: Function | None = None

    @property
    def name(self) -> str:
        """The name that profiles and messages show."""
        found = self.fn or self.apply or self.cond
        return "nothing" if found is None else name_of(found)

    def wants_iteration(self) -> bool:
        """Whether one of the functions asks for the number of the iteration."""
        found = [parameters_of(f) for f in self if callable(f)]
        return any(f is not None and ITERATION in f.names for f in found)


class How(NamedTuple):
    """How a function becomes a step."""

    output: str | None = "vertices"
    idempotent: bool = False
    along: str = "out"
    opened: bool = False  # only vertices of the hidden field OPEN are visited
    mark: str = MARK
    everywhere: bool = False


def given(who: str, first: str, function: Any, cond: Any, apply: Any) -> Given:
    """Return the functions that an operator was called with, checked."""
    if function is not None and (cond is not None or apply is not None):
        raise TraceError(
            f"{who} got a function and cond= or apply=. Expected either one function, or the pair."
        )
    if function is None and cond is None and apply is None:
        raise TraceError(f"{who} got no function. Expected one of {first}, or cond= and apply=.")
    if isinstance(function, EdgeFunction | VertexFunction):
        if function.kind != ("edge" if first.startswith("u") else "vertex"):
            raise TraceError(f"{who} takes a function of {first}, but got {function!r}.")
        return Given(function)
    for one in (function, cond, apply):
        if one is not None and not _is_plain(one):
            check_function(one, who, first)
    return Given(function, cond, apply)


def _is_plain(function: Any) -> bool:
    """Whether this is an ordinary function, which `check_function` lets pass: the quick test."""
    return type(function) is FunctionType and not function.__code__.co_flags & _NOT_PLAIN


def called(
    function: Function, proxies: tuple[Any, ...], first: tuple[str, ...] | None = None
) -> Any:
    """Call a user's function while it is traced."""
    builder = tracing.current()
    known = parameters_of(function)
    if known is None or ITERATION not in known.names or ITERATION not in builder.scalars:
        return call_function(function, proxies, builder, first)
    names = known.names

    def counted(*arguments: Any) -> Any:
        place = names.index(ITERATION)
        now = arguments[place] + fn.superstep()
        return function(*arguments[:place], now, *arguments[place + 1 :])

    counted.__name__ = name_of(function)
    wrapped = _Named(counted, names)
    return call_function(wrapped, proxies, builder, first)


class _Named:
    """A function that takes the parameters of another one."""

    def __init__(self, function: Function, names: tuple[str, ...]) -> None:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.__name__ = function.__name__
        self.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in names])
        self._function = function

    def __call__(self, *arguments: Any) -> Any:
        return self._function(*arguments)


# -- steps, kept


_kept: Cache[Any, tuple[Any, Any, Any]] = Cache("steps of operators", 256)


def kept_step(make: Callable[[], Any], key: tuple[Any, ...], functions: Any, held: Any) -> Any:
    """Return a step made before from functions that read the same, or make it.

    Parameters
    ----------
    make
        Makes the step.
    key
        What else it depends on.
    functions
        The functions of the user.
    held
        What must stay alive for the key to stay valid.
    """
    functions = tuple(functions)
    key = (_identity(functions), *key)
    found = _kept.get(key)
    if found is not None and found[0].unchanged():
        return found[1]
    made = make()
    reads = _reads_of(*(f for f in functions if f is not None))
    if reads is not None and reads.unchanged():
        _kept[key] = reads, made, (functions, held)
    return made


# -- arcs


class _Call(NamedTuple):
    """What a call of the functions at an arc gave."""

    updates: dict[str, tuple[Any, Any]]
    returned: Any  # None where there is nothing to add to `when`
    when: Any  # the condition of the pair; None without one, or if vertices are tested for it


def arc_step(who: str, functions: Given, how: How, signature: Signature) -> EdgeFunction:
    """Return the step that calls functions at every arc of a frontier."""
    made: EdgeFunction = kept_step(
        lambda: _arc_step(who, functions, how, signature),
        (who, how, id(signature)),
        functions,
        signature,
    )
    return made


def _arc_step(who: str, functions: Given, how: How, signature: Signature) -> EdgeFunction:
    if isinstance(functions.fn, EdgeFunction):
        return _adapted(functions.fn, how)
    gate = functions.cond if _of_target_alone(functions.cond, signature) else None
    plain: Any = tuple(functions)  # kept traces hold no other kinds of tuples
    options: Any = tuple(how)

    def call(u: Any, e: Any, gated: bool) -> _Call:
        return _call_at_arc(Given(*plain), u, e, How(*options).idempotent, gated)

    with Builder(signature, functions.name) as builder:
        builder.kind = "edge"
        first = call(Vertex("u"), Edge(own=True), gate is not None)
        updates = list(first.updates)
        if how.output is not None and first.returned is None and functions.cond is None:
            raise fail(_nothing_returned(who, functions.name, how.output))
    gated = bool(updates) and gate is not None
    ending = _ending_of(first, how)

    def step(u: Any, v: Any, e: Any) -> Any:
        made = call(u, e, gated)
        if not made.updates:
            return _condition_alone(made, How(*options))
        return _messages(made, How(*options), ending)

    step.__name__ = step.__qualname__ = functions.name
    names, reduce = tuple(updates), tuple(m for m, _ in first.updates.values())
    if ending == "mark":
        names, reduce = (*names, how.mark), (*reduce, monoids.max)
    accept = _accepting(gate if gated else None, how.opened and bool(updates))
    return EdgeFunction(
        step, names, reduce or None, accept=accept, along=how.along,
        active=_active(ending, how.mark) if updates else None,
        on="all" if how.everywhere else None,
    )  # fmt: skip


def _adapted(step: EdgeFunction, how: How) -> EdgeFunction:
    """Return an edge function of the user with the options of an operator."""
    if not how.everywhere and step.along == how.along:
        return step
    return EdgeFunction(
        step.function, step.into, step.reduce, accept=step.accept, active=step.active,
        priority=step.priority, on="all" if how.everywhere or step.everywhere else None,
        order_free=step.order_free, along=how.along,
    )  # fmt: skip


def _call_at_arc(functions: Given, u: Any, e: Any, idempotent: bool, gated: bool) -> _Call:
    """Call what is to be called at an arc; a gate was tested before."""
    target = ArcTarget(idempotent)
    if functions.fn is not None:
        returned = called(functions.fn, (u, target, e))
        return _Call(target._updates, _tested(returned, functions.name), None)
    when = None
    if functions.cond is not None and not gated:
        when = _tested(called(functions.cond, (u, Vertex("v"), e)), name_of(functions.cond))
        if when is None:
            raise fail(f"{name_of(functions.cond)} (cond=) returned nothing. Expected a condition.")
    returned = None
    if functions.apply is not None:
        returned = _tested(called(functions.apply, (u, target, e)), functions.name)
    return _Call(target._updates, returned, when)


def _tested(returned: Any, name: str) -> Any:
    """Return what a function returned as a condition; None if that is nothing."""
    if returned is None or isinstance(returned, bool | Won):
        return returned
    if isinstance(returned, Sent | tuple):
        raise fail(
            f"{name} returned messages. Expected a condition: whether the item joins the output; "
            f"update v in place, or pass a function made by weft.edge."
        )
    return Expr(tracing.current().test(node(returned), f"what {name} returns"))


def _ending_of(first: _Call, how: How) -> str:
    """Return how the output of a step with updates is found."""
    if how.output is None:
        return "never"
    returned = first.returned
    if how.output == "arcs":
        return "arcs"
    if returned is None or (isinstance(returned, Won) and len(first.updates) == 1):
        return "changed"
    if returned is True:
        return "always"
    return "never" if returned is False else "mark"


def _active(ending: str, mark: str) -> Function | None:
    """Return the test for the output of a step with updates."""
    if ending == "mark":
        return lambda v, old: getattr(v, mark) == fn.superstep() + 1
    return {"never": _never, "always": _always}.get(ending)


def _never(v: Any, old: Any) -> bool:
    return False


def _always(v: Any, old: Any) -> bool:
    return True


def _both(a: Any, b: Any) -> Any:
    """Return the conjunction of two conditions, of which None and True hold."""
    if a is None or a is True:
        return b
    return a if b is None or b is True else fn.where(a, b, False)


def _condition_alone(made: _Call, how: How) -> Any:
    """Return the condition of a function without updates."""
    if how.output is None:
        return None
    condition = _both(made.when, made.returned)
    if how.opened:
        condition = _both(getattr(Vertex("v"), OPEN), condition)
    return Expr(node(True)) if condition is None else condition


def _messages(made: _Call, how: How, ending: str) -> Any:
    """Return what a function with updates sends."""
    messages = [x for _, x in made.updates.values()]
    returned, when = made.returned, made.when
    if ending == "mark":
        now = fn.cast(fn.superstep() + 1, "int32")
        messages.append(fn.where(returned, now, fn.cast(0, "int32")))
    if ending != "arcs" or returned is None or returned is True:
        return tuple(messages) if when is None else Sent(tuple(messages), when)
    if when is not None:
        raise fail(
            "apply= returned a condition, and cond= does not depend on v alone. With "
            "output='arcs' expected one of them: let apply return nothing."
        )
    return Sent(tuple(messages), returned, always=True)


def _accepting(gate: Function | None, opened: bool) -> Function | None:
    """Return the test for vertices that an advance may reach."""
    if gate is None and not opened:
        return None
    if gate is None:
        return _is_open

    def accept(v: Any) -> Any:
        condition = called(gate, (Vertex("u"), v, Edge()))
        return _both(getattr(v, OPEN), condition) if opened else condition

    return accept


def _is_open(v: Any) -> Any:
    return getattr(v, OPEN)


def _of_target_alone(condition: Function | None, signature: Signature) -> bool:
    """Whether a condition at an arc reads nothing but the vertex v and scalars."""
    if condition is None:
        return False
    with Builder(signature, name_of(condition)) as builder:
        builder.kind = "edge"
        returned = called(condition, (Vertex("u"), Vertex("v"), Edge()))
        if returned is None or isinstance(returned, bool):
            return False
        node(returned)
        return all(_reads_target(value) for value in _values(builder.blocks[0]))


def _values(block: Block) -> Any:
    return block.walk()


def _reads_target(value: Any) -> bool:
    """Whether an instruction has no effect and, if it loads, loads from v or a scalar."""
    if value.op == "load":
        kind, *rest = value.attr
        return kind in ("scalar", "parameter", "num_vertices", "superstep") or rest[:1] == ["v"]
    return not value.op.startswith(("at_", "store", "emit", "reduce", "common"))


def _nothing_returned(who: str, name: str, output: str | None) -> str:
    return (
        f"{name} returned nothing, but {who} has output={output!r}. Return whether the item joins "
        f"the output (True for all of them), or pass output=None."
    )


# -- vertices


def vertex_step(who: str, functions: Given, everywhere: bool) -> Any:
    """Return the step that calls functions at every vertex of a frontier.

    For `filter`, what they return decides about the output; for `compute` all vertices stay in it.
    """
    return kept_step(
        lambda: _vertex_step(who, functions, everywhere), (who, everywhere), functions, None
    )


def _vertex_step(who: str, functions: Given, everywhere: bool) -> Any:
    if isinstance(functions.fn, VertexFunction):
        held = vars(functions.fn)
        on = "all" if everywhere or held["everywhere"] else None
        return VertexFunction(
            functions.fn.function, functions.fn.wake or "changed", active=held["active"], on=on,
            order_free=held["order_free"],
        )  # fmt: skip

    first, second = functions.fn or functions.cond, functions.apply

    def test(v: Any) -> Any:
        assert first is not None
        returned = called(first, (v,))
        if who == "compute":
            if returned is not None:
                raise fail(
                    f"{name_of(first)} returned a value, but compute keeps its frontier. Expected "
                    f"nothing; use filter to select vertices."
                )
            return Expr(node(True))
        if returned is None:
            raise fail(_nothing_returned(who, name_of(first), "vertices"))
        return returned

    def change(v: Any) -> Any:
        assert second is not None
        returned = called(second, (v,))
        return Expr(node(True)) if returned is None else returned

    parts = []
    if first is not None:
        parts.append(test)
    if second is not None:
        parts.append(change)
    on = "all" if everywhere else None
    for part in parts:
        part.__name__ = part.__qualname__ = functions.name
    made = [VertexFunction(part, "changed", on=on) for part in parts]
    return made[0] if len(made) == 1 else fold(*made)


# -- reductions over neighbours


def reduce_step(
    who: str, message: Function, monoid: Any, into: tuple[str, ...], identity: Any, how: How
) -> VertexFunction:
    """Return the step in which every vertex combines a message over its neighbours."""
    made: VertexFunction = kept_step(
        lambda: _reduce_step(message, monoid, into, identity, how),
        (who, how, into, identity), (message, monoid), None,
    )  # fmt: skip
    return made


def _reduce_step(
    message: Function, monoid: Any, into: tuple[str, ...], identity: Any, how: How
) -> VertexFunction:
    along, all_far = how.along, how.output == "neighbors"

    def step(v: Any) -> Any:
        def at_neighbor(far: Any, e: Any) -> Any:
            returned = called(message, (v, far, e))
            if returned is None:
                raise fail(f"{name_of(message)} returned nothing. Expected a message.")
            return returned

        found = v.gather(at_neighbor, monoid, direction=along)
        values = found if isinstance(found, tuple) else (found,)
        if len(values) != len(into):
            raise fail(
                f"{name_of(message)} returned {len(values)} message(s) for into={into!r}. Expected "
                f"{len(into)}."
            )
        starts = identity if isinstance(identity, tuple) else (identity,) * len(into)
        by = monoid if isinstance(monoid, tuple) else (monoid,) * len(into)
        for name, value, start, one in zip(into, values, starts, by, strict=True):
            setattr(v, name, value if start is None else _started(one, value, start))
        return Expr(node(True)) if all_far else None

    step.__name__ = step.__qualname__ = name_of(message)
    return VertexFunction(step, "changed", on="all" if how.everywhere else None)


def _started(monoid: Any, value: Any, start: Any) -> Any:
    """Return a reduction that begins with a value of the user's."""
    if isinstance(monoid, monoids.UserMonoid):
        return monoid.combine(start, value)
    if monoid.name in ("any", "argmin", "argmax", "mode"):
        raise fail(
            f"identity= has no meaning for {monoid!r}, which selects a message. Leave it out."
        )
    return _combined(monoid, fn.cast(start, value.dtype), value)


def reached(u: Any, v: Any, e: Any) -> Any:
    """Hold at every arc: the far ends of all arcs are the output."""
    return Expr(node(True))
