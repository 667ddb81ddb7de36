"""Pushes whose messages are sorted: laid out by arc, sorted by target, reduced run by run.

Phases: the rows of the frontier are measured and laid out; every arc leaves its target and its
message at its place; keys are sorted, three phases for each digit; the runs of one target are
reduced, those of hubs in a phase of their own (`radix.cuh`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.backends.cuda.codegen.blocks import BlockRenderer
from weft.backends.cuda.codegen.machine import Kernel
from weft.backends.cuda.codegen.parts import Stage, part_text
from weft.backends.cuda.codegen.text import Emitter, c_type, size_of
from weft.backends.cuda.codegen.updates import Pulled
from weft.backends.cuda.codegen.visitor import Visitor
from weft.backends.cuda.codegen.visitors import push_visitor, start_rows
from weft.ir.ops import Step
from weft.plan.sorting import message_values, sends_uniform
from weft.plan.sweeps import Sweep, depends_on_order

PhaseBody = Callable[[Visitor, Stage], list[str]]  # the body of a phase of a sweep


def layout_refused(format_: Any) -> str:
    """Return why the rows of a format cannot be laid out, or nothing."""
    alone = len(format_.kinds) == 1 and format_.kinds[0].copies == 1
    if format_.splits or not alone:
        return f"the format {format_.name!r} splits the rows that it lays out"
    return ""


def _shift(kernel: Kernel, step: Step) -> str:
    """Return the number of bits of a key that hold the place."""
    return "0" if sends_uniform(step) else kernel.args.use("place_bits")


def _keys(kernel: Kernel, step: Step) -> tuple[str, str]:
    """Return the arrays of keys: those that arcs write, and as many to sort them with."""
    alone = sends_uniform(step)
    return kernel.args.use("radix_keys", 0, alone), kernel.args.use("radix_keys", 1, alone)


def _places(kernel: Kernel, step: Step) -> list[tuple[str, str]]:
    """Return the arrays of the messages by place, with the types of their values."""
    return [
        (kernel.args.use("messages", k, dtype, size_of(shape)), c_type(dtype, shape))
        for k, (dtype, shape) in enumerate(kernel.types[name] for name in step.into)
    ]


def _put_key(kernel: Kernel, step: Step, target: str) -> str:
    """Return the statement that leaves a target at the place of an arc."""
    array, _ = _keys(kernel, step)
    if sends_uniform(step):
        return f"{array}[laid] = Vertex({target});"
    return f"{array}[laid] = u64({target}) << {_shift(kernel, step)} | u64(laid);"


def keep_message(
    kernel: Kernel, out: Emitter, sweep: Sweep, number: int, step: Step, renderer: BlockRenderer,
    messages: list[str],
) -> None:  # fmt: skip
    """Render what becomes of the message of one arc: it waits at its place."""
    out.line(_put_key(kernel, step, "v"))
    if not sends_uniform(step):
        for (array, kind), text in zip(_places(kernel, step), messages, strict=True):
            out.line(f"put<{kind}>({array}, laid, {text});")


def laying_visitor(kernel: Kernel, sweep: Sweep, name: str, side: str) -> Visitor:
    """Return the visitor of the arcs, each of which has a place."""
    step = sweep.steps[0]
    visitor = push_visitor(kernel, sweep, name, side, update=keep_message)
    visitor.extra = [
        *visitor.extra, "i64 laid = 0;",
        f"WEFT_DEVICE void drop() {{ {_put_key(kernel, step, 'a.n')} }}",
    ]  # fmt: skip
    if step.accept is not None or step.conditional:
        visitor.take = ["drop();", *visitor.take]
    return visitor


def _runs_visitor(kernel: Kernel, sweep: Sweep, name: str) -> Visitor:
    """Return the visitor that combines the messages of a run and writes its vertex."""
    step = sweep.steps[0]
    visitor = Visitor(name, vertex="v", far="laid", collects=True, exits=sweep.early_exit)
    visitor.splits = visitor.wholes = True  # a row is a place, which determines its vertex
    site = kernel.site("edge", "s")
    site.turned = sweep.turned
    pulled = Pulled(kernel, sweep, site, direct=True)
    out = kernel.emitter()
    renderer = kernel.renderer(out, site, step, set())
    if sends_uniform(step):
        renderer.prepare(step.body)
        renderer.run(message_values(step))
        messages = [renderer.operand(r) for r in step.body.results[: len(step.into)]]
    else:
        messages = [
            renderer.variable(f"fetch<{kind}>({array}, laid)", kind, "m")
            for array, kind in _places(kernel, step)
        ]
    pulled.take(out, renderer, messages)
    pulled.end_slot(out, renderer)
    visitor.take = out.lines
    start_rows(kernel, visitor, pulled, "whole")
    return visitor


def _sort_phases(
    kernel: Kernel, name: str, arrays: tuple[str, str], items: str, shift: str, after: list[str]
) -> list[str]:
    """Add the phases that sort an array by its digits; return the lines that start them.

    `arrays` are those that the present digit is read from, and written to. Afterwards `loop.digit`
    is the number of rounds, of 8 bits each.
    """
    table, totals = kernel.args.use("radix_table"), kernel.args.use("radix_totals")
    source, target = arrays
    first = len(kernel.phases)
    at = f"u32(loop.digit) + u32({shift})"
    count = f"count_digits(place, {source}, {items}, {at}, {table});"
    kernel.phase(f"count_{name}", [count], [f"t.loop.phase = {first + 1};"], "push")
    scan = f"scan_digits(place, {items}, {table}, {totals});"
    kernel.phase(f"scan_{name}", [scan], [f"t.loop.phase = {first + 2};"], "push")
    scatter = f"scatter_digits(place, {source}, {target}, {items}, {at}, {table}, {totals});"
    again = [
        "t.loop.digit += digit_bits;",
        f"if (t.loop.digit < t.{kernel.args.use('vertex_bits')}) {{",
        f"    t.loop.phase = {first};",
        "} else {",
        *(f"    {line}" for line in after),
        "}",
    ]
    kernel.phase(f"scatter_{name}", [scatter], again, "push")
    return ["t.loop.digit = 0;", f"t.loop.phase = {first};"]


def _turned(arrays: tuple[str, str]) -> tuple[str, str]:
    """Return the arrays of a sort by the parity of the present digit."""
    one, two = arrays
    odd = "(loop.digit / digit_bits & 1) != 0"
    return f"({odd} ? {two} : {one})", f"({odd} ? {one} : {two})"


def lay_out(kernel: Kernel, sweep: Sweep, k: int, body: list[str], after: list[str]) -> str:
    """Add the phases in which arcs get places and leave messages; return what starts them.

    `body` is the phase of the arcs, `after` what comes then.
    """
    format_ = f"const auto format = {part_text(kernel, 'push', sweep.way('push'), 0)};"
    starts = kernel.args.use("laid_starts")
    head = []
    if depends_on_order(sweep):
        queues = _turned(("queue_of(a, loop.queue)", "queue_of(a, loop.queue + 1)"))
        at = len(kernel.phases) + 3
        settled = [
            "if ((t.loop.digit / digit_bits & 1) != 0) t.loop.queue = 1 - t.loop.queue;",
            f"t.loop.phase = {at};",
        ]
        sort = _sort_phases(kernel, f"queue_{k}", queues, "loop.size", "0", settled)
        head = [
            "if (t.loop.dense == 0 && t.loop.size > 1) {",
            *(f"    {line}" for line in sort),
            "} else {",
            f"    t.loop.phase = {at};",
            "}",
        ]
    measure = "measure_rows(place, a, loop, format, a.counts);"
    first = len(kernel.phases)
    kernel.phase(f"measure_{k}", [format_, measure], [f"t.loop.phase = {first + 1};"], "push")
    lay = f"lay_rows(place, a, loop, format, a.counts, {starts}, cells + FAR);"
    kernel.phase(
        f"lay_{k}", [format_, lay],
        ["t.loop.laid = i64(t.cells[FAR]);", f"t.loop.phase = {first + 2};"], "push",
    )  # fmt: skip
    kernel.phase(f"push_{k}", body, after, "push")
    order = head or [f"t.loop.phase = {first};"]
    return kernel.decide(f"lay_out_{k}", order)


def laid_call(kernel: Kernel) -> str:
    """Return the call that takes all arcs that were laid out."""
    starts = kernel.args.use("laid_starts")
    return f"take_laid(place, a, loop, format, {starts}, visitor);"


def reduce_phases(
    kernel: Kernel, sweep: Sweep, k: int, direction: str, body_of: PhaseBody, clear: list[str],
    collect: str,
) -> list[str]:  # fmt: skip
    """Add the phases that sort what the arcs left and reduce it; return what starts them."""
    step = sweep.steps[0]
    shift, keys = _shift(kernel, step), _keys(kernel, step)
    source, _ = _turned(keys)
    runs = (
        f"Runs<{'Vertex' if sends_uniform(step) else 'u64'}>{{{source}, loop.laid, u32({shift})}}"
    )
    hubs = kernel.args.use("radix_hubs")
    visitor = _runs_visitor(kernel, sweep, f"Runs{k}_{direction}")
    degrees = "a.n, a.warp_degree, a.block_degree"
    calls = (
        f"reduce_runs(place, format, {degrees}, {hubs}, cells + FAR, visitor);",
        f"reduce_hubs(place, format, {hubs}, loop.hubs, visitor);",
    )
    bodies = []
    for call in calls:
        pieces = len(kernel.pieces)
        bodies.append(body_of(visitor, Stage(runs, "", call)))
        if len(bodies) > 1:
            del kernel.pieces[pieces:]
    last = kernel.phase(f"hubs_{direction}_{k}", bodies[1], [collect], "push")
    some = [
        "t.loop.hubs = i64(t.cells[FAR]);",
        f"if (t.loop.hubs != 0) {{ keep_counts(t); {last} }}",
        f"else {{ {collect} }}",
    ]
    reduce = kernel.phase(f"runs_{direction}_{k}", [*clear, *bodies[0]], some, "push")
    return _sort_phases(kernel, f"{direction}_{k}", _turned(keys), "loop.laid", shift, [reduce])
