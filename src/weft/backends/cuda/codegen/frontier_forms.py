"""One form of a frontier from another, and how the next frontier is taken.

A queue may lie in one piece, or in four by the degree of its vertices (`Options.classes`): then the
schedule takes the rows as they were discovered and need not sort them. See `takes_classes`.
"""

from __future__ import annotations

from weft.backends.cuda.codegen.edges import CLASSES, degree_functor
from weft.backends.cuda.codegen.machine import READY, Kernel, Options
from weft.ir.ops import Program
from weft.plan.sweeps import Sweep

WIDE = "t.loop.narrow = 0;"  # before a phase that looks at all vertices
CLASSES_OUT = f"Output<Vertex, Kind::queue, Compaction::online, Dedup::proven, {CLASSES}>"


def takes_classes(program: Program, sweeps: list[Sweep], options: Options) -> bool:
    """Whether pushes take queues by degree class, as the sweep before them left them.

    Nothing else may read the queue: the program is one edge function to the fixpoint. A vertex
    comes once, so that the degrees bound how many there are of a class.
    """
    push, sweep = options.push, sweeps[0]
    alone = program.mode == "iterate" and len(program.steps) == 1 and not program.refill
    plain = not (program.trail or options.arcs or options.deterministic or sweep.push_refused)
    queues = push.frontier_in == push.frontier_out == "queue" and options.dedup == "exact"
    return (
        alone and plain and queues and sweep.kind == "edge" and "push" in options.directions
        and not sweep.steps[0].everywhere
        and push.schedule.takes_classes and not push.format.splits and options.narrow is None
        and options.compaction in ("online", "atomic") and options.combine == "atomic"
    )  # fmt: skip


def class_starts(n: int, arcs: int, degrees: tuple[int, int, int]) -> dict[str, int]:
    """Return where the pieces of a queue begin and the last one ends: each as long as it can get.

    Examples
    --------
    >>> class_starts(1000, 6400, (32, 1024, 65536))
    {'class_1': 1000, 'class_2': 1200, 'class_3': 1206, 'class_4': 1206}
    """
    ends = [n]
    for degree in degrees:
        ends.append(ends[-1] + min(n, arcs // max(1, degree)))
    return {f"class_{k}": end for k, end in enumerate(ends, 1)}


def map_member(kernel: Kernel) -> str:
    """Return the test whether a vertex is in the frontier, where that is a map."""
    if kernel.options.map_kind == "bitmap":
        return "BitmapMember{bits_of(a, loop.map)}"
    return "BytemapMember{bytes_of(a, loop.map)}"


def render_conversions(kernel: Kernel) -> None:
    """Add the phases that bring a frontier into the form wanted, and the decisions about them."""
    bits = kernel.options.map_kind == "bitmap"
    view = "bits_of" if bits else "bytes_of"
    words = "(a.n + 31) / 32" if bits else "(a.n + 3) / 4"
    member = kernel.state_rows or map_member(kernel)
    degree = "NoDegree{}"
    phases: dict[str, str] = {}
    starts = kernel.starts
    if any(start.map for start in starts):
        to_map = f"queue_to_{'bitmap' if bits else 'bytemap'}"
        body = [f"{to_map}(place, queue_of(a, loop.queue), loop.size, {view}(a, loop.map));"]
        if kernel.options.classes:
            body = [
                "const auto rows = class_rows(a, loop);",
                "for (u32 c = 0; loop.classed != 0 && c < rows.classes; ++c) {",
                f"    {to_map}(place, rows.items + rows.first(c), rows.count(c), "
                f"{view}(a, loop.map));",
                "}",
                f"if (loop.classed == 0) {body[0]}",
            ]
        phases["SET_MAP"] = kernel.phase("set_map", body, ["t.loop.mapped = 1;", READY])
        phases["CLEAR_MAP"] = kernel.phase(
            "clear_map",
            [f"clear_words(place, map_of(a, loop.map), {words});",
             f"clear_words(place, map_of(a, loop.map + 1), {words});"],
            ["t.loop.clean = 1;", phases["SET_MAP"]],
        )  # fmt: skip
    if any(start.clean for start in starts):
        phases["CLEAR_NEXT"] = kernel.phase(
            "clear_next",
            [f"clear_words(place, map_of(a, loop.map + 1), {words});"],
            ["t.loop.clean = 1;", READY],
        )
    told = bool(kernel.state_rows)
    makes_maps = told or kernel.takes_maps or any(start.map or start.clean for start in starts)
    if makes_maps and any(start.queue or (start.map and told) for start in starts):
        write = kernel.phase(
            "queue_write",
            [f"write_members(place, a.n, {member}, a.counts, "
             f"queue_of(a, loop.queue), {degree}, cells);"],
            ["t.loop.queued = 1;", READY],
        )  # fmt: skip
        phases["QUEUE"] = kernel.phase(
            "queue_count",
            [f"count_members(place, a.n, {member}, a.counts);"],
            [write],
        )
    if any(start.classes for start in starts):
        phases["CLASSIFY"] = _classify(kernel, member if makes_maps else "")
    for name in ("QUEUE", "CLEAR_MAP", "CLEAR_NEXT"):
        if name in phases:
            phases[name] = f"{WIDE} {phases[name]}"
    kernel.decide("ready", _decisions(kernel, phases))
    _queue_taking(kernel)


def _decisions(kernel: Kernel, phases: dict[str, str]) -> list[str]:
    """Return what each sweep does before it starts: the conversions that it still lacks."""
    lines = ["switch (t.loop.back) {"]
    for number, start in enumerate(kernel.starts):
        lines.append(f"case {number}:")
        if start.classes:
            wide = f"if (t.loop.queued == 0) {{ {WIDE} }}"
            lines.append(f"    if (t.loop.classed == 0) {{ {wide} {phases['CLASSIFY']} return; }}")
        if start.queue and "QUEUE" in phases:
            lines.append(
                f"    if (t.loop.dense == 0 && t.loop.queued == 0) {{ {phases['QUEUE']} return; }}"
            )
        if start.map:
            wanted = "t.loop.dense == 0 && t.loop.mapped == 0"
            if kernel.state_rows:
                listed = "t.loop.queued + t.loop.classed"
                lines.append(f"    if ({wanted} && {listed} == 0) {{ {phases['QUEUE']} return; }}")
            lines.append(f"    if ({wanted}) {{ {phases['CLEAR_MAP']} return; }}")
        if start.clean:
            lines.append(f"    if (t.loop.clean == 0) {{ {phases['CLEAR_NEXT']} return; }}")
        if start.reverse:
            lines.append(f"    if (t.loop.reversed != t.loop.epoch) {{ {start.reverse} return; }}")
        lines.append(f"    {start.statement}")
        lines.append("    break;")
    return [*lines, "default:", "    break;", "}"]


def _classify(kernel: Kernel, member: str) -> str:
    """Add the phase that lists a frontier by degree class; return the statement that starts it.

    The frontier is everything, a queue, or represented by a map or the state.
    """
    body = [
        f"using Out = {CLASSES_OUT};",
        "Out out = make_plain_output<Out>(a, loop, place, cells);",
        "out.begin();",
        f"const auto degree = OutDegree{{{kernel.args.use('offsets', kernel.counted)}}};",
        "const auto list = [&](i64 v) { out.emit_lazily(v, degree); };",
        "if (loop.dense != 0) for_all(place, a.n, list);",
        "else if (loop.queued != 0) for_all(place, loop.size, "
        "[&](i64 i) { list(queue_of(a, loop.queue)[i]); });",
    ]
    if member:
        body += [
            "else {",
            f"    const auto member = {member};",
            "    for_all(place, a.n, [&](i64 v) { if (member(v)) list(v); });",
            "}",
        ]
    return kernel.phase("classify", [*body, "out.end(degree);"], ["classes_filled(t);", READY])


def _queue_taking(kernel: Kernel) -> None:
    """Add what makes the filled queue the frontier, rebuilding it where needed."""
    options = kernel.options
    rebuilds = options.compaction in ("ballot", "jit") or options.dedup in (
        "none", "bitmask", "history", "warp",
    )  # fmt: skip
    following = ["switch (t.loop.following) {"]
    for number, then in enumerate(kernel.thens):
        following += [f"case {number}:", f"    {then}", "    break;"]
    following += ["default:", "    break;", "}"]
    kernel.decide("follow", following)
    lines = []
    if rebuilds and kernel.thens:
        degree = degree_functor(kernel)
        member = "StampMember{a.stamps, u32(loop.epoch)}"
        write = kernel.phase(
            "rebuild_write",
            [f"write_members(place, a.n, {member}, a.counts, next_queue_of(a, loop), "
             f"{degree}, cells);"],
            ["begin_output(t);", "keep_counts(t);", "settle_queue(t);"],
        )  # fmt: skip
        count = kernel.phase(
            "rebuild_count", [f"count_members(place, a.n, {member}, a.counts);"], [write]
        )
        when = "true" if options.compaction == "ballot" else "t.loop.overflow != 0"
        lines.append(f"if ({when}) {{ t.loop.rebuilt = 1; {WIDE} {count} return; }}")
    lines.append("settle_queue(t);")
    takes = {"take_queue": lines}
    if kernel.batches and kernel.thens:
        degree = degree_functor(kernel)
        body = [
            "using Out = Output<Vertex, Kind::queue, Compaction::online, Dedup::exact, 1>;",
            "Out out = make_plain_output<Out>(a, loop, place, cells);",
            "out.begin();",
            f"filter_batch(place, {kernel.args.use('batch')}, loop.next_tail, {degree}, out);",
            f"out.end({degree});",
        ]
        start = kernel.phase(
            "filter", body, ["begin_output(t);", "keep_counts(t);", "settle_queue(t);"]
        )
        takes["take_batch"] = [start]
    for name, lines in takes.items():
        kernel.decisions.append(
            f"    static WEFT_DEVICE void {name}(Turn& t, i64 number, bool once) {{\n"
            "        t.loop.following = number;\n"
            "        t.loop.once = once;\n"
            + "".join(f"        {line}\n" for line in lines)
            + "    }"
        )
    kernel.decide("settle_queue", ["queue_taken(t);", "follow(t);"])
    kernel.decisions.append(
        "    static WEFT_DEVICE void take_map(Turn& t, bool once) { map_taken(t.loop, once); }"
    )
