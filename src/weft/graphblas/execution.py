"""Where a product runs: in NumPy, or compiled by the engine."""

from __future__ import annotations

from typing import Any

from weft.graphblas.kernels import multiply


def multiply_vector(matrix: Any, vector: Any, op: Any, flip: bool, mask: Any) -> Any:
    """Return matrix times vector over a semiring."""
    return multiply.matrix_vector(matrix, vector, op, flip, mask)


def multiply_matrices(left: Any, right: Any, op: Any, mask: Any) -> Any:
    """Return matrix times matrix over a semiring."""
    return multiply.matrix_matrix(left, right, op, mask)
