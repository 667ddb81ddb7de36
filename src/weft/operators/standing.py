"""Calls of operators that recur with the same functions on the same state: they skip preparation.

The first call traces its functions, checks its inputs and prepares a run. What that gave is kept
with the state, until anything that it depends on changes.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from operator import is_
from typing import Any

from weft.arrays.fill import fill
from weft.engine import profile
from weft.engine.frontier import Frontier
from weft.engine.prepared import Inputs
from weft.engine.run import kinds_of
from weft.engine.state import State
from weft.graph import execution
from weft.graph.prepared_cache import Kept
from weft.ir.ops import Program
from weft.ir.trace.cache import _identity, _reads_of
from weft.operators import recording
from weft.operators.functions import ITERATION
from weft.operators.twins import twin
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
class Known:
    """What calls ran by, on any state of the same kinds of fields."""

    key: Any  # the objects that keys distinguish by identity, kept alive
    kept: weakref.ref[Kept]  # weak, like all else here that would keep a graph
    reads: Any
    columns: tuple[int, int]
    marks: tuple[str, ...]  # hidden fields
    counts: bool  # whether a function asks for the number of the iteration


@dataclass(slots=True, eq=False)
class Again:
    """What a call on one state ran by, and everything that it depends on."""

    known: Known
    arrays: tuple[Any, ...]
    twin: State | None  # shares the arrays of the state and has hidden fields; None without any
    edge_state: State | None
    marks: tuple[Any, ...]  # the hidden fields, zeros between calls

    def run(self, g: Any, kept: Kept, state: State, first: Frontier) -> Frontier:
        """Run the call on another frontier; return what the engine puts out."""
        held = self.twin or state
        if self.known.counts:
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
        fill(mark, 0)
    else:
        mark[found.members] = 0


def repeated(
    g: Any, first: Frontier, state: Any, edge_state: State | None, key: Any, functions: Any
) -> Frontier | None:
    """Run a call that ran before; return what the engine puts out, None if it was not kept.

    A recording notes what the pass before noted in its place, or an earlier recording of the same
    functions.
    """
    if type(state) is not State:
        return None
    recorder = recording.current()
    if recorder is not None:
        noted: Frontier | None = recorder.again(g, first, state, edge_state, key)
        if noted is None and edge_state is None:
            noted = _recorded(recorder, g, first, state, key, functions)
        return noted
    if state._watch is not None:
        return None
    standing = state._standing
    # Its hidden fields belong to one call at a time.
    again = standing.pop(key, None) if standing else None
    again = again or _on_another(g, state, edge_state, key)
    if again is None:
        return None
    known = again.known
    kept = known.kept()
    same = (
        kept is not None
        and kept.holds(g._topology, g._order)
        and state._version is g._history.version
        and known.columns == (g._vertex.changes, g._edge.changes)
        and again.edge_state is edge_state
        and _are(_arrays_of(state, edge_state), again.arrays)
        and known.reads.unchanged()
    )
    if not same:
        return None
    found: Frontier = _run(again, g, kept, state, first)
    _keep(state, key, again)
    return found


@dataclass(slots=True, eq=False)
class Template:
    """A call that was recorded, without its graph, its state and its input."""

    call: Any
    identity: Any
    reads: Any
    columns: tuple[int, int]


def keep_recorded(call: Any) -> None:
    """Keep a call for later recordings of the same functions on states of the same kinds."""
    if call.recurs is None or call.marks or call.edge_state is not None or call.frontier.arcs:
        return
    g = call.graph
    reads = _reads_of(*(f for f in call.functions if f is not None))
    if reads is None or call.output == "arcs":
        return
    changes = (g._vertex.changes, g._edge.changes)
    template = Template(call.on(None, None, None), _identity(call.key), reads, changes)
    g._prepared.operators["recorded", call.recurs, kinds_of(call.state)] = template


def _recorded(
    recorder: Any, g: Any, first: Frontier, state: State, key: Any, functions: Any
) -> Frontier | None:
    """Note a call as an earlier recording noted it; None if there is none."""
    known = g._prepared.operators.get(("recorded", key, kinds_of(state)))
    same = (
        known is not None
        and _are(functions, known.call.functions)
        and known.columns == (g._vertex.changes, g._edge.changes)
        and known.reads.unchanged()
    )
    if not same:
        return None
    execution._check_state(g, state, g._topology.num_vertices, "state")
    noted: Frontier = recorder.note_call(known.call.on(g, state, first), known.identity)
    return noted


def _on_another(g: Any, state: State, edge_state: State | None, key: Any) -> Again | None:
    """Return a call that ran on another state of the same kinds, for this one."""
    if edge_state is not None or state._version is not g._history.version:
        return None
    known = g._prepared.operators.get((key, kinds_of(state)))
    if known is None:
        return None
    execution._check_state(g, state, g._topology.num_vertices, "state")
    held = twin(g, state, known.marks, 0 if known.counts else None)
    return _again(known, state, held, None)


def _again(known: Known, state: State, held: State, edge_state: State | None) -> Again:
    """Return what the next call on a state needs; what it held has the hidden fields."""
    marks = tuple(held.fields[name] for name in known.marks)
    arrays = _arrays_of(state, edge_state)
    return Again(known, arrays, None if held is state else held, edge_state, marks)


@hides_frames
def _run(again: Again, g: Any, kept: Any, state: State, first: Frontier) -> Frontier:
    return again.run(g, kept, state, first)


def _arrays_of(state: State, edge_state: State | None) -> tuple[Any, ...]:
    arrays = (*state.fields.values(), *state.scalars.values(), *state.parameters.values())
    return arrays if edge_state is None else (*arrays, *edge_state.fields.values())


def _are(arrays: tuple[Any, ...], before: tuple[Any, ...]) -> bool:
    return len(arrays) == len(before) and all(map(is_, arrays, before))


def stand(g: Any, state: State, held: State, program: Program, call: Any) -> None:
    """Keep what a call ran by, for the next one with the same key."""
    kept = g._prepared.programs.get((id(program), id(call.config), call.direction))
    reads = program.findings.get("reads")
    if kept is None or reads is None or state._version is not g._history.version:
        return
    known = Known(
        key=(call.key, call.config, call.direction),
        kept=weakref.ref(kept),
        reads=reads,
        columns=(g._vertex.changes, g._edge.changes),
        marks=call.marks,
        counts=call.counts,
    )
    if call.edge_state is None:
        g._prepared.operators[call.recurs, kinds_of(state)] = known
    _keep(state, call.recurs, _again(known, state, held, call.edge_state))


def _keep(state: State, key: Any, again: Again) -> None:
    """Keep a call with its state for the next one with the same key."""
    standing = state._standing
    if standing is None:
        standing = vars(state)["_standing"] = Standing()
    if again.marks:
        marked = [key for key, other in standing.items() if other.marks]
        for key_of_other in marked[: 1 - MOST_MARKED]:
            standing.pop(key_of_other, None)
    standing[key] = again
