"""Gathers by key as Numba statements: a hash table of the row, then a loop over its entries.

The table lies in memory of the thread and has two places for every entry that the row can have, so
that short rows stay in the cache. Entries stand one after the other, in the order in which their
keys were met.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from weft.backends.cpu.codegen.adjacent import Accumulator, _walk
from weft.backends.cpu.codegen.blocks import (
    BlockRenderer,
    Operand,
    cast_loaded,
    stored,
)
from weft.backends.cpu.codegen.expressions import literal
from weft.backends.cpu.codegen.site import Site
from weft.backends.emit.gathers import ended, handed_out, split
from weft.ir.check.facts import key_is_vertex
from weft.ir.ops import Reduction, Value


class Choice:
    """The running result of a selecting reduction over entries: the smallest key on ties."""

    def __init__(
        self, renderer: BlockRenderer, reduction: Reduction, kinds: list[Any], key: Any
    ) -> None:
        self.renderer, self.reduction, self.kinds = renderer, reduction, kinds
        out = renderer.out
        self.parts: list[Operand] = []
        for position, (dtype, _) in enumerate(kinds):
            payload = reduction.name != "any" and position > 0
            self.parts.append(out.fresh("a"))
            out.line(f"{self.parts[-1]} = {renderer.identity(reduction, dtype, payload)}")
        self.got, self.key = out.fresh("g"), out.fresh("k")
        out.line(f"{self.got} = False")
        out.line(f"{self.key} = {literal(0, key)}")

    def take(self, messages: list[Operand], key: str) -> None:
        """Take the messages of an entry if they are better, or equal with a smaller key."""
        out = self.renderer.out
        held = [self.renderer.hold(m, d) for m, (d, _) in zip(messages, self.kinds, strict=True)]
        earlier = f"{key} < {self.key}"
        if self.reduction.name == "any":
            test = f"not {self.got} or {earlier}"
        else:
            sign = "<" if self.reduction.name == "argmin" else ">"
            best = self.parts[0]
            test = f"{held[0]} {sign} {best} or ({held[0]} == {best} and {self.got} and {earlier})"
        with out.block(f"if {test}:"):
            for part, message in zip(self.parts, held, strict=True):
                out.line(f"{part} = {message}")
            out.line(f"{self.got} = True")
            out.line(f"{self.key} = {key}")

    def end_row(self) -> None:
        """A choice is complete as it is."""


def render_by_key(
    value: Value, renderer: BlockRenderer, site: Site, deterministic: bool = False
) -> list[Operand]:
    """Render a gather by key; return the operands of its results."""
    direction, hops, reduction, conditional, groups = value.attr
    out, args = renderer.out, renderer.args
    key_type, value_type = (result.dtype for result in value.blocks[0].results[:2])
    room = (direction, hops, key_is_vertex(value))
    keys, values = args.use("by_keys", key_type, *room), args.use("by_values", value_type, *room)
    table = args.use("by_table", *room)
    size, count = out.fresh("z"), out.fresh("c")
    out.line(f"{size} = np.uint64({_bound(renderer, site, direction, hops)})")
    if key_is_vertex(value):
        out.line(f"{size} = min({size}, np.uint64(n))")
    out.line(f"{size} = np.uint64(2) * {size}")
    out.line(f"clear_table({table}, base_{table}, {size})")
    out.line(f"{count} = 0")

    def arc(inner: BlockRenderer, place: Site) -> None:
        results = inner.block(value.blocks[0])
        with inner.only_if(results[2] if conditional else None):
            key = inner.variable(str(results[0]), "k")
            message = inner.variable(str(results[1]), "m")
            at, entry = out.fresh("i"), f"{values}[base_{values} + np.uint64({{}})]"
            entry = entry.format(at)
            found = f"{keys}, base_{keys}, {table}, base_{table}, {size}, {count}, {key}"
            out.line(f"{at} = entry_of({found})")
            with out.block(f"if {at} == {count}:"):
                out.line(f"{entry} = {stored(message, value_type)}")
                out.line(f"{count} += 1")
            with out.block("else:"):
                held = inner.variable(cast_loaded(entry, value_type), "m")
                text = inner.combined(reduction, held, message, value_type)
                out.line(f"{entry} = {stored(text, value_type)}")

    for way in ("in", "out") if direction == "both" else (direction,):
        if hops == 1:
            _walk(renderer, site, way, arc, [])
        else:
            _walk(renderer, site, way, lambda inner, place: _second_hop(inner, place, arc), [])
    sums = any(
        m.dtype.kind == "f" and r.name in ("sum", "prod", "user")
        for m, (r, _, _) in zip(value.blocks[1].results, groups, strict=False)
    )
    ordered = (deterministic and sums) or any(v.op == "emit" for v in value.blocks[1].walk())
    if ordered:
        out.line(f"sort_entries({keys}, base_{keys}, {values}, base_{values}, {count})")
    return _consume(value, renderer, (keys, values, count))


def _bound(renderer: BlockRenderer, site: Site, direction: str, hops: int) -> str:
    """Return the most entries that the row of v can have."""
    row = site.index["v"]
    if hops == 2:
        return f"{renderer.args.use('paths', direction)}[{row}]"
    ways = ("in", "out") if direction == "both" else (direction,)
    offsets = [renderer.args.use("offsets", way) for way in ways]
    return " + ".join(f"({name}[{row} + ONE] - {name}[{row}])" for name in offsets)


def _second_hop(renderer: BlockRenderer, site: Site, arc: Any) -> None:
    """Render the loop over the arcs of u."""
    out, way, middle = renderer.out, site.direction, site.index["u"]
    slot, far = out.fresh("s"), out.fresh("w")
    offsets, targets = renderer.args.use("offsets", way), renderer.args.use("targets", way)
    with out.block(f"for {slot} in range({offsets}[{middle}], {offsets}[{middle} + ONE]):"):
        out.line(f"{far} = np.uint64({targets}[{slot}])")
        second = replace(site, slot=slot, layout="", known={}, found={})
        place = replace(site, index={**site.index, "w": far}, found={"eb": second})
        outer = renderer.scope
        scope = outer.at(place)
        nested = BlockRenderer(out, renderer.args, renderer.scratch, scope)
        nested.known, nested.parts = dict(renderer.known), renderer.parts
        arc(nested, place)


def _consume(value: Value, renderer: BlockRenderer, names: tuple[str, str, str]) -> list[Operand]:
    """Render the loop over the entries."""
    keys, values, count = names
    out, groups = renderer.out, value.attr[4]
    entry = value.blocks[1]
    key_type, value_type = (param.dtype for param in entry.params)
    accumulators: list[Accumulator | Choice] = []
    for reduction, part in split(groups, value.results):
        if reduction.selecting:
            accumulators.append(Choice(renderer, reduction, part, key_type))
        else:
            accumulators.append(Accumulator(renderer, reduction, part))
    place = out.fresh("i")
    with out.block(f"for {place} in range(np.uint64({count})):"):
        nested = BlockRenderer(out, renderer.args, renderer.scratch, renderer.scope)
        nested.known, nested.parts = dict(renderer.known), renderer.parts
        key = nested.variable(f"{keys}[base_{keys} + {place}]", "k")
        held = cast_loaded(f"{values}[base_{values} + {place}]", value_type)
        nested.known[id(entry.params[0])] = key
        nested.known[id(entry.params[1])] = nested.variable(held, "m")
        results = nested.block(entry)
        for accumulator, messages in handed_out(nested, results, groups, accumulators):
            if isinstance(accumulator, Choice):
                accumulator.take(messages, key)
            else:
                accumulator.take(messages)
        for accumulator in accumulators:
            if isinstance(accumulator, Accumulator):
                accumulator.end_slot(place)
    return ended(renderer, accumulators)
