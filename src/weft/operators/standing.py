"""Calls of operators that recur with the same functions on the same state: they skip preparation.

The first call traces its functions, checks its inputs and prepares a run. What that gave is kept
with the state, until anything that it depends on changes.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from operator import is_
from typing import Any

from weft.engine import profile
from weft.engine.frontier import Frontier
from weft.engine.prepared import Inputs
from weft.engine.state import State
from weft.graph import execution
from weft.graph.prepared_cache import Kept
from weft.ir.ops import Program
from weft.operators import recording
from weft.operators.functions import ITERATION
from weft.report.tracebacks import hides_frames
from weft.storage.memory import Cache

MOST_CALLS = 32  # of one state
MOST_MARKED = 4  # of these that hold an array of the size of the graph


class Standing(Cache[Any, "Again"]):
    """The calls that may recur on a state; copies of the state begin with none."""

    def __init__(self) -> None:
        super().__init__("calls of operators", MOST_CALLS)

    def __reduce__(self) -> Any:
        return Standing, ()


@dataclass(slots=True, eq=False)
class Again:
    """What a call ran by, and everything that it depends on."""

    key: Any  # the objects that keys tell apart by their identity, kept alive
    kept: weakref.ref[Kept]  # weak, like all else here that would keep a graph
    reads: Any
    columns: tuple[int, int]
    arrays: tuple[Any, ...]
    twin: State | None  # shares the arrays of the state and has hidden fields; None without any
    edge_state: State | None
    marks: tuple[Any, ...]  # hidden fields, zeros between calls
    counts: bool  # whether a function asks for the number of the iteration

    def run(self, g: Any, kept: Kept, state: State, first: Frontier) -> Frontier:
        """Run the call on another frontier; return what the engine puts out."""
        held = self.twin or state
        if self.counts:
            held.scalars[ITERATION][0] = first.iteration
        inputs = Inputs(held, self.edge_state, first, turn=turn_of(state, first))
        found = execution._frontier_of(g, kept.prepared.run(g._prepared.columns, inputs).frontier)
        for mark in self.marks:
            clear(mark, found)
        return found


def turn_of(state: State, first: Frontier) -> tuple[Any, int] | None:
    """Return for an open profile which loop a call belongs to, and the iteration."""
    return (weakref.ref(state), first.iteration) if profile.stack.get() else None


def clear(mark: Any, found: Frontier) -> None:
    """Fill a hidden field with zeros; the vertices put out are those that are not zero."""
    if found.is_all or not found.device.on_host:
        mark.fill(0)
    else:
        mark[found.members] = 0


def repeated(
    g: Any, first: Frontier, state: Any, edge_state: State | None, key: Any
) -> Frontier | None:
    """Run a call that ran before; return what the engine puts out, None if it was not kept.

    A recording notes what the pass before noted in its place.
    """
    if type(state) is not State:
        return None
    recorder = recording.current()
    if recorder is not None:
        noted: Frontier | None = recorder.again(g, first, state, edge_state, key)
        return noted
    standing = state._standing
    if not standing or state._watch is not None:
        return None
    again = standing.pop(key, None)  # its hidden fields belong to one call at a time
    if again is None:
        return None
    kept = again.kept()
    same = (
        kept is not None
        and kept.holds(g._topology, g._order)
        and state._version is g._history.version
        and again.columns == (g._vertex.changes, g._edge.changes)
        and again.edge_state is edge_state
        and _are(_arrays_of(state, edge_state), again.arrays)
        and again.reads.unchanged()
    )
    if not same:
        return None
    found: Frontier = _run(again, g, kept, state, first)
    standing[key] = again
    return found


@hides_frames
def _run(again: Again, g: Any, kept: Any, state: State, first: Frontier) -> Frontier:
    return again.run(g, kept, state, first)


def _arrays_of(state: State, edge_state: State | None) -> tuple[Any, ...]:
    arrays = (*state.fields.values(), *state.scalars.values(), *state.parameters.values())
    return arrays if edge_state is None else (*arrays, *edge_state.fields.values())


def _are(arrays: tuple[Any, ...], before: tuple[Any, ...]) -> bool:
    return len(arrays) == len(before) and all(map(is_, arrays, before))


def stand(g: Any, state: State, twin: State, program: Program, call: Any) -> None:
    """Keep what a call ran by, for the next one with the same key."""
    kept = g._prepared.programs.get((id(program), id(call.config), call.direction))
    reads = program.findings.get("reads")
    if kept is None or reads is None or state._version is not g._history.version:
        return
    if state._standing is None:
        vars(state)["_standing"] = Standing()
    if call.marks:
        marked = [key for key, again in state._standing.items() if again.marks]
        for key in marked[: 1 - MOST_MARKED]:
            state._standing.pop(key, None)
    state._standing[call.recurs] = Again(
        key=(call.key, call.config, call.direction),
        kept=weakref.ref(kept),
        reads=reads,
        columns=(g._vertex.changes, g._edge.changes),
        arrays=_arrays_of(state, call.edge_state),
        twin=None if twin is state else twin,
        edge_state=call.edge_state,
        marks=tuple(twin.fields[name] for name in call.marks),
        counts=call.counts,
    )
