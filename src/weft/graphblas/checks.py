"""Checks of arguments, and computing expressions where a value is needed."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.graphblas.exceptions import DimensionMismatch
from weft.graphblas.settings import config

HINT = (
    "Call `.new()`, or enable automatic computation with `gb.config.set(autocompute=True)` to "
    "automatically compute expressions (autocompute)."
)


def output_kind(x: Any) -> str:
    """Return "Vector", "Matrix", "TransposedMatrix" or "Scalar", or the name of the type."""
    return getattr(x, "_output", None) or type(x).__name__


def expect_type(
    self: Any,
    x: Any,
    kinds: tuple[str, ...],
    *,
    within: str,
    argname: str = "other",
    extra: str = "",
) -> Any:
    """Return an argument that is of one of some kinds; compute it if it is an expression."""
    kind = output_kind(x)
    if kind in kinds:
        if not x._lazy:
            return x
        if config["autocompute"]:
            return x.new()
        extra = HINT
    raise TypeError(
        f"Bad type for argument `{argname}` in {type(self).__name__}.{within}(...): expected "
        f"{', '.join(kinds)}; got {type(x).__name__}. {extra}".rstrip()
    )


def expect_op(self: Any, op: Any, kinds: tuple[str, ...], *, within: str) -> None:
    """Raise unless an operator is of one of some kinds."""
    if op.opclass in kinds:
        return
    hint = ""
    if op.opclass == "Semiring":
        hint = f" Use `{op.name}.binaryop` or `{op.name}.monoid` to get the BinaryOp"
        hint += " or to get the Monoid."
    elif "Monoid" in kinds and op.opclass == "BinaryOp":
        hint = f" {op.parent!r} is not part of a Monoid for {op.type} datatype."
    raise TypeError(
        f"Bad type for argument `op` in {type(self).__name__}.{within}(...). "
        f"Expected type: {', '.join(kinds)}; got {op.opclass} ({op!r}).{hint}"
    )


def same_shape(left: Any, right: Any, within: str) -> None:
    """Raise unless two objects have the same shape."""
    if left.shape != right.shape:
        raise DimensionMismatch(
            f"Dimensions of the operands of {within} differ: {left.shape} and {right.shape}."
        )


def is_scalar_like(x: Any) -> bool:
    """Return whether a value can become a Scalar."""
    return isinstance(x, bool | int | float | np.generic) or output_kind(x) == "Scalar"
