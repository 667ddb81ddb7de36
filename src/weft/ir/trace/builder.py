"""Appends typed instructions to the block being traced."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Sequence
from types import CodeType, FrameType
from typing import Any

import numpy as np

from weft.errors import TraceError
from weft.ir import ops, types
from weft.ir.elementwise import OPS
from weft.ir.ops import BOOL, FLOAT64, INT64, Block, Shape, Signature, Value

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_local = threading.local()


def user_line() -> str:
    """Return "file:line: text" of the user's own line, for error messages.

    This is the innermost frame outside weft. If the traced function has already returned, so that
    its return value is wrong, it is the function's last line.
    """
    import linecache

    frame: FrameType | None = sys._getframe(1)
    code = getattr(getattr(_local, "builder", None), "code", None)
    inner: FrameType | None = None
    while frame is not None:
        if inner is None and not frame.f_code.co_filename.startswith(_PACKAGE):
            inner = frame
        if frame.f_code is code:
            code = None
        frame = frame.f_back
    if code is not None:
        name, line = code.co_filename, max(row for *_, row in code.co_lines() if row)
    elif inner is not None:
        name, line = inner.f_code.co_filename, inner.f_lineno
    else:
        return ""
    text = linecache.getline(name, line).strip()
    return f"{os.path.basename(name)}:{line}" + (f": {text}" if text else "")


def fail(message: str) -> TraceError:
    """Return a TraceError that ends with the user's own line."""
    where = user_line()
    return TraceError(f"{message}\n  at {where}" if where else message)


def current() -> Builder:
    """Return the builder of the function being traced in this thread."""
    builder = getattr(_local, "builder", None)
    if builder is None:
        raise fail(
            "this operation belongs inside a traced function (weft.edge, weft.vertex, v.gather), "
            "but none is being traced. Call it there, or use NumPy on plain arrays."
        )
    return builder


def is_active() -> bool:
    """Whether a function is being traced in this thread."""
    return getattr(_local, "builder", None) is not None


def _math_function(line: str) -> str:
    """Return the function of weft that stands for one of `math` in a line, if there is one."""
    named = re.search(r"\b(?:math|cmath)\.(\w+)\(", line)
    return named.group(1) if named and named.group(1) in OPS else ""


def no_number(wanted: str) -> TraceError:
    """Return the error about a traced value that should become a plain number."""
    function = _math_function(user_line())
    if function:
        return fail(
            f"math.{function} takes plain numbers, and a traced value has no number yet. Use "
            f"weft.{function}."
        )
    return fail(f"a traced value has no number yet. Use {wanted}.")


class Builder:
    """The instructions of one traced function, with the names available to it.

    Used as a context manager: within it, expressions of this thread append to its blocks.
    """

    def __init__(self, signature: Signature, function: str) -> None:
        self.signature = signature
        self.function = function
        self.fields = {name: (dtype, shape) for name, dtype, shape in signature.fields}
        self.columns = {name: (dtype, shape) for name, dtype, shape in signature.columns}
        self.edge_fields = {name: (dtype, shape) for name, dtype, shape in signature.edge_fields}
        self.scalars = dict(signature.scalars)
        self.parameters = {name: (dtype, shape) for name, dtype, shape in signature.parameters}
        self.blocks: list[Block] = [Block()]
        self.own: dict[str, Value] = {}  # own fields assigned so far, by program order
        self.own_edge: dict[str, Value] = {}
        self.live: set[str] = set()
        self.ids: set[Value] = set()  # states of loops that hold vertex ids
        self.kind = "vertex"
        self.code: CodeType | None = None  # of the function being traced
        self.emitted: tuple[np.dtype[Any], ...] | None = None  # parts of a record of `weft.emit`
        self.gathering = False  # inside the function of a gather
        self.in_common = False  # inside the function of `weft.common`
        self.effects = True  # whether it may write, reduce or gather

    def __enter__(self) -> Builder:
        self._outer = getattr(_local, "builder", None)
        _local.builder = self
        return self

    def __exit__(self, *exc: object) -> None:
        _local.builder = self._outer

    @property
    def nested(self) -> bool:
        """Whether the code being traced is inside a loop, a gather or the like."""
        return len(self.blocks) > 1

    def emit(
        self,
        op: str,
        args: tuple[Value, ...] = (),
        attr: Any = None,
        dtype: np.dtype[Any] = BOOL,
        shape: Shape = (),
        *,
        weak: bool = False,
    ) -> Value:
        """Append one instruction to the innermost block."""
        return self.append(Value(op, args, attr, dtype, shape, weak=weak))

    def append(self, value: Value) -> Value:
        """Append an instruction, possibly with inner blocks, to the innermost block."""
        op = value.op
        if op in ops.EFFECT and not self.effects:
            raise fail(
                f"{self.function} only looks at the state, but this would change it. Move the "
                f"change into the edge or vertex function."
            )
        value.home = self.blocks[-1]
        if op in ops.FAULTING:
            value.line = user_line()
        self.blocks[-1].body.append(value)
        return value

    def check_reachable(self, value: Value) -> None:
        """Raise if a value was made in a block that has ended."""
        if value.home is None or any(block is value.home for block in reversed(self.blocks)):
            return
        raise fail(
            f"a value ({value.op}) is used outside of the function, gather, loop or branch that "
            f"made it, which it left through a variable of Python. Return it from there: what a "
            f"gather or a loop returns may be used after it, and other functions read fields."
        )

    # -- constants and casts

    def const(self, value: Any) -> Value:
        """Return a constant from a Python or NumPy number, or a small array of them."""
        if isinstance(value, bool | np.bool_):
            return self.emit("const", attr=bool(value), dtype=BOOL)
        if isinstance(value, int):
            if not -(2**63) <= value < 2**64:
                raise fail(f"the constant {value} does not fit 64 bits.")
            dtype = INT64 if value < 2**63 else ops.UINT64
            return self.emit("const", attr=value, dtype=dtype, weak=dtype == INT64)
        if isinstance(value, float):
            return self.emit("const", attr=value, dtype=FLOAT64, weak=True)
        if isinstance(value, np.generic):
            return self.emit("const", attr=value.item(), dtype=self.dtype(value.dtype, "a number"))
        if isinstance(value, np.ndarray) and 1 <= value.ndim <= 2:
            parts = [self.const(part) for part in value]
            return self.stack(parts)
        proxy = " Use one of its fields, or its id." if hasattr(value, "_refuse") else ""
        if isinstance(value, type | np.dtype):
            proxy = " A dtype comes second: weft.cast(x, weft.float64)."
        raise fail(
            f"a value of type {type(value).__name__} cannot be used in a traced function. "
            f"Expected a number, a small array of numbers, or an expression of u, v and e.{proxy}"
        )

    def dtype(self, dtype: Any, what: str) -> np.dtype[Any]:
        """Return a dtype given by a user, including that of ids; raise if it is not one."""
        if dtype is types.vertex_id:
            return self.signature.index_dtype
        try:
            return types.check_dtype(dtype, what)
        except TraceError as error:
            raise fail(str(error)) from None

    def cast(self, value: Value, dtype: np.dtype[Any]) -> Value:
        """Return the value in another dtype; a weak constant is created again."""
        if value.dtype == dtype and not value.weak:
            return value
        if value.op == "const" and value.weak:
            if not types.const_in_range(value.attr, dtype):
                raise fail(
                    f"the constant {value.attr!r} does not fit {dtype}. Use a wider dtype or "
                    f"cast the other operand."
                )
            number = float(value.attr) if dtype.kind == "f" else value.attr
            number = bool(number) if dtype == BOOL else number
            return self.emit("const", attr=number, dtype=dtype)
        return self.emit("cast", (value,), dtype=dtype, shape=value.shape)

    def strong(self, value: Value) -> Value:
        """Return the value with its default dtype if it is weak."""
        return self.cast(value, value.dtype) if value.weak else value

    def unite(
        self, blocks: Sequence[Block], branches: list[tuple[Value, ...]]
    ) -> tuple[tuple[tuple[np.dtype[Any], Shape], ...], list[bool]]:
        """Convert the results of a conditional's branches to common types.

        Returns the types, and whether each result remains a weak number: if both are ids or weak
        numbers.
        """
        kinds, weak = [], []
        columns: list[tuple[Value, ...]] = []
        for a, b in zip(*branches, strict=True):
            dtype, both = types.promote(a.dtype, a.weak, b.dtype, b.weak)
            kinds.append((dtype, self.broadcast(a.shape, b.shape)))
            weak.append(both)
            columns.append((a, b))
        for k, block in enumerate(blocks):
            self.blocks.append(block)
            fitted = []
            for column, (dtype, shape) in zip(columns, kinds, strict=True):
                value = self.cast(column[k], dtype)
                if value.shape not in ((), shape):
                    raise fail(f"the branches return shapes {value.shape} and {shape}.")
                if value.shape != shape:
                    value = self.emit("broadcast", (value,), dtype=dtype, shape=shape)
                fitted.append(value)
            block.results = tuple(fitted)
            self.blocks.pop()
        return tuple(kinds), weak

    # -- ids

    def is_id(self, value: Value) -> bool:
        """Whether a weak number is a vertex id, which fits the dtype of ids."""
        if value.op in ("select", "minimum", "maximum") and value.weak:
            parts = value.args[-2:]
            return any(self.is_id(p) for p in parts) and all(map(self.stays_id, parts))
        load = value.op == "load" and value.attr[0] == "id"
        return load or value.op == "neighbor" or value in self.ids

    def keep_ids(self, parts: Any, ids: Sequence[bool]) -> None:
        """Record which results of a loop or a conditional are vertex ids."""
        each = parts if isinstance(parts, tuple) else (parts,)
        self.ids.update(part.node for part, is_id in zip(each, ids, strict=True) if is_id)

    def stays_id(self, value: Value) -> bool:
        """Whether a value can be stored as an id: it is one, -1 or 0, or fits the dtype of ids."""
        if value.weak:
            return self.is_id(value) or (value.op == "const" and value.attr in (-1, 0))
        whole = value.dtype.kind in "iu" and not value.shape
        return whole and types.fits(value.dtype, self.signature.index_dtype)

    # -- elementwise

    def unary(self, op: str, a: Value) -> Value:
        """Append a unary elementwise op."""
        if OPS[op].group == "predicate":
            if a.dtype.kind != "f":
                a = self.cast(a, FLOAT64)
            return self.emit(op, (a,), dtype=BOOL, shape=a.shape)
        if op in ("neg", "abs", "sign") and a.dtype == BOOL:
            raise fail(f"{op} of a truth value has no meaning. Use ~ to negate a condition.")
        if op in ("invert", "popcount", "clz") and a.dtype.kind == "f":
            raise fail(f"{op} needs an integer, but got {a.dtype}.")
        if op in ("neg", "abs", "sign", "invert"):
            return self.emit(op, (a,), dtype=a.dtype, shape=a.shape, weak=a.weak)
        if op in ("popcount", "clz"):
            return self.emit(op, (self.strong(a),), dtype=ops.INT32, shape=a.shape)
        if op in ("floor", "ceil", "round", "trunc") and a.dtype.kind != "f":
            return a
        if a.dtype.kind != "f":
            a = self.cast(a, types.quotient(a.dtype))
        return self.emit(op, (a,), dtype=a.dtype, shape=a.shape, weak=a.weak)

    def binary(self, op: str, a: Value, b: Value) -> Value:
        """Append a binary elementwise op on operands of one dtype."""
        dtype, weak = types.promote(a.dtype, a.weak, b.dtype, b.weak)
        shape = self.broadcast(a.shape, b.shape)
        if OPS[op].group == "bitwise" and dtype.kind == "f":
            raise fail(f"{op} needs integers or truth values, but got {a.dtype} and {b.dtype}.")
        if OPS[op].takes == "f":
            dtype = types.quotient(dtype)
        if (
            dtype == BOOL
            and OPS[op].group != "comparison"
            and op not in ("bit_and", "bit_or", "bit_xor")
        ):
            if op in ("minimum", "maximum"):
                op = "bit_and" if op == "minimum" else "bit_or"
            else:
                dtype = ops.INT64 if op == "pow" else np.dtype(np.int8)
        a, b = self.cast_operand(a, dtype, weak), self.cast_operand(b, dtype, weak)
        if OPS[op].group == "comparison":
            return self.emit(op, (a, b), dtype=BOOL, shape=shape)
        return self.emit(op, (a, b), dtype=dtype, shape=shape, weak=weak)

    def broadcast(self, a: Shape, b: Shape) -> Shape:
        """Return the shape of an elementwise op on two shapes."""
        try:
            return types.broadcast(a, b)
        except TraceError as error:
            raise fail(str(error)) from None

    def cast_operand(self, value: Value, dtype: np.dtype[Any], weak: bool) -> Value:
        """Return an operand in the common dtype of an op; weak ones stay weak among themselves."""
        if not weak:
            return self.cast(value, dtype)
        if value.dtype == dtype:
            return value
        if value.op == "const":
            return self.emit("const", attr=float(value.attr), dtype=dtype, weak=True)
        return self.emit("cast", (value,), dtype=dtype, shape=value.shape, weak=True)

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        """Append a choice by condition."""
        dtype, weak = types.promote(a.dtype, a.weak, b.dtype, b.weak)
        if a.dtype == b.dtype:
            dtype = a.dtype
        shape = self.broadcast(condition.shape, self.broadcast(a.shape, b.shape))
        a, b = self.cast_operand(a, dtype, weak), self.cast_operand(b, dtype, weak)
        test = self.condition(condition, "the condition of weft.where")
        return self.emit("select", (test, a, b), None, dtype, shape, weak=weak)

    def condition(self, value: Value, what: str) -> Value:
        """Return a truth value: integers are compared with zero, floats are rejected."""
        if value.dtype.kind == "f":
            raise fail(
                f"{what} must be a condition, but is {value.dtype}. Compare it with a number, such "
                f"as x > 0 or x != 0."
            )
        return self.nonzero(value)

    def nonzero(self, value: Value) -> Value:
        """Return whether a number of any kind is not zero."""
        if value.dtype == BOOL:
            return value
        zero = self.emit("const", attr=0.0 if value.dtype.kind == "f" else 0, dtype=value.dtype)
        return self.emit("ne", (value, zero), dtype=BOOL, shape=value.shape)

    def test(self, value: Value, what: str) -> Value:
        """Return a scalar truth value."""
        if value.shape:
            raise fail(
                f"{what} must be a scalar condition, but has shape {value.shape}. Use weft.any(x) "
                f"or weft.and_(x) over its features."
            )
        return self.condition(value, what)

    def stack(self, parts: Sequence[Value]) -> Value:
        """Append a vector of scalars, or a matrix of vectors."""
        if not parts:
            raise fail("a vector needs at least one part.")
        dtype, weak = parts[0].dtype, parts[0].weak
        for part in parts[1:]:
            if part.shape != parts[0].shape or len(part.shape) > 1:
                raise fail(f"stack of shapes {[p.shape for p in parts]}: expected equal shapes.")
            dtype, weak = types.promote(dtype, weak, part.dtype, part.weak)
        args = tuple(self.cast(part, dtype) for part in parts)
        return self.emit("stack", args, dtype=dtype, shape=(len(parts), *parts[0].shape))

    def index(self, value: Value) -> Value:
        """Return an integer scalar fit to index with, as int64."""
        if value.dtype.kind not in "iu" or value.shape:
            raise fail(
                f"an index must be an integer scalar, but got {value.dtype} of shape {value.shape}."
            )
        return self.cast(value, INT64)

    def fit(self, value: Value, dtype: np.dtype[Any], shape: Shape, what: str) -> Value:
        """Return the value as the dtype and shape of what it is assigned to; never narrow it."""
        if value.shape != shape and not (value.shape == () and shape):
            raise fail(f"{what} has shape {shape}, but got a value of shape {value.shape}.")
        if not value.weak and not types.fits(value.dtype, dtype):
            raise fail(
                f"{what} is {dtype}, but got {value.dtype}, which it cannot hold. Declare it "
                f"wider, or narrow the value yourself with weft.cast(x, weft.{dtype.name})."
            )
        if value.weak and value.dtype.kind == "f" and dtype.kind != "f":
            raise fail(
                f"{what} is {dtype}, but got a floating-point value. Declare the field as a float, "
                f"or use weft.cast(x, weft.{dtype.name})."
            )
        value = self.cast(value, dtype)
        if value.shape != shape:
            value = self.emit("broadcast", (value,), dtype=dtype, shape=shape)
        return value
