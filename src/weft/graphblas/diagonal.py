"""Setting a diagonal of a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.graphblas.checks import is_scalar_like, output_kind
from weft.graphblas.exceptions import DimensionMismatch
from weft.graphblas.kernels.merge import weave
from weft.graphblas.kernels.places import diagonal_of
from weft.graphblas.kernels.write import WritePlan, write
from weft.graphblas.mask import check_mask
from weft.graphblas.operators.lookup import get_typed_op
from weft.graphblas.storage.cast import iso
from weft.graphblas.storage.matrix import MatrixStore
from weft.graphblas.storage.vector import VectorStore


def set_diagonal(matrix: Any, values: Any, k: Any, mask: Any, accum: Any) -> None:
    """Set the k-th diagonal of a matrix."""
    k = _number(k)
    nrows, ncols = matrix.shape
    size = max(0, min(nrows, ncols - k) if k >= 0 else min(nrows + k, ncols))
    at_edge = (nrows == 0 and 0 <= k < ncols) or (ncols == 0 and 0 <= -k < nrows) or k == 0
    if size == 0 and not at_edge:
        raise IndexError(
            f"k={k}; the diagonal is out of range for a matrix of shape {matrix.shape}."
        )
    np_type = matrix.dtype.np_type
    entries = _entries(matrix, values, size, np_type)
    if entries.size != size:
        raise DimensionMismatch(
            f"Dimensions not compatible: the diagonal has {size} places, values {entries.size}."
        )
    view = None
    if mask is not None:
        mask = check_mask(mask)
        view = _mask_view(matrix, mask, k, size)
    if accum is not None:
        accum = get_typed_op(accum, matrix.dtype, kind="binary")
        accum = accum.binaryop if accum.opclass == "Monoid" else accum
    store = matrix._store
    old = diagonal_of(store, k)
    new = write(old, entries, WritePlan(view, accum, False, np_type))
    rest = store.picked(np.asarray(store.cols) - store.rows != k)
    rows = new.indices + max(-k, 0)
    keys = rows * np.int64(ncols) + rows + k
    merged = weave(rest.keys, rest.values, keys, new.values)
    matrix._set(MatrixStore.from_keys(matrix.shape, *merged))


def _number(k: Any) -> int:
    try:
        value = k.value if output_kind(k) == "Scalar" else k
        if int(value) == value:
            return int(value)
    except (TypeError, ValueError):
        pass
    raise TypeError(f"k must be an integer; got {k!r}.")


def _entries(matrix: Any, values: Any, size: int, np_type: Any) -> VectorStore:
    """Return the values to set, as the entries of a vector."""
    if output_kind(values) == "Vector":
        return (values.new() if values._lazy else values)._store
    if is_scalar_like(values):
        value = values.value if output_kind(values) == "Scalar" else values
        if value is None:
            return VectorStore(size, np.empty(0, np.int64), np.empty(0, np_type))
        return VectorStore.from_map(iso(value, size, np_type), None)
    array = np.asarray(values) if isinstance(values, list | tuple | np.ndarray) else None
    if array is None or array.ndim != 1 or array.dtype.kind not in "biuf":
        raise TypeError(
            f"Bad type for argument `values` in Matrix.setdiag(...): {type(values).__name__}. "
            "Expected Scalar, Vector or a 1d array."
        )
    return VectorStore.from_map(array, None)


def _mask_view(matrix: Any, mask: Any, k: int, size: int) -> Any:
    """Return a mask of the diagonal from one of the diagonal or of the matrix."""
    parent = mask.parent
    if parent.ndim == 1:
        if parent.size != size:
            raise DimensionMismatch(
                f"Vector mask in setdiag is the wrong length: {parent.size}, expected {size}."
            )
        return mask.view()
    if parent.shape != matrix.shape:
        raise DimensionMismatch(
            f"Matrix mask in setdiag is the wrong shape: {parent.shape}, expected {matrix.shape}."
        )
    return mask.view(diagonal_of(parent._store, k))
