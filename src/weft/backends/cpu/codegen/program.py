"""A program as the source of one Numba module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.backends.cpu.codegen.edges import render_edge_sweep
from weft.backends.cpu.codegen.kernel import (
    EMPTY,
    IMPORTS,
    LIMIT,
    RUNNING,
    SAVED_NAMES,
    STOPPED_BY_USER,
    TRAIL_FULL,
    UNTIL,
    Kernel,
    Options,
)
from weft.backends.cpu.codegen.ordered import render_ordered
from weft.backends.cpu.codegen.pairs import find_pairs
from weft.backends.cpu.codegen.vertices import (
    fill_hoisted,
    keep_live_old,
    render_vertex_sweep,
    take_snapshots,
)
from weft.ir.ops import REFRESH, Program
from weft.plan.directions import wide_test
from weft.plan.queries import (
    Traits,
    buffered_edges,
    counted_way,
    looks_at_arcs,
    may_carry,
    refused,
    scalar_reductions,
)
from weft.plan.sweeps import Sweep

# Parameters that every kernel has, before those that its code asks for.
FIXED_ARRAYS = ("queue_a", "queue_b", "bits_a", "bits_b", "ring")
FIXED = ("n", "arcs", "limit", "budget", *FIXED_ARRAYS)


@dataclass
class Rendered:
    """The text of a module and what its kernel must be called with."""

    source: str
    bindings: dict[str, tuple[Any, ...]]
    scratch: dict[str, int]  # dtype name -> elements per thread
    functions: list[str]


def render(
    program: Program, planned: dict[str, list[Sweep]], traits: Traits, options: Options
) -> Rendered:
    """Render the kernel of a program, given its sweeps by role."""
    sweeps, every = planned["steps"], [sweep for part in planned.values() for sweep in part]
    kernel = Kernel(program, traits, options, first=sweeps[0])
    kernel.functions = [step.name for step in program.all_steps()]
    find_pairs(kernel, sweeps)
    kernel.sorts = options.deterministic and (
        any(dtype.kind == "f" for _, _, dtype in scalar_reductions(list(program.all_steps())))
        or any(s.in_order and s.pull_refused for s in every)
    )
    edge_sweeps = [s for s in every if s.kind == "edge"]
    kernel.buffered_edges = set().union(*(buffered_edges(sweep) for sweep in edge_sweeps))
    chooses = bool(planned["wide"]) and len(options.directions) == 2
    kernel.counts_edges = program.mode == "iterate" and (
        chooses
        or any(len([d for d in options.directions if not refused(s, d)]) == 2 for s in edge_sweeps)
    )
    body = kernel.out
    body._depth = 1
    if options.ordered:
        render_ordered(kernel, sweeps[0])
    elif program.mode == "replay":
        _replay(kernel, sweeps)
    else:
        _loop(kernel, planned)
    _epilogue(kernel)
    lines = body.lines
    body.lines = []
    _prologue(kernel)
    arrays = ["ctl", *FIXED_ARRAYS]
    numbers = ("constant", "part_number", "num_edges", "place_bits")
    arrays += [name for name, binding in kernel.args.bindings.items() if binding[0] not in numbers]
    named = {name: f"{name}_array" for name in arrays}
    parameters = ["tid", "nt", *(named.get(p, p) for p in ("ctl", *FIXED, *kernel.args.bindings))]
    lines = [f"    {name} = pointer({array})" for name, array in named.items()] + body.lines + lines
    head = [  # nothing to rewrite: no expressions of arrays, no tuples, no powers
        '@njit(nogil=True, cache=True, error_model="numpy", no_rewrites=True)',
        f"def kernel({', '.join(parameters)}):",
    ]
    source = IMPORTS + "\n\n" + "\n".join([*head, *lines]) + "\n"
    return Rendered(source, dict(kernel.args.bindings), kernel.scratch.strides(), kernel.functions)


def _prologue(kernel: Kernel) -> None:
    """Load what the loop starts or goes on with."""
    out, args = kernel.out, kernel.args
    for position, name in enumerate(SAVED_NAMES):
        out.line(f"{name} = ctl[SAVED + {position}]")
    out.line("work = 0")
    out.line("order = tid  # whose share of a queue is taken")
    with out.block("if began == 0:"):
        out.line("began = cycles()")
    kernel.barrier()  # no thread may save before all have loaded
    out.line("base = counters(ctl, phase, 1)")
    if "local" in args.bindings or "local_touched" in args.bindings:
        out.line("local_base = tid * LOCAL")
    for name, size in kernel.scratch.strides().items():
        out.line(f"base_{name} = tid * {size}")
    for name, binding in list(args.bindings.items()):
        if binding[0] == "scalar":
            text = (
                f"{name}[0] != 0" if _scalar_type(kernel, binding[1]).kind == "b" else f"{name}[0]"
            )
            out.line(f"value_{binding[1]} = {text}")
    if "marker" in args.bindings:
        out.line("marker_base = np.uint64(tid * (marker_array.size // nt))")
        out.line("marked = np.uint64(n)")
    if "marker_slots" in args.bindings:
        out.line("slots_base = np.uint64(tid * (marker_slots_array.size // nt))")
        out.line("placed = np.uint64(n)")
    for name, binding in args.bindings.items():
        if binding[0] in ("by_keys", "by_values", "by_table"):
            out.line(f"base_{name} = np.uint64(tid * ({name}_array.size // nt))")
    if any(binding[0] == "keys" for binding in args.bindings.values()):
        name = next(n for n, b in args.bindings.items() if b[0] == "keys")
        out.line(f"keys_base = tid * ({name}_array.size // nt)")


def _scalar_type(kernel: Kernel, name: str) -> np.dtype[Any]:
    return dict(kernel.program.signature.scalars)[name]


def _epilogue(kernel: Kernel) -> None:
    """Save what a paused loop goes on with, and the scalars."""
    out, args = kernel.out, kernel.args
    with out.block("if tid == 0:"):
        for position, name in enumerate(SAVED_NAMES):
            out.line(f"ctl[SAVED + {position}] = {name}")
        for name, binding in args.bindings.items():
            if binding[0] == "scalar":
                out.line(f"{name}[0] = value_{binding[1]}")
    if "marker" in args.bindings:
        offsets, targets = args.use("offsets", "out"), args.use("targets", "out")
        row = f"{offsets}, {targets}, marked, np.uint64(n), np.uint64(n)"
        out.line(f"mark_row(marker, marker_base, {row})")


def record(kernel: Kernel, number: int, direction: str) -> None:
    """Write a record of a sweep into the ring, by one thread."""
    out = kernel.out
    with out.block("if tid == 0:"):
        out.line("slot = (records % (ring_array.size // 6)) * 6")
        values = ("step", str(number), direction, "entered", "looked_all", "cycles()")
        for position, value in enumerate(values):
            out.line(f"ring[slot + {position}] = {value}")
    out.line("records += 1")


def _superstep(kernel: Kernel, sweeps: list[Sweep], *, final: str, first_number: int = 0) -> None:
    """Render the sweeps of one superstep; `final` says what the last one's output becomes."""
    out = kernel.out
    for number, sweep in enumerate(sweeps):
        last = number == len(sweeps) - 1
        out.line(f"# {', '.join(step.name for step in sweep.steps)}")
        take_snapshots(kernel, sweeps[number:])
        if sweep.kind == "vertex" and sweep.steps[0].everywhere:
            out.line("size, dense, edges, mapped = n, 1, arcs, 0")
        out.line("entered = size")
        following = kernel.first if last else sweeps[number + 1]
        kernel.counted = counted_way(following)
        kernel.discards = not last and following.steps[0].everywhere
        if sweep.kind == "edge":
            out.line("looked_all = 0")
            arcs = kernel.options.arcs and first_number + number == 0
            render_edge_sweep(kernel, sweep, arcs=arcs)
            both = [d for d in kernel.options.directions if not refused(sweep, d)]
            direction = "pulling" if len(both) == 2 else str(int(both == ["pull"]))
        else:
            out.line(f"looked_all = {'edges if dense else 0' if looks_at_arcs(sweep) else 0}")
            wake = "queue"
            if final == "wake" and last and sweep.last.wake != "changed":
                wake = sweep.last.wake
            render_vertex_sweep(kernel, sweep, wake=wake)
            direction = "2"
        kernel.discards = False
        if sweep.last.shrinks:
            _keep_remaining(kernel)
        keep_live_old(kernel, sweep)
        record(kernel, first_number + number, direction)
        out.line("work += looked_all + entered")


def _wide_or_narrow(kernel: Kernel, planned: dict[str, list[Sweep]]) -> None:
    """Render a superstep by the steps that suit the frontier.

    Steps for wide frontiers leave a frontier of all vertices, after which the others start by
    renewing.
    """
    out, directions = kernel.out, kernel.options.directions
    sweeps, wide, renew = (planned[role] for role in ("steps", "wide", "renew"))
    pushes = "push" in directions and not refused(sweeps[0], "push")
    number = len(sweeps)
    test = wide_test(pushes, "pull" in directions, "edges", "arcs")
    with out.block(f"if refreshing == 0 and {test}:"):
        _superstep(kernel, wide, final="wake", first_number=number)
    with out.block(f"elif dense or step % {REFRESH} == 0:"):
        _superstep(kernel, renew, final="wake", first_number=number + len(wide))
        over = "size == 0" if kernel.program.rests_renewed else "size == 0 and refreshing != 0"
        with out.block(f"if {over}:"):
            out.line(f"status = {EMPTY}")
            out.line("if refreshing != 0: break")
        out.line("if refreshing != 0: continue")
    with out.block("else:"):
        _superstep(kernel, sweeps, final="wake")


def _loop(kernel: Kernel, planned: dict[str, list[Sweep]]) -> None:
    """Render the loop of `iterate`, or the single superstep of `run`."""
    sweeps, refill, wide = (planned[role] for role in ("steps", "refill", "wide"))
    out, program = kernel.out, kernel.program
    if program.mode == "run":
        _superstep(kernel, sweeps, final="run")
        out.line("step += 1")
        return
    out.line(f"status = {RUNNING}")
    kernel.carries_hoisted = may_carry(kernel.program, sweeps)
    if kernel.carries_hoisted:
        fill_hoisted(kernel, sweeps[0])
    with out.block("while True:"):
        if wide:
            out.line("refreshing = np.int64(size == 0)")
        with out.block("if size == 0:"):
            if wide:
                out.line("size, dense, edges, mapped = n, 1, arcs, 0")
                with out.block("if n == 0:"):
                    out.line(f"status = {EMPTY}")
                    out.line("break")
            elif refill:
                _begin_round(kernel, refill[0])
                with out.block("if size > 0:"):
                    _superstep(kernel, refill, final="run", first_number=len(sweeps))
                with out.block("if size == 0:"):
                    out.line(f"status = {EMPTY}")
                    out.line("break")
            elif program.persists:  # a step that woke no vertex may have left `dense` behind
                out.line("dense = mapped = edges = 0")
            else:
                out.line(f"status = {EMPTY}")
                out.line("break")
        with out.block("if step >= limit and refreshing == 0:" if wide else "if step >= limit:"):
            out.line(f"status = {LIMIT}")
            out.line("break")
        if program.trail:
            _keep_trail(kernel)
        if wide:
            _wide_or_narrow(kernel, planned)
        else:
            _superstep(kernel, sweeps, final="wake")
        out.line("step += 1")
        if program.until is not None:
            out.line("least_waiting = np.inf if size == 0 else -np.inf")
            test = kernel.block_value(program.until, kernel.site(v="0"))
            with out.block(f"if {test}:"):
                out.line(f"status = {UNTIL}")
                out.line("break")
        if program.rests_renewed:
            with out.block(f"if status == {EMPTY}:"):
                out.line("break")
        with out.block("if stopped != 0:"):
            out.line(f"status = {STOPPED_BY_USER}")
            out.line("break")
        with out.block("if nt == 1 and work > budget:"):
            out.line("break")


def _begin_round(kernel: Kernel, first: Sweep) -> None:
    """Render what a refill runs over: all vertices, or those that its first step left."""
    out = kernel.out
    if not first.last.shrinks:
        out.line("size, dense, edges, mapped = n, 1, arcs, 0")
        return
    remaining = kernel.args.use("remaining")
    with out.block("if remaining_size == 0:"):
        out.line("size, dense, edges, mapped = n, 1, arcs, 0")
    with out.block("else:"):
        out.line("size, dense, edges, mapped = remaining_size - 1, 0, 0, 0")
        _copy_queue(kernel, f"queue_a[i] = {remaining}[i]")


def _keep_remaining(kernel: Kernel) -> None:
    """Render the copy of what the first step of a refill put out; 0 stands for no copy yet."""
    _copy_queue(kernel, f"{kernel.args.use('remaining')}[i] = queue_a[i]")
    kernel.out.line("remaining_size = size + 1")


def _copy_queue(kernel: Kernel, entry: str) -> None:
    kernel.begin_phase()
    with kernel.shares("size", 4096):
        kernel.out.line(entry)
    kernel.barrier()


def _keep_trail(kernel: Kernel) -> None:
    """Append the frontier to the trail; pause where it does not fit."""
    out, args = kernel.out, kernel.args
    trail, ends = args.use("trail"), args.use("trail_ends")
    with out.block(f"if trail_size + size > {trail}_array.size or step + 1 >= {ends}_array.size:"):
        out.line(f"status = {TRAIL_FULL}")
        out.line("break")
    kernel.begin_phase()
    with kernel.shares("size", 4096):
        out.line(
            f"{trail}[np.uint64(trail_size) + i] = np.int64(i) if dense else np.int64(queue_a[i])"
        )
    kernel.barrier()
    out.line("trail_size += size")
    with out.block("if tid == 0:"):
        out.line(f"{ends}[step + 1] = trail_size")
    kernel.barrier()  # the next phase clears counters that some may still read


def _replay(kernel: Kernel, sweeps: list[Sweep]) -> None:
    """Render the loop over the frontiers of a trail, last to first."""
    out, args = kernel.out, kernel.args
    trail, begins, ends = (args.use(name) for name in ("trail", "trail_begins", "trail_ends"))
    out.line(f"status = {RUNNING}")
    with out.block("while True:"):
        with out.block("if step >= limit:"):
            out.line(f"status = {EMPTY}")
            out.line("size = dense = 0")
            out.line("break")
        out.line(f"begin = {begins}[step]")
        out.line(f"size = {ends}[step] - begin")
        out.line("dense = mapped = edges = 0")
        kernel.begin_phase()
        with kernel.shares("size", 4096):
            out.line(f"queue_a[i] = {trail}[np.uint64(begin) + i]")
        kernel.barrier()
        _superstep(kernel, sweeps, final="run")
        out.line("step += 1")
        with out.block("if stopped != 0:"):
            out.line(f"status = {STOPPED_BY_USER}")
            out.line("break")
        with out.block("if nt == 1 and work > budget:"):
            out.line("break")
