"""Entries by place: extract a region, put a region, move, diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.graphblas.kernels.multiply import spans
from weft.graphblas.storage.cast import take
from weft.graphblas.storage.matrix import MatrixStore, sorted_matrix
from weft.graphblas.storage.vector import VectorStore

Array = Any


class Axis:
    """The places that an index names along one axis.

    Attributes
    ----------
    dim : int
        The extent of the axis.
    one : int or None
        The place, for a single one.
    span : tuple or None
        Start, stop and step, for a slice.
    array : numpy.ndarray or None
        The places, for a list.
    """

    __slots__ = ("_array", "dim", "one", "size", "span")

    def __init__(
        self,
        dim: int,
        one: int | None = None,
        span: tuple[int, int, int] | None = None,
        array: Array = None,
    ) -> None:
        self.dim, self.one, self.span, self._array = dim, one, span, array
        if one is not None:
            self.size: int | None = None
        elif span is not None:
            self.size = len(range(*span))
        else:
            self.size = len(array)

    @property
    def whole(self) -> bool:
        """Whether it names all places in order."""
        return self.span == (0, self.dim, 1)

    @property
    def array(self) -> Array:
        """The places as int64."""
        if self._array is None:
            if self.one is not None:
                self._array = np.array([self.one], np.int64)
            else:
                self._array = np.arange(*self.span, dtype=np.int64)  # type: ignore[misc]
        return self._array

    @property
    def extent(self) -> int:
        """The number of places it names; 1 for a single one."""
        return 1 if self.size is None else self.size

    def matches(self, places: Array) -> tuple[Array, Array]:
        """Return pairs (position in `places`, position in this index) of equal places."""
        if self.whole:
            return np.arange(len(places)), places
        if self.span is not None:
            return self._in_span(places)
        wanted = self.array
        order = wanted.argsort(kind="stable")
        ordered = wanted[order]
        begin = ordered.searchsorted(places)
        counts = ordered.searchsorted(places, side="right") - begin
        which = np.arange(len(places)).repeat(counts)
        return which, order[spans(begin, counts)]

    def names(self, places: Array) -> Array:
        """Return whether this index names each of some places."""
        if self.span is None and self.extent:
            ordered = np.sort(self.array)
            found: Array = ordered[np.minimum(ordered.searchsorted(places), len(ordered) - 1)]
            return found == places
        named = np.zeros(len(places), np.bool_)
        named[self.matches(places)[0]] = True
        return named

    def _in_span(self, places: Array) -> tuple[Array, Array]:
        start, _, step = self.span  # type: ignore[misc]
        offset, left = np.divmod(np.asarray(places) - start, step)
        which = np.flatnonzero((left == 0) & (offset >= 0) & (offset < self.extent))
        return which, offset[which]

    def positions(self) -> Array:
        """Return the places; for an assignment, of which the last of equal ones counts."""
        return self.array


def extract_vector(store: VectorStore, axis: Axis) -> VectorStore:
    """Return the values at the places of an index, numbered by their position in it."""
    if axis.whole:
        return store
    size = axis.extent
    if axis.size is not None and not store.is_dense and store.nvals * 4 < size:
        which, at = axis.matches(store.indices)
        order = np.argsort(at, kind="stable")
        return VectorStore(size, at[order], take(store.values, which[order]))
    wanted = axis.array
    if store.is_dense or store.size <= 4 * store.nvals + 1024:
        there = store.there()[wanted]
        at = np.flatnonzero(there)
        return VectorStore(size, at, take(store.dense, wanted[at]))
    place = np.minimum(np.searchsorted(store.indices, wanted), max(store.nvals - 1, 0))
    if store.nvals == 0:
        return VectorStore(size, np.empty(0, np.int64), store.values)
    at = np.flatnonzero(store.indices[place] == wanted)
    return VectorStore(size, at, take(store.values, place[at]))


def extract_matrix(store: MatrixStore, rows: Axis, cols: Axis) -> MatrixStore:
    """Return a submatrix."""
    if rows.whole and cols.whole:
        return store
    shape = rows.extent, cols.extent
    if rows.whole:
        at: Array = None
        new_rows, entry_cols = store.rows, np.asarray(store.cols)
    else:
        at, new_rows = _row_entries(store, rows)
        entry_cols = store.cols[at]
    which, new_cols = cols.matches(entry_cols)
    new_rows = new_rows[which]
    values = take(store.values, which if at is None else at[which])
    if cols.whole or (cols.span is not None and cols.span[2] > 0):
        return MatrixStore(shape, new_cols.astype(np.int64, copy=False), values, rows=new_rows)
    return sorted_matrix(shape, new_rows, new_cols, values)


def _row_entries(store: MatrixStore, rows: Axis) -> tuple[Array, Array]:
    """Return the positions of the entries of some rows in their order, and the new rows."""
    starts, lengths = store.row_bounds(rows.array)
    return spans(starts, lengths), np.arange(rows.extent).repeat(lengths)


def extract_row(store: MatrixStore, row: int, cols: Axis) -> VectorStore:
    """Return a part of one row as a vector."""
    starts, lengths = store.row_bounds(np.array([row]))
    part = slice(int(starts[0]), int(starts[0] + lengths[0]))
    whole = VectorStore(
        store.ncols,
        np.asarray(store.cols[part]).astype(np.int64, copy=False),
        store.values[part],
    )
    return extract_vector(whole, cols)


def element(store: Any, *place: Any) -> Any:
    """Return the value at one place, or None."""
    if isinstance(store, VectorStore):
        if store.is_dense:
            present = store._present
            return store._dense[place[0]] if present is None or present[place[0]] else None
        keys, key = store.indices, place[0]
        begin, end = 0, len(keys)
    else:
        row, key = place
        starts, lengths = store.row_bounds(np.array([row]))
        begin, end = int(starts[0]), int(starts[0] + lengths[0])
        keys = store.cols
    at = begin + int(keys[begin:end].searchsorted(key))
    return store.values[at] if at < end and keys[at] == key else None


def transpose(store: MatrixStore) -> MatrixStore:
    """Return the transpose."""
    return store.twin


def diagonal_of(store: MatrixStore, k: int) -> VectorStore:
    """Return the k-th diagonal as a vector."""
    if k >= 0:
        size = max(0, min(store.nrows, store.ncols - k))
    else:
        size = max(0, min(store.nrows + k, store.ncols))
    rows = store.rows
    where = np.flatnonzero(np.asarray(store.cols) - rows == k)
    return VectorStore(size, rows[where] + min(k, 0), take(store.values, where))


def diagonal_matrix(store: VectorStore, k: int) -> MatrixStore:
    """Return the matrix that has a vector as its k-th diagonal."""
    size = store.size + abs(k)
    return MatrixStore(
        (size, size),
        store.indices + max(k, 0),
        store.values,
        rows=store.indices + max(-k, 0),
    )


def move_vector(store: VectorStore, offset: int, size: int) -> VectorStore:
    """Return a vector moved by an offset and cut to a size."""
    moved = store.indices + offset
    kept = (moved >= 0) & (moved < size)
    return VectorStore(size, moved[kept], take(store.values, kept))


def move_matrix(store: MatrixStore, offset: tuple[int, int], shape: tuple[int, int]) -> MatrixStore:
    """Return a matrix moved by an offset and cut to a shape."""
    rows, cols = store.rows + offset[0], np.asarray(store.cols) + offset[1]
    kept = (rows >= 0) & (rows < shape[0]) & (cols >= 0) & (cols < shape[1])
    return MatrixStore(shape, cols[kept], take(store.values, kept), rows=rows[kept])


def as_rows(store: VectorStore) -> MatrixStore:
    """Return a vector as a matrix of one row."""
    return MatrixStore(
        (1, store.size), store.indices, store.values, rows=np.zeros(store.nvals, np.int64)
    )


def as_column(store: VectorStore) -> MatrixStore:
    """Return a vector as a matrix of one column."""
    return MatrixStore(
        (store.size, 1), np.zeros(store.nvals, np.int64), store.values, rows=store.indices
    )


def as_vector(store: MatrixStore) -> VectorStore:
    """Return a matrix of one column as a vector."""
    return VectorStore(store.nrows, store.rows, store.values)
