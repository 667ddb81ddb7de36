"""Values for `until`: a field of a given vertex, and whether a vertex is settled."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from weft.errors import TraceError, shortened
from weft.ir.ops import INT64, Value
from weft.ir.trace import builder as tracing
from weft.ir.trace.builder import fail
from weft.ir.trace.expr import Expr, node
from weft.ir.trace.proxies import _Proxy, no_field


def _read(field: str, place: Value) -> Expr:
    builder = tracing.current()
    dtype, shape = builder.fields[field]
    return Expr(builder.emit("field_at", (builder.index(place),), field, dtype, shape))


class FieldView:
    """A field as a parameter of `until`: ``dist[target]`` is its value at a vertex."""

    __slots__ = ("_field",)

    def __init__(self, field: str) -> None:
        self._field = field

    def __getitem__(self, i: Any) -> Expr:
        if isinstance(i, str | bytes | tuple):
            raise fail(
                f"{self._field}[{i!r}] names a vertex by its label. Look the vertex up before: "
                f"target = g.vertex_of({i!r}), then {self._field}[target]."
            )
        single = isinstance(i, Expr | int | np.integer) and not isinstance(i, bool)
        if not single or (not isinstance(i, Expr) and i < 0):
            raise fail(
                f"{self._field}[{shortened(i)}] is not the value at one vertex. Expected the "
                f"number of a vertex, from 0 on. For several, combine the tests: "
                f"({self._field}[a] < 9) & ({self._field}[b] < 9). For all vertices together, "
                f"reduce a scalar by weft.reduce."
            )
        return _read(self._field, node(i))

    def _refuse(self, *_: object) -> NoReturn:
        raise fail(
            f"{self._field!r} is a field, with a value at every vertex. Name the vertex: "
            f"{self._field}[target]. For all vertices together, reduce a scalar by weft.reduce."
        )

    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __truediv__ = __rtruediv__ = __bool__ = __len__ = __iter__ = _refuse
    __hash__ = None  # type: ignore[assignment]


class VertexAt(_Proxy):
    """A given vertex, whose fields can be read."""

    __slots__ = ("_place",)
    _place: Value

    def __init__(self, place: Value) -> None:
        object.__setattr__(self, "_place", place)

    def __getattr__(self, name: str) -> Expr:
        if name.startswith("_"):
            raise AttributeError(name)
        builder = tracing.current()
        if name in builder.fields:
            return _read(name, self._place)
        if name == "id":
            return Expr(self._place)
        if name == "out_degree":
            place = builder.index(self._place)
            return Expr(builder.emit("degree", (place,), None, INT64, (), weak=True))
        raise no_field(builder, "the state", name, [*builder.fields, "id", "out_degree"])


class Settled:
    """The condition that a vertex is settled; made by `weft.settled`."""

    def __init__(self, target: Any) -> None:
        self.target = target

    @property
    def is_label(self) -> bool:
        """Whether the target is a label, which the graph of the loop replaces by the vertex."""
        return not isinstance(self.target, int)

    def place(self) -> Value:
        """Return the target, as two constants that become arguments of the compiled code.

        One from -1 to 2 would become part of it.
        """
        builder = tracing.current()
        shifted = builder.emit("const", (), self.target + 3, INT64)
        return builder.emit("sub", (shifted, builder.emit("const", (), 3, INT64)), None, INT64)

    def __repr__(self) -> str:
        return f"weft.settled({self.target})"


def settled(target: Any) -> Settled:
    """Return the condition `until` that ends an ordered loop as soon as a vertex is settled.

    A vertex is settled when no vertex of the frontier has a smaller `priority`: where messages do
    not make priorities smaller, as with non-negative weights, its value is final. Vertices that
    are not settled may hold anything that was sent to them so far. An unreachable target lets the
    loop run to its end.

    Parameters
    ----------
    target
        The vertex: its number, or a label that is a string or a tuple.

    Examples
    --------
    >>> import weft
    >>> @weft.edge(into="dist", reduce=weft.min, priority=lambda v: v.dist)
    ... def relax(u, v, e):
    ...     return u.dist + e.weight
    >>> g = weft.generators.grid(9, 9, weights=(1, 5), seed=1)
    >>> state = g.state(dist=weft.full(float("inf")))
    >>> state.dist[0] = 0
    >>> run = g.iterate(relax, state, [0], until=weft.settled(40))
    >>> bool(state.dist[40] == weft.sssp(g, 0).dist[40])
    True
    """
    if isinstance(target, str | bytes | tuple):
        return Settled(target)
    if isinstance(target, bool) or not isinstance(target, int | np.integer) or target < 0:
        raise TraceError(
            f"weft.settled({target!r}) names no vertex. Expected an integer from 0 on, or a label."
        )
    return Settled(int(target))
