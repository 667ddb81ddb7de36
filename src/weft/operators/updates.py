"""The vertex v of an advance: reads are values before it, updates are collected as messages."""

from __future__ import annotations

from typing import Any

from weft.ir.trace import builder as tracing
from weft.ir.trace import monoids
from weft.ir.trace.builder import fail
from weft.ir.trace.expr import Expr, node
from weft.maps import Cell, Target, Update


class Won(Expr):
    """Whether an update improves on the value of v: what `v.x.min(...)` returns."""

    __slots__ = ("field",)

    def __init__(self, better: Expr, field: str) -> None:
        super().__init__(better.node)
        self.field = field


def _improves(good: Expr, x: Any) -> Expr:
    """Return whether x replaces a value that is not as good; any number replaces NaN."""
    return ~good & (Expr(node(x)) == x)


class ArcCell(Cell):
    """A field of v at an arc; `min` and `max` return whether they improve on it."""

    __slots__ = ()

    def min(self, x: Any) -> Won:  # type: ignore[override]
        """Lower the field to x where that is smaller; return whether x is smaller."""
        self._update(monoids.min, x)
        return Won(_improves(Expr(self.node) <= x, x), self.field)

    def max(self, x: Any) -> Won:  # type: ignore[override]
        """Raise the field to x where that is larger; return whether x is larger."""
        self._update(monoids.max, x)
        return Won(_improves(Expr(self.node) >= x, x), self.field)


class ArcTarget(Target):
    """v at an arc of an advance."""

    def __init__(self, idempotent: bool) -> None:
        super().__init__()
        object.__setattr__(self, "_idempotent", idempotent)

    _idempotent: bool

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._vertex, name)
        if name in tracing.current().fields:
            return ArcCell(value.node, self, name)
        return value

    def _check(self, field: str, value: Any) -> None:
        if isinstance(value, Update) and value.field == field:
            return
        if not self._idempotent:
            raise fail(
                f"v.{field} is assigned at an arc, where others may do the same at once. Update "
                f"it: v.{field} += x, *=, |=, &=, v.{field}.min(x) or v.{field}.max(x). If any of "
                f"the values will do, pass idempotent=True."
            )
        self._note(field, monoids.any, value)
