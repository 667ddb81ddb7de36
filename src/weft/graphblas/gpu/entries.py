"""The entries of a matrix in the memory of a device."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from weft.arrays.device import Device, move, open_device
from weft.arrays.reduce import count_true
from weft.topology.adjacency_gpu import row_of_slots

Array = Any


@functools.cache
def place_of(name: str) -> Device:
    """Return a device by name, which is checked once: asking a GPU for its facts takes 1 ms."""
    return open_device(name)


class Parts(NamedTuple):
    """Rows that are too long for one team of lanes, cut into parts of equal length.

    Attributes
    ----------
    rows : array
        The rows, as int32.
    first : array
        The number of the first part of each of them, and of all parts, as int64.
    row : array
        The row of every part, as int32.
    begin : array
        The entry that every part begins with, as int64.
    """

    rows: Array
    first: Array
    row: Array
    begin: Array


class DeviceMatrix:
    """The entries of a matrix on a device, in row-major order, never changed.

    A matrix that has all values is stored without the places; they are made when asked for.

    Parameters
    ----------
    shape
        The numbers of rows and columns.
    values
        The values.
    offsets, cols
        Where rows begin, as int64, and columns, as int32; None if the matrix has all values.
    """

    __slots__ = (
        "_cols", "_filled", "_filled_rows", "_longest", "_offsets", "_parts", "_rows", "_values",
        "shape", "xp",
    )  # fmt: skip

    def __init__(
        self, xp: Any, shape: tuple[int, int], values: Array, offsets: Array, cols: Array
    ) -> None:
        self.xp, self.shape, self._values = xp, shape, values
        self._offsets, self._cols = offsets, cols
        self._rows: Array = None
        self._filled: Array = None
        self._filled_rows: Array = None
        self._longest: int | None = None
        self._parts: dict[int, Parts | None] = {}

    @property
    def nvals(self) -> int:
        """The number of values."""
        return int(self._values.size)

    @property
    def is_full(self) -> bool:
        """Whether all values are there."""
        return self.nvals == self.shape[0] * self.shape[1]

    @property
    def dtype(self) -> np.dtype:
        """The type of the values."""
        return np.dtype(self._values.dtype)

    @property
    def values(self) -> Array:
        """The values."""
        return self._values

    @property
    def offsets(self) -> Array:
        """Where each row begins, and the end."""
        if self._offsets is None:
            nrows, ncols = self.shape
            self._offsets = self.xp.arange(nrows + 1, dtype=np.int64) * ncols
        return self._offsets

    @property
    def cols(self) -> Array:
        """The column of every value."""
        if self._cols is None:
            nrows, ncols = self.shape
            self._cols = _all_columns(self.xp, nrows, ncols)
        return self._cols

    def filled_rows(self) -> Array:
        """Return the rows that have a value; they are found once."""
        if self._filled_rows is None:
            self._filled_rows = self.xp.flatnonzero(self.offsets[1:] - self.offsets[:-1])
        return self._filled_rows

    def longest_row(self) -> int:
        """Return how many values the longest row has; it is found once."""
        if self._longest is None:
            lengths = self.offsets[1:] - self.offsets[:-1]
            self._longest = int(lengths.max()) if lengths.size else 0
        return self._longest

    def parts(self, longest: int) -> Parts | None:
        """Return the parts of rows with more values than that; they are cut once.

        The result is None where no row is so long.
        """
        if longest not in self._parts:
            self._parts[longest] = self._cut(longest) if self.longest_row() > longest else None
        return self._parts[longest]

    def _cut(self, longest: int) -> Parts:
        xp, begins = self.xp, self.offsets[:-1]
        lengths = self.offsets[1:] - begins
        rows = xp.flatnonzero(lengths > longest)
        first = xp.zeros(int(rows.size) + 1, np.int64)
        first[1:] = xp.cumsum((lengths[rows] + (longest - 1)) // longest)
        row = row_of_slots(first, int(first[-1]), np.dtype(np.int32))
        number = xp.arange(int(row.size), dtype=np.int64) - first[row]
        begin = begins[rows][row] + number * longest
        return Parts(rows.astype(np.int32), first, rows[row].astype(np.int32), begin)

    def filled(self) -> Array | None:
        """Return a mask of the rows that have a value; None where all have one."""
        if self._filled is None and int(self.filled_rows().size) < self.shape[0]:
            self._filled = self.offsets[1:] > self.offsets[:-1]
        return self._filled

    @property
    def rows(self) -> Array:
        """The row of every value, as int32."""
        if self._rows is None:
            self._rows = row_of_slots(self.offsets, self.nvals, np.dtype(np.int32))
        return self._rows

    def converted(self, np_type: np.dtype) -> DeviceMatrix:
        """Return the same entries with values of another type; floats do not become integers."""
        values = self.values != 0 if np_type.kind == "b" else self.values.astype(np_type)
        places = (None, None) if self.is_full else (self.offsets, self.cols)
        return DeviceMatrix(self.xp, self.shape, values, *places)

    def transposed(self) -> DeviceMatrix:
        """Return the transpose, in row-major order of its own."""
        xp, (nrows, ncols) = self.xp, self.shape
        order = xp.argsort(self.cols, kind="stable")
        offsets = xp.zeros(ncols + 1, np.int64)
        offsets[1:] = xp.cumsum(xp.bincount(self.cols, minlength=ncols))
        values, cols = self.values[order], self.rows[order]
        return DeviceMatrix(xp, (ncols, nrows), values, offsets, cols)


class FullRows(DeviceMatrix):
    """The entries of a matrix some of whose rows have all values, and the others none.

    Parameters
    ----------
    out
        Values for all rows, of which those without values have no meaning. They are taken out when
        the values are asked for.
    like
        A matrix that has values in the same rows.
    """

    __slots__ = ("_like", "_out")

    def __init__(self, xp: Any, shape: tuple[int, int], out: Array, like: DeviceMatrix) -> None:
        super().__init__(xp, shape, None, None, None)
        self._out, self._like = out, like

    @property
    def nvals(self) -> int:
        """The number of values."""
        return int(self._like.filled_rows().size) * self.shape[1]

    @property
    def dtype(self) -> np.dtype:
        """The type of the values."""
        return np.dtype(self._out.dtype)

    @property
    def values(self) -> Array:
        """The values."""
        if self._values is None:
            self._values = self._out.reshape(self.shape)[self._like.filled_rows()].reshape(-1)
        return self._values

    @property
    def offsets(self) -> Array:
        """Where each row begins, and the end."""
        if self._offsets is None:
            begins = self._like.offsets
            self._offsets = self.xp.zeros(self.shape[0] + 1, np.int64)
            filled = begins[1:] > begins[:-1]
            self._offsets[1:] = self.xp.cumsum(filled, dtype=np.int64) * self.shape[1]
        return self._offsets

    @property
    def cols(self) -> Array:
        """The column of every value."""
        if self._cols is None:
            rows = int(self._like.filled_rows().size)
            self._cols = _all_columns(self.xp, rows, self.shape[1])
        return self._cols


def _all_columns(xp: Any, nrows: int, ncols: int) -> Array:
    """Return the columns of rows that have all values."""
    found = xp.empty((nrows, ncols), np.int32)
    found[:] = xp.arange(ncols, dtype=np.int32)
    return found.reshape(-1)


def resident(store: Any, device: str) -> DeviceMatrix:
    """Return the entries of a matrix store on a device; they are copied there once."""
    found = store.resident.get(device)
    if found is None:
        place = place_of(device)
        values = move(np.ascontiguousarray(store.values), place)
        offsets = cols = None
        if device == "cpu" or store.nvals != store.nrows * store.ncols:
            offsets = move(np.asarray(store.indptr).astype(np.int64, copy=False), place)
            cols = move(np.asarray(store.cols).astype(np.int32, copy=False), place)
        found = DeviceMatrix(place.xp, store.shape, values, offsets, cols)
        store.resident[device] = found
    return found


def compacted(entries: DeviceMatrix, values: Array, there: Array) -> DeviceMatrix:
    """Return values at the places of a matrix that a mask keeps."""
    xp = entries.xp
    before = xp.zeros(there.size + 1, np.int64)
    before[1:] = xp.cumsum(there, dtype=np.int64)
    if int(before[-1]) == there.size:
        places = (None, None) if entries.is_full else (entries.offsets, entries.cols)
        return DeviceMatrix(xp, entries.shape, values, *places)
    return DeviceMatrix(
        xp, entries.shape, values[there], before[entries.offsets], entries.cols[there]
    )


# Which entries of a matrix operators keep: of columns, rows and a number.
KEEPS: dict[str, Any] = {
    "tril": lambda cols, rows, k: cols <= rows + k,
    "triu": lambda cols, rows, k: cols >= rows + k,
    "diag": lambda cols, rows, k: cols == rows + k,
    "offdiag": lambda cols, rows, k: cols != rows + k,
}


def selected(store: Any, name: str, thunk: Any) -> Any:
    """Return the entries that an operator keeps by their places; None for other operators."""
    from weft.graphblas.storage.matrix import MatrixStore, empty_matrix

    if name not in KEEPS:
        return None
    device, entries = next(iter(store.resident.items()))
    there = KEEPS[name](entries.cols, entries.rows, int(thunk))
    if not count_true(there):
        return empty_matrix(store.shape, store.np_type)
    return MatrixStore.on_device(device, compacted(entries, entries.values, there))


def row_counts(store: Any) -> Any:
    """Return how many entries each row has; rows without entries have no value."""
    from weft.graphblas.gpu.places import DeviceVector
    from weft.graphblas.storage.vector import VectorStore

    device, entries = next(iter(store.resident.items()))
    counts = entries.offsets[1:] - entries.offsets[:-1]
    there = counts > 0
    return VectorStore.on_device(DeviceVector(device, counts, there, count_true(there)))
