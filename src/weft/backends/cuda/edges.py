"""Sweeps of edge functions: push over the frontier's out-edges, pull over in-edges of acceptors."""

from __future__ import annotations

from weft.backends.cuda.kernel import Kernel, Side
from weft.backends.cuda.updates import commit_lines
from weft.backends.cuda.visitors import Visitor, buffered_edges, pull_visitor, push_visitor
from weft.backends.rules import COST, RULES
from weft.ir.plan import Sweep


def refused(sweep: Sweep, direction: str) -> str:
    """Return why a sweep cannot go in a direction, or nothing."""
    return sweep.push_refused if direction == "push" else sweep.pull_refused


def directions_of(kernel: Kernel, sweep: Sweep) -> list[str]:
    """Return the directions in which a sweep can go."""
    return [d for d in kernel.options.directions if not refused(sweep, d)]


def output_of(kernel: Kernel, kind: str, *, exact: bool) -> str:
    """Return the C++ type of an output that may (exact) get a vertex twice, or surely does not."""
    options = kernel.options
    dedup = options.dedup if exact else "proven"
    compaction = options.compaction
    if kind != "queue":
        compaction = "online"
        dedup = "exact" if exact else "proven"
    if compaction == "batch":
        dedup = "none"
    return f"Output<Vertex, Kind::{kind}, Compaction::{compaction}, Dedup::{dedup}, 1>"


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
    if pull:
        starts["pull"] = _sweep_phases(kernel, sweep, k, "pull", then)
    if arcs:
        starts["arcs"] = _arc_phase(kernel, sweep, k, then)
    lines: list[str] = []
    if sweep.steps[0].everywhere:
        lines.append("take_everything(t);")
    lines += ["t.loop.epoch += 1;", "t.loop.entered = t.loop.size;", "t.loop.looked = 0;"]
    lines.append("begin_output(t);")
    if arcs:
        lines.append(f"if (t.loop.dense == 2) {{ {starts['arcs']} return; }}")
    if push and pull:
        lines += _choose(kernel, sweep)
        lines.append(f"if (t.loop.pulling != 0) {{ {starts['pull']} }}")
        lines.append(f"else {{ {starts['push']} }}")
    else:
        only = directions[0] if directions else "push"
        lines.append(f"t.loop.pulling = {int(only == 'pull')};")
        lines.append(starts[only])
    return kernel.decide(f"enter_{k}", lines)


def _choose(kernel: Kernel, sweep: Sweep) -> list[str]:
    """Choose the direction: by the edges that each would look at (rule 36), or a published rule."""
    rule = kernel.options.rule
    once = sweep.mode == "once"
    left = "(t.a.arcs - t.loop.explored)" if once else "t.a.arcs"
    push = "(t.loop.edges + t.loop.size)"
    if rule != COST:
        chosen = RULES[rule]
        return [
            "const i64 n = t.a.n, m = t.a.arcs, size = t.loop.size, edges = t.loop.edges;",
            f"const i64 left = {left};",
            f"const bool turns = t.loop.pulling != 0 ? {chosen.to_push} : {chosen.to_pull};",
            "if (turns) t.loop.pulling = !t.loop.pulling;",
            *(f"static_cast<void>({name});" for name in ("n", "m", "size", "edges", "left")),
        ]
    share = " * t.loop.share / 1024" if sweep.early_exit else ""
    return [
        f"const i64 push_cost = {push} * {3 if sweep.mode == 'deferred' else 1};",
        f"const i64 pull_cost = {left}{share} + t.a.n / 32;",
        "if (t.loop.pulling != 0) {",
        "    t.loop.pulling = pull_cost < push_cost + push_cost / 2;",
        "} else {",
        "    t.loop.pulling = pull_cost + pull_cost / 4 < push_cost;",
        "}",
    ]


def format_of(kernel: Kernel, side: Side, way: str) -> str:
    """Return the construction of a format over the arcs of one direction."""
    parts = ", ".join(kernel.args.use(part, way) for part in side.format.parts)
    return f"{side.format.struct}<Vertex>{{{parts}, a.n, a.arcs}}"


def _memory(kernel: Kernel, side: Side, name: str) -> str:
    parts = side.schedule.workspace(1, 1)
    uses = ", ".join(kernel.args.use("schedule", name, part[0]) for part in parts)
    return f"{{{uses}}}"


def sweep_call(kernel: Kernel, side: Side, name: str, part: int) -> str:
    """Return the call of one phase of a schedule with `rows` and `visitor`."""
    struct = f"{side.schedule.struct}<{side.format.struct}<Vertex>, 1>"
    memory = f"typename {struct}::Memory{_memory(kernel, side, name)}"
    return (
        f"{struct}::template run<{part}>(place, knobs_of(a), {memory.replace('typename ', '')}, "
        f"format, rows, visitor);"
    )


def _inputs(kernel: Kernel, direction: str, side: Side) -> list[str]:
    """Return the rows of a sweep, and what a pull tests its sources by."""
    kind = kernel.options.map_kind
    words = "bits_of(a, loop.map)" if kind == "bitmap" else "bytes_of(a, loop.map)"
    rows = "BitRows" if kind == "bitmap" else "ByteRows"
    chosen = f"loop.dense != 0 ? nullptr : {words}"
    if direction == "pull":
        lines = [f"const {rows} frontier{{{chosen}, a.n}};"]
        if side.frontier_in == "reverse_queue":
            lines.append(
                "const SomeRows<Vertex> rows{reverse_of(a, loop.reverse), loop.accepting};"
            )
        else:
            lines.append("const SomeRows<Vertex> rows{nullptr, a.n};")
        return lines
    if side.frontier_in == "queue":
        return [
            "const SomeRows<Vertex> rows{loop.dense != 0 ? nullptr : queue_of(a, loop.queue), "
            "loop.size};"
        ]
    return [f"const {rows} rows{{{chosen}, a.n}};"]


def visitor_phase(
    kernel: Kernel, sweep: Sweep, visitor: Visitor, *, output: str, touched: bool, head: list[str],
    call: str, format_: str, members: dict[str, str] | None = None, publish: bool = True,
) -> list[str]:  # fmt: skip
    """Return the body of a phase: make output and visitor, sweep, publish what was counted."""
    lines = [
        f"using Out = {output};",
        "Out out = make_output<Out>(a, loop, place, cells);",
        "out.begin();",
        f"const auto format = {format_};",
        f"const auto degree = {degree_functor(kernel)};",
    ]
    given = ["a", "loop", "scalars", "place", "format", "out", "degree"]
    visitor.members = ["const Format& format", "Out& out", "const Degree& degree"]
    if touched:
        lines += ["Touched touched = make_touched(a, loop, place, cells);", "touched.begin();"]
        given.append("touched")
        kernel.args.use("touched")
        kernel.args.use("stamp", 0)
        visitor.members.append("Touched& touched")
    for name, kind in (members or {}).items():
        given.append(name)
        visitor.members.append(f"{kind}& {name}")
    lines += head
    lines.append(f"{visitor.name}<decltype(format), Out> visitor{{{', '.join(given)}, {{}}}};")
    lines.append(call)
    if publish:
        lines += ["auto& parts = visitor.parts;", "static_cast<void>(parts);"]
        lines += kernel.publish_scalars(sweep)
    lines.append("out.end();")
    if touched:
        lines.append("touched.end();")
    lines.append("count_looked(visitor.looked, cells);")
    kernel.pieces.append("template <class Format, class Out>\n" + visitor.text())
    return lines


def degree_functor(kernel: Kernel) -> str:
    """Return what tells the out-degree of a vertex of the next frontier."""
    if kernel.counts_edges and kernel.traits.keep != "in":
        return f"OutDegree{{{kernel.args.use('offsets', 'out')}}}"
    return "NoDegree{}"


def _sweep_phases(kernel: Kernel, sweep: Sweep, k: int, direction: str, then: str) -> str:
    """Add the phases of one direction; return the statement that starts them."""
    options = kernel.options
    side = options.push if direction == "push" else options.pull
    way = "out" if direction == "push" else "in"
    rows = side.schedule.rows
    name = f"{direction}_{k}"
    deferred = sweep.mode == "deferred"
    direct = direction == "pull" and sweep.direct_pull
    touched = deferred and not (direct and rows == "whole")
    exact = direction == "push" or (rows != "whole" and sweep.mode != "deferred")
    if sweep.mode == "once":
        exact = False  # the swap decides who emits
    kind = "counter" if kernel.discards or (touched and not direct) else side.frontier_out
    output = output_of(kernel, kind, exact=exact)
    if direction == "push":
        visitor = push_visitor(kernel, sweep, f"Push{k}")
        members: dict[str, str] = {}
    else:
        visitor = pull_visitor(kernel, sweep, f"Pull{k}", rows)
        members = {"frontier": "const ByteRows" if options.map_kind == "bytemap" else "const BitRows"}
    finish = _finish(kernel, sweep, k, direction, kind, touched, then)
    count = side.schedule.phases
    numbers = [len(kernel.phases) + i for i in range(count)]
    head = _inputs(kernel, direction, side)
    for part in range(count):
        pieces = len(kernel.pieces)
        body = visitor_phase(
            kernel, sweep, visitor, output=output, touched=touched, head=head,
            call=sweep_call(kernel, side, direction, part), format_=format_of(kernel, side, way),
            members=members,
        )  # fmt: skip
        if kind in ("bitmap", "bytemap") and part == count - 1:
            body.insert(0, f"clear_spare(a, loop, place, {_words(kernel)});")
        if part > 0:
            del kernel.pieces[pieces:]
        last = part == count - 1
        after = [finish] if last else [f"t.loop.phase = {numbers[part + 1]};"]
        kernel.phase(f"{name}_{part}" if count > 1 else name, body, after, direction)
    start = f"t.loop.phase = {numbers[0]};"
    maps = kind in ("bitmap", "bytemap") or (touched and side.frontier_out != "queue")
    return kernel.ready(
        start,
        queue=direction == "push" and side.frontier_in == "queue",
        map_=direction == "pull" or side.frontier_in in ("bitmap", "bytemap"),
        clean=maps and not kernel.discards,
        reverse=_reverse_phase(kernel, sweep, k) if side.frontier_in == "reverse_queue" else "",
    )


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
        test = kernel.block_value(out, step.accept, kernel.site("in"), step)
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
        "ready(t);",
    ]
    return kernel.phase(f"reverse_{k}", body, after)


def _words(kernel: Kernel) -> str:
    """Return the words of 32 bits that a map has."""
    return "(a.n + 31) / 32" if kernel.options.map_kind == "bitmap" else "(a.n + 3) / 4"


def _arc_phase(kernel: Kernel, sweep: Sweep, k: int, then: str) -> str:
    """Add the phase over a frontier of arcs."""
    touched = sweep.mode == "deferred"
    kind = "counter" if kernel.discards or touched else kernel.options.push.frontier_out
    exact = sweep.mode != "once"
    visitor = push_visitor(kernel, sweep, f"Arcs{k}", by_arcs=True)
    use = kernel.args.use
    arcs = f"ArcList<Vertex>{{{use('arc_queue')}, {use('arc_source')}, {use('arc_target')}}}"
    call = "for_all(place, loop.size, [&](i64 i) { visit_arc(format, i, visitor); });"
    body = visitor_phase(
        kernel, sweep, visitor, output=output_of(kernel, kind, exact=exact), touched=touched,
        head=[], call=call, format_=arcs,
    )  # fmt: skip
    finish = _finish(kernel, sweep, k, "arcs", kind, touched, then)
    return kernel.phase(f"arcs_{k}", body, [finish])


def _finish(
    kernel: Kernel, sweep: Sweep, k: int, direction: str, kind: str, touched: bool, then: str
) -> str:
    """Return what follows a sweep: counters, second buffers, the new frontier."""
    lines = [*kernel.total_scalars(sweep)]
    lines.append("t.loop.looked = i64(t.cells[LOOKED]);")
    if direction != "pull":
        lines[-1] = "t.loop.looked = t.loop.edges;"
    elif sweep.early_exit:
        reach = "(t.a.arcs - t.loop.explored)" if sweep.mode == "once" else "t.a.arcs"
        lines.append(f"t.loop.share = share_of(t.loop.looked, {reach});")
    chain = _collect(kernel, sweep, k, direction, kind, then)
    commits = touched
    if commits:
        chain = _commit_phase(kernel, sweep, k, direction, kind, then)
        lines.append("t.loop.touched = i64(t.cells[FAR]);")
        lines.append("keep_counts(t);")
    for name in sorted(buffered_edges(sweep)):
        _, shape = kernel.edge_types[name]
        source, target = kernel.args.use("edge_next", name), kernel.args.use("edge_state", name)
        size = 1
        for extent in shape:
            size *= extent
        body = [f"for_all(place, a.arcs * {size}, [&](i64 i) {{ {target}[i] = {source}[i]; }});"]
        # The counters of the sweep are gone after another phase: keep them.
        chain = f"keep_counts(t); {kernel.phase(f'copy_{name}_{k}_{direction}', body, [chain])}"
    lines.append(chain)
    return kernel.decide(f"finish_{direction}_{k}", lines)


def _collect(kernel: Kernel, sweep: Sweep, k: int, direction: str, kind: str, then: str) -> str:
    """Return the statement that makes the output of a sweep the frontier."""
    if kernel.discards or kind == "counter":
        lines = ["t.loop.next_tail = 0;", "t.loop.size = 0;", then]
    elif kind == "queue":
        lines = ["keep_counts(t);", f"take_queue(t, {kernel.follow(then)}, {_once(sweep)});"]
    else:
        lines = ["keep_counts(t);", f"take_map(t, {_once(sweep)});", then]
    return kernel.decide(f"collect_{direction}_{k}", lines)


def _once(sweep: Sweep) -> str:
    return "true" if sweep.mode == "once" else "false"


def _commit_phase(
    kernel: Kernel, sweep: Sweep, k: int, direction: str, kind: str, then: str
) -> str:
    """Add the phase that combines what vertices got; return the statement that starts it."""
    out_kind = "counter" if kernel.discards else "queue"
    side = kernel.options.push if direction != "pull" else kernel.options.pull
    if not kernel.discards:
        out_kind = side.frontier_out
    if direction == "pull" and kind not in ("counter", out_kind):
        out_kind = kind
    body = [
        f"using Out = {output_of(kernel, out_kind, exact=False)};",
        "Out out = make_output<Out>(a, loop, place, cells);",
        "out.begin();",
        f"const auto degree = {degree_functor(kernel)};",
        "static_cast<void>(degree);",
        "for_all(place, loop.touched, [&](i64 i) {",
        f"    const i64 v = {kernel.args.use('touched')}[i];",
        *(f"    {line}" for line in commit_lines(kernel, sweep)),
        "});",
        "out.end();",
    ]
    if out_kind in ("bitmap", "bytemap") and kind == "counter":
        body.insert(0, f"clear_spare(a, loop, place, {_words(kernel)});")
    collect = _collect(kernel, sweep, k, f"{direction}_commit", out_kind, then)
    return kernel.phase(f"commit_{direction}_{k}", body, [collect])
