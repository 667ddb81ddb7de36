"""Blocks of IR as C++ statements.

Every operand is one C++ expression. A scalar is inlined where it is used once, else a local
variable. A vector or matrix is a `Vec`, kept row by row in a local variable, which the compiler
holds in registers. Where the lanes of a group share it (`Scope.spread`), all of them run the block:
scalars are the same in each, and what the lanes find together is never inlined, since it might
be used where one of them acts alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from weft.backends.cuda.codegen.expressions import bare, cast, combine, elementwise, literal
from weft.backends.cuda.codegen.site import loaded
from weft.backends.cuda.codegen.text import Arguments, Emitter, c_type, columns_of, items_of
from weft.backends.emit import blocks
from weft.backends.emit.blocks import LEAVES
from weft.ir.ops import BOOL, INT64, Block, Reduction, Shape, Value

_INLINE = 72  # characters of the longest expression that is not given a name
_AT_REDUCE = {"sum": "at_add", "min": "at_min", "max": "at_max", "or": "at_or", "and": "at_and"}

Operand = str
Kind = np.dtype[Any] | str


@dataclass
class Scope(blocks.Scope):
    """The context of a rendered block, including its threads."""

    lanes: int = 1  # threads that run the block together, with the same values
    spread: bool = False  # over which features are spread
    keys_base: Callable[[], str] = lambda: "keys_base"  # where the messages of `weft.mode` are kept
    marks: bool = False  # a block may hold the row of u in a marker

    def at(self, site: Any) -> Scope:
        """Return the scope of an inner loop, whose loads mean what a site says."""
        return replace(super().at(site), marks=False)


class BlockRenderer(blocks.BlockRenderer):
    """Renders the instructions of one function."""

    def __init__(self, out: Emitter, args: Arguments, scope: Scope) -> None:
        super().__init__(out, args, scope)
        self.whole: set[int] = set()  # values of which more is used than single features
        self.turned: set[int] = set()  # transposed matrices that only multiply vectors
        self.outside: set[int] = set()  # matrices that stay in memory

    def inner(self, site: Any) -> BlockRenderer:
        """Return a renderer for the body of a loop inside this block."""
        nested = BlockRenderer(self.out, self.args, self.scope.at(site))
        nested.known = dict(self.known)
        nested.parts = self.parts
        nested.outside = self.outside
        return nested

    # -- operands

    def literal(self, number: Any, dtype: np.dtype[Any]) -> str:
        """Return a number as a literal."""
        return literal(number, dtype)

    def loaded_constant(self, text: str, value: Value) -> str:
        """Return a constant as it is used, from its argument."""
        return cast_loaded(text, value.dtype)

    def scalar(self, value: Value) -> str:
        """Return a scalar operand."""
        if value.shape:
            raise TypeError(f"{value!r} is not a scalar")
        return self.operand(value)

    def test(self, condition: Any) -> str:
        """Return the head of what is done where a condition holds."""
        return f"if ({bare(condition)})"

    def variable(self, text: str, kind: Kind, prefix: str = "t") -> str:
        """Assign an expression of a dtype or C++ type to a new constant; names are kept."""
        if text.isidentifier():
            return text
        name = self.out.fresh(prefix)
        self.out.line(f"const {_type_name(kind)} {name} = {bare(text)};")
        return name

    def mutable(self, text: str, kind: Kind, prefix: str = "x") -> str:
        """Start a new variable from an expression."""
        name = self.out.fresh(prefix)
        self.out.line(f"{_type_name(kind)} {name} = {bare(text)};")
        return name

    # -- blocks

    def prepare(self, block: Block) -> None:
        """Count uses in a block, so that values used once can be inlined."""
        self.counts.update(_uses(block))
        self.whole |= used_whole(block)
        self.turned |= _only_turned(block)

    def in_memory(self, value: Value) -> bool:
        """Whether a matrix stays in memory, where it is multiplied from."""
        return id(value) in self.outside

    def only_turned(self, value: Value) -> bool:
        """Whether a matrix is never needed as it is, only the one that it was transposed from."""
        return id(value) in self.turned

    @property
    def feature_lanes(self) -> int:
        """The number of lanes that share the features of a value."""
        return self.scope.lanes if self.scope.spread else 1

    @property
    def alone(self) -> str:
        """Begin a statement that one lane of a group makes for all."""
        return f"if (is_first<{self.scope.lanes}>()) " if self.scope.lanes > 1 else ""

    def _common(self, value: Value) -> None:
        from weft.backends.cuda.codegen.common import render_common

        self.parts[id(value)] = render_common(self, value)

    def _computed(self, value: Value) -> None:
        from weft.backends.cuda.codegen.adjacent import render_computed

        self.known[id(value)] = render_computed(self, value)

    def _random(self, value: Value) -> None:
        a, b = (self.scalar(arg) for arg in value.args)
        self._bind(value, f"{value.op}({a}, {b})")

    def _emit(self, value: Value) -> None:
        from weft.backends.cuda.codegen.emits import render_emit

        render_emit(self, value)

    def _feature(self, value: Value) -> None:
        from weft.backends.cuda.codegen.features import render_feature

        if self.only_turned(value) or self.in_memory(value):
            return
        text = render_feature(self, value)
        if self.scope.spread:
            self.known[id(value)] = self.variable(text, type_of(value))
        else:
            self._bind(value, text)

    def _bind(self, value: Value, text: str) -> None:
        """Keep a short scalar inline if it is used once, else in a variable."""
        once = self.counts.get(id(value), 1) <= 1 and len(text) <= _INLINE and not value.shape
        self.known[id(value)] = text if once else self.variable(text, type_of(value))

    def _load(self, value: Value) -> None:
        if self.in_memory(value):
            return
        site, live = self.scope.site, self.scope.live
        if site is None:
            self._bind(value, self.scope.load(value))
            return
        here = site
        if value.attr[0] == "field" and value.attr[2] in live:
            here = replace(site, racy=site.racy | live)
        prepared = id(value) in self.counts
        if value.shape and prepared and id(value) not in self.whole and here.can_part(value):
            return  # its features are loaded where they are used
        text = here.load(value) if here is not site else self.scope.load(value)
        if here.is_racy(value):
            if self.counts.get(id(value), 1):  # made once, here
                self.known[id(value)] = self.variable(text, type_of(value))
        else:
            self._bind(value, text)

    def _elementwise(self, value: Value) -> None:
        source = value.args[0].dtype
        args = [self.element(arg, "k", value.shape) for arg in value.args]
        if value.shape:  # what is the same for all features is computed once
            args = [
                text if arg.shape or arg.op in LEAVES else self.variable(text, arg.dtype)
                for arg, text in zip(value.args, args, strict=True)
            ]
        text = elementwise(value.op, args, source, value.dtype)
        if value.op == "broadcast":
            text = filled(text, value.dtype, value.shape)
        elif value.shape:
            text = each(text, value.dtype, value.shape)
        self._bind(value, text)

    def element(self, value: Value, index: str, shape: Shape) -> str:
        """Return one element of an operand that is broadcast to a shape."""
        operand = self.operand(value)
        if not value.shape:
            return operand
        width = columns_of(shape[-1], self.feature_lanes)
        if len(shape) == 2 and len(value.shape) == 1:
            index = f"{index} % {width}" if value.shape != (1,) else "0"
        elif len(shape) == 2 and value.shape != shape:
            row = "" if value.shape[0] == 1 else f"{index} / {width}"
            column = "" if value.shape[1] == 1 else f"{index} % {width}"
            if row and value.shape[1] > 1:
                row = f"{row} * {width}"
            index = " + ".join(part for part in (row, column) if part) or "0"
        elif len(shape) == 1 and value.shape == (1,) and shape != (1,):
            index = "0"
        return f"{operand}[{index}]"

    def hold(self, operand: Operand, dtype: Kind, shape: Shape = ()) -> Operand:
        """Return the operand as something that keeps its value: a variable."""
        kind = c_type(dtype, shape) if isinstance(dtype, np.dtype) else dtype
        return self.variable(operand, kind)

    # -- control

    def _while(self, value: Value) -> None:
        condition, body = value.blocks
        state = self._loop_state(value.args)
        rounds = self.mutable("0", "i64", "r")
        with self.out.block("while (true)"):
            self._params(condition, state)
            (test,) = self.block(condition)
            self.out.line(f"if (!{test}) break;")
            with self.out.block(f"if ({rounds} >= {value.attr}ll)"):
                self._fault("LOOP_BOUND")
                self.out.line("break;")
            self.out.line(f"++{rounds};")
            self._params(body, state)
            self._advance(state, self.block(body), value.args)
        self.parts[id(value)] = list(state)

    def _for(self, value: Value) -> None:
        (body,) = value.blocks
        start, stop = (self.scalar(arg) for arg in value.args[:2])
        stop = self.variable(stop, "i64", "e")
        state = self._loop_state(value.args[2:])
        counter = self.out.fresh("i")
        with self.out.block(f"for (i64 {counter} = {start}; {counter} < {stop}; ++{counter})"):
            self.known[id(body.params[0])] = counter
            self._params(body, state, first=1)
            self._advance(state, self.block(body), value.args[2:])
        self.parts[id(value)] = list(state)

    def _cond(self, value: Value) -> None:
        kinds = [c_type(dtype, shape) for dtype, shape in value.results]
        parts = [self.mutable(f"{kind}{{}}", kind, "y") for kind in kinds]
        heads = (f"if ({bare(self.scalar(value.args[0]))})", "else")
        for head, branch in zip(heads, value.blocks, strict=True):
            with self.out.block(head):
                for part, result in zip(parts, self.block(branch), strict=True):
                    self.out.line(f"{part} = {bare(result)};")
        self.parts[id(value)] = list(parts)

    def _loop_state(self, args: tuple[Value, ...]) -> list[Operand]:
        return [self.mutable(self.operand(arg), type_of(arg)) for arg in args]

    def _advance(
        self, state: list[Operand], results: list[Operand], args: tuple[Value, ...]
    ) -> None:
        """Assign the next state all at once, since a result may be the old value of a part."""
        moves = [
            (target, result, type_of(arg))
            for target, result, arg in zip(state, results, args, strict=True)
            if target != result
        ]
        if len(moves) > 1:
            names = [self.out.fresh("n") for _ in moves]
            for name, (_, result, kind) in zip(names, moves, strict=True):
                self.out.line(f"const {kind} {name} = {bare(result)};")
            moves = [
                (target, name, kind) for name, (target, _, kind) in zip(names, moves, strict=True)
            ]
        for target, result, _ in moves:
            self.out.line(f"{target} = {bare(result)};")

    # -- faults and live access

    def place(self) -> str:
        """Return the last arguments of a check, which identify this function in fault reports."""
        return f"a.fault, {self.scope.function}, {self.scope.vertex}"

    def _fault(self, cause: str) -> None:
        self.out.line(f"report(a.fault, {cause}, {self.scope.function}, {self.scope.vertex});")

    def checked(self, value: Value, count: str = "") -> str:
        """Return a computed vertex as an index, after a check against the number of vertices.

        With `count` it is an edge, one of so many.
        """
        index = "" if count else self.own_index(value)
        if index:
            return index
        place = self.scalar(value)
        if not value.vertex:
            place = f"checked({place}, {count or 'a.n'}, {self.place()})"
        if self.args.renumbered and not count:
            place = f"i64(load_constant({self.args.use('vertex_places')} + {place}))"
        return self.variable(place, "i64", "p")

    def _live_load(self, value: Value) -> None:
        place = self.checked(value.args[0])
        text = f"at_load({self.args.use('field', value.attr)}, {place})"
        self.known[id(value)] = self.variable(cast_loaded(text, value.dtype), type_of(value))

    def _live_write(self, value: Value) -> None:
        name = value.attr[0] if value.op == "at_reduce" else value.attr
        array = self.args.use("field", name)
        place = self.checked(value.args[0])
        operands = ", ".join(self.scalar(arg) for arg in value.args[1:])
        function = value.op
        if value.op == "at_reduce":
            monoid = value.attr[1]
            if value.dtype.kind == "b":
                monoid = {"sum": "or", "max": "or", "min": "and"}.get(monoid, monoid)
            function = _AT_REDUCE[monoid]
        text = f"{function}({array}, {place}, {operands})"
        if value.op != "at_store" and self.counts.get(id(value), 0):
            loaded_text = cast_loaded(text, value.dtype)
            self.known[id(value)] = self.variable(loaded_text, type_of(value))
        else:
            self.out.line(f"{self.alone}{text};")

    def store_live(self, value: Value, operand: str) -> None:
        """Write an own field that others may read in the same superstep."""
        array = self.args.use("field", value.attr)
        self.out.line(f"{self.alone}at_store({array}, {self.scope.vertex}, {operand});")

    # -- reductions

    def combined(
        self, reduction: Reduction, a: str, b: str, dtype: np.dtype[Any], shape: Shape = ()
    ) -> str:
        """Return two values combined; statements of a user's monoid go before."""
        if not shape:
            return self._combined_scalars(reduction, a, b, dtype)
        kind = c_type(dtype, shape)
        a, b = (x if is_place(x) else self.variable(x, kind) for x in (a, b))
        if reduction.combine is None:
            return each(combine(reduction.name, f"{a}[k]", f"{b}[k]", dtype), dtype, shape)
        total = self.out.fresh("x")
        self.out.line(f"{kind} {total};")
        with self.out.block(f"for (u32 k = 0; k < {items_of(shape, self.feature_lanes)}; ++k)"):
            text = self._combined_scalars(reduction, f"{a}[k]", f"{b}[k]", dtype)
            self.out.line(f"{total}[k] = {bare(text)};")
        return total

    def _combined_scalars(self, reduction: Reduction, a: str, b: str, dtype: Any) -> str:
        if reduction.combine is None:
            return combine(reduction.name, a, b, dtype)
        held = (text if is_place(text) else self.variable(text, dtype) for text in (a, b))
        return self.folded(reduction, held)


def _uses(block: Block) -> dict[int, int]:
    """Return how often each value is used; a use inside a loop that it is outside of counts twice.

    What a loop uses is then computed before it, once.
    """
    counts: dict[int, int] = {}

    def count(inner: Block, weight: int, own: set[int]) -> None:
        own = own | {id(value) for value in inner.body}
        for value in inner.body:
            counts.setdefault(id(value), 0)
            for arg in value.args:
                add(arg, 1 if id(arg) in own else weight)
            for nested in value.blocks:
                count(nested, 2, set())
        for result in inner.results:
            add(result, 1 if id(result) in own else weight)

    def add(value: Value, weight: int) -> None:
        counts[id(value)] = counts.get(id(value), 0) + weight

    count(block, 1, set())
    return counts


def used_whole(block: Block) -> set[int]:
    """Return the values that are used otherwise than by taking one of their features."""
    used = {
        id(arg)
        for value in block.walk()
        for position, arg in enumerate(value.args)
        if value.op != "index" or position > 0
    }
    inner = [b for value in block.walk() for b in value.blocks]
    return used | {id(result) for b in (block, *inner) for result in b.results}


def _only_turned(block: Block) -> set[int]:
    """Return the transposed matrices that are used by products with vectors alone."""
    turned = {id(value) for value in block.walk() if value.op == "transpose"}
    for value in block.walk():
        used = value.args[1:] if value.op in ("matvec", "matvec_max") else value.args
        turned -= {id(arg) for arg in used}
    inner = [b for value in block.walk() for b in value.blocks]
    return turned - {id(result) for b in (block, *inner) for result in b.results}


# -- pieces of text


def _type_name(kind: Kind) -> str:
    return c_type(kind) if isinstance(kind, np.dtype) else kind


def type_of(value: Value) -> str:
    """Return the C++ type of a value."""
    return c_type(value.dtype, value.shape)


def is_place(text: str) -> bool:
    """Whether an expression names a variable, or a member of one."""
    return text.replace(".", "_").isidentifier()


def each(text: str, dtype: np.dtype[Any], shape: Shape) -> str:
    """Return the features that an expression of their position k gives."""
    return f"each<{c_type(dtype, shape)}>([&](u32 k) {{ return {bare(text)}; }})"


def filled(text: str, dtype: np.dtype[Any], shape: Shape) -> str:
    """Return a scalar in every feature of a shape, or itself where there are none."""
    return f"fill<{c_type(dtype, shape)}>({text})" if shape else text


def stored(text: str, dtype: np.dtype[Any]) -> str:
    """Return a scalar as it is kept in an array: truth values are bytes."""
    return f"u8({text})" if dtype.kind == "b" else text


def cast_loaded(text: str, dtype: np.dtype[Any]) -> str:
    """Return a scalar read from an array: truth values are bytes there."""
    return f"({text} != 0)" if dtype.kind == "b" else text


def differs(a: str, b: str, dtype: np.dtype[Any], shape: Shape = ()) -> str:
    """Return the test whether two values differ bit for bit, NaN being equal to NaN."""
    return f"differs({a}, {b})" if shape or dtype.kind == "f" else f"({a} != {b})"


__all__ = [
    "BOOL", "INT64", "BlockRenderer", "Operand", "Scope", "cast", "cast_loaded", "differs",
    "each", "filled", "is_place", "loaded", "stored", "type_of",
]  # fmt: skip
