"""Selecting entries in compiled kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.graphblas.compiled.arena import Rooms
from weft.graphblas.compiled.rows import module_of, row_arrays, rows_of_parts
from weft.graphblas.compiled.shares import on_threads, stretches
from weft.graphblas.compiled.source import select_source
from weft.graphblas.kernels.elementwise import with_values
from weft.graphblas.storage.cast import cast
from weft.graphblas.storage.vector import VectorStore

Array = Any


def selected(store: Any, op: Any, thunk: Any) -> Any:
    """Return the entries for which a typed operator holds; None where NumPy is better."""
    is_vector = isinstance(store, VectorStore)
    if not is_vector and store.is_hyper:
        return None
    module = module_of(select_source, (op, store.values.dtype, is_vector), store.nvals)
    if module is None:
        return None
    indptr, cols, values, step = arrays = row_arrays(store)
    k = cast(np.asarray(thunk).reshape(1), op.type2.np_type)[0]
    out_indptr = np.zeros(len(indptr), np.int64)

    def part(begin: int, end: int) -> tuple[Array, Array]:
        room = int(indptr[end] - indptr[begin]) + 1
        types = cols.dtype, values.dtype
        out_cols, out_values = (
            rooms.take(room, *types) if several else (np.empty(room, each) for each in types)
        )
        used = module.select(begin, end, *arrays, k, out_indptr, out_cols, out_values)
        if several:
            rooms.keep(used)
        return out_cols[:used], out_values[:used]

    bounds = stretches(indptr[1:])
    several = len(bounds) > 1
    with Rooms() as rooms:
        made = rows_of_parts(store, bounds, on_threads(part, bounds), out_indptr, several)
    if made.nvals == store.nvals:
        return store
    return made if step else with_values(made, np.broadcast_to(values, (made.nvals,)))
