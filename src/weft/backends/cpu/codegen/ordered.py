"""Ordered relaxation: near work first, the rest waits (delta-stepping with bucket fusion).

A vertex that was improved goes to the near queue if its priority is below the threshold, else to
the far list; flags keep it from being in either twice (bit 0: in the near queue, bit 1: on the far
list; bit 2: it held messages back, see `horizon`). Threads go on with their own near vertices
without a barrier while these are few. When no near work is left the threshold rises by `delta` and
the far list is split again; where that brings nothing near, it rises above the least priority that
waits. `delta` is steered by load: doubled after a bucket with too little work to share, halved
after one with a lot. A priority of NaN is always near. A threshold of NaN makes everything near.

A superstep is one pass over the near queue, and over what each thread finds near meanwhile. Where
`max_iter` or `until` ends the loop, both lists are the frontier.
"""

from __future__ import annotations

from weft.backends.cpu.codegen.blocks import BlockRenderer, Operand
from weft.backends.cpu.codegen.edges import render_functions, render_row
from weft.backends.cpu.codegen.horizon import Horizon, priority_of
from weft.backends.cpu.codegen.kernel import EMPTY, LIMIT, RUNNING, STOPPED_BY_USER, UNTIL, Kernel
from weft.backends.cpu.codegen.pairs import overlay_pairs
from weft.backends.cpu.codegen.parts import ArcNames, arcs_of
from weft.backends.cpu.codegen.site import Site
from weft.backends.cpu.codegen.updates import improve
from weft.backends.cpu.runtime.prefetch import (
    fetch_arcs_ahead,
    fetch_rows_ahead,
    touched_places,
)
from weft.ir.ops import Step
from weft.plan.sweeps import Sweep

FIRST_SHARE = 1 / 16  # of what lies ahead of a first frontier of several
BEYOND = 16.0  # times as wide are buckets beyond a horizon
FEW, MANY = 1500, 60_000  # vertices processed in a bucket between which delta stays as it is


def render_ordered(kernel: Kernel, sweep: Sweep) -> None:
    """Render the loop of an in-place step with a priority."""
    out, args = kernel.out, kernel.args
    for name in ("local", "local_far", "own", "flags", "steering", "spread"):
        args.use(name)
    for which in (0, 1):
        args.use("far", which)
    out.line("threshold = steering[0]")
    out.line("delta = steering[1]")
    out.line("processed = looked_all = 0")
    out.line("floor = -np.inf")
    out.line(f"status = {RUNNING}")
    horizon = Horizon(kernel, sweep) if kernel.options.horizon else None
    if horizon is not None:
        horizon.begin()
    with out.block("if step == 0 and size > 1:"):
        _hold_first(kernel, sweep)
    with out.block("while True:"):
        with out.block("while size == 0 and far_size > 0:"):
            _raise_threshold(kernel, sweep)
        if horizon is not None:
            with out.block("if size == 0 and horizon < np.inf:"):
                _pull_beyond(kernel, sweep, horizon)
                out.line("continue")
            horizon.choose()
        with out.block("if size == 0:"):
            out.line(f"status = {EMPTY}")
            out.line("break")
        if kernel.program.bounded:
            with out.block("if step >= limit:"):
                out.line(f"status = {LIMIT}")
                out.line("break")
        out.line("entered = size")
        _near_phase(kernel, sweep, horizon)
        _record(kernel)
        out.line("step += 1")
        if kernel.program.until is not None:
            out.line("least_waiting = threshold if far_size > 0 else np.inf")
            out.line("least_waiting = -np.inf if size > 0 else least_waiting")
            test = kernel.block_value(kernel.program.until, kernel.site(v="0"))
            with out.block(f"if {test}:"):
                out.line(f"status = {UNTIL}")
                out.line("break")
        with out.block("if stopped != 0:"):
            out.line(f"status = {STOPPED_BY_USER}")
            out.line("break")
        with out.block("if nt == 1 and work > budget:"):
            out.line("break")
    if kernel.program.observed:
        with out.block(f"if (status == {LIMIT} or status == {UNTIL}) and far_size > 0:"):
            _drop_stale(kernel, sweep)
    with out.block("if tid == 0:"):
        out.line("steering[0] = threshold")
        out.line("steering[1] = delta")
        if horizon is not None:
            horizon.save()


def _hold_first(kernel: Kernel, sweep: Sweep) -> None:
    """Defer all members of the first frontier, so that they are processed in order too."""
    out = kernel.out
    kernel.begin_phase()
    _begin_split(kernel)
    with kernel.shares("size", 1024):
        out.line("v = i if dense else np.uint64(queue_a[i])")
        _rank_here(kernel, sweep)
        with out.block("if rank != rank:"):
            out.line("sync_or(flags, v, np.uint8(1))")
            out.line("count = push(local, local_base, count, v, queue_b, ctl, base + TAIL)")
        with out.block("else:"):
            out.line("sync_or(flags, v, np.uint8(2))")
            _keep_far(kernel, "far_a")
    _end_split(kernel, "queue_b", "far_a")
    out.line("queue_a, queue_b = queue_b, queue_a")
    out.line("swapped = 1 - swapped")
    out.line("dense = 0")
    with out.block("if size == 0:"):
        _start_from_least(kernel, first=True)


def _drop_stale(kernel: Kernel, sweep: Sweep) -> None:
    """Before an early end, take those off the far list that came near and were queued since."""
    out = kernel.out
    out.line("raised = threshold")
    out.line("near = size")
    _split_far(kernel, sweep)
    out.line("size = near")


def _record(kernel: Kernel) -> None:
    from weft.backends.cpu.codegen.program import record

    record(kernel, 0, "0")
    kernel.out.line("work += looked_all + entered")


def _pull_beyond(kernel: Kernel, sweep: Sweep, horizon: Horizon) -> None:
    """Pull withheld messages at every vertex beyond the horizon; then drop the horizon."""
    out = kernel.out
    kernel.begin_phase()
    out.line("entered = n")
    out.line("count = waiting = looked = changed = 0")
    with kernel.shares("n", 1024):
        out.line("v = i")
        _rank_here(kernel, sweep)
        with out.block("if not rank <= horizon:"):
            out.line("changed += 1")
            site = horizon.pull_row(improve)
            with out.block("if hits:"):
                _enqueue(kernel, sweep.steps[0], site, [])
    out.line(f"delta *= {BEYOND}  # few arcs are left: their order matters less than barriers")
    out.line("horizon = np.inf")
    _end_near(kernel, sweep)
    _record(kernel)
    out.line("step += 1")


def _near_phase(kernel: Kernel, sweep: Sweep, horizon: Horizon | None) -> None:
    """Relax the edges of the near queue, then of what each thread itself found near."""
    out, args = kernel.out, kernel.args
    way = sweep.way("push")
    offsets = args.use("offsets", way)
    kernel.begin_phase()
    kernel.begin_scalars(sweep)
    out.line("count = waiting = looked = changed = rounds = 0")
    out.line("portion = min(share_of(size, 64, nt), LOCAL)")
    out.line("low = first_item(ctl, base, portion, size, nt, order)")
    with out.block("while True:"):
        with out.block("if low < size:"):
            out.line("fetched = min(portion, size - low)")
            with out.block("for j in range(fetched):"):
                out.line("own[local_base + j] = np.uint64(low + j) if dense else queue_a[low + j]")
            out.line("low = next_item(ctl, base, portion, size, nt)")
        with out.block("elif count > 0 and rounds < 200:"):
            out.line("fetched = count")
            with out.block("for j in range(fetched):"):
                out.line("own[local_base + j] = local[local_base + j]")
            out.line("count = 0")
            out.line("rounds += 1")
        with out.block("else:"):
            out.line("break")
        out.line("changed += fetched")
        places = touched_places(kernel, sweep, ordered=True)
        out.line("last_item = local_base + fetched - 1")
        with out.block("for j in range(local_base, local_base + fetched):"):
            out.line("u = np.uint64(own[j])")
            later = "np.uint64(own[min(j + np.int64({}), last_item)])"
            if horizon is not None:
                horizon.fetch_rows(later)
            else:
                fetch_rows_ahead(kernel, later, way, places)
            out.line("sync_and(flags, u, np.uint8(254))")
            out.line(f"first, end = {offsets}[u], {offsets}[u + ONE]")
            out.line("looked += np.int64(end - first)")
            if horizon is not None:
                horizon.note_sender()
            _relax_arcs(kernel, sweep, places, horizon)
    _end_near(kernel, sweep)


def _end_near(kernel: Kernel, sweep: Sweep) -> None:
    """End a phase that found near and far vertices; the near ones are the frontier."""
    out = kernel.out
    out.line("order = flush_last(local, local_base, count, queue_b, ctl, base + TAIL)")
    out.line("flush_far(local_far, local_base, waiting, far_a, far_size, ctl, base + FAR)")
    out.line("atomic_add(ctl, base + LOOKED, looked)")
    out.line("atomic_add(ctl, base + CHANGED, changed)")
    kernel.publish_scalars(sweep)
    with out.block("if tid == 0:"):
        out.line("ctl[base + STOPPED] = ctl[STOP] + ctl[FAULT]")
    kernel.barrier()
    kernel.total_scalars(sweep)
    out.line("size = ctl[base + TAIL] & LENGTH")
    out.line("far_size += ctl[base + FAR]")
    out.line("processed += ctl[base + CHANGED]")
    out.line("looked_all = ctl[base + LOOKED]")
    out.line("stopped = ctl[base + STOPPED]")
    out.line("queue_a, queue_b = queue_b, queue_a")
    out.line("swapped = 1 - swapped")
    out.line("dense = 0")


def _relax_arcs(kernel: Kernel, sweep: Sweep, places: list[str], horizon: Horizon | None) -> None:
    """Relax the out-edges of u, from `first` to `end` if they are those of the adjacency."""
    out, step = kernel.out, sweep.steps[0]
    format_, way = kernel.options.format("push"), sweep.way("push")

    def relax(site: Site, renderer: BlockRenderer) -> None:
        def update(number: int, s: Step, r: BlockRenderer, messages: list[Operand]) -> None:
            improve(kernel, s, r, messages)
            with out.block("if hit:"):
                _enqueue(kernel, s, site, messages)

        render_functions(kernel, sweep, site, [renderer], update)

    if format_ is not None:
        names = ArcNames("u", "s", "v")
        with arcs_of(out, kernel.args, format_, "push", way, names) as place:
            site = kernel.arc_site("push", way, place)
            site.turned = sweep.turned
            overlay_pairs(kernel, site)
            relax(site, kernel.renderer(site, step, set()))
        return
    site = kernel.site(way, "s")
    site.turned = sweep.turned
    overlay_pairs(kernel, site)
    renderer = kernel.renderer(site, step, set())
    render_row(renderer, step, "u", set())
    if horizon is not None:
        with horizon.arcs_within(renderer, places):
            relax(site, renderer)
        return
    with out.block("for s in range(first, end):"):
        fetch_arcs_ahead(kernel, way, places)
        out.line(f"v = np.uint64({kernel.args.use('targets', way)}[s])")
        relax(site, renderer)


def _enqueue(kernel: Kernel, step: Step, site: Site, messages: list[Operand]) -> None:
    """Add an improved vertex to the near queue or the far list."""
    out = kernel.out
    out.line(
        f"rank = {priority_of(kernel, step, site, dict(zip(step.into, messages, strict=False)))}"
    )
    with out.block("if not rank >= threshold:"):  # noqa: SIM117 - nested in what is rendered
        with out.block("if sync_or(flags, v, np.uint8(1)) & 1 == 0:"):
            out.line("count = push(local, local_base, count, v, queue_b, ctl, base + TAIL)")
    with out.block("elif sync_or(flags, v, np.uint8(2)) & 2 == 0:"):
        out.line(
            "waiting = push_far(local_far, local_base, waiting, v, far_a, far_size, ctl, "
            "base + FAR)"
        )


def _raise_threshold(kernel: Kernel, sweep: Sweep) -> None:
    """Split the far list by a higher threshold; the near part becomes the frontier."""
    out = kernel.out
    out.line(f"delta *= 2.0 if processed < {FEW} else (0.5 if processed > {MANY} else 1.0)")
    out.line("raised = threshold + delta")
    if kernel.program.next_threshold is not None:
        _ask_threshold(kernel, sweep)
    out.line("processed = 0")
    with out.block("if not raised > floor:"):
        out.line("raised = np.nextafter(floor, np.inf) if floor < np.inf else np.nan")
    _split_far(kernel, sweep)
    out.line("threshold = raised")
    out.line("floor = -np.inf")
    with out.block("if size == 0 and far_size > 0:"):
        _start_from_least(kernel)


def _start_from_least(kernel: Kernel, *, first: bool = False) -> None:
    """Nothing is near: go on from the least priority that waits.

    Without a window so far, it is what lies ahead on average. Of a first frontier that says little:
    a part of it is taken then, and nothing where all are equal; the window soon widens.
    """
    out = kernel.out
    with out.block("if delta <= 0.0:"):
        out.line("mean = total / max(known, 1.0) - least")
        out.line("delta = mean if 0.0 < mean < np.inf else 0.0")
        if first:
            out.line(f"delta *= {FIRST_SHARE}")
        else:
            out.line("delta = max(delta, abs(least) * 1e-6 if abs(least) < np.inf else 0.0)")
    out.line("floor = least")
    out.line("threshold = max(threshold, least)")
    out.line(f"processed = {FEW}")


def _ask_threshold(kernel: Kernel, sweep: Sweep) -> None:
    """Call the user's threshold function with the smallest waiting priority."""
    out = kernel.out
    kernel.begin_phase()
    out.line("least = np.inf")
    with kernel.shares("far_size", 1024):
        _far_rank(kernel, sweep)
        with out.block("if rank >= threshold:"):
            out.line("least = min(least, rank)")
    _spread_least(kernel)
    out.line("threshold_old, threshold_min = threshold, least")
    out.line("threshold_waiting, threshold_edges = far_size, looked_all")
    chosen = kernel.program.next_threshold
    assert chosen is not None
    out.line(f"raised = {kernel.block_value(chosen, kernel.site())}")


def _far_rank(kernel: Kernel, sweep: Sweep) -> None:
    """Compute the priority of an entry of the far list."""
    kernel.out.line("v = np.uint64(far_a[i])")
    _rank_here(kernel, sweep)


def _rank_here(kernel: Kernel, sweep: Sweep) -> None:
    """Compute the priority of v."""
    site = kernel.site()
    overlay_pairs(kernel, site)
    kernel.out.line(f"rank = {priority_of(kernel, sweep.steps[0], site, {})}")


def _spread_least(kernel: Kernel) -> None:
    """End a phase; all threads learn the least priority."""
    out = kernel.out
    out.line("spread[((phase % 3) * nt + tid) * STRIDE] = least")
    kernel.barrier()
    out.line("least = np.inf")
    with out.block("for t in range(nt):"):
        out.line("least = min(least, spread[((phase % 3) * nt + t) * STRIDE])")


def _split_far(kernel: Kernel, sweep: Sweep) -> None:
    """Move what is below the raised threshold from the far list to the frontier."""
    out = kernel.out
    kernel.begin_phase()
    _begin_split(kernel)
    with kernel.shares("far_size", 1024):
        _far_rank(kernel, sweep)
        with out.block("if not rank >= threshold:  # came near since, and was queued then"):
            out.line("sync_and(flags, v, np.uint8(253))")
        with out.block("elif not rank >= raised:"):
            out.line("sync_and(flags, v, np.uint8(253))")
            with out.block("if sync_or(flags, v, np.uint8(1)) & 1 == 0:"):
                out.line("count = push(local, local_base, count, v, queue_a, ctl, base + TAIL)")
        with out.block("else:"):
            _keep_far(kernel, "far_b")
    _end_split(kernel, "queue_a", "far_b")
    out.line("far_a, far_b = far_b, far_a")
    out.line("far_swapped = 1 - far_swapped")


def _begin_split(kernel: Kernel) -> None:
    kernel.out.line("count = waiting = 0")
    kernel.out.line("least = np.inf")
    kernel.out.line("total = known = 0.0")


def _keep_far(kernel: Kernel, far: str) -> None:
    """Add a vertex to an initially empty list, and account for its priority."""
    kernel.out.line("least = min(least, rank)")
    with kernel.out.block("if abs(rank) < np.inf:"):
        kernel.out.line("total += rank")
        kernel.out.line("known += 1.0")
    kernel.out.line(
        f"waiting = push_far(local_far, local_base, waiting, v, {far}, 0, ctl, base + FAR)"
    )


def _end_split(kernel: Kernel, queue: str, far: str) -> None:
    """End the phase; all threads learn how many are near and far, and about the priorities."""
    out = kernel.out
    out.line(f"order = flush_last(local, local_base, count, {queue}, ctl, base + TAIL)")
    out.line(f"flush_far(local_far, local_base, waiting, {far}, 0, ctl, base + FAR)")
    out.line("spread[((phase % 3) * nt + tid) * STRIDE + 1] = total")
    out.line("spread[((phase % 3) * nt + tid) * STRIDE + 2] = known")
    _spread_least(kernel)
    out.line("size = ctl[base + TAIL] & LENGTH")
    out.line("far_size = ctl[base + FAR]")
    out.line("total = known = 0.0")
    with out.block("for t in range(nt):"):
        out.line("total += spread[((phase % 3) * nt + t) * STRIDE + 1]")
        out.line("known += spread[((phase % 3) * nt + t) * STRIDE + 2]")
