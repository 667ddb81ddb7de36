"""Python's operators on vectors, matrices, scalars and expressions."""

from __future__ import annotations

from typing import Any

from weft.graphblas.checks import output_kind
from weft.graphblas.dtypes import BOOL
from weft.graphblas.elementwise import ewise_infix, matmul_infix
from weft.graphblas.operators.binary import binary
from weft.graphblas.operators.numpy_names import numpy_binary
from weft.graphblas.operators.unary import unary

TENSORS = {"Vector", "Matrix", "TransposedMatrix"}


def combined(left: Any, right: Any, op: Any, how: str = "mult") -> Any:
    """Return the expression of an operator between two operands, one of which may be a scalar."""
    kinds = output_kind(left), output_kind(right)
    one, other = left, right
    if kinds[0] in TENSORS or kinds[1] in TENSORS:
        if not (kinds[0] in TENSORS and kinds[1] in TENSORS):
            return op(left, right)
    elif kinds[0] != "Scalar":
        one, other, op = right, left, op.commutes_to
    if how == "add":
        return one.ewise_add(other, op)
    if how == "union":
        return one.ewise_union(other, op, False, False)
    return one.ewise_mult(other, op)


def check_bool(dtype: Any, name: str) -> None:
    """Raise unless a type is BOOL, which bitwise signs need."""
    if dtype is not BOOL:
        raise TypeError(
            f"The {name} infix operator is not supported for {dtype} dtype; "
            "it is only supported for BOOL."
        )


class Arithmetic:
    """``+ - * / // % ** ^ < <= > >= == != abs - ~ | & @`` and their in-place forms."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Any) -> Any:
        return combined(self, other, binary.plus, "add")

    def __radd__(self, other: Any) -> Any:
        return combined(other, self, binary.plus, "add")

    def __sub__(self, other: Any) -> Any:
        return combined(self, other, binary.minus, "union")

    def __rsub__(self, other: Any) -> Any:
        return combined(other, self, binary.minus, "union")

    def __mul__(self, other: Any) -> Any:
        return combined(self, other, binary.times)

    def __rmul__(self, other: Any) -> Any:
        return combined(other, self, binary.times)

    def __truediv__(self, other: Any) -> Any:
        return combined(self, other, binary.truediv)

    def __rtruediv__(self, other: Any) -> Any:
        return combined(other, self, binary.truediv)

    def __floordiv__(self, other: Any) -> Any:
        return combined(self, other, binary.floordiv)

    def __rfloordiv__(self, other: Any) -> Any:
        return combined(other, self, binary.floordiv)

    def __mod__(self, other: Any) -> Any:
        return combined(self, other, numpy_binary.mod)

    def __rmod__(self, other: Any) -> Any:
        return combined(other, self, numpy_binary.mod)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __pow__(self, other: Any) -> Any:
        return combined(self, other, binary.pow)

    def __rpow__(self, other: Any) -> Any:
        return combined(other, self, binary.pow)

    def __lt__(self, other: Any) -> Any:
        return combined(self, other, binary.lt)

    def __le__(self, other: Any) -> Any:
        return combined(self, other, binary.le)

    def __gt__(self, other: Any) -> Any:
        return combined(self, other, binary.gt)

    def __ge__(self, other: Any) -> Any:
        return combined(self, other, binary.ge)

    def __eq__(self, other: Any) -> Any:
        return combined(self, other, binary.eq)

    def __ne__(self, other: Any) -> Any:
        return combined(self, other, binary.ne)

    def __xor__(self, other: Any) -> Any:
        made = combined(self, other, binary.lxor, "add")
        check_bool(made.dtype, "`x ^ y`")
        return made

    def __rxor__(self, other: Any) -> Any:
        made = combined(other, self, binary.lxor, "add")
        check_bool(made.dtype, "`x ^ y`")
        return made

    def __abs__(self) -> Any:
        return unary.abs(self)

    def __neg__(self) -> Any:
        return unary.ainv(self)

    def __invert__(self) -> Any:
        dtype = self.dtype  # type: ignore[attr-defined]
        if dtype is not BOOL:
            raise TypeError(f"The invert operator, `~`, is not supported for {dtype} dtype.")
        return unary.lnot(self)

    def __or__(self, other: Any) -> Any:
        return ewise_infix(self, other, "ewise_add", "__or__")

    def __ror__(self, other: Any) -> Any:
        return ewise_infix(other, self, "ewise_add", "__ror__")

    def __and__(self, other: Any) -> Any:
        return ewise_infix(self, other, "ewise_mult", "__and__")

    def __rand__(self, other: Any) -> Any:
        return ewise_infix(other, self, "ewise_mult", "__rand__")

    def __matmul__(self, other: Any) -> Any:
        return matmul_infix(self, other, "__matmul__")

    def __rmatmul__(self, other: Any) -> Any:
        return matmul_infix(other, self, "__rmatmul__")


class InPlace:
    """The in-place forms, for objects that can be assigned to."""

    __slots__ = ()

    def __iadd__(self, other: Any) -> Any:
        if output_kind(other) in TENSORS and output_kind(other) == output_kind(self):
            return self._accumulated_with(binary.plus, other)
        return self._assigned(self + other)

    def __isub__(self, other: Any) -> Any:
        return self._assigned(self - other)

    def __imul__(self, other: Any) -> Any:
        return self._assigned(self * other)

    def __itruediv__(self, other: Any) -> Any:
        return self._assigned(self / other)

    def __ifloordiv__(self, other: Any) -> Any:
        return self._assigned(self // other)

    def __imod__(self, other: Any) -> Any:
        return self._assigned(self % other)

    def __ipow__(self, other: Any) -> Any:
        return self._assigned(self**other)

    def __ixor__(self, other: Any) -> Any:
        return self._bitwise(other, binary.lxor, "`x ^= y`")

    def __ior__(self, other: Any) -> Any:
        return self._bitwise(other, binary.lor, "`x |= y`")

    def __iand__(self, other: Any) -> Any:
        made = combined(self, other, binary.land)
        check_bool(made.dtype, "`x &= y`")
        return self._assigned(made)

    def __imatmul__(self, other: Any) -> Any:
        if self._is_scalar:  # type: ignore[attr-defined]
            raise TypeError("'__imatmul__' is not supported for Scalar.")
        return self._assigned(self @ other)

    def _accumulated_with(self, op: Any, other: Any) -> Any:
        self(op).update(other)  # type: ignore[operator]
        return self

    def _bitwise(self, other: Any, op: Any, sign: str) -> Any:
        if output_kind(other) in TENSORS and output_kind(other) == output_kind(self):
            check_bool(other.dtype, sign)
            return self._accumulated_with(op, other)
        made = combined(self, other, op, "add")
        check_bool(made.dtype, sign)
        return self._assigned(made)

    def _assigned(self, made: Any) -> Any:
        self._update(made)  # type: ignore[attr-defined]
        return self


class Unassignable:
    """In-place forms of expressions: refused."""

    __slots__ = ()


def _refuse(sign: str) -> Any:
    def refused(self: Any, other: Any) -> Any:
        raise TypeError(
            f"{sign!r} is not supported for {type(self).__name__}: it is no object that could be "
            "assigned to. Call `.new()` first."
        )

    return refused


for _sign in [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "xor",
    "or",
    "and",
    "matmul",
]:
    setattr(Unassignable, f"__i{_sign}__", _refuse(f"__i{_sign}__"))
