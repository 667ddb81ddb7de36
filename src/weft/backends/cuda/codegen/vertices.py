"""Sweeps of vertex functions, and the copying of second buffers."""

from __future__ import annotations

import itertools
from typing import Any

from weft.backends.cuda.codegen.assignments import buffers_of, functions, write_hoisted
from weft.backends.cuda.codegen.buffer_swap import turns
from weft.backends.cuda.codegen.by_key_teams import Results, team_phases, team_results
from weft.backends.cuda.codegen.edges import degree_functor, output_of
from weft.backends.cuda.codegen.gathers import gather_phases, scheduled_gather
from weft.backends.cuda.codegen.hub_table import note_hubs
from weft.backends.cuda.codegen.lanes import lanes_for, spread_lanes
from weft.backends.cuda.codegen.machine import Kernel
from weft.backends.cuda.codegen.updates import at_v, kind_of, write
from weft.plan.queries import looks_at_arcs
from weft.plan.sweeps import Sweep


def render_vertex_sweep(kernel: Kernel, sweep: Sweep, k: int, wake: str, then: str) -> str:
    """Add the phases of a sweep over the vertices of the frontier; return how it is entered.

    `wake` is "queue" where the changed vertices are the output, "all" where only their number
    counts, "neighbors" where those that gather from them are woken.
    """
    note_hubs(kernel, sweep, scheduled_gather(kernel, sweep))
    finish = _finish(kernel, sweep, k, wake, then)
    counted = wake == "all" or kernel.discards or _puts_out_nobody(sweep)
    kind = "counter" if counted else "queue"
    ready = _phases(kernel, sweep, k, kind, finish)
    if not kernel.carries_hoisted:
        ready = fill_hoisted(kernel, sweep, k, ready)
    lines = []
    if sweep.steps[0].everywhere:
        lines.append("take_everything(t);")
    lines += ["t.loop.epoch += 1;", "t.loop.entered = t.loop.size;"]
    arcs = "t.loop.dense != 0 ? t.a.arcs : t.loop.edges" if looks_at_arcs(sweep) else "0"
    lines.append(f"t.loop.looked = {arcs};")
    lines.append("begin_output(t);")
    lines.append(ready)
    return kernel.decide(f"enter_{k}", lines)


def _puts_out_nobody(sweep: Sweep) -> bool:
    """Whether the last function says `v.changed = False`: the code of a queue costs registers."""
    step = sweep.last
    told = [value.args[0] for value in step.body.body if value.op == "set_changed"]
    if step.active is not None or step.conditional or not told:
        return False
    return told[-1].op == "const" and not told[-1].attr


def _finish(kernel: Kernel, sweep: Sweep, k: int, wake: str, then: str) -> str:
    """Return the statement that follows when all vertices have run."""
    lines: list[str] = []
    if kernel.carries_hoisted:
        refill = fill_hoisted(kernel, sweep, k, f"settle_{k}(t);")
        lines.append("if (t.loop.dense != 0) { t.loop.swapped = !t.loop.swapped; }")
        lines.append(f"else {{ {refill} return; }}")
    lines.append(f"settle_{k}(t);")
    if wake == "all":
        settled = ["take_all_if_changed(t);", then]
        if kernel.program.wide:  # the edges of those that changed decide about what comes next
            settled = ["const i64 edges = t.loop.next_edges;", settled[0], "t.loop.edges = edges;"]
            settled.append(then)
    elif kernel.discards:
        settled = [then]
    else:
        following = then
        if wake == "neighbors":
            following = _wake_phase(kernel, sweep, k, then)
        number = kernel.follow(following)
        settled = [f"take_queue(t, {number}, false);"]
    kernel.decide(f"settle_{k}", settled)
    return kernel.decide(f"finish_{k}", lines)


def take_snapshots(kernel: Kernel, sweeps: list[Sweep], k: int, then: str) -> str:
    """Copy fields that the first of the sweeps, or later ones of its fold, see as they are now."""
    first = sweeps[0]
    wanted = {("field", "frozen", name) for name in first.copied}
    if first.fold_start:
        for sweep in itertools.takewhile(lambda sweep: not sweep.fold_start, sweeps[1:]):
            wanted |= {("field", "snapshot", name) for name in sweep.snapshots}
            wanted |= {("old", "old_snapshot", name) for name in sweep.old_snapshots}
    if not wanted:
        return then
    copies = [((kind, name), (copy, name), name) for kind, copy, name in sorted(wanted)]
    with kernel.spread_over(_lanes_of(kernel, copies)):
        body = [f"{kernel.for_all}(place, a.n, [&](i64 v) {{", *_copies(kernel, copies), "});"]
        return kernel.phase(f"snapshot_{k}", [*kernel.head, *body], [then])


def keep_live_old(kernel: Kernel, sweep: Sweep, k: int, then: str) -> str:
    """Keep what the live fields that a sweep changed held before, in a phase over all vertices."""
    if not sweep.live_old:
        return then
    out = kernel.emitter()
    for name in sorted(sweep.live_old):
        now, before = (at_v(kernel, (kind, name), name) for kind in ("field", "frozen"))
        with out.block(f"if (changed<{kind_of(kernel, name)}>({now}, {before}))"):
            write(kernel, out, ("old", name), name, before)
    body = [*kernel.head, f"{kernel.for_all}(place, a.n, [&](i64 v) {{"]
    return kernel.phase(f"old_{k}", [*body, *(f"    {line}" for line in out.lines), "});"], [then])


def _lanes_of(kernel: Kernel, copies: list[tuple[Any, Any, str]]) -> int:
    """Return how many lanes copy the fields of a vertex."""
    return lanes_for((kernel.types[name] for *_, name in copies), kernel.options)


def _copies(kernel: Kernel, copies: list[tuple[Any, Any, str]]) -> list[str]:
    out = kernel.emitter()
    for source, target, name in copies:
        write(kernel, out, target, name, at_v(kernel, source, name))
    return [f"    {line}" for line in out.lines]


# -- hoisted expressions


def fill_hoisted(kernel: Kernel, sweep: Sweep, k: int, then: str) -> str:
    """Fill the hidden fields of hoisted source expressions, over all vertices."""
    if not any(step.hoisted for step in sweep.steps):
        return then
    out = kernel.emitter()
    with kernel.spread_over(spread_lanes(kernel, sweep)):
        write_hoisted(kernel, out, sweep)
        body = [*kernel.head, f"{kernel.for_all}(place, a.n, [&](i64 v) {{"]
        body += [*(f"    {line}" for line in out.lines), "});"]
    return kernel.phase(f"hoist_{k}", body, [then])


def hoisted_arrays(kernel: Kernel, sweep: Sweep) -> list[tuple[str, str]]:
    """Return the arrays of the hidden fields, of this superstep and of the next."""
    use = kernel.args.use
    roots = [(name, b.results[0]) for step in sweep.steps for name, b in step.hoisted]
    return [
        (use("hidden", n, r.dtype, r.size), use("hidden", n, r.dtype, r.size, "next"))
        for n, r in roots
    ]


# -- the functions


def _phases(kernel: Kernel, sweep: Sweep, k: int, kind: str, finish: str) -> str:
    """Add the phases that run the functions; return the statement that starts them."""
    buffers = buffers_of(kernel, sweep)
    if buffers:
        copies = [(source, target, name) for name, source, target in buffers]
        with kernel.spread_over(_lanes_of(kernel, copies)):
            body = [
                *kernel.head,
                f"{kernel.for_all}(place, loop.entered, [&](i64 i) {{",
                "    const i64 v = entered_vertex(a, loop, i);",
                *_copies(kernel, copies),
                "});",
            ]
        # `finish` turns the hidden fields too, where there are any.
        turn = "" if kernel.carries_hoisted else "t.loop.swapped = !t.loop.swapped; "
        if turns(kernel, sweep) and sweep.steps[0].everywhere:
            finish = f"{turn}{finish}"
        else:
            copy = kernel.phase(f"copy_{k}", body, [finish])
            if turns(kernel, sweep):
                copy = f"if (t.loop.dense != 0) {{ {turn}{finish} }} else {{ {copy} }}"
            finish = copy
    totals = kernel.total_scalars(sweep)
    keyed = team_results(kernel, sweep, k)
    gather = None if keyed.gathers else scheduled_gather(kernel, sweep)
    if gather is not None:
        with kernel.spread_over(spread_lanes(kernel, sweep)):
            return gather_phases(kernel, sweep, k, kind, gather, totals, finish)
    with kernel.spread_over(spread_lanes(kernel, sweep)):
        body = _plain_body(kernel, sweep, kind, keyed)
    start = kernel.phase(f"vertex_{k}", body, [*totals, "keep_counts(t);", finish])
    return kernel.ready(team_phases(kernel, sweep, keyed, start), queue=True)


def _plain_body(kernel: Kernel, sweep: Sweep, kind: str, keyed: Results) -> list[str]:
    """Return the body of a phase in which every thread, or group, runs the functions."""
    out = kernel.emitter()
    functions(kernel, out, sweep, keyed.names)
    return [
        *kernel.head,
        f"using Out = {output_of(kernel, kind, exact=False)};",
        "Out out = make_output<Out>(a, loop, place, cells);",
        "out.begin();",
        f"const auto degree = {degree_functor(kernel)};",
        "static_cast<void>(degree);",
        f"struct Parts {{ {kernel.parts_struct(sweep)} }} parts;",
        "static_cast<void>(parts);",
        kernel.for_all_emitting("loop.size"),
        "    const i64 v = entered_vertex(a, loop, i);",
        *(f"    {line}" for line in (*keyed.lines, *out.lines)),
        "});",
        *kernel.publish_scalars(sweep),
        "out.end(degree);",
    ]


def _wake_phase(kernel: Kernel, sweep: Sweep, k: int, then: str) -> str:
    """Add the phase that replaces changed vertices by those that gather from them."""
    ways: set[str] = set()
    for direction in sweep.facts.gathers or {"in"}:
        ways |= {"in": {"out"}, "out": {"in"}, "both": {"in", "out"}}[direction]
    body = [
        f"using Out = {output_of(kernel, 'queue', exact=True)};",
        "Out out = make_output<Out>(a, loop, place, cells);",
        "out.begin();",
        f"const auto degree = {degree_functor(kernel)};",
        "for_all(place, loop.size, [&](i64 i) {",
        "    const i64 v = entered_vertex(a, loop, i);",
    ]
    for way in sorted(ways):
        offsets, targets = kernel.args.use("offsets", way), kernel.args.use("targets", way)
        body += [
            f"    for (i64 s = {offsets}[v]; s < {offsets}[v + 1]; ++s) {{",
            f"        out.emit_lazily({targets}[s], degree);",
            "    }",
        ]
    body += ["});", "out.end(degree);"]
    number = kernel.follow(then)
    start = kernel.phase(f"wake_{k}", body, ["keep_counts(t);", f"take_queue(t, {number}, false);"])
    return f"t.loop.epoch += 1; begin_output(t); {start}"
