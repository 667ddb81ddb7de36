"""Reductions over the common neighbours of two vertices, and the arcs that lead to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from weft.ir.ops import BOOL, INT64, Block, Value
from weft.ir.trace import builder as tracing
from weft.ir.trace.builder import fail
from weft.ir.trace.calls import check_takes, parameters_of
from weft.ir.trace.control import unpack
from weft.ir.trace.expr import Expr, node
from weft.ir.trace.monoids import Monoid
from weft.ir.trace.proxies import (
    Vertex,
    _naming,
    _Proxy,
    grouped,
    messages_of,
    no_field,
    with_conditions,
)

ROWS = "weft_rows"  # the scalar that says how many rows each graph of `graphs=` has


def first_row(name: str) -> str:
    """Return the scalar that says where the rows of a graph of `graphs=` begin."""
    return "weft_first_row_of_" + (name if name.isidentifier() else name.encode().hex())


class FoundEdge(_Proxy):
    """The arc from one of two vertices to a common neighbour; of parallel arcs the first."""

    __slots__ = ("_elsewhere", "_who")
    _who: str
    _elsewhere: bool  # in a graph of `graphs=`, whose arcs have no state

    def __init__(self, who: str, elsewhere: bool = False) -> None:
        object.__setattr__(self, "_who", who)
        object.__setattr__(self, "_elsewhere", elsewhere)

    def __getattr__(self, name: str) -> Expr:
        builder = _naming(name)
        held = {} if self._elsewhere else builder.edge_fields
        for kind, known in (("edge_state", held), ("column", builder.columns)):
            if name in known:
                dtype, shape = known[name]
                return Expr(builder.emit("load", (), (kind, self._who, name), dtype, shape))
        if name == "weight":
            return Expr(builder.const(1))
        if name == "id":
            return Expr(builder.emit("load", (), ("edge_id", self._who), INT64, (), weak=True))
        known_names = dict.fromkeys([*held, *builder.columns, "weight", "id"])
        raise no_field(builder, "the edge", name, known_names)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise fail(
            f"{self._who}.{name} cannot be assigned: an arc is written by its own edge function "
            f"call. Return the value from the function of weft.common."
        )


def common(
    a: Any,
    b: Any,
    function: Callable[..., Any],
    monoid: Monoid | tuple[Monoid, ...] | None = None,
    *,
    left: str | None = None,
    right: str | None = None,
) -> Any:
    """Combine messages over the common out-neighbours w of two vertices.

    Parameters
    ----------
    a, b
        Vertices or vertex ids.
    function
        ``f(w)`` or ``f(w, ea, eb)`` returns the message of a common neighbour, or a tuple; `ea` is
        the arc from a to w and `eb` the one from b to w. Their columns, their edge state as it was
        when the step began and their ids can be read. ``weft.send(x, when=...)`` sends only where
        the condition holds.
    monoid
        How messages combine; a tuple gives one to each message. `any` ends at the first message.
        With ``Config(deterministic=True)`` it takes the smallest w, which also decides between
        equal keys of `argmin` and `argmax`. Without a monoid the function returns nothing; it may
        emit the neighbours, in ascending order.
    left, right
        Names of other graphs, given by ``graphs=`` of `Graph.run` or `Graph.iterate`: the
        out-neighbours of `a` are those in `left`, of `b` those in `right`. Without a name they are
        those in the graph that runs the program. Of arcs of other graphs columns that all graphs
        have can be read.

    Returns
    -------
    Expr or tuple of Expr
        Without a message the identity, as for a gather. Parallel arcs count once: `ea` and `eb` are
        those with the smallest edge id.

    Examples
    --------
    The heaviest path of two edges from u to v, for every edge of a triangle:

    >>> import weft
    >>> @weft.edge
    ... def detour(u, v, e):
    ...     e.most, e.over = weft.common(
    ...         u, v, lambda w, ea, eb: (ea.weight + eb.weight, w.id), weft.argmax
    ...     )
    >>> g = weft.Graph.from_edges([0, 1, 0], [1, 2, 2], weight=[1, 2, 3], directed=False)
    >>> found = g.edge_state(most=weft.full(0), over=weft.full(-1))
    >>> changed = g.run(detour, g.state(), edge_state=found)
    >>> found.most.tolist(), found.over.tolist()
    ([5, 3, 5, 4, 3, 4], [2, 1, 2, 0, 1, 0])

    Entries of the product of one matrix and the transpose of another, where g has edges:

    >>> @weft.edge
    ... def product(u, v, e):
    ...     times = lambda w, ea, eb: ea.weight * eb.weight
    ...     e.total = weft.common(u, v, times, weft.sum, left="a", right="b")
    >>> a = weft.Graph.from_edges([0, 0], [1, 2], weight=[2, 3])
    >>> b = weft.Graph.from_edges([1, 2], [2, 2], weight=[5, 7])
    >>> found = g.edge_state(total=weft.full(0))
    >>> changed = g.run(product, g.state(), edge_state=found, graphs={"a": a, "b": b})
    >>> found.total.tolist()
    [15, 21, 0, 0, 0, 0]
    """
    builder = tracing.current()
    named = left is not None or right is not None
    args = tuple(_row(builder, x, name, named) for x, name in ((a, left), (b, right)))
    what = "the function of weft.common"
    ends = (("ea", left), ("eb", right)) if _takes_arcs(function) else ()
    arcs = [FoundEdge(who, name is not None) for who, name in ends]
    check_takes(function, what, "w", *(edge._who for edge in arcs))
    if builder.in_common:
        raise fail("weft.common cannot stand inside the function of another one.")
    builder.blocks.append(Block())
    builder.in_common = True
    returned = function(Vertex("w"), *arcs)
    builder.in_common = False
    messages, when = ((), None) if monoid is None else messages_of(returned, what)
    messages = tuple(builder.strong(message) for message in messages)
    if any(message.shape for message in messages):
        raise fail(f"{what} returns scalar messages.")
    groups = [] if monoid is None else grouped(messages, monoid)
    if any(reduction.name == "mode" for reduction, _ in groups):
        raise fail("weft.mode cannot combine over common neighbours.")
    block = builder.blocks.pop()
    block.results = with_conditions(groups, messages, when)
    attr = tuple((r, count, when is not None) for r, count in groups)
    kinds = tuple((m.dtype, m.shape) for m in messages)
    dtype = kinds[0][0] if kinds else BOOL
    value = builder.append(Value("common", args, attr, dtype, blocks=(block,), results=kinds))
    return unpack(value, builder) if kinds else None


def _row(builder: tracing.Builder, x: Any, name: str | None, named: bool) -> Value:
    """Return the row of a vertex in a graph of `graphs=`, or in the one that runs the program."""
    index = node(x.id if isinstance(x, Vertex) else x)
    if not named:
        return builder.index(index)
    if name is not None and not isinstance(name, str):
        raise fail(
            f"weft.common takes the name of a graph, but got {name!r}. Give the graph by "
            'g.run(..., graphs={"a": graph}), and its name here: left="a".'
        )
    begins = {} if name is None else {first_row(name): name}
    for scalar in (ROWS, *begins):
        if scalar not in builder.scalars:
            raise fail(
                f"weft.common looks at rows of graph {name!r}, which is not given. Pass it: "
                f"g.run(..., graphs={{{name!r}: graph}})."
            )
    rows, *first = (
        Expr(builder.emit("load", (), ("scalar", scalar), INT64)) for scalar in (ROWS, *begins)
    )
    vertex = Expr(index)
    row = vertex + first[0] if first else vertex
    if not isinstance(x, Vertex):  # which may be out of range: then it is in no graph's
        row = Expr(builder.select(node((vertex >= 0) & (vertex < rows)), node(row), node(-1)))
    return builder.index(node(row))


def _takes_arcs(function: Any) -> bool:
    """Whether a function of common neighbours takes the two arcs too."""
    found = parameters_of(function) if callable(function) else None
    return found is not None and len(found.names) - len(found.defaults) > 1
