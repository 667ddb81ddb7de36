"""Random small programs that end and whose result does not depend on the order of arcs.

A `Case` is a graph, a state, a first frontier and functions, all of plain data: it prints, and its
functions can be made and traced as often as wanted. Messages are integers (which wrap, so every
monoid is exactly associative) or floats that hold small integers. Where a program could see which
of several messages won (`any`, ties of argmin), those messages are equal.
"""

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from expressions import Tree, expressions, field
from oracle import PlainState
from weft.graph import Graph
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.ir.trace.proxies import send
from weft.program import edge, fold, vertex

FIELDS = {"a": "int32", "b": "int64", "c": "int64", "flag": "bool", "f": "float64"}
XOR = monoids.monoid(lambda a, b: a ^ b, 0, name="xor")
MONOIDS = {
    "sum": monoids.sum, "prod": monoids.prod, "min": monoids.min, "max": monoids.max,
    "or": monoids.or_, "and": monoids.and_, "any": monoids.any, "argmin": monoids.argmin,
    "argmax": monoids.argmax, "mode": monoids.mode, "xor": XOR,
}  # fmt: skip
NUMERIC = ("sum", "prod", "min", "max", "or", "and", "xor")


def sources(*whos: str, live: bool = False) -> dict[str, list[tuple[str, str]]]:
    """Return what expressions may read of some proxies, by dtype; `live`: the live field too."""
    known: dict[str, list[tuple[str, str]]] = {"int32": [], "int64": [], "bool": []}
    for who in whos:
        if who == "e":
            known["int64"].append(("e", "capacity"))
            known["int32"].append(("e", "mark"))
        elif who == "scalars":
            known["int64"].append(("scalars", "total"))
        else:
            known["int32"].append((who, "a"))
            known["int64"] += [(who, "b"), (who, "c")]
            known["bool"].append((who, "flag"))
            known["int64"] += [(who, "live")] if live or who == "old" else []
    return known


@dataclass(frozen=True)
class Messages:
    """What is sent and how it combines: for an edge step, or for one gather."""

    into: tuple[str, ...]
    monoid: str | tuple[str, ...]
    values: tuple[Tree, ...]
    when: Tree | None = None

    def reduce(self) -> Any:
        if isinstance(self.monoid, tuple):
            return tuple(MONOIDS[name] for name in self.monoid)
        return MONOIDS[self.monoid]

    def send(self, scope: dict[str, Any]) -> Any:
        values = tuple(tree.build(scope) for tree in self.values)
        if self.when is not None:
            return send(values, when=self.when.build(scope))
        return values if len(values) > 1 else values[0]


@dataclass(frozen=True)
class Effects:
    """What a step does beside its messages: a reduced scalar, a live update."""

    total: tuple[str, Tree] | None = None
    live: tuple[str, Tree, Tree] | None = None

    def do(self, scope: dict[str, Any]) -> None:
        if self.total is not None:
            name, tree = self.total
            fn.reduce("total", tree.build(scope), MONOIDS[name])
        if self.live is not None:
            how, place, tree = self.live
            cell = scope["v"].live.at(place.build(scope) % fn.num_vertices())
            getattr(cell, how)(tree.build(scope))


@dataclass(frozen=True)
class Lookup:
    """A live load of a field that only its own vertex writes, so that the order is not seen."""

    how: str  # what the loaded value is combined by
    value: Tree
    place: Tree | None = None  # of the vertex that it is loaded from; None: v itself
    into: str = "live"

    def do(self, v: Any, scope: dict[str, Any]) -> None:
        place = v.id if self.place is None else self.place.build(scope) % fn.num_vertices()
        loaded, value = v.live.at(place).load(), self.value.build(scope)
        result = loaded + value if self.how == "+" else getattr(fn, self.how)(loaded, value)
        setattr(v, self.into, result)


@dataclass(frozen=True)
class EdgeSpec:
    """An edge function as data."""

    messages: Messages | None
    effects: Effects = Effects()
    mark: Tree | None = None  # assigned to edge state
    goes_on: Tree | None = None  # returned where there are no messages
    accept: Tree | None = None
    active: Tree | None = None
    everywhere: bool = False
    along: str = "out"

    def make(self) -> Any:
        def step(u: Any, v: Any, e: Any, total: Any) -> Any:
            scope = {"u": u, "v": v, "e": e, "scalars": SimpleNamespace(total=total)}
            if self.mark is not None:
                e.mark = self.mark.build(scope)
            self.effects.do(scope)
            if self.messages is not None:
                return self.messages.send(scope)
            return None if self.goes_on is None else self.goes_on.build(scope)

        messages = self.messages
        return edge(
            step,
            into=None if messages is None else messages.into,
            reduce=None if messages is None else messages.reduce(),
            accept=_test(self.accept),
            active=_test_change(self.active),
            on="all" if self.everywhere else None,
            along=self.along,
        )


@dataclass(frozen=True)
class VertexSpec:
    """A vertex function as data."""

    gathers: tuple[tuple[str, Messages], ...] = ()  # direction, messages
    assigned: tuple[tuple[str, Tree], ...] = ()
    lookup: Lookup | None = None
    effects: Effects = Effects()
    changed: Tree | None = None
    returned: Tree | None = None
    active: Tree | None = None
    wake: str | None = None
    everywhere: bool = False

    def make(self) -> Any:
        def step(v: Any, total: Any) -> Any:
            scope = {"v": v, "old": v.old, "scalars": SimpleNamespace(total=total)}
            self.effects.do(scope)
            for direction, messages in self.gathers:
                self._gather(v, direction, messages, scope)
            for name, tree in self.assigned:
                setattr(v, name, tree.build(scope))
            if self.lookup is not None:
                self.lookup.do(v, scope)
            if self.changed is not None:
                v.changed = self.changed.build(scope)
            return None if self.returned is None else self.returned.build(scope)

        return vertex(
            step,
            wake=self.wake,
            active=_test_change(self.active),
            on="all" if self.everywhere else None,
        )

    def _gather(self, v: Any, direction: str, messages: Messages, scope: dict[str, Any]) -> None:
        result = v.gather(
            lambda u, e: messages.send({**scope, "u": u, "e": e}),
            messages.reduce(),
            direction=direction,
        )
        parts = result if isinstance(result, tuple) else (result,)
        for name, part in zip(messages.into, parts, strict=True):
            setattr(v, name, part)


def _test(tree: Tree | None) -> Any:
    return None if tree is None else lambda v: tree.build({"v": v})


def _test_change(tree: Tree | None) -> Any:
    return None if tree is None else lambda v, old: tree.build({"v": v, "before": old})


@dataclass(frozen=True)
class Case:
    """A graph, a state, a first frontier, and the functions to run."""

    num_vertices: int
    arcs: tuple[tuple[int, int], ...]
    directed: bool
    seed: int
    steps: tuple[Any, ...]  # specs; a tuple of specs is a fold
    frontier: tuple[int, ...] | None
    mode: str = "iterate"
    max_iter: int | None = None
    limit: int | None = None  # until total > limit

    def graph(self, **options: Any) -> Graph:
        """Build the graph, with the integer column `capacity` and small integer weights."""
        src = np.array([a for a, _ in self.arcs], np.int64)
        dst = np.array([b for _, b in self.arcs], np.int64)
        graph = Graph.from_edges(
            src, dst, num_vertices=self.num_vertices, directed=self.directed, **options
        )
        rng = np.random.default_rng(self.seed)
        graph.edge["capacity"] = rng.integers(0, 9, graph.num_edges)
        graph.edge["weight"] = rng.integers(0, 9, graph.num_edges).astype(np.float64)
        return graph

    def state(self) -> PlainState:
        """Return fresh arrays."""
        rng = np.random.default_rng(self.seed + 1)
        n = self.num_vertices
        fields = {name: rng.integers(-20, 20, n).astype(d) for name, d in FIELDS.items()}
        fields["flag"] = rng.integers(0, 2, n).astype(bool)
        fields["live"] = rng.integers(-20, 20, n)
        arcs = self.graph().topology.num_arcs
        marks = {"mark": rng.integers(0, 9, arcs).astype(np.int32)}
        return PlainState(fields, {"total": np.array([3])}, marks)

    def functions(self) -> list[Any]:
        """Make the functions anew."""
        return [
            fold(*(part.make() for part in spec)) if isinstance(spec, tuple) else spec.make()
            for spec in self.steps
        ]

    def until(self) -> Any:
        """Return the test that ends the run, if there is one."""
        limit = self.limit
        return None if limit is None else lambda total: total > limit

    def options(self) -> dict[str, Any]:
        """Return the arguments that `iterate` or `run` takes beside functions, state, frontier."""
        if self.mode == "run":
            return {}
        return {"max_iter": self.max_iter, "until": self.until()}


def _trees(dtype: str, *whos: str, depth: int = 2, live: bool = False) -> st.SearchStrategy[Tree]:
    return expressions(dtype, sources(*whos, live=live), depth)


def _maybe(strategy: st.SearchStrategy[Any], often: int = 3) -> st.SearchStrategy[Any]:
    return st.integers(0, often).flatmap(lambda k: strategy if k == 0 else st.none())


def _small_floats(*whos: str) -> st.SearchStrategy[Tree]:
    """Return floats that hold small integers, so that their sums are exact."""
    own = [field(who, "f") for who in whos]
    plus = [Tree("binary", "+", (x, field("e", "weight"))) for x in own]
    return st.sampled_from([*own, *plus, field("e", "weight")])


@st.composite
def messages(draw: Any, *whos: str, far: str, gather: bool = False) -> Messages:
    """Draw messages into one or two fields. `far` is the proxy that messages differ by."""
    when = draw(_maybe(_trees("bool", *whos)))
    form = draw(st.integers(0, 7))
    if form == 0:
        name = draw(st.sampled_from(["sum", "min", "max"]))
        return Messages(("f",), name, (draw(_small_floats(far)),), when)
    if form == 1:
        return Messages(
            ("flag",), draw(st.sampled_from(["or", "and"])), (draw(_trees("bool", *whos)),), when
        )
    if form == 2:  # all messages that meet are equal
        near = [who for who in whos if who not in (far, "e")]
        return Messages(
            ("c", "a"), "any", (draw(_trees("int64", *near)), draw(_trees("int32", *near))), when
        )
    if form == 3:  # equal keys have equal payloads
        key = draw(_trees("int64", *whos))
        payload = Tree("binary", "^", (key, Tree("number", 21)))
        return Messages(
            ("b", "c"), draw(st.sampled_from(["argmin", "argmax"])), (key, payload), when
        )
    if form == 4:
        pair = tuple(draw(st.sampled_from(NUMERIC)) for _ in range(2))
        return Messages(
            ("a", "b"), pair, (draw(_trees("int32", *whos)), draw(_trees("int64", *whos))), when
        )
    names = (*NUMERIC, "mode") if gather else NUMERIC
    into = draw(st.sampled_from(["a", "b", "c"]))
    tree = draw(_trees(FIELDS[into], *whos))
    return Messages((into,), draw(st.sampled_from(names)), (tree,), when)


@st.composite
def effects(draw: Any, *whos: str) -> Effects:
    """Draw a scalar reduction and a live update, or neither."""
    total = draw(_maybe(st.tuples(
        st.sampled_from(["sum", "min", "max", "or"]), _trees("int64", *whos)
    )))  # fmt: skip
    live = draw(_maybe(st.tuples(
        st.sampled_from(["add", "min", "max", "or_", "and_"]),
        _trees("int64", *whos), _trees("int64", *whos),
    ), 5))  # fmt: skip
    return Effects(total, live)


@st.composite
def edge_specs(draw: Any) -> EdgeSpec:
    """Draw an edge function."""
    whos = ("u", "v", "e", "scalars")
    sent = None if draw(st.integers(0, 5)) == 0 else draw(messages(*whos, far="u"))
    return EdgeSpec(
        sent,
        draw(effects(*whos)),
        mark=draw(_maybe(_trees("int32", *whos))),
        goes_on=draw(_maybe(_trees("bool", *whos), 1)),
        accept=draw(_maybe(_trees("bool", "v"))),
        active=(
            None if sent is None else draw(_maybe(_trees("bool", "v", "before", live=True), 5))
        ),
        everywhere=draw(st.integers(0, 7)) == 0,
        along=draw(st.sampled_from(["out", "out", "in"])),
    )


@st.composite
def lookups(draw: Any, *whos: str) -> Lookup:
    """Draw a live load, of v itself or of a computed vertex."""
    how = draw(st.sampled_from(["maximum", "minimum", "+"]))
    place = draw(_maybe(_trees("int64", *whos), 1))
    return Lookup(how, draw(_trees("int64", *whos)), place, "live" if place is None else "b")


@st.composite
def vertex_specs(draw: Any) -> VertexSpec:
    """Draw a vertex function."""
    near = ("v", "scalars")
    done = draw(effects(*near))
    lookup = draw(_maybe(lookups(*near), 2)) if done.live is None else None
    before = lookup is not None and lookup.place is None
    inner = ("u", "v", "e", "scalars")
    directions = st.sampled_from(["in", "out", "both"])
    gathers = draw(
        st.lists(st.tuples(directions, messages(*inner, far="u", gather=True)), max_size=2)
    )
    names = draw(st.lists(st.sampled_from(["a", "b", "c", "flag"]), max_size=2, unique=True))
    return VertexSpec(
        tuple(gathers),
        tuple((name, draw(_trees(FIELDS[name], *near, "old"))) for name in names),
        lookup,
        done,
        changed=draw(_maybe(_trees("bool", *near), 5)),
        returned=draw(_maybe(_trees("bool", *near), 5)),
        active=draw(_maybe(_trees("bool", "v", "before", live=before), 7)),
        wake=draw(st.sampled_from([None, None, "changed", "all", "neighbors"])),
        everywhere=draw(st.integers(0, 7)) == 0,
    )


@st.composite
def folds(draw: Any) -> tuple[Any, ...]:
    """Draw edge functions, vertex functions, or edge functions with vertex functions after them."""
    edges, vertices = draw(st.sampled_from([(1, 1), (2, 0), (0, 2), (2, 1), (1, 2)]))
    specs = [draw(edge_specs()) for _ in range(edges)]
    specs += [draw(vertex_specs()) for _ in range(vertices)]
    vertex_runs = [spec for spec in specs if isinstance(spec, VertexSpec)]
    touching = [spec for spec in vertex_runs if spec.lookup or spec.effects.live]
    if len(touching) > 1:  # one function would see what another writes at other vertices
        specs = [replace(s, lookup=None) if s in touching else s for s in specs]
    return (specs[0], *(_apart(spec, specs[0]) for spec in specs[1:]))


def _apart(spec: Any, first: Any) -> Any:
    """Keep the functions of one sweep from writing one thing by several monoids."""
    spec = replace(spec, effects=Effects())
    if isinstance(spec, EdgeSpec):
        spec = replace(spec, along=getattr(first, "along", "out"))
    taken = getattr(first, "messages", None)
    if isinstance(spec, EdgeSpec) and spec.messages is not None and taken is not None:
        shared = set(spec.messages.into) & set(taken.into)
        return replace(spec, messages=None, active=None) if shared else spec
    return spec


@st.composite
def graphs(draw: Any) -> dict[str, Any]:
    """Draw the ends of the arcs of a small multigraph with self-loops and isolated vertices."""
    n = draw(st.sampled_from([5, 1, 3, 8]))
    count = draw(st.sampled_from([12, 0, 4, 8, 18]))  # a list's own length is short too often
    ends = st.integers(0, n - 1)
    arcs = draw(st.lists(st.tuples(ends, ends), min_size=count, max_size=count))
    chosen = draw(st.sampled_from([n, 0, 1, 3]))
    frontier = tuple(sorted(draw(st.sets(ends, min_size=min(chosen, n), max_size=n))))
    return {
        "num_vertices": n,
        "arcs": tuple(arcs),
        "directed": draw(st.booleans()),
        "seed": draw(st.integers(0, 2**16)),
        "frontier": draw(st.sampled_from([None, frontier])),
    }


@st.composite
def cases(draw: Any) -> Case:
    """Draw a program of one to three steps or folds that runs a bounded number of supersteps."""
    shapes = st.one_of(edge_specs(), vertex_specs(), folds())
    steps = draw(st.lists(shapes, min_size=1, max_size=3))
    mode = draw(st.sampled_from(["iterate", "iterate", "run"]))
    bounded = mode == "iterate"
    return Case(
        **draw(graphs()),
        steps=tuple(steps),
        mode=mode,
        max_iter=draw(st.sampled_from([3, 4, 2, 1, 0])) if bounded else None,
        limit=draw(_maybe(st.integers(-50, 50))) if bounded else None,
    )


@st.composite
def fixpoints(draw: Any) -> Case:
    """Draw an unbounded program that reaches a fixpoint: monotone messages under min, max or or."""
    cost = draw(st.sampled_from([field("e", "capacity"), Tree("number", 1), Tree("number", 0)]))
    longer = Tree("binary", "+", (field("u", "b"), cost))
    shapes = {
        "shortest": Messages(("b",), "min", (longer,)),
        "shortest_with_parent": Messages(
            ("b", "c"), "argmin", (longer, Tree("binary", "*", (longer, Tree("number", 3))))
        ),
        "widest": Messages(("b",), "max", (Tree("binary", "minimum", (field("u", "b"), cost)),)),
        "labels": Messages(("b",), "min", (field("u", "b"),)),
        "reached": Messages(("flag",), "or", (field("u", "flag"),)),
        "bits": Messages(("a",), "or", (field("u", "a"),)),
        "levels": Messages(("c",), "any", (Tree("number", 1),)),
    }
    name = draw(st.sampled_from([*sorted(shapes), "lookup"]))
    if name == "lookup":  # the least value along a chain of computed vertices
        place = Tree("binary", "+", (field("v", "c"), field("v", "a")))
        lookup = Lookup("minimum", field("v", "live"), place)
        return Case(**draw(graphs()), steps=(VertexSpec(lookup=lookup, wake="all"),))
    unset = Tree("binary", "<", (field("v", "c"), Tree("number", 0)))
    spec = EdgeSpec(
        shapes[name],
        accept=unset if name == "levels" else None,
        along=draw(st.sampled_from(["out", "in"])),
    )
    return Case(**draw(graphs()), steps=(spec,))
