"""Reductions of all values, and of rows, in compiled kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.graphblas.compiled.rows import module_of
from weft.graphblas.compiled.source import reduce_source
from weft.graphblas.storage.cast import cast
from weft.graphblas.storage.matrix import MatrixStore
from weft.graphblas.storage.vector import VectorStore


def total(store: Any, op: Any) -> Any:
    """Return the sum of all values over a typed monoid; None where NumPy is better."""
    module = module_of(reduce_source, (op,), store.nvals)
    if module is None:
        return None
    values = np.ascontiguousarray(cast(store.values, op.type.np_type))
    return op.type.np_type.type(module.fold(values))


def rows(store: MatrixStore, op: Any) -> VectorStore | None:
    """Return the sum of every row over a typed monoid; None where NumPy is better."""
    if store.is_hyper:
        return None
    module = module_of(reduce_source, (op,), store.nvals)
    if module is None:
        return None
    values = np.ascontiguousarray(cast(store.values, op.type.np_type))
    found, places = np.empty(store.nrows, op.type.np_type), np.empty(store.nrows, np.int64)
    used = module.fold_rows(np.asarray(store.indptr), values, places, found)
    if used == store.nrows:
        return VectorStore.from_map(found, None)
    return VectorStore(store.nrows, places[:used], found[:used])
