"""Gathers by key as C++ statements: a hash table of the row, then a loop over its entries.

One thread works on a row. Its table and its entries lie in stretches of global memory that belong
to the row, with two places for every entry that it can have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from weft.backends.cuda.codegen.adjacent import Accumulator, _walk
from weft.backends.cuda.codegen.blocks import BlockRenderer, Operand, cast_loaded, stored
from weft.backends.cuda.codegen.expressions import bare, literal
from weft.backends.cuda.codegen.site import Site
from weft.backends.cuda.codegen.text import c_type
from weft.backends.emit.gathers import ended, handed_out, split
from weft.ir.ops import Reduction, Value


class Choice:
    """The running result of a selecting reduction over entries: the smallest key on ties.

    Without a number its variables are locals, with one they are members of a partial result.
    """

    def __init__(
        self, renderer: BlockRenderer, reduction: Reduction, kinds: list[Any], key: Any,
        first: int = -1,
    ) -> None:  # fmt: skip
        self.renderer, self.reduction, self.kinds = renderer, reduction, kinds
        starts = []
        for position, (dtype, _) in enumerate(kinds):
            payload = reduction.name != "any" and position > 0
            starts.append((c_type(dtype), renderer.identity(reduction, dtype, payload), "acc"))
        starts += [("bool", "false", "got"), (c_type(key), literal(0, key), "key")]
        self._members: list[tuple[str, str, str]] = []
        if first < 0:
            self.names = [renderer.mutable(text, kind, name) for kind, text, name in starts]
        else:
            plain = [*(f"p{first + k}" for k in range(len(kinds))), f"got{first}", f"key{first}"]
            self._members = [
                (kind, name, text) for (kind, text, _), name in zip(starts, plain, strict=True)
            ]
            self.names = [f"partial.{name}" for name in plain]

    def members(self) -> list[tuple[str, str, str]]:
        """Return C++ type, name and initial value of every member of a partial result."""
        return self._members

    @property
    def parts(self) -> list[Operand]:
        """The variables of the messages."""
        return self.names[: len(self.kinds)]

    def take(self, messages: list[Operand], key: Operand, _: Operand = "") -> None:
        """Take the messages of an entry if they are better, or equal with a smaller key."""
        renderer = self.renderer
        held = [renderer.hold(m, d) for m, (d, _) in zip(messages, self.kinds, strict=True)]
        self._take([*held, "true", key], "")

    def merge(self, other: str) -> None:
        """Take the messages of another partial result if they are better."""
        theirs = [f"{other}{name}" for _, name, _ in self._members]
        self._take(theirs, f"{theirs[-2]} && ")

    def _take(self, found: list[Operand], there: str) -> None:
        got, key = self.names[-2:]
        earlier = f"{found[-1]} < {key}"
        if self.reduction.name == "any":
            test = f"!{got} || {earlier}"
        else:
            sign = "<" if self.reduction.name == "argmin" else ">"
            best, new = self.names[0], found[0]
            test = f"{new} {sign} {best} || ({new} == {best} && {got} && {earlier})"
        with self.renderer.out.block(f"if ({there}({test}))" if there else f"if ({test})"):
            for name, text in zip(self.names, found, strict=True):
                self.renderer.out.line(f"{name} = {text};")

    def end_row(self) -> None:
        """A choice is complete as it is."""


def render_by_key(
    value: Value, renderer: BlockRenderer, site: Site, deterministic: bool = False
) -> list[Operand]:
    """Render a gather by key; return the operands of its results."""
    direction, hops, reduction, conditional, groups = value.attr
    out, args = renderer.out, renderer.args
    key_type, value_type = (result.dtype for result in value.blocks[0].results[:2])
    first, bound = _stretch(renderer, site, direction, hops)
    room = (direction, hops)
    names = [args.use("by_keys", key_type, *room), args.use("by_held", value_type, *room)]
    keys = renderer.variable(f"{names[0]} + {first}", "auto", "keys")
    values = renderer.variable(f"{names[1]} + {first}", "auto", "held")
    table = args.use("by_entries", *room)
    table = renderer.variable(f"{table} + 2 * {first}", "auto", "table")
    size = renderer.variable(f"2 * ({bound})", "i64", "z")
    out.line(f"clear_table({table}, {size});")
    count = renderer.mutable("0", "i64", "c")

    def arc(inner: BlockRenderer, place: Site) -> None:
        results = inner.block(value.blocks[0])
        with inner.only_if(results[2] if conditional else None):
            key = inner.variable(results[0], key_type, "k")
            message = inner.variable(results[1], value_type, "m")
            entry = inner.variable(f"entry_of({keys}, {table}, {size}, {count}, {key})", "i64", "i")
            with out.block(f"if ({entry} == {count})"):
                out.line(f"{values}[{entry}] = {stored(message, value_type)};")
                out.line(f"++{count};")
            with out.block("else"):
                held = cast_loaded(f"{values}[{entry}]", value_type)
                held = inner.variable(held, value_type, "m")
                text = inner.combined(reduction, held, message, value_type)
                out.line(f"{values}[{entry}] = {stored(bare(text), value_type)};")

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
        out.line(f"sort_entries({keys}, {values}, {count});")
    return _consume(value, renderer, (keys, values, count))


def _stretch(renderer: BlockRenderer, site: Site, direction: str, hops: int) -> tuple[str, str]:
    """Return where the entries of the row of v begin, and their maximum number."""
    row, use = site.index["v"], renderer.args.use
    if hops == 2:
        offsets = [use("path_offsets", direction)]
    else:
        ways = ("in", "out") if direction == "both" else (direction,)
        offsets = [use("offsets", way) for way in ways]
    first = " + ".join(f"load_constant({name} + {row})" for name in offsets)
    bound = " + ".join(
        f"load_constant({name} + {row} + 1) - load_constant({name} + {row})" for name in offsets
    )
    return renderer.variable(f"({first})", "i64", "p"), bound


def _second_hop(
    renderer: BlockRenderer, site: Site, arc: Callable[[BlockRenderer, Site], None]
) -> None:
    """Render the loop over the arcs of u."""
    out, way, middle = renderer.out, site.direction, site.index["u"]
    slot, far, end = (out.fresh(letter) for letter in "swe")
    offsets, targets = renderer.args.use("offsets", way), renderer.args.use("targets", way)
    out.line(f"const i64 {end} = row_end({offsets}, {middle});")
    with out.block(f"for (i64 {slot} = row_begin({offsets}, {middle}); {slot} < {end}; ++{slot})"):
        out.line(f"const i64 {far} = i64(load_constant({targets} + {slot}));")
        out.line(f"static_cast<void>({far});")
        second = replace(site, slot=slot, layout="", known={}, found={})
        place = replace(site, index={**site.index, "w": far}, found={"eb": second})
        arc(renderer.inner(place), place)


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
    with out.block(f"for (i64 {place} = 0; {place} < {count}; ++{place})"):
        nested = renderer.inner(renderer.scope.site)
        key = nested.variable(f"{keys}[{place}]", key_type, "k")
        held = cast_loaded(f"{values}[{place}]", value_type)
        nested.known[id(entry.params[0])] = key
        nested.known[id(entry.params[1])] = nested.variable(held, value_type, "m")
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
