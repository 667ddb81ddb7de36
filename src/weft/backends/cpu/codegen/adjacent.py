"""Gathers, common neighbours and computed neighbours as Numba statements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from weft.backends.cpu.codegen.blocks import (
    BlockRenderer,
    Operand,
    Stretch,
    cast_loaded,
    stored,
)
from weft.backends.cpu.codegen.expressions import literal
from weft.backends.cpu.codegen.parts import ArcNames, arcs_of
from weft.backends.cpu.codegen.site import Site
from weft.backends.emit.gathers import ended, handed_out, running_results, stops_at_first
from weft.ir.check.facts import uses
from weft.ir.elementwise import ELEMENTWISE
from weft.ir.ops import FLOAT32, Reduction, Value, neutral_of, terminal_of


class Accumulator:
    """The running result of one reduction: one variable or stretch of scratch per message."""

    def __init__(
        self, renderer: BlockRenderer, reduction: Reduction, kinds: list[tuple[Any, Any]],
        *, neutral: bool = False,
    ) -> None:  # fmt: skip
        self.renderer = renderer
        self.reduction = reduction
        self.kinds = kinds
        self.parts: list[Operand] = []
        for position, (dtype, shape) in enumerate(kinds):
            payload = reduction.name in ("argmin", "argmax") and position > 0
            identity = renderer.identity(reduction, dtype, payload)
            if neutral:
                identity = literal(neutral_of(reduction, dtype), dtype)
            self.parts.append(self._new(dtype, shape, identity))

        self.edge = ""  # the variable that holds the edge that was chosen
        self.chunks: Operand = ""
        if reduction.name == "sum" and kinds[0][0] == FLOAT32:
            self.nothing = identity
            # Sums of whole chunks: a long row keeps its precision.
            self.chunks = self._new(*kinds[0], identity)

    def _new(self, dtype: Any, shape: Any, text: str) -> Operand:
        """Return a variable, or scratch, that starts from a value."""
        if not shape:
            name = self.renderer.out.fresh("a")
            self.renderer.out.line(f"{name} = {text}")
            return name
        place = self.renderer.scratch.space(dtype, shape)
        self._assign(place, text, shape)
        return place

    def count_edges(self) -> None:
        """Choose among equal messages by the smallest edge id."""
        self.edge = self.renderer.out.fresh("e")
        self.renderer.out.line(f"{self.edge} = -1")

    def end_slot(self, slot: str) -> None:
        """Start a new chunk of a float32 sum after every 256th slot."""
        if self.chunks:
            dtype, shape = self.kinds[0]
            with self.renderer.out.block(f"if {slot} & np.uint64(255) == np.uint64(255):"):
                self._combine(self.chunks, self.parts[0], dtype, shape)
                self._assign(self.parts[0], self.nothing, shape)

    def end_early(self) -> None:
        """Leave the loop where no message changes the result any more."""
        dtype, shape = self.kinds[0]
        terminal = terminal_of(self.reduction, dtype)
        if terminal is not None and not shape:
            with self.renderer.out.block(f"if {self.parts[0]} == {literal(terminal, dtype)}:"):
                self.renderer.out.line("break")

    def end_row(self) -> None:
        """Add the chunks of a float32 sum."""
        if self.chunks:
            self._combine(self.parts[0], self.chunks, *self.kinds[0])

    def take(self, messages: list[Operand], edge: Callable[[], str] | None = None) -> None:
        """Combine one arc's messages into the running result; `edge` names the arc's edge id."""
        name = self.reduction.name
        if name == "any" and not self.edge:
            self._assign_all(messages)
        elif self.reduction.selecting:
            held = [
                self.renderer.hold(m, d) for m, (d, _) in zip(messages, self.kinds, strict=True)
            ]
            test = f"{held[0]} {'<' if name == 'argmin' else '>'} {self.parts[0]}"
            if self.edge:
                assert edge is not None
                number = self.renderer.variable(f"np.int64({edge()})", "e")
                earlier = f"{number} < {self.edge}"
                test = (
                    f"{self.edge} < 0 or {earlier}"
                    if name == "any"
                    else f"{test} or ({held[0]} == {self.parts[0]} and {earlier})"
                )
            with self.renderer.out.block(f"if {test}:"):
                self._assign_all(held)
                if self.edge:
                    self.renderer.out.line(f"{self.edge} = {number}")
        else:
            part, message, (dtype, shape) = self.parts[0], messages[0], self.kinds[0]
            self._combine(part, message, dtype, shape)

    def _assign_all(self, messages: list[Operand]) -> None:
        for part, message, (_, shape) in zip(self.parts, messages, self.kinds, strict=True):
            self._assign(part, message, shape)

    def _assign(self, part: Operand, message: Operand, shape: Any) -> None:
        out = self.renderer.out
        if isinstance(part, Stretch):
            with out.block(f"for k in range(np.uint64({int(np.prod(shape))})):"):
                source = message.at("k") if isinstance(message, Stretch) else message
                out.line(f"{part.array}[{part.base} + k] = {source}")
        else:
            out.line(f"{part} = {message}")

    def _combine(self, part: Operand, message: Operand, dtype: Any, shape: Any) -> None:
        out = self.renderer.out
        if isinstance(part, Stretch):
            with out.block(f"for k in range(np.uint64({int(np.prod(shape))})):"):
                source = message.at("k") if isinstance(message, Stretch) else message
                text = self.renderer.combined(self.reduction, part.at("k"), source, dtype)
                out.line(f"{part.array}[{part.base} + k] = {text}")
        else:
            text = self.renderer.combined(self.reduction, str(part), str(message), dtype)
            out.line(f"{part} = {text}")


class Collector:
    """The messages of `weft.mode`: kept in the thread's own buffer, counted after the row.

    With two kinds they are keys and their weights.
    """

    def __init__(self, renderer: BlockRenderer, kinds: list[tuple[Any, Any]], number: int) -> None:
        self.renderer = renderer
        self.dtype = kinds[0][0]
        self.weight = kinds[1][0] if len(kinds) > 1 else None
        self.keys = renderer.args.use("keys", self.dtype, number)
        self.weights = renderer.args.use("keys", self.weight, f"of_{number}") if self.weight else ""
        self.count, self.result = renderer.out.fresh("c"), renderer.out.fresh("a")
        self.parts: list[Operand] = [self.result]
        if self.weight:
            self.parts.append(renderer.out.fresh("a"))
        renderer.out.line(f"{self.count} = 0")

    def take(self, messages: list[Operand], edge: object = None) -> None:
        """Store one arc's message."""
        text = stored(str(messages[0]), self.dtype)
        self.renderer.out.line(f"{self.keys}[keys_base + {self.count}] = {text}")
        if self.weight:
            self.renderer.out.line(f"{self.weights}[keys_base + {self.count}] = {messages[1]}")
        self.renderer.out.line(f"{self.count} += 1")

    def end_slot(self, slot: str) -> None:
        """A slot closes nothing."""

    def end_row(self) -> None:
        """Count what was kept."""
        out = self.renderer.out
        out.line(f"{self.result} = {self.renderer.identity(Reduction('mode'), self.dtype)}")
        if self.weight:
            self._end_weighted()
            return
        with out.block(f"if {self.count} > 0:"):
            row = f"{self.keys}, keys_base, {self.count}"
            text = f"most_frequent({row})"
            if self.dtype.kind in "iu":
                args = self.renderer.args
                table, counts = args.use("table", self.dtype), args.use("counts")
                first = f"np.uint64(tid * ({counts}_array.size // nt))"
                text = f"most_tallied({row}, {table}, {counts}, {first})"
            out.line(f"{self.result} = {cast_loaded(text, self.dtype)}")

    def _end_weighted(self) -> None:
        assert self.weight is not None
        out, args, total = self.renderer.out, self.renderer.args, self.parts[1]
        table, counts = args.use("table", self.dtype), args.use("counts")
        totals = args.use("totals", self.weight)
        out.line(f"{total} = {literal(0, self.weight)}")
        with out.block(f"if {self.count} > 0:"):
            first = f"np.uint64(tid * ({counts}_array.size // nt))"
            row = f"{self.keys}, {self.weights}, keys_base, {self.count}"
            key = out.fresh("k")
            out.line(f"{key}, {total} = heaviest({row}, {table}, {totals}, {counts}, {first})")
            out.line(f"{self.result} = {cast_loaded(key, self.dtype)}")


def render_gather(
    value: Value, renderer: BlockRenderer, site: Site, deterministic: bool = False
) -> list[Operand]:
    """Render the loop of a gather of v; return the operands of its results."""
    direction, groups = value.attr
    if direction != "both" and len(groups) == 1 and site.gathers is None:
        text = _plain_sum(value, renderer, site, direction)
        if text:
            return [renderer.variable(text, "a")]
    accumulators = running_results(value, renderer, deterministic, Accumulator, Collector)
    exits = stops_at_first(value)

    def arc(inner: BlockRenderer, place: Site) -> None:
        inner.pending = _left_to_sums(value)
        results = inner.block(value.blocks[0])
        for accumulator, messages in handed_out(inner, results, groups, accumulators):
            accumulator.take(messages, place.edge)
            if exits:
                renderer.out.line("break")
            elif len(groups) == 1 and isinstance(accumulator, Accumulator):
                accumulator.end_early()

    for way in ("in", "out") if direction == "both" else (direction,):
        _walk(renderer, site, way, arc, accumulators)
    return ended(renderer, accumulators)


def _left_to_sums(gather: Value) -> frozenset[int]:
    """Return the features of a gather that only a running result uses: they need no place."""
    block = gather.blocks[0]
    counts = uses(block)
    left: set[int] = set()
    results = iter(block.results)
    for reduction, count, conditional in gather.attr[1]:
        messages = [next(results) for _ in range(count)]
        if not reduction.selecting and reduction.name != "mode" and reduction.combine is None:
            left.update(id(m) for m in messages)
        if conditional:
            next(results)
    chosen = set()
    for value in reversed(block.body):
        fits = value.op in ELEMENTWISE and len(value.shape) == 1
        if id(value) in left and fits and counts[id(value)] == 1:
            chosen.add(id(value))
            left.update(id(arg) for arg in value.args)
    return frozenset(chosen)


def _plain_sum(value: Value, renderer: BlockRenderer, site: Site, way: str) -> str:
    """Return a call for the sum of a field of u, or of a field times a column; else nothing."""
    reduction, count, conditional = value.attr[1][0]
    message = value.blocks[0].results[0]
    if (reduction.name, count, conditional) != ("sum", 1, False) or message.dtype.kind != "f":
        return ""
    factors = list(message.args) if message.op == "mul" else [message]
    if any(f.op != "load" or f.shape or f.dtype != message.dtype for f in factors):
        return ""
    kinds = [f.attr[:2] for f in factors]
    if kinds == [("column", "e"), ("field", "u")]:
        factors.reverse()
    elif kinds not in ([("field", "u")], [("field", "u"), ("column", "e")]):
        return ""
    if factors[0].attr[2] in renderer.scope.live:
        return ""
    args, row = site.args, site.index["v"]
    index = {**site.index, "u": "0"}
    inner = replace(site, direction=way, slot="0", index=index, known={})
    arrays = [str(inner.load(f)).removesuffix("[0]") for f in factors]
    offsets, targets = args.use("offsets", way), args.use("targets", way)
    name = "row_sum" if len(factors) == 1 else "row_dot"
    zero = literal(0, message.dtype)
    bounds = f"{offsets}[{row}], {offsets}[{row} + ONE], arcs, arcs < 8 * n, {zero}"
    # A sum from 0.0 on is never -0.0, but the order in which these are added could make it one.
    return f"({name}({', '.join(arrays)}, {targets}, {bounds}) + {literal(0.0, message.dtype)})"


def _walk(
    renderer: BlockRenderer, site: Site, way: str, body: Any,
    accumulators: Sequence[Accumulator | Collector],
) -> None:  # fmt: skip
    """Render a loop over the row of v in one direction."""
    out = renderer.out
    slot, far = out.fresh("s"), out.fresh("u")
    format_, row = site.gathers, site.index["v"]
    with arcs_of(out, site.args, format_, "gather", way, ArcNames(row, slot, far)) as place:
        known = {key: op for key, op in site.known.items() if key[1:2] == ("v",)}
        inner = replace(
            site, direction=way, slot=place, index={**site.index, "u": far}, known=known,
            turned=way == "out",
            layout="gather" if format_ is not None and format_.own_order else "",
        )  # fmt: skip
        nested = BlockRenderer(out, renderer.args, renderer.scratch, renderer.scope.at(inner))
        nested.known = dict(renderer.known)
        nested.parts = renderer.parts
        body(nested, inner)
        for accumulator in accumulators:
            accumulator.end_slot(slot)


def render_computed(renderer: BlockRenderer, value: Value) -> Operand:
    """Render what belongs to a computed vertex or edge."""
    args = renderer.args
    if value.op == "column_at":
        edge = renderer.checked(value.args[0], args.use("num_edges"))
        array = args.use("column", value.attr, "edge")
        operand = renderer.scope.site.element(value, array, edge)
        return operand if isinstance(operand, Stretch) else renderer.variable(operand)
    x = renderer.checked(value.args[0])
    offsets = args.use("offsets", "out")
    if value.op == "degree":
        return renderer.variable(f"np.int64({offsets}[{x} + ONE] - {offsets}[{x}])")
    if value.op in ("has_edge", "find_edge"):
        y, targets = renderer.checked(value.args[1]), args.use("targets", "out")
        slot = renderer.variable(f"edge_slot({offsets}, {targets}, {x}, {y})", "p")
        if value.op == "has_edge":
            return f"({slot} >= 0)"
        ids = args.use("edge_ids", "out")
        return renderer.variable(f"(np.int64({ids}[np.uint64({slot})]) if {slot} >= 0 else -1)")
    i = renderer.scalar(value.args[1])
    scope = renderer.scope
    where = f"{scope.function}, np.int64({scope.vertex})"
    slot = renderer.variable(f"neighbor_slot(ctl, {offsets}, {x}, {i}, {where})", "p")
    if value.op == "neighbor":
        array = args.use("targets", "out")
    else:
        array = args.use("edge_ids", "out")
    return renderer.variable(f"(np.int64({array}[np.uint64({slot})]) if {slot} >= 0 else 0)")
