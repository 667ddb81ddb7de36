"""Instruction streams of the modelled GPU, and the assembler that generators write them with.

An instruction is a row of eight numbers: the op, the destination register, three operand registers,
an immediate number, a type and a phase. Registers have one 64-bit word per lane; integers are kept
sign-extended (unsigned ones as their bits), floats as float64. Buffers are named by number: a load
adds the element index in a register to the address of the buffer.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np

from weft.ir.elementwise import OPS

NONE = -1  # in place of a register
FIELDS = ("op", "d", "a", "b", "c", "imm", "type", "phase")


class Phase(IntEnum):
    """The phase that a cycle belongs to, as the thesis divides them."""

    INIT = 0
    REGISTRATION = 1
    SCHEDULE = 2  # work-id calculation
    EDGE = 3  # edge-information access
    GATHER = 4  # gather and sum


# Ops of the machine; those of `weft.ir.elementwise` and a few more follow from ALU on.
MACHINE = (
    "exit", "jump", "if", "else", "endif", "loop", "pred", "all_lanes", "li", "mov", "special",
    "ld", "st", "atomic", "cas", "select_min", "select_max", "lds", "sts", "shfl_up", "shfl",
    "bar", "weaver_reg", "weaver_dec_id", "weaver_dec_loc", "weaver_skip", "eghw_reg",
    "eghw_wait", "eghw_read",
)  # fmt: skip
ALU = 40
OP: dict[str, int] = {name: k for k, name in enumerate(MACHINE)}
OP |= {name: ALU + k for k, name in enumerate([*OPS, "select", "cast", "bitcast"])}
NAME = {number: name for name, number in OP.items()}
SPECIAL = {"lane": 0, "warp": 1, "core": 2, "lanes": 3, "warps": 4, "cores": 5}
ATOMIC = {"sum": 0, "min": 1, "max": 2, "any": 3, "or": 4, "and": 5, "prod": 6}
TYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
         "float32", "float64")  # fmt: skip
TYPE = {name: k for k, name in enumerate(TYPES)}
I64, BOOL, F32, F64 = TYPE["int64"], TYPE["bool"], TYPE["float32"], TYPE["float64"]


@dataclass(eq=False)
class Kernel:
    """A finished stream: the code, its constants, and how many registers it names."""

    name: str
    code: Any  # int64, one row per instruction
    constants: Any  # int64 bits
    registers: int
    buffers: list[str]
    shared_words: int = 0

    def listing(self) -> str:
        """Return the stream as text, one instruction per line."""
        lines = [f"# {self.name}: {len(self.code)} instructions, {self.registers} registers"]
        for number, row in enumerate(self.code):
            lines.append(f"{number:4d}  {Phase(row[7]).name.lower():12s} {self._text(row)}")
        return "\n".join(lines) + "\n"

    def _text(self, row: Any) -> str:
        op, d, a, b, c, imm, kind, _ = (int(x) for x in row)
        name = NAME[op]
        parts = [f"r{d}"] if d != NONE else []
        parts += [f"r{x}" for x in (a, b, c) if x != NONE]
        if name in ("ld", "st", "atomic", "cas", "select_min", "select_max"):
            parts.append(f"[{self.buffers[imm & 0xFFFF]}]")
        elif name in ("jump", "if", "else", "pred"):
            parts.append(f"-> {imm}")
        elif name == "li":
            bits = self.constants[imm : imm + 1]
            value = bits.view(np.float64)[0] if kind in (F32, F64) else bits[0]
            parts.append(f"{value}")
        elif name == "special":
            parts.append(list(SPECIAL)[imm])
        elif name in ("lds", "sts", "shfl_up", "eghw_read"):
            parts.append(f"{imm}")
        typed = f".{TYPES[kind]}" if op >= ALU or name in ("ld", "st", "atomic") else ""
        return f"{name}{typed} {', '.join(parts)}".rstrip()


@dataclass
class Assembler:
    """Writes one stream. Registers taken within `scope` are free again at its end."""

    name: str
    rows: list[list[int]] = field(default_factory=list)
    phase: Phase = Phase.INIT
    next: int = 0
    most: int = 0
    shared_words: int = 0
    buffers: dict[str, int] = field(default_factory=dict)
    _constants: dict[tuple[int, int], int] = field(default_factory=dict)
    _specials: dict[int, int] = field(default_factory=dict)

    # -- registers and constants

    def register(self) -> int:
        """Return a free register."""
        self.next += 1
        self.most = max(self.most, self.next)
        return self.next - 1

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Free what was taken within when the scope ends."""
        mark = self.next
        yield
        self.next = mark

    @contextmanager
    def within(self, phase: Phase) -> Iterator[None]:
        """Count what is written within to a phase."""
        outer, self.phase = self.phase, phase
        yield
        self.phase = outer

    def const(self, value: Any, kind: int = I64) -> int:
        """Return a register that holds a constant; it is loaded once, at the beginning."""
        return self._fixed(bits_of(value, kind), kind)

    def _fixed(self, bits: int, kind: int) -> int:
        key = (bits, kind)
        if key not in self._constants:
            self._constants[key] = -2 - len(self._constants) - len(self._specials)
        return self._constants[key]

    def special(self, name: str) -> int:
        """Return a register that holds a lane, warp or core number, read once."""
        which = SPECIAL[name]
        if which not in self._specials:
            self._specials[which] = -2 - len(self._constants) - len(self._specials)
        return self._specials[which]

    # -- instructions

    def emit(
        self, op: str, d: int = NONE, a: int = NONE, b: int = NONE, c: int = NONE, *,
        imm: int = 0, kind: int = I64,
    ) -> int:  # fmt: skip
        """Append an instruction; return the number of its row."""
        self.rows.append([OP[op], d, a, b, c, imm, kind, int(self.phase)])
        return len(self.rows) - 1

    def op(self, name: str, *operands: int, kind: int = I64, imm: int = 0) -> int:
        """Append an instruction with a result; return its register."""
        d = self.register()
        self.emit(name, d, *operands, imm=imm, kind=kind)
        return d

    def move(self, d: int, a: int) -> None:
        """Copy a register."""
        self.emit("mov", d, a)

    def copy(self, a: int) -> int:
        """Return a register of its own with the same value."""
        return self.op("mov", a)

    def buffer(self, name: str) -> int:
        """Return the number of a buffer."""
        return self.buffers.setdefault(name, len(self.buffers))

    def load(self, name: str, index: int, kind: int = I64) -> int:
        """Load an element of a buffer."""
        return self.op("ld", index, imm=self.buffer(name), kind=kind)

    def store(self, name: str, index: int, value: int, kind: int = I64) -> None:
        """Store an element of a buffer."""
        self.emit("st", NONE, index, value, imm=self.buffer(name), kind=kind)

    def atomic(self, how: str, name: str, index: int, value: int, kind: int) -> None:
        """Combine an element of a buffer with a value, as one operation; no result."""
        imm = self.buffer(name) | ATOMIC[how] << 16
        self.emit("atomic", NONE, index, value, imm=imm, kind=kind)

    # -- control

    @contextmanager
    def when(self, condition: int) -> Iterator[None]:
        """Run what is within on the lanes where a condition holds: split, then join."""
        at = self.emit("if", NONE, condition)
        yield
        self.rows[at][5] = self.emit("endif")

    @contextmanager
    def otherwise(self, condition: int) -> Iterator[dict[str, int]]:
        """Like `when`; call `turn` with what this gives where the other branch begins."""
        marks = {"if": self.emit("if", NONE, condition)}
        yield marks
        end = self.emit("endif")
        self.rows[marks["else"]][5] = end
        self.rows[marks["if"]][5] = marks["else"]

    def turn(self, marks: dict[str, int]) -> None:
        """Begin the other branch."""
        marks["else"] = self.emit("else")

    @contextmanager
    def loop(self) -> Iterator[list[int]]:
        """Repeat what is within until `until` finds no lane left."""
        self.emit("loop")
        head = len(self.rows)
        exits: list[int] = []
        yield exits
        self.emit("jump", imm=head)
        for at in exits:
            self.rows[at][5] = len(self.rows)

    def go_on_while(self, exits: list[int], condition: int) -> None:
        """Drop the lanes where a condition does not hold; leave the loop when there are none."""
        exits.append(self.emit("pred", NONE, condition))

    def finish(self) -> Kernel:
        """Return the stream: constants first, then what was written."""
        self.emit("exit")
        fixed: list[list[int]] = []
        numbers: dict[int, int] = {}
        values = [bits for bits, _ in self._constants]
        for k, ((_, kind), old) in enumerate(self._constants.items()):
            numbers[old] = self.most + len(fixed)
            fixed.append([OP["li"], numbers[old], NONE, NONE, NONE, k, kind, int(Phase.INIT)])
        for which, old in self._specials.items():
            numbers[old] = self.most + len(fixed)
            row = [OP["special"], numbers[old], NONE, NONE, NONE, which, I64, int(Phase.INIT)]
            fixed.append(row)
        jumps = {OP[name] for name in ("jump", "if", "else", "pred")}
        for row in self.rows:
            row[1:5] = [numbers.get(x, x) for x in row[1:5]]
            if row[0] in jumps:
                row[5] += len(fixed)
        code = np.array(fixed + self.rows, np.int64).reshape(-1, len(FIELDS))
        return Kernel(
            self.name, code, np.array(values or [0], np.int64), self.most + len(fixed),
            list(self.buffers), self.shared_words,
        )  # fmt: skip


def bits_of(value: Any, kind: int) -> int:
    """Return a constant as the word that registers hold."""
    if kind in (F32, F64):
        number = np.float64(np.float32(value)) if kind == F32 else np.float64(value)
        return int(number.view(np.int64))
    value = int(value)
    return value - (1 << 64) if value >= 1 << 63 else value
