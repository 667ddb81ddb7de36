"""Vectors."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from weft.graphblas import operations, products
from weft.graphblas.base import BaseType
from weft.graphblas.building import (
    check_bounds,
    dense_values,
    extent,
    fill_array,
    index_array,
    joined,
    value_array,
)
from weft.graphblas.cells import Cell
from weft.graphblas.checks import expect_type, output_kind
from weft.graphblas.dtypes import FP64, lookup_dtype, unify
from weft.graphblas.elementwise import ewise
from weft.graphblas.exceptions import OutputNotEmpty
from weft.graphblas.expressions import check_options
from weft.graphblas.indexing import Indexes, extent_of
from weft.graphblas.kernels.places import (
    as_column,
    diagonal_matrix,
    element,
    extract_vector,
)
from weft.graphblas.mask import StructuralMask, ValueMask
from weft.graphblas.operators.binary import binary
from weft.graphblas.operators.monoid import monoid
from weft.graphblas.operators.semiring import semiring
from weft.graphblas.region import assign_region, delete_region, flushed
from weft.graphblas.storage.cast import cast
from weft.graphblas.storage.vector import VectorStore, empty_vector
from weft.graphblas.updates import Updater


class Vector(BaseType):
    """A sparse vector.

    Parameters
    ----------
    dtype
        The type of its values.
    size
        The number of places.
    name
        A name to show; one is made if not given.

    Examples
    --------
    >>> import weft.graphblas as gb
    >>> v = gb.Vector.from_coo([0, 2], [10, 20], size=4)
    >>> v[1] = 5
    >>> v.to_dict()
    {0: 10, 1: 5, 2: 20}
    """

    __slots__ = ("_size",)
    _output = "Vector"
    _name_counter = itertools.count()
    ndim = 1

    def __init__(self, dtype: Any = FP64, size: Any = 0, *, name: str | None = None):
        self.dtype = lookup_dtype(dtype)
        self._size = extent_of(size, "size")
        self.name = f"v_{next(Vector._name_counter)}" if name is None else name
        self._pending = None
        self._cell = Cell(empty_vector(self._size, self.dtype.np_type))

    @classmethod
    def _from_store(cls, store: VectorStore, dtype: Any, name: str | None = None) -> Vector:
        made = cls.__new__(cls)
        made.dtype = dtype
        made._size = store.size
        made.name = f"v_{next(Vector._name_counter)}" if name is None else name
        made._pending = None
        made._cell = Cell(store)
        return made

    @property
    def size(self) -> int:
        """The number of places."""
        return self._size

    @property
    def shape(self) -> tuple[int]:
        """A tuple of the size."""
        return (self._size,)

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

        return formatting.vector_text(self)

    def _repr_html_(self) -> str:
        from weft.graphblas import formatting

        return formatting.vector_html(self)

    def __reduce__(self) -> Any:
        indices, values = self.to_coo()
        return _restored, (indices, np.asarray(values), self.dtype.name, self._size, self.name)

    def __getitem__(self, keys: Any) -> Any:
        from weft.graphblas.infix import index_class

        indexes = Indexes(self, keys)
        return index_class(len(indexes.shape))(self, indexes)

    def __setitem__(self, keys: Any, value: Any) -> None:
        self._assign(Updater(self), Indexes(self, keys), value, False)

    def __delitem__(self, keys: Any) -> None:
        delete_region(self, Indexes(self, keys))

    def __contains__(self, index: Any) -> bool:
        indexes = Indexes(self, index)
        if indexes.shape:
            raise TypeError(f"Invalid index to Vector contains: {index!r}. Expected an integer.")
        return element(self._store, indexes.axes[0].one) is not None

    def __iter__(self) -> Iterator[int]:
        return iter(self._store.indices.tolist())

    def _assign(
        self, updater: Updater, indexes: Indexes, value: Any, submask: bool, delete: bool = False
    ) -> None:
        assign_region(self, updater, indexes, value, submask, delete)

    def _flush(self) -> None:
        pending, self._pending = self._pending, None
        self._cell = Cell(flushed(self._cell.get(), pending, self.dtype.np_type))

    def _extracted(self, indexes: Indexes) -> Any:
        return operations.extract(self, indexes)

    def isequal(self, other: Any, *, check_dtype: bool = False, **opts: Any) -> bool:
        """Return whether two vectors have equal values at the same places.

        Parameters
        ----------
        other
            The other vector.
        check_dtype
            Whether the types have to be the same too.
        """
        other = expect_type(self, other, ("Vector",), within="isequal")
        if other.shape != self.shape or (check_dtype and other.dtype is not self.dtype):
            return False
        return operations.equal(self._store, other._store, unify(self.dtype, other.dtype).np_type)

    def isclose(
        self,
        other: Any,
        *,
        rel_tol: float = 1e-7,
        abs_tol: float = 0.0,
        check_dtype: bool = False,
        **opts: Any,
    ) -> bool:
        """Return whether two vectors have nearly equal values at the same places."""
        other = expect_type(self, other, ("Vector",), within="isclose")
        if other.shape != self.shape or (check_dtype and other.dtype is not self.dtype):
            return False
        return operations.close(self._store, other._store, rel_tol, abs_tol)

    def clear(self) -> None:
        """Remove all values."""
        self._set(empty_vector(self._size, self.dtype.np_type))

    def resize(self, size: Any) -> None:
        """Change the size; values beyond it are dropped."""
        store, size = self._store, extent_of(size, "size")
        kept = store.indices < size
        values = store.values if kept.all() else store.values[kept]
        self._size = size
        self._set(VectorStore(size, store.indices[kept], values))

    def to_coo(
        self, dtype: Any = None, *, indices: Any = True, values: Any = True, sort: bool = True
    ) -> tuple[Any, Any]:
        """Return the places and the values as arrays; None for what is not wanted.

        Parameters
        ----------
        dtype
            The type of the values; the vector's own if not given.
        indices, values
            Whether to return them.
        sort
            Accepted for compatibility: places always ascend.
        """
        store = self._store
        np_type = (self.dtype if dtype is None else lookup_dtype(dtype)).np_type
        places = store.indices.astype(np.uint64) if indices else None
        return places, (np.array(cast(store.values, np_type)) if values else None)

    def build(
        self,
        indices: Any,
        values: Any,
        *,
        dup_op: Any = None,
        clear: bool = False,
        size: Any = None,
    ) -> None:
        """Fill an empty vector.

        Parameters
        ----------
        indices, values
            The places, and a value for each or one for all.
        dup_op
            Combines values of equal places.
        clear
            Whether to remove old values first.
        size
            A new size.

        Raises
        ------
        OutputNotEmpty
            There are values, and `clear` was not asked for.
        """
        if not clear and self.nvals:
            raise OutputNotEmpty(f"{self.name} has values; call build with clear=True.")
        places = index_array(indices, "indices")
        found, _, _ = value_array(values, self.dtype, len(places))
        if len(places) != len(found):
            raise ValueError(
                f"`indices` and `values` lengths must match: {len(places)}, {len(found)}"
            )
        extent_ = self._size if size is None else extent_of(size, "size")
        check_bounds(places, extent_, "indices")
        keys, joined_values = joined(places, found, dup_op, self.dtype)
        self._size = extent_
        self._set(VectorStore(extent_, keys, joined_values))

    def dup(
        self,
        dtype: Any = None,
        *,
        clear: bool = False,
        mask: Any = None,
        name: str | None = None,
        **opts: Any,
    ) -> Vector:
        """Return a copy.

        Parameters
        ----------
        dtype
            The type of the copy.
        clear
            Whether to copy no values.
        mask
            Which places to copy.
        name
            The name of the copy.
        """
        check_options(opts)
        dtype = self.dtype if dtype is None else lookup_dtype(dtype)
        made = Vector(dtype, self._size, name=name)
        if not clear:
            made._update(self, mask)
        return made

    def diag(self, k: Any = 0, *, name: str | None = None) -> Any:
        """Return the square matrix that has this vector as its k-th diagonal."""
        from weft.graphblas.matrix import Matrix

        return Matrix._from_store(diagonal_matrix(self._store, int(k)), self.dtype, name)

    def get(self, index: Any, default: Any = None) -> Any:
        """Return the value at a place as a Python number, or `default`."""
        indexes = Indexes(self, index)
        if indexes.shape:
            raise ValueError(f"Bad index in Vector.get(...): {index!r}. Expected an integer.")
        found = element(self._store, indexes.axes[0].one)
        return default if found is None else found.item()

    @classmethod
    def from_coo(
        cls,
        indices: Any,
        values: Any = 1.0,
        dtype: Any = None,
        *,
        size: Any = None,
        dup_op: Any = None,
        name: str | None = None,
    ) -> Vector:
        """Return a vector from places and values.

        Parameters
        ----------
        indices
            The places.
        values
            A value for each, or one for all.
        dtype
            The type; that of the values if not given.
        size
            The size; one more than the largest place if not given.
        dup_op
            Combines values of equal places, which are an error without it.
        name
            The name of the vector.

        Examples
        --------
        >>> import weft.graphblas as gb
        >>> gb.Vector.from_coo([0, 1, 1], [1, 2, 3], dup_op="+").to_dict()
        {0: 1, 1: 5}
        """
        places = index_array(indices, "indices")
        found, type_, is_one = value_array(values, dtype, len(places))
        if len(places) != len(found):
            raise ValueError(
                f"`indices` and `values` lengths must match: {len(places)}, {len(found)}"
            )
        if is_one and dup_op is not None:
            raise ValueError("dup_op must be None if values is a scalar: equal places agree.")
        extent_ = extent(places, size, "size", "indices")
        check_bounds(places, extent_, "indices")
        keys, joined_values = joined(places, found, dup_op, type_)
        return cls._from_store(VectorStore(extent_, keys, joined_values), type_, name)

    @classmethod
    def from_pairs(
        cls,
        pairs: Any,
        dtype: Any = None,
        *,
        size: Any = None,
        dup_op: Any = None,
        name: str | None = None,
    ) -> Vector:
        """Return a vector from (place, value) pairs. See `from_coo`."""
        if isinstance(pairs, np.ndarray):
            raise TypeError("pairs as NumPy array is not supported; use `Vector.from_coo` instead.")
        pairs = list(pairs)
        if not pairs:
            indices: Any = []
            values: Any = []
            if size is None:
                raise ValueError("No pairs provided. Unable to infer size.")
        else:
            if any(len(pair) != 2 for pair in pairs):
                raise ValueError("Each item in the pair must have two elements: place and value.")
            indices, values = zip(*pairs, strict=True)
        return cls.from_coo(list(indices), list(values), dtype, size=size, dup_op=dup_op, name=name)

    @classmethod
    def from_scalar(
        cls, value: Any, size: Any, dtype: Any = None, *, name: str | None = None, **opts: Any
    ) -> Vector:
        """Return a vector with one value everywhere."""
        from weft.graphblas.checks import is_scalar_like
        from weft.graphblas.scalar import Scalar

        if not is_scalar_like(value):
            raise TypeError(
                f"Bad type for argument `value` in Vector.from_scalar(...): expected Scalar; got "
                f"{type(value).__name__}. Literal scalars also accepted."
            )
        scalar = Scalar.from_value(value, dtype)
        made = cls(scalar.dtype, size, name=name)
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
    ) -> Vector:
        """Return a vector of an array's elements, without those equal to `missing_value`."""
        found, type_ = dense_values(values, dtype, 1, "Vector")
        if missing_value is None:
            return cls._from_store(VectorStore.from_map(found.copy(), None), type_, name)
        present = np.asarray(values) != getattr(missing_value, "value", missing_value)
        return cls._from_store(VectorStore.from_map(found.copy(), present).settled(), type_, name)

    @classmethod
    def from_dict(
        cls, d: Any, dtype: Any = None, *, size: Any = None, name: str | None = None
    ) -> Vector:
        """Return a vector from a dict of values by place."""
        indices = np.fromiter(d.keys(), np.int64)
        if dtype is None and not d:
            values: Any = np.empty(0)
        else:
            values = np.array(list(d.values()))
        if size is None and not d:
            size = 0
        return cls.from_coo(indices, values, dtype, size=size, name=name)

    def to_dense(self, fill_value: Any = None, dtype: Any = None, **opts: Any) -> Any:
        """Return a NumPy array, with `fill_value` where there is no value."""
        return fill_array(self._store, self.shape, fill_value, dtype, "Vector")

    def to_dict(self) -> dict[int, Any]:
        """Return a dict of the values by place."""
        store = self._store
        return dict(zip(store.indices.tolist(), np.asarray(store.values).tolist(), strict=True))

    def ewise_add(self, other: Any, op: Any = monoid.plus) -> Any:
        """Combine with another vector where either has a value; a lone one passes unchanged."""
        return ewise("ewise_add", self, other, op)

    def ewise_mult(self, other: Any, op: Any = binary.times) -> Any:
        """Combine with another vector where both have values."""
        return ewise("ewise_mult", self, other, op)

    def ewise_union(self, other: Any, op: Any, left_default: Any, right_default: Any) -> Any:
        """Combine with another vector where either has a value; defaults stand for the rest."""
        return ewise("ewise_union", self, other, op, defaults=(left_default, right_default))

    def _ewise_add(self, other: Any, op: Any = None, *, is_infix: bool = False) -> Any:
        return ewise("ewise_add", self, other, op, is_infix=is_infix)

    def _ewise_mult(self, other: Any, op: Any = None, *, is_infix: bool = False) -> Any:
        return ewise("ewise_mult", self, other, op, is_infix=is_infix)

    def vxm(self, other: Any, op: Any = semiring.plus_times) -> Any:
        """Multiply with a matrix from the right, over a semiring."""
        return products.product("vxm", self, other, op)

    def _vxm(self, other: Any, op: Any = None, *, is_infix: bool = False) -> Any:
        return products.product("vxm", self, other, op, is_infix=is_infix)

    def inner(self, other: Any, op: Any = semiring.plus_times) -> Any:
        """Multiply with another vector to a scalar, over a semiring."""
        return products.product("inner", self, other, op)

    def _inner(self, other: Any, op: Any = None, *, is_infix: bool = False) -> Any:
        return products.product("inner", self, other, op, is_infix=is_infix)

    def outer(self, other: Any, op: Any = binary.times) -> Any:
        """Combine every value with every one of another vector, to a matrix."""
        return products.outer(self, other, op)

    def apply(self, op: Any, right: Any = None, *, left: Any = None) -> Any:
        """Apply an operator to every value.

        Parameters
        ----------
        op
            A unary operator, a binary one with a scalar on one side, or an index-unary one.
        right, left
            The scalar on the right, or the thunk of an index-unary operator; or that on the left.
        """
        return operations.apply(self, op, right, left)

    def select(self, op: Any, thunk: Any = None) -> Any:
        """Keep the values for which a select operator, a mask or a boolean vector holds."""
        return operations.select(self, op, thunk)

    def reduce(self, op: Any = monoid.plus, *, allow_empty: bool = True) -> Any:
        """Reduce all values to a scalar with a monoid or an aggregator.

        Parameters
        ----------
        op
            The monoid or aggregator.
        allow_empty
            Whether the result of no values is empty; else it is the identity.
        """
        return operations.reduce(self, op, allow_empty=allow_empty, within="reduce")

    def reposition(self, offset: Any, *, size: Any = None) -> Any:
        """Move all values by an offset, and cut to a size."""
        shape = (self._size if size is None else extent_of(size, "size"),)
        return operations.reposition(self, (int(offset),), shape)

    def _as_matrix(self, *, name: str | None = None) -> Any:
        from weft.graphblas.matrix import Matrix

        name = self.name if name is None else name
        return Matrix._from_store(as_column(self._store), self.dtype, name)


def _restored(indices: Any, values: Any, dtype: str, size: int, name: str) -> Vector:
    return Vector.from_coo(indices, values, dtype, size=size, name=name)


__all__ = ["Vector", "extract_vector", "output_kind"]
