"""Calls of operators: ``op(A & B)``, ``op(v)``, ``op(v, 1)``, ``op(1, v)``."""

from __future__ import annotations

from typing import Any

from weft.graphblas.checks import is_scalar_like, output_kind
from weft.graphblas.elementwise import call_infix
from weft.graphblas.expressions import InfixExpression
from weft.graphblas.operators.base import TypedOp
from weft.graphblas.operators.binary import BinaryOp
from weft.graphblas.operators.indexunary import IndexUnaryOp
from weft.graphblas.operators.monoid import Monoid
from weft.graphblas.operators.select import SelectOp
from weft.graphblas.operators.semiring import Semiring
from weft.graphblas.operators.unary import UnaryOp
from weft.graphblas.scalar import as_scalar

TENSORS = {"Vector", "Matrix", "TransposedMatrix", "Scalar"}


def _show(op: Any) -> str:
    return repr(op)


def _operand(x: Any) -> Any:
    """Return something that has `apply`: literal numbers become scalars."""
    if output_kind(x) in TENSORS:
        return x
    return as_scalar(x, "apply")


def call_unary(op: Any, expr: Any, *extra: Any) -> Any:
    """Apply a unary operator; without an operator of its own an infix expression is refused."""
    if extra:
        raise TypeError(f"{op!r}.__call__ takes one argument: {op!r}(A).")
    if output_kind(expr) in TENSORS or is_scalar_like(expr):
        return _operand(expr).apply(op)
    raise TypeError(
        f"Bad type when calling {op!r}. Got type: {type(expr).__name__}. Expected a Vector, Matrix "
        f"or Scalar: {op!r}(A)."
    )


def call_binary(op: Any, left: Any, right: Any = None, **kwargs: Any) -> Any:
    """Combine the operands of ``|`` or ``&``, or apply with a scalar on one side."""
    shown = _show(op)
    if isinstance(left, InfixExpression):
        if right is None:
            return call_infix(op, left, **kwargs)
        left._to_expr()
    _check_keywords(op, kwargs)
    if right is None:
        raise TypeError(
            f"Bad type when calling {shown}. Got type: {type(left).__name__}. Expected an infix "
            f"expression or a scalar too: {shown}(A & B), {shown}(A, 1) or {shown}(1, A)."
        )
    kinds = output_kind(left), output_kind(right)
    tensors = {"Vector", "Matrix", "TransposedMatrix"}
    if kinds[0] in tensors:
        return left.apply(op, right=right)
    if kinds[1] in tensors:
        return right.apply(op, left=left)
    if kinds[0] != "Scalar" and kinds[1] == "Scalar":
        return right.apply(op, left=left)
    try:
        return _operand(left).apply(op, right=right)
    except TypeError:
        raise TypeError(
            f"Bad types when calling {shown}. Got types: {type(left).__name__}, "
            f"{type(right).__name__}. Expected {shown}(A & B), {shown}(A, 1) or {shown}(1, A)."
        ) from None


def _check_keywords(op: Any, kwargs: dict[str, Any]) -> None:
    if not kwargs:
        return
    name = sorted(kwargs)[0]
    if name in {"left_default", "right_default"}:
        raise TypeError(f"{name} is accepted with `x | y` only.")
    raise TypeError(f"{op!r} got an unexpected keyword argument {name!r}.")


def call_semiring(op: Any, expr: Any, *extra: Any) -> Any:
    """Multiply the operands of ``@``."""
    if extra or not isinstance(expr, InfixExpression):
        shown = _show(op.parent if isinstance(op, TypedOp) else op)
        if extra:
            raise TypeError(
                f"Bad types when calling {shown}. Expected one infix expression: {shown}(A @ B)."
            )
        raise TypeError(
            f"Bad type when calling {shown}. Got type: {type(expr).__name__}. Expected an infix "
            f"expression: {shown}(A @ B)."
        )
    return call_infix(op, expr)


def call_index(op: Any, expr: Any, thunk: Any = None) -> Any:
    """Apply an index-unary operator."""
    return _operand(expr).apply(op, right=thunk)


def call_select(op: Any, expr: Any, thunk: Any = None) -> Any:
    """Select by an operator."""
    return _operand(expr).select(op, thunk)


def install() -> None:
    """Make operators callable."""
    for kind, call in (
        (UnaryOp, call_unary),
        (BinaryOp, call_binary),
        (Monoid, call_binary),
        (Semiring, call_semiring),
        (IndexUnaryOp, call_index),
        (SelectOp, call_select),
    ):
        kind._call = staticmethod(call)
