"""Element-wise union and intersection of sparse rows in compiled kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.graphblas.compiled.arena import Rooms
from weft.graphblas.compiled.rows import module_of, row_arrays, rows_of_parts
from weft.graphblas.compiled.shares import even_stretches, on_threads, stretches
from weft.graphblas.compiled.source import merge_source
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
    mine, theirs = row_arrays(left), row_arrays(right)
    narrow = mine[1].dtype.itemsize == 4 and theirs[1].dtype.itemsize == 4
    indptr = np.zeros(len(mine[0]), np.int64)
    bounds = stretches(mine[0][1:] + theirs[0][1:])
    several = len(bounds) > 1
    marked = not union and not is_vector and left.ncols <= right.nvals

    def part(begin: int, end: int) -> tuple[Array, Array]:
        pointers = mine[0][begin : end + 1], theirs[0][begin : end + 1]
        counts = [int(each[-1] - each[0]) for each in pointers]
        most = sum(counts) if union else min(counts)
        types = np.uint32 if narrow else np.uint64, op.return_type.np_type
        # A single part is the result; several are copied into it.
        cols, values = (
            rooms.take(most, *types) if several else (np.empty(most, each) for each in types)
        )
        given = pointers[0], *mine[1:], pointers[1], *theirs[1:]
        out = indptr[begin : end + 1], cols, values
        if union:
            used = module.unite(*given, *out)
        elif marked:
            marks = np.full(left.ncols, -1, np.int64)
            used = module.intersect_marked(*given, *out, marks)
        else:
            used = module.intersect(*given, *out)
        if several:
            rooms.keep(used)
        return cols[:used], values[:used]

    with Rooms() as rooms:
        return rows_of_parts(left, bounds, on_threads(part, bounds), indptr, several)


def united_maps(left: VectorStore, right: VectorStore, op: Any) -> VectorStore | None:
    """Return the union of two vectors, place by place; None where NumPy is better."""
    key = op, left.dense.dtype, right.dense.dtype
    module = module_of(merge_source, key, left.size // 4)
    if module is None:
        return None
    maps = [np.ascontiguousarray(a) for each in (left, right) for a in (each.dense, each.there())]
    out, there = np.empty(left.size, op.return_type.np_type), np.empty(left.size, np.bool_)

    def part(begin: int, end: int) -> None:
        at = slice(begin, end)
        module.unite_maps(*(each[at] for each in maps), out[at], there[at])

    on_threads(part, even_stretches(left.size))
    return VectorStore.from_map(out, there)
