"""Assignment to a region, with a mask of the target's shape or of the region's."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.graphblas.kernels.masks import MaskView
from weft.graphblas.kernels.merge import weave
from weft.graphblas.kernels.places import (
    Axis,
    extract_matrix,
    extract_vector,
)
from weft.graphblas.kernels.write import WritePlan, write
from weft.graphblas.storage.cast import iso, take
from weft.graphblas.storage.matrix import MatrixStore, sorted_matrix
from weft.graphblas.storage.vector import VectorStore

Array = Any


def extract(store: Any, axes: tuple[Axis, ...]) -> Any:
    """Return the region of a vector or matrix."""
    if isinstance(store, VectorStore):
        return extract_vector(store, axes[0])
    return extract_matrix(store, *axes)


def assign(old: Any, axes: tuple[Axis, ...], value: Any, plan: WritePlan) -> Any:
    """Return the target after ``C(mask)[I, J] << value``: the mask has the target's shape."""
    if all(axis.whole for axis in axes):
        return write(old, value, plan)
    region = value.cast(plan.np_type)
    if plan.accum is not None:
        region = write(extract(old, axes), value, plan._replace(mask=None, replace=False))
    after = put(old, axes, region)
    return after if plan.mask is None else write(old, after, plan._replace(accum=None))


def subassign(old: Any, axes: tuple[Axis, ...], value: Any, plan: WritePlan) -> Any:
    """Return the target after ``C[I, J](mask) << value``: the mask has the region's shape."""
    if all(axis.whole for axis in axes):
        return write(old, value, plan)
    return put(old, axes, write(extract(old, axes), value, plan))


def put(old: Any, axes: tuple[Axis, ...], region: Any) -> Any:
    """Replace a region of a target by other entries."""
    if isinstance(old, VectorStore):
        return _put_vector(old, axes[0], region)
    return _put_matrix(old, axes[0], axes[1], region)


def _last_of_equal(axis: Axis) -> tuple[Array, Array | None]:
    """Return the places of an index, and which positions count where places come twice."""
    wanted = axis.array
    if axis.span is not None or len(wanted) < 2:
        return wanted, None
    if (wanted[1:] > wanted[:-1]).all():
        return wanted, None
    unique, first = np.unique(wanted[::-1], return_index=True)
    if len(unique) == len(wanted):
        return wanted, None
    counts = np.zeros(len(wanted), np.bool_)
    counts[len(wanted) - 1 - first] = True
    return wanted, counts


def _put_vector(old: VectorStore, axis: Axis, region: VectorStore) -> VectorStore:
    if old.is_dense and axis.size is None:
        dense, there = old.dense.copy(), old.there().copy()
        there[axis.one] = region.nvals > 0
        if region.nvals:
            dense[axis.one] = region.values[0]
        return VectorStore.from_map(dense, there)
    wanted, counts = _last_of_equal(axis)
    if old.is_dense or axis.extent * 8 > old.size > 1024:
        dense, there = old.dense.astype(old.dense.dtype, copy=True), old.there().copy()
        at = np.arange(axis.extent) if counts is None else np.flatnonzero(counts)
        dense[wanted[at]] = region.dense[at]
        there[wanted[at]] = region.there()[at]
        return VectorStore.from_map(dense, there)
    kept = ~axis.names(old.indices)
    at, values = region.indices, region.values
    if counts is not None:
        at, values = at[counts[at]], take(values, counts[at])
    places = wanted[at]
    order = places.argsort(kind="stable")
    return VectorStore(
        old.size,
        *weave(old.indices[kept], take(old.values, kept), places[order], take(values, order)),
    )


def _put_matrix(old: MatrixStore, rows: Axis, cols: Axis, region: MatrixStore) -> MatrixStore:
    inside = np.ones(old.nvals, np.bool_)
    for axis, places in ((rows, old.rows), (cols, old.cols)):
        if not axis.whole:
            inside &= axis.names(np.asarray(places))
    kept = ~inside
    new_rows, row_counts = _last_of_equal(rows)
    new_cols, col_counts = _last_of_equal(cols)
    at_rows, at_cols, values = region.rows, np.asarray(region.cols), region.values
    for counts, which in ((row_counts, 0), (col_counts, 1)):
        if counts is not None:
            good = counts[(at_rows, at_cols)[which]]
            at_rows, at_cols, values = at_rows[good], at_cols[good], take(values, good)
    added_rows, added_cols = new_rows[at_rows], new_cols[at_cols]
    if not old.has_keys:
        return sorted_matrix(
            old.shape,
            np.concatenate([old.rows[kept], added_rows]),
            np.concatenate([old.cols[kept], added_cols]),
            np.concatenate([take(old.values, kept), values]),
        )
    keys = added_rows * np.int64(old.ncols) + added_cols
    order = np.argsort(keys, kind="stable")
    merged = weave(old.keys[kept], take(old.values, kept), keys[order], take(values, order))
    return MatrixStore.from_keys(old.shape, *merged)


def filled(axes: tuple[Axis, ...], value: Any, np_type: np.dtype) -> Any:
    """Return a region that has one value everywhere, or none where `value` is None."""
    shape = tuple(axis.extent for axis in axes)
    if len(shape) == 1:
        if value is None:
            return VectorStore(shape[0], np.empty(0, np.int64), np.empty(0, np_type))
        return VectorStore.from_map(iso(value, shape[0], np_type), None)
    none = np.empty(0, np.int64)
    whole = shape[0], shape[1]
    if value is None:
        return MatrixStore(whole, none, np.empty(0, np_type), rows=none)
    keys = np.arange(shape[0] * shape[1], dtype=np.int64)
    return MatrixStore.from_keys(whole, keys, iso(value, len(keys), np_type))


def filled_mask(mask: MaskView, value: Any, np_type: np.dtype) -> Any:
    """Return one value at all places that a mask (not complemented) names."""
    entries = mask.entries()
    values = iso(value, entries.nvals, np_type)
    if isinstance(entries, VectorStore):
        return VectorStore(entries.size, entries.indices, values)
    return entries.with_values(values)
