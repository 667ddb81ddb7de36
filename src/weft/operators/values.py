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
from weft.operators.functions import called, kept_step
from weft.operators.twins import twin_of
from weft.program import check_function

INDEX = "operator_index"  # the hidden field of positions within a frontier
BEGIN = "operator_begin"  # the hidden field of the first work item of a row
WORK = ("u", "v", "e", "idx", "segment", "rank")
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


def indexed_values(
    g: Any, first: Frontier, function: Function, state: State, config: Config | None, who: str
) -> tuple[Any, ...]:
    """Return what ``function(v, idx)`` returns at the vertices of a frontier, ascending."""
    recording_ends(who)
    check_function(function, who, "v, idx")
    everywhere = first.is_all
    step = kept_step(
        lambda: _indexed_values(function, everywhere), ("indexed", everywhere), (function,), None
    )
    found: tuple[Any, ...] = g.emit(step, with_positions(g, first, state), first, config=config)
    return found


def _indexed_values(function: Function, everywhere: bool) -> VertexFunction:
    def step(v: Any) -> None:
        place = v.id if everywhere else getattr(v, INDEX)
        emit(*as_parts(called(function, (v, place), ("v", "idx")), name_of(function)))

    step.__name__ = step.__qualname__ = name_of(function)
    return VertexFunction(step, None)


def compacted_values(
    g: Any,
    first: Frontier,
    functions: tuple[Function, Function | None],
    state: State,
    config: Config | None,
) -> tuple[Any, ...]:
    """Return a value of the vertices of a frontier that pass; without one, their numbers."""
    recording_ends("compact_transform")
    for function in functions:
        if function is not None:
            check_function(function, "compact_transform", "v, idx")
    step = kept_step(lambda: _compacted(*functions), ("compacted",), functions, None)
    found: tuple[Any, ...] = g.emit(step, with_positions(g, first, state), first, config=config)
    return found


def _compacted(condition: Function, value: Function | None) -> VertexFunction:
    def step(v: Any) -> None:
        place = getattr(v, INDEX)
        passes = called(condition, (v, place), ("v", "idx"))
        if passes is None:
            raise fail(f"{name_of(condition)} returned nothing. Expected a condition.")
        parts: Any = v.id
        if value is not None:
            parts = called(value, (v, place), ("v", "idx"))
        emit(*as_parts(parts, name_of(condition)), when=passes)

    step.__name__ = step.__qualname__ = name_of(condition)
    return VertexFunction(step, None)


def work_values(
    g: Any, first: Frontier, function: Function, state: State, config: Config | None
) -> tuple[Any, ...]:
    """Return what a function returns at every arc of a frontier, row after row."""
    recording_ends("lbs_transform")
    check_function(function, "lbs_transform", ", ".join(WORK))
    step = kept_step(lambda: _work_values(function), ("work",), (function,), None)
    found: tuple[Any, ...] = g.emit(step, with_segments(g, first, state), first, config=config)
    return found


def _work_values(function: Function) -> EdgeFunction:
    def step(u: Any, v: Any, e: Any) -> None:
        at = getattr(u, BEGIN) + e.rank
        parts = called(function, (u, v, e, at, getattr(u, INDEX), e.rank), WORK)
        emit(*as_parts(parts, name_of(function)))

    step.__name__ = step.__qualname__ = name_of(function)
    return EdgeFunction(step, (), None)


def reduced_values(
    g: Any,
    first: Frontier,
    function: Function,
    monoid: Any,
    state: State,
    config: Config | None,
) -> tuple[Any, ...]:
    """Return the reductions of what a function returns at the arcs of every row of a frontier."""
    recording_ends("segreduce_transform")
    check_function(function, "segreduce_transform", ", ".join(WORK))
    step = kept_step(
        lambda: _reduced_values(function, monoid), ("reduced",), (function, monoid), None
    )
    found: tuple[Any, ...] = g.emit(step, with_segments(g, first, state), first, config=config)
    return found


def _reduced_values(function: Function, monoid: Any) -> VertexFunction:
    def step(v: Any) -> None:
        def message(far: Any, e: Any) -> Any:
            at = getattr(v, BEGIN) + e.rank
            returned = called(function, (v, far, e, at, getattr(v, INDEX), e.rank), WORK)
            if returned is None:
                raise fail(f"{name_of(function)} returned nothing. Expected a message.")
            return returned

        emit(*as_parts(v.gather(message, monoid, direction="out"), name_of(function)))

    step.__name__ = step.__qualname__ = name_of(function)
    return VertexFunction(step, None)


def with_positions(g: Any, first: Frontier, state: State) -> State:
    """Return a state with the position of every vertex of a frontier."""
    with g.topology.device.current():
        xp = g.topology.xp
        places = xp.full(g.num_vertices, -1, "int64")
        places[first.items] = xp.arange(len(first.items))
    return twin_of(state, {**state.fields, INDEX: places})


def with_segments(g: Any, first: Frontier, state: State) -> State:
    """Return a state with the position and the first work item of every row of a frontier."""
    held = with_positions(g, first, state)
    with g.topology.device.current():
        xp = g.topology.xp
        sizes = g.out_degree[first.items].astype("int64")
        begins = xp.zeros(g.num_vertices, "int64")
        begins[first.items] = xp.cumsum(sizes) - sizes
    return twin_of(held, {**held.fields, BEGIN: begins})


def recording_ends(who: str) -> None:
    """Run what is recorded, since an operator returns values rather than a frontier."""
    recorder = recording.current()
    if recorder is not None:
        recorder.refuse(f"{who} returns values, which cannot be recorded")
