"""Reductions of all values, and of rows, in compiled kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.graphblas.compiled.rows import module_of, pieces
from weft.graphblas.compiled.shares import even_stretches, on_threads, stretches
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
    parts = even_stretches(len(values))
    sums = on_threads(lambda begin, end: module.fold(values[begin:end]), parts)
    np_type = op.type.np_type
    return op.segments(np.array(sums, np_type), np.zeros(1, np.int64))[0]


def rows(store: MatrixStore, op: Any) -> VectorStore | None:
    """Return the sum of every row over a typed monoid; None where NumPy is better."""
    if store.is_hyper:
        return None
    module = module_of(reduce_source, (op,), store.nvals)
    if module is None:
        return None
    values = np.ascontiguousarray(cast(store.values, op.type.np_type))
    indptr = np.asarray(store.indptr)

    def part(begin: int, end: int) -> tuple[Any, Any]:
        found, places = np.empty(end - begin, op.type.np_type), np.empty(end - begin, np.int64)
        used = module.fold_rows(indptr[begin : end + 1], values, places, found)
        places = places[:used]
        places += begin
        return places, found[:used]

    places, found = pieces(on_threads(part, stretches(indptr[1:])))
    if len(places) == store.nrows:
        return VectorStore.from_map(found, None)
    return VectorStore(store.nrows, places, found)
