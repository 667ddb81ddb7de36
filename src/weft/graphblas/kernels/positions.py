"""Places as values, for positional operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.graphblas.storage.cast import cast, iso
from weft.graphblas.storage.vector import VectorStore

Array = Any


def positions(
    store: Any, op: Any, *, is_row: bool = False, turned: bool = False, axis: str | None = None
) -> Any:
    """Return a store with the rows or columns that a typed operator names as its values.

    Parameters
    ----------
    store
        The operand.
    op
        The operator: its parent says which axis, from which number on.
    is_row
        Whether a vector is a row instead of a column.
    turned
        Whether a matrix is the transpose of the operand.
    axis
        The axis, if not the operator's.
    """
    from weft.graphblas.kernels.elementwise import with_values

    position = op.parent.position
    axis = axis or position.axis
    np_type = op.type.np_type
    if isinstance(store, VectorStore):
        if (axis == "j") == is_row and store.is_away and np_type.kind == "i":
            from weft.graphblas.gpu import places

            return places.positions(store, position.offset, np_type)
        if (axis == "j") == is_row:
            found = store.indices + position.offset
        else:
            found = iso(position.offset, store.nvals, np.dtype(np.int64))
    elif (axis == "i") != turned:
        found = store.rows + position.offset
    else:
        found = np.asarray(store.cols).astype(np.int64, copy=False) + position.offset
    return with_values(store, cast(found, np_type))


def taking(op: Any) -> Any:
    """Return `first` or `second`, whichever operand a positional operator looks at."""
    from weft.graphblas.operators.binary import binary

    return getattr(binary, op.parent.position.operand)[op.type]


def combine(method: Any, left: Any, right: Any, op: Any, *args: Any) -> Any:
    """Run an element-wise kernel with places for values.

    Both operands stand at the same place; where one of them is missing, the lone value passes.
    """
    from weft.graphblas.kernels import elementwise as kernels

    take = taking(op)
    if method is kernels.ewise_union:
        return positions(kernels.ewise_union(left, right, take, *args), op)
    both = positions(kernels.ewise_mult(left, right, take), op)
    if method is kernels.ewise_mult:
        return both
    return kernels.ewise_add(both, kernels.ewise_add(left, right, take), taking_first(op))


def taking_first(op: Any) -> Any:
    """Return `first` for the type of an operator."""
    from weft.graphblas.operators.binary import binary

    return binary.first[op.type]


def factors(method: str, left: Any, right: Any, op: Any) -> tuple[Any, Any, Any]:
    """Return the factors of a product with places as values, and the operator to multiply them.

    `method` is the product's name, other than those of a matrix and a vector.
    """
    if op.parent.position.operand == "first":
        return positions(left, op, is_row=method == "inner"), right, taking(op)
    return left, positions(right, op, is_row=method == "outer"), taking(op)


def vector_factors(
    method: str, matrix: Any, vector: Any, op: Any, turned: bool
) -> tuple[Any, Any, Any]:
    """Return the factors of ``mxv`` or ``vxm`` with places as values, and the operator.

    The index that is summed over is always taken from the vector, which is the smaller factor.
    `turned` says that the matrix is the transpose of the factor.
    """
    from weft.graphblas.operators.binary import binary

    is_row = method == "vxm"
    mine = "first" if is_row else "second"
    position = op.parent.position
    inner = position.axis == ("j" if position.operand == "first" else "i")
    if inner or position.operand == mine:
        axis = "j" if inner == is_row else "i"
        vector = positions(vector, op, is_row=is_row, axis=axis)
        return matrix, vector, getattr(binary, mine)[op.type]
    return positions(matrix, op, turned=turned), vector, taking(op)
