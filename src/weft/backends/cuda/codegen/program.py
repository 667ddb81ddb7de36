"""A program as CUDA C++: arguments, visitors, phases, decisions, kernels."""

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
from weft.backends.cuda.codegen.start_phase import render_beginning
from weft.backends.cuda.codegen.text import c_type, identifier
from weft.backends.cuda.codegen.vertices import (
    fill_hoisted,
    hoisted_arrays,
    keep_live_old,
    render_vertex_sweep,
    take_snapshots,
)
from weft.backends.cuda.host.headers import FRONTIERS, RUNTIME, headers_of
from weft.ir.check.facts import arcs_of_common
from weft.ir.ops import REFRESH, ROLES, Program, Reduction
from weft.plan.directions import wide_test
from weft.plan.queries import buffered_edges, counted_way, may_carry, may_turn, side_of
from weft.plan.sweeps import Sweep

# The kernels of a program, by the way in which its phases are fused.
KERNELS = {
    "all": ("run_all",), "direction": ("run_push", "run_pull"), "none": ("run_one", "run_turn"),
    "width": ("run_wide", "run_anew", "run_few"),
}  # fmt: skip
# The phases of which a kernel holds, beside those of all: others are not compiled into it.
TURN_OF = {
    "run_push": "push", "run_pull": "pull", "run_wide": "wide", "run_anew": "anew",
    "run_few": "few",
}  # fmt: skip
DEFERRED = ("end_step", "begin_step")  # decisions that come after others, in their order

REGISTERS = 1 << 16  # of a multiprocessor
BASE_REGISTERS = 32  # that a phase takes beside the features that it holds

# Parameters that every kernel has, with their types.
FIXED = {
    "n": "i64", "arcs": "i64", "limit": "i64",
    "loop": "Loop*", "report": "Loop*", "scalars": "u64*", "counters": "u64*", "barrier": "u32*",
    "fault": "Fault*", "stop": "const u32*", "ring": "i64*", "ring_size": "i64",
    "queue_0": "Vertex*", "queue_1": "Vertex*", "stamps": "u32*",
    "map_0": "u32*", "map_1": "u32*", "map_2": "u32*", "counts": "u64*",
    "accumulators": "u64*", "partials": "u64*", "most_blocks": "i64",
    "row_lanes": "u32", "items": "u32", "entries": "u32", "warp_degree": "u32",
    "block_degree": "u32", "grid_degree": "u32", "bin_size": "u32", "output_at": "u32",
    "touched_at": "u32",
    "marker_at": "u32", "marker_bits": "u32",
    "narrow_size": "i64", "narrow_edges": "i64", "few": "i64", "many": "i64",
}  # fmt: skip


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
    kernel.counts_edges = has_arcs and (options.counted or steers(kernel, edge_sweeps))
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
    render_beginning(kernel, sweeps, closed)
    render_conversions(kernel)
    bindings = kernel.args.bindings
    types = {name: type_of_argument(kernel, binding) for name, binding in bindings.items()}
    source = _source(kernel, types, sweeps)
    scheduled = any(phase.name.startswith("gather_") for phase in kernel.phases)
    needs = Needs(
        frozenset(kernel.held),
        options.fuse,
        kernel.marks,
        _narrows(program, sweeps),
        kernel.deep or (program.mode == "replay" and options.deep),
        kernel.widest,
        scheduled and widest_items(kernel, every) > 1,
        kernel.guesses,
        kernel.table_bytes,
    )
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
        needs,
    )


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
    if refill:
        kernel.carries_hoisted = False
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
            f"    t.loop.refilling = 1; take_everything(t); {again}",
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


def _wide_tests(kernel: Kernel, planned: dict[str, list[Sweep]]) -> tuple[str, list[str]]:
    """Render what takes the place of the steps; return how it renews, and when which comes.

    Steps for wide frontiers leave one of all: it tells that the others begin by renewing.
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


def _source(kernel: Kernel, types: dict[str, str], sweeps: list[Sweep]) -> str:
    program = kernel.program
    fixed = {**FIXED, **kernel.extra_fixed}
    parameters = {**fixed, **types}
    scalars = "".join(
        f"    alignas(8) {c_type(dtype)} {identifier(name)};\n"
        for name, dtype in program.signature.scalars
    )
    args = "".join(f"    {kind} {name};\n" for name, kind in parameters.items())
    turned = hoisted_arrays(kernel, sweeps[0]) if kernel.carries_hoisted else []
    turned += turned_arrays(kernel)
    swaps = [
        f"exchange(turned.{now.removeprefix('a.')}, turned.{nxt.removeprefix('a.')});"
        for now, nxt in turned
    ]
    replayed = f"    static constexpr bool in_trail = {str(kernel.in_trail).lower()};\n"
    if kernel.in_trail:
        trail = kernel.args.use("trail").removeprefix("a.")
        replayed += f"    WEFT_DEVICE Vertex* replayed() const {{ return {trail}; }}\n"
    index = c_type(program.signature.index_dtype)
    degree = "OutDegree" if kernel.counts_edges and kernel.traits.keep != "in" else "NoDegree"
    return f"""{_included(kernel)}

using namespace weft;

using Vertex = {index};
using Arc = {kernel.traits.arc_type};
using Degree = {degree};
using Touched = Far<Vertex, true>;

struct Scalars {{
{scalars}    i64 none;
}};

struct Args {{
{args}{replayed}}};

constexpr i64 num_accumulators = {max(1, len(kernel.slots))};

{"".join(kernel.pieces)}
{_program_struct(kernel, swaps)}
{_entries(kernel, parameters, _bounds(kernel, sweeps))}
"""


def _cases(kernel: Kernel) -> tuple[str, str]:
    """Return the cases of all phases: their call, and what is decided after them."""
    runs = "\n".join(
        f"            case {p.number}: if constexpr ((phases >> {min(p.number, 63)} & 1) != 0) "
        f"phase_{p.name}(given, loop, scalars, place, cells); break;"
        for p in kernel.phases
    )
    afters = "".join(
        f"            case {p.number}: {{  // {p.name}\n"
        + "".join(f"                {line}\n" for line in p.after)
        + "                break;\n            }\n"
        for p in kernel.phases
    )
    return runs, afters


def _program_struct(kernel: Kernel, swaps: list[str]) -> str:
    """Return the class that the loop is an instance of: its phases and what decides after them."""
    phases = "\n".join(_phase_text(kernel, phase, swaps) for phase in kernel.phases)
    runs, afters = _cases(kernel)
    coming = "".join(
        f"        if (t.coming == Coming::{name}) make_{name}(t);\n"
        for name in DEFERRED
        if name in kernel.deferred
    )
    cleared = kernel.clear_scalars()
    if "spread" in kernel.args.bindings:
        cleared.append("double* const spread = a.spread + (loop.tick + 1) % 3 * 3;")
        cleared.append("spread[0] = infinity<double>();")
        cleared.append("spread[1] = spread[2] = 0;")
    clears = "".join(f"        {line}\n" for line in cleared)
    return f"""struct Program {{
    using Args = ::Args;
    using Scalars = ::Scalars;
    using Turn = weft::Turn<Args, Scalars>;

{phases}
    template <u64 phases>
    static WEFT_DEVICE void run(const Args& given, const Loop& loop, const Scalars& scalars,
                                const Place& place, u64* cells) {{
        switch (loop.phase) {{
{runs}
            default: break;
        }}
    }}

    // Set what a coming phase accumulates in to the identities; by the threads of one block.
    static WEFT_DEVICE void clear(const Args& a, const Loop& loop) {{
        if (thread_id() != 0) return;
        static_cast<void>(a);
        static_cast<void>(loop);
{clears}    }}

{chr(10).join(kernel.decisions)}

    static WEFT_DEVICE void start(Turn& t) {{
        begin_records(t);
        {kernel.first}
    }}

    static WEFT_DEVICE void advance(const Args& given, Loop& loop, Scalars& held, const u64* cells,
                                    u32 blocks, bool leader) {{
        Turn t{{given, loop, held, cells, blocks, leader}};
        if (stop_asked(t)) return;
        switch (loop.phase) {{
            case -1: start(t); break;
{afters}            default: break;
        }}
{coming}        if (t.ready) ready(t);
    }}
}};
"""


def _included(kernel: Kernel) -> str:
    """Return the headers that a program includes, and what it defines for them."""
    options = kernel.options
    files = [f"{name}.cuh" for name in (*RUNTIME[:-2], *FRONTIERS, *RUNTIME[-2:])]
    for side in options.sides:
        files += [*side.format.headers, *side.schedule.headers]
    if options.combine == "radix":
        files.append("radix.cuh")
    included = "\n".join(f'#include "{name}"' for name in dict.fromkeys(["device.cuh", *files]))
    if options.feature_lanes == 1:
        included = f"#define WEFT_FEATURE_BLIND\n{included}"
    if kernel.deep:  # what lies near by number is soon visited
        included = f"#define WEFT_FETCH_AROUND\n{included}"
    if options.vast and not options.deep:
        included = f"#define WEFT_LOOK_FIRST\n{included}"
    return included


def _entries(kernel: Kernel, parameters: dict[str, str], bounds: str) -> str:
    """Return the kernels, all of which have the same parameters."""
    names = ", ".join(parameters)
    listed = ", ".join(f"{kind} {name}" for name, kind in parameters.items())
    calls = {name: f"drive<Program, {_mask(kernel, turn)}>(a);" for name, turn in TURN_OF.items()}
    calls["run_all"] = "drive<Program, ~0ull>(a);"
    calls["run_one"] = "run_alone<Program>(a);"
    calls["run_turn"] = "turn_alone<Program>(a, u32(a.most_blocks));"
    return "\n".join(
        f'extern "C" __global__ void {bounds} {name}({listed}) {{\n'
        f"    const Args a{{{names}}};\n    {calls[name]}\n}}\n"
        for name in KERNELS[kernel.options.fuse]
    )


def _bounds(kernel: Kernel, sweeps: list[Sweep]) -> str:
    """Return the bounds of a kernel's registers: loads under way want them more than warps do.

    Deep searches are to spill nothing, and little where there are priorities
    (docs/design/cuda-engine.md). On vast graphs, programs with one load after another are the
    exception: many warps hide how far memory is.
    """
    if kernel.options.large_blocks:
        return "WEFT_BOUNDS(1024, 1)"
    chases = kernel.options.vast and _chases(kernel, sweeps)
    waits = kernel.options.deep and kernel.options.ordered
    blocks = 2 if kernel.deep else 3 if waits else 6 if chases else 4
    if widest := widest_items(kernel, sweeps):
        wanted = BASE_REGISTERS + kernel.registers + widest
        blocks = max(1, min(blocks, REGISTERS // (256 * wanted)))
    return f"WEFT_BOUNDS(256, {blocks})"


def _chases(kernel: Kernel, sweeps: list[Sweep]) -> bool:
    """Whether threads mostly wait for one load after another: in pulls that end early, in links."""
    if any(sweep.early_exit for sweep in sweeps):
        return "pull" in kernel.options.directions
    edges = [sweep for sweep in sweeps if sweep.kind == "edge"]
    batched = any(sweep.facts.ops & {"gather", "gather_by", "common"} for sweep in sweeps)
    return not batched and all(sweep.mode == "effects" for sweep in edges)


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


def _phase_text(kernel: Kernel, phase: Any, swaps: list[str]) -> str:
    head = "        const Args& a = given;\n"
    if swaps:
        exchanged = "".join(f"            {swap}\n" for swap in swaps)
        head = (
            "        Args turned = given;\n"
            "        if (loop.swapped != 0) {\n"
            f"{exchanged}        }}\n"
            "        const Args& a = turned;\n"
        )
    body = "".join(f"        {line}\n" for line in phase.body)
    return (
        f"    static WEFT_DEVICE void phase_{phase.name}(const Args& given, const Loop& loop,\n"
        f"            const Scalars& scalars, const Place& place, u64* cells) {{\n"
        f"{head}        static_cast<void>(scalars);\n        static_cast<void>(cells);\n"
        f"{body}    }}\n"
    )


def _mask(kernel: Kernel, turn: str) -> str:
    mask = (1 << 64) - 1
    for phase in kernel.phases:
        # Those after the 63rd are in every kernel.
        if phase.turn not in ("both", turn) and phase.number < 63:
            mask &= ~(1 << phase.number)
    return f"{mask:#x}ull"
