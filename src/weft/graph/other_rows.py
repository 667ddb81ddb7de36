"""Functions that read rows of other graphs by ``weft.common(..., left=, right=)``.

A kernel has one topology: that of the graph with the rows of the others stacked below its own. The
offset of each graph's rows is a scalar that the trace adds to vertices. The stacked graph is cached
while all structures exist; its fields are copies, from which results are copied back.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.arrays.shortage import explained
from weft.engine.frontier import Frontier, Pairs
from weft.engine.state import State
from weft.errors import ConfigError, GraphError, TraceError, listed
from weft.graph import execution
from weft.graph.stacking import stacked_parts
from weft.ir.check.facts import facts_of
from weft.ir.ops import Program, Step
from weft.ir.trace.cache import kept_trace
from weft.ir.trace.neighbors import ROWS, first_row
from weft.ir.trace.steps import EdgeFunction, Roles, VertexFunction

if TYPE_CHECKING:
    from weft.config import Config
    from weft.graph.graph import Graph

Array = np.ndarray[Any, Any]
Stacked = tuple[list[Any], Any, "Graph"]  # the other structures, the columns' changes, the graph

_known: weakref.WeakKeyDictionary[Any, Stacked] = weakref.WeakKeyDictionary()
_narrowed: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
_lock = threading.Lock()

_COMPUTED = frozenset({
    "degree", "neighbor", "neighbor_edge", "has_edge", "find_edge", "column_at",
    "at_load", "at_store", "at_reduce", "at_cas",
})  # fmt: skip


@dataclass(frozen=True)
class Rows:
    """The graphs whose rows functions may name, and the one that runs them."""

    g: Graph
    others: Mapping[str, Graph]

    def traced(
        self, functions: Any, state: State, edges: State | None, frontier: Any, **roles: Any
    ) -> Program:
        """Return the functions of one superstep, traced if they may name rows."""
        held = self.named(state, state.fields)
        signature = execution.signature_for(self.g, held, edges, frontier)
        return kept_trace(functions, signature, "run", Roles(**roles))

    def named(self, state: State, fields: dict[str, Array]) -> State:
        """Return a state with other arrays and the offsets of rows."""
        n = self.g.num_vertices
        firsts = {first_row(name): (k + 1) * n for k, name in enumerate(self.others)}
        hidden = {name: np.array([x]) for name, x in {ROWS: n, **firsts}.items()}
        scalars = {**state.scalars, **hidden}
        return State(fields, scalars, state.parameters, version=state._version)

    def stacked(self) -> Graph:
        """Return the graph with the rows of the others below its own."""
        from weft.graph.graph import Graph

        graphs = (self.g, *self.others.values())
        topologies = [graph.topology for graph in graphs]
        changes = [graph._edge.changes for graph in graphs]
        with _lock:
            found = _known.get(topologies[0])
            if found is not None and found[1] == changes:
                kept = [reference() for reference in found[0]]
                if len(kept) == len(topologies) - 1 and all(map(_same, kept, topologies[1:])):
                    return found[2]
            device, needed = topologies[0].device, sum(graph.memory_bytes for graph in graphs)
            what = "weft.common with left= or right=, of the rows of all graphs in one,"
            remedy = 'Drop edge columns that are not read, or build the graphs with keep="out".'
            with device.current(), explained(device, what, needed, remedy):
                made = Graph(**stacked_parts(*graphs))
            references = [weakref.ref(topology) for topology in topologies[1:]]
            _known[topologies[0]] = references, changes, made
            return made


def _same(one: Any, two: Any) -> bool:
    return one is two


def rows_of(g: Graph, graphs: Any) -> Rows:
    """Return the graphs by name, checked, and the one that runs a program."""
    if not isinstance(graphs, Mapping):
        raise ConfigError(f"graphs={graphs!r} is not possible. Expected graphs by name.")
    for name, other in graphs.items():
        _check_graph(g, name, other)
    return Rows(g, graphs)


def _check_graph(g: Graph, name: Any, other: Any) -> None:
    topology = getattr(other, "topology", None)
    if not isinstance(name, str) or topology is None:
        raise ConfigError(f"graphs={{{name!r}: {other!r}}} is not possible. Expected a weft.Graph.")
    if topology.num_vertices != g.topology.num_vertices:
        raise GraphError(
            f"graphs={{{name!r}: ...}} has {topology.num_vertices} vertices, but the graph that "
            f"runs the program has {g.topology.num_vertices}. Expected the same vertices in all: "
            "build them with num_vertices= of the larger one; rows and columns of a rectangular "
            "matrix are then numbers of their own, in fields of their own."
        )
    if topology.device != g.topology.device:
        raise GraphError(
            f"graphs={{{name!r}: ...}} is on {topology.device}, but the graph that runs the "
            f"program is on {g.topology.device}. Move it there by .to(...)."
        )


def looks_elsewhere(program: Program) -> bool:
    """Whether a program names the rows of a graph."""
    return any(ROWS in facts_of(step).scalars for step in program.steps)


def run(
    rows: Rows,
    functions: list[Any],
    state: State,
    frontier: Any,
    edges: State | None,
    config: Config | None,
    direction: Any,
) -> Frontier:
    """Run functions of which some name rows, one after the other, as a superstep does."""
    reached = frontier
    for function in functions:
        program = rows.traced(function, state, edges, reached)
        if looks_elsewhere(program):
            reached = _run_stacked(rows, function, program, state, reached, edges, config)
        else:
            args = (function, state, reached, edges, config, direction)
            reached = execution.run(rows.g, *args)
    result: Frontier = reached
    return result


def _run_stacked(
    rows: Rows, function: Any, program: Program, state: State, frontier: Any,
    edges: State | None, config: Config | None,
) -> Frontier:  # fmt: skip
    """Run a function over the stacked graph; bring what it changed back."""
    g = rows.g
    with g.topology.device.current():
        both, narrow, held, first, arcs = stacked_call(
            rows, function, program, state, frontier, edges
        )
        found = execution.run(both, narrow, held, first, arcs, config, None)
        for one, other in ((state, held), *([] if edges is None else [(edges, arcs)])):
            for name, array in one.fields.items():
                array[...] = other.fields[name][: len(array)]
        for name, array in state.scalars.items():
            array[...] = held.scalars[name]
        state._untouched.clear()
        items = found.items.astype(g.topology.index_dtype, copy=False)
        return Frontier(items, g.num_vertices, device=g.topology.device)


def stacked_call(
    rows: Rows, function: Any, program: Program, state: State, frontier: Any, edges: State | None
) -> tuple[Graph, Any, State, Any, Any]:
    """Return graph, function, state, frontier and edge state of a run over the stacked graph."""
    for step in program.steps:
        _check(step)
    g, both = rows.g, rows.stacked()
    fields = {**g._vertex.stored(), **state.fields}
    held = rows.named(state, _longer(g, fields, both.num_vertices))
    vars(held)["_version"] = both._history.version
    arcs = edges
    if edges is not None and not isinstance(frontier, Pairs):
        longer = _longer(g, edges.fields, both.topology.num_arcs)
        arcs = State(longer, {}, version=both._history.version)
    first = _frontier(rows, both, frontier, program.steps[0])
    return both, _narrow(function), held, first, arcs


def _longer(g: Graph, fields: dict[str, Array], length: int) -> dict[str, Array]:
    """Return copies of fields with additional items, which no function reads."""
    made = {}
    for name, array in fields.items():
        made[name] = g.topology.xp.zeros((length, *array.shape[1:]), array.dtype)
        made[name][: len(array)] = array
    return made


def _frontier(rows: Rows, both: Graph, frontier: Any, step: Step) -> Any:
    """Return the frontier over the stacked graph: its first rows and arcs are the graph's own."""
    g = rows.g
    if isinstance(frontier, Pairs):
        if not frontier.version.current or frontier._topology is not g.topology:
            frontier = g.pairs(*frontier.pairs)  # type: ignore[misc]  # the usual error, or pairs
        assert frontier.pairs is not None
        return Pairs(frontier.pairs, both.topology, both._history.version)
    first = execution.first_of(g, frontier)
    if step.everywhere or (first.is_all and not first.arcs):
        return both.frontier(g.topology.xp.arange(g.num_vertices))
    if first.arcs:
        return both.edge_frontier(first.items)
    return both.frontier(first.items)


def _narrow(function: Any) -> Any:
    """Return a function without ``on="all"``: all means the rows of one graph."""
    if not getattr(function, "everywhere", False):
        return function
    found = _narrowed.get(function)
    if found is None:
        if isinstance(function, EdgeFunction):
            found = EdgeFunction(
                function.function, function.into, function.reduce, accept=function.accept,
                active=function.active, order_free=function.order_free,
            )  # fmt: skip
        else:
            found = VertexFunction(
                function.function, function.wake, active=function.active,
                order_free=function.order_free,
            )  # fmt: skip
        _narrowed[function] = found
    return found


def _check(step: Step) -> None:
    """Raise if a function that names rows also needs something that the stacked graph lacks."""
    facts = facts_of(step)
    wrong = sorted(facts.ops & _COMPUTED)
    wrong += sorted(x for x in facts.loads if x.startswith(("in_degree", "edge_id", "num_vert")))
    wrong += ["gathers of in-edges"] if facts.gathers & {"in", "both"} else []
    wrong += ['along="in"'] if step.kind == "edge" and step.along != "out" else []
    wrong += ["priority"] if step.priority is not None else []
    wrong += ["v.old"] if facts.old else []
    wrong += ["e.reverse"] if _reads_reverse(step) else []
    if wrong:
        raise TraceError(
            f"{step.name!r} names rows of other graphs (left=, right=) and uses {listed(wrong)}, "
            "which belongs to one graph alone. Do that in a function of its own."
        )


def _reads_reverse(step: Step) -> bool:
    loads = (value.attr for value in step.body.walk() if value.op == "load")
    return any(a[0] in ("edge_state", "column") and a[1] not in ("e", "ea", "eb") for a in loads)
