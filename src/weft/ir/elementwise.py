"""The elementwise ops, each declared once: operands, result, meaning, and backend functions.

Everything else derives from these declarations: the sets of `weft.ir.ops`, the typing rules, the
interpreter, the functions ``weft.sqrt`` and the like, the ops that NumPy's functions map to on
traced values, and the generated code. An op with a library function in both backends is one line
here; an op that needs special code in one of them (wrapping integers, ignored NaN) also has a
branch in that backend's ``expressions.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Op:
    """One elementwise op.

    Attributes
    ----------
    name
        Its name in the IR.
    group
        "arithmetic", "bitwise", "comparison", "unary" or "predicate": the binary groups promote
        their operands to a common dtype.
    takes
        Kinds of dtypes that it is defined for: "b", "i", "u", "f". Integers given to an op of
        floats become float64.
    meaning
        A NumPy function of whole arrays: the definition.
    numba
        The Numba function that computes it, unless the CPU backend has a branch for it.
    cuda
        The function of the C library that computes it in float64 (with suffix ``f`` in float32), or
        a function of ``numbers.cuh`` that begins with ``weft::``.
    doc
        The docstring of ``weft.<name>``; without it there is no such function.
    aliases
        Further NumPy functions that become this op.
    """

    name: str
    group: str
    takes: str
    meaning: Callable[..., Any]
    numba: str = ""
    cuda: str = ""
    doc: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def arity(self) -> int:
        """The number of operands."""
        return 1 if self.group in ("unary", "predicate") else 2


OPS: dict[str, Op] = {}
ELEMENTWISE: set[str] = {
    "select",  # (condition, if true, if false)
    "cast",  # to the value's dtype; float to int saturates, NaN gives 0
    "bitcast",  # same width, same bits
    "broadcast",  # a scalar to the value's shape
}
"""The declared ops, and those whose result is not a function of their operands' dtype alone."""


def declare(op: Op) -> Op:
    """Register an op."""
    OPS[op.name] = op
    ELEMENTWISE.add(op.name)
    return op


# -- meanings without a single NumPy function


def bits_of(x: Any) -> Any:
    """Return the bits of integers or truth values as unsigned integers."""
    x = np.asarray(x)
    return x.view(np.dtype(f"u{x.dtype.itemsize}"))


def _width(x: Any) -> int:
    return int(np.asarray(x).dtype.itemsize) * 8


def _divided(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a division that gives 0 where an integer is divided by 0."""

    def guarded(a: Any, b: Any) -> Any:
        if np.asarray(a).dtype.kind == "f":
            return function(a, b)
        zero = np.equal(b, 0)
        return np.where(zero, np.zeros_like(b), function(a, np.where(zero, np.ones_like(b), b)))

    return guarded


def _power(a: Any, b: Any) -> Any:
    if np.asarray(a).dtype.kind == "f":
        return np.power(a, b)
    negative = np.less(b, 0)
    result = np.power(a, np.where(negative, np.zeros_like(b), b))
    # 1 / a**-b, rounded towards zero.
    odd = np.not_equal(np.bitwise_and(b, np.ones_like(b)), 0)
    sign = np.where(odd, a, np.ones_like(a))
    inverse = np.where(np.equal(a, 1) | np.equal(a, -1), sign, np.zeros_like(a))
    return np.where(negative, inverse, result)


def _shift(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a shift whose count is taken modulo the width."""

    def wrapped(a: Any, b: Any) -> Any:
        b = np.asarray(b)
        return function(a, np.bitwise_and(b, b.dtype.type(_width(b) - 1)))

    return wrapped


def _leading_zeros(x: Any) -> Any:
    bits = bits_of(x)
    distance = 1
    while distance < _width(bits):  # copy the highest one bit into every place below it
        bits = bits | (bits >> bits.dtype.type(distance))
        distance *= 2
    return _width(bits) - np.bitwise_count(bits).astype(np.int32)


def _ones(x: Any) -> Any:
    return np.bitwise_count(bits_of(x))


# -- declarations

NUMBERS, INTEGERS, BITS, FLOATS, ANY = "ifu", "iu", "biu", "f", "bifu"

for _op in (
    Op("add", "arithmetic", NUMBERS, np.add),
    Op("sub", "arithmetic", NUMBERS, np.subtract),
    Op("mul", "arithmetic", NUMBERS, np.multiply),
    Op("div", "arithmetic", FLOATS, np.divide, aliases=("true_divide",)),
    Op("floordiv", "arithmetic", NUMBERS, _divided(np.floor_divide), aliases=("floor_divide",)),
    Op("mod", "arithmetic", NUMBERS, _divided(np.remainder), aliases=("remainder",)),
    Op("pow", "arithmetic", NUMBERS, _power, aliases=("power",)),
    Op("minimum", "arithmetic", NUMBERS, np.fmin,
       doc="Return the smaller of two values, feature by feature; NaN is ignored.",
       aliases=("minimum",)),
    Op("maximum", "arithmetic", NUMBERS, np.fmax,
       doc="Return the larger of two values, feature by feature; NaN is ignored.",
       aliases=("maximum",)),
    Op("hypot", "arithmetic", FLOATS, np.hypot, "math.hypot", "hypot",
       "Return the length of the vector (x, y)."),
    Op("atan2", "arithmetic", FLOATS, np.arctan2, "math.atan2", "atan2",
       "Return the angle of the point (x, y), given y and x."),
    Op("bit_and", "bitwise", BITS, np.bitwise_and, aliases=("logical_and",)),
    Op("bit_or", "bitwise", BITS, np.bitwise_or, aliases=("logical_or",)),
    Op("bit_xor", "bitwise", BITS, np.bitwise_xor, aliases=("logical_xor",)),
    Op("shl", "bitwise", INTEGERS, _shift(np.left_shift), aliases=("left_shift",)),
    Op("shr", "bitwise", INTEGERS, _shift(np.right_shift), aliases=("right_shift",)),
    Op("lt", "comparison", ANY, np.less),
    Op("le", "comparison", ANY, np.less_equal),
    Op("gt", "comparison", ANY, np.greater),
    Op("ge", "comparison", ANY, np.greater_equal),
    Op("eq", "comparison", ANY, np.equal),
    Op("ne", "comparison", ANY, np.not_equal),
    Op("neg", "unary", NUMBERS, np.negative),
    Op("abs", "unary", NUMBERS, np.absolute, aliases=("fabs",)),
    Op("sign", "unary", NUMBERS, np.sign, doc="Return -1, 0 or 1."),
    Op("invert", "unary", BITS, np.invert, aliases=("logical_not",)),
    Op("popcount", "unary", BITS, _ones, doc="Return the number of one bits of an integer."),
    Op("clz", "unary", BITS, _leading_zeros,
       doc="Return the number of leading zero bits of an integer."),
    Op("sqrt", "unary", FLOATS, np.sqrt, "math.sqrt", "sqrt", "Return the square root."),
    Op("cbrt", "unary", FLOATS, np.cbrt, "np.cbrt", "cbrt", "Return the cube root."),
    Op("exp", "unary", FLOATS, np.exp, "math.exp", "exp", "Return e to the power x."),
    Op("exp2", "unary", FLOATS, np.exp2, "np.exp2", "exp2", "Return 2 to the power x."),
    Op("expm1", "unary", FLOATS, np.expm1, "math.expm1", "expm1",
       "Return exp(x) - 1, exact for small x."),
    Op("log", "unary", FLOATS, np.log, "math.log", "log", "Return the natural logarithm."),
    Op("log2", "unary", FLOATS, np.log2, "np.log2", "log2", "Return the logarithm to base 2."),
    Op("log10", "unary", FLOATS, np.log10, "math.log10", "log10",
       "Return the logarithm to base 10."),
    Op("log1p", "unary", FLOATS, np.log1p, "math.log1p", "log1p",
       "Return log(1 + x), exact for small x."),
    Op("sin", "unary", FLOATS, np.sin, "math.sin", "sin", "Return the sine."),
    Op("cos", "unary", FLOATS, np.cos, "math.cos", "cos", "Return the cosine."),
    Op("tan", "unary", FLOATS, np.tan, "math.tan", "tan", "Return the tangent."),
    Op("asin", "unary", FLOATS, np.arcsin, "math.asin", "asin", "Return the inverse sine."),
    Op("acos", "unary", FLOATS, np.arccos, "math.acos", "acos", "Return the inverse cosine."),
    Op("atan", "unary", FLOATS, np.arctan, "math.atan", "atan", "Return the inverse tangent."),
    Op("sinh", "unary", FLOATS, np.sinh, "math.sinh", "sinh", "Return the hyperbolic sine."),
    Op("cosh", "unary", FLOATS, np.cosh, "math.cosh", "cosh", "Return the hyperbolic cosine."),
    Op("tanh", "unary", FLOATS, np.tanh, "math.tanh", "tanh", "Return the hyperbolic tangent."),
    Op("floor", "unary", FLOATS, np.floor, "np.floor", "floor", "Round down."),
    Op("ceil", "unary", FLOATS, np.ceil, "np.ceil", "ceil", "Round up."),
    Op("round", "unary", FLOATS, np.rint, "np.rint", "rint",
       "Round to the nearest integer, halves to even."),
    Op("trunc", "unary", FLOATS, np.trunc, "np.trunc", "trunc", "Round towards zero."),
    Op("isnan", "predicate", FLOATS, np.isnan, "np.isnan", "weft::is_nan", "Whether x is NaN."),
    Op("isinf", "predicate", FLOATS, np.isinf, "np.isinf", "weft::is_inf",
       "Whether x is infinite."),
    Op("isfinite", "predicate", FLOATS, np.isfinite, "np.isfinite", "weft::is_finite",
       "Whether x is a finite number."),
):  # fmt: skip
    declare(_op)


def ufuncs() -> dict[str, str]:
    """Return the op that each of NumPy's functions becomes."""
    found: dict[str, str] = {}
    for op in OPS.values():
        if isinstance(op.meaning, np.ufunc):
            found[op.meaning.__name__] = op.name
        found |= dict.fromkeys(op.aliases, op.name)
    return found


def public() -> dict[str, Op]:
    """Return the ops that users call by name, as ``weft.sqrt``."""
    return {name: op for name, op in OPS.items() if op.doc}
