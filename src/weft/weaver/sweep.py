"""One sweep over the edges of a step: its filters, its message, and where messages go.

What is here is the same under every mapping of `weft.weaver.mappings`: a mapping decides which
lanes take which rows and slots, and calls `open_row`, `edge` and `close_row`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from weft.ir.ops import Block, Reduction, Value, identity_of
from weft.weaver.lower import COMBINE, Known, Lowering, Registers, Site, kind_of
from weft.weaver.rows import Reader
from weft.weaver.stream import Assembler, Phase

Filter = Callable[[Assembler, int], int]


class Around(NamedTuple):
    """The facts known to a mapping at an edge."""

    known: Known | None = None  # of its row
    gathered: list[Registers] | None = None  # where the messages of the row are combined
    columns: dict[str, int] | None = None  # of the edge, where they were read before
    hit: Callable[[], None] | None = None  # what to do after a message


PLAIN = Around()


@dataclass
class Sink:
    """The destination of one reduction's messages."""

    reduction: Reduction
    buffers: tuple[str, ...]  # of the fields that take them, selecting ones together
    dtypes: tuple[Any, ...]
    widths: tuple[int, ...]
    conditional: bool = False  # a condition of its own comes after its messages


@dataclass
class Sweep:
    """The work at each edge of a step.

    Parameters
    ----------
    readers
        The parts of the format, one after another.
    base
        Who the row's vertex is to the function: "u" or "v".
    target
        Who takes the messages, "u" or "v".
    message
        The block of the function; its results are the messages, then conditions.
    site
        What the function may load.
    sinks
        One for each reduction.
    base_filter, far_filter
        Whether a row, or an edge to a vertex, takes part; None: all do.
    condition
        Whether the last result says if the edge sends.
    prelude
        Blocks of the vertex function that the message refers to.
    mark
        A buffer in which the targets that got a message are marked.
    """

    name: str
    readers: list[Reader]
    base: str
    target: str
    message: Block
    site: Site
    sinks: list[Sink]
    base_filter: Filter | None = None
    far_filter: Filter | None = None
    condition: bool = False
    sends_always: bool = False
    prelude: list[Value] = field(default_factory=list)
    given: Callable[[Assembler, Value, int], Any] | None = None  # what earlier sweeps gathered
    mark: str = ""

    @property
    def pulls(self) -> bool:
        """Whether the rows are those that take the messages."""
        return self.base == self.target

    @property
    def exits(self) -> bool:
        """Whether a row wants no more once it has one message."""
        return (
            self.pulls and len(self.sinks) == 1 and self.sinks[0].reduction.name == "any"
            and not any(v.op in ("store_edge", "reduce_scalar") or v.op.startswith("at_")
                        for v in self.message.walk())
        )  # fmt: skip

    def may_accumulate(self) -> bool:
        """Whether a lane may combine the messages of a row in registers."""
        return self.pulls and all(sink.reduction.name in COMBINE for sink in self.sinks)

    # -- what a lane does with a row

    def open_row(self, asm: Assembler, base: int) -> Known:
        """Compute what is the same for all edges of a row."""
        lowering = self._lowering(asm, {self.base: base})
        self._prelude(asm, lowering, base, steady=True)
        lowering.steady(self.message, self.base)
        return lowering.known

    def start(self, asm: Assembler) -> list[Registers]:
        """Return registers that hold what a row has gathered: nothing."""
        return [
            [
                asm.copy(asm.const(identity_of(sink.reduction, sink.dtypes[0]),
                                   kind_of(sink.dtypes[0])))
                for _ in range(sink.widths[0])
            ]
            for sink in self.sinks
        ]  # fmt: skip

    def close_row(self, asm: Assembler, base: int, gathered: list[Registers], owned: bool) -> None:
        """Deliver the gathered value of a lane's row; `owned`: no other lane writes there."""
        for sink, parts in zip(self.sinks, gathered, strict=True):
            kind, name = kind_of(sink.dtypes[0]), sink.buffers[0]
            lowering = self._lowering(asm, {})
            for place, part in zip(lowering.places(base, len(parts)), parts, strict=True):
                if not owned:
                    asm.atomic(sink.reduction.name, name, place, part, kind)
                    continue
                old = asm.load(name, place, kind)
                new = asm.op(COMBINE[sink.reduction.name], old, part, kind=kind)
                asm.store(name, place, new, kind)

    # -- what a lane does with an edge

    def edge(self, asm: Assembler, ends: tuple[int, int], place: int, at: Around = PLAIN) -> None:
        """Write the work on one edge: the opposite filter, the message, its delivery."""
        with asm.within(Phase.GATHER), asm.scope():
            if self.far_filter is not None:
                with asm.when(self.far_filter(asm, ends[1])), asm.scope():
                    self._send(asm, ends, place, at)
            else:
                self._send(asm, ends, place, at)

    def _lowering(self, asm: Assembler, who: dict[str, int], **more: Any) -> Lowering:
        return Lowering(asm, replace(self.site, who=who, **more))

    def _prelude(self, asm: Assembler, lowering: Lowering, v: int, steady: bool) -> None:
        """Compute what the message needs of the vertex function around it."""
        for value in self.prelude:
            if value in lowering.known or (steady and self.base != "v"):
                continue
            got = None if self.given is None else self.given(asm, value, v)
            if got is not None:
                lowering.known[value] = got
            else:
                own = Lowering(asm, replace(lowering.site, who={"v": v}, owner=False))
                own.known = lowering.known
                lowering.known[value] = own._value(value)

    def _send(self, asm: Assembler, ends: tuple[int, int], place: int, at: Around) -> None:
        other = "v" if self.base == "u" else "u"
        who = dict(zip((self.base, other), ends, strict=True))
        lowering = self._lowering(asm, who, place=place, columns=at.columns or {})
        lowering.known.update(at.known or {})
        self._prelude(asm, lowering, who["v"], steady=False)
        results = lowering.block(self.message)
        target = who[self.target]
        if self.condition and not self.sends_always:
            with asm.when(results[-1][0]), asm.scope():
                self._deliver(asm, target, results, at.gathered, at.hit)
        else:
            self._deliver(asm, target, results, at.gathered, at.hit)

    def _deliver(
        self, asm: Assembler, target: int, results: list[Registers],
        gathered: list[Registers] | None, hit: Callable[[], None] | None,
    ) -> None:  # fmt: skip
        if self.mark:
            asm.store(self.mark, target, asm.const(1))
        position = 0
        for number, sink in enumerate(self.sinks):
            parts = results[position : position + len(sink.buffers)]
            position += len(sink.buffers)
            into = None if gathered is None else gathered[number]
            if sink.conditional:
                position += 1
                with asm.when(results[position - 1][0]), asm.scope():
                    self._combine(asm, sink, target, parts, into)
            else:
                self._combine(asm, sink, target, parts, into)
        if hit is not None:
            hit()

    def _combine(
        self, asm: Assembler, sink: Sink, target: int, parts: list[Registers],
        into: Registers | None,
    ) -> None:  # fmt: skip
        name, kind = sink.reduction.name, kind_of(sink.dtypes[0])
        if into is not None:
            for a, b in zip(into, parts[0], strict=True):
                asm.emit(COMBINE[name], a, a, b, kind=kind)
            return
        lowering = self._lowering(asm, {})
        if name in ("argmin", "argmax"):
            imm = asm.buffer(sink.buffers[0]) | asm.buffer(sink.buffers[1]) << 24
            op = "select_min" if name == "argmin" else "select_max"
            asm.emit(op, -1, target, parts[0][0], parts[1][0], imm=imm, kind=kind)
            return
        for buffer, dtype, part in zip(sink.buffers, sink.dtypes, parts, strict=True):
            for place, register in zip(lowering.places(target, len(part)), part, strict=True):
                if name == "any":
                    asm.store(buffer, place, register, kind_of(dtype))
                else:
                    asm.atomic(name, buffer, place, register, kind_of(dtype))
