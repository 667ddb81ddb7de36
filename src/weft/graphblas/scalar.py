"""Scalars: one value, or none."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from weft.graphblas import operations
from weft.graphblas.assignment import Assignment, result
from weft.graphblas.base import BaseType
from weft.graphblas.cells import Cell, recorded
from weft.graphblas.checks import output_kind
from weft.graphblas.dtypes import FP64, lookup_dtype
from weft.graphblas.elementwise import ewise
from weft.graphblas.expressions import Operation
from weft.graphblas.operators.binary import binary
from weft.graphblas.operators.monoid import monoid
from weft.graphblas.options import options
from weft.graphblas.recorder import record
from weft.graphblas.settings import mode
from weft.graphblas.storage.cast import cast


class Scalar(BaseType):
    """One value of a data type, or none.

    Parameters
    ----------
    dtype
        The type of the value.
    is_cscalar
        Kept for compatibility: whether the scalar counts as one of the host's.
    name
        A name to show; one is made if not given.

    Examples
    --------
    >>> import weft.graphblas as gb
    >>> s = gb.Scalar.from_value(5)
    >>> s << gb.Vector.from_coo([0, 1], [1, 2]).reduce()
    >>> s.value
    3
    """

    __slots__ = ("_is_cscalar",)
    _output = "Scalar"
    _is_scalar = True
    _name_counter = itertools.count()
    ndim = 0
    shape = ()

    def __init__(self, dtype: Any = FP64, *, is_cscalar: bool = False, name: str | None = None):
        self.dtype = lookup_dtype(dtype)
        self.name = f"s_{next(Scalar._name_counter)}" if name is None else name
        self._is_cscalar = is_cscalar
        self._pending = None
        self._cell = Cell(None)

    @classmethod
    def from_value(
        cls, value: Any, dtype: Any = None, *, is_cscalar: bool = False, name: str | None = None
    ) -> Scalar:
        """Return a scalar with a value; None gives an empty one and needs a `dtype`."""
        if output_kind(value) == "Scalar":
            if value._lazy:
                value = value.new()
            dtype = value.dtype if dtype is None else dtype
            value = value._store
        elif dtype is None:
            if value is None:
                raise TypeError("Cannot tell the type of an empty scalar; give dtype=.")
            dtype = _dtype_of(value)
        made = cls(dtype, is_cscalar=bool(is_cscalar), name=name)
        made._cell = Cell(made._typed(value))
        return made

    def _typed(self, value: Any) -> Any:
        """Return a value in this scalar's type."""
        if value is None:
            return None
        if not isinstance(value, bool | int | float | np.generic | np.ndarray):
            raise TypeError(
                f"Bad type for argument `value`: expected a number or a boolean; got "
                f"{type(value).__name__}."
            )
        np_type = self.dtype.np_type
        if isinstance(value, int) and np_type.kind in "iu" and not isinstance(value, bool):
            limits = np.iinfo(np_type)
            if not limits.min <= value <= limits.max:
                value = np.array(value & (2**64 - 1), np.uint64).astype(np_type)
        found = np.asarray(value)
        if found.dtype.kind not in "biuf" or found.size != 1:
            raise TypeError(f"Bad type for argument `value`: {type(value).__name__}.")
        return cast(found.reshape(1), np_type)[0]

    @property
    def is_cscalar(self) -> bool:
        """Whether it was made as a scalar of the host."""
        return self._is_cscalar

    @property
    def is_grbscalar(self) -> bool:
        """Whether it was not made as a scalar of the host."""
        return not self._is_cscalar

    @property
    def value(self) -> Any:
        """The value as a Python number or boolean; None where there is none."""
        found = self._store
        return None if found is None else found.item()

    @value.setter
    def value(self, value: Any) -> None:
        if output_kind(value) == "Scalar":
            value = (value.new() if value._lazy else value)._store
        self._set(self._typed(value))

    @property
    def is_empty(self) -> bool:
        """Whether there is no value."""
        return self._store is None

    _is_empty = is_empty

    @property
    def nvals(self) -> int:
        """1, or 0 where there is no value."""
        return int(self._store is not None)

    def clear(self) -> None:
        """Remove the value."""
        self._set(None)

    def get(self, default: Any = None) -> Any:
        """Return the value, or `default` where there is none."""
        return default if self._store is None else self.value

    def dup(
        self,
        dtype: Any = None,
        *,
        clear: bool = False,
        is_cscalar: bool | None = None,
        name: str | None = None,
    ) -> Scalar:
        """Return a copy, of another type if one is given; with `clear` an empty one."""
        made = Scalar(
            self.dtype if dtype is None else dtype,
            is_cscalar=self._is_cscalar if is_cscalar is None else is_cscalar,
            name=name,
        )
        if not clear:
            made._cell = Cell(made._typed(self._store))
        return made

    def isequal(self, other: Any, *, check_dtype: bool = False) -> bool:
        """Return whether two scalars have the same value, or both none."""
        other = _other(self, other, "isequal", check_dtype)
        if other is None:
            return self._store is None
        if check_dtype and other.dtype is not self.dtype:
            return False
        mine, theirs = self._store, other._store
        if mine is None or theirs is None:
            return mine is None and theirs is None
        return bool(mine == theirs)

    def isclose(
        self, other: Any, *, rel_tol: float = 1e-7, abs_tol: float = 0.0, check_dtype: bool = False
    ) -> bool:
        """Return whether two scalars have nearly the same value, or both none."""
        other = _other(self, other, "isclose", check_dtype)
        if other is None:
            return self._store is None
        if check_dtype and other.dtype is not self.dtype:
            return False
        x, y = self._store, other._store
        if x is None or y is None:
            return x is None and y is None
        return bool(x == y or abs(x - y) <= max(rel_tol * max(abs(x), abs(y)), abs_tol))

    def __eq__(self, other: Any) -> Any:
        return self.isequal(other)

    def __ne__(self, other: Any) -> Any:
        return not self.isequal(other)

    __hash__ = None

    def __bool__(self) -> bool:
        return bool(self._store) if self._store is not None else False

    def __float__(self) -> float:
        return float(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __complex__(self) -> complex:
        return complex(self.value)

    @property
    def __index__(self) -> Any:
        if self.dtype.np_type.kind in "iu":
            return self.__int__
        raise AttributeError("Scalar object only has `__index__` for integral dtypes.")

    def __array__(self, dtype: Any = None, *, copy: Any = None) -> Any:
        return np.array(self.value, self.dtype.np_type if dtype is None else dtype)

    def __setitem__(self, keys: Any, value: Any) -> None:
        raise TypeError("'Scalar' object does not support item assignment")

    def __delitem__(self, keys: Any) -> None:
        raise TypeError("'Scalar' object doesn't support item deletion")

    def __reduce__(self) -> Any:
        return _restored, (self.value, self.dtype.name, self._is_cscalar, self.name)

    def __repr__(self) -> str:
        from weft.graphblas import formatting

        return formatting.scalar_text(self)

    def _repr_html_(self) -> str:
        from weft.graphblas import formatting

        return formatting.scalar_html(self)

    def _write_operation(
        self,
        operation: Operation,
        shape: tuple[int, ...],
        mask: Any,
        accum: Any,
        replace: bool,
        text: Any,
    ) -> None:
        operation.check()
        record(self, None, accum, False, text)
        if mode.blocking:
            self._set(self._accumulated(self._store if accum else None, operation.now(None), accum))
            return
        old = self._current if accum is not None else Cell(None)
        assignment = Assignment(operation, None, None, None, False, None)
        self._cell = recorded(
            lambda: self._accumulated(old.get(), result(assignment), accum),
            old,
            *assignment.cells(),
        )
        self._pending = None

    def _accumulated(self, old: Any, new: Any, accum: Any) -> Any:
        if accum is None or old is None:
            if new is None:
                return old
            return self._typed(new)
        if new is None:
            return old
        x = cast(np.asarray(old).reshape(1), accum.type.np_type)
        y = cast(np.asarray(new).reshape(1), accum.type2.np_type)
        return self._typed(accum.evaluate(x, y)[0])

    def _update_object(self, value: Any, mask: Any, accum: Any, replace: bool) -> None:
        if output_kind(value) in {"Vector", "Matrix", "TransposedMatrix"} or value is None:
            raise TypeError(
                f"Assignment value must be a valid expression type, not {type(value).__name__}."
            )
        scalar = as_scalar(value, "Scalar.update")
        record(self, None, accum, False, str(scalar.value))
        if accum is None:
            self._set(self._typed(scalar._store))
        else:
            self._set(self._accumulated(self._store, scalar._store, accum))

    def ewise_add(self, other: Any, op: Any = monoid.plus) -> Any:
        """Combine two scalars; a lone value passes unchanged."""
        return ewise("ewise_add", self, other, op)

    def ewise_mult(self, other: Any, op: Any = binary.times) -> Any:
        """Combine two scalars; the result is empty where one of them is."""
        return ewise("ewise_mult", self, other, op)

    def ewise_union(self, other: Any, op: Any, left_default: Any, right_default: Any) -> Any:
        """Combine two scalars; a default stands for one that is empty."""
        return ewise("ewise_union", self, other, op, defaults=(left_default, right_default))

    def _ewise_add(self, other: Any, op: Any = None, *, is_infix: bool = False) -> Any:
        return ewise("ewise_add", self, other, op, is_infix=is_infix)

    def _ewise_mult(self, other: Any, op: Any = None, *, is_infix: bool = False) -> Any:
        return ewise("ewise_mult", self, other, op, is_infix=is_infix)

    def apply(self, op: Any, right: Any = None, *, left: Any = None) -> Any:
        """Apply an operator. See `Vector.apply`."""
        return operations.apply(self, op, right, left)

    def select(self, op: Any, thunk: Any = None) -> Any:
        """Keep the value if an operator says so. See `Vector.select`."""
        return operations.select(self, op, thunk)

    def _as_vector(self, *, name: str | None = None) -> Any:
        from weft.graphblas.vector import Vector

        made = Vector(self.dtype, 1, name=self.name if name is None else name)
        if self._store is not None:
            made[0] = self
        return made


def _dtype_of(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool) and value > np.iinfo(np.int64).max:
        return lookup_dtype("UINT64")
    if isinstance(value, bool | int | float):
        return lookup_dtype(type(value))
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return lookup_dtype(value.dtype)
    raise TypeError(
        f"Bad type for argument `value`: expected a number or a boolean; got "
        f"{type(value).__name__}."
    )


def as_scalar(value: Any, within: str) -> Any:
    """Return a Scalar of a value, or the scalar itself."""
    if isinstance(value, Scalar):
        return value
    if output_kind(value) == "Scalar":
        from weft.graphblas.checks import expect_type

        return expect_type(value, value, ("Scalar",), within=within, argname="value")
    made = Scalar.__new__(Scalar)
    made.dtype = _dtype_of(value)
    made.name = str(value)
    made._is_cscalar = False
    made._pending = None
    made._cell = Cell(made._typed(value))
    return made


def _other(self: Scalar, other: Any, within: str, check_dtype: bool) -> Any:
    """Return the other operand of a comparison; None for None."""
    if other is None:
        return None
    if output_kind(other) == "Scalar":
        return as_scalar(other, within)
    made = as_scalar(other, within)
    if check_dtype:
        made = Scalar.from_value(made._store, self.dtype)
    return made


def _restored(value: Any, dtype: str, is_cscalar: bool, name: str) -> Scalar:
    return Scalar.from_value(value, dtype, is_cscalar=is_cscalar, name=name)


def new_scalar(
    expression: Any,
    dtype: Any = None,
    is_cscalar: bool | None = None,
    name: str | None = None,
    **opts: Any,
) -> Scalar:
    """Compute an expression into a new scalar."""
    if opts:
        with options(**opts):
            return new_scalar(expression, dtype, is_cscalar, name)
    made = Scalar(
        expression.dtype if dtype is None else dtype, is_cscalar=bool(is_cscalar), name=name
    )
    made._update(expression)
    return made
