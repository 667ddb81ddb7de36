"""Emitted records: a first pass counts them, a second one writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.arrays.device import bytes_text
from weft.engine.frontier import Pairs
from weft.engine.prepared import Inputs
from weft.errors import DeviceMemoryError
from weft.graph import execution
from weft.graph.other_rows import looks_elsewhere, rows_of, stacked_call
from weft.graph.pairs import for_pairs
from weft.ir.trace.cache import kept_trace
from weft.ir.trace.steps import Roles

if TYPE_CHECKING:
    from weft.config import Config
    from weft.engine.state import State
    from weft.graph.graph import Graph

Array = np.ndarray[Any, Any]


def emit(
    g: Graph,
    function: Any,
    state: State,
    frontier: Any,
    edges: State | None,
    config: Config | None,
    graphs: Mapping[str, Graph] | None = None,
) -> tuple[Array, ...]:
    """Return the records that a function emits; see `Graph.emit`."""
    topology = g._topology
    if getattr(state, "_watch", None) is not None:
        state.settle()
    if graphs is not None:
        rows = rows_of(g, graphs)
        named = rows.traced(function, state, edges, frontier, emits="count")
        if looks_elsewhere(named):
            with topology.device.current():
                over = stacked_call(rows, function, named, state, frontier, edges)
            return emit(*over, config)
    signature = execution.signature_for(g, state, edges, frontier)
    first = execution.first_of(g, frontier)
    count, write = (
        kept_trace(function, signature, "run", Roles(emits=p)) for p in ("count", "write")
    )
    xp = topology.xp
    if isinstance(frontier, Pairs):
        config = for_pairs(g, frontier, count, config)
    items = topology.num_arcs if count.steps[0].kind == "edge" else topology.num_vertices
    items = frontier.length if isinstance(frontier, Pairs) else items
    places = xp.zeros(items + 1, np.int64)
    execution.run_program(g, count, config, Inputs(state, edges, first, emitted=(places,)))
    ends = xp.cumsum(places)
    total = int(ends[-1])
    places[1:] = ends[:-1]
    places[0] = 0
    try:
        parts = tuple(xp.empty(total, dtype) for dtype in write.emitted)
    except MemoryError:
        raise _too_many(total, write.emitted) from None
    if total:
        inputs = Inputs(state, edges, first, emitted=(places, *parts))
        execution.run_program(g, write, config, inputs)
    return parts


def _too_many(total: int, dtypes: tuple[np.dtype[Any], ...]) -> DeviceMemoryError:
    needed = total * sum(dtype.itemsize for dtype in dtypes)
    return DeviceMemoryError(
        f"Out of memory: weft.emit made {total} records, which need {bytes_text(needed)}. Emit "
        "narrower parts (weft.cast), or run over parts of the frontier.",
        needed_bytes=needed,
    )
