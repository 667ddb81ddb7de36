"""Arrays of what a function returns at the items of a frontier, in their order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.config import Config
from weft.engine.frontier import Frontier
from weft.engine.state import State
from weft.ir.trace.builder import fail
from weft.ir.trace.emits import emit
from weft.ir.trace.steps import EdgeFunction, VertexFunction, name_of
from weft.operators import recording
from weft.operators.running import twin_of
from weft.operators.steps import called, kept_step
from weft.program import check_function

INDEX = "operator_index"  # the hidden field of positions within a frontier
BEGIN = "operator_begin"  # the hidden field of the first work item of a row
Function = Callable[..., Any]


def emitted_at_vertices(
    g: Any, first: Frontier, function: Function, state: State, config: Config | None, who: str
) -> tuple[Any, ...]:
    """Return what a function of v returns at the vertices of a frontier, in ascending order."""
    recording_ends(who)
    check_function(function, who, "v")
    step = kept_step(lambda: _vertex_values(function), ("values", who), (function,), None)
    found: tuple[Any, ...] = g.emit(step, state, first, config=config)
    return found


def _vertex_values(function: Function) -> VertexFunction:
    def step(v: Any) -> None:
        emit(*as_parts(called(function, (v,)), name_of(function)))

    step.__name__ = step.__qualname__ = name_of(function)
    return VertexFunction(step, None)


def as_parts(returned: Any, name: str) -> tuple[Any, ...]:
    """Return the parts of a value that a function returned."""
    if returned is None:
        raise fail(f"{name} returned nothing. Expected a value, or a tuple of values.")
    return returned if isinstance(returned, tuple) else (returned,)


def single(arrays: tuple[Any, ...]) -> Any:
    """Return one array as such, several as a tuple."""
    return arrays[0] if len(arrays) == 1 else arrays


def with_positions(g: Any, first: Frontier, state: State) -> State:
    """Return a state with the position of every vertex of a frontier."""
    with g.topology.device.current():
        xp = g.topology.xp
        places = xp.full(g.num_vertices, -1, "int64")
        places[first.items] = xp.arange(len(first.items))
    return twin_of(state, {**state.fields, INDEX: places})


def with_segments(g: Any, first: Frontier, state: State, along: str) -> State:
    """Return a state with the position and the first work item of every row of a frontier."""
    held = with_positions(g, first, state)
    with g.topology.device.current():
        xp = g.topology.xp
        degree = g.out_degree if along == "out" else g.in_degree
        sizes = degree[first.items].astype("int64")
        begins = xp.zeros(g.num_vertices, "int64")
        begins[first.items] = xp.cumsum(sizes) - sizes
    return twin_of(held, {**held.fields, BEGIN: begins})


def recording_ends(who: str) -> None:
    """Run what is recorded, since an operator returns values rather than a frontier."""
    recorder = recording.current()
    if recorder is not None:
        recorder.flush(f"{who} returns values, which cannot be recorded")


def arc_values(make: Callable[[], EdgeFunction], key: tuple[Any, ...], function: Any) -> Any:
    """Return the step of a function of arcs that emits, made before if possible."""
    return kept_step(make, key, (function,), None)
