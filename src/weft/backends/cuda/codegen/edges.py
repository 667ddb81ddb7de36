"""Sweeps of edge functions: push over the frontier's out-edges, pull over in-edges of acceptors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from weft.backends.cuda.codegen.directions import choose, directions_of
from weft.backends.cuda.codegen.lanes import spread_lanes
from weft.backends.cuda.codegen.machine import READY, Kernel, Side
from weft.backends.cuda.codegen.parts import (
    ALL,
    MAP,
    QUEUE,
    PartSweep,
    Stage,
    part_text,
    rows_of_sweep,
    sweep_parts,
)
from weft.backends.cuda.codegen.radix import laid_call, lay_out, laying_visitor, reduce_phases
from weft.backends.cuda.codegen.senders import render_senders
from weft.backends.cuda.codegen.sorted_pushes import (
    arcs_into,
    keep_message,
    reduce_sorted,
    sorted_visitor,
    sorts_messages,
)
from weft.backends.cuda.codegen.text import c_type, size_of
from weft.backends.cuda.codegen.updates import commit_lines, push_update
from weft.backends.cuda.codegen.visitor import Visitor
from weft.backends.cuda.codegen.visitors import pull_visitor, push_visitor
from weft.ir.check.facts import uses
from weft.ir.ops import EMIT, LIVE_WRITE
from weft.plan.counting import COUNTED
from weft.plan.queries import buffered_edges, side_of
from weft.plan.sweeps import Sweep, claim_field

CLASSES = 4  # of degrees, where a queue lies by them
IN_ORDER = "walk_in_order(place, format, rows, visitor);"
ENTERED = "const auto rows = entered_rows(a, loop);"
# What is left by the parts of a format but the last, whose counters are gone in the next phase.
KEPT = (
    "keep_counts(t);",
    "t.loop.looked += i64(t.cells[LOOKED]);",
    "t.loop.touched += i64(t.cells[FAR]);",
)


def output_of(
    kernel: Kernel, kind: str, *, exact: bool, repeats: bool = False, batch: bool = False,
    classes: bool = False,
) -> str:  # fmt: skip
    """Return the C++ type of an output that may (exact) get a vertex twice, or surely does not.

    With `repeats` queueing a vertex twice cannot be observed. A `batch` is filtered afterwards.
    """
    compaction = kernel.options.compaction if kind == "queue" else "online"
    dedup = "exact" if exact else "proven"
    if exact and repeats and kind == "queue":
        dedup = kernel.options.dedup
    if compaction == "batch":
        compaction, dedup = ("batch", "none") if batch else ("online", dedup)
    pieces = CLASSES if classes and kind == "queue" else 1
    return f"Output<Vertex, Kind::{kind}, Compaction::{compaction}, Dedup::{dedup}, {pieces}>"


def is_batch(kernel: Kernel, kind: str, direction: str) -> bool:
    """Whether what a sweep puts out goes to a batch first."""
    pushed = direction in ("push", "arcs")
    return kernel.options.compaction == "batch" and kind == "queue" and pushed


def render_edge_sweep(kernel: Kernel, sweep: Sweep, k: int, then: str) -> str:
    """Add the phases of a sweep over edges; return the statement that enters it.

    `then` is the statement that follows when its output is the frontier.
    """
    options = kernel.options
    directions = directions_of(kernel, sweep)
    push, pull = "push" in directions, "pull" in directions
    arcs = options.arcs and k == 0 and not sweep.steps[0].everywhere
    starts: dict[str, str] = {}
    if push:
        starts["push"] = _sweep_phases(kernel, sweep, k, "push", then)
        if options.narrow is not None and not (sweep.in_order or sorts_messages(sweep, options)):
            few = _sweep_phases(kernel, sweep, k, "push", then, by="narrow")
            starts["push"] = f"if (t.loop.narrow != 0) {{ {few} }} else {{ {starts['push']} }}"
    if pull:
        starts["pull"] = _sweep_phases(kernel, sweep, k, "pull", then)
    if arcs:
        starts["arcs"] = _arc_phase(kernel, sweep, k, then)
    lines = ["take_everything(t);"] if sweep.steps[0].everywhere else []
    lines += ["t.loop.epoch += 1;", "t.loop.entered = t.loop.size;", "t.loop.looked = 0;"]
    lines.append("begin_output(t);")
    if arcs:
        lines.append(f"if (t.loop.dense == 2) {{ {starts['arcs']} return; }}")
    if push and pull:
        turn = choose(kernel, sweep, k)
        turn.append(f"if (t.loop.pulling != 0) {{ {starts['pull']} }}")
        turn.append(f"else {{ {starts['push']} }}")
        lines.append(kernel.decide(f"turn_{k}", turn))
    else:
        only = directions[0] if directions else "push"
        lines.append(f"t.loop.pulling = {int(only == 'pull')};")
        lines.append(starts[only])
    return kernel.decide(f"enter_{k}", lines)


def lanes_of(kernel: Kernel, sweep: Sweep) -> int:
    """Return how many threads take one arc of a sweep together."""
    # The lanes of a group must see the same: nothing that others write meanwhile.
    if (
        "common" not in sweep.facts.ops
        or len(sweep.steps) > 1
        or sweep.mode in ("once", "online", COUNTED)
    ):
        return 1
    if any(v.op == "at_load" for v in sweep.steps[0].body.walk()):
        return 1
    for step in sweep.steps:
        for value in step.body.walk():
            # What is chosen among lanes, or one after the other in a lane: by one of them.
            if value.op in EMIT or (
                value.op == "common" and any(r.selecting for r, _, _ in value.attr)
            ):
                return 1
        used = uses(step.body)
        if any(v.op in LIVE_WRITE and used.get(id(v)) for v in step.body.walk()):
            return 1  # every lane would have to know what one of them got
    return kernel.options.lanes


def state_rows(kernel: Kernel, sweep: Sweep, loop: str = "loop") -> tuple[str, str]:
    """Return type and construction of the frontier as represented by the state."""
    claim = claim_field(sweep.steps[0])
    kind = c_type(kernel.types[claim][0])
    value = f"{kind}({loop}.origin + {sweep.rises} * {loop}.step)"
    return f"StateRows<{kind}>", f"{{{kernel.args.use('field', claim)}, {value}}}"


def mapped_rows(kernel: Kernel, name: str = "rows") -> str:
    """Return the declaration of the frontier's map as rows."""
    bits = kernel.options.map_kind == "bitmap"
    kind, view = ("BitRows", "bits_of") if bits else ("ByteRows", "bytes_of")
    return f"const {kind} {name}{{loop.dense != 0 ? nullptr : {view}(a, loop.map), a.n}};"


def inputs_of(
    kernel: Kernel, direction: str, side: Side, sweep: Sweep
) -> tuple[str, str, list[str]]:
    """Return what a sweep starts from, its rows if they are vertices, and what a pull tests by."""
    if direction == "pull":
        frontier = mapped_rows(kernel, "frontier")
        if sweep.rises:
            frontier = "const {} frontier{};".format(*state_rows(kernel, sweep))
        listed = "{nullptr, a.n}"
        if side.frontier_in == "reverse_queue":
            listed = "{reverse_of(a, loop.reverse), loop.accepting}"
        return ALL, f"const SomeRows<Vertex> rows{listed};", [frontier]
    if kernel.options.classes:
        return QUEUE, "const auto rows = class_rows(a, loop);", []
    if side.frontier_in == "queue":
        return QUEUE, ENTERED, []
    return MAP, mapped_rows(kernel), []


@dataclass(frozen=True)
class Work:
    """What a visitor works with, in every phase of its sweep."""

    output: str  # the C++ type
    head: Sequence[str] = ()  # what comes before its rows
    members: Mapping[str, str] = field(default_factory=dict)  # what else it holds: name and type
    touched: bool = False  # it identifies the receivers
    publish: bool = True  # what it counted
    batch: bool = False  # each arc has a place in the output
    later: bool = False  # arcs of the next frontier are counted when it is swept


def visitor_phase(
    kernel: Kernel, sweep: Sweep, visitor: Visitor, stage: Stage, work: Work
) -> list[str]:
    """Return the body of a phase: make output and visitor, sweep, publish what was counted."""
    later = work.later
    lines = [f"using Out = {work.output};", "Out out = make_output<Out>(a, loop, place, cells);"]
    if work.batch:
        kernel.batches = True
        lines.append(f"out.queue = {kernel.args.use('batch')} + loop.next_tail;")
        lines.append("out.capacity = (a.arcs > a.n ? a.arcs : a.n) - loop.next_tail;")
    lines += [
        "out.begin();",
        f"const auto format = {stage.format};",
        f"const auto degree = {degree_functor(kernel, later=later)};",
    ]
    given = ["a", "loop", "scalars", "place", "format", "out", "degree"]
    kind = "LaterDegree" if later else "Degree"
    visitor.members = ["const Format& format", "Out& out", f"const {kind}& degree"]
    if work.touched:
        make = "make_told" if sweep.adds else "make_touched"
        lines += [f"Touched touched = {make}(a, loop, place, cells);", "touched.begin();"]
        given.append("touched")
        kernel.args.use("touched")
        kernel.args.use("stamp", 0)
        visitor.members.append("Touched& touched")
    for name, kind in work.members.items():
        given.append(name)
        visitor.members.append(f"{kind}& {name}")
    lines += [*work.head, stage.rows]
    lines.append(f"{visitor.name}<decltype(format), Out> visitor{{{', '.join(given)}, {{}}}};")
    lines.append(stage.call)
    if work.publish:
        lines += ["auto& parts = visitor.parts;", "static_cast<void>(parts);"]
        lines += kernel.publish_scalars(sweep)
    if later:
        lines.append("out.looked = u32(visitor.looked);")
    lines.append("out.end(degree);")
    if sweep.adds and sweep.keeps_senders:
        told = "touched.append(entered_vertex(a, loop, i));"
        lines.append(f"for_all(place, loop.entered, [&](i64 i) {{ {told} }});")
    if work.touched:
        lines.append("touched.end();")
    if visitor.looks and not later:
        lines.append("count_looked(visitor.looked, cells);")
    kernel.held.add(visitor.held)
    kernel.registers = max(kernel.registers, visitor.registers)
    kernel.pieces.append("template <class Format, class Out>\n" + visitor.text())
    return lines


def degree_functor(kernel: Kernel, *, later: bool = False, first: bool = False) -> str:
    """Return what tells how many arcs a vertex of the next (or the first) frontier stands for."""
    if not later and not (kernel.counts_first if first else kernel.counts_edges):
        return "NoDegree{}"
    name = "LaterDegree" if later else "OutDegree"
    return f"{name}{{{kernel.args.use('offsets', kernel.counted)}}}"


def _sweep_phases(
    kernel: Kernel, sweep: Sweep, k: int, direction: str, then: str, by: str = ""
) -> str:
    """Add the phases of one direction; return the statement that starts them.

    `by` is the side whose schedule is taken; with it, what follows has been rendered before.
    """
    options = kernel.options
    chosen = side_of(sweep, direction)
    side = options.side(by or chosen)
    rows = rows_of_sweep(side, side.schedule.rows)
    if direction == "push" and sweep.radix:
        return _radix_push(kernel, sweep, k, then)
    if direction == "push" and sorts_messages(sweep, options):
        return _sorted_push(kernel, sweep, k, then)
    deferred, direct = sweep.mode == "deferred", direction == "pull" and sweep.direct_pull
    touched = deferred and not (direct and rows == "whole")
    exact = direction == "push" or (rows != "whole" and not deferred)
    exact &= sweep.mode != "once"  # there the swap decides which lane emits
    kind = "counter" if kernel.members_unread or (touched and not direct) else side.frontier_out
    told = direction == "pull" and sweep.rises > 0  # the frontier by the state
    if told:
        kernel.state_rows = "{}{}".format(*state_rows(kernel, sweep))
        kind = kind if options.chosen_output else "counter"
    batch = is_batch(kernel, kind, direction)
    repeats = direction == "push" and sweep.relaxes
    classes = options.classes and direction == "push"
    output = output_of(kernel, kind, exact=exact, repeats=repeats, batch=batch, classes=classes)
    if direction == "push":
        visitor, lanes = _pushing(kernel, sweep, f"{(by or direction).title()}{k}", chosen)
        members = {"marker": "Marker<Vertex>"} if visitor.marks else {}
    else:
        lanes = spread_lanes(kernel, sweep)
        with kernel.spread_over(lanes):
            visitor = pull_visitor(kernel, sweep, f"Pull{k}", rows, chosen)
        rows_of = "ByteRows" if options.map_kind == "bytemap" else "BitRows"
        members = {"frontier": f"const {state_rows(kernel, sweep)[0] if told else rows_of}"}
    finish = f"finish_{direction}_{k}(t);"
    if not by:
        finish = _finish(kernel, sweep, k, direction, _Ending(kind, then, touched))
    source, plain, head = inputs_of(kernel, direction, side, sweep)
    if visitor.marks:
        kernel.marks = True
        head = [_marker(kernel), *head]

    work = Work(
        output, head, members, touched, batch=batch,
        later=kernel.counts_later and direction == "push",
    )  # fmt: skip

    maps = kind in ("bitmap", "bytemap")

    def body_of(stage: Stage) -> list[str]:
        clear = [f"clear_spare(a, loop, place, {_words(kernel)});"] if maps else []
        return [*clear[: stage.is_first], *visitor_phase(kernel, sweep, visitor, stage, work)]

    parts = PartSweep(
        f"{by or direction}_{k}", chosen, sweep.way(direction), source, plain, turn=direction,
        kept=KEPT, lanes=lanes, by=by, between=("keep_told(t);",) if sweep.adds else (),
        call=IN_ORDER if sweep.in_order and direction == "push" else "",
    )  # fmt: skip
    start = sweep_parts(kernel, parts, body_of, [finish])
    maps = maps or (touched and side.frontier_out != "queue") or "Dedup::bitmask" in output
    return kernel.ready(
        start,
        queue=direction == "push" and side.frontier_in == "queue" and not classes,
        classes=classes,
        map_=not told and (direction == "pull" or side.frontier_in in ("bitmap", "bytemap")),
        clean=maps and not kernel.members_unread,
        reverse=_reverse_phase(kernel, sweep, k) if side.frontier_in == "reverse_queue" else "",
    )


def _pushing(kernel: Kernel, sweep: Sweep, name: str, side: str) -> tuple[Visitor, int]:
    """Return the visitor of a push, and how many lanes share an arc."""
    lanes = spread_lanes(kernel, sweep)
    with kernel.spread_over(lanes):
        if lanes == 1:
            lanes = kernel.lanes = lanes_of(kernel, sweep)
        visitor = push_visitor(kernel, sweep, name, side)
    visitor.looks = visitor.counts = kernel.counts_later
    return visitor, lanes


def _marker(kernel: Kernel) -> str:
    """Render the memory in which a block holds a row."""
    windows = str(kernel.options.row_bits).lower()
    return f"Marker<Vertex> marker(place.shared + a.marker_at, a.marker_bits, {windows});"


def _reverse_phase(kernel: Kernel, sweep: Sweep, k: int) -> str:
    """Add the phase that lists the accepting vertices; return the statement that starts it.

    Where accepting ends for good, the list of the pull before is enough to look through.
    """
    step = sweep.steps[0]
    for which in (0, 1):
        kernel.args.use("reverse_queue", which)
    out = kernel.emitter()
    test = "true"
    if step.accept is not None:
        test = kernel.block_value(out, step.accept, kernel.site(), step)
    shrinks = "loop.accepting >= 0" if sweep.mode == "once" else "false"
    body = [
        f"const bool shrinks = {shrinks};",
        "const Vertex* const seen = shrinks ? reverse_of(a, loop.reverse) : nullptr;",
        "Far<Vertex, false> list = make_reverse(a, loop, place, cells);",
        "list.begin();",
        "for_all(place, shrinks ? loop.accepting : a.n, [&](i64 i) {",
        "    const i64 v = seen == nullptr ? i : i64(seen[i]);",
        *(f"    {line}" for line in out.lines),
        f"    if ({test}) list.append(v);",
        "});",
        "list.end();",
    ]
    after = [
        "t.loop.accepting = i64(t.cells[FAR]);",
        "t.loop.reverse = !t.loop.reverse;",
        "t.loop.reversed = t.loop.epoch;",
        READY,
    ]
    return kernel.phase(f"reverse_{k}", body, after)


def _words(kernel: Kernel) -> str:
    """Return the words of 32 bits that a map has."""
    return "(a.n + 31) / 32" if kernel.options.map_kind == "bitmap" else "(a.n + 3) / 4"


def _arc_phase(kernel: Kernel, sweep: Sweep, k: int, then: str) -> str:
    """Add the phase over a frontier of arcs."""
    touched = sweep.mode == "deferred"
    kind = "counter" if kernel.members_unread or touched else kernel.options.push.frontier_out
    exact = sweep.mode != "once"
    sorts = sorts_messages(sweep, kernel.options)
    batch = is_batch(kernel, kind, "arcs")
    update = keep_message if sorts else push_update
    with kernel.spread_over(spread_lanes(kernel, sweep)):
        if sweep.radix:
            visitor = laying_visitor(kernel, sweep, f"Arcs{k}", "")
        else:
            visitor = push_visitor(kernel, sweep, f"Arcs{k}", "", update=update)
        each = "each_in_order" if sweep.in_order else kernel.for_all
    use = kernel.args.use
    ends = ["arc_source", "arc_target"]
    if sweep.turned:
        ends.reverse()
    arcs = f"ArcList<Vertex>{{{', '.join(use(name) for name in ('arc_queue', *ends))}}}"
    visits = "visitor.laid = i; " if sweep.radix else ""
    visits += "visit_arc(format, i, visitor);"
    call = f"{each}(place, loop.size, [&](i64 i) {{ {visits} }});"
    output = output_of(kernel, kind, exact=exact, batch=batch)
    work = Work(output, touched=touched and not sorts, batch=batch)
    body = visitor_phase(kernel, sweep, visitor, Stage(arcs, "", call), work)
    if sweep.radix:
        chain = f"t.loop.laid = t.loop.size; {_radix_runs(kernel, sweep, k, 'arcs', then)}"
    else:
        chain = _sorted_phase(kernel, sweep, k, "arcs", then) if sorts else ""
    finish = _finish(kernel, sweep, k, "arcs", _Ending(kind, then, touched and not sorts, chain))
    if kind in ("bitmap", "bytemap"):
        body.insert(0, f"clear_spare(a, loop, place, {_words(kernel)});")
    start = kernel.phase(f"arcs_{k}", body, [finish])
    maps = not kernel.members_unread and kernel.options.push.frontier_out != "queue"
    return kernel.ready(start, clean=maps)


# -- messages that are kept by arc and combined in the order of the slots


def _sorted_push(kernel: Kernel, sweep: Sweep, k: int, then: str) -> str:
    """Add the phases of a push without atomics; return the statement that starts them."""
    side = kernel.options.push
    visitor = push_visitor(kernel, sweep, f"Push{k}", "push", update=keep_message)
    chain = _sorted_phase(kernel, sweep, k, "push", then)
    finish = _finish(kernel, sweep, k, "push", _Ending("counter", then, chain=chain))

    source, plain, head = inputs_of(kernel, "push", side, sweep)

    work = Work(output_of(kernel, "counter", exact=False), head)

    def body_of(stage: Stage) -> list[str]:
        return visitor_phase(kernel, sweep, visitor, stage, work)

    way = sweep.way("push")
    parts = PartSweep(f"push_{k}", "push", way, source, plain, turn="push", kept=KEPT)
    start = sweep_parts(kernel, parts, body_of, [finish])
    return kernel.ready(
        start,
        queue=side.frontier_in == "queue",
        map_=side.frontier_in in ("bitmap", "bytemap"),
        clean=side.frontier_out != "queue" and not kernel.members_unread,
    )


def _radix_push(kernel: Kernel, sweep: Sweep, k: int, then: str) -> str:
    """Add the phases of a push whose messages are sorted; return the statement that starts them."""
    chain = _radix_runs(kernel, sweep, k, "push", then)
    finish = _finish(kernel, sweep, k, "push", _Ending("counter", then, chain=chain))
    visitor = laying_visitor(kernel, sweep, f"Push{k}", "push")
    work = Work(output_of(kernel, "counter", exact=False))
    call = laid_call(kernel)
    stage = Stage(part_text(kernel, "push", sweep.way("push"), 0), "", call)
    body = visitor_phase(kernel, sweep, visitor, stage, work)
    start = lay_out(kernel, sweep, k, body, [finish])
    clean = kernel.options.push.frontier_out != "queue" and not kernel.discards
    return kernel.ready(start, queue=True, clean=clean)


def _radix_runs(kernel: Kernel, sweep: Sweep, k: int, direction: str, then: str) -> str:
    """Add the phases that sort and reduce what the arcs left; return how they start."""
    kind = "counter" if kernel.discards else kernel.options.push.frontier_out
    clear = []
    if kind in ("bitmap", "bytemap"):
        clear = [f"clear_spare(a, loop, place, {_words(kernel)});"]
    work = Work(output_of(kernel, kind, exact=False), publish=False)

    def body_of(visitor: Visitor, stage: Stage) -> list[str]:
        return visitor_phase(kernel, sweep, visitor, stage, work)

    collect = _collect(kernel, sweep, k, f"{direction}_sorted", kind, then)
    return " ".join(reduce_phases(kernel, sweep, k, direction, body_of, clear, collect))


def _sorted_phase(kernel: Kernel, sweep: Sweep, k: int, direction: str, then: str) -> str:
    """Add the phase that combines the kept messages of each vertex; return how it starts."""
    kind = "counter" if kernel.members_unread else kernel.options.push.frontier_out
    visitor = sorted_visitor(kernel, sweep, f"Sorted{k}_{direction}")
    work = Work(output_of(kernel, kind, exact=False), publish=False)
    call = reduce_sorted(kernel, sweep)
    stage = Stage(arcs_into(kernel, sweep), "", call)
    body = visitor_phase(kernel, sweep, visitor, stage, work)
    if kind in ("bitmap", "bytemap"):
        body.insert(0, f"clear_spare(a, loop, place, {_words(kernel)});")
    collect = _collect(kernel, sweep, k, f"{direction}_sorted", kind, then)
    return kernel.phase(f"sorted_{direction}_{k}", body, [collect])


@dataclass(frozen=True)
class _Ending:
    """What comes after a sweep: `chain`, or the new frontier, and `then` the next superstep."""

    kind: str  # of output
    then: str
    touched: bool = False  # the messages are committed in a phase of their own
    chain: str = ""


def _finish(kernel: Kernel, sweep: Sweep, k: int, direction: str, ending: _Ending) -> str:
    """Return what follows a sweep: counters, second buffers, the ending."""
    kind, then, touched, chain = ending.kind, ending.then, ending.touched, ending.chain
    lines = [*kernel.total_scalars(sweep)]
    lines.append("t.loop.looked += i64(t.cells[LOOKED]);")
    if direction == "push" and kernel.counts_later:
        lines[-1] = "keep_looked(t);"
    elif direction != "pull":
        lines[-1] = "t.loop.looked = t.loop.edges;"
    elif sweep.early_exit:
        reach = "(t.a.arcs - t.loop.explored)" if sweep.mode == "once" else "t.a.arcs"
        lines.append(f"t.loop.share = share_of(t.loop.looked, {reach});")
    buffered = sorted(buffered_edges(sweep))
    if buffered and sweep is kernel.turning:
        lines.append("t.loop.swapped = !t.loop.swapped;")
        buffered = []
    if touched or chain or buffered:  # the counters of the sweep are gone after another phase
        lines.append("keep_counts(t);")
    if sweep.adds:
        lines.append("keep_told(t);")
        chain = _collect(kernel, sweep, k, f"{direction}_told", "queue", then)
    elif touched and not chain:
        chain = _commit_phase(kernel, sweep, k, direction, kind, then)
        lines.append("t.loop.touched += i64(t.cells[FAR]);")
    elif not chain:
        chain = _collect(kernel, sweep, k, direction, kind, then)
    for name in buffered:
        chain = kernel.phase(
            f"copy_{name}_{k}_{direction}", _copied_states(kernel, sweep, name, direction), [chain]
        )
    lines.append(chain)
    return kernel.decide(f"finish_{direction}_{k}", lines)


def _copied_states(kernel: Kernel, sweep: Sweep, name: str, direction: str) -> list[str]:
    """Return the body of a phase that copies an edge state's second buffer back."""
    size = size_of(kernel.edge_types[name][1])
    source, target = kernel.args.use("edge_next", name), kernel.args.use("edge_state", name)
    everything = f"for_all(place, a.arcs * {size}, [&](i64 i) {{ {target}[i] = {source}[i]; }});"
    queued = kernel.options.push.frontier_in == "queue" and not kernel.options.classes
    way = sweep.way("push")
    if direction != "push" or not queued or not kernel.traits.arcs_are_slots(way):
        return [everything]
    offsets = kernel.args.use("offsets", way)
    return [  # the arcs of the senders alone
        f"if (loop.dense != 0) {{ {everything} return; }}",
        "for_groups<warp_size>(place, loop.entered, [&](i64 i) {",
        "    const i64 u = entered_vertex(a, loop, i);",
        f"    const i64 end = {offsets}[u + 1] * {size};",
        f"    for (i64 at = {offsets}[u] * {size} + lane_id(); at < end; at += warp_size) {{",
        f"        {target}[at] = {source}[at];",
        "    }",
        "});",
    ]


def _collect(kernel: Kernel, sweep: Sweep, k: int, direction: str, kind: str, then: str) -> str:
    """Return the statement that makes the output of a sweep the frontier."""
    if direction == "pull" and sweep.rises and kind == "counter":
        lines = ["keep_counts(t);", "state_taken(t.loop);", then]
    elif kernel.counts:
        lines = ["keep_counts(t);", "take_all_if_changed(t);", then]
    elif kernel.discards or kind == "counter":
        lines = ["t.loop.next_tail = 0;", "t.loop.size = 0;", then]
    elif kind == "queue" and kernel.options.classes and direction.startswith("push"):
        lines = [f"classes_taken(t, {str(sweep.mode == 'once').lower()});", then]
    elif kind == "queue":
        take = "take_batch" if is_batch(kernel, kind, direction) else "take_queue"
        lines = [
            "keep_counts(t);",
            f"{take}(t, {kernel.follow(then)}, {str(sweep.mode == 'once').lower()});",
        ]
        if kernel.counts_later and direction == "push":
            lines = ["keep_uncounted(t);", f"{take}(t, {kernel.follow(then)}, false);"]
        if kernel.options.dedup == "bitmask" and sweep.relaxes:
            lines.insert(0, "t.loop.clean = 0;")
    else:
        lines = ["keep_counts(t);", f"take_map(t, {str(sweep.mode == 'once').lower()});", then]
    return kernel.decide(f"collect_{direction}_{k}", lines)


def _commit_phase(
    kernel: Kernel, sweep: Sweep, k: int, direction: str, kind: str, then: str
) -> str:
    """Add the phase that combines what vertices got; return the statement that starts it."""
    out_kind = "counter" if kernel.members_unread else "queue"
    side = kernel.options.push if direction != "pull" else kernel.options.pull
    if not kernel.members_unread:
        out_kind = side.frontier_out
    if direction == "pull" and kind not in ("counter", out_kind):
        out_kind = kind
    classes = kernel.options.classes and direction == "push"
    with kernel.spread_over(spread_lanes(kernel, sweep)):
        body = [
            *kernel.head,
            f"using Out = {output_of(kernel, out_kind, exact=False, classes=classes)};",
            "Out out = make_output<Out>(a, loop, place, cells);",
            "out.begin();",
            f"const auto degree = {degree_functor(kernel)};",
            "static_cast<void>(degree);",
            kernel.for_all_emitting("loop.touched"),
            f"    const i64 v = {kernel.args.use('touched')}[i];",
            *(f"    {line}" for line in commit_lines(kernel, sweep)),
            "});",
            *(render_senders(kernel) if sweep.keeps_senders else ()),
            "out.end(degree);",
        ]
    if out_kind in ("bitmap", "bytemap") and kind == "counter":
        body.insert(0, f"clear_spare(a, loop, place, {_words(kernel)});")
    collect = _collect(kernel, sweep, k, f"{direction}_commit", out_kind, then)
    return kernel.phase(f"commit_{direction}_{k}", body, [collect])
