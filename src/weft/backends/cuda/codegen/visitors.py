"""Renders visitors: what the arcs of pushed and pulled rows do."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from weft.backends.cuda.codegen.adjacent import row_of_pair
from weft.backends.cuda.codegen.blocks import LEAVES, BlockRenderer, cast_loaded, used_whole
from weft.backends.cuda.codegen.first_looks import looks_first
from weft.backends.cuda.codegen.machine import Kernel
from weft.backends.cuda.codegen.matrix_products import (
    in_memory,
    joint_products,
    product_of,
)
from weft.backends.cuda.codegen.pairs import key_word, overlay_pairs
from weft.backends.cuda.codegen.site import Site
from weft.backends.cuda.codegen.text import (
    Emitter,
    c_type,
    items_of,
    stored_type,
)
from weft.backends.cuda.codegen.updates import (
    Pulled,
    can_part,
    emit,
    improve,
    push_update,
    try_claim,
    try_pair,
)
from weft.backends.cuda.codegen.visitor import BATCH, Visitor
from weft.ir.check.facts import arcs_of_common, is_pure
from weft.ir.ops import EFFECT, Step, Value
from weft.plan.counting import COUNTED
from weft.plan.queries import buffered_edges, moving_fields, row_values
from weft.plan.sweeps import Sweep, claim_field

PAIRS = 2  # where they are swapped with what they find: more would not fit into registers
MOST_AHEAD = 8  # registers that what is loaded ahead of one arc may take; a batch is under way
MOST_IN_ROW = 8  # items of a vector or matrix that a lane keeps for all arcs of a row


def racy_fields(sweep: Sweep) -> frozenset[str]:
    """Return the fields that other threads write while a sweep reads them."""
    in_place = set(sweep.last.into) if sweep.mode in ("once", "online", COUNTED) else set()
    return frozenset(in_place | sweep.facts.live)


def hoist_row(
    kernel: Kernel, visitor: Visitor, step: Step, site: Site, row: str, live: set[str]
) -> dict[int, str]:
    """Compute what a row's arcs share when the row is loaded; return how arcs name it."""
    whole = used_whole(step.body) - in_memory(step)
    most = MOST_IN_ROW if kernel.spread else 0

    def fits(value: Value) -> bool:
        items = items_of(value.shape, kernel.spread_lanes)
        return not value.shape or (id(value) in whole and items <= most)

    values = row_values(step, row, live, fits)
    inner = {id(v) for v in values}
    outside = [value for value in step.body.walk() if id(value) not in inner]
    leaving = {id(a) for value in outside for a in value.args}
    leaving |= {id(r) for value in outside for block in value.blocks for r in block.results}
    leaving |= {id(r) for r in step.body.results}
    out = kernel.emitter()
    renderer = kernel.renderer(out, site, step, set(), vertex=site.index[row])
    renderer.prepare(step.body)
    renderer.run(values)
    known: dict[int, str] = {}
    for value in values:
        known[id(value)] = ""  # only other values of the row use it
        if id(value) in leaving:
            name = f"x{len(visitor.row)}"
            kind = c_type(value.dtype, value.shape)
            visitor.row.append((kind, name, renderer.operand(value)))
            known[id(value)] = f"row.{name}"
    visitor.load += out.lines
    return known


def render_functions(
    kernel: Kernel, out: Emitter, sweep: Sweep, site: Site, renderers: list[BlockRenderer],
    update: object, *, accepted: bool = False,
) -> None:  # fmt: skip
    """Render the functions of a sweep at one arc, each only where the one before sent."""
    with ExitStack() as stack:
        for number, (step, renderer) in enumerate(zip(sweep.steps, renderers, strict=True)):
            if step.accept is not None and not accepted:
                tested = replace(site, frozen=frozenset(sweep.frozen_accept))
                test = kernel.block_value(out, step.accept, tested, step)
                stack.enter_context(out.block(f"if ({test})"))
            renderer.prepare(step.body)
            renderer.run(step.body.body)
            if kernel.lanes > 1 and not kernel.spread:
                # All lanes of a group have the values; one of them acts.
                stack.enter_context(out.block(f"if (Group<{kernel.lanes}>::lane() == 0)"))
            kernel.take_scalars(out, renderer, sweep, number)
            messages = [renderer.operand(r) for r in step.body.results]
            messages = _store_edges(kernel, out, sweep, step, site, renderer, messages)
            when = messages.pop() if step.conditional else None
            if when is not None and step.sends_always:
                when = renderer.variable(when, "bool", "goes_on")
                update(number, step, renderer, messages)  # type: ignore[operator]
            if when is not None:
                stack.enter_context(out.block(f"if ({when})"))
            if not step.sends_always:
                update(number, step, renderer, messages)  # type: ignore[operator]


def _store_edges(
    kernel: Kernel, out: Emitter, sweep: Sweep, step: Step, site: Site, renderer: BlockRenderer,
    messages: list[str],
) -> list[str]:  # fmt: skip
    """Write the edge state of one arc; return the messages as they were before it."""
    if not renderer.edge_stores:
        return messages
    kept = [
        renderer.hold(m, v.dtype, v.shape) for m, v in zip(messages, step.body.results, strict=True)
    ]
    arc = renderer.variable(site.state_place(), "i64", "arc")
    kernel.sync(out)
    for name, (value, operand) in renderer.edge_stores.items():
        buffered = name in buffered_edges(sweep)
        array = kernel.args.use("edge_next" if buffered else "edge_state", name)
        put = f"{'' if value.shape else kernel.alone}put<{c_type(value.dtype, value.shape)}>"
        out.line(f"{put}({array}, {arc}, {operand});")
        if buffered:  # later functions of a fold see what was assigned
            site.known["edge_state", "e", name] = operand
        elif name in kernel.buffered_edges:  # another sweep copies its whole buffer back
            out.line(f"{put}({kernel.args.use('edge_next', name)}, {arc}, {operand});")
    return kept


def _renderers(kernel: Kernel, out: Emitter, sweep: Sweep, site: Site) -> list[BlockRenderer]:
    return [
        kernel.renderer(out, replace(site, frozen=frozenset(sweep.frozen[number])), step)
        for number, step in enumerate(sweep.steps)
    ]


def push_visitor(
    kernel: Kernel, sweep: Sweep, name: str, side: str, update: Any = push_update
) -> Visitor:
    """Return the visitor of a push; without a side, of a frontier of arcs.

    `update` renders what becomes of the messages of one arc.
    """
    visitor = Visitor(
        name, vertex="u", far="v", far_type="Vertex", lanes=kernel.lanes, spread=kernel.spread
    )
    if side:
        chosen = kernel.options.side(side)
        visitor.splits, visitor.joined = chosen.format.splits, chosen.joined
    visitor.parts = kernel.parts_struct(sweep)
    out = kernel.emitter()
    site = kernel.site("edge", "s")
    if side:
        site = kernel.slot_site(side, sweep.way("push"))
    site.turned = sweep.turned
    site.racy = racy_fields(sweep)
    overlay_pairs(kernel, site)
    known: dict[int, str] = {}
    if len(sweep.steps) == 1 and sweep.mode != "effects" and side:
        tested = replace(site, frozen=frozenset(sweep.frozen[0]))
        known = hoist_row(kernel, visitor, sweep.steps[0], tested, "u", moving_fields(sweep))
    if sweep.mode == "once":
        claim = claim_field(sweep.steps[0])
        dtype, _ = kernel.types[claim]
        # Looked at ahead: a lane that finds it open still has to win the swap.
        array = kernel.args.use("field", claim)
        visitor.message.append((stored_type(dtype), "held", f"at_load({array}, v)"))
        out.line("const auto held = message.held;")
        site.known[("field", "v", claim)] = "(held != 0)" if dtype.kind == "b" else "held"
    _mark_rows(kernel, visitor, sweep.steps[0])
    renderers = _renderers(kernel, out, sweep, site)
    renderers[0].known.update(known)
    renderers[0].scope.marks = bool(visitor.marks)

    step = sweep.steps[0]
    if side and kernel.lanes == 1 and not kernel.spread and _swaps_pairs(sweep):
        messages, seen = messages_ahead(kernel, visitor, step, renderers[0], out)
        out = kernel.emitter()
        if step.into[0] in kernel.wide_pairs:
            improve(kernel, out, step, kernel.renderer(out, site, step), messages, seen=seen)
            with out.block("if (hit)"):
                emit(kernel, out)
        else:
            # In equal shares no row is long, and more warps are worth more than that.
            visitor.windows = PAIRS if chosen.schedule.rows == "whole" else 1
            carried, visitor.settle = try_pair(kernel, out, step, messages, seen)
            visitor.message += carried
        visitor.take = out.lines
        return visitor

    parted = sweep.mode == "once" and update is push_update and can_part(kernel, step)
    if visitor.message and not parted:
        visitor.windows = BATCH
    elif sweep.mode == "effects" and side and "common" not in sweep.facts.ops:
        # Nothing to send, but targets to wait for.
        visitor.windows = PAIRS if chosen.schedule.rows == "whole" else 1
        if len(sweep.steps) == 1 and kernel.lanes == 1 and not kernel.spread:
            _live_ahead(kernel, visitor, step, renderers[0])
            visitor.windows = BATCH if visitor.message else visitor.windows

    def send(number: int, step: Step, renderer: BlockRenderer, messages: list[str]) -> None:
        if parted:
            carried, visitor.settle = try_claim(kernel, out, step, messages)
            visitor.message += carried
        else:
            update(kernel, out, sweep, number, step, renderer, messages)

    render_functions(kernel, out, sweep, site, renderers, send)
    visitor.take = out.lines
    return visitor


def _swaps_pairs(sweep: Sweep) -> bool:
    """Whether every arc of a sweep swaps a pair, and nothing else."""
    step = sweep.steps[0]
    return (
        sweep.mode == "online" and len(sweep.steps) == 1 and step.reductions[0].selecting
        and step.accept is None and not step.conditional
        and all(is_pure(value, set()) for value in step.body.walk())
    )  # fmt: skip


def messages_ahead(
    kernel: Kernel, visitor: Visitor, step: Step, renderer: BlockRenderer, out: Emitter
) -> tuple[list[str], str]:
    """Make the messages of a push ahead of the arcs before them.

    Returns how they are named, and the word of a pair that they are compared with, if there is one.
    """
    messages = renderer.block(step.body)
    visitor.fetch = out.lines
    messages = visitor.carry(messages, [(r.dtype, r.shape) for r in step.body.results])
    if not step.reductions[0].selecting:
        return messages, ""
    visitor.message.append(("u64", "seen", key_word(kernel, step.into[0], "v")))
    return messages, "message.seen"


def _live_ahead(kernel: Kernel, visitor: Visitor, step: Step, renderer: BlockRenderer) -> None:
    """Load live fields of v that a function reads before any effect ahead of the arcs before it.

    Live accesses of different arcs come in no order, so that one value is as good as another.
    """
    loads = []
    for value in step.body.body:
        if any(inner.op in EFFECT for inner in (value, *_inside(value))):
            break
        if value.op == "at_load" and _is_far_end(value.args[0]):
            loads.append(value)
    if registers_of(loads, 1) > MOST_AHEAD // BATCH:
        return
    for value in loads:
        array = kernel.args.use("field", value.attr)
        text = cast_loaded(f"at_load({array}, v)", value.dtype)
        (renderer.known[id(value)],) = visitor.carry([text], [(value.dtype, value.shape)])


def _is_far_end(index: Value) -> bool:
    """Whether an index is the id of v."""
    while index.op == "cast":
        index = index.args[0]
    return index.op == "load" and index.attr[:2] == ("id", "v")


def _inside(value: Value) -> list[Value]:
    return [inner for block in value.blocks for inner in block.walk()]


def _mark_rows(kernel: Kernel, visitor: Visitor, step: Step) -> None:
    """Let a block that works on a row alone keep it at hand, for the common neighbours of u."""
    commons = [v for v in step.body.walk() if v.op == "common"]
    asked = [v.args for v in commons]
    if any(arcs_of_common(value) for value in commons):
        return  # a marker does not know slots
    if kernel.lanes > 1 and asked and all(row_of_pair(args, "u") is not None for args in asked):
        offsets, targets = (kernel.args.use(name, "out") for name in ("offsets", "targets"))
        ends = f"row_begin({offsets}, u), row_end({offsets}, u)"
        visitor.marks = f"marker.hold({targets}, {ends});"


def pull_visitor(kernel: Kernel, sweep: Sweep, name: str, rows: str, side: str) -> Visitor:
    """Return the visitor of a pull."""
    step = sweep.steps[0]
    visitor = Visitor(name, vertex="v", far="u", lanes=kernel.lanes, spread=kernel.spread)
    chosen = kernel.options.side(side)
    visitor.splits, visitor.joined = chosen.format.splits, chosen.joined
    visitor.parts = kernel.parts_struct(sweep)
    visitor.collects = True
    visitor.exits = sweep.early_exit
    visitor.looks = True
    site = kernel.slot_site(side, sweep.way("pull"))
    site.turned = sweep.turned
    site.racy = racy_fields(sweep)
    overlay_pairs(kernel, site)
    if sweep.rises:  # all senders hold the same
        site.known["field", "u", claim_field(step)] = "frontier.value"
    if step.accept is not None:
        out = kernel.emitter()
        tested = replace(site, frozen=frozenset(sweep.frozen_accept))
        out.line(f"return {kernel.block_value(out, step.accept, tested, step)};")
        visitor.open = out.lines
    pulled = Pulled(kernel, sweep, site)
    out = kernel.emitter()
    known = hoist_row(
        kernel, visitor, step, replace(site, frozen=frozenset(sweep.frozen[0])), "v",
        sweep.facts.live,
    )  # fmt: skip
    out.line(f"{kernel.alone}++looked;")
    out.line("if (!frontier.holds(u)) return false;")
    renderers = _renderers(kernel, out, sweep, site)
    if kernel.spread and step.everywhere and not sweep.early_exit and len(sweep.steps) == 1:
        known |= features_ahead(kernel, visitor, step, renderers[0].scope.site, known)
    renderers[0].known.update(known)

    def update(number: int, step: Step, renderer: BlockRenderer, messages: list[str]) -> None:
        pulled.take(out, renderer, messages)

    render_functions(kernel, out, sweep, site, renderers, update, accepted=True)
    pulled.end_slot(out, renderers[0])
    visitor.take = out.lines
    if not (visitor.splits or visitor.message) and looks_first(kernel, sweep, chosen):
        visitor.guess = kernel.args.use("best_neighbor", sweep.way("pull"))
    start_rows(kernel, visitor, pulled, rows)
    return visitor


def features_ahead(
    kernel: Kernel, visitor: Visitor, step: Step, site: Site, known: dict[int, str]
) -> dict[int, str]:
    """Load the features of an arc ahead of the arcs before it, with what products are made of.

    Returns how they are named when it is the arc's turn.
    """
    products, made = joint_products(step, known)
    inside, outside = {id(value) for value in made}, in_memory(step)
    loads = [v for v in step.body.body if v.op == "load" and id(v) not in outside]
    if any(site.is_racy(v) or not is_pure(v, set()) for v in loads):
        return {}
    later = [v for v in step.body.walk() if id(v) not in inside]
    used = {id(arg) for value in later for arg in value.args}
    used |= {id(result) for result in step.body.results}
    kept = [v for v in made if id(v) in used and v.op not in LEAVES]
    loads = [v for v in loads if id(v) not in inside and id(v) not in known]
    if registers_of([*kept, *loads], kernel.spread_lanes) > MOST_AHEAD:
        loads = []
    kept += loads
    out = kernel.emitter()
    renderer = kernel.renderer(out, site, step)
    renderer.known.update(known)
    renderer.prepare(step.body)
    renderer.run([*made, *loads])
    visitor.fetch, visitor.computes = out.lines, bool(products)
    kept = [v for v in kept if id(v) in renderer.known]
    texts = [renderer.operand(value) for value in kept]
    names = visitor.carry(texts, [(value.dtype, value.shape) for value in kept])
    ahead = {id(value): "" for value in made if id(value) in renderer.known}
    ahead |= {id(value): name for value, name in zip(kept, names, strict=True)}
    for number, product in enumerate(products):
        kind, name = c_type(product.dtype, product.shape), f"y{number}"
        source = ahead[id(product.args[1])].removeprefix("message.")
        visitor.joint.append((kind, name, source, product_of(kernel.args, product)))
        ahead[id(product)] = f"message.{name}"
    return ahead


def registers_of(values: Sequence[Value], lanes: int) -> int:
    """Return how many registers of a lane some values take."""
    return sum(items_of(v.shape, lanes) * -(-v.dtype.itemsize // 4) for v in values)


def start_rows(kernel: Kernel, visitor: Visitor, pulled: Pulled, rows: str) -> None:
    """Add what a row's messages start from, how parts of it meet, and what becomes of them."""
    visitor.partial = pulled.members()
    for part, name, present in pulled.begin():
        visitor.begin.append(f"{part} = row.{name};")
        visitor.row.append(present)
    merge = kernel.emitter()
    pulled.merge(merge)
    visitor.merge = merge.lines
    close = kernel.emitter()
    pulled.close(close, rows)
    visitor.close = close.lines
