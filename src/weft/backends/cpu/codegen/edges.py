"""Sweeps of edge functions: push over the frontier's out-edges, pull over in-edges of acceptors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from weft.backends.cpu.codegen.blocks import BlockRenderer, Operand, Stretch
from weft.backends.cpu.codegen.kernel import Kernel
from weft.backends.cpu.codegen.pairs import overlay_pairs
from weft.backends.cpu.codegen.parts import ArcNames, arcs_of
from weft.backends.cpu.codegen.radix import begin_arc, order_frontier, reduce_sorted
from weft.backends.cpu.codegen.schedules import ROWS, cut_rows, pushed_rows, whole_rows
from weft.backends.cpu.codegen.site import Site
from weft.backends.cpu.codegen.updates import Pulled, commit, push_update
from weft.backends.cpu.codegen.vertices import sweep_site, unclobbered, write
from weft.backends.cpu.runtime.prefetch import fetch_arcs_ahead, touched_places
from weft.ir.ops import Step
from weft.plan.directions import rule_named
from weft.plan.queries import (
    END_ROW,
    LEAST_ROW,
    buffered_edges,
    refused,
    row_values,
    side_of,
)
from weft.plan.sweeps import Sweep, claim_field

WORDS = 16  # of 64 rows each, in a share of a pull


def render_edge_sweep(kernel: Kernel, sweep: Sweep, *, arcs: bool = False) -> None:
    """Render the phases of a sweep over edges; both directions if both are possible.

    With `arcs` the frontier may be one of arcs: then `dense` is 2.
    """
    out = kernel.out
    directions = [d for d in kernel.options.directions if not refused(sweep, d)]
    push, pull = "push" in directions, "pull" in directions
    commits_pull = sweep.mode == "deferred" and not sweep.direct_pull
    if sweep.steps[0].everywhere:
        out.line("size, dense, edges, mapped = n, 1, arcs, 0")
    if pull and push:
        _choose(kernel, sweep)
    out.line("epoch += 1")
    first = "by_arcs" if arcs and not sweep.steps[0].everywhere else ""
    if first:
        out.line("by_arcs = dense == 2")
        with out.block(f"if {first}:"):
            _phase(kernel, sweep, lambda: _sweep_arcs(kernel, sweep))
            laid_out = f"{kernel.args.use('arc_queue')}_array.size"
            _finish(kernel, sweep, commits=sweep.mode == "deferred", laid_out=laid_out)
    if push:
        condition = " and ".join(
            c for c in (f"not ({first})" if first else "", "not pulling" if pull else "") if c
        )
        with ExitStack() as stack:
            if condition:
                stack.enter_context(out.block(f"if {condition}:"))
            if sweep.radix:
                order_frontier(kernel, sweep)
            _phase(kernel, sweep, lambda: _sweep_push(kernel, sweep))
            _finish(kernel, sweep, commits=sweep.mode == "deferred", laid_out="work_all")
    if pull:
        condition = " and ".join(
            c for c in (f"not ({first})" if first else "", "pulling" if push else "") if c
        )
        with ExitStack() as stack:
            if condition:
                stack.enter_context(out.block(f"if {condition}:"))
            if not sweep.rises:
                _map_frontier(kernel)
            _phase(kernel, sweep, lambda: _sweep_pull(kernel, sweep), pulled=True)
            _finish(kernel, sweep, commits=commits_pull)


def _copy_edges(kernel: Kernel, sweep: Sweep) -> None:
    """Copy the second buffers of edge state back, in a phase of its own."""
    for name in sorted(buffered_edges(sweep)):
        source = kernel.args.use("edge_next", name)
        target = kernel.args.use("edge_state", name)
        kernel.begin_phase()
        with kernel.shares(f"{source}_array.size", 4096):
            kernel.out.line(f"{target}[i] = {source}[i]")
        kernel.barrier()


def _choose(kernel: Kernel, sweep: Sweep) -> None:
    """Choose the direction: by the edges that each would look at (rule 36), or a published rule."""
    out = kernel.out
    rule = rule_named(kernel.options.rule)
    if rule is not None:
        out.line(f"m, left = arcs, {'arcs - explored' if sweep.mode == 'once' else 'arcs'}")
        out.line(f"turns = {rule.to_push} if pulling else {rule.to_pull}")
        out.line("pulling = 1 - pulling if turns else pulling")
        out.line("before = size")
        return
    # A message that is combined by an atomic, after the step, costs more than one in a register.
    weight = 3 if sweep.mode == "deferred" else 1
    out.line(f"push_cost = (edges + size) * {weight}" if weight > 1 else "push_cost = edges + size")
    if sweep.mode == "once":
        out.line("pull_cost = (arcs - explored) * share // 1024 + n // 4")
    else:
        out.line(f"pull_cost = arcs{' * share // 1024' if sweep.early_exit else ''} + n // 4")
    with out.block("if pulling:"):
        out.line("pulling = 1 if pull_cost < push_cost + push_cost // 2 else 0")
    with out.block("else:"):
        out.line("pulling = 1 if pull_cost + pull_cost // 4 < push_cost else 0")


def _map_frontier(kernel: Kernel) -> None:
    """Make the bitmap of the frontier, unless it is there or the frontier is everything."""
    out = kernel.out
    with out.block("if not dense and not mapped:"):
        out.line("clear_bits(bits_a, bits_a_array.size, tid, nt)")
        kernel.barrier()
        out.line("set_bits(bits_a, queue_a, size, tid, nt)")
        kernel.barrier()


def _phase(kernel: Kernel, sweep: Sweep, body: object, *, pulled: bool = False) -> None:
    kernel.begin_phase()
    kernel.begin_queue()
    lists = sweep.mode == "deferred" and (pulled or not sweep.radix)
    if lists:
        kernel.out.line("touches = 0")
    kernel.begin_scalars(sweep)
    kernel.serial = sweep.in_order and not pulled
    body()  # type: ignore[operator]
    kernel.serial = False
    kernel.publish_scalars(sweep)
    if lists:
        local = kernel.args.use("local_touched")
        touched = kernel.args.use("touched")
        kernel.out.line(f"flush({local}, local_base, touches, {touched}, ctl, base + TOUCHED)")
    kernel.end_queue()
    kernel.barrier()
    kernel.read_counters()
    if lists:
        kernel.out.line("touched_size = ctl[base + TOUCHED]")
    if sweep.mode == "once":
        kernel.out.line("explored += next_edges")
    kernel.out.line("looked_all = ctl[base + LOOKED]")
    kernel.total_scalars(sweep)


def _finish(kernel: Kernel, sweep: Sweep, *, commits: bool, laid_out: str = "") -> None:
    """After the sweep: compare and copy second buffers, then take the new frontier.

    `laid_out` is how many arcs a push went along; without it the sweep was a pull.
    """
    out, pulled = kernel.out, not laid_out
    if pulled and sweep.early_exit:
        reach = "max(1, arcs - explored)" if sweep.mode == "once" else "max(1, arcs)"
        out.line(f"share = max(1, min(1024, looked_all * 1024 // {reach}))")
    _copy_edges(kernel, sweep)
    if commits and sweep.radix and not pulled:
        reduce_sorted(kernel, sweep, laid_out)
    elif commits:
        commit(kernel, sweep)
    kernel.take_queue()
    if pulled and not commits and not sweep.rises:
        out.line("bits_a, bits_b = bits_b, bits_a")
        out.line("bit_swapped = 1 - bit_swapped")
        out.line("mapped = 1")
    else:
        out.line("mapped = 0")


# -- one arc


def render_row(renderer: BlockRenderer, step: Step, row: str, live: set[str]) -> None:
    """Compute what a row's arcs share before they are walked."""
    renderer.prepare(step.body)
    values = row_values(step, row, live)
    inner = {id(v) for v in values}
    leaving = {id(a) for value in step.body.body if id(value) not in inner for a in value.args} | {
        id(r) for r in step.body.results
    }
    for value in values:
        if id(value) in leaving:
            renderer.counts[id(value)] = 2  # a variable outside of the inner loop
    renderer.run(values)


def render_functions(
    kernel: Kernel, sweep: Sweep, site: Site, renderers: list[BlockRenderer], update: object,
    *, accepted: bool = False,
) -> None:  # fmt: skip
    """Render the functions of a sweep at one arc, each only where the one before sent."""
    out = kernel.out
    with ExitStack() as stack:
        for number, (step, renderer) in enumerate(zip(sweep.steps, renderers, strict=True)):
            if step.accept is not None and not accepted:
                tested = replace(site, frozen=frozenset(sweep.frozen_accept))
                test = kernel.block_value(step.accept, tested, step)
                stack.enter_context(out.block(f"if {test}:"))
            renderer.prepare(step.body)
            renderer.run(step.body.body)
            kernel.take_scalars(renderer, sweep, number)
            messages = [renderer.operand(r) for r in step.body.results]
            messages = _store_edges(kernel, sweep, site, renderer, messages)
            when = messages.pop() if step.conditional else None
            if when is not None and step.sends_always:
                when = renderer.variable(str(when))
                update(number, step, renderer, messages)  # type: ignore[operator]
            if when is not None:
                stack.enter_context(out.block(f"if {when}:"))
            if not step.sends_always:
                update(number, step, renderer, messages)  # type: ignore[operator]


def _store_edges(
    kernel: Kernel, sweep: Sweep, site: Site, renderer: BlockRenderer, messages: list[Operand]
) -> list[Operand]:
    """Write the edge state of one arc; return the messages as they were before it."""
    arrays = {
        name: kernel.args.use("edge_next" if name in buffered_edges(sweep) else "edge_state", name)
        for name in renderer.edge_stores
    }
    if not arrays:
        return messages
    written = set(arrays.values())
    kept = [
        unclobbered(renderer, m if isinstance(m, Stretch) else renderer.variable(m), written)
        for m in messages
    ]
    fresh = {
        name: (value, unclobbered(renderer, operand, written))
        for name, (value, operand) in renderer.edge_stores.items()
    }
    for name, (value, operand) in fresh.items():
        write(renderer, arrays[name], site.arc(), value, operand)
        if name in buffered_edges(sweep):  # later functions of a fold see what was assigned
            known = site.element(value, arrays[name], site.arc())
            site.known["edge_state", "e", name] = known
        elif name in kernel.buffered_edges:  # another sweep copies its whole buffer back
            write(renderer, kernel.args.use("edge_next", name), site.arc(), value, operand)
    return kept


def _renderers(kernel: Kernel, sweep: Sweep, site: Site) -> list[BlockRenderer]:
    """Return one renderer for each function of a sweep."""
    return [
        kernel.renderer(sweep_site(site, sweep, number), step)
        for number, step in enumerate(sweep.steps)
    ]


def _sweep_push(kernel: Kernel, sweep: Sweep) -> None:
    """Walk the out-edges of the frontier."""
    if kernel.options.format("push") is not None:
        _sweep_push_parts(kernel, sweep)
        return
    out, args = kernel.out, kernel.args
    way = sweep.way("push")
    targets = args.use("targets", way)
    live = sweep.facts.live
    places = [] if sweep.radix else touched_places(kernel, sweep)
    with cut_rows(kernel, way, 0) if sweep.radix else pushed_rows(kernel, way, places):
        site = kernel.site(way, "s")
        site.turned = sweep.turned
        overlay_pairs(kernel, site)
        renderers = _renderers(kernel, sweep, site)
        if len(sweep.steps) == 1 and sweep.mode != "effects":
            render_row(renderers[0], sweep.steps[0], "u", live)
        out.line("looked += np.int64(end - first)")
        if sweep.radix:
            out.line("before_row = np.uint64(low) - first")
        with out.block("for s in range(first, end):"):
            if sweep.radix:
                begin_arc(kernel, sweep.steps[0], "s + before_row")
            else:
                fetch_arcs_ahead(kernel, way, places)
            out.line(f"v = np.uint64({targets}[s])")
            push_arc(kernel, sweep, site, renderers)


def _sweep_push_parts(kernel: Kernel, sweep: Sweep) -> None:
    """Walk the out-edges of the frontier in the parts of a format."""
    out, args = kernel.out, kernel.args
    format_, way = kernel.options.format("push"), sweep.way("push")
    with whole_rows(kernel, "size", ROWS, way):
        out.line("u = i if dense else np.uint64(queue_a[i])")
        offsets = args.use("offsets", way)
        out.line(f"looked += np.int64({offsets}[u + ONE] - {offsets}[u])")
        with arcs_of(out, args, format_, "push", way, ArcNames("u", "s", "v")) as place:
            site = kernel.arc_site("push", way, place)
            site.turned = sweep.turned
            overlay_pairs(kernel, site)
            push_arc(kernel, sweep, site, _renderers(kernel, sweep, site))


def push_arc(kernel: Kernel, sweep: Sweep, site: Site, renderers: list[BlockRenderer]) -> None:
    """Render what happens at one pushed arc."""
    if sweep.mode == "once":
        claim = claim_field(sweep.steps[0])
        dtype, _ = kernel.types[claim]
        array = kernel.args.use("field", claim)
        kernel.out.line(f"held = {array}[v]")
        site.known[("field", "v", claim)] = "(held != 0)" if dtype.kind == "b" else "held"

    def update(number: int, step: Step, renderer: BlockRenderer, messages: list[Operand]) -> None:
        push_update(kernel, sweep, number, step, renderer, messages)

    render_functions(kernel, sweep, site, renderers, update)


def _sweep_arcs(kernel: Kernel, sweep: Sweep) -> None:
    """Walk a frontier of arcs."""
    out, args = kernel.out, kernel.args
    arcs, source, target = args.use("arc_queue"), args.use("arc_source"), args.use("arc_target")
    with kernel.shares(f"{arcs}_array.size", 256):
        out.line("looked += 1")
        if sweep.radix:
            begin_arc(kernel, sweep.steps[0], "i")
        out.line(f"s = np.uint64({arcs}[i])")
        if sweep.turned:
            source, target = target, source
        out.line(f"u = np.uint64({source}[s])")
        out.line(f"v = np.uint64({target}[s])")
        site = kernel.site("edge", "s")
        site.turned = sweep.turned
        overlay_pairs(kernel, site)
        renderers = _renderers(kernel, sweep, site)
        push_arc(kernel, sweep, site, renderers)


def _sweep_pull(kernel: Kernel, sweep: Sweep) -> None:
    """Walk the in-edges of accepting vertices, 64 rows (a word of the next bitmap) at a time."""
    out = kernel.out
    step = sweep.steps[0]
    writes_bits = not (sweep.mode == "deferred" and not sweep.direct_pull) and not sweep.rises
    member = "dense or bits_a[u >> np.uint64(6)] & (ONE << (u & np.uint64(63)))"
    if sweep.rises:
        member = _state_member(kernel, sweep)
    out.line("later = np.uint64(0)")
    way = sweep.way("pull")
    count = "((n + 63) // 64)"
    if kernel.bounded:
        least, end = f"value_{LEAST_ROW}", f"value_{END_ROW}"
        kernel.args.use("scalar", LEAST_ROW)
        kernel.args.use("scalar", END_ROW)
        out.line(f"least, beyond = np.uint64({least}), np.uint64({end})")
        out.line("skipped = least >> np.uint64(6)  # words before the first row")
        count = f"(({end} + 63) // 64 - ({least} >> 6))"
    with whole_rows(kernel, count, WORDS, way, unit=64):
        out.line("word = np.uint64(0)")
        with _accepting_rows(kernel, sweep):
            site = kernel.site(way, "s")
            site.turned = sweep.turned
            overlay_pairs(kernel, site)
            if sweep.rises:  # all senders hold the same
                site.known["field", "u", claim_field(step)] = "present"
            pulled = Pulled(kernel, sweep, site)
            pulled.begin()
            _pull_row(kernel, sweep, pulled, f"if {member}:")
            pulled.end()
        if writes_bits:
            out.line(f"bits_b[{_word(kernel, 'i')}] = word")


@contextmanager
def _accepting_rows(kernel: Kernel, sweep: Sweep) -> Iterator[None]:
    """Open a loop over the rows v of a word that accept, of 64.

    Which of them accept and have in-edges is found first, by a loop without branches: whether one
    does is as good as random, and every wrong guess of the processor costs as much as a row. It is
    found for the word after the present one, so that its first arcs come from memory meanwhile.
    """
    out, step = kernel.out, sweep.steps[0]
    way = sweep.way("pull")
    offsets, targets = kernel.args.use("offsets", way), kernel.args.use("targets", way)
    if step.accept is None:
        with out.block(f"for v in {_rows_of(kernel, 'i')}:"):
            out.line(f"prefetch({targets}, {offsets}[min(v + AHEAD_OFFSETS, np.uint64(n))])")
            yield
        return
    out.line("waiting = later")
    out.line(
        "unfound = i if i == np.uint64(low) else i + ONE"
    )  # the first word is still to be found
    with out.block("for w in range(unfound, min(i + np.uint64(2), np.uint64(high))):"):
        out.line("later = np.uint64(0)")
        with out.block(f"for v in {_rows_of(kernel, 'w')}:"):
            site = kernel.site(way, "s")
            overlay_pairs(kernel, site)
            tested = replace(site, frozen=frozenset(sweep.frozen_accept))
            test = kernel.block_value(step.accept, tested, step)
            out.line(f"there = np.uint64({offsets}[v + ONE] > {offsets}[v])")
            out.line(f"later |= (np.uint64({test}) & there) << (v & np.uint64(63))")
        out.line("ahead = later")
        with out.block("while ahead != np.uint64(0):"):
            ahead = f"({_word(kernel, 'w')} << np.uint64(6)) + np.uint64(ctz(ahead))"
            out.line(f"prefetch({targets}, {offsets}[{ahead}])")
            out.line("ahead &= ahead - ONE")
        with out.block("if w == i:"):
            out.line("waiting = later")
    with out.block("while waiting != np.uint64(0):"):
        out.line(f"v = ({_word(kernel, 'i')} << np.uint64(6)) + np.uint64(ctz(waiting))")
        out.line("waiting &= waiting - ONE")
        yield


def _word(kernel: Kernel, unit: str) -> str:
    """Return the word of the bitmaps that a unit of a pull stands for."""
    return f"({unit} + skipped)" if kernel.bounded else unit


def _rows_of(kernel: Kernel, unit: str) -> str:
    """Return the rows of a unit of a pull as a range."""
    first, top = f"{_word(kernel, unit)} << np.uint64(6)", "np.uint64(n)"
    if kernel.bounded:
        first, top = f"max({first}, least)", "beyond"
    last = f"({_word(kernel, unit)} + ONE) << np.uint64(6)"
    return f"range({first}, min({last}, {top}))"


def _state_member(kernel: Kernel, sweep: Sweep) -> str:
    """Render what the present frontier holds; return the test whether u holds it."""
    claim = claim_field(sweep.steps[0])
    dtype, _ = kernel.types[claim]
    origin = kernel.args.use("origin", claim)
    kernel.out.line(f"present = np.{dtype.name}({origin}[0] + {sweep.rises} * step)")
    return f"{kernel.args.use('field', claim)}[u] == present"


def _pull_row(kernel: Kernel, sweep: Sweep, pulled: Pulled, sends: str) -> None:
    """Walk the in-edges of v; `sends` tests whether u is in the frontier."""
    out, args = kernel.out, kernel.args
    side, way = side_of(sweep, "pull"), sweep.way("pull")
    format_ = kernel.options.format(side)
    if format_ is not None:
        with arcs_of(out, args, format_, side, way, ArcNames("v", "s", "u")) as place:
            site = kernel.arc_site(side, way, place)
            site.turned = sweep.turned
            site.known.update(pulled.site.known)
            out.line("looked += 1")
            with out.block(sends):
                renderers = _renderers(kernel, sweep, site)
                render_functions(kernel, sweep, site, renderers, pulled.take, accepted=True)
            pulled.end_slot("s")
        return
    site = pulled.site
    renderers = _renderers(kernel, sweep, site)
    offsets, targets = args.use("offsets", way), args.use("targets", way)
    out.line(f"first = {offsets}[v]")
    out.line(f"end = {offsets}[v + ONE]")
    out.line("s = first")
    with out.block("while s < end:"):
        out.line(f"u = np.uint64({targets}[s])")
        with out.block(sends):
            render_functions(kernel, sweep, site, renderers, pulled.take, accepted=True)
        pulled.end_slot("s")
        out.line("s += ONE")
    out.line("looked += np.int64(s - first)")
