"""Operators as functions that weft can trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.ir.trace.monoids import Monoid

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
    parent, of_type, result = op.parent, op.type.np_type, op.return_type.np_type
    if parent.orig_func is not None:
        function = parent.orig_func
    elif parent.name == "pair":
        # A constant: neither operand is ever loaded.
        return lambda x, y: fn.cast(1, result)
    else:
        function = (OF_BOOLS if of_type.kind == "b" else BINARY).get(parent.name)
        if parent.name == "truediv" and of_type.kind == "f":
            function = _divide
    if function is None:
        return None
    if parent.name in {"first", "second", "any"} and parent.orig_func is None:
        return lambda x, y: _cast(function(x, y), of_type)
    return lambda x, y: _cast(function(_cast(x, of_type), _cast(y, of_type)), result)


def _divide(x: Any, y: Any) -> Any:
    return x / y


def _cast(x: Any, np_type: Any) -> Any:
    """Return a traced value in a type as GraphBLAS casts it: anything but 0 is true."""
    return x != 0 if np_type.kind == "b" else fn.cast(x, np_type)


def addition(op: Any) -> Monoid | None:
    """Return a typed monoid as one of weft's, or None."""
    parent = op.parent
    if parent._anonymous or parent.binaryop.orig_func is not None:
        return monoids.monoid(parent.binaryop.orig_func, op.identity.item())
    return (MONOIDS_OF_BOOLS if op.type.np_type.kind == "b" else MONOIDS).get(parent.name)
