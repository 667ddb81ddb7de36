"""Edges by their computed id."""

from __future__ import annotations

from typing import Any, NoReturn

from weft.ir.ops import Value
from weft.ir.trace import builder as tracing
from weft.ir.trace.builder import fail
from weft.ir.trace.expr import Expr, node
from weft.ir.trace.proxies import _naming, _Proxy, no_field


class EdgeAt(_Proxy):
    """An edge by its computed id: its columns can be read."""

    __slots__ = ("_edge", "_given")
    _edge: Value
    _given: Value

    def __init__(self, edge: Value, given: Value) -> None:
        object.__setattr__(self, "_edge", edge)
        object.__setattr__(self, "_given", given)

    def __getattr__(self, name: str) -> Expr:
        builder = _naming(name)
        if name in builder.edge_fields:
            raise fail(
                f"edge state such as {name!r} belongs to arcs, of which an undirected edge has "
                f"two. Read it in a function of the arc, or keep it in an edge column."
            )
        if name in builder.columns:
            dtype, shape = builder.columns[name]
            return Expr(builder.emit("column_at", (self._edge,), name, dtype, shape))
        if name == "weight":
            return Expr(builder.const(1))
        if name == "id":
            return Expr(self._given)
        raise no_field(builder, "the edge", name, dict.fromkeys([*builder.columns, "weight", "id"]))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise fail("an edge at a computed id is read only.")


def edge_at(i: Any) -> EdgeAt:
    """Return the edge with a computed id, as `e` of a function: ``weft.edge_at(i).weight``.

    Examples
    --------
    Follow the first edge of every vertex:

    >>> import weft
    >>> @weft.vertex
    ... def first(v):
    ...     v.cost = weft.edge_at(weft.neighbor_edge(v.id, 0)).weight
    >>> g = weft.Graph.from_edges([0, 1], [1, 0], [2.5, 4.0])
    >>> state = g.state(cost=weft.full(0.0))
    >>> _ = g.run(first, state)
    >>> state.cost.tolist()
    [2.5, 4.0]
    """
    given = node(i)
    return EdgeAt(tracing.current().index(given), given)
