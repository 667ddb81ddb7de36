"""Where a product runs: in NumPy, or compiled by the engine.

What compiles is imported when it is first needed: importing it takes longer than all the rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.graphblas.kernels import multiply
from weft.graphblas.kernels.plan import (
    COMPILED_PUSH_COST,
    ENDING,
    PUSH_COST,
    TURN_COST,
    Sides,
    choose,
)
from weft.graphblas.options import current, is_compiled
from weft.graphblas.settings import config
from weft.graphblas.storage.vector import MOST_DENSE, empty_vector

# So few products are made in NumPy without a look at kernels: of matrices, and along columns.
FEW, VERY_FEW = 256, 32


def compiles(matrix: Any) -> bool:
    """Return whether products with a matrix are worth a compiled kernel."""
    if current["kernel"] != "auto":
        return is_compiled()
    return matrix.nvals > config["small"] and max(matrix.nrows, matrix.ncols) < 1 << 31


def multiply_vector(matrix: Sides, vector: Any, op: Any, flip: bool, mask: Any) -> Any:
    """Return matrix times vector over a semiring; `flip` exchanges the factors."""
    compiled = compiles(matrix)
    if compiled and current["device"] != "cpu" and matrix.nvals:
        found = _multiply_on_device(matrix, vector, op, flip, mask)
        if found is not None:
            return found
    if matrix.nvals == 0 or vector.nvals == 0:
        return empty_vector(matrix.nrows, op.return_type.np_type)
    cost = cost_of_push(matrix, vector, op, flip) if compiled else PUSH_COST
    plan = choose(matrix, vector, mask, compiles=compiled, cost=cost)
    if not plan.pushes and compiled and plan.rows is None:
        if vector.is_full and _sums_whole_rows(matrix, op, mask):
            from weft.graphblas.compiled import rows

            module = rows.kernels(op, matrix.rows.values, vector.dense, flip, matrix.nvals)
            if module is not None:
                return rows.pull(module, matrix.rows, vector, op)
        from weft.graphblas.compiled.multiply import attempt, matrix_vector

        found = attempt(matrix_vector, matrix.rows, vector, op, flip, mask)
        if found is not None:
            return found
    if plan.pushes:
        return push(matrix.columns, vector, op, flip, mask)
    return multiply.pulled(matrix.rows, vector, op, flip, plan.rows)


def _multiply_on_device(matrix: Sides, vector: Any, op: Any, flip: bool, mask: Any) -> Any:
    """Return matrix times vector from a GPU; None where it has no kernel."""
    from weft.graphblas.compiled import device
    from weft.graphblas.compiled.multiply import attempt, matrix_vector
    from weft.graphblas.gpu import vectors

    if vectors.is_chosen():
        return attempt(vectors.product, matrix, vector, op, flip, mask)
    if choose(matrix, vector, None, compiles=True).pushes:
        return attempt(device.push, matrix.columns, vector, op, flip, mask)
    return attempt(matrix_vector, matrix.rows, vector, op, flip, mask)


def cost_of_push(matrix: Sides, vector: Any, op: Any, flip: bool) -> int:
    """Return how many products of a compiled pull a pushed one costs on the host."""
    if vector.is_full or op.monoid.parent.name in ENDING:
        return PUSH_COST
    from weft.graphblas.compiled import rows

    ready = rows.has_kernels(op, matrix.store.np_type, vector.np_type, flip)
    return COMPILED_PUSH_COST if ready else PUSH_COST


def _sums_whole_rows(matrix: Sides, op: Any, mask: Any) -> bool:
    """Return whether most rows are summed up to their ends, which a row kernel does four at once.

    Where a sum may end before its row does, or the mask leaves out many rows, programs skip the
    rest.
    """
    if mask is not None and (not mask.complement or mask.nvals * 2 > matrix.nrows):
        return False
    return (
        op.monoid.parent.name not in ENDING
        and op.monoid.type.np_type.kind != "b"
        and current["schedule"] == "auto"
    )


def multiply_vector_into(
    matrix: Sides, vector: Any, op: Any, flip: bool, write: tuple[Any, Any]
) -> Any:
    """Return a target after a product was written into it, from one compiled kernel.

    `write` is the assignment to the target, and a unary operator to apply before or None. The
    result is None where the product is not one that a compiled kernel pulls.
    """
    assignment, post = write
    if current["device"] != "cpu" or matrix.nvals == 0 or vector.nvals == 0:
        return None
    view = assignment.view()
    hint, cost = assignment.operation.hint(view), cost_of_push(matrix, vector, op, flip)
    plan = choose(matrix, vector, hint, compiles=True, cost=cost)
    if plan.pushes or plan.rows is not None:
        return None
    from weft.graphblas.compiled.fused import vector_into
    from weft.graphblas.compiled.multiply import attempt

    return attempt(vector_into, matrix.rows, vector, op, flip, (assignment, view, post))


def push(columns: Any, vector: Any, op: Any, flip: bool, mask: Any) -> Any:
    """Return the product of a vector's values, spread along columns of a matrix."""
    if not columns.is_hyper and columns.ncols < MOST_DENSE:
        bounds = columns.row_bounds(vector.indices)
        products = int(bounds[1].sum())
        if products >= VERY_FEW or is_compiled():
            from weft.graphblas.compiled import rows

            module = rows.kernels(op, columns.values, vector.values, flip, products)
            if module is not None:
                return rows.push(module, columns, vector, op, mask, products)
        return multiply.pushed(columns, vector, op, flip, mask, bounds)
    return multiply.pushed(columns, vector, op, flip, mask)


def multiply_matrices(left: Any, right: Any, op: Any, mask: Any) -> Any:
    """Return matrix times matrix over a semiring."""
    if mask is not None and left.nvals and compiles(left):
        from weft.graphblas.compiled.multiply import attempt, masked_by_itself

        found = attempt(masked_by_itself, left, right, op, mask)
        if found is not None:
            return found
    bounds = None
    if left.nvals and right.nvals and not left.is_hyper and not right.is_hyper:
        if current["device"] != "cpu" and compiles(left) and max(right.shape) < MOST_DENSE:
            from weft.graphblas.compiled.multiply import attempt

            found = attempt(_on_device, left, right, op, mask)
            if found is not None:
                return found
        starts, lengths = right.row_bounds(np.asarray(left.cols))
        bounds = starts, lengths, int(lengths.sum())
        found = _by_rows(left, right, op, mask, bounds[2])
        if found is not None:
            return found
    return multiply.matrix_matrix(left, right, op, mask, bounds)


def _on_device(left: Any, right: Any, op: Any, mask: Any) -> Any:
    """Return matrix times matrix from kernels of a GPU."""
    from weft.graphblas.gpu import dense, sparse

    if right.nvals == right.nrows * right.ncols:
        return dense.product_with_full(left, right, op, mask)
    return sparse.product(left, right, op, mask)


def _by_rows(left: Any, right: Any, op: Any, mask: Any, products: int) -> Any:
    """Return matrix times matrix in a compiled kernel; None where NumPy is better."""
    if right.ncols >= MOST_DENSE or (products < FEW and not is_compiled()):
        return None
    from weft.graphblas.compiled import rows

    module = rows.kernels(op, left.values, right.values, False, products)
    if module is None:
        return None
    if mask is None and right.nvals == right.nrows * right.ncols:
        return rows.product_with_full(module, left, right, op)
    if mask is not None and not mask.complement:
        entries = mask.entries()
        turn = 0 if right._twin is not None else TURN_COST * right.nvals
        steps = int(left.row_bounds(entries.rows)[1].sum()) + turn
        steps += int(right.column_counts()[np.asarray(entries.cols)].sum())
        if steps < products:
            return rows.masked_dot(module, left, right, op, entries)
    return rows.product(module, left, right, op, mask)
