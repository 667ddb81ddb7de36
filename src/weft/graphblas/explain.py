"""Explains how an expression is computed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from weft.graphblas.checks import output_kind
from weft.graphblas.execution import compiles, cost_of_push
from weft.graphblas.expressions import BaseExpression, InfixExpression
from weft.graphblas.kernels.plan import PUSH_COST, Sides, choose
from weft.graphblas.mask import check_mask
from weft.graphblas.options import current

# Multiplications that never look at the values of the first or of the second factor.
UNREAD = {"pair": (True, True), "first": (False, True), "second": (True, False)}


class Explanation(NamedTuple):
    """How an expression is computed, as `explain` reports it.

    Attributes
    ----------
    operation : str
        The method, such as "mxv".
    direction : str
        "push" or "pull" for a product of a matrix and a vector, else "".
    vector : str
        The form of its vector: "dense" or "sparse".
    products : int
        How many products of two values are made, the mask taken into account.
    mask : str
        "none", "before" (places outside are not computed) or "after".
    kernel : str
        "numpy" or "compiled".
    schedule : str
        The schedule of a compiled product.
    structure_only : bool
        Whether the values of the matrix are never read.
    early_exit : bool
        Whether a row ends at a sum that no further product changes.
    fused : tuple of str
        What the same kernel does besides: "mask", "accumulate".
    """

    operation: str
    direction: str = ""
    vector: str = ""
    products: int = 0
    mask: str = "none"
    kernel: str = "numpy"
    schedule: str = ""
    structure_only: bool = False
    early_exit: bool = False
    fused: tuple[str, ...] = ()


def explain(expression: Any, mask: Any = None, accum: Any = None) -> Explanation:
    """Return how an expression is going to be computed, without computing it.

    Parameters
    ----------
    expression
        An expression, such as ``semiring.min_plus(A @ v)``.
    mask
        The mask of the assignment that it is for.
    accum
        Its accumulator.

    Examples
    --------
    >>> import weft.graphblas as gb
    >>> A = gb.Matrix.from_coo([0, 1, 2], [1, 2, 0], [1, 2, 3])
    >>> v = gb.Vector.from_coo([1], [5], size=3)
    >>> found = gb.explain(gb.semiring.min_plus(v @ A))
    >>> found.direction, found.products
    ('push', 1)
    """
    if isinstance(expression, InfixExpression):
        expression = expression._to_expr()
    if not isinstance(expression, BaseExpression):
        raise TypeError(
            f"explain takes an expression, such as A @ v; got {type(expression).__name__}."
        )
    method = expression.method_name
    view = None if mask is None else check_mask(mask).view()
    hint = expression._operation.hint(view)
    when = "none" if view is None else "after" if hint is None else "before"
    if method in {"mxv", "vxm"}:
        return _of_vector(expression, hint, when, accum)
    if method == "mxm":
        return _of_matrices(expression, hint, when)
    return Explanation(method, mask=when)


def _of_vector(expression: BaseExpression, hint: Any, when: str, accum: Any) -> Explanation:
    op, method = expression.op, expression.method_name
    base, vector = (each._store for each in expression._operation.inputs)
    factor = expression.args[0 if method == "mxv" else 1]
    matrix = Sides(base, (output_kind(factor) == "TransposedMatrix") != (method == "vxm"))
    compiled = compiles(matrix)
    cost = PUSH_COST
    if compiled and current["device"] == "cpu":
        cost = cost_of_push(matrix, vector, op, method == "vxm")
    plan = choose(matrix, vector, hint, compiles=compiled, cost=cost)
    if plan.pushes:
        products = int(matrix.columns.row_bounds(vector.indices)[1].sum())
    elif plan.rows is not None:
        products = int(matrix.rows.row_bounds(plan.rows)[1].sum())
    else:
        products = matrix.nvals
    compiled = compiled and not plan.pushes and plan.rows is None and _traced(op)
    fused = [("mask", when == "before"), ("accumulate", compiled and accum is not None)]
    return Explanation(
        method,
        "push" if plan.pushes else "pull",
        "dense" if vector.is_dense else "sparse",
        products,
        when,
        "compiled" if compiled else "numpy",
        _schedule() if compiled else "",
        _ignores_matrix(op, matrix_is_first=method == "mxv"),
        compiled and _stops_early(op),
        tuple(name for name, is_fused in fused if is_fused),
    )


def _of_matrices(expression: BaseExpression, hint: Any, when: str) -> Explanation:
    op = expression.op
    left, right = (
        each._matrix._store.twin if output_kind(each) == "TransposedMatrix" else each._store
        for each in expression._operation.inputs
    )
    lengths = right.row_bounds(np.asarray(left.cols))[1]
    return Explanation(
        "mxm",
        products=int(lengths.sum()),
        mask=when,
        kernel="compiled" if compiles(left) and _traced(op) else "numpy",
        structure_only=_ignores_matrix(op, True) and _ignores_matrix(op, False),
        fused=("mask",) if when == "before" else (),
    )


def _schedule() -> str:
    chosen = str(current["schedule"])
    return "vertex" if chosen == "auto" and current["device"] == "cpu" else chosen


def _traced(op: Any) -> bool:
    from weft.graphblas.compiled.functions import addition, multiplication

    return multiplication(op.binaryop) is not None and addition(op.monoid) is not None


def _ignores_matrix(op: Any, matrix_is_first: bool) -> bool:
    unread = UNREAD.get(op.binaryop.parent.name, (False, False))
    return unread[0 if matrix_is_first else 1]


def _stops_early(op: Any) -> bool:
    from weft.graphblas.compiled.functions import addition
    from weft.ir.ops import terminal_of

    add = addition(op.monoid)
    if add is None:
        return False
    np_type = op.monoid.type.np_type
    return (
        op.monoid.parent.name == "any" or terminal_of(add.reduction(np_type), np_type) is not None
    )
