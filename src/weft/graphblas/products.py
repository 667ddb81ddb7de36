"""Expressions of products: mxv, vxm, mxm, inner, outer, kronecker."""

from __future__ import annotations

from typing import Any

from weft.graphblas.checks import expect_op, expect_type
from weft.graphblas.elementwise import resolved
from weft.graphblas.exceptions import DimensionMismatch
from weft.graphblas.execution import multiply_matrices, multiply_vector
from weft.graphblas.expressions import Operation
from weft.graphblas.kernels import multiply as kernels
from weft.graphblas.kernels.plan import Sides
from weft.graphblas.kernels.positions import factors, vector_factors
from weft.graphblas.operators.lookup import get_semiring, get_typed_op
from weft.graphblas.operators.semiring import semiring

MATRICES = ("Matrix", "TransposedMatrix")


def product(method: str, left: Any, right: Any, op: Any = None, *, is_infix: bool = False) -> Any:
    """Return the expression of a product over a semiring."""
    from weft.graphblas.infix import expression_class

    if op is None:
        op = semiring.plus_times
    if is_infix:
        left, right = resolved(left, op, method), resolved(right, op, method)
    if left._lazy:
        left = left._get_value(method)
    kinds = MATRICES if method in {"vxm", "mxm"} else ("Vector",)
    right = expect_type(left, right, kinds, within=method)
    op = get_typed_op(op, left.dtype, right.dtype, kind="semiring")
    expect_op(left, op, ("Semiring",), within=method)
    if left.shape[-1] != right.shape[0]:
        raise DimensionMismatch(
            f"Dimensions of the factors of {method} do not fit: {left.shape} and {right.shape}."
        )
    shape = left.shape[:-1] + right.shape[1:]
    node: tuple[Any, ...] = ()
    if op.binaryop.parent.position is not None:
        inputs, kernel = _positional(method, left, right, op)
    else:
        inputs, kernel = _multiplication(method, left, right, op)
        node = (method, op)
        if method in {"mxv", "vxm"}:
            node = (*node, _base(method, left if method == "mxv" else right)[1])
    return expression_class(len(shape))(
        method, (left, right), op, op.return_type, shape, Operation(kernel, inputs, node)
    )


def _multiplication(method: str, left: Any, right: Any, op: Any) -> tuple[Any, Any]:
    """Return the inputs and the kernel of a product."""
    inputs: tuple[Any, ...] = (left, right)
    if method in {"mxv", "vxm"}:
        matrix, vector = (left, right) if method == "mxv" else (right, left)
        base, by_columns = _base(method, matrix)
        inputs = base, vector

        def kernel(mask: Any, x: Any, y: Any) -> Any:
            return multiply_vector(Sides(x, by_columns), y, op, method == "vxm", mask)

    elif method == "mxm":

        def kernel(mask: Any, x: Any, y: Any) -> Any:
            return multiply_matrices(x, y, op, mask)

    else:

        def kernel(mask: Any, x: Any, y: Any) -> Any:
            return kernels.inner(x, y, op)

    return inputs, kernel


def _base(method: str, matrix: Any) -> tuple[Any, bool]:
    """Return the matrix behind a factor, and whether the product runs over its columns.

    A transposed matrix is never made here: the kernel makes the side that it reads.
    """
    is_turned = matrix._output == "TransposedMatrix"
    return (matrix._matrix if is_turned else matrix), is_turned != (method == "vxm")


def _positional(method: str, left: Any, right: Any, op: Any) -> tuple[Any, Any]:
    """Return the inputs and the kernel of a product that multiplies with places.

    It is the product over `first` or `second` of factors that have their places as values.
    """
    inputs, _ = _multiplication(method, left, right, op)

    def kernel(mask: Any, x: Any, y: Any) -> Any:
        if method in {"mxv", "vxm"}:
            matrix = left if method == "mxv" else right
            turned = matrix._output == "TransposedMatrix"
            x, y, multiply = vector_factors(method, x, y, op.binaryop, turned)
        else:
            x, y, multiply = factors(method, x, y, op.binaryop)
        plain = get_semiring(op.monoid.parent, multiply.parent)[op.type]
        return _multiplication(method, left, right, plain)[1](mask, x, y)

    return inputs, kernel


def outer(left: Any, right: Any, op: Any) -> Any:
    """Return the expression of an outer product."""
    from weft.graphblas.infix import expression_class

    right = expect_type(left, right, ("Vector",), within="outer")
    op = get_typed_op(op, left.dtype, right.dtype, kind="binary")
    expect_op(left, op, ("BinaryOp", "Monoid"), within="outer")

    def kernel(mask: Any, x: Any, y: Any) -> Any:
        if op.parent.position is not None:
            return kernels.outer(*factors("outer", x, y, op))
        return kernels.outer(x, y, op)

    shape = left.size, right.size
    return expression_class(2)(
        "outer", (left, right), op, op.return_type, shape, Operation(kernel, (left, right))
    )


def kronecker(left: Any, right: Any, op: Any) -> Any:
    """Return the expression of a Kronecker product."""
    from weft.graphblas.infix import expression_class

    right = expect_type(left, right, MATRICES, within="kronecker")
    op = get_typed_op(op, left.dtype, right.dtype, kind="binary")
    expect_op(left, op, ("BinaryOp", "Monoid"), within="kronecker")

    def kernel(mask: Any, x: Any, y: Any) -> Any:
        if op.parent.position is not None:
            return kernels.kronecker(*factors("kronecker", x, y, op))
        return kernels.kronecker(x, y, op)

    shape = left.nrows * right.nrows, left.ncols * right.ncols
    return expression_class(2)(
        "kronecker", (left, right), op, op.return_type, shape, Operation(kernel, (left, right))
    )
