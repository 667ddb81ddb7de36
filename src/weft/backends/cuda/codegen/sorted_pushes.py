"""Pushed messages that meet without atomics: kept by arc, then combined by target in slot order.

In the first phase every arc that sends leaves its message at its own place, with a stamp. In the
second the arcs into a vertex are visited as in a pull, by a thread, a warp or a block, in an order
that does not depend on timing (`segments.cuh`).
"""

from __future__ import annotations

from dataclasses import replace

from weft.backends.cuda.codegen.blocks import BlockRenderer
from weft.backends.cuda.codegen.machine import Kernel, Options
from weft.backends.cuda.codegen.text import Emitter, c_type, size_of
from weft.backends.cuda.codegen.updates import Pulled
from weft.backends.cuda.codegen.visitor import Visitor
from weft.backends.cuda.codegen.visitors import start_rows
from weft.ir.ops import Step
from weft.plan.sweeps import Sweep


def sorts_messages(sweep: Sweep, options: Options) -> bool:
    """Whether the messages of a sweep, if it is pushed, are kept and combined afterwards."""
    chosen = options.combine == "by_target" and sweep.mode == "deferred" and len(sweep.steps) == 1
    return chosen or sweep.radix


def must_sort(sweeps: list[Sweep], options: Options) -> bool:
    """Whether a deterministic run has to push what depends on the order of messages."""
    sorting = replace(options, combine="by_target")
    return any(
        sweep.kind == "edge" and sweep.in_order and sorts_messages(sweep, sorting)
        and ("pull" not in options.directions or bool(sweep.pull_refused))
        for sweep in sweeps
    )  # fmt: skip


def allow_sorted_pushes(sweeps: list[Sweep], options: Options) -> list[str]:
    """Allow deterministic runs to push messages combined in order; return the decisions."""
    decided = []
    for sweep in sweeps:
        if sweep.kind == "edge" and sorts_messages(sweep, options):
            decided.append("sorted_messages")
            if sweep.in_order:
                sweep.in_order, sweep.push_refused = False, ""
    return decided


def _places(kernel: Kernel, step: Step) -> list[tuple[str, str]]:
    """Return the arrays of the messages by arc, with the types of their values."""
    return [
        (kernel.args.use("messages", k, dtype, size_of(shape)), c_type(dtype, shape))
        for k, (dtype, shape) in enumerate(kernel.types[name] for name in step.into)
    ]


def keep_message(
    kernel: Kernel, out: Emitter, sweep: Sweep, number: int, step: Step, renderer: BlockRenderer,
    messages: list[str],
) -> None:  # fmt: skip
    """Render what becomes of the message of one arc: it waits at the place of the arc."""
    arc = renderer.variable(renderer.scope.site.arc(), "i64", "arc")
    for (array, kind), text in zip(_places(kernel, step), messages, strict=True):
        out.line(f"put<{kind}>({array}, {arc}, {text});")
    out.line(f"{kernel.args.use('stamp', 'arcs')}[{arc}] = u32(loop.epoch);")


def arcs_into(kernel: Kernel, sweep: Sweep) -> str:
    """Return the construction of the list of the arcs into each vertex."""
    use, way = kernel.args.use, sweep.way("pull")
    if kernel.traits.keep == "both":
        return f"ArcsInto<Arc>{{{use('offsets', way)}, {use('arcs', way)}}}"
    return f"ArcsInto<Arc>{{{use('sorted_offsets')}, {use('sorted_arcs')}}}"


def reduce_sorted(kernel: Kernel, sweep: Sweep) -> str:
    """Return the call that reduces the arcs into each vertex."""
    listed = kernel.args.use("long_rows", sweep.way("pull"))
    return (
        f"reduce_rows(place, format, a.n, a.warp_degree, {listed} + 2, {listed}[0], {listed}[1], "
        "visitor);"
    )


def sorted_visitor(kernel: Kernel, sweep: Sweep, name: str) -> Visitor:
    """Return the visitor that combines the kept messages of a vertex and writes it."""
    step = sweep.steps[0]
    visitor = Visitor(name, vertex="v", far="arc", collects=True, exits=sweep.early_exit)
    site = kernel.site(sweep.way("pull"), "s")
    site.turned = sweep.turned
    pulled = Pulled(kernel, sweep, site, direct=True)
    out = kernel.emitter()
    renderer = kernel.renderer(out, site, step, set())
    out.line(f"if ({kernel.args.use('stamp', 'arcs')}[arc] != u32(loop.epoch)) return false;")
    messages = [
        renderer.variable(f"fetch<{kind}>({array}, arc)", kind, "m")
        for array, kind in _places(kernel, step)
    ]
    pulled.take(out, renderer, messages)
    pulled.end_slot(out, renderer)
    visitor.take = out.lines
    start_rows(kernel, visitor, pulled, "whole")
    return visitor
