"""Matrices from arrays, and arrays of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.graphblas.building import extent, index_array, joined, value_array
from weft.graphblas.dtypes import DataType
from weft.graphblas.exceptions import InvalidObject, InvalidValue
from weft.graphblas.indexing import extent_of
from weft.graphblas.storage.cast import cast, take
from weft.graphblas.storage.matrix import MatrixStore

Array = Any
Shape = tuple[int, int]


def check_lengths(rows: Array, cols: Array, values: Array) -> None:
    """Raise unless there is a row, a column and a value for every entry."""
    if not len(rows) == len(cols) == len(values):
        raise ValueError(
            "`rows` and `columns` and `values` lengths must match: "
            f"{len(rows)}, {len(cols)}, {len(values)}"
        )


def from_places(
    shape: Shape, rows: Array, cols: Array, values: Array, dup_op: Any, dtype: DataType
) -> MatrixStore:
    """Return a matrix of entries in any order."""
    if shape[0] * shape[1] < 1 << 63:
        keys, joined_values = joined(rows * np.int64(shape[1]) + cols, values, dup_op, dtype)
        return MatrixStore.from_keys(shape, keys, joined_values)
    row_names, row_at = np.unique(rows, return_inverse=True)
    col_names, col_at = np.unique(cols, return_inverse=True)
    keys, values = joined(row_at * len(col_names) + col_at, values, dup_op, dtype)
    at = np.divmod(keys, max(len(col_names), 1))
    return MatrixStore(shape, col_names[at[1]], values, rows=row_names[at[0]])


def to_coo(store: MatrixStore, np_type: Any, rows: Any, columns: Any, values: Any) -> Any:
    """Return copies of rows, columns and values."""
    return (
        store.rows.astype(np.uint64) if rows else None,
        np.asarray(store.cols).astype(np.uint64) if columns else None,
        np.array(cast(store.values, np_type)) if values else None,
    )


def to_csr(store: MatrixStore, np_type: Any) -> Any:
    """Return row pointers, columns and values."""
    return (
        store.indptr.astype(np.uint64),
        np.asarray(store.cols).astype(np.uint64),
        np.array(cast(store.values, np_type)),
    )


def to_dcsr(store: MatrixStore, np_type: Any) -> Any:
    """Return the rows that have values, their pointers, columns and values."""
    rows, starts = np.unique(store.rows, return_index=True)
    return (
        rows.astype(np.uint64),
        np.append(starts, store.nvals).astype(np.uint64),
        np.asarray(store.cols).astype(np.uint64),
        np.array(cast(store.values, np_type)),
    )


def resized(store: MatrixStore, shape: Shape) -> MatrixStore:
    """Return a matrix cut or extended to a shape."""
    kept = (store.rows < shape[0]) & (np.asarray(store.cols) < shape[1])
    return MatrixStore(shape, store.cols[kept], take(store.values, kept), rows=store.rows[kept])


def ordered_rows(rows: Array, cols: Array, values: Array) -> tuple[Array, Array]:
    """Return columns and values in ascending order within each row."""
    if len(cols) < 2 or bool(((cols[1:] > cols[:-1]) | (rows[1:] != rows[:-1])).all()):
        return cols, values
    order = np.lexsort((cols, rows))
    cols, values = cols[order], take(values, order)
    if bool(((cols[1:] == cols[:-1]) & (rows[1:] == rows[:-1])).any()):
        raise InvalidObject("A column stands twice in one row.")
    return cols, values


def from_csr(
    indptr: Any, indices: Any, values: Any, dtype: Any, shape: tuple[Any, Any], name: str
) -> tuple[MatrixStore, DataType]:
    """Return a matrix from row pointers; `name` is what the number of rows is called."""
    pointers, cols = index_array(indptr, "indptr"), index_array(indices, "indices")
    if len(pointers) == 0:
        raise InvalidValue("indptr must not be empty.")
    nrows = len(pointers) - 1
    if shape[0] is not None and int(shape[0]) != nrows:
        raise ValueError(f"{name} must be None or equal to len(indptr) - 1 = {nrows}.")
    found, type_, _ = value_array(values, dtype, len(cols))
    check_pointers(pointers, len(cols), len(found))
    ncols = 0 if shape[1] is None and len(cols) == 0 else extent(cols, shape[1], "ncols", name)
    if len(cols) and int(cols.max()) >= ncols:
        raise InvalidObject(f"An index is {cols.max()}; the extent is {ncols}.")
    rows = np.repeat(np.arange(nrows, dtype=np.int64), np.diff(pointers))
    cols, found = ordered_rows(rows, cols, found)
    return MatrixStore((nrows, ncols), cols, found, rows=rows, indptr=pointers), type_


def check_pointers(pointers: Array, count: int, values: int) -> None:
    """Raise unless pointers ascend from 0 to the number of entries."""
    if values != count:
        raise ValueError(f"`indices` and `values` lengths must match: {count}, {values}")
    if pointers[0] != 0 or bool((pointers[1:] < pointers[:-1]).any()) or pointers[-1] != count:
        raise InvalidValue(
            f"indptr must ascend from 0 to the number of indices, {count}; its last value is "
            f"{pointers[-1]}."
        )


def from_dcsr(
    arrays: tuple[Any, Any, Any, Any], dtype: Any, shape: tuple[Any, Any], name: str
) -> tuple[MatrixStore, DataType]:
    """Return a matrix from the rows that have values, their pointers, columns and values."""
    listed, pointers, cols = (index_array(each, "indices") for each in arrays[:3])
    if len(pointers) == 0:
        raise InvalidValue("indptr must not be empty.")
    found, type_, _ = value_array(arrays[3], dtype, len(cols))
    check_pointers(pointers, len(cols), len(found))
    if len(listed) != len(pointers) - 1:
        raise InvalidValue(f"There are {len(listed)} {name} and {len(pointers)} pointers.")
    dims = [
        (int(at.max()) + 1 if len(at) else 0) if given is None else int(given)
        for at, given in ((listed, shape[0]), (cols, shape[1]))
    ]
    if (len(cols) and int(cols.max()) >= dims[1]) or (len(listed) and int(listed.max()) >= dims[0]):
        raise InvalidObject("An index lies outside the shape.")
    rows = np.repeat(listed, np.diff(pointers))
    order = np.lexsort((cols, rows))
    return (
        MatrixStore((dims[0], dims[1]), cols[order], take(found, order), rows=rows[order]),
        type_,
    )


def edge_arrays(edgelist: Any, values: Any) -> tuple[Any, Any, Any]:
    """Return rows, columns and values of a list of edges."""
    if isinstance(edgelist, np.ndarray):
        if edgelist.ndim != 2:
            raise ValueError(f"edgelist array must have 2 dimensions; it has {edgelist.ndim}.")
        if edgelist.shape[1] == 3:
            raise ValueError("values must be passed separately when edgelist is a NumPy array.")
        if edgelist.shape[1] != 2:
            raise ValueError(
                f"edgelist array must be length 2 along its second axis; it is {edgelist.shape[1]}."
            )
        return edgelist[:, 0], edgelist[:, 1], 1.0 if values is None else values
    edges = list(edgelist)
    lengths = {len(edge) for edge in edges}
    if not edges:
        return [], [], [] if values is None else values
    if lengths == {3}:
        if values is not None:
            raise TypeError("Too many sources of values: in edgelist, and the `values` argument.")
        rows, cols, values = zip(*edges, strict=True)
        return list(rows), list(cols), list(values)
    if lengths != {2}:
        raise ValueError("Each item in the edgelist must have two or three elements.")
    rows, cols = zip(*edges, strict=True)
    return list(rows), list(cols), 1.0 if values is None else values


def is_rowwise(order: str) -> bool:
    """Return whether an order goes row by row."""
    name = order.lower()
    if name in {"row", "rowwise", "row-wise", "c", "r", "rows"}:
        return True
    if name in {"col", "column", "columnwise", "colwise", "column-wise", "f", "columns"}:
        return False
    raise ValueError(f"order={order!r} is not known. Expected 'rowwise' or 'columnwise'.")


def from_dicts(
    nested: Any, dtype: Any, order: str, shape: tuple[Any, Any]
) -> tuple[MatrixStore, DataType]:
    """Return a matrix from dicts in dicts, or in a list."""
    rowwise = is_rowwise(order)
    nrows, ncols = shape if rowwise else (shape[1], shape[0])
    if not isinstance(nested, dict):
        nested = list(nested)
        if nrows is not None and int(nrows) != len(nested):
            raise ValueError(
                f"{'nrows' if rowwise else 'ncols'} must be None or the length of the list, "
                f"{len(nested)}."
            )
        nrows = len(nested)
        nested = dict(enumerate(nested))
    rows = np.array([i for i, inner in nested.items() for _ in inner], np.int64)
    cols = np.array([j for inner in nested.values() for j in inner], np.int64)
    flat = [x for inner in nested.values() for x in inner.values()]
    values = np.array(flat) if flat else np.empty(0)
    found, type_, _ = value_array(values, dtype, len(rows))
    dims = (
        max(nested, default=-1) + 1 if nrows is None else extent_of(nrows, "nrows"),
        (int(cols.max()) + 1 if len(cols) else 0) if ncols is None else extent_of(ncols, "ncols"),
    )
    if (len(cols) and int(cols.max()) >= dims[1]) or (len(rows) and int(rows.max()) >= dims[0]):
        raise InvalidObject("A place lies outside the shape.")
    store = from_places(dims, rows, cols, found, None, type_)
    return (store if rowwise else store.twin), type_


def to_dicts(store: MatrixStore) -> dict[int, dict[int, Any]]:
    """Return dicts of the values by column, in a dict by row."""
    found: dict[int, dict[int, Any]] = {}
    for i, j, x in zip(
        store.rows.tolist(),
        np.asarray(store.cols).tolist(),
        np.asarray(store.values).tolist(),
        strict=True,
    ):
        found.setdefault(i, {})[j] = x
    return found
