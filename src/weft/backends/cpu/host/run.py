"""Runs requests on the CPU: finds or compiles the kernel, binds it, and drives its loop."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from weft.backends.cpu.codegen.kernel import (
    EMPTY,
    RUNNING,
    SAVED_NAMES,
    TRAIL_FULL,
    UNTIL,
    Options,
)
from weft.backends.cpu.codegen.program import Rendered, render
from weft.backends.cpu.host import workspace as workspaces
from weft.backends.cpu.host.bind import STEERED, Binder
from weft.backends.cpu.host.cache import load_module
from weft.backends.cpu.host.evaluate_small import evaluated
from weft.backends.cpu.host.gang import num_threads, run
from weft.backends.cpu.runtime.cas128 import has_cas128
from weft.backends.cpu.runtime.control import (
    FAULT,
    FAULT_COUNT,
    FAULT_FUNCTION,
    FAULT_INDEX,
    FAULT_VERTEX,
)
from weft.backends.cpu.runtime.loops import INDEX_RANGE, LOOP_BOUND, NOT_POSITIVE, SAVED, SINGULAR
from weft.backends.cpu.runtime.rounds import ROUND_ROWS
from weft.backends.limits import TimeLimit
from weft.config import SIDES, entries_of, of_side
from weft.errors import FaultError
from weft.formats import format as format_named
from weft.ir.check.fault_lines import fault_error
from weft.ir.check.ranges import prove_vertices
from weft.ir.ops import Program
from weft.ir.passes import run_passes
from weft.ir.request import Outcome, Request
from weft.plan.directions import rule_of
from weft.plan.horizon import has_horizon, share_within
from weft.plan.prepare import (
    Form,
    Preparation,
    Proofs,
    check_directions,
    directions_of,
    has_converged,
    kept_old,
    may_order,
    may_start_anywhere,
    proven_form,
    push_narrow,
    wants_row_bits,
    wants_state,
)
from weft.plan.queries import Traits
from weft.plan.sorting import plan_sorting
from weft.plan.sweeps import Planning, Sweep, plan_program
from weft.storage.memory import Cache

SMALL_GRAPH = 1 << 15  # arcs and vertices below which the caller's thread does the work
FEW = 256
SLICE = 20_000_000  # items of work between checks for signals, in the caller's thread
REUSES = False  # a bit of the frontier is at least as close in memory as a field

FAULTS = {
    INDEX_RANGE: "index",
    LOOP_BOUND: "bound",
    SINGULAR: "singular",
    NOT_POSITIVE: "indefinite",
}
_SLOT = {name: SAVED + position for position, name in enumerate(SAVED_NAMES)}
_STATUS, _STEP, _SIZE, _DENSE = (_SLOT[name] for name in ("status", "step", "size", "dense"))
_EDGES, _EXPLORED, _SHARE = (_SLOT[name] for name in ("edges", "explored", "share"))
_EPOCH, _FAR_SIZE = _SLOT["epoch"], _SLOT["far_size"]
_SWAPPED, _FAR_SWAPPED, _BIT_SWAPPED = (
    _SLOT[name] for name in ("swapped", "far_swapped", "bit_swapped")
)


@dataclass
class Compiled(Proofs):
    """A compiled program: its text, its kernel, and its rewrites."""

    rendered: Rendered
    program: Program
    sweeps: list[Sweep]
    fired: list[str]
    closed: frozenset[str] = frozenset()  # fields that must hold vertices
    kernel: Any = None
    evaluated_s: float = 0.0  # that runs took without the kernel

    def splits_rows(self, side: str) -> str:
        """Return nothing: a pulled or gathered row stays with one thread."""
        return ""

    def load(self) -> Any:
        """Return the compiled kernel."""
        if self.kernel is None:
            self.kernel = load_module(self.rendered.source, "weft").kernel
        return self.kernel


_compiled: Cache[Any, Compiled] = Cache("programs compiled for CPU", 1024)


def prepare(request: Request) -> Preparation:
    """Return a request's program, ready to be compiled or found."""
    topology = request.topology
    kept = kept_old(request)
    directions = directions_of(request)
    config = request.options.config
    shape = (
        topology.directed, topology.keep, topology.numbering is None, directions,
        request.options.schedule or "vertex", config.deterministic, bool(config.ordering),
        kept, request.start.arcs, rule_of(config), wants_state(request, REUSES),
        tuple(formats_of(request).items()),
        wants_row_bits(request),
        config.combine == "radix",
        may_order(request, directions) and share_within(request) > 0,
        entries_of(config),
    )  # fmt: skip

    def make(program: Program, off: frozenset[str]) -> Compiled:
        return _make(replace(request, program=program), directions, kept, off)

    preparation = Preparation(request, _compiled, shape, make)
    if not may_start_anywhere(request, preparation.compiled()):
        preparation.without("write_once")
    return preparation


def compile_program(request: Request) -> Form:
    """Return the compiled form of a request's program and its constants."""
    preparation = prepare(request)
    return preparation.compiled(), preparation.constants


def formats_of(request: Request) -> dict[str, Any]:
    """Return the formats by side whose rows are not those of the adjacency.

    Deterministic runs have none, since results that depend on the order of arcs use the
    adjacency's.
    """
    config = request.options.config
    found: dict[str, Any] = {}
    if config.format is None or config.deterministic:
        return found
    for side in SIDES:
        name = of_side(config.format, side)
        if name is not None:
            format_ = format_named(name)
            if format_.splits:
                found[side] = format_
    return found


def _make(
    request: Request, directions: tuple[str, ...], kept: frozenset[str], off: frozenset[str]
) -> Compiled:
    program, topology = request.program, request.topology
    fired = run_passes(program, off)
    closed = prove_vertices(program, closed="index_proofs" not in off)
    config = request.options.config
    deterministic = config.deterministic
    pushes = "push" in directions
    sorts = config.combine == "radix" and pushes
    planning = Planning(
        kept, deterministic, has_cas128(), pushes, reuse=wants_state(request, REUSES),
        ordering=may_order(request, directions), radix=sorts, off=off,
    )  # fmt: skip
    planned, decided = plan_program(program, planning)
    sweeps, every = planned["steps"], [sweep for part in planned.values() for sweep in part]
    push_narrow(sweeps, program, directions)
    if sorts:
        split = formats_of(request).get("push")
        reason = f"the format {split.name!r} splits the rows that it lays out" if split else ""
        decided += plan_sorting(every, deterministic, reason)
    for sweep in every:
        check_directions(sweep, directions, request)
    ordered = (
        program.mode == "iterate"
        and sweeps[0].relaxes
        and sweeps[0].steps[0].priority is not None
        and may_order(request, directions, program.observed)
    )
    schedule = "vertex" if deterministic else request.options.schedule or "vertex"
    options = Options(
        directions,
        schedule,
        deterministic,
        bool(ordered),
        kept,
        request.start.arcs,
        rule_of(config),
        formats_of(request),
        bool(ordered) and has_horizon(sweeps[0], request, off),
        wants_row_bits(request),
        entries_of(config) or ROUND_ROWS,
    )
    traits = Traits(topology.directed, topology.keep, topology.numbering is not None)
    rendered = render(program, planned, traits, options)
    made = [*fired, *decided, *(["ordering"] if ordered else [])]
    made += ["index_proofs"] if closed else []
    made += ["horizon"] if options.horizon else []
    made += ["row_bits"] if options.row_bits else []
    return Compiled(rendered, program, every, list(dict.fromkeys(made)), closed)


def run_request(request: Request, form: Form) -> Outcome:
    """Run a request to its end."""
    compiled, constants = proven_form(request, form, prepare)
    if compiled.kernel is None or request.options.config.compiled is False:
        outcome = evaluated(request, compiled)
        if outcome is not None:
            return outcome
    topology = request.topology
    small = topology.num_vertices + topology.num_arcs < SMALL_GRAPH
    nt = 1 if small else int(request.options.config.threads or num_threads())
    workspace = workspaces.take(topology, not small)
    outcome = _Run(request, compiled, constants, workspace, nt).drive()
    workspaces.give_back(topology, workspace)  # after an error its contents cannot be trusted
    return outcome


class _Run:
    """One run of a kernel, in slices if it is in the caller's thread."""

    def __init__(
        self, request: Request, compiled: Compiled, constants: list[Any], workspace: Any, nt: int
    ) -> None:
        self.request, self.compiled, self.workspace, self.nt = request, compiled, workspace, nt
        self.binder = Binder(request, compiled.rendered, workspace, constants, nt)
        self.ctl = workspace.ctl
        self.n = request.topology.num_vertices

    def saved(self, name: str) -> int:
        """Return the final value of one of the loop's variables."""
        return int(self.ctl[_SLOT[name]])

    def drive(self) -> Outcome:
        """Call the kernel until it is done."""
        request, binder, ctl = self.request, self.binder, self.ctl
        program = request.program
        kernel = self.compiled.kernel or self.compiled.load()
        steady = self.workspace.steady(binder.rendered, self.nt, binder.steady)
        arguments = self._arguments = binder.arguments(steady)
        queues, bits = steady.queues, steady.bits
        self._start(queues[0])
        limit = 2**62 if request.max_iter is None else request.max_iter
        if program.mode == "replay":
            assert request.start.trail is not None
            limit = len(request.start.trail)
        report = request.report
        clock = None
        if report is not None:
            from weft.backends.cpu.host.clock import Clock

            clock = Clock()
        patience: TimeLimit | None = request.limit
        sizes = (self.n, request.topology.num_arcs, limit, SLICE)
        while True:
            run(
                kernel,
                self.nt,
                ctl,
                (*sizes, *queues, *bits, self.workspace.ring, *arguments),
                patience,
            )
            if ctl[FAULT]:
                raise self._fault()
            if ctl[_SWAPPED]:
                queues, ctl[_SWAPPED] = queues[::-1], 0
            if ctl[_FAR_SWAPPED]:
                self._swap_far()
                ctl[_FAR_SWAPPED] = 0
            if ctl[_BIT_SWAPPED]:
                bits, ctl[_BIT_SWAPPED] = bits[::-1], 0
            status = int(ctl[_STATUS])
            if status == TRAIL_FULL:
                arguments = self._arguments = self._grow_trail()
            elif status != RUNNING or program.mode == "run":
                break
            if patience is not None:
                patience.check()
        self.workspace.epoch = int(ctl[_EPOCH])
        if binder.pairs:
            binder.unpack()
        if report is not None and clock is not None:
            count = self.saved("records")
            facts = {"device": "cpu", "threads": self.nt, "peak_bytes": self._bytes()}
            records = clock.records(self.workspace.ring, count, self.saved("began"))
            report(records, facts, count - len(records["ns"]))
        return self._outcome(status, queues[0])

    def _bytes(self) -> int:
        """Return the bytes of graph, state and workspace, which a run never frees."""
        held = self.request.topology.memory_bytes + self.request.data.nbytes
        return int(held + self.workspace.nbytes)

    def _swap_far(self) -> None:
        names = list(self.compiled.rendered.bindings)
        a, b = names.index("far_a"), names.index("far_b")
        arguments = self._arguments
        arguments[a], arguments[b] = arguments[b], arguments[a]

    def _start(self, queue: Any) -> None:
        """Set the loop's variables to the beginning of a run."""
        topology, start, ctl = self.request.topology, self.request.start, self.ctl
        frontier = start.frontier
        ctl.fill(0)
        ctl[_SHARE] = 100
        ctl[_EPOCH] = self.workspace.epoch
        if start.arcs:
            ctl[_SIZE] = ctl[_EDGES] = topology.num_arcs if frontier is None else len(frontier)
            ctl[_DENSE] = 2
            ctl[_EXPLORED] = topology.num_arcs
        elif frontier is None:
            ctl[_SIZE], ctl[_DENSE] = self.n, 1
            ctl[_EDGES] = ctl[_EXPLORED] = topology.num_arcs
        else:
            size = frontier.size
            queue[:size] = frontier
            degrees = self.workspace.degrees
            if degrees is None:
                degrees = self.workspace.degrees = topology.out_degree
            edges = degrees[frontier[0]] if size == 1 else np.add.reduce(degrees.take(frontier))
            ctl[_SIZE] = size
            ctl[_EDGES] = ctl[_EXPLORED] = edges

    def _fault(self) -> FaultError:
        cause, function = FAULTS[int(self.ctl[FAULT])], int(self.ctl[FAULT_FUNCTION])
        (vertex,) = self.request.topology.user_vertices([int(self.ctl[FAULT_VERTEX])])
        index, count = int(self.ctl[FAULT_INDEX]), int(self.ctl[FAULT_COUNT])
        return fault_error(self.request.program, function, cause, vertex, index, count)

    def _grow_trail(self) -> list[Any]:
        binder = self.binder
        held = binder._trail()[: self.saved("trail_size")].copy()
        ends = binder._trail_ends()[: self.saved("step") + 1].copy()
        if held.size + self.saved("size") > binder.trail_size:
            binder.trail_size = 2 * binder.trail_size + self.n
        if ends.size >= binder.trail_steps:
            binder.trail_steps *= 4
        binder._trail()[: held.size] = held
        binder._trail_ends()[: ends.size] = ends
        binder.pairs.clear()
        names = list(self.compiled.rendered.bindings.values())
        kept = {"next", "inbox", "pair", "edge_next", "flags"}
        fresh = [None if b[0] in kept else binder._bind(*b) for b in names]
        return [
            old if new is None else new for new, old in zip(fresh, self._arguments, strict=True)
        ]

    def _outcome(self, status: int, queue: Any) -> Outcome:
        ctl, request = self.ctl, self.request
        steps, size = int(ctl[_STEP]), int(ctl[_SIZE])
        frontier = None
        if ctl[_DENSE] == 2:  # arcs that no superstep has taken
            frontier = request.start.frontier
        elif size == 0 or not ctl[_DENSE]:
            frontier = queue[:size].astype(request.topology.index_dtype)
            few = size < FEW  # which are faster to sort than to test
            if size > 1 and (few or np.count_nonzero(frontier[1:] < frontier[:-1])):
                frontier.sort()
            if ctl[_FAR_SIZE]:  # those still waiting when an ordered run ended
                names = list(self.compiled.rendered.bindings)
                far = self._arguments[names.index("far_a")][: ctl[_FAR_SIZE]]
                frontier = np.union1d(frontier, far).astype(frontier.dtype)
        trail = self.binder.trail_of(steps) if request.program.trail else ()
        converged = has_converged(request, steps, empty=status == EMPTY, held=status == UNTIL)
        window = 0.0
        if "steering" in self.compiled.rendered.bindings:
            window = float(self.workspace.get("steering", STEERED, np.float64)[1])
        return Outcome(steps, converged, frontier, trail, window=window)
