"""Products of matrices that add numbers, through SciPy's row-by-row multiplication."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.graphblas.kernels.merge import locate
from weft.graphblas.storage.cast import cast
from weft.graphblas.storage.matrix import MatrixStore

Array = Any
FACTORS = {"times", "first", "second", "pair"}
TYPES = {"INT32", "INT64", "UINT32", "UINT64", "FP32", "FP64"}


def adds_numbers(op: Any) -> bool:
    """Return whether a semiring adds products that ordinary multiplication can stand for."""
    multiply = op.binaryop.parent
    return (
        op.monoid.parent.name == "plus"
        and not op.monoid.parent._anonymous
        and multiply.name in FACTORS
        and multiply.orig_func is None
        and op.monoid.type.name in TYPES
        and op.binaryop.type.name in TYPES
    )


def summed_product(left: MatrixStore, right: MatrixStore, op: Any) -> MatrixStore:
    """Return the product of two matrices over a semiring that `adds_numbers`.

    SciPy drops sums that are zero, so the places come from a product of ones, whose sums are not.
    """
    name, np_type = op.binaryop.parent.name, op.monoid.type.np_type
    places = _csr(left, np.ones(left.nvals)) @ _csr(right, np.ones(right.nvals))
    places.sort_indices()
    shape = left.nrows, right.ncols
    cols = places.indices.astype(np.int64, copy=False)
    indptr = places.indptr.astype(np.int64, copy=False)
    if name == "pair":
        return MatrixStore(shape, cols, cast(places.data, np_type), indptr=indptr)
    one = np.ones(1, np_type)
    x = _factor(left, op.binaryop.type, np_type) if name != "second" else one.repeat(left.nvals)
    y = _factor(right, op.binaryop.type2, np_type) if name != "first" else one.repeat(right.nvals)
    sums = _csr(left, x) @ _csr(right, y)
    sums.sort_indices()
    if sums.nnz == places.nnz:
        return MatrixStore(shape, cols, sums.data, indptr=indptr)
    whole = MatrixStore(shape, cols, np.zeros(len(cols), np_type), indptr=indptr)
    found = MatrixStore(shape, sums.indices, sums.data, indptr=sums.indptr)
    at, _ = locate(whole.keys, found.keys)
    whole.values[at] = found.values
    return whole


def _factor(store: MatrixStore, of_type: Any, np_type: np.dtype) -> Array:
    """Return the values of a factor in the type that it is multiplied in."""
    return np.ascontiguousarray(cast(cast(store.values, of_type.np_type), np_type))


def _csr(store: MatrixStore, values: Array) -> Any:
    from scipy.sparse import csr_array

    return csr_array((values, np.asarray(store.cols), np.asarray(store.indptr)), store.shape)
