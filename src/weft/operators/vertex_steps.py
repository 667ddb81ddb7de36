"""Functions of vertices, and reductions over neighbours, traced into steps of the engine."""

from __future__ import annotations

from typing import Any

from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.ir.trace.builder import fail
from weft.ir.trace.expr import Expr, node
from weft.ir.trace.steps import VertexFunction, name_of
from weft.maps import _combined
from weft.operators.functions import Function, Given, How, called, kept_step, nothing_returned
from weft.program import fold


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
            raise fail(nothing_returned(who, name_of(first), "vertices"))
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
    # All vertices again, which an engine need not list.
    wake = "all" if everywhere and who == "compute" else "changed"
    made = [VertexFunction(part, wake, on=on) for part in parts]
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
    """Always true: the far ends of all arcs are the output."""
    return Expr(node(True))
