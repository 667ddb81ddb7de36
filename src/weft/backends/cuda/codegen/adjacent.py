"""Gathers, common neighbours and computed neighbours as C++ statements."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from weft.backends.cuda.codegen.blocks import (
    BlockRenderer,
    Operand,
    cast_loaded,
    each,
    filled,
    is_place,
    stored,
)
from weft.backends.cuda.codegen.expressions import bare, literal
from weft.backends.cuda.codegen.site import CONSTANT, Site, loaded
from weft.backends.cuda.codegen.text import c_type, items_of
from weft.backends.emit.gathers import ended, handed_out, running_results, stops_at_first
from weft.ir.ops import FLOAT32, FLOAT64, Reduction, Value, neutral_of, terminal_of

MOST_CHUNKED = 16  # items of a lane: larger ones would take all registers twice
FEW_CHUNKED = 4  # where it makes hardly any difference
CHUNK = 256  # slots whose float32 messages are added before they join the rest of the row
Edge = Callable[[], str]


class Accumulator:
    """The running result of one reduction: one variable per message.

    Without a prefix the variables are locals, declared at once. With a prefix such as "partial."
    they are the members of a struct, p0 and so on from `first`, which `members` lists.
    """

    def __init__(
        self, renderer: BlockRenderer, reduction: Reduction, kinds: Sequence[tuple[Any, Any]],
        *, neutral: bool = False, prefix: str = "", first: int = 0, long: bool = True,
    ) -> None:  # fmt: skip
        self.renderer = renderer
        self.reduction = reduction
        self.kinds = list(kinds)
        self.prefix = prefix
        self.held = bool(prefix)
        fresh = renderer.out.fresh
        self._names = [f"p{first + k}" if prefix else fresh("acc") for k in range(len(self.kinds))]
        self._edge = ""  # the variable that holds the edge that was chosen
        # A long row of float32 keeps its precision: what is one number in each lane is added as
        # float64, which costs no test per arc, more of them in chunks, which costs no conversions.
        # Rows that are not `long`, or that many take together, are such chunks themselves: more
        # than a few features do without.
        dtype, shape = self.kinds[0]
        long_sum = reduction.name == "sum" and dtype == FLOAT32
        items = items_of(shape, renderer.feature_lanes)
        self._wide = long_sum and items == 1
        few = items <= (MOST_CHUNKED if long else FEW_CHUNKED)
        self._chunks = f"{self._names[0]}_chunks" if long_sum and few and not self._wide else ""
        self._total = ""  # of a row that has ended, where it was added as float64
        if self._wide:
            self.kinds[0] = FLOAT64, shape
        self._starts = []
        for position, (dtype, shape) in enumerate(self.kinds):
            payload = reduction.name in ("argmin", "argmax") and position > 0
            identity = renderer.identity(reduction, dtype, payload)
            if neutral:
                identity = literal(neutral_of(reduction, dtype), dtype)
            self._starts.append(filled(identity, dtype, shape))
        # Whether `any` has a message: only merging of partial results needs to know.
        self._got = f"{self._names[0]}_got" if prefix and reduction.name == "any" else ""
        if not prefix:
            self._declare(self.members())

    def _declare(self, members: list[tuple[str, str, str]]) -> None:
        for kind, name, start in members:
            self.renderer.out.line(f"{kind} {name} = {start};")

    def members(self) -> list[tuple[str, str, str]]:
        """Return C++ type, name and initial value of every variable."""
        result = [
            (c_type(dtype, shape), name, start)
            for (dtype, shape), name, start in zip(
                self.kinds, self._names, self._starts, strict=True
            )
        ]
        if self._chunks:
            result.append((result[0][0], self._chunks, self._starts[0]))
        if self._got:
            result.append(("bool", self._got, "false"))
        if self._edge:
            result.append(("i64", self._edge, "-1"))
        return result

    @property
    def parts(self) -> list[Operand]:
        """The variables of the messages; when the row has ended, what they hold."""
        places = [self.prefix + name for name in self._names]
        return [self._total] if self._total else places

    @property
    def edge(self) -> str:
        """The variable of the chosen edge, -1 for none; empty where edges are not counted."""
        return self._edge and self.prefix + self._edge

    @property
    def got(self) -> str:
        """The variable that records whether `any` has a message, if there is one."""
        return self._got and self.prefix + self._got

    def count_edges(self) -> None:
        """Choose among equal messages by the smallest edge id."""
        self._edge = f"{self._names[0]}_edge"
        self._got = ""
        if not self.held:
            self._declare([("i64", self._edge, "-1")])

    def end_slot(self, slot: str) -> None:
        """Start a new chunk of a float32 sum after every 256th slot."""
        if self._chunks:
            with self.renderer.out.block(f"if (({slot} & {CHUNK - 1}) == {CHUNK - 1})"):
                self._combine(self.prefix + self._chunks, self.parts[0])
                self._set(self.parts[0], self._starts[0])

    def is_complete(self) -> str:
        """Return the test whether no message changes the result any more, if there is one."""
        dtype, shape = self.kinds[0]
        terminal = terminal_of(self.reduction, dtype)
        if terminal is None or shape:
            return ""
        return f"{self.parts[0]} == {literal(terminal, dtype)}"

    def end_row(self) -> None:
        """Add the chunks of a float32 sum, or make it one again."""
        if self._chunks:
            self._combine(self.parts[0], self.prefix + self._chunks)
        if self._wide:
            (part,), (_, shape) = self.parts, self.kinds[0]
            self._total = f"float({part})"
            if shape:
                total = each(f"float({part}[k])", FLOAT32, shape)
                self._total = self.renderer.variable(total, c_type(FLOAT32, shape))

    def take(self, messages: Sequence[Operand], edge: Edge | None = None) -> None:
        """Combine one arc's messages into the running result; `edge` names the arc's edge id."""
        if not self.reduction.selecting:
            self._combine(self.parts[0], messages[0])
            return
        number = ""
        if self._edge:
            assert edge is not None
            number = self.renderer.variable(edge(), "i64", "e")
        self._choose(list(messages), number, "")

    def merge(self, other_prefix: str) -> None:
        """Combine the variables of another partial result of the same reduction into these."""
        others = [other_prefix + name for name in self._names]
        if self.reduction.selecting:
            number = other_prefix + self._edge if self._edge else ""
            self._choose(others, number, other_prefix + self._got if self._got else "")
            return
        self._combine(self.parts[0], others[0])
        if self._chunks:
            self._combine(self.prefix + self._chunks, other_prefix + self._chunks)

    def _choose(self, messages: list[Operand], number: str, got: str) -> None:
        """Take messages of an arc, or of another partial result, if they are better."""
        renderer, name = self.renderer, self.reduction.name
        held = [
            m if is_place(m) else renderer.hold(m, d, s)
            for m, (d, s) in zip(messages, self.kinds, strict=True)
        ]
        test = f"{held[0]} {'<' if name == 'argmin' else '>'} {self.parts[0]}"
        if name == "any":
            test = got
        if number:
            earlier = f"{number} < {self.edge}"
            if name == "any":
                test = f"u64({number}) < u64({self.edge})"  # none is -1, later than all
            else:
                test = f"{test} || ({held[0]} == {self.parts[0]} && {earlier})"
        with ExitStack() as stack:
            if test:
                stack.enter_context(renderer.out.block(f"if ({test})"))
            for part, message in zip(self.parts, held, strict=True):
                self._set(part, message)
            if number:
                self._set(self.edge, number)
            if self.got:
                self._set(self.got, "true")

    def _set(self, part: Operand, text: str) -> None:
        self.renderer.out.line(f"{part} = {bare(text)};")

    def _combine(self, part: Operand, message: Operand) -> None:
        dtype, shape = self.kinds[0]
        text = self.renderer.combined(self.reduction, part, message, dtype, shape)
        self._set(part, text)


class Collector:
    """The messages of `weft.mode`: kept in memory of the row, counted after it.

    With two kinds they are keys and their weights.
    """

    def __init__(self, renderer: BlockRenderer, kinds: list[tuple[Any, Any]], number: int) -> None:
        self.renderer = renderer
        self.dtype = dtype = kinds[0][0]
        keys = renderer.args.use("keys", dtype, number)
        base = renderer.scope.keys_base()
        self.keys, self.weights = f"({keys} + ({base}))", ""
        self.count = renderer.mutable("0", "i64", "c")
        start = renderer.identity(Reduction("mode"), dtype)
        self.result = renderer.mutable(start, dtype, "acc")
        self.parts: list[Operand] = [self.result]
        if len(kinds) > 1:
            weight = kinds[1][0]
            self.weights = f"({renderer.args.use('keys', weight, f'of_{number}')} + ({base}))"
            self.parts.append(renderer.mutable("0", weight, "acc"))

    def take(self, messages: Sequence[Operand], edge: Edge | None = None) -> None:
        """Store one arc's message."""
        text = stored(messages[0], self.dtype)
        if self.weights:
            self.renderer.out.line(f"{self.weights}[{self.count}] = {bare(messages[1])};")
        self.renderer.out.line(f"{self.keys}[{self.count}++] = {text};")

    def end_slot(self, slot: str) -> None:
        """A slot closes nothing."""

    def end_row(self) -> None:
        """Count what was kept."""
        call = f"most_frequent({self.keys}, {self.count})"
        if self.weights:
            call = f"heaviest({self.keys}, {self.weights}, {self.count}, {self.parts[1]})"
        text = cast_loaded(call, self.dtype)
        self.renderer.out.line(f"if ({self.count} > 0) {self.result} = {text};")


def render_gather(
    value: Value, renderer: BlockRenderer, site: Site, deterministic: bool = False
) -> list[Operand]:
    """Render the loop of a gather of v; return the operands of its results."""
    direction, groups = value.attr
    out = renderer.out
    accumulators = running_results(value, renderer, deterministic, Accumulator, Collector)
    exits = stops_at_first(value)
    # A loop over the in-edges that found its message leaves nothing to do for the out-edges.
    done = ""
    if exits and direction == "both" and not deterministic:
        done = renderer.mutable("false", "bool", "done")
    exits = exits and not (deterministic and direction == "both")

    def arc(inner: BlockRenderer, place: Site) -> None:
        results = inner.block(value.blocks[0])
        for accumulator, messages in handed_out(inner, results, groups, accumulators):
            accumulator.take(messages, place.edge)
            if done:
                out.line(f"{done} = true;")
            if exits:
                out.line("break;")
            elif len(groups) == 1 and isinstance(accumulator, Accumulator):
                end = accumulator.is_complete()
                if end:
                    out.line(f"if ({end}) break;")

    for way in ("in", "out") if direction == "both" else (direction,):
        with renderer.only_if(f"!{done}" if done and way == "out" else None):
            _walk(renderer, site, way, arc, accumulators)
    return ended(renderer, accumulators)


def _walk(
    renderer: BlockRenderer, site: Site, way: str, body: Callable[[BlockRenderer, Site], None],
    accumulators: Sequence[Accumulator | Collector],
) -> None:  # fmt: skip
    """Render a loop over the row of v in one direction."""
    out = renderer.out
    slot, far, end = (out.fresh(letter) for letter in "sue")
    offsets, targets = site.args.use("offsets", way), site.args.use("targets", way)
    row = site.index["v"]
    out.line(f"const i64 {end} = row_end({offsets}, {row});")
    with out.block(f"for (i64 {slot} = row_begin({offsets}, {row}); {slot} < {end}; ++{slot})"):
        out.line(f"const i64 {far} = i64(load_constant({targets} + {slot}));")
        known = {key: op for key, op in site.known.items() if key[1:2] == ("v",)}
        inner = replace(
            site, direction=way, slot=slot, index={**site.index, "u": far}, known=known,
            turned=way == "out", layout="",
        )  # fmt: skip
        begin = len(out.lines)
        body(renderer.inner(inner), inner)
        for accumulator in accumulators:
            accumulator.end_slot(slot)
        if not any(re.search(rf"\b{far}\b", line) for line in out.lines[begin:]):
            del out.lines[begin - 1]  # nothing is asked of the far end


def row_of_pair(args: Sequence[Value], row: str) -> int | None:
    """Return which of two vertices is that of the row, u or v; None if neither is."""
    for position, value in enumerate(args):
        while value.op == "cast":
            (value,) = value.args
        if value.op == "load" and value.attr == ("id", row):
            return position
    return None


def render_computed(renderer: BlockRenderer, value: Value) -> Operand:
    """Render what belongs to a computed vertex or edge."""
    args = renderer.args
    if value.op == "column_at":
        edge = renderer.checked(value.args[0], args.use("num_edges"))
        text = loaded(args.use("column", value.attr, "edge"), edge, value, CONSTANT)
        return renderer.variable(text, c_type(value.dtype, value.shape))
    x = renderer.checked(value.args[0])
    offsets = args.use("offsets", "out")
    if value.op == "degree":
        text = f"row_end({offsets}, {x}) - row_begin({offsets}, {x})"
        return renderer.variable(text, "i64")
    if value.op in ("has_edge", "find_edge"):
        y, targets = renderer.checked(value.args[1]), args.use("targets", "out")
        slot = renderer.variable(f"edge_slot({offsets}, {targets}, {x}, {y})", "i64", "p")
        if value.op == "has_edge":
            return f"({slot} >= 0)"
        return renderer.variable(f"entry_or({args.use('edge_ids', 'out')}, {slot}, -1)", "i64")
    i = renderer.scalar(value.args[1])
    call = f"neighbor_slot({offsets}, {x}, {i}, {renderer.place()})"
    slot = renderer.variable(call, "i64", "p")
    array = args.use("targets" if value.op == "neighbor" else "edge_ids", "out")
    return renderer.variable(f"entry_or({array}, {slot}, 0)", "i64")
