"""Elementwise ops of the IR as SQL expressions, with the values that NumPy gives."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.backends.relational.dialect import Dialect, Kind
from weft.backends.relational.refusals import Refused
from weft.ir.ops import FLOAT32, INT32, Value

SYMBOLS = {"add": "+", "sub": "-", "mul": "*"}
COMPARED = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "=", "ne": "<>"}
# Ops whose text names an operand more than once: a long one is computed first.
REPEATING = frozenset({
    "minimum", "maximum", "floordiv", "mod", "sign", "cast", "lt", "le", "gt", "ge", "eq", "ne",
    "clz", "log1p", "expm1", "isfinite", "hypot", "abs", "pow", "trunc", "round", "ceil", "floor",
    "isinf", "div",
})  # fmt: skip


class Expressions:
    """Writes elementwise ops in a dialect; operands are texts of one component each."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect

    def write(self, value: Value, args: list[str]) -> str:
        """Return the SQL of an op of given operands."""
        op, kinds = value.op, [a.dtype for a in value.args]
        if op == "select":
            return f"CASE WHEN {args[0]} THEN {args[1]} ELSE {args[2]} END"
        if op == "cast":
            return self.cast(args[0], kinds[0], value.dtype)
        if op == "bitcast":
            if "f" in (kinds[0].kind, value.dtype.kind):
                raise Refused("a bit cast of floats", "SQL has no access to the bits of a float")
            return self.dialect.convert(args[0], kinds[0], value.dtype)
        if op in COMPARED:
            return self.compare(op, args[0], args[1], kinds[0], value.args)
        writer = getattr(self, f"_{op}", None)
        if writer is not None:
            text: str = writer(value, args, kinds[0])
            return text
        return self._floats(value, args)

    # -- conversions and comparisons

    def cast(self, text: str, source: Kind, dtype: Kind) -> str:
        """Return a value in another dtype: integers wrap, floats saturate, NaN gives 0."""
        d = self.dialect
        if source == dtype:
            return text
        if dtype.kind == "b":
            return f"({text} <> {d.literal(0, source)})"
        if dtype.kind == "f":
            if source.kind == "f" and dtype.itemsize < source.itemsize:
                return d.narrowed(text)
            return d.cast(d.cast(text, INT32) if source.kind == "b" else text, dtype)
        if source.kind == "f":
            return d.truncated(text, dtype)
        return d.convert(text, source, dtype)

    def compare(self, op: str, a: str, b: str, kind: Kind, operands: tuple[Value, ...] = ()) -> str:
        """Return a comparison; any with NaN is false, but `ne` true. Engines order NaN last."""
        plain = f"({a} {COMPARED[op]} {b})"
        if kind.kind != "f":
            return plain
        known = [v.op == "const" and v.attr == v.attr for v in operands] or [False, False]
        tested = {"lt": (b, 1), "le": (b, 1)}.get(op, (a, 0))
        # a < b with a = NaN is false by the order already; a <= b is not where both are NaN.
        if op in ("eq", "ne") and any(known):
            return plain
        if known[tested[1]]:
            return plain
        if op == "ne":
            return f"({a} <> {b} OR isnan({a}))"
        return f"({plain} AND NOT isnan({tested[0]}))"

    # -- arithmetic

    def _plain(self, value: Value, args: list[str], kind: Kind) -> str:
        symbol = SYMBOLS[value.op]
        if kind.kind == "f":
            return f"({args[0]} {symbol} {args[1]})"
        return self.dialect.integer(value.op, symbol, args[0], args[1], value.dtype)

    _add = _sub = _mul = _plain

    def _div(self, value: Value, args: list[str], kind: Kind) -> str:
        return self.dialect.cast(self.dialect.quotient(args[0], args[1]), value.dtype)

    def _floordiv(self, value: Value, args: list[str], kind: Kind) -> str:
        if kind.kind == "f":
            raise Refused("// of floats", "engines round quotients of floats in their own ways")
        quotient, rest, wide = self.dialect.divide(args[0], args[1], kind)
        down = f"({rest} <> 0 AND ({args[0]} < 0) <> ({args[1]} < 0))"
        text = f"COALESCE({quotient} - CASE WHEN {down} THEN 1 ELSE 0 END, 0)"
        return self.dialect.wrap(text, value.dtype, wide)

    def _mod(self, value: Value, args: list[str], kind: Kind) -> str:
        if kind.kind == "f":
            raise Refused("% of floats", "engines round quotients of floats in their own ways")
        _, rest, wide = self.dialect.divide(args[0], args[1], kind)
        up = f"({rest} <> 0 AND ({args[0]} < 0) <> ({args[1]} < 0))"
        text = f"CASE WHEN {up} THEN {rest} + CAST({args[1]} AS {wide}) ELSE {rest} END"
        return self.dialect.cast(f"COALESCE({text}, 0)", value.dtype)

    def _pow(self, value: Value, args: list[str], kind: Kind) -> str:
        if kind.kind == "f":
            return self._floats(value, args)
        d, (a, b), dtype = self.dialect, args, value.dtype
        one, zero = d.literal(1, dtype), d.literal(0, dtype)
        factor = f"CASE WHEN x = 1 THEN {a} ELSE {one} END"
        squared = d.integer("mul", "*", "acc", "acc", dtype)
        step = d.integer("mul", "*", squared, factor, dtype)
        power = d.over_bits(b, dtype, step, one)
        if dtype.kind == "u":
            return power
        odd = f"CASE WHEN {d.bitwise('bit_and', b, one)} = {one} THEN {a} ELSE {one} END"
        inverse = f"CASE WHEN {a} = 1 OR {a} = -1 THEN {odd} ELSE {zero} END"
        return f"CASE WHEN {b} < 0 THEN {inverse} ELSE {power} END"

    def _minimum(self, value: Value, args: list[str], kind: Kind) -> str:
        return self.choose("LEAST", args[0], args[1], kind)

    def _maximum(self, value: Value, args: list[str], kind: Kind) -> str:
        return self.choose("GREATEST", args[0], args[1], kind)

    def choose(self, name: str, a: str, b: str, kind: Kind) -> str:
        """Return the smaller or the greater of two numbers; NaN is ignored."""
        both = f"{name}({a}, {b})"
        if kind.kind == "b":
            return f"({a} {'AND' if name == 'LEAST' else 'OR'} {b})"
        if kind.kind != "f":
            return both
        return f"CASE WHEN isnan({a}) THEN {b} WHEN isnan({b}) THEN {a} ELSE {both} END"

    def _hypot(self, value: Value, args: list[str], kind: Kind) -> str:
        a, b = (f"CAST({x} AS DOUBLE)" for x in args)
        return self._as(f"sqrt({a} * {a} + {b} * {b})", value.dtype)

    # -- bits

    def _bitwise(self, value: Value, args: list[str], kind: Kind) -> str:
        if kind.kind != "b":
            return self.dialect.cast(self.dialect.bitwise(value.op, *args), value.dtype)
        word = {"bit_and": "AND", "bit_or": "OR", "bit_xor": "<>"}[value.op]
        return f"({args[0]} {word} {args[1]})"

    _bit_and = _bit_or = _bit_xor = _bitwise

    def _shift(self, value: Value, args: list[str], kind: Kind) -> str:
        return self.dialect.shift(value.op, args[0], args[1], value.dtype)

    _shl = _shr = _shift

    def _invert(self, value: Value, args: list[str], kind: Kind) -> str:
        if kind.kind == "b":
            return f"(NOT {args[0]})"
        top = -1 if kind.kind == "i" else int(np.iinfo(kind).max)
        return self.dialect.cast(f"{self.dialect.literal(top, kind)} - {args[0]}", kind)

    def _popcount(self, value: Value, args: list[str], kind: Kind) -> str:
        return self.dialect.cast(f"bit_count({self.dialect.bits(args[0], kind)})", value.dtype)

    def _clz(self, value: Value, args: list[str], kind: Kind) -> str:
        bits, width = self.dialect.bits(args[0], kind), 8 * kind.itemsize
        text = f"CASE WHEN {bits} = 0 THEN {width} ELSE {width} - length(bin({bits})) END"
        return self.dialect.cast(text, value.dtype)

    # -- one operand

    def _neg(self, value: Value, args: list[str], kind: Kind) -> str:
        if kind.kind == "f":
            return f"(-{args[0]})"
        return self.dialect.integer("sub", "-", self.dialect.literal(0, kind), args[0], value.dtype)

    def _abs(self, value: Value, args: list[str], kind: Kind) -> str:
        if kind.kind == "f":
            return f"abs({args[0]})"
        if kind.kind == "u":
            return args[0]
        negated = self._neg(value, args, kind)
        return f"CASE WHEN {args[0]} < 0 THEN {negated} ELSE {args[0]} END"

    def _sign(self, value: Value, args: list[str], kind: Kind) -> str:
        d, x = self.dialect, args[0]
        low, none, high = (d.literal(k, kind) for k in (-1 if kind.kind != "u" else 0, 0, 1))
        nan = f"WHEN isnan({x}) THEN {x} " if kind.kind == "f" else ""
        return f"CASE {nan}WHEN {x} < 0 THEN {low} WHEN {x} > 0 THEN {high} ELSE {none} END"

    def _isnan(self, value: Value, args: list[str], kind: Kind) -> str:
        return f"isnan({args[0]})"

    def _isinf(self, value: Value, args: list[str], kind: Kind) -> str:
        return self.dialect.infinite(args[0])

    def _isfinite(self, value: Value, args: list[str], kind: Kind) -> str:
        return f"(NOT isnan({args[0]}) AND NOT {self.dialect.infinite(args[0])})"

    def _rounded(self, value: Value, args: list[str], kind: Kind) -> str:
        return self.dialect.cast(self.dialect.rounded(value.op, args[0]), value.dtype)

    _floor = _ceil = _round = _trunc = _rounded

    def _expm1(self, value: Value, args: list[str], kind: Kind) -> str:
        x = f"CAST({args[0]} AS DOUBLE)"
        near = f"2 * exp({x} / 2) * sinh({x} / 2)"
        return self._as(f"CASE WHEN abs({x}) < 1 THEN {near} ELSE exp({x}) - 1 END", value.dtype)

    def _log1p(self, value: Value, args: list[str], kind: Kind) -> str:
        x = f"CAST({args[0]} AS DOUBLE)"
        log, one = self.dialect.functions["log"], f"(1 + {x})"
        near = f"{log}({one}) * ({x} / ({one} - 1))"
        inner = f"CASE WHEN {one} = 1 THEN {x} WHEN abs({x}) < 1 THEN {near} ELSE {log}({one}) END"
        return self._as(inner, value.dtype)

    def _exp2(self, value: Value, args: list[str], kind: Kind) -> str:
        return self._as(f"pow(CAST(2 AS DOUBLE), CAST({args[0]} AS DOUBLE))", value.dtype)

    def _floats(self, value: Value, args: list[str]) -> str:
        name = self.dialect.functions.get(value.op)
        if name is None:
            raise Refused(f"weft.{value.op}", f"{self.dialect.name} has no such function")
        given = [f"CAST({x} AS DOUBLE)" for x in args]
        return self._as(self.dialect.call(name, given), value.dtype)

    def _as(self, text: str, dtype: Kind) -> str:
        """Return a double in the dtype of a result."""
        return self.dialect.narrowed(text) if dtype == FLOAT32 else text

    def differ(self, a: str, b: str, dtype: Any) -> str:
        """Return whether two values differ bit for bit; NaN equals NaN."""
        if dtype.kind != "f":
            return f"({a} <> {b})"
        signs = f"({a} = 0 AND {self.dialect.negative(a)} <> {self.dialect.negative(b)})"
        return f"({a} <> {b} OR {signs})"
