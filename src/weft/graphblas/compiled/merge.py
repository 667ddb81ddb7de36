"""Element-wise union and intersection of sparse rows in compiled kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.graphblas.compiled.rows import matrix_arrays, module_of, unsigned, value_array
from weft.graphblas.compiled.source import merge_source
from weft.graphblas.storage.matrix import MatrixStore
from weft.graphblas.storage.vector import VectorStore

Array = Any
# Merging a value in NumPy takes as long as this many products.
MERGE_COST = 3


def merged(left: Any, right: Any, op: Any, *, union: bool) -> Any:
    """Return the union or intersection of two stores of one shape; None where NumPy is better."""
    is_vector = isinstance(left, VectorStore)
    if not is_vector and (left.is_hyper or right.is_hyper):
        return None
    key = op, left.values.dtype, right.values.dtype
    module = module_of(merge_source, key, MERGE_COST * (left.nvals + right.nvals))
    if module is None:
        return None
    mine, theirs = (_arrays(each) for each in (left, right))
    most = left.nvals + right.nvals if union else min(left.nvals, right.nvals)
    rows = len(mine[0])
    narrow = mine[1].dtype.itemsize == 4 and theirs[1].dtype.itemsize == 4
    cols = np.empty(most, np.uint32 if narrow else np.uint64)
    values = np.empty(most, op.return_type.np_type)
    indptr = np.zeros(rows, np.int64)
    if union:
        used = module.unite(*mine, *theirs, indptr, cols, values)
    elif is_vector or left.ncols > right.nvals:
        used = module.intersect(*mine, *theirs, indptr, cols, values)
    else:
        marks = np.full(left.ncols, -1, np.int64)
        used = module.intersect_marked(*mine, *theirs, indptr, cols, values, marks)
    cols, values = cols[:used], values[:used]
    if used * 2 < most:
        cols, values = cols.copy(), values.copy()
    cols = cols.view(np.int32 if narrow else np.int64)
    if is_vector:
        return VectorStore(left.size, cols, values)
    return MatrixStore(left.shape, cols, values, indptr=indptr)


def _arrays(store: Any) -> tuple[Any, ...]:
    """Return row pointer, columns, values and their step; a vector is one row."""
    if isinstance(store, MatrixStore):
        return matrix_arrays(store)
    whole = np.array([0, store.nvals], np.int64)
    return (whole, unsigned(store.indices), *value_array(store))
