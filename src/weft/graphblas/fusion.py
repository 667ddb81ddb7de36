"""Several recorded operations in one kernel.

A product of a matrix and a vector takes with it the accumulator, the mask and the write of its own
assignment, and a unary operator that alone reads it. A reduction takes with it the masked product
of a matrix and its transpose that it alone reads, which is then never stored.
"""

from __future__ import annotations

from typing import Any

from weft.graphblas.execution import compiles, multiply_vector_into
from weft.graphblas.kernels.plan import Sides
from weft.graphblas.options import current

VECTOR_PRODUCTS = {"mxv", "vxm"}


def fused(assignment: Any) -> Any:
    """Return the result of an assignment from one kernel; None where none does all of it."""
    node = assignment.operation.node
    if not node or current["kernel"] == "numpy":
        return None
    kind = node[0]
    if kind in VECTOR_PRODUCTS:
        # Without an accumulator the write is a selection, which costs less than a second map.
        return None if assignment.accum is None else _into(assignment, assignment, None)
    if kind == "apply" and len(node) > 1:
        inner = _inner(assignment, VECTOR_PRODUCTS)
        return None if inner is None else _into(assignment, inner, node[1])
    if kind == "reduce":
        inner = _inner(assignment, {"mxm"})
        return None if inner is None else _total(inner, node[1])
    return None


def _inner(assignment: Any, kinds: set[str]) -> Any:
    """Return the recorded product that is an assignment's only operand and has no other reader."""
    cell, flip = assignment.inputs[0]
    plan = cell.plan
    if plan is None or flip or not cell.is_inner():
        return None
    node = plan.operation.node
    if not node or node[0] not in kinds or plan.accum is not None:
        return None
    if node[0] in VECTOR_PRODUCTS and plan.mask is not None:
        return None
    # A conversion between the two operations is not part of the kernel.
    return plan if plan.np_type == node[1].return_type.np_type else None


def _into(outer: Any, inner: Any, post: Any) -> Any:
    """Return a product, changed by a unary operator and written through the outer mask."""
    _, op, by_columns = inner.operation.node
    (matrix, _), (vector, _) = inner.inputs
    entries = matrix.get()
    if not compiles(entries):
        return None
    return multiply_vector_into(
        Sides(entries, by_columns),
        vector.get(),
        op,
        inner.operation.node[0] == "vxm",
        (outer, post),
    )


def _total(inner: Any, monoid: Any) -> Any:
    """Return the sum of a masked product that is written into an empty matrix."""
    _, op = inner.operation.node[:2]
    if inner.mask is None or monoid is not op.monoid or inner.old.get().nvals:
        return None
    left, right = (cell.get().twin if flip else cell.get() for cell, flip in inner.inputs)
    if not left.nvals or not compiles(left):
        return None
    from weft.graphblas.compiled.multiply import attempt, total_masked_by_itself

    return attempt(total_masked_by_itself, left, right, op, inner.operation.hint(inner.view()))
