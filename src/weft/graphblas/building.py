"""Arrays from the user, as indices and values."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.graphblas.checks import output_kind
from weft.graphblas.dtypes import DataType, lookup_dtype
from weft.graphblas.exceptions import IndexOutOfBound, InvalidValue
from weft.graphblas.indexing import extent_of
from weft.graphblas.operators.lookup import get_typed_op
from weft.graphblas.storage.cast import cast, take

Array = Any
# The largest extent of an axis, as in GraphBLAS.
MAX_SIZE = 1 << 60


def index_array(indices: Any, name: str) -> Array:
    """Return places as int64."""
    if isinstance(indices, np.ndarray):
        if indices.dtype.kind not in "iu" and indices.size:
            raise ValueError(f"{name} must be integers, not {indices.dtype}.")
        found = indices
    else:
        listed = indices if hasattr(indices, "__len__") else list(indices)
        try:
            found = np.array(listed, np.int64)
        except OverflowError:
            found = np.array(listed, np.uint64)
    if found.ndim != 1:
        raise ValueError(f"{name} must be a 1d array, not {found.ndim}d.")
    if found.dtype.kind == "u" and found.size and found.max() > MAX_SIZE:
        raise InvalidValue(f"{name} contain {found.max()}, beyond the largest size {MAX_SIZE}.")
    return found.astype(np.int64, copy=False)


def value_array(values: Any, dtype: Any, count: int) -> tuple[Array, DataType, bool]:
    """Return values, their type, and whether one value stands for all."""
    if output_kind(values) == "Scalar":
        dtype = values.dtype if dtype is None else lookup_dtype(dtype)
        return _repeated(values.value, count, dtype.np_type), dtype, True
    found = (
        np.asarray(values)
        if hasattr(values, "__len__") or np.ndim(values) == 0
        else (np.asarray(list(values)))
    )
    if found.dtype.kind == "O":
        raise ValueError("object dtype for values is not allowed; give numbers or booleans.")
    type_ = lookup_dtype(found.dtype if dtype is None else dtype)
    if found.dtype.kind not in "biuf":
        raise ValueError(f"Values of type {found.dtype} are not supported.")
    if found.ndim == 0:
        return _repeated(found, count, type_.np_type), type_, True
    return cast(found, type_.np_type), type_, False


def _repeated(value: Any, count: int, np_type: Any) -> Array:
    """Return one value for all entries, recognisable by its stride of 0."""
    return np.broadcast_to(cast(np.asarray(value).reshape(1), np_type), (count,))


def check_bounds(places: Array, dim: int, name: str) -> None:
    """Raise unless places lie inside an axis."""
    if len(places) and (int(places.max()) >= dim or int(places.min()) < 0):
        raise IndexOutOfBound(
            f"{name} reach from {places.min()} to {places.max()}; the size is {dim}."
        )


def extent(places: Array, given: Any, what: str, name: str) -> int:
    """Return the extent of an axis: the one given, or one more than the largest place."""
    if given is not None:
        return extent_of(given, what)
    if len(places) == 0:
        raise ValueError(f"No {name} provided. Unable to infer {what}.")
    most = int(places.max())
    if most >= MAX_SIZE:
        raise InvalidValue(f"The largest of {name} is {most}; the largest size is {MAX_SIZE}.")
    return most + 1


def joined(keys: Array, values: Array, dup_op: Any, dtype: DataType) -> tuple[Array, Array]:
    """Return ascending keys and their values; equal keys are combined by an operator."""
    if len(keys) < 2 or bool((keys[1:] > keys[:-1]).all()):
        return keys, values
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    fresh = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    values = take(values, order)
    if fresh.all():
        return ordered, values
    if values.strides[0] == 0 and dup_op is None:
        return ordered[fresh], values[: int(fresh.sum())]
    if dup_op is None:
        twice = ordered[~fresh][0]
        raise ValueError(
            f"Duplicate indices found (for one, at key {twice}). Give dup_op= to combine values."
        )
    return _combined(ordered, values, get_typed_op(dup_op, dtype, kind="binary"), dtype, fresh)


def _combined(
    keys: Array, values: Array, op: Any, dtype: DataType, fresh: Array
) -> tuple[Array, Array]:
    """Combine values under equal keys from left to right."""
    np_type = dtype.np_type
    monoid = op if op.opclass == "Monoid" else op.monoid
    if monoid is not None and monoid.type.np_type == np_type:
        starts = np.flatnonzero(fresh)
        return keys[starts], monoid.segments(values, starts)
    starts = np.flatnonzero(fresh)
    lengths = np.diff(np.append(starts, len(keys)))
    out = values[starts]
    for step in range(1, int(lengths.max())):
        where = np.flatnonzero(lengths > step)
        x, y = (
            cast(out[where], op.type.np_type),
            cast(values[starts[where] + step], op.type.np_type),
        )
        out[where] = cast(op.evaluate(x, y), np_type)
    return keys[starts], out


def dense_values(values: Any, dtype: Any, ndim: int, kind: str) -> tuple[Array, DataType]:
    """Return an array of all values of a vector or matrix."""
    if np.ndim(values) == 0:
        raise TypeError(f"Expected an array; to repeat one value use {kind}.from_scalar.")
    found = np.asarray(values)
    if found.dtype.kind == "O":
        raise ValueError("object dtype for values is not allowed; give numbers or booleans.")
    if found.ndim < ndim:
        raise ValueError(f"A {ndim}d array is required to create a dense {kind}.")
    if found.ndim > ndim:
        raise ValueError(f"values must be {ndim}d for a {kind}; got {found.ndim}d.")
    type_ = lookup_dtype(found.dtype if dtype is None else dtype)
    return cast(found.reshape(-1), type_.np_type), type_


def fill_array(store: Any, shape: tuple[int, ...], fill: Any, dtype: Any, kind: str) -> Array:
    """Return a NumPy array of a store, `fill` standing where there is no value."""
    from weft.graphblas.checks import is_scalar_like

    total = int(np.prod(shape, dtype=object))
    own = store.values.dtype
    if fill is None:
        if store.nvals < total:
            raise TypeError(
                f"fill_value must be given in {kind}.to_dense when there are missing values."
            )
        np_type = own if dtype is None else lookup_dtype(dtype).np_type
        return cast(np.asarray(store.values), np_type).reshape(shape).copy()
    if not is_scalar_like(fill):
        raise TypeError(
            f"Bad type for keyword argument `fill_value=`: {type(fill).__name__}. Expected Scalar."
        )
    value = fill.value if output_kind(fill) == "Scalar" else fill
    if dtype is not None:
        np_type = lookup_dtype(dtype).np_type
    else:
        np_type = np.promote_types(own, np.asarray(value).dtype)
    out = np.full(total, cast(np.asarray(value).reshape(1), np_type)[0], np_type)
    out[store.keys] = cast(np.asarray(store.values), np_type)
    return out.reshape(shape)
