"""Reductions over common neighbours as Numba statements."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

from weft.backends.cpu.codegen.adjacent import Accumulator
from weft.backends.cpu.codegen.blocks import BlockRenderer, Operand
from weft.backends.cpu.codegen.site import Site
from weft.ir.check.facts import arcs_of_common
from weft.ir.ops import Value

MUCH_LONGER = 32  # times as long: a search in the row costs less than a walk along it


def render_common(renderer: BlockRenderer, value: Value) -> list[Operand]:
    """Render a reduction over common neighbours by a marker that stays with the row of a.

    Where the arcs of a are asked for, their slots are kept beside the marks, so that a hit costs
    one more load. A row of b that is much longer than that of a is searched instead.
    """
    out, args = renderer.out, renderer.args
    a, b = (renderer.checked(arg) for arg in value.args)
    offsets, targets = args.use("offsets", "out"), args.use("targets", "out")
    marker, asked = args.use("marker"), arcs_of_common(value)
    slot, w, last, hit = (out.fresh(letter) for letter in "swlh")
    searched, low, high, walked = (out.fresh(name) for name in ("far", "low", "high", "row"))
    out.line(f"{low}, {high} = np.uint64({offsets}[{b}]), np.uint64({offsets}[{b} + ONE])")
    own = f"np.uint64({offsets}[{a} + ONE] - {offsets}[{a}])"
    out.line(f"{searched} = {high} - {low} > np.uint64({MUCH_LONGER}) * {own}")
    out.line(f"{walked} = {a} if {searched} else {b}")
    with out.block(f"if not {searched} and marked != {a}:"):
        rows = f"{offsets}, {targets}, marked, {a}, np.uint64(n)"
        out.line(f"mark_row({marker}, marker_base, {rows})")
        out.line(f"marked = {a}")
    slots = ""
    if "ea" in asked:
        slots = args.use("marker_slots")
        with out.block(f"if not {searched} and placed != {a}:"):
            out.line(f"place_row({slots}, slots_base, {offsets}, {targets}, {a})")
            out.line(f"placed = {a}")
    accumulators, kinds = [], list(value.results)
    for reduction, count, _ in value.attr:
        accumulators.append(Accumulator(renderer, reduction, kinds[:count]))
        kinds = kinds[count:]
    ends = [reduction.name for reduction, _, _ in value.attr] == ["any"]
    out.line(f"{last} = np.uint64(n)")
    with out.block(f"for {slot} in range({offsets}[{walked}], {offsets}[{walked} + ONE]):"):
        out.line(f"{w} = np.uint64({targets}[{slot}])")
        with out.block(f"if {searched}:"):
            out.line(f"{low} = first_from({targets}, {low}, {high}, {w})")
            same = f"{low} < {high} and np.uint64({targets}[{low}]) == {w}"
            out.line(f"{hit} = {w} != {last} and {same}")
        with out.block("else:"):
            out.line(f"{hit} = is_marked({marker}, marker_base, {w}) & ({w} != {last})")
        out.line(f"{last} = {w}")
        with out.block(f"if {hit}:"):
            site = renderer.scope.site
            found = {}
            if "eb" in asked:
                near = renderer.variable(f"{low} if {searched} else np.uint64({slot})", "p")
                found["eb"] = _arc(site, b, near)
            if slots:
                kept = f"np.uint64({slots}[slots_base + {w}])"
                near = renderer.variable(f"np.uint64({slot}) if {searched} else {kept}", "p")
                found["ea"] = _arc(site, a, near)
            index = {**site.index, "w": w}
            nested = _nested(renderer, replace(site, index=index, found=found))
            _take(nested, value, accumulators, ends)
    for accumulator in accumulators:
        accumulator.renderer = renderer
        accumulator.end_row()
    return [part for accumulator in accumulators for part in accumulator.parts]


def _arc(site: Site, row: str, slot: str) -> Site:
    """Return the place of an arc from a computed vertex."""
    index = {**site.index, "u": row}
    return replace(site, direction="out", slot=slot, index=index, known={}, layout="", turned=False)


def _nested(renderer: BlockRenderer, site: Site) -> BlockRenderer:
    """Return a renderer of the block at one common neighbour."""
    outer = renderer.scope
    scope = outer.at(site)
    nested = BlockRenderer(renderer.out, renderer.args, renderer.scratch, scope)
    nested.known = dict(renderer.known)
    nested.parts = renderer.parts
    return nested


def _take(nested: BlockRenderer, value: Value, accumulators: list[Accumulator], ends: bool) -> None:
    """Combine the messages of one common neighbour."""
    out = nested.out
    results = nested.block(value.blocks[0])
    position = 0
    for accumulator, (_, count, conditional) in zip(accumulators, value.attr, strict=True):
        messages = results[position : position + count]
        position += count
        accumulator.renderer = nested
        with ExitStack() as stack:
            if conditional:
                stack.enter_context(out.block(f"if {results[position]}:"))
                position += 1
            accumulator.take(messages)
            if ends:
                out.line("break")
            elif len(accumulators) == 1:
                accumulator.end_early()
