"""Ordered relaxation: near work first, the rest waits (delta-stepping with a steered window).

A vertex that was improved goes to the near queue if its priority is below the threshold, else to
the far list. When no near work is left the threshold rises by `delta` and the far list is split
again; where that brings nothing near, it rises above the least priority that waits. `delta` is
steered by load: doubled after a window with too little work for the device, halved after one with a
lot. With buckets, windows are the multiples of a fixed `delta` instead. A priority of NaN is never
held back.

A superstep is one pass over the near queue. Where `max_iter` or `until` ends the loop, both lists
are the frontier; those that came near since they were put on the far list are taken off it first.

Where there is a horizon (`codegen/horizon.py`), it is chosen before the first wide superstep; with
nothing left within it, the vertices beyond pull, and the run goes on without one.
"""

from __future__ import annotations

from weft.backends.cuda.codegen.blocks import BlockRenderer
from weft.backends.cuda.codegen.edges import CLASSES, Work, degree_functor, inputs_of, visitor_phase
from weft.backends.cuda.codegen.horizon import (
    beyond_visitor,
    choose_horizon,
    messages_within,
    note_sender,
    place_of,
    priority_of,
)
from weft.backends.cuda.codegen.machine import Kernel
from weft.backends.cuda.codegen.pairs import overlay_pairs
from weft.backends.cuda.codegen.parts import (
    ALL,
    MAP,
    QUEUE,
    PartSweep,
    Stage,
    sweep_parts,
    wants_map,
)
from weft.backends.cuda.codegen.site import Site
from weft.backends.cuda.codegen.text import Emitter
from weft.backends.cuda.codegen.updates import improve
from weft.backends.cuda.codegen.visitor import Visitor
from weft.backends.cuda.codegen.visitors import (
    hoist_row,
    messages_ahead,
    racy_fields,
    render_functions,
)
from weft.ir.ops import Step
from weft.plan.queries import moving_fields
from weft.plan.sweeps import Sweep

EDGES_PER_WAITING = 4  # edges that are visited in the time of splitting one vertex


def _near(kernel: Kernel, dedup: str) -> str:
    """Return the type of the output that near vertices go to."""
    pieces = CLASSES if kernel.options.classes else 1
    return f"Output<Vertex, Kind::queue, Compaction::online, Dedup::{dedup}, {pieces}>"


def _taken(kernel: Kernel) -> list[str]:
    """Return the statements that make the near vertices the frontier."""
    if kernel.options.classes:
        return ["classes_taken(t, false);"]
    return ["keep_counts(t);", "queue_taken(t);"]


def render_ordered(kernel: Kernel, sweep: Sweep) -> None:
    """Add the phases and decisions of an ordered loop."""
    for which in (0, 1):
        kernel.args.use("far", which)
    relax = _relax_phase(kernel, sweep)
    split = _split_phase(kernel, sweep)
    choose, leave = _horizon(kernel, sweep) if kernel.options.horizon else ([], [])
    limit = "t.loop.status = LIMIT; return;"
    if kernel.program.observed:
        ends = [
            "t.loop.ending = status;",
            "if (t.loop.far_size == 0) { t.loop.status = status; return; }",
            "t.loop.raised = t.loop.threshold;",
            *_enter_split(split),
        ]
        _end_early(kernel, ends)
        limit = "end_early(t, LIMIT); return;"
    kernel.defer(
        "begin_step",
        [
            "if (t.loop.size > 0) {",
            f"    if (t.loop.step >= t.a.limit) {{ {limit} }}",
            *choose,
            "    t.loop.epoch += 1;",
            "    t.loop.entered = t.loop.size;",
            "    t.loop.looked = t.loop.edges;",
            "    begin_output(t);",
            f"    {relax}",
            "    return;",
            "}",
            *leave,
            "if (t.loop.far_size == 0) { t.loop.status = EMPTY; return; }",
            *_raise_threshold(kernel, sweep),
            *_enter_split(split),
        ],
    )
    kernel.defer("end_step", _end_step(kernel))
    hold = _hold_phase(kernel, sweep)
    first = [
        "if (t.loop.size <= 1) { begin_step(t); return; }",
        "t.loop.epoch += 1;",
        "begin_output(t);",
        hold,
    ]
    kernel.first = kernel.decide("begin_loop", first)


def _horizon(kernel: Kernel, sweep: Sweep) -> tuple[list[str], list[str]]:
    """Return the statements that choose a horizon, and those that leave it behind."""
    leave = [
        "if (t.loop.far_size == 0 && t.loop.horizon < infinity<double>()) {",
        f"    {_beyond_phase(kernel, sweep)}",
        "    return;",
        "}",
    ]
    return choose_horizon(kernel, sweep), leave


def _enter_split(split: str) -> list[str]:
    """Return the statements that start to split the far list."""
    return [
        "if (t.loop.far_size > t.a.narrow_size) t.loop.narrow = 0;",
        "t.loop.epoch += 1;",
        "begin_output(t);",
        "t.loop.least = infinity<double>();",
        "t.loop.mean = 0;",
        split,
    ]


def _end_early(kernel: Kernel, lines: list[str]) -> None:
    """Add the decision to end with a status although something is left."""
    inside = "\n".join(f"        {line}" for line in lines)
    head = "    static WEFT_DEVICE void end_early(Turn& t, i64 status)"
    kernel.decisions.append(f"{head} {{\n{inside}\n    }}")


def _end_step(kernel: Kernel) -> list[str]:
    """Return the statements after a superstep: whether `until` ends the loop."""
    near = "loop.far_size > 0 ? loop.threshold : infinity<double>()"
    least = f"loop.size > 0 ? -infinity<double>() : {near}"
    return kernel.until_lines("end_early(t, UNTIL);", ["begin_step(t);"], least)


def _relax_visitor(kernel: Kernel, sweep: Sweep) -> Visitor:
    """Return the visitor that relaxes an arc: it queues near vertices and defers the rest."""
    step, side = sweep.steps[0], kernel.options.push
    visitor = Visitor("Relax", vertex="u", far="v", far_type="Vertex")
    visitor.splits, visitor.joined = side.format.splits, side.joined
    visitor.parts = kernel.parts_struct(sweep)
    site = kernel.slot_site("push", sweep.way("push"))
    site.turned = sweep.turned
    site.racy = racy_fields(sweep)
    overlay_pairs(kernel, site)
    within = kernel.options.horizon
    # Within a horizon no message waits for what u has by then: it decides about the next load.
    moving = sweep.facts.live if within else moving_fields(sweep)
    known = hoist_row(kernel, visitor, step, site, "u", moving)
    if within:
        note_sender(kernel, visitor, sweep)
    out = kernel.emitter()
    renderer = kernel.renderer(out, site, step, set())
    renderer.known.update(known)
    ahead = step.accept is None and not step.conditional and not sweep.facts.reduced
    seen = ""

    def update(number: int, step: Step, renderer: BlockRenderer, messages: list[str]) -> None:
        improve(kernel, out, step, renderer, messages, seen=seen)
        with out.block("if (hit)"):
            fresh = dict(zip(step.into, messages, strict=False))
            _enqueue(kernel, out, step, site, fresh)

    if within:
        assert ahead, "messages of a horizon depend on nothing else"
        messages, seen = messages_within(kernel, visitor, step, renderer, out)
        out = kernel.emitter()
        out.line("if (message.held) return false;")
        renderer = kernel.renderer(out, site, step, set())
        update(0, step, renderer, messages)
    elif ahead:
        messages, seen = messages_ahead(kernel, visitor, step, renderer, out)
        out = kernel.emitter()
        renderer = kernel.renderer(out, site, step, set())
        update(0, step, renderer, messages)
    else:
        render_functions(kernel, out, sweep, site, [renderer], update)
    visitor.take = out.lines
    return visitor


def _relax_phase(kernel: Kernel, sweep: Sweep) -> str:
    """Add the phases of a pass over the near queue; return the statement that starts them."""
    side, visitor = kernel.options.push, _relax_visitor(kernel, sweep)
    source, plain, _ = inputs_of(kernel, "push", side, sweep)
    by_map = source == MAP or wants_map(side)
    finish = kernel.decide("finish_relax", [*kernel.total_scalars(sweep), *_relaxed(kernel, 0)])

    def body_of(stage: Stage) -> list[str]:
        return _relaxing(kernel, sweep, visitor, stage)

    def phases(name: str, by: str = "") -> str:
        kept = ("t.loop.far_size += i64(t.cells[FAR]);", "keep_counts(t);")
        source = MAP if by_map else QUEUE
        parts = PartSweep(name, "push", sweep.way("push"), source, plain, kept=kept, by=by)
        return sweep_parts(kernel, parts, body_of, [finish])

    start, narrow = phases("relax"), kernel.options.narrow
    if narrow is not None and narrow.frontier_in == side.frontier_in:
        made = len(kernel.pieces)
        few = phases("relax_narrow", by="narrow")
        del kernel.pieces[made:]  # the visitor is the same
        start = f"if (t.loop.narrow != 0) {{ {few} }} else {{ {start} }}"
    if kernel.options.classes or by_map:
        return kernel.ready(start, classes=kernel.options.classes, map_=by_map)
    return start


def _enqueue(
    kernel: Kernel, out: Emitter, step: Step, site: Site, fresh: dict[str, str]
) -> None:  # fmt: skip
    """Queue an improved vertex if it is near, else defer it."""
    out.line(f"const double rank = {priority_of(kernel, out, step, site, fresh)};")
    with out.block("if (!(rank >= loop.threshold))"):
        out.line("out.emit_lazily(v, degree);")
    with out.block("else"):
        out.line("waiting.append(v);")


def _beyond_phase(kernel: Kernel, sweep: Sweep) -> str:
    """Add the pull by the vertices beyond the horizon; return the statement that starts it."""
    step = sweep.steps[0]

    def improved(out: Emitter, renderer: BlockRenderer, messages: list[str]) -> None:
        improve(kernel, out, step, renderer, messages)
        with out.block("if (hit)"):
            fresh = dict(zip(step.into, messages, strict=True))
            _enqueue(kernel, out, step, place_of(kernel, sweep), fresh)

    visitor = beyond_visitor(kernel, sweep, improved)
    finish = kernel.decide(
        "finish_beyond",
        [
            "t.loop.horizon = infinity<double>();",
            "t.loop.looked += i64(t.cells[LOOKED]);",
            *_relaxed(kernel, 1),
        ],
    )

    def body_of(stage: Stage) -> list[str]:
        return _relaxing(kernel, sweep, visitor, stage)

    parts = PartSweep(
        "beyond", "gather", "out", ALL, "const SomeRows<Vertex> rows{nullptr, a.n};",
        between=("t.loop.looked += i64(t.cells[LOOKED]);",),
    )  # fmt: skip
    start = sweep_parts(kernel, parts, body_of, [finish])
    return (
        "t.loop.epoch += 1; t.loop.entered = t.a.n; t.loop.looked = 0; t.loop.narrow = 0; "
        f"begin_output(t); {start}"
    )


def _relaxing(kernel: Kernel, sweep: Sweep, visitor: Visitor, stage: Stage) -> list[str]:
    """Return the body of a phase in which vertices are improved."""
    head = [
        "Far<Vertex, true> waiting = make_waiting(a, loop, place, cells);",
        "waiting.begin();",
    ]
    work = Work(_near(kernel, "exact"), head, {"waiting": "Far<Vertex, true>"})
    body = visitor_phase(kernel, sweep, visitor, stage, work)
    return [*body, "waiting.end();"]


def _relaxed(kernel: Kernel, direction: int) -> list[str]:
    """Return the statements after a phase in which vertices were improved."""
    return [
        "t.loop.far_size += i64(t.cells[FAR]);",
        "t.loop.processed += t.loop.looked;",
        f"record(t, 0, {direction});",
        "t.loop.step += 1;",
        *_taken(kernel),
        "choose_width(t);",
        "end_step(t);",
    ]


def _raise_threshold(kernel: Kernel, sweep: Sweep) -> list[str]:
    """Return the statements that raise the threshold: steered by load, or by whole buckets."""
    lines = [
        # Splitting costs as much as visiting some edges: the more vertices wait, the wider the
        # window.
        f"const i64 cost = {EDGES_PER_WAITING} * t.loop.far_size;",
        "if (t.loop.processed < t.a.few + cost) t.loop.delta *= 2;",
        "else if (t.loop.processed > t.a.many + 4 * cost) t.loop.delta /= 2;",
        "double raised = t.loop.threshold + t.loop.delta;",
    ]
    if kernel.options.buckets:
        lines = ["double raised = end_of_bucket(t.loop);"]
    chosen = kernel.program.next_threshold
    if chosen is not None:
        out = kernel.emitter()
        text = kernel.block_value(out, chosen, kernel.site())
        lines += [
            "const Args& a = t.a;",
            "const Loop& loop = t.loop;",
            "const Scalars& scalars = t.scalars;",
            "static_cast<void>(a); static_cast<void>(loop); static_cast<void>(scalars);",
            "const Threshold threshold{t.loop.threshold, t.loop.least, t.loop.far_size, "
            "t.loop.looked};",
            "static_cast<void>(threshold);",
            *out.lines,
            f"raised = {text};",
        ]
    lines += [
        "t.loop.processed = 0;",
        "if (!(raised > t.loop.floor)) raised = next_above(t.loop.floor);",
        "t.loop.raised = raised;",
    ]
    return lines


def _priorities(kernel: Kernel, sweep: Sweep) -> list[str]:
    """Return the declaration of the function that gives the priority of a vertex."""
    site = kernel.site()
    site.racy = racy_fields(sweep)
    overlay_pairs(kernel, site)
    out = kernel.emitter()
    text = priority_of(kernel, out, sweep.steps[0], site, {})
    return [
        "const auto priority = [&](i64 v) -> double {",
        *(f"    {line}" for line in out.lines),
        f"    return {text};",
        "};",
    ]


def _splitting(
    kernel: Kernel, sweep: Sweep, dedup: str, far: str, side: list[str], items: str
) -> list[str]:
    """Return the body of a phase that sends each vertex of a list to the near or the far side."""
    kernel.args.use("spread")
    kernel.args.use("stamp", 0)
    return [
        f"using Out = {_near(kernel, dedup)};",
        "Out out = make_output<Out>(a, loop, place, cells);",
        "out.begin();",
        f"const auto degree = {degree_functor(kernel)};",
        f"auto kept = {far}(a, loop, place, cells);",
        "kept.begin();",
        *_priorities(kernel, sweep),
        *side,
        "double* const found = a.spread + loop.tick % 3 * 3;",
        f"split_far(place, {items}, priority, side, degree, out, kept, found, found + 1);",
        "out.end(degree);",
        "kept.end();",
    ]


# The priorities that stay far, as found by a phase that split a list.
_FOUND = [
    "const double* const found = t.a.spread + t.loop.tick % 3 * 3;",
    "t.loop.least = load_relaxed(found);",
    "t.loop.mean = load_relaxed(found + 1) / load_relaxed(found + 2);",
]


def _hold_phase(kernel: Kernel, sweep: Sweep) -> str:
    """Add the phase that defers the members of the first frontier, to process them in order.

    Their window is steered as if it had been of the right width so far.
    """
    side = [
        "const auto side = [&](i64, double rank) { return rank != rank ? Side::near : Side::far; };"
    ]
    items = "Entered<Args>{a, loop}, loop.size"
    body = _splitting(kernel, sweep, "exact", "make_waiting", side, items)
    finish = kernel.decide(
        "finish_hold",
        [
            "t.loop.far_size = i64(t.cells[FAR]);",
            *_taken(kernel),
            *_FOUND,
            "if (t.loop.size == 0) {",
            "    start_from_least(t.loop, false);",
            f"    t.loop.processed = t.a.few + {EDGES_PER_WAITING} * t.loop.far_size;",
            "}",
            "choose_width(t);",
            "begin_step(t);",
        ],
    )
    return kernel.phase("hold", body, [finish])


def _split_phase(kernel: Kernel, sweep: Sweep) -> str:
    """Add the phase that splits the far list by the raised threshold."""
    # Below the old threshold it has become near since, and was queued then.
    side = [
        "const auto side = [&](i64 v, double rank) {",
        "    const bool due = !(rank >= loop.threshold), near = due || !(rank >= loop.raised);",
        "    if (near) store_relaxed(a.stamp_0 + v, 0u);  // it may wait again",
        "    return due ? Side::drop : near ? Side::near : Side::far;",
        "};",
    ]
    items = "far_of(a, loop.far), loop.far_size"
    body = _splitting(
        kernel, sweep, "proven", "make_kept", side, items
    )  # each vertex is there once
    ends = "if (t.loop.ending != 0) { t.loop.status = t.loop.ending; return; }"
    finish = kernel.decide(
        "finish_split",
        [
            "t.loop.far_size = i64(t.cells[FAR]);",
            "t.loop.far = 1 - t.loop.far;",
            *([ends] if kernel.program.observed else []),
            "t.loop.threshold = t.loop.raised;",
            "t.loop.floor = -infinity<double>();",
            *_taken(kernel),
            *_FOUND,
            "if (t.loop.size == 0 && t.loop.far_size > 0) {",
            "    start_from_least(t.loop, true);",
            "    t.loop.processed = t.a.few;",
            "}",
            "choose_width(t);",
            "begin_step(t);",
        ],
    )
    return kernel.phase("split", body, [finish])
