"""Expressions of two operands: element-wise ones, and the infix forms ``|``, ``&``, ``@``."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.graphblas.checks import (
    expect_op,
    expect_type,
    is_scalar_like,
    output_kind,
    same_shape,
)
from weft.graphblas.dtypes import BOOL, unify
from weft.graphblas.exceptions import DimensionMismatch, EmptyObject
from weft.graphblas.expressions import InfixExpression, Operation
from weft.graphblas.kernels import elementwise as kernels
from weft.graphblas.kernels.multiply import spans
from weft.graphblas.mask import Mask
from weft.graphblas.operators.lookup import get_typed_op
from weft.graphblas.operators.monoid import monoid
from weft.graphblas.storage.cast import cast, take
from weft.graphblas.storage.matrix import MatrixStore

TENSORS = ("Vector", "Matrix", "TransposedMatrix")
NOT_MIXED = (
    "XXX: | and & cannot be mixed in one infix expression. Give each its operator, "
    "as in plus(times(x & y) | z)."
)


def ewise_infix(left: Any, right: Any, method: str, within: str) -> Any:
    """Return the expression ``left | right`` or ``left & right``, yet without an operator."""
    for each in (left, right):
        mixed = {"ewise_add", "ewise_mult"} - {method}
        if isinstance(each, InfixExpression) and each.method_name in mixed:
            raise TypeError(NOT_MIXED)
    kinds = output_kind(left), output_kind(right)
    if kinds[0] in TENSORS and kinds[1] in TENSORS:
        shape = _broadcast_shape(left, right, method)
        return _infix_class(method, len(shape))(left, right, shape)
    for one, other in ((left, right), (right, left)):
        if isinstance(other, Mask):
            return other | one if method == "ewise_add" else other & one
    if kinds[0] in TENSORS:
        expect_type(left, right, TENSORS, within=within, argname="right")
    if kinds[1] in TENSORS:
        expect_type(right, left, TENSORS, within=within, argname="left")
    if kinds[0] == "Scalar":
        return _infix_class(method, 0)(left, right, ())
    return _infix_class(method, 0)(right, left, ())


def _broadcast_shape(left: Any, right: Any, within: str) -> tuple[int, ...]:
    """Return the shape of the result; a vector spreads over a matrix's columns or rows."""
    if left.ndim == 1 and right.ndim == 2:
        fits = left.shape[0] == right.shape[0]
    elif left.ndim == 2 and right.ndim == 1:
        fits = left.shape[1] == right.shape[0]
    else:
        fits = left.shape == right.shape
    if not fits:
        raise DimensionMismatch(
            f"Dimensions of the operands of {within} differ: {left.shape} and {right.shape}."
        )
    return left.shape if left.ndim >= right.ndim else right.shape


def _infix_class(method: str, ndim: int) -> Any:
    from weft.graphblas import infix

    return infix.CLASSES[method, ndim]


def matmul_infix(left: Any, right: Any, within: str) -> Any:
    """Return the expression ``left @ right``, yet without a semiring."""
    kinds = output_kind(left), output_kind(right)
    if "Scalar" in kinds and not (set(kinds) & set(TENSORS)):
        return NotImplemented
    if kinds[0] not in TENSORS:
        expect_type(right, left, TENSORS, within=within, argname="left")
    if kinds[1] not in TENSORS:
        expect_type(left, right, TENSORS, within=within, argname="right")
    inner = left.shape[-1], right.shape[0]
    if inner[0] != inner[1]:
        raise DimensionMismatch(
            f"Dimensions of the factors do not fit: {left.shape} @ {right.shape}."
        )
    method = {(1, 1): "inner", (1, 2): "vxm", (2, 1): "mxv", (2, 2): "mxm"}[left.ndim, right.ndim]
    return _infix_class(method, 0 if method == "inner" else max(1, left.ndim + right.ndim - 2))(
        left, right, left.shape[:-1] + right.shape[1:]
    )


def resolved(x: Any, op: Any, method: str, defaults: Any = None) -> Any:
    """Compute a nested infix expression with the operator of the outer one."""
    if not isinstance(x, InfixExpression):
        return x
    if x.method_name == method or {x.method_name, method} <= {"mxm", "mxv", "vxm", "inner"}:
        if defaults is not None:
            return op(x, left_default=defaults[0], right_default=defaults[1]).new()
        return op(x).new()
    return x


def ewise(
    method: str,
    left: Any,
    right: Any,
    op: Any,
    *,
    is_infix: bool = False,
    defaults: tuple[Any, Any] | None = None,
) -> Any:
    """Return the expression of `ewise_add`, `ewise_mult` or `ewise_union`."""
    if is_infix:
        nested = "ewise_add" if method == "ewise_union" else method
        if op is None:
            op = _default(left, right, nested)
        left = resolved(left, op, nested, defaults)
        right = resolved(right, op, nested, defaults)
    if left._lazy:
        left = left._get_value(method)
    if left._output == "Scalar":
        return _ewise_scalars(method, left, right, op, defaults)
    right = expect_type(left, right, TENSORS, within=method)
    shape = _broadcast_shape(left, right, method)
    dtype1, dtype2 = left.dtype, right.dtype
    if defaults is not None:
        defaults, dtype1, dtype2 = _typed_defaults(left, defaults, dtype1, dtype2)
    op = get_typed_op(op, dtype1, dtype2, kind="binary")
    expect_op(left, op, ("BinaryOp", "Monoid"), within=method)
    if left.ndim != right.ndim:
        kernel = _broadcast_kernel(method, left.ndim == 1, op, defaults)
    elif method == "ewise_mult":

        def kernel(mask: Any, x: Any, y: Any) -> Any:
            return kernels.ewise_mult(x, y, op)

    elif method == "ewise_add":

        def kernel(mask: Any, x: Any, y: Any) -> Any:
            return kernels.ewise_add(x, y, op)

    else:
        values: Any = defaults

        def kernel(mask: Any, x: Any, y: Any) -> Any:
            return kernels.ewise_union(x, y, op, values)

    from weft.graphblas.infix import expression_class

    return expression_class(len(shape))(
        method,
        (left, right),
        op,
        op.return_type,
        shape,
        Operation(kernel, (left, right), (method,)),
    )


def _default(left: Any, right: Any, method: str) -> Any:
    """Return the default operator of ``|`` and ``&``, which booleans alone have."""
    types = [each.dtype for each in (left, right) if hasattr(each, "dtype")]
    if any(type_ is not BOOL for type_ in types):
        sign, name = ("|", "lor") if method == "ewise_add" else ("&", "land")
        raise TypeError(
            f"Bad dtype for default operator of `x {sign} y`: it is {name}, only valid for BOOL; "
            f"got {', '.join(map(str, types))}. Give the operator, as in plus(x {sign} y)."
        )
    return monoid.lor if method == "ewise_add" else monoid.land


def _typed_defaults(
    self: Any, defaults: tuple[Any, Any], dtype1: Any, dtype2: Any
) -> tuple[tuple[Any, Any], Any, Any]:
    """Return the defaults of a union as values, and the operand types that hold them too."""
    from weft.graphblas.scalar import Scalar

    values, types = [], []
    for name, given, dtype in (
        ("left_default", defaults[0], dtype1),
        ("right_default", defaults[1], dtype2),
    ):
        if not is_scalar_like(given):
            raise TypeError(
                f"Bad type for argument `{name}` in {type(self).__name__}.ewise_union(...): "
                f"expected Scalar; got {type(given).__name__}. Literal scalars also accepted."
            )
        scalar = given if isinstance(given, Scalar) else Scalar.from_value(given)
        if scalar._store is None:
            raise EmptyObject(f"`{name}` has no value, but ewise_union needs one.")
        values.append(scalar._store)
        types.append(unify(dtype, scalar.dtype))
    return (values[0], values[1]), types[0], types[1]


def _broadcast_kernel(method: str, vector_first: bool, op: Any, defaults: Any) -> Any:
    """Return the kernel for a vector that spreads over the columns or rows of a matrix."""

    def kernel(mask: Any, x: Any, y: Any) -> Any:
        vector, matrix = (x, y) if vector_first else (y, x)
        if method == "ewise_mult":
            spread = _spread_over_entries(vector, matrix, by_rows=vector_first)
        else:
            spread = _spread(vector, matrix.shape, by_rows=vector_first)
        one, other = (spread, matrix) if vector_first else (matrix, spread)
        if method == "ewise_mult":
            return kernels.ewise_mult(one, other, op)
        if method == "ewise_add":
            return kernels.ewise_add(one, other, op)
        return kernels.ewise_union(one, other, op, defaults)

    return kernel


def _spread_over_entries(vector: Any, matrix: Any, by_rows: bool) -> MatrixStore:
    at = matrix.rows if by_rows else np.asarray(matrix.cols)
    there = vector.there()[at]
    picked = matrix.picked(there)
    return picked.with_values(take(vector.dense, at[there]))


def _spread(vector: Any, shape: tuple[int, int], by_rows: bool) -> MatrixStore:
    count = vector.nvals
    if by_rows:
        rows = np.repeat(vector.indices, shape[1])
        cols = np.tile(np.arange(shape[1], dtype=np.int64), count)
        values = take(vector.values, np.repeat(np.arange(count), shape[1]))
    else:
        rows = np.repeat(np.arange(shape[0], dtype=np.int64), count)
        cols = np.tile(vector.indices, shape[0])
        values = take(vector.values, spans(np.zeros(shape[0], np.int64), np.full(shape[0], count)))
    return MatrixStore(shape, cols, values, rows=rows)


def _ewise_scalars(method: str, left: Any, right: Any, op: Any, defaults: Any) -> Any:
    from weft.graphblas.infix import expression_class
    from weft.graphblas.scalar import as_scalar

    if not is_scalar_like(right):
        raise TypeError(
            f"Bad type for argument `other` in Scalar.{method}(...): expected Scalar; got "
            f"{type(right).__name__}. Literal scalars also accepted."
        )
    right = as_scalar(right, f"Scalar.{method}")
    dtype1, dtype2 = left.dtype, right.dtype
    if defaults is not None:
        defaults, dtype1, dtype2 = _typed_defaults(left, defaults, dtype1, dtype2)
    op = get_typed_op(op, dtype1, dtype2, kind="binary")
    expect_op(left, op, ("BinaryOp", "Monoid"), within=method)

    def kernel(mask: Any, x: Any, y: Any) -> Any:
        if x is None and y is None:
            return None
        if x is None or y is None:
            if method == "ewise_mult":
                return None
            if method == "ewise_add":
                lone = np.asarray(y if x is None else x).reshape(1)
                return cast(lone, op.return_type.np_type)[0]
            x, y = (defaults[0] if x is None else x), (defaults[1] if y is None else y)
        a = cast(np.asarray(x).reshape(1), op.type.np_type)
        b = cast(np.asarray(y).reshape(1), op.type2.np_type)
        return op.evaluate(a, b)[0]

    return expression_class(0)(
        method, (left, right), op, op.return_type, (), Operation(kernel, (left, right), (method,))
    )


def call_infix(op: Any, expression: InfixExpression, **kwargs: Any) -> Any:
    """Return the expression of an operator called with an infix expression."""
    method = expression.method_name
    left, right = expression.left, expression.right
    given = {"left_default", "right_default"} & kwargs.keys()
    unknown = kwargs.keys() - given
    if unknown:
        raise TypeError(f"{op!r} got an unexpected keyword argument {sorted(unknown)[0]!r}.")
    if given:
        if method != "ewise_add" or len(given) != 2:
            raise TypeError("left_default and right_default are given together, with `x | y` only.")
        defaults = kwargs["left_default"], kwargs["right_default"]
        return ewise("ewise_union", left, right, op, is_infix=True, defaults=defaults)
    if method in {"ewise_add", "ewise_mult"}:
        return ewise(method, left, right, op, is_infix=True)
    from weft.graphblas.products import product

    return product(method, left, right, op, is_infix=True)


__all__ = ["call_infix", "ewise", "ewise_infix", "matmul_infix", "same_shape"]
