"""Blocks of IR as Numba statements.

A scalar value becomes an expression: inlined where it is used once, else a local variable. A
vector or matrix becomes a stretch of an array: a field itself, or scratch memory of the thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.backends.cpu.codegen.expressions import cast, combine, elementwise, literal
from weft.backends.cpu.codegen.text import Arguments, Emitter
from weft.backends.emit import blocks
from weft.backends.emit.blocks import Scope
from weft.ir.check.facts import uses
from weft.ir.ops import Block, Reduction, Shape, Value

PAD = 128  # elements: two cache lines at least


@dataclass(frozen=True)
class Stretch:
    """Features of one value: elements of an array from a base on, row by row."""

    array: str
    base: str
    shape: Shape
    dtype: np.dtype[Any]

    def at(self, index: str) -> str:
        """Return one element by its flat position."""
        element = f"{self.array}[{self.base} + {index}]"
        return f"({element} != 0)" if self.dtype.kind == "b" else element

    def overlaps(self, whole: Stretch) -> bool:
        """Whether these are features of `whole`, or a row of it."""
        return self.array == whole.array and self.base.startswith(whole.base)


@dataclass(frozen=True)
class Pending(Stretch):
    """Features that are computed where they are used, one by one, by a single user."""

    element: Callable[[str], str] = str

    def at(self, index: str) -> str:
        """Return the expression of one element."""
        return self.element(index)


Operand = str | Stretch


class BlockRenderer(blocks.BlockRenderer):
    """Renders the instructions of one function."""

    def __init__(self, out: Emitter, args: Arguments, scratch: Scratch, scope: Scope) -> None:
        super().__init__(out, args, scope)
        self.scratch = scratch
        self.pending: frozenset[int] = frozenset()  # values that are left to their only user

    # -- operands

    def scalar(self, value: Value) -> str:
        """Return a scalar operand as text."""
        operand = self.operand(value)
        if isinstance(operand, Stretch):
            raise TypeError(f"{value!r} is not a scalar")
        return operand

    def test(self, condition: Any) -> str:
        """Return the head of what is done where a condition holds."""
        return f"if {condition}:"

    def variable(self, text: str, prefix: str = "t") -> str:
        """Assign an expression to a new local variable."""
        if text.isidentifier():
            return text
        name = self.out.fresh(prefix)
        self.out.line(f"{name} = {text}")
        return name

    # -- blocks

    def prepare(self, block: Block) -> None:
        """Count uses in a block, so that values used once can be inlined."""
        self.counts.update(uses(block))

    def literal(self, number: Any, dtype: np.dtype[Any]) -> str:
        """Return a number as a literal."""
        return literal(number, dtype)

    def _feature(self, value: Value) -> None:
        from weft.backends.cpu.codegen.features import render_feature

        self.known[id(value)] = render_feature(self, value)

    def _common(self, value: Value) -> None:
        from weft.backends.cpu.codegen.common import render_common

        self.parts[id(value)] = render_common(self, value)

    def _computed(self, value: Value) -> None:
        from weft.backends.cpu.codegen.adjacent import render_computed

        self.known[id(value)] = render_computed(self, value)

    def _random(self, value: Value) -> None:
        a, b = (self.scalar(arg) for arg in value.args)
        self.known[id(value)] = self.variable(f"{value.op}({a}, {b})")

    def _emit(self, value: Value) -> None:
        from weft.backends.cpu.codegen.emits import render_emit

        render_emit(self, value)

    def _bind(self, value: Value, text: str) -> None:
        """Keep an expression inline if it is used once, else in a variable."""
        once = self.counts.get(id(value), 0) <= 1
        self.known[id(value)] = text if once else self.variable(text)

    def _load(self, value: Value) -> None:
        operand = self.scope.load(value)
        live = value.attr[0] == "field" and value.attr[2] in self.scope.live
        if isinstance(operand, Stretch):
            self.known[id(value)] = operand
        elif live:
            self.known[id(value)] = self.variable(operand)
        else:
            self._bind(value, operand)

    def _elementwise(self, value: Value) -> None:
        source = value.args[1 if value.op == "select" else 0].dtype
        if value.op == "select":
            source = value.args[0].dtype
        if not value.shape:
            args = [self.scalar(a) for a in value.args]
            self._bind(value, elementwise(value.op, args, source, value.dtype))
            return
        for arg in value.args:
            # A number is read once, not for every feature: what is written might be its place.
            operand = self.operand(arg)
            if not isinstance(operand, Stretch) and arg.op != "const":
                self.known[id(arg)] = self.variable(operand)
        if id(value) in self.pending:
            self.known[id(value)] = self._pending(value, source)
            return
        target = self.scratch.take(value)
        with self.out.block(f"for k in range(np.uint64({value.size})):"):
            parts = [self.element(a, "k", value.shape) for a in value.args]
            text = elementwise(value.op, parts, source, value.dtype)
            self.out.line(f"{target.array}[{target.base} + k] = {text}")
        self.known[id(value)] = target

    def _pending(self, value: Value, source: np.dtype[Any]) -> Pending:
        def element(index: str) -> str:
            parts = [self.element(a, index, value.shape) for a in value.args]
            return elementwise(value.op, parts, source, value.dtype)

        return Pending("", "", value.shape, value.dtype, element)

    def element(self, value: Value, index: str, shape: Shape) -> str:
        """Return one element of an operand that is broadcast to a shape."""
        operand = self.operand(value)
        if not isinstance(operand, Stretch):
            return operand
        if len(shape) == 2 and len(operand.shape) == 1:
            index = f"{index} % np.uint64({shape[1]})"
        elif len(shape) == 2 and operand.shape != shape:
            row = "np.uint64(0)" if operand.shape[0] == 1 else f"{index} // np.uint64({shape[1]})"
            column = "np.uint64(0)" if operand.shape[1] == 1 else f"{index} % np.uint64({shape[1]})"
            index = f"({row}) * np.uint64({operand.shape[1]}) + ({column})"
        elif len(shape) == 1 and operand.shape == (1,) and shape != (1,):
            index = "np.uint64(0)"
        return operand.at(index)

    def hold(self, operand: Operand, dtype: np.dtype[Any], shape: Shape = ()) -> Operand:
        """Return the operand as something that keeps its value: a variable, or scratch."""
        return operand if isinstance(operand, Stretch) else self.variable(operand)

    # -- control

    def _while(self, value: Value) -> None:
        condition, body = value.blocks
        state = self._loop_state(value.args)
        rounds = self.out.fresh("r")
        self.out.line(f"{rounds} = 0")
        with self.out.block("while True:"):
            self._params(condition, state)
            (test,) = self.block(condition)
            with self.out.block(f"if not {test}:"):
                self.out.line("break")
            with self.out.block(f"if {rounds} >= {value.attr}:"):
                self._fault("LOOP_BOUND")
                self.out.line("break")
            self.out.line(f"{rounds} += 1")
            self._params(body, state)
            self._advance(state, self.block(body), [a.dtype for a in value.args])
        self.parts[id(value)] = list(state)

    def _for(self, value: Value) -> None:
        (body,) = value.blocks
        start, stop = (self.scalar(a) for a in value.args[:2])
        state = self._loop_state(value.args[2:])
        counter = self.out.fresh("i")
        with self.out.block(f"for {counter} in range({start}, {stop}):"):
            self.known[id(body.params[0])] = counter
            self._params(body, state, first=1)
            results = self.block(body)
            self._advance(state, results, [a.dtype for a in value.args[2:]])
        self.parts[id(value)] = list(state)

    def _cond(self, value: Value) -> None:
        parts: list[Operand] = [
            self.scratch.space(dtype, shape) if shape else self.out.fresh("y")
            for dtype, shape in value.results
        ]
        heads = (f"if {self.scalar(value.args[0])}:", "else:")
        for head, branch in zip(heads, value.blocks, strict=True):
            with self.out.block(head):
                for part, result in zip(parts, self.block(branch), strict=True):
                    self._assign(part, result)
        self.parts[id(value)] = parts

    def _assign(self, target: Operand, result: Operand) -> None:
        """Write a scalar to a variable, or features to their place."""
        if not isinstance(target, Stretch):
            self.out.line(f"{target} = {result}")
            return
        with self.out.block(f"for k in range(np.uint64({int(np.prod(target.shape))})):"):
            text = result.at("k") if isinstance(result, Stretch) else result
            self.out.line(f"{target.array}[{target.base} + k] = {stored(text, target.dtype)}")

    def _loop_state(self, args: tuple[Value, ...]) -> list[Operand]:
        state: list[Operand] = []
        for arg in args:
            operand = self.operand(arg)
            if isinstance(operand, Stretch):
                target = self.scratch.take(arg)
                self.copy(operand, target, arg.size)
                state.append(target)
            else:
                name = self.out.fresh("x")
                self.out.line(f"{name} = {operand}")
                state.append(name)
        return state

    def _advance(self, state: list[Operand], results: list[Operand], dtypes: list[Any]) -> None:
        """Assign the next state all at once, since a result may be the old value of a part."""
        places = [s for s in state if isinstance(s, Stretch)]
        scalars, moves = [], []
        for target, result in zip(state, results, strict=True):
            if not isinstance(target, Stretch):
                scalars.append((str(target), str(result)))
            elif isinstance(result, Stretch) and result != target:
                shared = any(result.overlaps(place) for place in places)
                moves.append((self.duplicate(result) if shared else result, target))
        if scalars:
            left, right = (", ".join(texts) for texts in zip(*scalars, strict=True))
            self.out.line(f"{left} = {right}")
        for source, target in moves:
            self.copy(source, target, int(np.prod(target.shape)))

    def duplicate(self, source: Stretch) -> Stretch:
        """Return a copy of features that stays when their array is written."""
        target = self.scratch.space(source.dtype, source.shape)
        self.copy(source, target, int(np.prod(source.shape)))
        return target

    def copy(self, source: Stretch, target: Stretch, size: int) -> None:
        """Copy the elements of one stretch to another."""
        with self.out.block(f"for k in range(np.uint64({size})):"):
            self.out.line(f"{target.array}[{target.base} + k] = {source.array}[{source.base} + k]")

    # -- effects

    def _fault(self, cause: str) -> None:
        self.out.line(f"fault(ctl, {cause}, {self.scope.function}, np.int64({self.scope.vertex}))")

    def checked(self, value: Value, count: str = "") -> str:
        """Return a computed vertex as an index, after a check against the number of vertices.

        With `count` it is an edge, one of so many.
        """
        index = "" if count else self.own_index(value)
        if index:
            return index
        place = self.scalar(value)
        if value.vertex:
            place = f"np.uint64({place})"
        else:
            place = (
                f"checked(ctl, {place}, {count or 'n'}, {self.scope.function}, "
                f"np.int64({self.scope.vertex}))"
            )
        if self.args.renumbered and not count:
            place = f"np.uint64({self.args.use('vertex_places')}[{place}])"
        return self.variable(place, "p")

    def _live_load(self, value: Value) -> None:
        place = self.checked(value.args[0])
        array = self.args.use("field", value.attr)
        text = f"atomic_load({array}, {place})"
        self.known[id(value)] = self.variable(cast_loaded(text, value.dtype))

    def _live_write(self, value: Value) -> None:
        name = value.attr[0] if value.op == "at_reduce" else value.attr
        array = self.args.use("field", name)
        place = self.checked(value.args[0])
        operands = [stored(self.scalar(a), value.dtype) for a in value.args[1:]]
        if value.op == "at_store":
            self.out.line(f"atomic_store({array}, {place}, {operands[0]})")
            return
        if value.op == "at_cas":
            text = f"atomic_cas({array}, {place}, {operands[0]}, {operands[1]})"
        else:
            atomic = {"min": "min", "max": "max", "sum": "add", "or": "or", "and": "and"}
            text = f"atomic_{atomic[value.attr[1]]}({array}, {place}, {operands[0]})"
        if self.counts.get(id(value), 0):
            self.known[id(value)] = self.variable(cast_loaded(text, value.dtype))
        else:
            self.out.line(text)

    def store_live(self, value: Value, operand: str) -> None:
        """Write an own field that others may read in the same superstep."""
        array = self.args.use("field", value.attr)
        text = stored(operand, value.dtype)
        self.out.line(f"atomic_store({array}, {self.scope.vertex}, {text})")

    # -- reductions

    def combined(self, reduction: Reduction, a: str, b: str, dtype: np.dtype[Any]) -> str:
        """Return two scalars combined; statements of a user's monoid go before."""
        if reduction.combine is None:
            return combine(reduction.name, a, b, dtype)
        return self.folded(reduction, (a, b))


class Scratch:
    """Memory of a thread for vectors and matrices: one array per dtype, places handed out once."""

    def __init__(self, args: Arguments) -> None:
        self.args = args
        self.sizes: dict[str, int] = {}

    def strides(self) -> dict[str, int]:
        """Return the elements from one thread's memory to the next: no two share a cache line."""
        return {name: -(-size // PAD) * PAD + PAD for name, size in self.sizes.items()}

    def take(self, value: Value) -> Stretch:
        """Return a place for a value's features."""
        return self.space(value.dtype, value.shape)

    def space(self, dtype: np.dtype[Any], shape: Shape) -> Stretch:
        """Return a place for features of a dtype and shape."""
        name = self.args.use("scratch", dtype)
        offset = self.sizes.get(dtype.name, 0)
        self.sizes[dtype.name] = offset + int(np.prod(shape))
        return Stretch(name, f"np.uint64(base_{dtype.name} + {offset})", shape, dtype)


def stored(text: str, dtype: np.dtype[Any]) -> str:
    """Return a value as it is kept in an array: truth values are bytes."""
    return f"to_uint8({text})" if dtype.kind == "b" else text


def cast_loaded(text: str, dtype: np.dtype[Any]) -> str:
    """Return a value read from an array: truth values are bytes there."""
    return f"({text} != 0)" if dtype.kind == "b" else text


def differs(a: str, b: str, dtype: np.dtype[Any]) -> str:
    """Return the test whether two scalars differ bit for bit, NaN being equal to NaN."""
    if dtype.kind != "f":
        return f"({a} != {b})"
    bits = "as_uint32" if dtype.itemsize == 4 else "as_uint64"
    return f"({bits}({a}) != {bits}({b}) and not ({a} != {a} and {b} != {b}))"


__all__ = ["BlockRenderer", "Operand", "Scope", "Scratch", "Stretch", "cast"]
