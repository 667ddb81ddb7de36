"""Functions of arcs, traced into steps of the engine.

The updates that a function makes at an arc become messages, as in `weft.maps`. What it returns
decides whether the arc, or the vertex at its end, joins the output. Where that is not "a field
changed", the arcs that pass send the number of the superstep into a hidden field of their vertex.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from weft.ir.ops import EFFECT, Block, Signature
from weft.ir.trace import builder as tracing
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.ir.trace.builder import Builder, fail
from weft.ir.trace.expr import Expr, node
from weft.ir.trace.proxies import Edge, Sent, Vertex
from weft.ir.trace.steps import EdgeFunction, Fold, name_of
from weft.operators.functions import OPEN, Function, Given, How, called, kept_step, nothing_returned
from weft.operators.updates import ArcTarget, Won
from weft.program import fold


class _Call(NamedTuple):
    """The result of calling the functions at an arc."""

    updates: dict[str, tuple[Any, Any]]
    returned: Any  # None where there is nothing to add to `when`
    when: Any  # the condition of the pair; None without one, or if vertices are tested for it


def arc_step(who: str, functions: Given, how: How, signature: Signature) -> EdgeFunction | Fold:
    """Return the step that calls functions at every arc of a frontier."""
    made: EdgeFunction | Fold = kept_step(
        lambda: _arc_step(who, functions, how, signature),
        (who, how, id(signature)),
        functions,
        signature,
    )
    return made


def _arc_step(who: str, functions: Given, how: How, signature: Signature) -> EdgeFunction | Fold:
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
        if how.output is not None and first.returned is None and functions.fn is not None:
            raise fail(nothing_returned(who, functions.name, how.output))
    acts = _acts(functions.fn or functions.apply, signature)
    if acts and functions.cond is not None and gate is None:
        # What takes effect at once is no message that a condition could hold back.
        test = how._replace(output=how.output or "vertices")
        first_part: Any = _arc_step(who, Given(cond=functions.cond), test, signature)
        rest = how._replace(opened=False)
        second_part: Any = _arc_step(who, Given(apply=functions.apply), rest, signature)
        return fold(first_part, second_part)
    before = acts or bool(updates)  # there is more to spare than the condition itself
    gated = before and gate is not None
    ending = _ending_of(first, how) if updates else ""  # without any, a step returns the condition

    def step(u: Any, v: Any, e: Any) -> Any:
        made = call(u, e, gated)
        if not made.updates:
            return _condition_alone(made, How(*options))
        return _messages(made, How(*options), ending)

    step.__name__ = step.__qualname__ = functions.name
    names, reduce = tuple(updates), tuple(m for m, _ in first.updates.values())
    if ending == "mark":
        names, reduce = (*names, how.mark), (*reduce, monoids.max)
    accept = _accepting(gate if gated else None, how.opened and before)
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
    """Return a function's result as a condition; None if it returned nothing."""
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
    """Return the messages of a function with updates."""
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


def _acts(function: Function | None, signature: Signature) -> bool:
    """Whether a function at an arc changes more than v: live fields, edge state or scalars."""
    if function is None:
        return False
    with Builder(signature, name_of(function)) as builder:
        builder.kind = "edge"
        called(function, (Vertex("u"), ArcTarget(True), Edge(own=True)))
        return any(value.op in EFFECT for value in builder.blocks[0].walk())


def _reads_target(value: Any) -> bool:
    """Whether an instruction has no effect and, if it loads, loads from v or a scalar."""
    if value.op == "load":
        kind, *rest = value.attr
        return kind in ("scalar", "parameter", "num_vertices", "superstep") or rest[:1] == ["v"]
    return not value.op.startswith(("at_", "store", "emit", "reduce", "common"))
