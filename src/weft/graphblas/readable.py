"""What matrices and transposed matrices can be asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from weft.graphblas import matrix_forms as forms
from weft.graphblas import operations, products
from weft.graphblas.arithmetic import Arithmetic
from weft.graphblas.building import fill_array
from weft.graphblas.checks import expect_type
from weft.graphblas.dtypes import lookup_dtype, unify
from weft.graphblas.elementwise import ewise
from weft.graphblas.expressions import check_options
from weft.graphblas.indexing import Indexes, extent_of
from weft.graphblas.kernels.places import diagonal_of, element
from weft.graphblas.operators.binary import binary
from weft.graphblas.operators.monoid import monoid
from weft.graphblas.operators.semiring import semiring
from weft.graphblas.storage.matrix import MatrixStore


class Readable(Arithmetic):
    """What matrices and transposed matrices can be asked."""

    __slots__ = ()
    ndim = 2

    dtype: Any
    name: str
    shape: Any
    _matrix: Any

    @property
    def _entries(self) -> MatrixStore:
        raise NotImplementedError

    @property
    def nrows(self) -> int:
        """The number of rows."""
        return int(self.shape[0])

    @property
    def ncols(self) -> int:
        """The number of columns."""
        return int(self.shape[1])

    @property
    def nvals(self) -> int:
        """The number of values."""
        return self._entries.nvals

    _nvals = nvals

    def __getitem__(self, keys: Any) -> Any:
        from weft.graphblas.infix import index_class

        indexes = Indexes(self, keys)
        return index_class(len(indexes.shape))(self, indexes)

    def __contains__(self, index: Any) -> bool:
        indexes = Indexes(self, index)
        if indexes.shape:
            raise TypeError(f"Invalid index to Matrix contains: {index!r}. Expected two integers.")
        return element(self._entries, *(axis.one for axis in indexes.axes)) is not None

    def __iter__(self) -> Iterator[tuple[int, int]]:
        store = self._entries
        return zip(store.rows.tolist(), np.asarray(store.cols).tolist(), strict=True)

    def __bool__(self) -> bool:
        raise TypeError(
            f"__bool__ not defined for objects of type {type(self).__name__}. "
            "Perhaps use the .nvals attribute instead."
        )

    def __array__(self, dtype: Any = None, *, copy: Any = None) -> Any:
        raise TypeError(
            f"{type(self).__name__} can't be directly converted to a numpy array; perhaps use "
            "the .to_coo() or .to_dense() method instead."
        )

    def _extracted(self, indexes: Indexes) -> Any:
        return operations.extract(self, indexes)

    def isequal(self, other: Any, *, check_dtype: bool = False, **opts: Any) -> bool:
        """Return whether two matrices have equal values at the same places.

        Parameters
        ----------
        other
            The other matrix.
        check_dtype
            Whether the types have to be the same too.
        """
        other = expect_type(self, other, ("Matrix", "TransposedMatrix"), within="isequal")
        if other.shape != self.shape or (check_dtype and other.dtype is not self.dtype):
            return False
        np_type = unify(self.dtype, other.dtype).np_type
        return operations.equal(self._entries, other._entries, np_type)

    def isclose(
        self,
        other: Any,
        *,
        rel_tol: float = 1e-7,
        abs_tol: float = 0.0,
        check_dtype: bool = False,
        **opts: Any,
    ) -> bool:
        """Return whether two matrices have nearly equal values at the same places."""
        other = expect_type(self, other, ("Matrix", "TransposedMatrix"), within="isclose")
        if other.shape != self.shape or (check_dtype and other.dtype is not self.dtype):
            return False
        return operations.close(self._entries, other._entries, rel_tol, abs_tol)

    def dup(
        self,
        dtype: Any = None,
        *,
        clear: bool = False,
        mask: Any = None,
        name: str | None = None,
        **opts: Any,
    ) -> Any:
        """Return a copy. See `Vector.dup`."""
        from weft.graphblas.matrix import Matrix

        check_options(opts)
        dtype = self.dtype if dtype is None else lookup_dtype(dtype)
        made = Matrix(dtype, *self.shape, name=name)
        if not clear:
            made._update(self, mask)
        return made

    def to_coo(
        self,
        dtype: Any = None,
        *,
        rows: Any = True,
        columns: Any = True,
        values: Any = True,
        sort: bool = True,
    ) -> tuple[Any, Any, Any]:
        """Return rows, columns and values as arrays, row by row; None for what is not wanted."""
        return forms.to_coo(self._entries, self._type(dtype), rows, columns, values)

    def to_edgelist(
        self, dtype: Any = None, *, values: Any = True, sort: bool = True
    ) -> tuple[Any, Any]:
        """Return an array of (row, column) pairs, and the values."""
        rows, columns, found = forms.to_coo(self._entries, self._type(dtype), True, True, values)
        return np.column_stack([rows, columns]), found

    def to_csr(self, dtype: Any = None, *, sort: bool = True) -> tuple[Any, Any, Any]:
        """Return row pointers, columns and values."""
        return forms.to_csr(self._entries, self._type(dtype))

    def to_csc(self, dtype: Any = None, *, sort: bool = True) -> tuple[Any, Any, Any]:
        """Return column pointers, rows and values."""
        return forms.to_csr(self._entries.twin, self._type(dtype))

    def to_dcsr(self, dtype: Any = None, *, sort: bool = True) -> tuple[Any, Any, Any, Any]:
        """Return the rows that have values, their pointers, columns and values."""
        return forms.to_dcsr(self._entries, self._type(dtype))

    def to_dcsc(self, dtype: Any = None, *, sort: bool = True) -> tuple[Any, Any, Any, Any]:
        """Return the columns that have values, their pointers, rows and values."""
        return forms.to_dcsr(self._entries.twin, self._type(dtype))

    def to_dense(self, fill_value: Any = None, dtype: Any = None, **opts: Any) -> Any:
        """Return a NumPy array, with `fill_value` where there is no value."""
        return fill_array(self._entries, self.shape, fill_value, dtype, "Matrix")

    def to_dicts(self, order: str = "rowwise") -> dict[int, dict[int, Any]]:
        """Return a dict by row of dicts of the values by column, or the other way round."""
        store = self._entries if forms.is_rowwise(order) else self._entries.twin
        return forms.to_dicts(store)

    def _type(self, dtype: Any) -> Any:
        return (self.dtype if dtype is None else lookup_dtype(dtype)).np_type

    def diag(self, k: Any = 0, dtype: Any = None, *, name: str | None = None, **opts: Any) -> Any:
        """Return the k-th diagonal as a vector."""
        from weft.graphblas.vector import Vector

        check_options(opts)
        store = diagonal_of(self._entries, int(k)).cast(self._type(dtype))
        dtype = self.dtype if dtype is None else lookup_dtype(dtype)
        return Vector._from_store(store, dtype, name)

    def get(self, row: Any, col: Any, default: Any = None) -> Any:
        """Return the value at a place as a Python number, or `default`."""
        indexes = Indexes(self, (row, col))
        if indexes.shape:
            raise ValueError(f"Bad row, col in Matrix.get(...): {row!r}, {col!r}.")
        found = element(self._entries, *(axis.one for axis in indexes.axes))
        return default if found is None else found.item()

    def ewise_add(self, other: Any, op: Any = monoid.plus) -> Any:
        """Combine with another matrix where either has a value; a lone one passes unchanged."""
        return ewise("ewise_add", self, other, op)

    def ewise_mult(self, other: Any, op: Any = binary.times) -> Any:
        """Combine with another matrix where both have values."""
        return ewise("ewise_mult", self, other, op)

    def ewise_union(self, other: Any, op: Any, left_default: Any, right_default: Any) -> Any:
        """Combine with another matrix where either has a value; defaults stand for the rest."""
        return ewise("ewise_union", self, other, op, defaults=(left_default, right_default))

    def _ewise_add(self, other: Any, op: Any = None, *, is_infix: bool = False) -> Any:
        return ewise("ewise_add", self, other, op, is_infix=is_infix)

    def _ewise_mult(self, other: Any, op: Any = None, *, is_infix: bool = False) -> Any:
        return ewise("ewise_mult", self, other, op, is_infix=is_infix)

    def mxv(self, other: Any, op: Any = semiring.plus_times) -> Any:
        """Multiply with a vector, over a semiring."""
        return products.product("mxv", self, other, op)

    def _mxv(self, other: Any, op: Any = None, *, is_infix: bool = False) -> Any:
        return products.product("mxv", self, other, op, is_infix=is_infix)

    def mxm(self, other: Any, op: Any = semiring.plus_times) -> Any:
        """Multiply with a matrix, over a semiring."""
        return products.product("mxm", self, other, op)

    def _mxm(self, other: Any, op: Any = None, *, is_infix: bool = False) -> Any:
        return products.product("mxm", self, other, op, is_infix=is_infix)

    def kronecker(self, other: Any, op: Any = binary.times) -> Any:
        """Return the Kronecker product."""
        return products.kronecker(self, other, op)

    def apply(self, op: Any, right: Any = None, *, left: Any = None) -> Any:
        """Apply an operator to every value. See `Vector.apply`."""
        return operations.apply(self, op, right, left)

    def select(self, op: Any, thunk: Any = None) -> Any:
        """Keep the values for which a select operator, a mask or a boolean matrix holds."""
        return operations.select(self, op, thunk)

    def reduce_rowwise(self, op: Any = monoid.plus) -> Any:
        """Reduce every row to a value, with a monoid or an aggregator."""
        return operations.reduce_rows(self, op, columns=False)

    def reduce_columnwise(self, op: Any = monoid.plus) -> Any:
        """Reduce every column to a value, with a monoid or an aggregator."""
        return operations.reduce_rows(self, op, columns=True)

    def reduce_scalar(self, op: Any = monoid.plus, *, allow_empty: bool = True) -> Any:
        """Reduce all values to a scalar. See `Vector.reduce`."""
        return operations.reduce(self, op, allow_empty=allow_empty, within="reduce_scalar")

    def reposition(
        self, row_offset: Any, column_offset: Any, *, nrows: Any = None, ncols: Any = None
    ) -> Any:
        """Move all values by offsets, and cut to a shape."""
        shape = (
            self.nrows if nrows is None else extent_of(nrows, "nrows"),
            self.ncols if ncols is None else extent_of(ncols, "ncols"),
        )
        return operations.reposition(self, (int(row_offset), int(column_offset)), shape)

    def power(self, n: Any, op: Any = semiring.plus_times) -> Any:
        """Multiply the matrix `n` times with itself, over a semiring."""
        return operations.power(self, n, op)
