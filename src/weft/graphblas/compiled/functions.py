"""Operators as functions that weft can trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.ir.trace.monoids import Monoid

BOOL = np.dtype(np.bool_)
Traced = Callable[[Any, Any], Any]

BINARY: dict[str, Traced] = {
    "first": lambda x, y: x,
    "second": lambda x, y: y,
    "any": lambda x, y: y,
    "plus": lambda x, y: x + y,
    "minus": lambda x, y: x - y,
    "rminus": lambda x, y: y - x,
    "times": lambda x, y: x * y,
    "min": lambda x, y: fn.minimum(x, y),
    "max": lambda x, y: fn.maximum(x, y),
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
    "iseq": lambda x, y: x == y,
    "isne": lambda x, y: x != y,
    "land": lambda x, y: (x != 0) & (y != 0),
    "lor": lambda x, y: (x != 0) | (y != 0),
    "lxor": lambda x, y: (x != 0) ^ (y != 0),
    "isge": lambda x, y: x >= y,
    "isgt": lambda x, y: x > y,
    "isle": lambda x, y: x <= y,
    "islt": lambda x, y: x < y,
    "band": lambda x, y: x & y,
    "bor": lambda x, y: x | y,
    "bxor": lambda x, y: x ^ y,
    "bxnor": lambda x, y: ~(x ^ y),
}
# Of floats alone; integers are divided by rules of their own.
OF_FLOATS: dict[str, Traced] = {
    "truediv": lambda x, y: x / y,
    "cdiv": lambda x, y: x / y,
    "rtruediv": lambda x, y: y / x,
    "rdiv": lambda x, y: y / x,
}
# Booleans have other operators under these names.
OF_BOOLS: dict[str, Traced] = {
    "first": BINARY["first"],
    "second": BINARY["second"],
    "any": BINARY["second"],
    "land": lambda x, y: x & y,
    "lor": lambda x, y: x | y,
    "lxor": lambda x, y: x ^ y,
}
MONOIDS: dict[str, Monoid] = {
    "plus": monoids.sum,
    "times": monoids.prod,
    "min": monoids.min,
    "max": monoids.max,
    "any": monoids.any,
    "band": monoids.and_,
    "bor": monoids.or_,
}
MONOIDS_OF_BOOLS: dict[str, Monoid] = {"any": monoids.any, "land": monoids.and_, "lor": monoids.or_}


def multiplication(op: Any) -> Traced | None:
    """Return a typed operator as a traced function of values of its type, or None."""
    if op.opclass == "Monoid":
        op = op.binaryop
    parent, of_type, result = op.parent, op.type.np_type, op.return_type.np_type
    if parent.orig_func is not None:
        function = parent.orig_func
    elif parent.name == "pair":
        # A constant: neither operand is ever loaded.
        return lambda x, y: fn.cast(1, result)
    else:
        function = (OF_BOOLS if of_type.kind == "b" else BINARY).get(parent.name)
        if of_type.kind == "f":
            function = function or OF_FLOATS.get(parent.name)
    if function is None:
        return None
    if parent.name in {"first", "second", "any"} and parent.orig_func is None:
        return lambda x, y: cast_traced(function(x, y), of_type)
    return lambda x, y: cast_traced(
        function(cast_traced(x, of_type), cast_traced(y, of_type)), result
    )


def cast_traced(x: Any, np_type: Any) -> Any:
    """Return a traced value in a type as GraphBLAS casts it: anything but 0 is true."""
    return x != 0 if np_type.kind == "b" else fn.cast(x, np_type)


def addition(op: Any) -> Monoid | None:
    """Return a typed monoid as one of weft's, or None."""
    parent = op.parent
    if parent._anonymous or parent.binaryop.orig_func is not None:
        return monoids.monoid(parent.binaryop.orig_func, op.identity.item())
    return (MONOIDS_OF_BOOLS if op.type.np_type.kind == "b" else MONOIDS).get(parent.name)


COMBINATIONS: dict[str, Traced] = {
    **{name: BINARY[name] for name in ("plus", "times", "min", "max")},
    "any": lambda x, y: x,
    "band": lambda x, y: x & y,
    "bor": lambda x, y: x | y,
    "bxor": lambda x, y: x ^ y,
    "bxnor": lambda x, y: ~(x ^ y),
}
COMBINATIONS_OF_BOOLS: dict[str, Traced] = {
    "any": lambda x, y: x,
    "land": lambda x, y: x & y,
    "lor": lambda x, y: x | y,
    "lxor": lambda x, y: x ^ y,
    "lxnor": lambda x, y: x == y,
    "eq": lambda x, y: x == y,
}


def combination(op: Any) -> Traced | None:
    """Return a typed monoid as a traced function of two values of its type, or None."""
    parent, np_type = op.parent, op.type.np_type
    if parent._anonymous or parent.binaryop.orig_func is not None:
        function = parent.binaryop.orig_func
        return None if function is None else lambda x, y: cast_traced(function(x, y), np_type)
    return (COMBINATIONS_OF_BOOLS if np_type.kind == "b" else COMBINATIONS).get(parent.name)


UNARY: dict[str, Callable[[Any], Any]] = {
    "identity": lambda x: x,
    "ainv": lambda x: -x,
    "abs": abs,
    "lnot": lambda x: x == 0,
}
UNARY_OF_FLOATS = (
    "acos", "asin", "atan", "cbrt", "ceil", "cos", "cosh", "exp", "exp2", "expm1", "floor",
    "isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2", "sin", "sinh", "sqrt", "tan",
    "tanh", "trunc",
)  # fmt: skip


def unary(op: Any) -> Callable[[Any], Any] | None:
    """Return a typed unary operator as a traced function of values of its type, or None."""
    parent, of_type, result = op.parent, op.type.np_type, op.return_type.np_type
    if parent.position is not None:
        return None
    function = parent.orig_func or UNARY.get(parent.name)
    if function is not None and of_type.kind == "b" and parent.name != "lnot":
        return None
    if of_type.kind == "f":
        if parent.name == "minv":
            return lambda x: cast_traced(1 / cast_traced(x, of_type), result)
        if function is None and parent.name in UNARY_OF_FLOATS:
            function = getattr(fn, parent.name)
    if function is None:
        return None
    return lambda x: cast_traced(function(cast_traced(x, of_type)), result)


KEEPS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "colgt": lambda x, i, j, k: j > k,
    "colle": lambda x, i, j, k: j <= k,
    "diag": lambda x, i, j, k: j - i == k,
    "indexgt": lambda x, i, j, k: i > k,
    "indexle": lambda x, i, j, k: i <= k,
    "offdiag": lambda x, i, j, k: j - i != k,
    "rowgt": lambda x, i, j, k: i > k,
    "rowle": lambda x, i, j, k: i <= k,
    "tril": lambda x, i, j, k: j - i <= k,
    "triu": lambda x, i, j, k: j - i >= k,
    "valueeq": lambda x, i, j, k: x == k,
    "valuege": lambda x, i, j, k: x >= k,
    "valuegt": lambda x, i, j, k: x > k,
    "valuele": lambda x, i, j, k: x <= k,
    "valuelt": lambda x, i, j, k: x < k,
    "valuene": lambda x, i, j, k: x != k,
}


def selection(op: Any) -> Callable[[Any, Any, Any, Any], Any] | None:
    """Return a typed select operator as a traced function of value, row, column and thunk."""
    parent, of_type = op.parent, op.type.np_type
    function = parent.orig_func or KEEPS.get(parent.name)
    if function is None:
        return None
    if parent.is_positional:
        return function
    return lambda x, i, j, k: cast_traced(function(cast_traced(x, of_type), i, j, k), BOOL)
