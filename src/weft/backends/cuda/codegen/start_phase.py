"""The first phase of a run: the frontier's edges are counted, and proofs about the start checked.

The device determines what the host would otherwise have to read back: a run from a given frontier
starts without waiting for an answer.
"""

from __future__ import annotations

from weft.backends.cuda.codegen.edges import degree_functor
from weft.backends.cuda.codegen.frontier_forms import map_member
from weft.backends.cuda.codegen.machine import Kernel
from weft.plan.queries import MOST_ADDED
from weft.plan.sweeps import Sweep, claim_field


def render_beginning(kernel: Kernel, sweeps: list[Sweep], closed: frozenset[str]) -> None:
    """Put the phase before what comes first, if there is anything to look at."""
    body = _at_frontier(kernel, sweeps)
    if closed:
        body += ["for_all(place, a.n, [&](i64 v) {"]
        for name in sorted(closed):
            field = kernel.args.use("field", name)
            body.append(
                f"    if (u64({field}[v]) >= u64(a.n)) report(a.fault, NOT_A_VERTEX, 0, v);"
            )
        body.append("});")
    if not body:
        return
    after = [
        *_state_tells(kernel, sweeps),
        "if (t.loop.dense == 0) {",
        "    t.loop.edges = t.loop.explored = i64(t.cells[EDGES]);",
        "}",
        "if (load_relaxed(&t.a.fault->cause) != 0) { t.loop.status = STOPPED_BY_HOST; return; }",
    ]
    if kernel.program.mode == "iterate":
        after.append("choose_width(t);")
    first = kernel.first
    turn = "wide" if kernel.options.fuse == "width" else "both"  # of the kernel that is first
    name = "prove" if closed else "begin"  # at all vertices, or at those of the frontier
    kernel.first = kernel.phase(name, body, [*after, first], turn)


def _at_frontier(kernel: Kernel, sweeps: list[Sweep]) -> list[str]:
    """Return what is done at each vertex of the first frontier."""
    if kernel.program.mode == "replay" or kernel.options.arcs:
        return []
    checked = [sweep for sweep in sweeps if sweep.check_frontier]
    if not checked and not kernel.counts_first:
        return []
    out = kernel.emitter()
    for sweep in checked:
        step = sweep.steps[0]
        assert step.accept is not None
        claim = claim_field(step)
        dtype, _ = kernel.types[claim]
        test = kernel.block_value(out, step.accept, kernel.site(), step)
        wraps = ""
        if dtype.kind in "iu":
            held = f"{kernel.args.use('field', claim)}[v]"
            wraps = f" || greatest<decltype(+{held})> - {held} < {MOST_ADDED} * (a.n + 1)"
            if dtype.itemsize < 4:
                wraps = " || true"
        out.line(f"if ({test}{wraps}) report(a.fault, ACCEPTING_START, 0, v);")
        if sweep.rises:
            held = kernel.args.use("field", claim)
            first = f"{held}[entered_vertex(a, loop, 0)]"
            out.line(f"if ({held}[v] != {first}) report(a.fault, STATE_DOES_NOT_TELL, 0, v);")
    by_map = ["if (loop.dense != 2) for_all(place, loop.size, at_number);"]
    if kernel.takes_maps:
        by_map = [
            "if (loop.dense == 0 && loop.queued == 0) {",
            f"    const auto member = {map_member(kernel)};",
            "    for_all(place, a.n, [&](i64 v) { if (member(v)) at_vertex(v); });",
            "} else for_all(place, loop.size, at_number);",
        ]
    return [
        *_count_claimed(kernel, sweeps),
        f"const auto degree = {degree_functor(kernel, first=True)};",
        "u64 edges = 0;",
        "const auto at_vertex = [&](i64 v) {",
        *(f"    {line}" for line in out.lines),
        "    if (loop.dense == 0) edges += u64(degree(v));",
        "};",
        "const auto at_number = [&](i64 i) { at_vertex(entered_vertex(a, loop, i)); };",
        *by_map,
        "edges = reduce_add(full_mask, edges);",
        "if (lane_id() == 0 && edges != 0) atomic_add(cells + EDGES, edges);",
    ]


def _count_claimed(kernel: Kernel, sweeps: list[Sweep]) -> list[str]:
    """Return what counts the vertices that accept nothing, where a sweep reuses the state."""
    if not sweeps[0].rises:
        return []
    step = sweeps[0].steps[0]
    assert step.accept is not None
    out = kernel.emitter()
    test = kernel.block_value(out, step.accept, kernel.site(), step)
    return [
        "u32 claimed = 0;",
        "for_all(place, a.n, [&](i64 v) {",
        *(f"    {line}" for line in out.lines),
        f"    claimed += !({test});",
        "});",
        "claimed = reduce_add(full_mask, claimed);",
        "if (lane_id() == 0 && claimed != 0) atomic_add(cells + EMITTED, u64(claimed));",
    ]


def _state_tells(kernel: Kernel, sweeps: list[Sweep]) -> list[str]:
    """Return the decision whether a field identifies the first frontier, and its value there."""
    if not sweeps[0].rises:
        return []
    field = kernel.args.use("field", claim_field(sweeps[0].steps[0]))
    return [
        "if (i64(t.cells[EMITTED]) != t.loop.size) {",
        "    if (t.leader) report(t.a.fault, STATE_DOES_NOT_TELL, 0, 0);",
        "    t.loop.status = STOPPED_BY_HOST;",
        "    return;",
        "}",
        f"if (t.loop.size > 0) t.loop.origin = i64(t.{field}[entered_vertex(t.a, t.loop, 0)]);",
    ]
