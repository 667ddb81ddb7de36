"""Onyx's verbs: edgemap, vertexmap and foldmap over active sets, with an index of features.

A map calls a function at every edge whose source, or at every vertex that, is in `active_in` (None:
all). The function updates `v` in place and returns whether that changed it; the changed vertices
are recorded in `active_out` (None: not recorded). Updates at an edge are atomic: ``v.x += ...``,
``*=``, ``|=``, ``&=``, ``v.x.min(...)`` or ``v.x.max(...)``. A function whose last parameter is `f`
is called for each feature: ``u.x[f]`` is one feature of a vector, or one row of a matrix.

The functions are traced into weft's steps, so a map is equivalent to `g.run` with `weft.edge`,
`weft.vertex` and `weft.fold`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import numpy as np

from weft.config import Config
from weft.engine.frontier import Frontier
from weft.engine.state import State
from weft.errors import TraceError
from weft.graph.execution import signature_for
from weft.ir.trace import builder as tracing
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.ir.trace.builder import Builder, fail
from weft.ir.trace.expr import Expr, node
from weft.ir.trace.proxies import Edge, FieldExpr, Sent, Vertex
from weft.ir.trace.steps import EdgeFunction, VertexFunction, call_function
from weft.program import check_function, fold

Function = Callable[..., Any]
# Hidden fields, one per sequence of edge functions: the vertices at which its last one was true.
MARK = "map_active"


class Active:
    """A set of vertices that maps start from and record into.

    Parameters
    ----------
    g
        The graph.
    vertices
        The initially active vertices, by number (`Graph.vertex_of` converts labels) or as a mask;
        none by default.

    Examples
    --------
    >>> import weft
    >>> from weft.maps import Active, edgemap
    >>> def relax(u, v, e):
    ...     v.dist.min(u.dist + e.weight)
    ...     return u.dist + e.weight < v.dist
    >>> g = weft.Graph.from_edges([0, 0, 1], [1, 2, 2], [1.0, 5.0, 2.0])
    >>> state = g.state(dist=[0.0, float("inf"), float("inf")])
    >>> active = Active(g, [0])
    >>> while active:
    ...     edgemap(g, relax, state, active, active)
    >>> state.dist.tolist()
    [0.0, 1.0, 3.0]
    """

    def __init__(self, g: Any, vertices: Any = None) -> None:
        self.frontier: Frontier = g.frontier([] if vertices is None else vertices)

    def __len__(self) -> int:
        return len(self.frontier)

    def tolist(self) -> list[int]:
        """Return the vertices as numbers, in ascending order."""
        return self.frontier.tolist()

    def __repr__(self) -> str:
        return f"Active({len(self)} of {self.frontier.length})"


def edgemap(
    g: Any,
    function: Function,
    state: State,
    active_in: Any = None,
    active_out: Active | None = None,
    *,
    edge_state: State | None = None,
    config: Config | None = None,
) -> None:
    """Call ``function(u, v, e)`` at every edge that leaves an active vertex.

    Parameters
    ----------
    g
        The graph.
    function
        Reads `u`, `v` and `e` as they were before the map, updates the fields of `v` atomically and
        returns whether that changed v; without a return value, v changed if its fields differ.
        Further parameters name scalars of the state; a last parameter `f` is the index of a
        feature.
    state
        Made by ``g.state``.
    active_in
        An `Active`, a frontier, vertices or a mask; None for all.
    active_out
        Where to record the vertices that changed; None to record nothing.
    edge_state
        Made by ``g.edge_state``; the function may assign it.
    config
        How to run it.

    Examples
    --------
    >>> import weft
    >>> def add(u, v, e, f):
    ...     v.total[f] += e.weight * u.x[f]
    >>> g = weft.Graph.from_edges([0, 1], [2, 2], [1.0, 10.0])
    >>> state = g.state(x=[[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]], total=weft.full(0.0, shape=2))
    >>> weft.maps.edgemap(g, add, state)
    >>> state.total.tolist()
    [[0.0, 0.0], [0.0, 0.0], [31.0, 42.0]]
    """
    check_function(function, "edgemap", "u, v, e")
    _run(g, [(function, "edge")], state, active_in, active_out, edge_state, config)


def vertexmap(
    g: Any,
    function: Function,
    state: State,
    active_in: Any = None,
    active_out: Active | None = None,
    *,
    config: Config | None = None,
) -> None:
    """Call ``function(v)`` at every active vertex; it assigns the fields of v.

    It returns whether v changed; without a return value, v changed if its fields differ. The other
    parameters are as in `edgemap`.

    Examples
    --------
    >>> import weft
    >>> def halve(v, f):
    ...     v.x[f] = v.x[f] / 2
    ...     return v.x[f] >= 1
    >>> g = weft.generators.path(2)
    >>> state = g.state(x=[[4.0, 1.0], [1.0, 0.5]])
    >>> active = weft.maps.Active(g)
    >>> weft.maps.vertexmap(g, halve, state, None, active)
    >>> state.x.tolist(), active.tolist()
    ([[2.0, 0.5], [0.5, 0.25]], [0])
    """
    check_function(function, "vertexmap", "v")
    _run(g, [(function, "vertex")], state, active_in, active_out, None, config)


def foldmap(*functions: Function) -> Callable[..., None]:
    """Join edge functions (at least three parameters) and vertex functions (one, and scalars).

    The result is called as ``fold(g, state, active_in=None, active_out=None)`` and runs as one
    kernel where that gives the same result (see `weft.fold`). Consecutive edge functions run one
    after another on each edge, consecutive vertex functions at each vertex. A function that returns
    false ends the sequence there: its own updates remain, and later functions are not called. A
    missing return value counts as true. Vertex functions after edge functions run at the vertices
    for which the last edge function returned true.

    Examples
    --------
    >>> import weft
    >>> def count(u, v, e):
    ...     v.seen += 1
    >>> def double(v):
    ...     v.seen = 2 * v.seen
    >>> g = weft.Graph.from_edges([0, 1], [2, 2])
    >>> state = g.state(seen=weft.full(0))
    >>> weft.maps.foldmap(count, double)(g, state)
    >>> state.seen.tolist()
    [0, 0, 4]

    The second function is called only at edges where the first one returned true:

    >>> def arrive(u, v, e):
    ...     v.seen += 1
    ...     return u.id == 0
    >>> def first(u, v, e):
    ...     v.first += 1
    >>> state = g.state(seen=weft.full(0), first=weft.full(0))
    >>> weft.maps.foldmap(arrive, first)(g, state)
    >>> state.seen.tolist(), state.first.tolist()
    ([0, 0, 2], [0, 0, 1])
    """
    if not functions:
        raise TraceError("foldmap needs at least one function.")
    parts = [(function, _kind_of(function)) for function in functions]

    def run(
        g: Any,
        state: State,
        active_in: Any = None,
        active_out: Active | None = None,
        *,
        edge_state: State | None = None,
        config: Config | None = None,
    ) -> None:
        _run(g, parts, state, active_in, active_out, edge_state, config)

    return run


def _kind_of(function: Function) -> str:
    check_function(function, "foldmap", "u, v, e or of v")
    code = getattr(function, "__code__", None)
    if code is None or code.co_argcount == 0:
        raise TraceError(f"foldmap takes functions of (u, v, e) or of v, but got {function!r}.")
    first = code.co_varnames[: min(code.co_argcount, 3)]
    return "edge" if first == ("u", "v", "e") else "vertex"


def _run(
    g: Any,
    parts: list[tuple[Function, str]],
    state: State,
    active_in: Any,
    active_out: Active | None,
    edge_state: State | None,
    config: Config | None,
) -> None:
    if active_out is not None and not isinstance(active_out, Active):
        raise TraceError(
            f"active_out={active_out!r} cannot be recorded into. Expected weft.maps.Active(g)."
        )
    frontier = active_in.frontier if isinstance(active_in, Active) else active_in
    ends = _ends_of_runs(parts, active_out is not None)
    with _marks(g, state, ends.values()):
        signature = signature_for(g, state, edge_state)
        steps: list[EdgeFunction | VertexFunction] = []
        for position, (function, kind) in enumerate(parts):
            if kind == "vertex":
                steps.append(_vertex_step(function))
            else:
                leads = parts[position + 1 : position + 2]
                gates = bool(leads) and leads[0][1] == "edge"
                steps.append(_edge_step(function, signature, gates, ends.get(position)))
        program = fold(*steps) if len(steps) > 1 else steps[0]
        changed = g.run(program, state, frontier, edge_state=edge_state, config=config)
    if active_out is not None:
        active_out.frontier = changed


def _ends_of_runs(parts: list[tuple[Function, str]], recorded: bool) -> dict[int, str]:
    """Return the last function of each sequence of edge functions, and the field that it marks.

    The last sequence needs no field if its active vertices are not recorded.
    """
    kinds = [kind for _, kind in parts]
    after = [*kinds[1:], "" if recorded else "edge"]
    ends = [k for k, pair in enumerate(zip(kinds, after, strict=True)) if pair[0] != pair[1]]
    return {k: f"{MARK}{k}" for k in ends if kinds[k] == "edge"}


@contextmanager
def _marks(g: Any, state: State, names: Collection[str]) -> Iterator[None]:
    """Hold the hidden fields while a map runs."""
    with g.topology.device.current():
        for name in names:
            state.fields[name] = g.topology.xp.zeros(g.num_vertices, bool)
    vars(state)["_signature"] = None  # which was derived without the hidden fields
    try:
        yield
    finally:
        for name in names:
            state.fields.pop(name, None)
        vars(state)["_signature"] = None


# -- the index of a feature


class FeatureIndex:
    """The parameter `f`, which stands for each feature in turn."""

    def __features__(self, x: Expr) -> Mapped:
        """Return a value indexed by every feature."""
        if not x.shape:
            raise fail("a scalar has no features: x[f] needs a vector or a matrix.")
        return Mapped(x.node)


class Mapped(Expr):
    """A value that depends on `f`: its first axis holds the values for all f."""

    __slots__ = ()

    def _with(self, op: str, other: Any, turned: bool = False) -> Mapped:
        a, b = _aligned(self, other)
        return Mapped(tracing.current().binary(op, *((b, a) if turned else (a, b))))


def _aligned(a: Expr, other: Any) -> tuple[Any, Any]:
    """Return two operands with aligned axes: one number per f next to a vector becomes a column."""
    b = other if isinstance(other, Expr) else Expr(node(other))
    ranks = [len(x.shape) - isinstance(x, Mapped) for x in (a, b)]
    mapped = [isinstance(x, Mapped) for x in (a, b)]
    if mapped[0] and ranks[0] == 0 and ranks[1] == 1:
        a = _column(a)
    if mapped[1] and ranks[1] == 0 and ranks[0] == 1:
        b = _column(b)
    return a.node, b.node


def _column(x: Expr) -> Expr:
    one = fn.cast(fn.stack([1]), x.dtype)
    return fn.outer(Expr(x.node), one)


def _operators() -> None:
    """Add the operators of expressions to `Mapped`."""
    names = {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floordiv",
             "mod": "mod", "pow": "pow", "and": "bit_and", "or": "bit_or",
             "xor": "bit_xor"}  # fmt: skip
    for name, op in names.items():
        setattr(Mapped, f"__{name}__", lambda self, x, op=op: self._with(op, x))
        setattr(Mapped, f"__r{name}__", lambda self, x, op=op: self._with(op, x, True))
    for op in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(Mapped, f"__{op}__", lambda self, x, op=op: self._with(op, x))


_operators()


def _indexed(function: Function) -> Function:
    """Return a function whose last parameter `f`, if it has one, is the index of a feature."""
    code = getattr(function, "__code__", None)
    if code is None or not isinstance(function, FunctionType):
        return function
    names = code.co_varnames[: code.co_argcount]
    defaults = function.__defaults__ or ()
    if not names or names[-1] != "f" or defaults:
        return function
    return FunctionType(
        code, function.__globals__, function.__name__, (FeatureIndex(),), function.__closure__
    )


def _condition(returned: Any, name: str) -> Any:
    """Return a function's result as one condition: with an index f, whether it holds for any."""
    if returned is None or isinstance(returned, bool):
        return returned
    if isinstance(returned, np.bool_):
        return bool(returned)
    what = f"what {name} returns"
    builder = tracing.current()
    if isinstance(returned, Mapped):
        return monoids.any(Expr(builder.condition(returned.node, what)))
    return Expr(builder.test(node(returned), what))


# -- functions of edges


class Update:
    """The result of `v.x += ...`, until Python assigns it back to v.x."""

    def __init__(self, field: str) -> None:
        self.field = field


class Cell(FieldExpr):
    """A field of v at an edge: a value, and the updates that can be made to it."""

    __slots__ = ("_target",)

    def __init__(self, value: Any, target: Target, field: str) -> None:
        super().__init__(value, field)
        self._target = target

    def _update(self, monoid: Any, x: Any) -> Update:
        self._target._note(self.field, monoid, x)
        return Update(self.field)

    def __iadd__(self, x: Any) -> Any:
        return self._update(monoids.sum, x)

    def __imul__(self, x: Any) -> Any:
        return self._update(monoids.prod, x)

    def __ior__(self, x: Any) -> Any:
        return self._update(monoids.or_, x)

    def __iand__(self, x: Any) -> Any:
        return self._update(monoids.and_, x)

    def min(self, x: Any) -> None:
        """Lower the field to x where that is smaller."""
        self._update(monoids.min, x)

    def max(self, x: Any) -> None:
        """Raise the field to x where that is larger."""
        self._update(monoids.max, x)

    def __getitem__(self, position: Any) -> Expr:
        if isinstance(position, FeatureIndex):
            return MappedCell(self.node, self._target, self.field)
        return super().__getitem__(position)

    def __setitem__(self, position: object, value: object) -> None:  # type: ignore[override]
        self._target._check(self.field, value)


class MappedCell(Cell, Mapped):
    """One feature of a field of v at an edge."""

    __slots__ = ()


class Target:
    """v at an edge: reads are values before the map, updates become messages."""

    def __init__(self) -> None:
        object.__setattr__(self, "_vertex", Vertex("v"))
        object.__setattr__(self, "_updates", {})

    _vertex: Vertex
    _updates: dict[str, tuple[Any, Any]]

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._vertex, name)
        if name in tracing.current().fields:
            return Cell(value.node, self, name)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        self._check(name, value)

    def _check(self, field: str, value: Any) -> None:
        if not isinstance(value, Update) or value.field != field:
            raise fail(
                f"v.{field} is assigned at an edge, where others may do the same at once. Update "
                f"it: v.{field} += x, *=, |=, &=, v.{field}.min(x) or v.{field}.max(x)."
            )

    def _note(self, field: str, monoid: Any, x: Any) -> None:
        known = self._updates.get(field)
        if known is None:
            self._updates[field] = (monoid, x)
            return
        if known[0] is not monoid:
            raise fail(f"v.{field} is updated by {known[0]!r} and by {monoid!r}. Use one of them.")
        self._updates[field] = (monoid, _combined(monoid, known[1], x))


def _combined(monoid: Any, a: Any, b: Any) -> Any:
    """Return two updates of one field at one edge as one."""
    if monoid in (monoids.min, monoids.max):
        return (fn.minimum if monoid is monoids.min else fn.maximum)(a, b)
    if monoid in (monoids.or_, monoids.and_):
        return a | b if monoid is monoids.or_ else a & b
    return a + b if monoid is monoids.sum else a * b


def _edge_step(function: Function, signature: Any, gates: bool, mark: str | None) -> EdgeFunction:
    """Trace a function once to see what it updates; return the step that sends the updates.

    With `gates`, an edge function follows, and is called where this one returns true.
    The last function of a run marks the vertices for which it returned true, if `mark` names a
    field for them.
    """
    user = _indexed(function)

    def call(u: Any, e: Any) -> tuple[dict[str, tuple[Any, Any]], Any]:
        target = Target()
        returned = call_function(user, (u, target, e), tracing.current())
        return target._updates, _condition(returned, function.__name__)

    with Builder(signature, function.__name__) as builder:
        builder.kind = "edge"
        updates, returned = call(Vertex("u"), Edge(own=True))
    marks = bool(updates) and mark is not None and isinstance(returned, Expr)

    def step(u: Any, v: Any, e: Any) -> Any:
        made, condition = call(u, e)
        if not made:
            return condition
        messages = [x for _, x in made.values()]
        if gates and condition is not None:
            return Sent(tuple(messages), condition, always=True)
        return tuple([*messages, condition] if marks else messages)

    step.__name__ = step.__qualname__ = function.__name__
    names, reduce = list(updates), [monoid for monoid, _ in updates.values()]
    active: Function | None = None
    if marks:
        names, reduce = [*names, str(mark)], [*reduce, monoids.or_]
        active = lambda v, old: getattr(v, str(mark))  # noqa: E731
    elif isinstance(returned, bool) and updates and not gates:
        active = lambda v, old: returned  # noqa: E731
    return EdgeFunction(step, tuple(names), tuple(reduce), active=active)


# -- functions of vertices


class Own:
    """v of a vertex function, whose fields may be assigned feature by feature."""

    def __init__(self, vertex: Vertex) -> None:
        object.__setattr__(self, "_vertex", vertex)

    _vertex: Vertex

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._vertex, name)
        if name in tracing.current().fields:
            return OwnField(value.node, self._vertex, name)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._vertex, name, value)


class OwnField(FieldExpr):
    """A field of v, of which ``v.x[f] = ...`` assigns every feature."""

    __slots__ = ("_vertex",)

    def __init__(self, value: Any, vertex: Vertex, field: str) -> None:
        super().__init__(value, field)
        self._vertex = vertex

    def __setitem__(self, position: object, value: Any) -> None:  # type: ignore[override]
        if not isinstance(position, FeatureIndex):
            raise fail(f"v.{self.field} is assigned as a whole, or by v.{self.field}[f] = ....")
        setattr(self._vertex, self.field, value)


def _vertex_step(function: Function) -> VertexFunction:
    user = _indexed(function)

    def step(v: Any) -> Any:
        returned = call_function(user, (Own(v),), tracing.current())
        return _condition(returned, function.__name__)

    step.__name__ = step.__qualname__ = function.__name__
    return VertexFunction(step, None)
