"""Which way a sweep over edges goes: what it may do, and what each way would cost."""

from __future__ import annotations

from weft.backends.cuda.codegen.lanes import spread_lanes
from weft.backends.cuda.codegen.machine import Kernel
from weft.backends.cuda.codegen.updates import can_part
from weft.plan.counting import COUNTED
from weft.plan.directions import COST, rule_named
from weft.plan.queries import refused
from weft.plan.sweeps import Sweep

# The cost of a push along an arc into an inbox, by two atomics and a list of the receivers,
# in arcs that a pull looks at: on road networks 10 to 30, on social ones less.
INBOX_COST = 6
# The same where only the first message counts: in the supersteps that are decided about, many a
# pushed arc finds a new vertex, which is claimed and queued. On an H200 (kron21, rmat24) that takes
# 0.05 to 0.2 ns an arc, a pull 0.02 to 0.04.
CLAIM_COST = 3
COUNT_COST = 3  # the same where a message is one atomic on the field itself


def directions_of(kernel: Kernel, sweep: Sweep) -> list[str]:
    """Return the directions in which a sweep can go."""
    return [d for d in kernel.options.directions if not refused(sweep, d)]


def steers(kernel: Kernel, sweeps: list[Sweep]) -> bool:
    """Whether the edges of a frontier decide: about a direction, a threshold, places in a queue."""
    options = kernel.options
    turns = any(len(directions_of(kernel, sweep)) > 1 for sweep in sweeps)
    return turns or options.ordered or options.classes or bool(kernel.program.wide)


def may_count_later(kernel: Kernel, sweeps: list[Sweep], only: bool) -> bool:
    """Whether a push need not ask for the degrees of what it finds: the next one sees them anyway.

    In a deep search a superstep waits for every step of the way. Whether to pull is decided by the
    largest degree; only where that might say so, the edges are counted. `only`: the sweeps are all
    that the program has.
    """
    options = kernel.options
    queued = options.push.frontier_out == "queue" and options.compaction == "online"
    plain = queued and not options.classes and options.combine != "by_target"
    sweep = sweeps[0]
    alone = only and len(sweeps) == 1 and sweep.mode == "once" and len(sweep.steps) == 1
    if not (alone and plain and options.rule == COST) or sweep.in_order:
        return False
    return can_part(kernel, sweep.steps[0]) and spread_lanes(kernel, sweep) == 1


def _count(kernel: Kernel, k: int) -> str:
    """Add the phase that counts the edges of the queue; return what starts it, and leaves."""
    body = [
        f"const OutDegree degree{{{kernel.args.use('offsets', kernel.counted)}}};",
        "u64 edges = 0;",
        "for_all(place, loop.size, [&](i64 i) {",
        "    edges += u64(degree(entered_vertex(a, loop, i)));",
        "});",
        "edges = reduce_add(full_mask, edges);",
        "if (lane_id() == 0 && edges != 0) atomic_add(cells + EDGES, edges);",
    ]
    after = [
        "t.loop.edges = i64(t.cells[EDGES]);",
        "t.loop.explored += t.loop.edges;",
        "t.loop.counted = 1;",
        f"turn_{k}(t);",
    ]
    return f"t.loop.pulling = 0; {kernel.phase(f'count_{k}', body, after)} return;"


def choose(kernel: Kernel, sweep: Sweep, k: int) -> list[str]:
    """Choose the direction: by the edges that each would look at (rule 36), or a published rule."""
    rule = kernel.options.rule
    once = sweep.mode == "once"
    left = "(t.a.arcs - t.loop.explored)" if once else "t.a.arcs"
    push = "(t.loop.edges + t.loop.size)"
    chosen = None if rule == COST else rule_named(rule)
    if chosen is not None:
        return [
            "const i64 n = t.a.n, m = t.a.arcs, size = t.loop.size, edges = t.loop.edges;",
            f"const i64 left = {left}, before = t.loop.before;",
            f"const bool turns = t.loop.pulling != 0 ? {chosen.to_push} : {chosen.to_pull};",
            "if (turns) t.loop.pulling = !t.loop.pulling;",
            "t.loop.before = size;",
            *(f"static_cast<void>({name});" for name in ("n", "m", "edges", "left", "before")),
        ]
    share = " * t.loop.share / 1024" if sweep.early_exit else ""
    bound, sure = [], []
    if kernel.counts_later:  # where a bound is not enough for a pull, the number is not
        bound = [
            f"const i64 unseen = {left} - (t.loop.counted != 0 ? 0 : t.loop.edges);",
            "const i64 left = unseen > 0 ? unseen : 0;",
        ]
        left = "left"
        sure = [f"if (t.loop.pulling != 0 && t.loop.counted == 0) {{ {_count(kernel, k)} }}"]
    costs = {"deferred": INBOX_COST, COUNTED: COUNT_COST}
    cost = costs.get(sweep.mode, CLAIM_COST if sweep.early_exit else 1)
    return [
        f"const i64 push_cost = {push} * {cost};",
        "if (t.loop.pulling != 0 || push_cost > t.a.n / 32) {  // else no pull costs less",
        *(f"    {line}" for line in bound),
        f"    const i64 pull_cost = {left}{share} + t.a.n / 32;",
        "    if (t.loop.pulling != 0) {",
        "        t.loop.pulling = pull_cost < push_cost + push_cost / 2;",
        "    } else {",
        "        t.loop.pulling = pull_cost + pull_cost / 4 < push_cost;",
        "    }",
        *(f"    {line}" for line in sure),
        "}",
    ]
