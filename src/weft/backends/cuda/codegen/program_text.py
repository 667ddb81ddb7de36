"""The text of a program: arguments, phases, what decides after them, kernels."""

from __future__ import annotations

from typing import Any

from weft.backends.cuda.codegen.buffer_swap import turned_arrays
from weft.backends.cuda.codegen.lanes import widest_items
from weft.backends.cuda.codegen.machine import Kernel
from weft.backends.cuda.codegen.text import c_type, identifier
from weft.backends.cuda.codegen.vertices import hoisted_arrays
from weft.backends.cuda.host.headers import FRONTIERS, RUNTIME
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


def source_text(kernel: Kernel, types: dict[str, str], sweeps: list[Sweep]) -> str:
    """Return the source of a program whose phases and decisions are rendered."""
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
    replayed += f"    static constexpr bool shrinks = {str(kernel.shrinks).lower()};\n"
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
    if kernel.options.large_blocks or kernel.hub_bytes:
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
