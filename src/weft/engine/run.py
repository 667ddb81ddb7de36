"""Runs traced programs: makes the request, chooses the backend, wraps up the outcome."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np

from weft.arrays.device import CPU, KINDS, move, to_host
from weft.config import NARROW, SIDES, Config, each_choice, of_side
from weft.engine import profile
from weft.engine import watch as watching
from weft.engine.frontier import Frontier
from weft.engine.reorder import Crossing, cross
from weft.engine.state import State
from weft.errors import ConfigError, FieldError, TraceError, listed
from weft.ir.check.facts import program_facts
from weft.ir.ops import Program, Signature
from weft.ir.request import Outcome, Request
from weft.report.html import table_html
from weft.topology.topology import Topology

Array = np.ndarray[Any, Any]

DEFAULT_FORMAT = "csr"
MOST_SIGNATURES = 1024
_BACKENDS = {kind: f"weft.backends.{'cpu' if kind == 'cpu' else 'cuda'}.host.run" for kind in KINDS}
SCALAR_LANES = 1  # that take one edge together; more where fields have features


@dataclass(frozen=True)
class Run:
    """How an `iterate` ended.

    Attributes
    ----------
    steps
        Number of supersteps.
    converged
        Whether the frontier became empty or `until` held; False after `max_iter` supersteps.
    frontier
        The last frontier.
    scalars
        The scalars of the state at the end.
    trail
        The frontiers of all supersteps, first to last, if ``trail=True`` asked for them.
    """

    steps: int
    converged: bool
    frontier: Frontier
    scalars: dict[str, Any]
    trail: list[Array]

    def _repr_html_(self) -> str:
        rows = [
            ("supersteps", f"{self.steps:,}"),
            ("converged", "yes" if self.converged else "no"),
            ("last frontier", f"{len(self.frontier):,} of {self.frontier.length:,}"),
            *self.scalars.items(),
        ]
        return table_html("Run", rows)


_signatures: dict[Any, Signature] = {}


def signature_of(
    topology: Topology,
    state: State,
    edge_state: State | None,
    vertex_columns: dict[str, Array],
    edge_columns: dict[str, Array],
) -> Signature:
    """Return what a program may name; the same object for what is equal."""
    fields = {**vertex_columns, **state.fields} if vertex_columns else state.fields
    edge_fields = edge_state.fields if edge_state is not None else {}
    parts = (
        tuple([(n, a.dtype, a.shape[1:]) for n, a in fields.items()]),
        tuple([(n, a.dtype, a.shape[1:]) for n, a in edge_fields.items()]),
        tuple([(n, a.dtype, a.shape[1:]) for n, a in edge_columns.items()]),
        tuple([(n, a.dtype) for n, a in state.scalars.items()]),
        topology.index_dtype,
        tuple([(n, a.dtype, a.shape) for n, a in state.parameters.items()]),
    )
    known = _signatures.get(parts)
    if known is None:
        if len(_signatures) >= MOST_SIGNATURES:
            _signatures.clear()
        known = _signatures[parts] = Signature(*parts)
    return known


def make_request(
    program: Program,
    topology: Topology,
    state: State,
    edge_state: State | None,
    vertex_columns: Any,
    edge_columns: Any,
    frontier: Frontier,
    config: Config,
    *,
    max_iter: int | None = None,
    trail: list[Array] | None = None,
) -> Request:
    """Put together what a backend is asked to do; old values are kept from now on."""
    fields = dict(state.fields)
    if vertex_columns:
        _add_columns(fields, vertex_columns, program)
    for name in old_names(program):
        if name not in state.old:
            state.old[name] = fields[name].copy()
    for name, array in state.old.items():
        fields["old." + name] = array
    if frontier.arcs or config.deterministic:
        _check_roles(program, frontier, config)

    def column(name: str, direction: str) -> Array:
        if direction == "edge":
            return edge_columns.storage(name)
        return edge_columns.in_slots(name, direction, topology)

    options = make_options(config, topology)
    options["report"] = _reporter(program, config)
    if edge_state is not None and edge_state._known:
        options["edge_state"] = edge_state._known
    # The CPU's sweeps want members in order; a GPU takes them as they come, unless order counts.
    ordered = topology.device.kind == "cpu" or config.deterministic
    members = None
    if not frontier.is_all:
        members = frontier.items if ordered else frontier.held
    return Request(
        program, topology, fields, edge_state.fields if edge_state is not None else {}, column,
        state.scalars, members, frontier.arcs, max_iter, trail,
        options, state.parameters,
    )  # fmt: skip


def make_options(config: Config, topology: Topology) -> dict[str, Any]:
    """Return what a configuration asks of a backend."""
    options = config.options()
    options["schedule"] = check_names(config, topology)
    options["registries"] = Registries
    return options


def _add_columns(fields: dict[str, Array], columns: dict[str, Array], program: Program) -> None:
    """Add the columns of the graph to the fields of a state that do not hide them."""
    for name, values in columns.items():
        if name not in fields:
            fields[name] = values
            if any(name in fact.written for fact in program_facts(program)):
                raise FieldError(
                    f"{name!r} is a column of the graph and cannot be written by a program. "
                    f"Declare a field of that name in g.state(...)."
                )


def old_names(program: Program) -> list[str]:
    """Return the fields whose old values a program asks for."""
    found: list[str] | None = program.findings.get("old")
    if found is None:
        asked = set[str]().union(*(fact.old for fact in program_facts(program)))
        found = program.findings["old"] = sorted(asked)
    return found


def run_program(program: Program, topology: Topology, *parts: Any, **more: Any) -> Outcome:
    """Run a traced program where the graph lives; takes what `make_request` takes."""
    request: Request | None = None
    with topology.device.current(lambda: [] if request is None else _lighter(request)):
        request = make_request(program, topology, *parts, **more)
        if topology.num_vertices == 0:
            return _run_empty(request)
        watch = watching.active()
        if watch is not None:
            watch.note(request)
            request.options["limit"] = watch.limit
        crossing: Crossing | None = None
        if topology.numbering is not None:
            request, crossing = cross(request)
        outcome = _executed(request)
        return outcome if crossing is None else crossing.back(request, outcome)


def run_again(request: Request) -> Outcome:
    """Run a request of the same kind as one that ran before, which nobody watches.

    Its device must be the present one already.
    """
    try:
        return _executed(request)
    except MemoryError:
        with request.topology.device.current(lambda: _lighter(request)):
            raise  # as an error that tells what needs less


def _executed(request: Request) -> Outcome:
    name = _BACKENDS[request.topology.device.kind]
    outcome: Outcome = (sys.modules.get(name) or import_module(name)).execute(request)
    return outcome


def _run_empty(request: Request) -> Outcome:
    """Run a program on a graph without vertices: nothing but scalars can change."""
    from weft.ir.reference.interpret import interpret

    place = request.topology.device
    host = replace(
        request,
        topology=request.topology.to(CPU),
        fields={name: to_host(array) for name, array in request.fields.items()},
        edge_fields={name: to_host(array) for name, array in request.edge_fields.items()},
        column=lambda name, order: to_host(request.column(name, order)),
        trail=None if request.trail is None else [to_host(part) for part in request.trail],
        frontier=None if request.frontier is None else to_host(request.frontier),
        parameters={name: to_host(array) for name, array in request.parameters.items()},
    )
    outcome = interpret(host)
    trail = [move(part, place) for part in outcome.trail]
    return replace(outcome, frontier=move(outcome.frontier, place), trail=trail)


class Registries:
    """What backends ask for schedules and formats by name: they lie below the registries."""

    @staticmethod
    def schedule(name: str) -> Any:
        """Return a schedule."""
        return import_module("weft.schedules").schedule(name)

    @staticmethod
    def format(name: str) -> Any:
        """Return a format."""
        return import_module("weft.formats").format(name)

    @staticmethod
    def chosen(name: str) -> Any:
        """Return a format with its parameters."""
        return import_module("weft.formats").choose(name)


def check_names(config: Config, topology: Topology) -> Any:
    """Look formats and schedules up; return the schedule, None for the choice of the backend."""
    if config.format is None and config.schedule is None:
        return "vertex" if topology.device.kind == "cpu" else None
    for name in each_choice(config.format):
        if name is not None:
            Registries.format(name)
    for name in each_choice(config.schedule):
        if name is not None:
            Registries.schedule(name)
    if topology.device.kind == "cpu":
        _check_cpu_formats(config)
        return _check_cpu_schedule(config.schedule)
    for side in (*SIDES, NARROW):
        name = of_side(config.schedule, side)
        if name is None:
            continue
        swept = "push" if side == NARROW else side
        format_ = Registries.format(of_side(config.format, swept) or DEFAULT_FORMAT)
        reason = Registries.schedule(name).refuse(format_, SCALAR_LANES)
        if reason:
            raise ConfigError(
                f"schedule={name!r} is not possible over format={format_.name!r}: {reason}. Choose "
                f"another of either."
            )
    return config.schedule


def _check_cpu_formats(config: Config) -> None:
    from weft.backends.cpu.codegen.parts import refusal

    for name in each_choice(config.format):
        reason = "" if name is None else refusal(Registries.format(name))
        if reason:
            raise ConfigError(
                f"format={name!r} is not possible on a CPU: {reason}. Use another, or a GPU."
            )


def _check_cpu_schedule(chosen: Any) -> str:
    from weft.backends.cpu.codegen.schedules import SCHEDULES, refusal

    if chosen is None:
        return "vertex"
    name = chosen if isinstance(chosen, str) else None
    reason = "it takes one for all sides" if name is None else refusal(name)
    if reason:
        raise ConfigError(
            f"schedule={chosen!r} is not possible on a CPU: {reason}. Expected one of "
            f"{listed(SCHEDULES)}."
        )
    assert name is not None
    return name


def _check_roles(program: Program, frontier: Frontier, config: Config) -> None:
    """Raise if a frontier of arcs, or the same bits every time, is more than a program can have."""
    if frontier.arcs and program.steps[0].kind != "edge":
        raise TraceError(
            f"a frontier of arcs starts an edge function, but {program.steps[0].name!r} is a "
            f"vertex function. Use g.frontier(...)."
        )
    if frontier.arcs and program.trail:
        raise TraceError(
            "trail=True keeps frontiers of vertices, but the first one holds arcs. Run the first "
            "superstep with g.run, and go on with the frontier that it returns."
        )
    if config.deterministic:
        for step, fact in zip(program.all_steps(), program_facts(program), strict=True):
            if fact.live and not step.order_free:
                raise ConfigError(
                    f"deterministic=True cannot hold for {step.name!r}: it touches "
                    f"{sorted(fact.live)} through .at(i), in no fixed order. Mark it "
                    f"order_free=True if its result does not depend on the order."
                )


def _reporter(program: Program, config: Config) -> Any:
    active = profile.active()
    if active is None:
        return None
    name = ", ".join(step.name for step in program.steps)
    shown = {k: v for k, v in config.options().items() if v is not None}

    def report(
        columns: dict[str, Any], facts: dict[str, object] | None = None, dropped: int = 0
    ) -> None:
        records = np.zeros(len(columns["step"]), profile.RECORD)
        for key, values in columns.items():
            records[key] = values
        active.add(name, shown, records, dropped, facts)

    return report


def _lighter(request: Request) -> list[str]:
    """Return the choices of a request that would need less memory, the largest first."""
    topology, get = request.topology, request.options.get
    n, arcs = topology.num_vertices, topology.num_arcs
    found: dict[str, int] = {}
    if get("compaction") == "batch":
        text = "a compaction other than 'batch', which lists every message"
        found[text] = 2 * topology.index_dtype.itemsize * arcs
    if topology.directed and topology.keep == "both":
        found["a graph built with keep='out', which is only pushed"] = arcs * 4 + n * 8
    if any(name not in (None, DEFAULT_FORMAT) for name in each_choice(get("format"))):
        found[f"format={DEFAULT_FORMAT!r}"] = arcs * topology.index_dtype.itemsize
    for schedule in each_choice(get("schedule")):
        if schedule is None:
            continue
        parts = Registries.schedule(schedule).workspace(n, arcs)
        nbytes = sum(np.dtype(dtype).itemsize * size for _, dtype, size in parts if size >= n)
        if nbytes:
            found[f"a schedule other than {schedule!r}, which lays rows out"] = nbytes
    if "reverse_queue" in each_choice(get("frontier_in")):
        found["frontier_in='bitmap'"] = 2 * n * topology.index_dtype.itemsize
    wide = [
        name
        for name, array in request.fields.items()
        if array.dtype == np.float64 and not name.startswith("old.")
    ]
    if wide:
        nbytes = sum(int(request.fields[name].nbytes) for name in wide)
        found[f"float32 in place of float64 for {listed(wide[:3])}"] = nbytes // 2
    if request.program.trail:
        found["trail=False"] = 8 * n
    return sorted(found, key=lambda text: -found[text])
