"""Reductions over common neighbours as C++ statements."""

from __future__ import annotations

from dataclasses import replace

from weft.backends.cuda.codegen.adjacent import Accumulator, row_of_pair
from weft.backends.cuda.codegen.blocks import BlockRenderer, Operand
from weft.backends.cuda.codegen.expressions import cast, elementwise
from weft.backends.cuda.codegen.site import Site
from weft.backends.emit.gathers import handed_out, split
from weft.ir.check.facts import arcs_of_common, only_emits, sends_alike
from weft.ir.ops import INT64, Value


def render_common(renderer: BlockRenderer, value: Value) -> list[Operand]:
    """Render a reduction over common neighbours.

    The targets of the shorter row are searched in the other one; where a block holds the row of u,
    those of the other row are looked up in it. The slot in the row that was searched is looked for
    again only where the function asks for its arc.
    """
    out, args = renderer.out, renderer.args
    a, b = (renderer.checked(arg) for arg in value.args)
    offsets, targets = args.use("offsets", "out"), args.use("targets", "out")
    rows, slot, w, found = (out.fresh(name) for name in ("rows", "s", "w", "found"))
    accumulators = [Accumulator(renderer, *each) for each in split(value.attr, value.results)]
    done = ""
    alone = len(accumulators) == 1
    if alone and (value.attr[0][0].name == "any" or accumulators[0].is_complete()):
        done = renderer.mutable("false", "bool", "done")
    lanes = renderer.scope.lanes
    found_by = _rows_and_search(renderer, value, rows, (offsets, targets, a, b))
    if renderer.scope.marks and args.row_bits:
        _take_head(renderer, value, accumulators, rows, _walked(value, a, b), done)
    first = f" + Group<{lanes}>::lane()" if lanes > 1 else ""
    step = f"{lanes} * searches" if lanes > 1 else "searches"
    more, most = (f"!{done} && " if done else ""), f"{slot} < {rows}.end"
    if renderer.scope.emits == "write" and only_emits(value):
        more = "emitted < emit_end && "  # not beyond the last record
    with out.block(f"for (i64 {slot} = {rows}.begin{first}; {more}{most}; {slot} += {step})"):
        out.line(f"u32 {found} = {found_by.format(slot=slot, lanes=lanes)};")
        with out.block(f"for (; {more}{found} != 0; {found} &= {found} - 1)"):
            place = f"{slot} + (ffs({found}) - 1) * {lanes}"
            site = renderer.scope.site
            arcs = {}
            if arcs_of_common(value):
                place = renderer.variable(place, "i64", "p")
            out.line(f"const i64 {w} = i64(load_constant({targets} + {place}));")
            if arcs_of_common(value):
                arcs = _arcs(renderer, value, rows, (offsets, targets, a, b), (w, place))
            index = {**site.index, "w": w}
            nested = renderer.inner(replace(site, index=index, found=arcs))
            nested.scope.lanes = 1  # each lane has a neighbour of its own
            _take(nested, value, accumulators, done)
    for accumulator in accumulators:
        accumulator.renderer = renderer
        if lanes > 1:
            _meet(renderer, accumulator, lanes)
        accumulator.end_row()
    return [part for accumulator in accumulators for part in accumulator.parts]


def _rows_and_search(
    renderer: BlockRenderer, value: Value, rows: str, names: tuple[str, str, str, str]
) -> str:
    """Declare the pair of rows; return the call that finds the common ones of some slots."""
    offsets, targets, a, b = names
    pair = f"shorter_first({offsets}, {a}, {b})"
    found_by = f"common_slots({targets}, {rows}, {{slot}}, {{lanes}})"
    if renderer.scope.marks:
        pair = f"marker.on ? single_row({offsets}, {_walked(value, a, b)}) : {pair}"
        marked = f"marked_slots({targets}, {rows}, {{slot}}, {{lanes}}, marker)"
        found_by = f"marker.on ? {marked} : {found_by}"
    renderer.out.line(f"RowPair {rows} = {pair};")
    return found_by


def _walked(value: Value, a: str, b: str) -> str:
    """Return the row that is walked where a block holds that of u."""
    return (b, a)[row_of_pair(value.args, "u") or 0]


def _take_head(
    renderer: BlockRenderer, value: Value, accumulators: list[Accumulator], rows: str, walked: str,
    done: str,
) -> None:  # fmt: skip
    """Combine the messages of the common neighbours found by the bits of the walked row."""
    out, args, lanes = renderer.out, renderer.args, renderer.scope.lanes
    head, k, bits, w = (out.fresh(name) for name in ("head", "k", "bits", "w"))
    table, words = args.use("row_bits"), args.use("row_words")
    out.line(f"const Head {head} = head_of({table}, {words}, {walked}, marker);")
    lane = f"Group<{lanes}>::lane()" if lanes > 1 else "0"
    nested = renderer.inner(renderer.scope.site)
    nested.scope.lanes = 1
    if sends_alike(value):
        (accumulator,), dtype = accumulators, value.results[0][0]
        (message,) = nested.block(value.blocks[0])
        count = cast(f"i64(count_shared({head}, {lane}, {lanes}))", INT64, dtype)
        accumulator.renderer = nested
        accumulator.take([elementwise("mul", [str(message), count], dtype, dtype)])
    else:
        more = f"!{done} && " if done else ""
        step = f"{k} += {lanes}"
        with out.block(f"for (i64 {k} = {lane}; {more}{k} < {head}.count; {step})"):
            out.line(f"u64 {bits} = {head}.shared_by({k});")
            with out.block(f"for (; {more}{bits} != 0; {bits} &= {bits} - 1)"):
                out.line(f"const i64 {w} = {head}.first + 64 * {k} + ffs({bits}) - 1;")
                site = renderer.scope.site
                nested = renderer.inner(replace(site, index={**site.index, "w": w}, found={}))
                nested.scope.lanes = 1
                _take(nested, value, accumulators, done)
    out.line(f"{rows}.begin += {head}.covered;")


def _arcs(
    renderer: BlockRenderer, value: Value, rows: str, names: tuple[str, str, str, str],
    hit: tuple[str, str],
) -> dict[str, Site]:  # fmt: skip
    """Return the places of the arcs from a and from b to the common neighbour of a slot."""
    offsets, targets, a, b = names
    w, place = hit
    arcs = {}
    walked = f"{rows}.begin == row_begin({offsets}, {{}}) && {rows}.end == row_end({offsets}, {{}})"
    for who, row in (("ea", a), ("eb", b)):
        if who in arcs_of_common(value):
            own = walked.format(row, row)
            search = f"slot_of({offsets}, {targets}, {row}, {w})"
            slot = renderer.variable(f"{own} ? {place} : {search}", "i64", "p")
            site = renderer.scope.site
            arcs[who] = replace(
                site, direction="out", slot=slot, index={**site.index, "u": row}, known={},
                layout="", turned=False, states_by_in=False,
            )  # fmt: skip
    return arcs


def _take(nested: BlockRenderer, value: Value, accumulators: list[Accumulator], done: str) -> None:
    """Combine the messages of one common neighbour."""
    out = nested.out
    results = nested.block(value.blocks[0])
    for accumulator, messages in handed_out(nested, results, value.attr, accumulators):
        accumulator.take(messages)
        if done:
            out.line(f"{done} = {accumulator.is_complete() or 'true'};")


def _meet(renderer: BlockRenderer, accumulator: Accumulator, lanes: int) -> None:
    """Combine what the lanes of a group found; all of them get the whole."""
    out, (part,) = renderer.out, accumulator.parts
    ((dtype, _),) = accumulator.kinds
    with out.block(f"for (u32 stride = 1; stride < {lanes}; stride *= 2)"):
        other = renderer.variable(
            f"shuffle_any(Group<{lanes}>::mask(), {part}, lane_id() ^ stride)", dtype, "other"
        )
        out.line(f"{part} = {renderer.combined(accumulator.reduction, part, other, dtype)};")
