"""Structural keys of programs, and the lifting of their constants into arguments.

Two programs with equal keys share compiled code: they differ at most in their constants.
"""

from __future__ import annotations

import copy
from typing import Any

from weft.ir.ops import ROLES, SMALL, Block, Program, Reduction, Step, Value


class Key:
    """A key that caches its hash; nested tuples recompute theirs every time."""

    __slots__ = ("_hash", "parts")

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts = parts
        self._hash = hash(parts)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Key) and self.parts == other.parts)


def keyed(program: Program, lift: bool) -> tuple[Key, list[Any]]:
    """Return the key of a complete program, and the constants that are lifted."""
    found: tuple[Key, list[Any]] | None = program.findings.get(("key", lift))
    if found is None:
        keyer = Keyer(lift)
        key = Key(keyer.program(program))
        constants = [value.dtype.type(value.attr) for value in keyer.constants]
        found = program.findings["key", lift] = (key, constants)
    return found


def lifted_copy(program: Program, lift: bool) -> Program:
    """Return a copy that may be rewritten, with its constants lifted into arguments."""
    own = copy.deepcopy(program)
    keyer = Keyer(lift)
    keyer.program(own)
    lift_constants(keyer.constants)
    return own


class Keyer:
    """Walks a program once; collects its key and the constants that can be lifted."""

    def __init__(self, lift: bool = True) -> None:
        self.lift = lift
        self.constants: list[Value] = []
        self._numbers: dict[int, int] = {}

    def program(self, program: Program) -> tuple[Any, ...]:
        """Return the key of a program."""
        return (
            program.mode,
            (program.emits, *(dtype.char for dtype in program.emitted)),
            program.bounded,
            program.trail,
            program.signature.index_dtype.char,
            # All of them, read or not: a GPU's kernel holds the scalars of a state side by side.
            tuple((name, dtype.char) for name, dtype in program.signature.scalars),
            *(tuple(self.step(step) for step in getattr(program, role)) for role in ROLES),
            self.optional(program.until),
            self.optional(program.next_threshold),
        )

    def step(self, step: Step) -> tuple[Any, ...]:
        """Return the key of a step."""
        return (
            step.kind, step.into, step.conditional, step.sends_always, step.wake, step.everywhere,
            step.shrinks, step.order_free, step.folded, step.relaxed, step.settled, step.along,
            self.block(step.body), tuple(self.reduction(r) for r in step.reductions),
            self.optional(step.accept), self.optional(step.active), self.optional(step.priority),
        )  # fmt: skip

    def optional(self, block: Block | None) -> Any:
        """Return the key of a block that may be absent."""
        return None if block is None else self.block(block)

    def reduction(self, reduction: Reduction) -> tuple[Any, ...]:
        """Return the key of a reduction."""
        numbers = (repr(reduction.identity), repr(reduction.terminal))
        return (reduction.name, *numbers, self.optional(reduction.combine))

    def block(self, block: Block) -> tuple[Any, ...]:
        """Return the key of a block; values are numbered in order of appearance."""
        numbers = self._numbers
        for param in block.params:
            numbers[id(param)] = len(numbers)
        keys = []
        for value in block.body:
            inner = tuple(self.block(b) for b in value.blocks)
            keys.append((
                value.op, tuple([numbers[id(a)] for a in value.args]), self.attribute(value),
                value.dtype.char, value.shape, value.weak, inner,
            ))  # fmt: skip
            numbers[id(value)] = len(numbers)
        params = tuple([(p.dtype.char, p.shape) for p in block.params])
        return (params, tuple(keys), tuple([numbers[id(r)] for r in block.results]))

    def attribute(self, value: Value) -> Any:
        """Return the part of a key that comes from an attribute."""
        attr = value.attr
        if value.op == "const":
            if (
                self.lift
                and value.dtype.kind != "b"
                and not (attr in SMALL and not (attr == 0 and str(attr)[0] == "-"))
            ):
                self.constants.append(value)
                return "lifted"
            return repr(attr)
        if value.op == "gather":
            return (attr[0], tuple((self.reduction(r), c, w) for r, c, w in attr[1]))
        if value.op == "common":
            return tuple((self.reduction(r), c, w) for r, c, w in attr)
        if value.op == "gather_by":
            way, hops, reduction, when, groups = attr
            each = tuple((self.reduction(r), c, w) for r, c, w in groups)
            return (way, hops, self.reduction(reduction), when, each)
        if value.op == "reduce_scalar":
            return (attr[0], self.reduction(attr[1]))
        return attr


def lift_constants(constants: list[Value]) -> None:
    """Turn constants into arguments, numbered in the order of the key."""
    for position, value in enumerate(constants):
        value.op = "constant"
        value.attr = position
