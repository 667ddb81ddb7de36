"""Matrices."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from weft.graphblas import matrix_forms as forms
from weft.graphblas.base import BaseType
from weft.graphblas.building import (
    check_bounds,
    dense_values,
    extent,
    index_array,
    value_array,
)
from weft.graphblas.cells import Cell
from weft.graphblas.diagonal import set_diagonal
from weft.graphblas.dtypes import FP64, lookup_dtype
from weft.graphblas.exceptions import OutputNotEmpty
from weft.graphblas.indexing import Indexes, extent_of
from weft.graphblas.kernels.places import as_vector
from weft.graphblas.mask import StructuralMask, ValueMask
from weft.graphblas.readable import Readable
from weft.graphblas.region import assign_region, delete_region, flushed
from weft.graphblas.storage.matrix import MatrixStore, empty_matrix
from weft.graphblas.updates import Updater


class Matrix(Readable, BaseType):
    """A sparse matrix.

    Parameters
    ----------
    dtype
        The type of its values.
    nrows, ncols
        The shape.
    name
        A name to show; one is made if not given.

    Examples
    --------
    >>> import weft.graphblas as gb
    >>> A = gb.Matrix.from_coo([0, 1], [1, 0], [2.0, 3.0])
    >>> gb.semiring.plus_times(A @ A).new().to_dense(0.0)
    array([[6., 0.],
           [0., 6.]])
    """

    __slots__ = ("_ncols", "_nrows")
    _output = "Matrix"
    _is_transposed = False
    _name_counter = itertools.count()
    __hash__ = None
    __bool__ = Readable.__bool__

    def __init__(
        self, dtype: Any = FP64, nrows: Any = 0, ncols: Any = 0, *, name: str | None = None
    ) -> None:
        self.dtype = lookup_dtype(dtype)
        self._nrows, self._ncols = extent_of(nrows, "nrows"), extent_of(ncols, "ncols")
        self.name = f"M_{next(Matrix._name_counter)}" if name is None else name
        self._pending = None
        self._cell = Cell(empty_matrix((self._nrows, self._ncols), self.dtype.np_type))

    @classmethod
    def _from_store(cls, store: MatrixStore, dtype: Any, name: str | None = None) -> Matrix:
        made = cls.__new__(cls)
        made.dtype = dtype
        made._nrows, made._ncols = store.nrows, store.ncols
        made.name = f"M_{next(Matrix._name_counter)}" if name is None else name
        made._pending = None
        made._cell = Cell(store)
        return made

    @property
    def _entries(self) -> MatrixStore:
        return self._store

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self._nrows, self._ncols

    @property
    def nrows(self) -> int:
        """The number of rows."""
        return self._nrows

    @property
    def ncols(self) -> int:
        """The number of columns."""
        return self._ncols

    @property
    def T(self) -> TransposedMatrix:
        """The transpose, without copying."""
        return TransposedMatrix(self)

    @property
    def S(self) -> StructuralMask:
        """The mask of the places that have a value."""
        return StructuralMask(self)

    @property
    def V(self) -> ValueMask:
        """The mask of the places that have a value other than 0."""
        return ValueMask(self)

    def __repr__(self) -> str:
        from weft.graphblas import formatting

        return formatting.matrix_text(self)

    def _repr_html_(self) -> str:
        from weft.graphblas import formatting

        return formatting.matrix_html(self)

    def __reduce__(self) -> Any:
        return _restored, (*self.to_coo(), self.dtype.name, self.shape, self.name)

    def __setitem__(self, keys: Any, value: Any) -> None:
        self._assign(Updater(self), Indexes(self, keys), value, False)

    def __delitem__(self, keys: Any) -> None:
        delete_region(self, Indexes(self, keys))

    def _assign(
        self, updater: Updater, indexes: Indexes, value: Any, submask: bool, delete: bool = False
    ) -> None:
        assign_region(self, updater, indexes, value, submask, delete)

    def _flush(self) -> None:
        pending, self._pending = self._pending, None
        self._cell = Cell(flushed(self._cell.get(), pending, self.dtype.np_type))

    def clear(self) -> None:
        """Remove all values."""
        self._set(empty_matrix(self.shape, self.dtype.np_type))

    def resize(self, nrows: Any, ncols: Any) -> None:
        """Change the shape; values beyond it are dropped."""
        store = forms.resized(self._store, (extent_of(nrows, "nrows"), extent_of(ncols, "ncols")))
        self._nrows, self._ncols = store.shape
        self._set(store)

    def build(
        self,
        rows: Any,
        columns: Any,
        values: Any,
        *,
        dup_op: Any = None,
        clear: bool = False,
        nrows: Any = None,
        ncols: Any = None,
    ) -> None:
        """Fill an empty matrix. See `Vector.build`."""
        if not clear and self.nvals:
            raise OutputNotEmpty(f"{self.name} has values; call build with clear=True.")
        row_at, col_at = index_array(rows, "rows"), index_array(columns, "columns")
        found, _, _ = value_array(values, self.dtype, len(row_at))
        forms.check_lengths(row_at, col_at, found)
        shape = (
            self._nrows if nrows is None else extent_of(nrows, "nrows"),
            self._ncols if ncols is None else extent_of(ncols, "ncols"),
        )
        check_bounds(row_at, shape[0], "rows")
        check_bounds(col_at, shape[1], "columns")
        store = forms.from_places(shape, row_at, col_at, found, dup_op, self.dtype)
        self._nrows, self._ncols = shape
        self._set(store)

    def setdiag(
        self, values: Any, k: Any = 0, *, mask: Any = None, accum: Any = None, **opts: Any
    ) -> None:
        """Set the k-th diagonal to a value, a vector or an array.

        Parameters
        ----------
        values
            What to set; a vector's missing values remove those of the diagonal.
        k
            Which diagonal.
        mask
            Which places of the diagonal, or of the matrix, may be written.
        accum
            Combines old values with new ones.
        """
        set_diagonal(self, values, k, mask, accum)

    @classmethod
    def from_coo(  # noqa: PLR0913
        cls,
        rows: Any,
        columns: Any,
        values: Any = 1.0,
        dtype: Any = None,
        *,
        nrows: Any = None,
        ncols: Any = None,
        dup_op: Any = None,
        name: str | None = None,
    ) -> Matrix:
        """Return a matrix from rows, columns and values. See `Vector.from_coo`."""
        row_at, col_at = index_array(rows, "rows"), index_array(columns, "columns")
        found, type_, is_one = value_array(values, dtype, len(row_at))
        if is_one and dup_op is not None:
            raise ValueError("dup_op must be None if values is a scalar: equal places agree.")
        shape = (
            extent(row_at, nrows, "nrows", "row indices"),
            extent(col_at, ncols, "ncols", "column indices"),
        )
        forms.check_lengths(row_at, col_at, found)
        check_bounds(row_at, shape[0], "row indices")
        check_bounds(col_at, shape[1], "column indices")
        store = forms.from_places(shape, row_at, col_at, found, dup_op, type_)
        return cls._from_store(store, type_, name)

    @classmethod
    def from_edgelist(
        cls,
        edgelist: Any,
        values: Any = None,
        dtype: Any = None,
        *,
        nrows: Any = None,
        ncols: Any = None,
        dup_op: Any = None,
        name: str | None = None,
    ) -> Matrix:
        """Return a matrix from (row, column) or (row, column, value) items."""
        rows, columns, values = forms.edge_arrays(edgelist, values)
        return cls.from_coo(
            rows, columns, values, dtype, nrows=nrows, ncols=ncols, dup_op=dup_op, name=name
        )

    @classmethod
    def from_csr(
        cls,
        indptr: Any,
        col_indices: Any,
        values: Any = 1.0,
        dtype: Any = None,
        *,
        nrows: Any = None,
        ncols: Any = None,
        name: str | None = None,
    ) -> Matrix:
        """Return a matrix from row pointers, columns and values."""
        store, type_ = forms.from_csr(indptr, col_indices, values, dtype, (nrows, ncols), "nrows")
        return cls._from_store(store, type_, name)

    @classmethod
    def from_csc(
        cls,
        indptr: Any,
        row_indices: Any,
        values: Any = 1.0,
        dtype: Any = None,
        *,
        nrows: Any = None,
        ncols: Any = None,
        name: str | None = None,
    ) -> Matrix:
        """Return a matrix from column pointers, rows and values."""
        store, type_ = forms.from_csr(indptr, row_indices, values, dtype, (ncols, nrows), "ncols")
        return cls._from_store(store.twin, type_, name)

    @classmethod
    def from_dcsr(  # noqa: PLR0913
        cls,
        compressed_rows: Any,
        indptr: Any,
        col_indices: Any,
        values: Any = 1.0,
        dtype: Any = None,
        *,
        nrows: Any = None,
        ncols: Any = None,
        name: str | None = None,
    ) -> Matrix:
        """Return a matrix from the rows that have values, their pointers, columns and values."""
        arrays = compressed_rows, indptr, col_indices, values
        store, type_ = forms.from_dcsr(arrays, dtype, (nrows, ncols), "rows")
        return cls._from_store(store, type_, name)

    @classmethod
    def from_dcsc(  # noqa: PLR0913
        cls,
        compressed_cols: Any,
        indptr: Any,
        row_indices: Any,
        values: Any = 1.0,
        dtype: Any = None,
        *,
        nrows: Any = None,
        ncols: Any = None,
        name: str | None = None,
    ) -> Matrix:
        """Return a matrix from the columns that have values, their pointers, rows and values."""
        arrays = compressed_cols, indptr, row_indices, values
        store, type_ = forms.from_dcsr(arrays, dtype, (ncols, nrows), "columns")
        return cls._from_store(store.twin, type_, name)

    @classmethod
    def from_scalar(
        cls,
        value: Any,
        nrows: Any,
        ncols: Any,
        dtype: Any = None,
        *,
        name: str | None = None,
        **opts: Any,
    ) -> Matrix:
        """Return a matrix with one value everywhere."""
        from weft.graphblas.checks import is_scalar_like
        from weft.graphblas.scalar import Scalar

        if not is_scalar_like(value):
            raise TypeError(
                f"Bad type for argument `value` in Matrix.from_scalar(...): expected Scalar; got "
                f"{type(value).__name__}. Literal scalars also accepted."
            )
        scalar = Scalar.from_value(value, dtype)
        made = cls(scalar.dtype, nrows, ncols, name=name)
        if scalar._store is not None:
            made[...] = scalar
        return made

    @classmethod
    def from_dense(
        cls,
        values: Any,
        missing_value: Any = None,
        *,
        dtype: Any = None,
        name: str | None = None,
        **opts: Any,
    ) -> Matrix:
        """Return a matrix of an array's elements, without those equal to `missing_value`."""
        found, type_ = dense_values(values, dtype, 2, "Matrix")
        shape = np.asarray(values).shape
        keys = np.arange(len(found), dtype=np.int64)
        if missing_value is not None:
            missing = getattr(missing_value, "value", missing_value)
            keys = np.flatnonzero(np.asarray(values).reshape(-1) != missing)
            found = found[keys]
        store = MatrixStore.from_keys((shape[0], shape[1]), keys, found.copy())
        return cls._from_store(store, type_, name)

    @classmethod
    def from_dicts(
        cls,
        nested_dicts: Any,
        dtype: Any = None,
        *,
        order: str = "rowwise",
        nrows: Any = None,
        ncols: Any = None,
        name: str | None = None,
    ) -> Matrix:
        """Return a matrix from a dict (or list) by row of dicts of values by column."""
        store, type_ = forms.from_dicts(nested_dicts, dtype, order, (nrows, ncols))
        return cls._from_store(store, type_, name)

    def _as_vector(self, *, name: str | None = None) -> Any:
        from weft.graphblas.vector import Vector

        if self._ncols != 1:
            raise ValueError(
                f"Matrix must have a single column to become a vector; it has {self._ncols}."
            )
        name = self.name if name is None else name
        return Vector._from_store(as_vector(self._store), self.dtype, name)


class TransposedMatrix(Readable):
    """The transpose of a matrix, as an operand. ``A.T.T`` is ``A``."""

    __slots__ = ("__weakref__", "_matrix")
    _output = "TransposedMatrix"
    _lazy = False
    _is_scalar = False
    _is_transposed = True
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, matrix: Matrix) -> None:
        self._matrix = matrix

    @property
    def _entries(self) -> MatrixStore:
        return self._matrix._store.twin

    _store = _entries

    @property
    def T(self) -> Matrix:
        """The matrix itself."""
        return self._matrix

    @property
    def dtype(self) -> Any:
        """The type of the values."""
        return self._matrix.dtype

    @property
    def name(self) -> str:  # type: ignore[override]
        """The matrix's name with ``.T``."""
        return f"{self._matrix.name}.T"

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self._matrix._ncols, self._matrix._nrows

    @property
    def _name_html(self) -> str:
        return f"{self._matrix._name_html}.T"

    def to_coo(
        self,
        dtype: Any = None,
        *,
        rows: Any = True,
        columns: Any = True,
        values: Any = True,
        sort: bool = True,
    ) -> tuple[Any, Any, Any]:
        """Return rows, columns and values as arrays, column by column."""
        store, np_type = self._matrix._store, self._type(dtype)
        found = forms.to_coo(store, np_type, columns, rows, values)
        return found[1], found[0], found[2]

    def __repr__(self) -> str:
        from weft.graphblas import formatting

        return formatting.matrix_text(self)

    def _repr_html_(self) -> str:
        from weft.graphblas import formatting

        return formatting.matrix_html(self)

    def new(
        self, dtype: Any = None, *, mask: Any = None, name: str | None = None, **opts: Any
    ) -> Matrix:
        """Return the transpose as a matrix of its own."""
        return self.dup(dtype, mask=mask, name=name, **opts)

    def wait(self, how: str = "materialize") -> TransposedMatrix:
        """Compute all recorded assignments to the matrix."""
        self._matrix.wait(how)
        return self


def _restored(rows: Any, cols: Any, values: Any, dtype: str, shape: Any, name: str) -> Matrix:
    return Matrix.from_coo(rows, cols, values, dtype, nrows=shape[0], ncols=shape[1], name=name)
