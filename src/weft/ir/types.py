"""Types of expressions: promotion by NEP 50, weak numbers, broadcasting of shapes."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from weft.errors import TraceError
from weft.ir.ops import BOOL, FLOAT64, INT64, Shape

SUPPORTED = tuple(
    np.dtype(name)
    for name in (
        "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "float32", "float64",
    )
)  # fmt: skip
_SUPPORTED = frozenset(SUPPORTED)


class VertexIdType:
    """Stands for the dtype of vertex ids of whichever graph a program runs on."""

    def __repr__(self) -> str:
        return "weft.vertex_id"


vertex_id = VertexIdType()


def check_dtype(dtype: Any, what: str) -> np.dtype[Any]:
    """Return a supported NumPy dtype, or say which ones there are."""
    try:
        result = np.dtype(object if dtype is None else dtype)  # None would be float64
    except TypeError:
        result = np.dtype(object)
    if result not in _SUPPORTED:
        names = ", ".join(d.name for d in SUPPORTED)
        held = "Python objects" if dtype == np.dtype(object) else f"dtype {dtype!r}"
        raise TraceError(f"{what} has {held}. Expected one of {names}.")
    return result


@cache
def promote(
    a: np.dtype[Any], weak_a: bool, b: np.dtype[Any], weak_b: bool
) -> tuple[np.dtype[Any], bool]:
    """Return the common dtype of two operands and whether it is still weak."""
    if weak_a and weak_b:
        return (FLOAT64 if "f" in (a.kind, b.kind) else INT64), True
    if weak_a or weak_b:
        strong, weak = (b, a) if weak_a else (a, b)
        if strong.kind == "f":
            return strong, False
        if weak.kind == "f":
            return FLOAT64, False
        return (INT64 if strong.kind == "b" else strong), False
    result = np.result_type(a, b)
    return (np.dtype(np.float32) if result == np.float16 else result), False


@cache
def quotient(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of a true division of two operands of a dtype (there is no float16)."""
    if dtype.kind == "f":
        return dtype
    return np.dtype(np.float32) if dtype.itemsize <= 2 and dtype.kind != "b" else FLOAT64


@cache
def fits(source: np.dtype[Any], target: np.dtype[Any]) -> bool:
    """Whether every value of one dtype can be held by another."""
    return bool(np.can_cast(source, target, casting="safe"))


def const_in_range(value: Any, dtype: np.dtype[Any]) -> bool:
    """Whether a Python number may become a constant of a dtype."""
    if dtype.kind in "iu":
        if isinstance(value, float):
            return False
        info = np.iinfo(dtype)
        return bool(info.min <= int(value) <= info.max)
    return dtype != BOOL or isinstance(value, bool | np.bool_) or value in (0, 1)


def broadcast(a: Shape, b: Shape) -> Shape:
    """Return the shape of an elementwise op on two shapes, by NumPy's rule."""
    if a == b or not b:
        return a
    if not a:
        return b
    try:
        return tuple(np.broadcast_shapes(a, b))
    except ValueError:
        raise TraceError(
            f"shapes {a} and {b} do not match. Expected equal shapes, or one of them a scalar or "
            f"a vector as long as the other's rows."
        ) from None
