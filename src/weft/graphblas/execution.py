"""Where a product runs: in NumPy, or compiled by the engine."""

from __future__ import annotations

from typing import Any

from weft.graphblas.kernels import multiply
from weft.graphblas.options import current
from weft.graphblas.settings import config


def compiles(matrix: Any) -> bool:
    """Return whether products with a matrix are worth a compiled kernel."""
    kernel = current["kernel"]
    if kernel != "auto":
        return bool(kernel == "compiled")
    return matrix.nvals > config["small"] and max(matrix.nrows, matrix.ncols) < 1 << 31


def multiply_vector(matrix: Any, vector: Any, op: Any, flip: bool, mask: Any) -> Any:
    """Return matrix times vector over a semiring."""
    rows, pushes = multiply.plan(matrix, vector, mask)
    if not pushes and matrix.nvals and compiles(matrix) and rows is None:
        from weft.graphblas.compiled.multiply import attempt, matrix_vector

        found = attempt(matrix_vector, matrix, vector, op, flip, mask)
        if found is not None:
            return found
    return multiply.matrix_vector(matrix, vector, op, flip, mask, (rows, pushes))


def multiply_matrices(left: Any, right: Any, op: Any, mask: Any) -> Any:
    """Return matrix times matrix over a semiring."""
    if mask is not None and left.nvals and compiles(left):
        from weft.graphblas.compiled.multiply import attempt, masked_by_itself

        found = attempt(masked_by_itself, left, right, op, mask)
        if found is not None:
            return found
    return multiply.matrix_matrix(left, right, op, mask)
