"""A program as CUDA C++: renders the phases of its loop, and what a launch must know."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from weft.backends.cuda.codegen.buffer_swap import turned_arrays, turned_bindings
from weft.backends.cuda.codegen.buffers import type_of_argument
from weft.backends.cuda.codegen.directions import directions_of, may_count_later, steers
from weft.backends.cuda.codegen.edges import render_edge_sweep
from weft.backends.cuda.codegen.frontier_forms import render_conversions
from weft.backends.cuda.codegen.lanes import widest_items
from weft.backends.cuda.codegen.machine import DeviceTraits, Kernel, Options
from weft.backends.cuda.codegen.ordered import render_ordered
from weft.backends.cuda.codegen.pairs import find_pairs
from weft.backends.cuda.codegen.program_text import FIXED, KERNELS, source_text
from weft.backends.cuda.codegen.start_phase import render_beginning
from weft.backends.cuda.codegen.vertices import (
    fill_hoisted,
    keep_live_old,
    render_vertex_sweep,
    take_snapshots,
)
from weft.backends.cuda.host.headers import headers_of
from weft.ir.check.facts import arcs_of_common
from weft.ir.ops import REFRESH, ROLES, Program, Reduction
from weft.plan.directions import wide_test
from weft.plan.queries import buffered_edges, counted_way, may_carry, may_turn, side_of
from weft.plan.sweeps import Sweep


@dataclass(frozen=True)
class Needs:
    """What decides about a launch."""

    # Of each visitor: width of its groups, most bytes of a partial result and of a row, in a lane.
    held: frozenset[tuple[int, int, int]] = frozenset()
    fuse: str = "all"
    marks: bool = False  # blocks keep rows in markers
    narrows: bool = True  # frontiers may become small, for one cluster to work on
    deep: bool = False  # and mostly are
    widest: int = 1  # most lanes that share features
    gathers_features: bool = False  # a vertex function gathers vectors, by a schedule
    guesses: bool = False  # pulls look at the neighbor of highest degree first
    table_bytes: int = 0  # most of a partial result of entries; 0: no team gathers by key
    takes_maps: bool = False  # a run can start from a frontier in a map
    by_place: bool = False  # gathers read what was hoisted by place
    hub_bytes: int = 0  # of a vertex in the tables of each block; 0: none has one


@dataclass
class Rendered:
    """The text of a program and what its kernels must be called with."""

    source: str
    bindings: dict[str, tuple[Any, ...]]
    types: dict[str, str]  # of the parameters after the fixed ones
    headers: dict[str, str]
    phases: list[tuple[str, str]]  # name and turn
    functions: list[str]
    accumulators: int
    identities: list[tuple[Reduction, Any]] = field(default_factory=list)
    fixed: dict[str, str] = field(default_factory=dict)
    turned: frozenset[tuple[str, str]] = frozenset()  # buffers that change places with arrays
    states_by_in: bool = False  # edge state lies by in-slots
    needs: Needs = Needs()

    @property
    def kernels(self) -> tuple[str, ...]:
        """Return the names of the kernels."""
        return KERNELS[self.needs.fuse]


def render(
    program: Program, planned: dict[str, list[Sweep]], traits: DeviceTraits, options: Options,
    closed: frozenset[str] = frozenset(),
) -> Rendered:  # fmt: skip
    """Render the kernels of a program, given its sweeps by role."""
    sweeps, every = planned["steps"], [sweep for part in planned.values() for sweep in part]
    kernel = Kernel(program, traits, options, sweeps[0])
    find_pairs(kernel, sweeps)
    edge_sweeps = [s for s in every if s.kind == "edge"]
    kernel.buffered_edges = set().union(*(buffered_edges(sweep) for sweep in edge_sweeps))
    has_arcs = program.mode == "iterate" and bool(edge_sweeps) and traits.keep != "in"
    _count_edges(kernel, sweeps, edge_sweeps)
    searches = any(sweep.mode == "once" for sweep in edge_sweeps)
    kernel.deep = options.deep and has_arcs and searches and not options.ordered
    others = any(planned[role] for role in ROLES if role != "steps")
    kernel.counts_later = may_count_later(kernel, sweeps, not others)
    if kernel.counts_later:
        kernel.extra_fixed["most_degree"] = "i64"
    if options.classes:
        kernel.extra_fixed = dict.fromkeys(("class_1", "class_2", "class_3", "class_4"), "i64")
    kernel.states_by_in = _sorts_states(kernel, every)
    kernel.added = frozenset(name for s in sweeps if s.adds for name in s.last.into)
    if options.ordered:
        render_ordered(kernel, sweeps[0])
    elif program.mode == "replay":
        _replay(kernel, sweeps)
    else:
        _loop(kernel, planned)
    kernel.counted = counted_way(sweeps[0])
    kernel.takes_maps = program.mode == "run" and len(sweeps) == 1 and not options.arcs
    render_beginning(kernel, sweeps, closed)
    render_conversions(kernel)
    if kernel.hub_bytes:
        kernel.extra_fixed |= {"hubs_at": "u32", "hubs": "u32"}
    bindings = kernel.args.bindings
    types = {name: type_of_argument(kernel, binding) for name, binding in bindings.items()}
    source = source_text(kernel, types, sweeps)
    return Rendered(
        source,
        dict(bindings),
        types,
        headers_of(options),
        [(phase.name, phase.turn) for phase in kernel.phases],
        [step.name for step in program.all_steps()],
        max(1, len(kernel.slots)),
        [(reduction, dtype) for _, reduction, dtype in kernel.slots.values()],
        {**FIXED, **kernel.extra_fixed},
        frozenset(second for _, second in turned_bindings(kernel)),
        kernel.states_by_in,
        _needs(kernel, sweeps, every),
    )


def _needs(kernel: Kernel, sweeps: list[Sweep], every: list[Sweep]) -> Needs:
    """Return what decides about the launch of a rendered kernel."""
    program, options = kernel.program, kernel.options
    scheduled = any(phase.name.startswith("gather_") for phase in kernel.phases)
    return Needs(
        frozenset(kernel.held),
        options.fuse,
        kernel.marks,
        _narrows(program, sweeps),
        kernel.deep or (program.mode == "replay" and options.deep),
        kernel.widest,
        scheduled and widest_items(kernel, every) > 1,
        kernel.guesses,
        kernel.table_bytes,
        kernel.takes_maps,
        bool(kernel.hub_ways),
        kernel.hub_bytes,
    )


def _count_edges(kernel: Kernel, sweeps: list[Sweep], edge_sweeps: list[Sweep]) -> None:
    """Decide of which frontiers the edges are counted: where the number decides something."""
    if kernel.program.mode == "replay" or kernel.traits.keep == "in":
        kernel.counts_edges = kernel.counts_first = False
    elif kernel.program.mode == "run":  # the edges of what it puts out, another run counts
        later = [sweep for sweep in sweeps[1:] if sweep.kind == "edge"]
        kernel.counts_edges = steers(kernel, later)
        first = [sweep for sweep in sweeps[:1] if sweep.kind == "edge"]
        kernel.counts_first = kernel.counts_edges or steers(kernel, first)
    else:
        counted = kernel.options.counted or steers(kernel, edge_sweeps)
        kernel.counts_edges = kernel.counts_first = bool(edge_sweeps) and counted


def _narrows(program: Program, sweeps: list[Sweep]) -> bool:
    """Whether a frontier can become small: not of one superstep, nor where all vertices wake."""
    last = sweeps[-1]
    wakes_all = last.kind == "vertex" and last.last.wake == "all"
    return program.mode != "run" and not (program.mode == "iterate" and wakes_all)


# -- the loop


def superstep(kernel: Kernel, sweeps: list[Sweep], first: int, final: str, then: str) -> str:
    """Render the sweeps of one superstep, the last first; return how it is entered."""
    for position in reversed(range(len(sweeps))):
        sweep, k = sweeps[position], first + position
        last = position == len(sweeps) - 1
        following = kernel.entry if last else sweeps[position + 1]
        kernel.counted = counted_way(following)
        kernel.discards = not last and following.steps[0].everywhere
        kernel.counts = last and final == "wake" and kernel.options.counts_output
        kernel.discards |= last and final == "run" and kernel.program.mode == "replay"
        code = _direction_code(kernel, sweep)
        then = kernel.decide(f"close_{k}", [f"record(t, {k}, {code});", then])
        then = keep_live_old(kernel, sweep, k, then)
        if sweep.last.shrinks and kernel.shrinks:
            then = f"keep_remaining(t); {then}"
        if sweep.kind == "edge":
            enter = render_edge_sweep(kernel, sweep, k, then)
        else:
            wake = "queue"
            if final == "wake" and last and sweep.last.wake != "changed":
                wake = sweep.last.wake
            wake = "all" if kernel.counts else wake
            enter = render_vertex_sweep(kernel, sweep, k, wake, then)
        kernel.discards = kernel.counts = False
        then = take_snapshots(kernel, sweeps[position:], k, enter)
    return then


def _direction_code(kernel: Kernel, sweep: Sweep) -> str:
    if sweep.kind == "vertex":
        return "2"
    return "t.loop.pulling" if directions_of(kernel, sweep) else "0"


def _loop(kernel: Kernel, planned: dict[str, list[Sweep]]) -> None:
    """Render the loop of `iterate`, or the single superstep of `run`."""
    sweeps, refill, wide = (planned[role] for role in ("steps", "refill", "wide"))
    program = kernel.program
    if program.mode == "run":
        done = ["t.loop.step += 1;", "t.loop.status = EMPTY;"]
        then = kernel.decide("end_step", done)
        kernel.first = superstep(kernel, sweeps, 0, "run", then)
        return
    kernel.carries_hoisted = may_carry(kernel.program, sweeps)
    kernel.turning = may_turn(kernel.program, wide or sweeps, kernel.options.kept_old)
    enter = superstep(kernel, sweeps, 0, "wake", "end_step(t);")
    turned_arrays(kernel)  # asks for them
    if program.trail:
        enter = _trail_phase(kernel, enter)
    lines = []
    again = ""
    tests: list[str] = []
    everyone = "take_everything(t);"
    if refill:
        kernel.carries_hoisted = False
        kernel.shrinks = _shrinks(kernel, refill)
        if kernel.shrinks:
            everyone = "take_remaining(t);"
            for which in (0, 1):
                kernel.args.use("remaining", which)
        again = superstep(kernel, refill, len(sweeps), "run", "after_refill(t);")
    if wide:
        again, tests = _wide_tests(kernel, planned)
    if again:
        kernel.decide("after_refill", [
            "if (t.loop.size == 0) { t.loop.status = EMPTY; return; }",
            "t.loop.refilling = 0;",
            "begin_step(t);",
        ])  # fmt: skip
        lines += [
            "if (t.loop.size == 0) {",
            "    if (t.loop.refilling != 0) { t.loop.status = EMPTY; return; }",
            f"    t.loop.refilling = 1; {everyone} {again}",
            "    return;",
            "}",
        ]
    elif program.persists:  # a step that woke no vertex may have left `dense` behind
        lines.append("if (t.loop.size == 0) take_nobody(t.loop);")
    else:
        lines.append("if (t.loop.size == 0) { t.loop.status = EMPTY; return; }")
    lines.append("if (t.loop.step >= t.a.limit) { t.loop.status = LIMIT; return; }")
    lines += [*tests, enter]
    kernel.defer("begin_step", lines)
    least = "loop.size == 0 ? infinity<double>() : -infinity<double>()"
    goes_on = ["choose_width(t);", "begin_step(t);"]
    ends = ["t.loop.step += 1;", *kernel.until_lines("t.loop.status = UNTIL;", goes_on, least)]
    kernel.defer("end_step", ends)
    kernel.first = "begin_step(t);"
    kernel.carries_hoisted = may_carry(kernel.program, sweeps)
    if kernel.carries_hoisted:
        kernel.first = fill_hoisted(kernel, sweeps[0], 0, "begin_step(t);")


def _shrinks(kernel: Kernel, refill: list[Sweep]) -> bool:
    """Whether a refill runs over what its first step left: in queues that no other sweep fills."""
    plain = len(refill) > 1 and all(sweep.kind == "vertex" for sweep in refill)
    return plain and refill[0].last.shrinks and kernel.options.combine != "radix"


def _wide_tests(kernel: Kernel, planned: dict[str, list[Sweep]]) -> tuple[str, list[str]]:
    """Render what takes the place of the steps; return how it renews, and when which comes.

    Steps for wide frontiers leave one of all vertices, after which the others start by renewing.
    """
    sweeps, wide, renew = (planned[role] for role in ("steps", "wide", "renew"))
    kernel.carries_hoisted = False
    number = len(sweeps)
    begin = len(kernel.phases)
    whole = superstep(kernel, wide, number, "wake", "end_step(t);")
    end = len(kernel.phases)
    after = ["if (t.loop.refilling != 0) { after_refill(t); return; }", "end_step(t);"]
    if kernel.program.rests_renewed:  # as after a refill that finds no vertex
        after.insert(1, "t.loop.refilling = t.loop.size == 0;")
    after_renewal = kernel.decide("after_renewal", after)
    anew = superstep(kernel, renew, number + len(wide), "wake", after_renewal)
    if kernel.options.fuse == "width":
        for phase in kernel.phases:
            n = phase.number
            phase.turn = "few" if n < begin else "wide" if n < end else "anew"
    pushes = "push" in directions_of(kernel, sweeps[0])
    pulls = "pull" in kernel.options.directions
    return anew, [
        f"if ({wide_test(pushes, pulls, 't.loop.edges', 't.a.arcs')}) {{ {whole} return; }}",
        f"if (t.loop.dense != 0 || t.loop.step % {REFRESH} == 0) {{ {anew} return; }}",
    ]


def _trail_phase(kernel: Kernel, then: str) -> str:
    """Append the frontier to the trail; pause where it does not fit."""
    trail, ends = kernel.args.use("trail"), kernel.args.use("trail_ends")
    body = [
        f"for_all(place, loop.size, [&](i64 i) {{ {trail}[loop.trail_size + i] = "
        "static_cast<Vertex>(entered_vertex(a, loop, i)); });",
    ]
    after = [
        "t.loop.trail_size += t.loop.size;",
        f"if (t.leader) t.{ends}[t.loop.step + 1] = t.loop.trail_size;",
        then,
    ]
    start = kernel.phase("trail", body, after)
    ready = kernel.ready(start, queue=True)
    full = "t.loop.trail_size + t.loop.size > t.a.trail_room"
    full += " || t.loop.step + 1 >= t.a.trail_steps"
    kernel.extra_fixed |= {"trail_room": "i64", "trail_steps": "i64"}
    return kernel.decide(
        "keep_trail", [f"if ({full}) {{ t.loop.status = TRAIL_FULL; return; }}", ready]
    )


def _replay(kernel: Kernel, sweeps: list[Sweep]) -> None:
    """Render the loop over the frontiers of a trail, in the order in which they are given.

    A single sweep takes them where they lie, and puts out nothing. A frontier whose arcs are few
    whatever its vertices are is worked on by one cluster.
    """
    use = kernel.args.use
    trail, begins, ends = use("trail"), use("trail_begins"), use("trail_ends")
    kernel.in_trail = len(sweeps) == 1
    enter = superstep(kernel, sweeps, 0, "run", "end_step(t);")
    if kernel.in_trail:
        enter = f"t.loop.queue = begin; {enter}"
    else:
        body = [
            f"const i64 begin = {begins}[loop.step];",
            "for_all(place, loop.size, [&](i64 i) {",
            f"    queue_of(a, loop.queue)[i] = {trail}[begin + i];",
            "});",
        ]
        enter = kernel.phase("replay", body, [enter])
    kernel.extra_fixed["most_degree"] = "i64"
    kernel.defer("end_step", ["t.loop.step += 1;", "begin_step(t);"])
    kernel.defer(
        "begin_step",
        [
            "if (t.loop.step >= t.a.limit) {",
            "    take_nobody(t.loop);",
            "    t.loop.queue = 0;",
            "    t.loop.status = EMPTY;",
            "    return;",
            "}",
            f"const i64 begin = t.{begins}[t.loop.step];",
            f"t.loop.size = t.{ends}[t.loop.step] - begin;",
            "t.loop.dense = t.loop.mapped = 0;",
            "t.loop.queued = 1;",
            "t.loop.edges = t.loop.size * t.a.most_degree;",
            "choose_width(t);",
            "t.loop.edges = 0;",
            enter,
        ],
    )
    kernel.first = "begin_step(t);"


# -- the text


def _sorts_states(kernel: Kernel, sweeps: list[Sweep]) -> bool:
    """Whether edge state is to lie by in-slots: all sweeps that write or read it pull.

    By arcs, the states of a pulled row would be all over memory. Only undirected graphs: there the
    arc of a slot is the slot of the opposite arc.
    """
    if kernel.program.mode != "iterate" or kernel.traits.directed or kernel.options.arcs:
        return False
    if any(value.op == "common" and arcs_of_common(value)
           for sweep in sweeps for step in sweep.steps for value in step.body.walk()):  # fmt: skip
        return False
    touching = [sweep for sweep in sweeps if sweep.facts.edge_written | sweep.facts.edge_read]
    for sweep in touching:
        if sweep.kind != "edge" or sweep.turned or directions_of(kernel, sweep) != ["pull"]:
            return False
        if kernel.options.side(side_of(sweep, "pull")).format.own_order:
            return False
    return any(sweep.facts.edge_written for sweep in touching)
