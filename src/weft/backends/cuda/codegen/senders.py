"""Pushes of differences, whose output contains senders as well as receivers."""

from __future__ import annotations

import itertools

from weft.backends.cuda.codegen.machine import Kernel, Options
from weft.backends.cuda.codegen.sorted_pushes import sorts_messages
from weft.backends.cuda.codegen.updates import emit, stamp, touch_first
from weft.ir.ops import Program
from weft.plan.sweeps import Sweep


def keep_senders(sweeps: list[Sweep], options: Options) -> None:
    """Run settled functions only at senders and receivers instead of everywhere.

    That is where messages are delivered by atomics, and those that send stand in a queue.
    """
    for sweep, after in itertools.pairwise(sweeps):
        step, side = after.steps[0], options.push
        queued = sweep.mode == "deferred" and side.frontier_in == "queue" and not options.classes
        pushed = queued and sweep.pull_refused and not sorts_messages(sweep, options)
        if step.everywhere and step.settled and pushed:
            step.everywhere, sweep.keeps_senders = False, True


def add_at_once(program: Program, sweeps: list[Sweep], options: Options) -> None:
    """Add differences directly to the stored sums of a change-driven program.

    No step reads those before the next superstep, in which all receivers run: neither an inbox nor
    a phase that empties it is needed. After `keep_senders`.
    """
    if not program.wide or options.combine != "atomic" or options.push.frontier_out != "queue":
        return
    for sweep, after in itertools.pairwise(sweeps):
        plain = sweep.mode == "deferred" and len(sweep.steps) == 1 and sweep.pull_refused
        sums = all(reduction.name == "sum" for reduction in sweep.last.reductions)
        simple = len(options.push.format.kinds) == 1 and not options.push.format.virtual
        sweep.adds = bool(
            plain and sums and simple and not options.classes and not after.steps[0].everywhere
            and options.push.frontier_in == "queue" and not sorts_messages(sweep, options)
        )  # fmt: skip


def render_senders(kernel: Kernel) -> list[str]:
    """Return the lines that output senders that received nothing."""
    out = kernel.emitter()
    touch_first(kernel, out, "alone", f"touch({stamp(kernel, 0)}, v, u32(loop.epoch))", True)
    with out.block("if (alone)"):
        emit(kernel, out)
    return [
        kernel.for_all_emitting("loop.entered"),
        "    const i64 v = entered_vertex(a, loop, i);",
        *(f"    {line}" for line in out.lines),
        "});",
    ]
