"""Assigning to elements and regions of vectors and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.graphblas.checks import HINT, is_scalar_like, output_kind
from weft.graphblas.exceptions import DimensionMismatch
from weft.graphblas.indexing import Indexes
from weft.graphblas.kernels import assign as kernels
from weft.graphblas.kernels.merge import weave
from weft.graphblas.kernels.places import Axis, as_column, as_rows
from weft.graphblas.kernels.write import WritePlan
from weft.graphblas.mask import check_mask
from weft.graphblas.recorder import record, recording
from weft.graphblas.settings import config
from weft.graphblas.storage.cast import take
from weft.graphblas.storage.matrix import MatrixStore, sorted_matrix
from weft.graphblas.storage.vector import VectorStore

Array = Any
# Stands for "no value" among single-element assignments that wait.
GONE = object()


def assign_region(
    target: Any, updater: Any, indexes: Indexes, value: Any, submask: bool, delete: bool = False
) -> None:
    """Assign a value to an element or a region, as ``C(mask)[I, J] << value`` says."""
    mask, accum = updater.mask, updater.accum
    if indexes.is_single_element:
        _assign_element(target, updater, indexes, value, submask, delete)
        return
    if not delete:
        value = _region_value(target, indexes, value)
    if mask is not None:
        mask = _check_region_mask(target, indexes, mask, submask)
    if recording():
        record(target, mask, accum, updater.replace, f"[{indexes!r}] {_text(value)}")
    if value is None or output_kind(value) == "Scalar":
        scalar = None if value is None else value
        _assign_scalar(target, updater, indexes, scalar, mask, submask)
        return
    _check_region_shape(target, indexes, value)
    flip = output_kind(value) == "TransposedMatrix"
    source = value._matrix if flip else value
    np_type = target.dtype.np_type
    inputs = [source] if mask is None else [source, mask.parent]

    def compute(old: Any, entries: Any, mask_entries: Any = None) -> Any:
        if flip:
            entries = entries.twin
        view = None if mask is None else mask.view(mask_entries)
        axes, region, view, old_view = _as_matrix_region(old, indexes.axes, entries, view, submask)
        plan = WritePlan(view, accum, updater.replace, np_type)
        put = kernels.subassign if submask else kernels.assign
        if old_view is not None:
            return _assign_line(old, axes, region, plan, old_view)
        return put(old, axes, region, plan)

    target._change(compute, *inputs)


def _text(value: Any) -> str:
    return "None" if value is None else str(getattr(value, "name", value))


def _as_matrix_region(
    old: Any, axes: tuple[Axis, ...], entries: Any, view: Any, submask: bool
) -> tuple[Any, Any, Any, Any]:
    """Turn a vector, and a vector's mask, into a row or column of a matrix.

    The last result is the number of the axis whose line a mask of the whole line restricts.
    """
    if isinstance(old, VectorStore) or isinstance(entries, MatrixStore):
        return axes, entries, view, None
    is_row = axes[0].size is None
    turn = as_rows if is_row else as_column
    entries = turn(entries)
    line = None
    if view is not None and isinstance(view.store, VectorStore):
        view = type(view)(turn(view.store), view.structure, view.complement)
        line = None if submask else (0 if is_row else 1)
    return axes, entries, view, line


def _assign_line(old: Any, axes: Any, region: Any, plan: WritePlan, line: int) -> Any:
    """Assign to a row or column with a mask of that whole row or column."""
    whole = tuple(
        axis if i == line else Axis(axis.dim, span=(0, axis.dim, 1)) for i, axis in enumerate(axes)
    )
    inner = tuple(Axis(1, one=0) if i == line else axis for i, axis in enumerate(axes))
    part = kernels.extract(old, whole)
    return kernels.put(old, whole, kernels.assign(part, inner, region, plan))


def _assign_scalar(
    target: Any, updater: Any, indexes: Indexes, scalar: Any, mask: Any, submask: bool
) -> None:
    """Assign one value, or none, to all places of a region."""
    np_type = target.dtype.np_type
    value = None if scalar is None else scalar._store
    inputs = [] if mask is None else [mask.parent]
    whole = all(axis.whole for axis in indexes.axes)

    def compute(old: Any, mask_entries: Any = None) -> Any:
        view = None if mask is None else mask.view(mask_entries)
        axes = indexes.axes
        plan = WritePlan(view, updater.accum, updater.replace, np_type)
        if (
            (whole and value is not None)
            and (view is not None and not view.complement)
            and isinstance(old, VectorStore) == isinstance(view.store, VectorStore)
            # On a device one value for all places takes less time than a list of the mask's.
            and not (isinstance(old, VectorStore) and (old.is_away or view.store.is_away))
        ):
            entries = kernels.filled_mask(view, value, np_type)
            return kernels.write(old, entries, plan)
        if isinstance(old, MatrixStore) and len(indexes.shape) == 1:
            line = axes[1] if axes[0].size is None else axes[0]
            entries = kernels.filled((line,), value, np_type)
            axes, entries, view, line_axis = _as_matrix_region(old, axes, entries, view, submask)
            plan = plan._replace(mask=view)
            if line_axis is not None:
                return _assign_line(old, axes, entries, plan, line_axis)
        else:
            entries = kernels.filled(axes, value, np_type)
        put = kernels.subassign if submask else kernels.assign
        return put(old, axes, entries, plan)

    target._change(compute, *inputs)


def _assign_element(
    target: Any, updater: Any, indexes: Indexes, value: Any, submask: bool, delete: bool
) -> None:
    mask = updater.mask
    if submask and mask is not None:
        if target.ndim == 2 and mask.parent.ndim == 1:
            raise TypeError("Unable to use Vector mask on single element assignment to a Matrix.")
        raise TypeError("Single element assign does not accept a submask.")
    if mask is not None and target.ndim == 2 and mask.parent.ndim == 1:
        raise TypeError("Unable to use Vector mask on single element assignment to a Matrix.")
    if not delete:
        value = _element_value(target, value)
    if mask is None and updater.accum is None:
        place = tuple(axis.one for axis in indexes.axes)
        stored = None if delete else value._store
        pending = target._pending
        if pending is None:
            pending = target._pending = {}
        if stored is None:
            pending[place] = GONE
        else:
            pending[place] = stored if value.dtype is target.dtype else _cast(stored, target)
        return
    _assign_scalar(target, updater, indexes, None if delete else value, mask, False)


def _cast(value: Any, target: Any) -> Any:
    from weft.graphblas.storage.cast import cast

    return cast(np.asarray(value).reshape(1), target.dtype.np_type)[0]


def _element_value(target: Any, value: Any) -> Any:
    from weft.graphblas.scalar import as_scalar

    if output_kind(value) == "Scalar" or is_scalar_like(value):
        return as_scalar(value, f"{target._output}.__setitem__")
    raise TypeError(
        f"Bad type for argument `value` in {target._output}.__setitem__(...): expected Scalar; "
        f"got {type(value).__name__}."
    )


def _region_value(target: Any, indexes: Indexes, value: Any) -> Any:
    """Return what is assigned to a region: a Scalar, Vector, Matrix or transposed Matrix."""
    from weft.graphblas.scalar import as_scalar

    kind = output_kind(value)
    wanted = ("Vector",) if len(indexes.shape) == 1 else ("Matrix", "TransposedMatrix")
    if kind in wanted or kind == "Scalar":
        if not value._lazy:
            return value
        if config["autocompute"]:
            return value.new()
        raise TypeError(f"Bad type for argument `value`: {type(value).__name__}. {HINT}")
    if is_scalar_like(value):
        return as_scalar(value, "__setitem__")
    if isinstance(value, list | tuple | np.ndarray):
        return _dense_region(target, indexes, value)
    raise TypeError(
        f"Bad type for argument `value` in {target._output}.__setitem__(...): expected Scalar or "
        f"{wanted[0]}; got {type(value).__name__}. {HINT}"
    )


def _dense_region(target: Any, indexes: Indexes, value: Any) -> Any:
    """Return a vector or matrix of a list or array of the region's shape."""
    from weft.graphblas.matrix import Matrix
    from weft.graphblas.vector import Vector

    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise TypeError(
            f"Bad type for argument `value`: an array of {array.dtype}. Expected numbers."
        )
    if array.shape != indexes.shape:
        raise ValueError(
            f"shape mismatch: value array of shape {array.shape} does not match the region's "
            f"{indexes.shape}."
        )
    made: Any = Vector if array.ndim == 1 else Matrix
    return made.from_dense(array)


def _check_region_shape(target: Any, indexes: Indexes, value: Any) -> None:
    if value.shape != indexes.shape:
        raise DimensionMismatch(
            f"Cannot assign a shape of {value.shape} to a region of {indexes.shape}."
        )


def _check_region_mask(target: Any, indexes: Indexes, mask: Any, submask: bool) -> Any:
    """Raise unless the mask has the shape that its place asks for."""
    of = mask.parent
    lines = len(indexes.shape)
    if target.ndim == 1:
        check_mask(mask, target)
    elif of.ndim == 1 and lines == 2:
        raise TypeError("Unable to use Vector mask on Matrix assignment to a Matrix.")
    elif of.ndim == 2 and lines == 1 and submask:
        raise TypeError("Indices for subassign imply Vector submask, but got Matrix mask instead.")
    if submask:
        wanted = indexes.shape
    elif of.ndim == 1 and target.ndim == 2:
        row = indexes.axes[0].size is None
        wanted = (target.shape[1 if row else 0],)
    else:
        wanted = target.shape
    if of.shape != wanted:
        raise DimensionMismatch(f"The mask has shape {of.shape}; expected {wanted}.")
    return mask


def delete_region(target: Any, indexes: Indexes) -> None:
    """Remove the values of an element or region."""
    from weft.graphblas.updates import Updater

    assign_region(target, Updater(target), indexes, None, False, delete=True)


def flushed(store: Any, pending: Any, np_type: Any) -> Any:
    """Return a store with single-element assignments carried out."""
    values = np.zeros(len(pending), np_type)
    there = np.ones(len(pending), np.bool_)
    for i, each in enumerate(pending.values()):
        if each is GONE:
            there[i] = False
        else:
            values[i] = each
    places = np.array(list(pending), np.int64).reshape(len(pending), -1)
    if isinstance(store, VectorStore):
        at = places[:, 0]
        if store.is_dense:
            dense, present = np.array(store.dense), store.there().copy()
            dense[at], present[at] = values, there
            return VectorStore.from_map(dense, present)
        order = np.argsort(at, kind="stable")
        at, values, there = at[order], values[order], there[order]
        kept = ~np.isin(store.indices, at)
        return VectorStore(
            store.size,
            *weave(store.indices[kept], take(store.values, kept), at[there], values[there]),
        )
    if not store.has_keys:
        return _flushed_huge(store, places, values, there)
    at = places[:, 0] * np.int64(store.ncols) + places[:, 1]
    order = np.argsort(at, kind="stable")
    at, values, there = at[order], values[order], there[order]
    kept = ~np.isin(store.keys, at)
    merged = weave(store.keys[kept], take(store.values, kept), at[there], values[there])
    return MatrixStore.from_keys(store.shape, *merged)


def _flushed_huge(store: MatrixStore, places: Array, values: Array, there: Array) -> MatrixStore:
    named = {tuple(place) for place in places.tolist()}
    pairs = zip(store.rows.tolist(), np.asarray(store.cols).tolist(), strict=True)
    kept = np.array([pair not in named for pair in pairs], np.bool_)
    return sorted_matrix(
        store.shape,
        np.concatenate([store.rows[kept], places[there, 0]]),
        np.concatenate([np.asarray(store.cols)[kept], places[there, 1]]),
        np.concatenate([take(store.values, kept), values[there]]),
    )
