"""Arithmetic of the modelled lanes, compiled by Numba: every elementwise op of the IR.

Integers are int64 words that `wrapped` brings back to their type after each operation; floats are
float64, and float32 results are rounded.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.backends.cpu.host.lean_numba import inner
from weft.weaver.stream import OP, TYPE

_jit = inner(error_model="numpy")
T_BOOL, T_I8, T_I16, T_I32, T_I64 = (TYPE[n] for n in ("bool", "int8", "int16", "int32", "int64"))
T_U8, T_U16, T_U32, T_U64 = (TYPE[n] for n in ("uint8", "uint16", "uint32", "uint64"))
T_F32, T_F64 = TYPE["float32"], TYPE["float64"]
(ADD, SUB, MUL, DIV, FLOORDIV, MOD, POW, MINIMUM, MAXIMUM, HYPOT, ATAN2, AND, OR, XOR, SHL, SHR, LT,
 LE, GT, GE, EQ, NE, NEG, ABS, SIGN, INVERT, POPCOUNT, CLZ) = (OP[name] for name in (
    "add", "sub", "mul", "div", "floordiv", "mod", "pow", "minimum", "maximum", "hypot", "atan2",
    "bit_and", "bit_or", "bit_xor", "shl", "shr", "lt", "le", "gt", "ge", "eq", "ne", "neg", "abs",
    "sign", "invert", "popcount", "clz"))  # fmt: skip
(SQRT, CBRT, EXP, EXP2, EXPM1, LOG, LOG2, LOG10, LOG1P, SIN, COS, TAN, ASIN, ACOS, ATAN, SINH, COSH,
 TANH, FLOOR, CEIL, ROUND, TRUNC, ISNAN, ISINF, ISFINITE) = (OP[name] for name in (
    "sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan",
    "asin", "acos", "atan", "sinh", "cosh", "tanh", "floor", "ceil", "round", "trunc", "isnan",
    "isinf", "isfinite"))  # fmt: skip
COMPARISONS = (LT, NE)  # all between


@_jit
def width_of(kind: Any) -> Any:
    """Return the bits of an integer type."""
    if kind in (T_BOOL, T_I8, T_U8):
        return 8
    if kind in (T_I16, T_U16):
        return 16
    if kind in (T_I32, T_U32):
        return 32
    return 64


@_jit
def wrapped(x: Any, kind: Any) -> Any:
    """Return an integer as its type would hold it."""
    if kind == T_I32:
        return np.int64(np.int32(x))
    if kind in (T_I64, T_U64):
        return x
    if kind == T_BOOL:
        return np.int64(x != 0)
    if kind == T_I8:
        return np.int64(np.int8(x))
    if kind == T_I16:
        return np.int64(np.int16(x))
    if kind == T_U8:
        return x & np.int64(0xFF)
    if kind == T_U16:
        return x & np.int64(0xFFFF)
    return x & np.int64(0xFFFFFFFF)


@_jit
def below(x: Any, y: Any, kind: Any) -> Any:
    """Return whether x < y for integers of a type."""
    if kind == T_U64:
        return np.uint64(x) < np.uint64(y)
    return x < y


@_jit
def integer_power(x: Any, y: Any, kind: Any) -> Any:
    """Return x to the power y; negative powers round towards zero."""
    if y < 0 and kind <= T_I64:
        if x == 1 or x == -1:
            return x if y & 1 else np.int64(1)
        return np.int64(0)
    result, base = np.int64(1), x
    left = np.uint64(y)
    while left:
        if left & np.uint64(1):
            result = wrapped(result * base, kind)
        base = wrapped(base * base, kind)
        left >>= np.uint64(1)
    return result


@_jit
def divided(x: Any, y: Any, kind: Any, modulo: Any) -> Any:
    """Return x // y or x % y, rounded down; 0 where y is 0."""
    if y == 0:
        return np.int64(0)
    if kind == T_U64:
        q = np.uint64(x) // np.uint64(y)
        return np.int64(np.uint64(x) - q * np.uint64(y)) if modulo else np.int64(q)
    if y == -1:
        return np.int64(0) if modulo else -x
    q = x // y
    return x - q * y if modulo else q


@_jit
def integer_op(op: Any, x: Any, y: Any, kind: Any) -> Any:  # noqa: C901 -- a switch
    """Return the result of an elementwise op on integers, not yet wrapped."""
    if op == ADD:
        return x + y
    if op == LT:
        return np.int64(below(x, y, kind))
    if op == SUB:
        return x - y
    if op == MUL:
        return x * y
    if op == GE:
        return np.int64(not below(x, y, kind))
    if op == EQ:
        return np.int64(x == y)
    if op == NE:
        return np.int64(x != y)
    if op == LE:
        return np.int64(not below(y, x, kind))
    if op == GT:
        return np.int64(below(y, x, kind))
    if op == AND:
        return x & y
    if op == OR:
        return x | y
    if op == XOR:
        return x ^ y
    if op == MINIMUM:
        return y if below(y, x, kind) else x
    if op == MAXIMUM:
        return y if below(x, y, kind) else x
    if op == SHL:
        return x << (y & (width_of(kind) - 1))
    if op == SHR:
        count = y & (width_of(kind) - 1)
        return np.int64(np.uint64(x) >> np.uint64(count)) if kind == T_U64 else x >> count
    if op == FLOORDIV:
        return divided(x, y, kind, False)
    if op == MOD:
        return divided(x, y, kind, True)
    if op == NEG:
        return -x
    if op == ABS:
        return -x if x < 0 and kind <= T_I64 else x
    if op == SIGN:
        return np.int64(x != 0) if kind > T_I64 else np.int64(x > 0) - np.int64(x < 0)
    if op == INVERT:
        return np.int64(x == 0) if kind == T_BOOL else ~x
    if op == POW:
        return integer_power(x, y, kind)
    width = width_of(kind)
    bits = np.uint64(x) if width == 64 else np.uint64(x) & np.uint64((1 << width) - 1)
    count = np.int64(0)
    if op == POPCOUNT:
        while bits:
            bits &= bits - np.uint64(1)
            count += 1
        return count
    while bits:
        bits >>= np.uint64(1)
        count += 1
    return width - count


@_jit
def float_function(op: Any, x: Any) -> Any:  # noqa: C901 -- a switch
    """Return the result of a function of one float."""
    if op == SQRT:
        return np.sqrt(x)
    if op == EXP:
        return np.exp(x)
    if op == LOG:
        return np.log(x)
    if op == CBRT:
        return np.cbrt(x)
    if op == EXP2:
        return np.exp2(x)
    if op == EXPM1:
        return np.expm1(x)
    if op == LOG2:
        return np.log2(x)
    if op == LOG10:
        return np.log10(x)
    if op == LOG1P:
        return np.log1p(x)
    if op == SIN:
        return np.sin(x)
    if op == COS:
        return np.cos(x)
    if op == TAN:
        return np.tan(x)
    if op == ASIN:
        return np.arcsin(x)
    if op == ACOS:
        return np.arccos(x)
    if op == ATAN:
        return np.arctan(x)
    if op == SINH:
        return np.sinh(x)
    if op == COSH:
        return np.cosh(x)
    if op == TANH:
        return np.tanh(x)
    if op == FLOOR:
        return np.floor(x)
    if op == CEIL:
        return np.ceil(x)
    if op == ROUND:
        return np.rint(x)
    return np.trunc(x)


@_jit
def float_op(op: Any, x: Any, y: Any) -> Any:
    """Return the result of an elementwise op of floats that gives a float."""
    if op == ADD:
        return x + y
    if op == MUL:
        return x * y
    if op == SUB:
        return x - y
    if op == DIV:
        return x / y
    if op == MINIMUM:
        return y if x != x or y < x else x
    if op == MAXIMUM:
        return y if x != x or y > x else x
    if op == NEG:
        return -x
    if op == ABS:
        return abs(x)
    if op == SIGN:
        return np.sign(x)
    if op == FLOORDIV:
        return np.floor_divide(x, y)
    if op == MOD:
        return np.remainder(x, y)
    if op == POW:
        return np.power(x, y)
    if op == HYPOT:
        return np.hypot(x, y)
    if op == ATAN2:
        return math.atan2(x, y)
    return float_function(op, x)


@_jit
def float_test(op: Any, x: Any, y: Any) -> Any:
    """Return the result of a comparison or a predicate of floats."""
    if op == LT:
        return x < y
    if op == LE:
        return x <= y
    if op == GT:
        return x > y
    if op == GE:
        return x >= y
    if op == EQ:
        return x == y
    if op == NE:
        return x != y
    if op == ISNAN:
        return x != x
    if op == ISINF:
        return x == np.inf or x == -np.inf
    return x - x == 0.0


@_jit
def float_to_int(x: Any, kind: Any) -> Any:
    """Return a float as an integer of a type: saturated, NaN as 0."""
    if x != x:
        return np.int64(0)
    if kind == T_BOOL:
        return np.int64(x != 0)
    width = width_of(kind)
    if kind <= T_I64:
        low, high = -(2.0 ** (width - 1)), 2.0 ** (width - 1)
        if x >= high:
            return np.int64(0x7FFFFFFFFFFFFFFF) >> (64 - width)
        return np.int64(max(x, low))
    if x <= 0:
        return np.int64(0)
    if width == 64:
        return np.int64(-1) if x >= 2.0**64 else np.int64(np.uint64(x))
    return np.int64(min(x, 2.0**width - 1))


@_jit
def int_to_float(x: Any, kind: Any) -> Any:
    """Return an integer of a type as a float."""
    return np.float64(np.uint64(x)) if kind == T_U64 else np.float64(x)
