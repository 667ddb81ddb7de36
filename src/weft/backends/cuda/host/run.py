"""Runs requests on a GPU, or in its emulation: compiles, binds, launches, wraps up."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from weft.arrays.device import address, to_host
from weft.backends.cuda.codegen.frontier_forms import takes_classes
from weft.backends.cuda.codegen.horizon import may_have_horizon
from weft.backends.cuda.codegen.machine import DeviceTraits, Options
from weft.backends.cuda.codegen.program import Rendered, render
from weft.backends.cuda.codegen.program_text import KERNELS
from weft.backends.cuda.codegen.radix import layout_refused
from weft.backends.cuda.codegen.senders import add_at_once, keep_senders
from weft.backends.cuda.codegen.sorted_pushes import allow_sorted_pushes, must_sort
from weft.backends.cuda.codegen.text import c_type
from weft.backends.cuda.drivers import driver_of
from weft.backends.cuda.drivers.base import Geometry
from weft.backends.cuda.host import workspace as workspaces
from weft.backends.cuda.host.bind import STEADY, Binder, flat
from weft.backends.cuda.host.control import AT, DENSE, SIZE, STATUS, STEP, SWAPPED, Control
from weft.backends.cuda.host.defaults import WARP
from weft.backends.cuda.host.last_frontier import Left, Place, left_by
from weft.backends.cuda.host.options import Launching, choose_options, launching
from weft.backends.limits import TimeLimit
from weft.ir.check.fault_lines import fault_error
from weft.ir.check.ranges import prove_vertices
from weft.ir.check.verify import verify
from weft.ir.ops import Program, identity_of
from weft.ir.passes import hoist_sources, run_passes
from weft.ir.request import Deferred, Outcome, Request
from weft.plan.counting import plan_counting
from weft.plan.horizon import has_horizon
from weft.plan.hub_table import reads_by_place
from weft.plan.prepare import (
    Form,
    Preparation,
    Proofs,
    check_directions,
    has_converged,
    kept_old,
    may_order,
    may_start_anywhere,
    push_narrow,
)
from weft.plan.sorting import plan_sorting
from weft.plan.sweeps import Planning, Sweep, plan_program
from weft.storage.memory import Cache
from weft.topology.adjacency import fitting_dtype

RUNNING, EMPTY, UNTIL, LIMIT, STOPPED, TRAIL_FULL = range(6)
FAULTS = {1: "index", 2: "bound", 3: "singular", 4: "indefinite"}
# That did not hold at the start.
PROOFS = {5: "write_once", 6: "index_proofs", 7: "operand_reuse"}
RECORDS = 1 << 13  # supersteps that a profile remembers
WORDS = 7  # of a record, as in `record` of loop.cuh
MOST_PACKED = 64  # limits of supersteps that a plan has arguments for
ALTERNATIONS = 4  # pairs of kernels that are started before the host looks
IN_TURN = {  # kernels of which each goes on where the last one stopped
    "direction": KERNELS["direction"] * ALTERNATIONS,
    "width": ("run_wide", "run_anew", "run_few", "run_anew"),
}


@dataclass(eq=False)
class Compiled(Proofs):
    """A program made ready: its text, its module, and how it was rewritten."""

    rendered: Rendered
    program: Program
    options: Options
    sweeps: list[Sweep]
    fired: list[str]
    closed: frozenset[str] = frozenset()
    modules: dict[int, Any] = field(default_factory=dict)

    def splits_rows(self, side: str) -> str:
        """Return what makes several owners of a row meet by atomics, or nothing."""
        chosen = self.options.side(side)
        if chosen.format.splits and not chosen.joined:
            return f"the format {chosen.format.name!r} splits rows"
        rows = {"split": "rows", "mixed": "some rows"}.get(chosen.schedule.rows)
        return f"the schedule {chosen.schedule.name!r} splits {rows}" if rows else ""

    @functools.cached_property
    def takes_one_sweep(self) -> bool:
        """Whether a run is one sweep, which writes nowhere into the frontier that it takes."""
        return self.program.mode == "run" and len(self.sweeps) == 1

    @functools.cached_property
    def start_words(self) -> Any:
        """What the accumulators start from, three times."""
        words = np.zeros(self.rendered.accumulators, np.uint64)
        for position, (reduction, dtype) in enumerate(self.rendered.identities):
            value = np.array([identity_of(reduction, dtype)], dtype)
            if dtype.itemsize < 4:
                words[position : position + 1].view(np.int64)[0] = int(value[0])
            else:
                place = words[position : position + 1].view(np.uint8)
                place[: dtype.itemsize] = value.view(np.uint8)
        return np.tile(words, 3)

    def module(self, driver: Any) -> Any:
        """Return the compiled module for a driver."""
        key = id(driver)
        if key not in self.modules:
            rendered = self.rendered
            self.modules[key] = driver.compile(rendered.source, rendered.kernels, rendered.headers)
        return self.modules[key]


_compiled: Cache[Any, Compiled] = Cache("programs compiled for CUDA", 1024)


def prepare(request: Request) -> Preparation:
    """Return a request's program, ready to be compiled or found."""
    topology = request.topology
    options = choose_options(request, kept_old(request))
    arc_type = c_type(fitting_dtype(topology.num_arcs))
    renumbered = topology.numbering is not None
    shape = (topology.directed, topology.keep, renumbered, arc_type, options)

    def make(program: Program, off: frozenset[str]) -> Compiled:
        return _make(replace(request, program=program), options, arc_type, off)

    preparation = Preparation(request, _compiled, shape, make)
    if not may_start_anywhere(request, preparation.compiled()):
        preparation.without("write_once")
    return preparation


def compile_program(request: Request) -> Form:
    """Return the compiled form of a request's program and its constants."""
    preparation = prepare(request)
    return preparation.compiled(), preparation.constants


def _make(request: Request, options: Options, arc_type: str, off: frozenset[str]) -> Compiled:
    program, topology = request.program, request.topology
    fired = run_passes(program, off)
    if options.by_place:
        hoist_sources(program, reads_by_place)
        verify(program)
    closed = prove_vertices(program, closed="index_proofs" not in off)
    pushes = "push" in options.directions
    sorts = options.combine == "radix" and pushes
    planning = Planning(
        options.kept_old, options.deterministic, pushes=pushes, reuse=options.reuses,
        ordering=may_order(request, options.directions), radix=sorts, off=off,
    )  # fmt: skip
    planned, decided = plan_program(program, planning)
    sweeps, every = planned["steps"], [sweep for part in planned.values() for sweep in part]
    push_narrow(sweeps, program, options.directions)
    if request.options.config.combine is None and must_sort(every, options):
        options = replace(options, combine="by_target")
    if sorts:
        decided += plan_sorting(every, options.deterministic, layout_refused(options.push.format))
    else:
        decided += allow_sorted_pushes(every, options)
    if options.counts and options.combine == "atomic":
        decided += plan_counting(every, options.kept_old)
    if options.dedup != "exact" and not any(sweep.relaxes for sweep in sweeps):
        options = replace(options, dedup="exact")
        decided.append("exact_dedup")  # a vertex that is queued twice could be seen
    for sweep in every:
        check_directions(sweep, options.directions, request)
    ordered = (
        program.mode == "iterate"
        and sweeps[0].relaxes
        and sweeps[0].steps[0].priority is not None
        and may_order(request, options.directions, program.observed)
    )
    options = replace(options, ordered=ordered)
    classes = "degree_classes" not in off and takes_classes(program, sweeps, options)
    options = replace(options, classes=classes)
    if program.wide and request.options.config.fuse is None:
        options = replace(options, fuse="width")
    decided += ["degree_classes"] if options.classes else []
    horizon = options.horizon and may_have_horizon(options)
    options = replace(options, horizon=horizon and has_horizon(sweeps[0], request, off))
    decided += ["horizon"] if options.horizon else []
    keep_senders(sweeps, options)
    add_at_once(program, sweeps, options)
    renumbered = topology.numbering is not None
    traits = DeviceTraits(topology.directed, topology.keep, renumbered, arc_type)
    rendered = render(program, planned, traits, options, closed)
    made = [*fired, *decided, *(["ordering"] if ordered else [])]
    made += ["index_proofs"] if closed else []
    made += ["row_bits"] if options.row_bits and rendered.needs.marks else []
    made += ["best_neighbor"] if rendered.needs.guesses else []
    made += ["hub_places"] if rendered.needs.by_place else []
    made += ["hub_table"] if rendered.needs.hub_bytes else []
    made = list(dict.fromkeys(made))
    return Compiled(rendered, program, options, every, made, closed)


def run_request(request: Request, form: Form, driver: Any = None) -> Outcome:
    """Run a request to its end."""
    device = request.topology.device
    driver = driver or driver_of(device.kind, device.index)
    compiled, constants = form
    preparation: Preparation | None = None
    workspace, idle = workspaces.take(request.topology, driver)
    while True:
        run = _Run(request, compiled, constants, workspace)
        refuted = run.drive()
        if not refuted:
            break
        preparation = preparation or prepare(request)
        compiled = preparation.without(refuted)
    outcome = run.outcome()
    idle.append(workspace)
    return outcome


class _Plan:
    """What the runs of a compiled form have in common, as long as a workspace's buffers stay."""

    def __init__(self, request: Request, compiled: Compiled, workspace: Any) -> None:
        topology, driver = request.topology, workspace.driver
        rendered, options = compiled.rendered, compiled.options
        self.module = compiled.module(driver)
        self.launching: Launching = launching(request, rendered, options, driver, self.module)
        n = topology.num_vertices
        places = self.launching.knobs["class_4"] if options.classes else n
        kind = topology.index_dtype
        self.control: Control = workspace.control(
            len(request.data.scalars), rendered.accumulators, places, kind
        )
        self.queues = [self.control.queue, workspace.get(("queue", 1), places, kind)]
        words = n if options.map_kind == "bytemap" else (n + 7) // 8
        self.maps = [workspace.get(("map", k), (words + 3) // 4 + 1, np.uint32) for k in range(3)]
        # Where frontiers lie that a run leaves.
        self.queue_places = [Place(address(q), "queue", k) for k, q in enumerate(self.queues)]
        self.map_places = [
            Place(address(words), options.map_kind, k) for k, words in enumerate(self.maps)
        ]
        room = RECORDS * WORDS + 1 if request.options.recorded else WORDS
        self.ring = workspace.get("ring", room, np.int64)
        self.stop, self.stop_argument = workspace.shared("stop", 1, np.uint32)
        # Bindings to what differs from run to run.
        self.open = [b for b in rendered.bindings.values() if b[0] not in STEADY]
        self.packed: dict[Any, Any] = {}  # arguments, by what else they depend on
        self._together: dict[tuple[str, bool], tuple[Any, Geometry]] = {}

    def together(self, name: str, few: bool) -> tuple[Any, Geometry]:
        """Return a kernel whose blocks meet, and how it is launched; see `Launching.few`."""
        known = self._together.get((name, few))
        if known is None:
            how = self.launching
            grid, cluster = (how.few_cluster,) * 2 if few else how.grid_of(name)
            meets = grid > cluster  # the blocks of a cluster run at once anyway
            geometry = Geometry(grid, how.block, how.shared_bytes, cluster, meets)
            known = self._together[name, few] = self.module.kernel(name), geometry
        return known


class _Run:
    """One run of a program."""

    def __init__(
        self,
        request: Request,
        compiled: Compiled,
        constants: list[Any],
        workspace: Any,
    ) -> None:
        self.request, self.compiled, self.workspace = request, compiled, workspace
        self.driver = workspace.driver
        self.xp = self.driver.xp
        self.n = request.topology.num_vertices
        self.plan: _Plan = workspace.remembered(
            (id(compiled), id(request.options)), _Plan, request, compiled, workspace
        )
        self.launching, self.control = self.plan.launching, self.plan.control
        self.queues = self.plan.queues
        self.binder = Binder(
            request, compiled.rendered, compiled.options, workspace, constants, self.launching.knobs
        )
        self.saved = self.control.saved
        self.stop = self.plan.stop
        self.limit: TimeLimit | None = request.limit
        self.launches = 0
        self.few = False  # whether one cluster is enough
        self.counted = {} if request.report is None else dict(self.driver.counted)

    def drive(self) -> str:
        """Launch until the loop has ended; return the name of a proof that did not hold."""
        self.stop[0] = 0
        self._start()
        arguments, given = self._arguments()
        while True:
            if self.limit is None:
                self._launch(arguments, given)
            else:
                with self.limit.running():
                    self._launch(arguments, given)
            status = self.control.seen[STATUS]
            if status == TRAIL_FULL:
                arguments, given = self._grow_trail()
            elif status != RUNNING:
                break
        self.workspace.epoch = self.saved("epoch")
        self.binder.put_back(self.control.seen[SWAPPED])
        return self._check_fault() if self.control.is_faulty() else ""

    def outcome(self) -> Outcome:
        """Write back results that are stored elsewhere, and return how the run ended."""
        if self.binder.pairs:
            self.binder.unpack()
        if self.request.data.scalars:
            self._read_scalars()
        if self.request.report is not None:
            self._tell_profile(self.request.report)
        return self._outcome(self.control.seen[STATUS])

    # -- starting

    def _start(self) -> None:
        """Write the loop, the scalars and the first frontier."""
        request, workspace, control = self.request, self.workspace, self.control
        if workspace.epoch > 2**31:
            workspace.renew_stamps()
        control.begin(self.compiled.start_words)
        first, members = self._first()
        most = self.launching.few
        self.few = most > 0 and "queued" in first and first["size"] <= most
        control.write(epoch=workspace.epoch, share=self.launching.share, **first)
        delta = request.options.config.delta or request.start.window
        if delta:
            control.write(delta=float(delta))
        for position, held in enumerate(request.data.scalars.values()):
            control.stage_scalar(position, held)
        control.upload(members)

    def _first(self) -> tuple[dict[str, int], Any]:
        """Return what the loop holds of the first frontier, and its members where they are new.

        A run writes to all memory but that of the frontier that its only sweep takes.
        """
        start, arcs = self.request.start, self.request.topology.num_arcs
        frontier = start.frontier
        resumed = self._resumed(frontier) if isinstance(frontier, Left) else None
        self.workspace.lying.clear(frontier if resumed and self.compiled.takes_one_sweep else None)
        if resumed:
            return resumed, None
        if start.arcs:
            count = arcs if frontier is None else len(frontier)
            return {"size": count, "edges": count, "dense": 2}, None
        if frontier is None:
            return {"size": self.n, "edges": arcs, "dense": 1, "explored": arcs}, None
        if isinstance(frontier, Deferred):
            frontier = frontier.members() if isinstance(frontier, Left) else frontier.get()
        return {"size": len(frontier), "queued": 1}, frontier

    def _resumed(self, left: Left) -> dict[str, int] | None:
        """Return how the loop goes on from where a run has left a frontier; None if it cannot."""
        place = left.place
        if place is None or left.size is None:
            return None
        if place == self.plan.queue_places[place.number % 2]:
            return {"size": left.size, "queued": 1, "queue": place.number}
        if self.compiled.rendered.needs.takes_maps and place in self.plan.map_places:
            return {"size": left.size, "mapped": 1, "map": place.number}
        return None

    def _arguments(self) -> tuple[Any, list[Any]]:
        """Return the arguments of the kernels: packed those that are the same run after run."""
        limit = 2**62 if self.request.max_iter is None else self.request.max_iter
        if self.request.program.mode == "replay":
            assert self.request.start.trail is not None
            limit = len(self.request.start.trail)
        ring_size = RECORDS if self.request.options.recorded else 0
        given = [
            flat(self.request.data.fields[b[1]]) if b[0] == "field" else self.binder.bind(*b)
            for b in self.plan.open
        ]
        key = (limit, ring_size, self.binder.trail_room, self.binder.trail_steps)
        packed = self.plan.packed.get(key)
        if packed is None:
            if len(self.plan.packed) >= MOST_PACKED:
                self.plan.packed.clear()
            packed = self.plan.packed[key] = self._packed(limit, ring_size)
        return packed, given

    def _packed(self, limit: int, ring_size: int) -> Any:
        """Return the arguments, made ready; those that runs bring are left open."""
        workspace, how, maps = self.workspace, self.launching, self.plan.maps
        n, rendered = self.n, self.compiled.rendered
        most = how.most_blocks
        parts = self.control.parts
        given = {
            "n": n, "arcs": self.request.topology.num_arcs, "limit": limit, **parts,
            "report": self.control.report_argument, "stop": self.plan.stop_argument,
            "ring": self.plan.ring, "ring_size": ring_size,
            "queue_0": self.queues[0], "queue_1": self.queues[1],
            "stamps": workspace.get("stamps", n, np.uint32),
            "map_0": maps[0], "map_1": maps[1], "map_2": maps[2],
            "counts": workspace.get("counts", most, np.uint64),
            "partials": workspace.get("partials", 3 * rendered.accumulators * most, np.uint64),
            "most_blocks": most, **how.knobs,
            "trail_room": self.binder.trail_room, "trail_steps": self.binder.trail_steps,
        }  # fmt: skip
        fixed = [_typed(given[name], kind) for name, kind in rendered.fixed.items()]
        return self.driver.pack([*fixed, *self.binder.steady()])

    # -- running

    def _launch(self, arguments: Any, given: list[Any]) -> None:
        fuse = self.launching.fuse
        if fuse == "all":
            self.control.ended[0] = 0
            self._start_all("run_all", arguments, given)
            if self.request.follow is not None:
                self.request.follow()
            self._wait(self.control.ended)
        elif fuse in IN_TURN:
            while True:
                for name in IN_TURN[fuse]:
                    self._start_all(name, arguments, given)
                self._wait()
                if self.saved("status") != RUNNING:
                    break
        else:
            self._start_one("run_turn", arguments, given, 1)
            self._wait()
            while self.saved("status") == RUNNING:
                self._start_one("run_one", arguments, given, self.launching.grid)
                self._start_one("run_turn", arguments, given, 1)
                self._wait()

    def _start_all(self, name: str, arguments: Any, given: list[Any]) -> None:
        """Start a kernel whose blocks meet."""
        kernel, geometry = self.plan.together(name, self.few)
        self.launches += 1
        self.driver.launch(kernel, geometry, arguments, given)

    def _start_one(self, name: str, arguments: Any, given: list[Any], grid: int) -> None:
        """Start a kernel that ends where its blocks would meet."""
        geometry = Geometry(grid, self.launching.block, self.launching.shared_bytes)
        self.launches += 1
        self.driver.launch(self.plan.module.kernel(name), geometry, arguments, given)

    def _wait(self, ended: Any = None) -> None:
        self.driver.wait(self.stop, self.limit, ended)
        self.control.look()

    def _check_fault(self) -> str:
        """Raise what a kernel reported; return the proof that did not hold, if that is all."""
        cause, function, vertex, index, count = self.control.fault()
        if cause in PROOFS:
            return PROOFS[cause]
        if vertex >= 0:
            (vertex,) = self.request.topology.user_vertices([vertex])
        program = self.request.program
        raise fault_error(program, function, FAULTS[cause], vertex, index, count)

    def _grow_trail(self) -> tuple[Any, list[Any]]:
        binder = self.binder
        held = binder._trail()[: self.saved("trail_size")].copy()
        ends = binder._trail_ends()[: self.saved("step") + 1].copy()
        if held.size + self.saved("size") > binder.trail_room:
            binder.trail_room = 2 * binder.trail_room + self.n
        if ends.size >= binder.trail_steps:
            binder.trail_steps *= 4
        binder._trail()[: held.size] = held
        binder._trail_ends()[: ends.size] = ends
        loop = self.control.parts["loop"].view(np.int64)
        loop[AT["status"]] = RUNNING
        loop[AT["phase"]] = -1
        binder.unpack()
        binder.pairs.clear()
        return self._arguments()

    # -- ending

    def _read_scalars(self) -> None:
        for position, array in enumerate(self.request.data.scalars.values()):
            place = self.control.scalar_bytes(position)[: array.dtype.itemsize]
            array[...] = place.view(array.dtype)

    def _tell_profile(self, report: Any) -> None:
        count = self.saved("records")
        ring = to_host(self.plan.ring)
        dropped = max(0, count - RECORDS)
        records = ring[: RECORDS * WORDS].reshape(-1, WORDS)[np.arange(dropped, count) % RECORDS]
        began = ring[RECORDS * WORDS]
        if dropped:  # when the oldest began is not known, but when the next one did is
            began, records, dropped = records[0, 5], records[1:], dropped + 1
        ends = records[:, 5]
        spans = np.maximum(np.diff(ends, prepend=[began] * min(1, len(ends))), 0)
        columns = {
            "step": records[:, 0], "phase": records[:, 1], "direction": records[:, 2],
            "frontier": records[:, 3], "edges": records[:, 4], "ns": spans,
            "rebuilt": records[:, 6],
        }  # fmt: skip
        from weft.backends.cuda.host.describe import run_facts

        how, made = self.launching, self.compiled
        facts = run_facts(
            self.driver.limits, self.plan.module, how, made.options, made.sweeps, self.launches
        )
        before, now = self.counted, self.driver.counted
        counted = {name: count - before.get(name, 0) for name, count in now.items()}
        facts |= counted
        if counted:
            taken = WARP * max(1, counted["warp_iterations"])
            facts["lane_utilisation"] = round(counted["arcs"] / taken, 3)
        request = self.request  # nothing is given back during a run
        facts["peak_bytes"] = (
            request.topology.memory_bytes + request.data.nbytes + self.workspace.nbytes
        )
        report(columns, facts, dropped)

    def _outcome(self, status: int) -> Outcome:
        seen = self.control.seen
        steps, size = seen[STEP], seen[SIZE]
        frontier: Any = None
        if seen[DENSE] == 2:  # arcs that no superstep has taken
            frontier = self.request.start.frontier
        elif not seen[DENSE] or size == 0:
            frontier = left_by(self, size)
        trail = self.binder.trail_of(steps) if self.request.program.trail else ()
        # What was written back from elsewhere came after what followed the kernel.
        followed = self.launching.fuse == "all" and not (seen[SWAPPED] or self.binder.pairs)
        converged = has_converged(self.request, steps, empty=status == EMPTY, held=status == UNTIL)
        window = 0.0
        if self.compiled.options.ordered:
            window = float(np.int64(self.saved("delta")).view(np.float64))
        return Outcome(steps, converged, frontier, trail, followed, window)


def _typed(value: Any, kind: str) -> Any:
    """Return a fixed argument as its C++ type."""
    if kind.endswith("*"):
        return value
    return {"i64": np.int64, "u32": np.uint32}[kind](value)
