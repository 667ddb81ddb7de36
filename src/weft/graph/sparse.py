"""Combined messages as a list of vertices and values, without filling an array of all vertices.

Between calls, accumulators hold identities. A call takes them, runs the function with them in place
of its fields, reads the elements that received a message, and clears those before returning them.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.arrays.fill import fill
from weft.arrays.shortage import explained
from weft.backends import backend_of
from weft.config import Config
from weft.engine.prepared import Inputs
from weft.engine.state import State
from weft.errors import FieldError, TraceError, listed
from weft.graph import execution
from weft.ir.check.facts import block_facts
from weft.ir.ops import Program, neutral_of
from weft.ir.trace.cache import kept_trace
from weft.ir.trace.steps import EdgeFunction
from weft.plan.queries import groups_of

if TYPE_CHECKING:
    from weft.graph.graph import Graph

Array = np.ndarray[Any, Any]
REMEDY = "Declare the field with a narrower dtype, or delete graphs that are not used any more."
MOST_KEPT = 16  # accumulators of a graph
SPARSE = 64  # sort the messages of frontiers below n / 64 (benchmarks/results/primitives.md)
SORTED = Config(combine="radix")
_noting: weakref.WeakKeyDictionary[EdgeFunction, EdgeFunction] = weakref.WeakKeyDictionary()


def collect(
    g: Graph,
    function: Any,
    state: State,
    frontier: Any,
    edges: State | None,
    config: Config | None,
    direction: Any,
) -> tuple[Array, ...]:
    """Return the targets of messages and the combined messages; see `Graph.collect`."""
    if not isinstance(function, EdgeFunction) or not function.into:
        raise TraceError(
            f"g.collect combines the messages of an edge function, but got {function!r}. Expected "
            "one made by weft.edge(into=..., reduce=...)."
        )
    if getattr(state, "_watch", None) is not None:
        state.settle()
    signature = execution.signature_for(g, state, edges, frontier)
    program = kept_trace(_to_all(function), signature, "run")
    kinds = program.findings.get("accumulators")
    if kinds is None:
        kinds = program.findings["accumulators"] = _accumulators(program)
    kept, n = g._prepared.accumulators, g._topology.num_vertices
    fields, taken = dict(state.fields), []
    for name, start, kind in kinds:
        array = kept.pop((n, *kind), None)
        if array is None:
            needed = n * kind[0].itemsize * int(np.prod(kind[1], dtype=np.int64))
            with explained(g._topology.device, "an accumulator of g.collect", needed, REMEDY):
                array = g._topology.xp.empty((n, *kind[1]), kind[0])
                fill(array, start)
        fields[name] = array
        taken.append(array)
    held = State(
        fields, state.scalars, state.parameters, version=g._history.version,
        untouched=state._untouched,
    )  # fmt: skip
    first = execution.first_of(g, frontier)
    if config is None and direction is None and _is_sparse(g, first):
        config = SORTED
    inputs = Inputs(held, edges, first)
    outcome = execution.run_program(g, program, config, inputs, direction)
    found = execution._frontier_of(g, outcome.frontier).items
    places = found.astype(np.intp, copy=False)  # once, not for each array
    values = tuple(array.take(places, axis=0) for array in taken)
    for (_, start, kind), array in zip(kinds, taken, strict=True):
        array[places] = start
        if len(kept) < MOST_KEPT:
            kept[n, *kind] = array
    return (found, *values)


def _is_sparse(g: Graph, frontier: Any) -> bool:
    """Whether a push from a frontier is faster where its few messages are sorted."""
    topology = g._topology
    threads = backend_of(topology.device).runs_on_threads
    pushes = threads and topology.keep != "in" and not frontier.arcs
    return pushes and len(frontier) * SPARSE < topology.num_vertices


def _to_all(function: EdgeFunction) -> EdgeFunction:
    """Return an edge function that activates every target of a message."""
    found = _noting.get(function)
    if found is None:
        roles = {
            "accept": function.accept, "on": "all" if function.everywhere else None,
            "order_free": function.order_free, "along": function.along,
            "active": lambda v, old: True,
        }  # fmt: skip
        found = EdgeFunction(function.function, function.into, function.reduce, **roles)
        _noting[function] = found
    return found


def _accumulators(program: Program) -> list[tuple[str, Any, tuple[Any, ...]]]:
    """Return by field the initial value of its accumulator, and its cache key.

    Raises if the function reads a field that it sends into.
    """
    (step,) = program.steps
    facts = block_facts(step.body, step.accept)
    read = sorted(set(step.into) & (facts.near | facts.far | facts.live | facts.old))
    if read:
        raise FieldError(
            f"{step.name!r} reads {listed(read)}, which it sends into: g.collect combines messages "
            "among themselves. Read a field of another name, or use g.run."
        )
    types = {name: (dtype, shape) for name, dtype, shape in program.signature.fields}
    found: list[tuple[str, Any, tuple[Any, ...]]] = []
    for reduction, names, _ in groups_of(step):
        for position, name in enumerate(names):
            dtype, shape = types[name]
            start = 0 if position else neutral_of(reduction, dtype)
            found.append((name, start, (dtype, shape, repr(start), len(found))))
    return found
