"""The values of a matrix: sorted by row, by column, or as the edges of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.arrays.device import to_host
from weft.graphblas.storage.cast import cast, take
from weft.graphblas.storage.vector import stored_bytes

Array = Any

# A row pointer is made for matrices of at most this many rows more than four times their values.
FREE_ROWS = 1 << 16


class MatrixStore:
    """The entries of a matrix in row-major order, never changed after construction.

    Row numbers, the row pointer, keys and the transpose are made when they are first asked for
    and kept. Matrices with far more rows than values (hypersparse ones) never get a row pointer.
    Entries that a device has computed stay there until the host asks for them.

    Attributes
    ----------
    nrows, ncols, nvals : int
        The shape, and the number of values.
    resident : dict
        The entries in the memory of devices, by their names.
    masked_by : MaskView or None
        The mask that admits all of them, if the kernel that computed them has applied one.
    """

    __slots__ = (
        "_arrays",
        "_cols",
        "_filled",
        "_graph",
        "_indptr",
        "_keys",
        "_rows",
        "_twin",
        "_values",
        "masked_by",
        "ncols",
        "nrows",
        "nvals",
        "resident",
    )

    def __init__(
        self,
        shape: tuple[int, int],
        cols: Array,
        values: Array,
        *,
        rows: Array = None,
        indptr: Array = None,
        keys: Array = None,
    ) -> None:
        self.nrows, self.ncols = shape
        self._rows, self._indptr, self._keys = rows, indptr, keys
        self._cols, self._values = cols, values
        self.nvals = 0 if values is None else len(values)
        self.resident: dict[str, Any] = {}
        self.masked_by: Any = None
        self._twin: MatrixStore | None = None
        self._graph: Any = None
        self._filled: Any = False
        # The forms of the arrays that compiled kernels take, once they were asked for.
        self._arrays: Any = None

    @classmethod
    def from_keys(cls, shape: tuple[int, int], keys: Array, values: Array) -> MatrixStore:
        """Return a matrix from ascending keys ``row * ncols + column``."""
        rows, cols = np.divmod(keys, max(shape[1], 1))
        return cls(shape, cols, values, rows=rows, keys=keys)

    @classmethod
    def on_device(cls, device: str, entries: Any, mask: Any = None) -> MatrixStore:
        """Return a matrix whose entries are in the memory of a device, and which a mask admits."""
        made = cls(entries.shape, None, None)
        made.nvals = entries.nvals
        made.resident[device], made.masked_by = entries, mask
        return made

    def _fetch(self) -> None:
        """Copy the entries from the device that has them."""
        entries = next(iter(self.resident.values()))
        self._indptr = to_host(entries.offsets)
        self._cols, self._values = to_host(entries.cols), to_host(entries.values)

    @property
    def cols(self) -> Array:
        """The column of every value, in row-major order."""
        if self._cols is None:
            self._fetch()
        return self._cols

    @property
    def values(self) -> Array:
        """The values, in row-major order."""
        if self._values is None:
            self._fetch()
        return self._values

    @property
    def is_away(self) -> bool:
        """Whether a device alone has the entries."""
        return self._cols is None

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.nrows, self.ncols

    @property
    def is_hyper(self) -> bool:
        """Whether there are far more rows than values."""
        return self.nrows > FREE_ROWS + 4 * self.nvals

    @property
    def rows(self) -> Array:
        """The row of every value."""
        if self._rows is None:
            counts = np.diff(self.indptr)
            self._rows = np.repeat(np.arange(self.nrows, dtype=np.int64), counts)
        return self._rows

    @property
    def indptr(self) -> Array:
        """Where each row begins, and the end."""
        if self._cols is None:
            self._fetch()
        if self._indptr is None:
            counts = np.bincount(self._rows, minlength=self.nrows)
            self._indptr = np.concatenate(([0], np.cumsum(counts)))
        return self._indptr

    @property
    def keys(self) -> Array:
        """Ascending ``row * ncols + column`` of every value; only where that fits 63 bits."""
        if self._keys is None:
            self._keys = self.rows * np.int64(self.ncols) + self.cols
        return self._keys

    @property
    def has_keys(self) -> bool:
        """Whether the keys of this shape fit 63 bits."""
        return self.nrows * self.ncols < 1 << 63

    @property
    def twin(self) -> MatrixStore:
        """The transpose, in row-major order of its own."""
        if self._twin is None and self._cols is None:
            device, entries = next(iter(self.resident.items()))
            self._twin = MatrixStore.on_device(device, entries.transposed())
            self._twin._twin = self
        if self._twin is None:
            order = np.argsort(self.cols, kind="stable")
            rows = np.asarray(self.cols)[order].astype(np.int64, copy=False)
            self._twin = MatrixStore(
                (self.ncols, self.nrows), self.rows[order], take(self.values, order), rows=rows
            )
            self._twin._twin = self
        return self._twin

    def row_bounds(self, rows: Array) -> tuple[Array, Array]:
        """Return where the given rows begin, and the number of values in each."""
        if self._indptr is not None or not self.is_hyper:
            starts = self.indptr[rows]
            return starts, self.indptr[rows + 1] - starts
        starts = np.searchsorted(self.rows, rows)
        return starts, np.searchsorted(self.rows, rows, side="right") - starts

    def filled(self) -> Array | None:
        """Return a mask of the rows that have a value, or None where all have one."""
        if self._filled is False:
            there = np.diff(self.indptr) > 0
            self._filled = None if there.all() else there
        return self._filled

    def column_counts(self) -> Array:
        """Return how many values each column has."""
        if self._twin is not None:
            return np.diff(self._twin.indptr)
        return np.bincount(np.asarray(self.cols), minlength=self.ncols)

    def with_values(self, values: Array) -> MatrixStore:
        """Return a matrix with other values at the same places."""
        other = MatrixStore(
            self.shape, self.cols, values, rows=self._rows, indptr=self._indptr, keys=self._keys
        )
        return other

    def cast(self, np_type: np.dtype) -> MatrixStore:
        """Return the same matrix with values of another type."""
        if self.np_type == np_type:
            return self
        if self.is_away and not (self.np_type.kind == "f" and np_type.kind in "iu"):
            device, entries = next(iter(self.resident.items()))
            return MatrixStore.on_device(device, entries.converted(np_type))
        return self.with_values(cast(self.values, np_type))

    @property
    def np_type(self) -> np.dtype:
        """The type of the values."""
        if self._values is None:
            return np.dtype(next(iter(self.resident.values())).dtype)
        return self._values.dtype

    def picked(self, where: Array) -> MatrixStore:
        """Return the entries where a mask over the values holds, or at ascending positions."""
        at = np.flatnonzero(where) if where.dtype.kind == "b" else where
        return MatrixStore(self.shape, self.cols[at], take(self.values, at), rows=self.rows[at])

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take, derived forms included."""
        own = (self._rows, self._indptr, self._keys, self._cols, self._values)
        total = sum(stored_bytes(each) for each in own if each is not None)
        twin = self._twin
        if twin is not None and twin is not self:
            theirs = (twin._rows, twin._indptr, twin._keys, twin._cols, twin._values)
            total += sum(stored_bytes(each) for each in theirs if each is not None)
        return total


def empty_matrix(shape: tuple[int, int], np_type: np.dtype) -> MatrixStore:
    """Return a matrix without values."""
    none = np.empty(0, np.int64)
    return MatrixStore(shape, none, np.empty(0, np_type), rows=none, keys=none)


def sorted_matrix(shape: tuple[int, int], rows: Array, cols: Array, values: Array) -> MatrixStore:
    """Return a matrix from entries in any order, none of them twice."""
    order = np.lexsort((cols, rows))
    return MatrixStore(shape, cols[order], take(values, order), rows=rows[order])
