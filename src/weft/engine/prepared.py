"""Prepared programs: a program, a graph and a configuration, ready to run on any state.

`Graph.iterate`, `run` and `replay`, `weft.explain` and the tuner all use a `Prepared`. It caches
everything that does not depend on field values: the topology, the checked options, the backend and
the compiled forms.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from weft.arrays.device import CPU, move, to_host
from weft.arrays.trail import Trail
from weft.backends import backend_of
from weft.config import Config, each_choice
from weft.engine import profile, watch
from weft.engine.frontier import Frontier
from weft.engine.reorder import Crossing, cross
from weft.engine.roles import check_goes_on, check_start
from weft.engine.state import State
from weft.errors import FieldError, listed
from weft.formats import DEFAULT_FORMAT
from weft.ir.check.facts import program_facts
from weft.ir.ops import Program
from weft.ir.request import Data, Deferred, Outcome, Request, RunOptions, Start
from weft.plan.outputs import check_counter, counts_outputs
from weft.plan.prepare import Form, kept_old
from weft.schedules import schedule as schedule_named
from weft.topology.topology import Topology

Array = np.ndarray[Any, Any]
_NOTHING: frozenset[str] = frozenset()


class Inputs(NamedTuple):
    """The arguments of one run that differ from call to call.

    Attributes
    ----------
    state, edge_state
        The fields that the run reads and writes.
    frontier
        The first frontier.
    max_iter
        Maximum number of supersteps; None for no limit.
    trail
        The frontiers to replay.
    window
        Width of the priority window to resume with; 0 chooses one.
    emitted
        The arrays of a program that emits, see `Data`.
    turn
        Of an operator in a loop: the state of the loop, and its iteration, see `Profile.add`.
    """

    state: State
    edge_state: State | None
    frontier: Frontier
    max_iter: int | None = None
    trail: Trail | None = None
    window: float = 0.0
    emitted: tuple[Array, ...] = ()
    turn: tuple[Any, int] | None = None


class Prepared:
    """A program prepared to run on a graph, with any state.

    Parameters
    ----------
    program
        The traced program.
    topology
        The topology it runs over, possibly with reordered vertices.
    config
        How to run it.
    """

    def __init__(self, program: Program, topology: Topology, config: Config) -> None:
        check_goes_on(program)
        check_counter(program, config)
        self.program, self.topology, self.config = program, topology, config
        self.backend = backend_of(topology.device)
        self.options = RunOptions(config, self.backend.check(config, topology))
        self._recorded = replace(self.options, recorded=True)
        self._old = old_names(program)
        self._sorts = self.backend.sorts_frontiers or config.deterministic
        self._resumes = not self._sorts and topology.numbering is None
        self._counted = counts_outputs(program, config) and program.mode == "iterate"
        self._forms: dict[Any, Form] = {}

    def request(self, columns: Columns, inputs: Inputs) -> Request:
        """Return the request for the backend; the state keeps old values from now on."""
        program = self.program
        state, edge_state, frontier, max_iter, trail, window, emitted, turn = inputs
        fields = state.fields
        if columns.vertex or self._old or state.old:
            fields = self._all_fields(columns, state)
        if frontier.arcs or self.config.deterministic:
            check_start(program, frontier, self.config)
        edges, known = {}, _NOTHING
        if edge_state is not None:
            edges, known = edge_state.fields, edge_state._known
        read = columns.reader(self.topology)
        data = Data(fields, edges, read, state.scalars, state.parameters, known, emitted)
        members = frontier.first(self._sorts, self._resumes and not frontier.arcs)
        start = Start(members, frontier.arcs, trail, window, frontier.pairs)
        open_profiles = profile.stack.get()
        if not open_profiles:
            return Request(program, self.topology, self.options, data, start, max_iter)
        report = _reporter(open_profiles[-1], program, self.config, self.topology, turn)
        return Request(program, self.topology, self._recorded, data, start, max_iter, report)

    def _all_fields(self, columns: Columns, state: State) -> dict[str, Array]:
        """Return the fields of a state, with the graph's columns and old values added."""
        fields = dict(state.fields)
        if columns.vertex:
            _add_columns(fields, columns.vertex, self.program)
        for name in self._old:
            if name not in state.old:
                state.old[name] = fields[name].copy()
        for name, array in state.old.items():
            fields["old." + name] = array
        return fields

    def form(self, request: Request) -> Form:
        """Return the compiled form that a request tries first."""
        start = request.start
        key = (request.options.recorded, start.arcs, start.frontier is None, kept_old(request))
        found = self._forms.get(key)
        if found is None:
            found = self._forms[key] = self.backend.compile(request)
        return found

    def run(self, columns: Columns, inputs: Inputs) -> Outcome:
        """Run the program."""
        if self.topology.device.on_host:
            return self._run(self.request(columns, inputs), inputs.state)
        request: Request | None = None
        with self.topology.device.current(
            lambda: [] if request is None else lighter_choices(request)
        ):
            request = self.request(columns, inputs)
            return self._run(request, inputs.state)

    def _run(self, request: Request, state: State) -> Outcome:
        topology = self.topology
        if topology.num_vertices == 0:
            return _run_empty(request)
        watching = watch.current.get()
        if watching is not None:
            watching.note(request)
            request.limit = watching.limit
        untouched = state._untouched
        if topology.numbering is None:
            untouched.clear()  # the run is about to write to fields
            outcome = self.backend.run(request, self.form(request))
            return self._all_if_any(outcome) if self._counted else outcome
        started = dict(untouched)
        untouched.clear()
        return self._over(*cross(request, self.backend, started))

    def _over(self, request: Request, crossing: Crossing) -> Outcome:
        """Run a request over a reordered topology; return the outcome in the user's numbering."""
        request.follow = crossing.copy_back
        outcome = self.backend.run(request, self.form(request))
        if not outcome.followed:
            crossing.copy_back()
        outcome = crossing.outcome(request, outcome)
        return self._all_if_any(outcome) if self._counted else outcome

    def _all_if_any(self, outcome: Outcome) -> Outcome:
        """Return an outcome whose last frontier was counted: all vertices, or none."""
        topology, frontier = self.topology, outcome.frontier
        members = frontier.get() if isinstance(frontier, Deferred) else frontier
        if outcome.steps == 0 or members is None or members.size in (0, topology.num_vertices):
            return outcome
        everything = topology.xp.arange(topology.num_vertices, dtype=topology.index_dtype)
        return replace(outcome, frontier=everything)


class Columns:
    """The columns of a graph, for reading during runs."""

    def __init__(self, vertex: dict[str, Array], edge: Any) -> None:
        self.vertex, self.edge = vertex, edge
        self._last: Callable[[str, str], Array] | None = None
        self._of: weakref.ref[Topology] | None = None

    def reader(self, topology: Topology) -> Callable[[str, str], Array]:
        """Return a function from an edge column's name and an order to its values."""
        if self._last is None or self._of is None or self._of() is not topology:
            self._of, self._last = weakref.ref(topology), self._reader(topology)
        return self._last

    def _reader(self, topology: Topology) -> Callable[[str, str], Array]:
        edge, held = self.edge, weakref.ref(topology)

        def column(name: str, direction: str) -> Array:
            if direction == "edge":
                values: Array = edge.storage(name)
            else:
                values = edge.in_slots(name, direction, held())
            return values

        return column


def old_names(program: Program) -> list[str]:
    """Return the fields whose old values a program reads."""
    found: list[str] | None = program.findings.get("old")
    if found is None:
        names = set[str]().union(*(fact.old for fact in program_facts(program)))
        found = program.findings["old"] = sorted(names)
    return found


def _add_columns(fields: dict[str, Array], columns: dict[str, Array], program: Program) -> None:
    """Add the graph's columns to the fields of a state, except those that a field hides."""
    for name, values in columns.items():
        if name not in fields:
            fields[name] = values
            if any(name in fact.written for fact in program_facts(program)):
                raise FieldError(
                    f"{name!r} is a column of the graph, which a program cannot write. "
                    f"Declare a field of that name in g.state(...)."
                )


def _reporter(
    active: profile.Profile, program: Program, config: Config, topology: Topology, turn: Any
) -> Any:
    name = ", ".join(step.name for step in program.steps)
    shown = {k: v for k, v in config.options().items() if v is not None}

    def report(
        columns: dict[str, Any], facts: dict[str, object] | None = None, dropped: int = 0
    ) -> None:
        records = np.zeros(len(columns["step"]), profile.RECORD)
        for key, values in columns.items():
            records[key] = values
        size = topology.num_vertices, topology.num_arcs
        active.add(name, shown, records, dropped, facts, size, turn)

    return report


def _run_empty(request: Request) -> Outcome:
    """Run a program on a graph without vertices, where only scalars can change."""
    from weft.ir.reference.interpret import interpret

    place, data, start = request.topology.device, request.data, request.start

    def on_host(arrays: dict[str, Array]) -> dict[str, Array]:
        return {name: to_host(array) for name, array in arrays.items()}

    host = replace(
        request,
        topology=request.topology.to(CPU),
        data=replace(
            data,
            fields=on_host(data.fields),
            edge_fields=on_host(data.edge_fields),
            column=lambda name, order: to_host(data.column(name, order)),
            parameters=on_host(data.parameters),
        ),
        start=replace(
            start,
            trail=None if start.trail is None else [to_host(part) for part in start.trail],
            frontier=None if start.frontier is None else to_host(start.frontier),
        ),
    )
    outcome = interpret(host)
    trail = [move(part, place) for part in outcome.trail]
    return replace(outcome, frontier=move(outcome.frontier, place), trail=trail)


def lighter_choices(request: Request) -> list[str]:
    """Return choices that would need less memory than a request, the largest saving first."""
    topology, config, fields = request.topology, request.options.config, request.data.fields
    n, arcs = topology.num_vertices, topology.num_arcs
    found: dict[str, int] = {}
    if config.compaction == "batch":
        text = "a compaction other than 'batch', which stores every message"
        found[text] = 2 * topology.index_dtype.itemsize * arcs
    if topology.directed and topology.keep == "both":
        found["a graph built with keep='out', which only pushes"] = arcs * 4 + n * 8
    if any(name not in (None, DEFAULT_FORMAT) for name in each_choice(config.format)):
        found[f"format={DEFAULT_FORMAT!r}"] = arcs * topology.index_dtype.itemsize
    if config.hub_table:
        found["hub_table=False"] = arcs * topology.index_dtype.itemsize
    for name in each_choice(request.options.schedule):
        if name is None:
            continue
        parts = schedule_named(name).workspace(n, arcs)
        nbytes = sum(np.dtype(dtype).itemsize * size for _, dtype, size in parts if size >= n)
        if nbytes:
            found[f"a schedule other than {name!r}, which needs a workspace"] = nbytes
    if "reverse_queue" in each_choice(config.frontier_in):
        found["frontier_in='bitmap'"] = 2 * n * topology.index_dtype.itemsize
    wide = [
        name
        for name, array in fields.items()
        if array.dtype == np.float64 and not name.startswith("old.")
    ]
    if wide:
        nbytes = sum(int(fields[name].nbytes) for name in wide)
        found[f"float32 in place of float64 for {listed(wide[:3])}"] = nbytes // 2
    if request.program.trail:
        found["trail=False"] = 8 * n
    return sorted(found, key=lambda text: -found[text])
