"""Binary operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.graphblas import dtypes
from weft.graphblas.dtypes import ALL, BOOL, FLOATS, FP64, INT8, INT64, INTEGERS
from weft.graphblas.operators import functions as fn
from weft.graphblas.operators.base import (
    Namespace,
    Operator,
    Parameterized,
    TypedOp,
    check_function,
    refuse_unparsable,
    udf_types,
    vectorized,
)
from weft.graphblas.operators.unary import TO_FLOAT, register, share

binary = Namespace("binary", "Binary operators.")


class TypedBinaryOp(TypedOp):
    """A binary operator for one type."""

    __slots__ = ()
    opclass = "BinaryOp"

    @property
    def monoid(self) -> Any:
        """The monoid of this operator and type, or None."""
        of_all = self.parent.monoid
        if of_all is None:
            return None
        found = of_all._typed_ops.get(self.type)
        return found if found is not None and found.type is self.type else None

    @property
    def commutes_to(self) -> Any:
        """The operator with the operands exchanged, or None."""
        other = self.parent.commutes_to
        return None if other is None else other[self.type]

    @property
    def is_commutative(self) -> bool:
        """Whether the operands may be exchanged."""
        return self.parent.is_commutative


class ParameterizedBinaryOp(Parameterized):
    """A binary operator with parameters."""

    _modname = "binary"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.monoid: Any = None
        self.is_commutative = False

    @property
    def commutes_to(self) -> Any:
        """The operator itself where it is commutative, or None."""
        return self if self.is_commutative else None

    def _make(self, *args: Any, **kwargs: Any) -> Any:
        made = super()._make(*args, **kwargs)
        made._commutes_to = made if self.is_commutative else None
        if self.monoid is not None:
            try:
                made.monoid = self.monoid._of(made, args, kwargs)
            except Exception:
                made.monoid = None
        return made


class BinaryOp(Operator):
    """A binary operator.

    Attributes
    ----------
    monoid : Monoid or None
        The monoid that has this operator.
    """

    _modname = "binary"
    opclass = "BinaryOp"
    typed_class = TypedBinaryOp
    module = binary

    def __init__(self, name: str, *, anonymous: bool = False) -> None:
        super().__init__(name, anonymous=anonymous)
        self.monoid: Any = None
        self._commutes_to: Any = None

    @property
    def commutes_to(self) -> Any:
        """The operator with the operands exchanged, or None."""
        other = self._commutes_to
        if isinstance(other, str):
            other = self._commutes_to = getattr(binary, other)
        return other

    @property
    def is_commutative(self) -> bool:
        """Whether the operands may be exchanged."""
        return self.commutes_to is self

    @classmethod
    def register_anonymous(
        cls,
        func: Any,
        name: str | None = None,
        *,
        parameterized: bool = False,
        is_udt: bool = False,
    ) -> Any:
        """Return an operator made of a Python function of two values, kept under no name.

        See `UnaryOp.register_anonymous`.
        """
        check_function(func, "a binary operator")
        name = str(name or getattr(func, "__name__", "<anonymous>"))
        if parameterized:
            return ParameterizedBinaryOp(name, func, cls, anonymous=True)
        made = cls(name, anonymous=True)
        made.orig_func = func
        raw = vectorized(func, 2)
        for type_, found in udf_types(raw, 2):
            made.add(type_, found, raw)
        if not made.types:
            refuse_unparsable(name)
        return made

    @classmethod
    def register_new(
        cls,
        name: str,
        func: Any,
        *,
        parameterized: bool = False,
        is_udt: bool = False,
        lazy: bool = False,
    ) -> Any:
        """Make an operator of a Python function and keep it as ``gb.binary.<name>``."""
        return register(cls, name, func, parameterized, lazy)


def builtin(name: str, func: Any, types: Any, returns: Any = None) -> BinaryOp:
    """Register a built-in binary operator for some types."""
    made = BinaryOp(name)
    for type_ in types:
        made.add(type_, returns or type_, func)
    setattr(binary, name, made)
    share(BinaryOp, name, made)
    return made


EVERY_TYPE = {
    "absfirst": lambda x, y: fn.absolute(x),
    "abssecond": lambda x, y: fn.absolute(y),
    "any": fn.second,
    "cdiv": fn.divide,
    "first": fn.first,
    "iseq": np.equal,
    "isge": np.greater_equal,
    "isgt": np.greater,
    "isle": np.less_equal,
    "islt": np.less,
    "isne": np.not_equal,
    "land": np.logical_and,
    "lor": np.logical_or,
    "lxor": np.logical_xor,
    "max": fn.maximum,
    "min": fn.minimum,
    "minus": fn.minus,
    "pair": fn.ones,
    "plus": np.add,
    "pow": fn.power,
    "rdiv": lambda x, y: fn.divide(y, x),
    "rminus": lambda x, y: fn.minus(y, x),
    "second": fn.second,
    "times": np.multiply,
}
for _name, _func in EVERY_TYPE.items():
    builtin(_name, _func, ALL)

COMPARISONS = {
    "eq": np.equal,
    "ge": np.greater_equal,
    "gt": np.greater,
    "le": np.less_equal,
    "lt": np.less,
    "ne": np.not_equal,
}
for _name, _func in COMPARISONS.items():
    builtin(_name, _func, ALL, BOOL)

FLOAT_FUNCTIONS = {
    "atan2": np.arctan2,
    "copysign": np.copysign,
    "fmod": np.fmod,
    "hypot": np.hypot,
    "ldexp": fn.ldexp,
    "remainder": fn.remainder,
}
for _name, _func in FLOAT_FUNCTIONS.items():
    _made = builtin(_name, _func, FLOATS)
    for _type, _to in TO_FLOAT.items():
        _made.coerce(_type, _to)

BITS = {
    "band": np.bitwise_and,
    "bclr": fn.clear_bit,
    "bget": fn.get_bit,
    "bor": np.bitwise_or,
    "bset": fn.set_bit,
    "bshift": fn.shift,
    "bxnor": fn.bitwise_xnor,
    "bxor": np.bitwise_xor,
}
for _name, _func in BITS.items():
    builtin(_name, _func, INTEGERS)

_made = builtin("binom", fn.binomial, [INT64])
for _type in INTEGERS:
    if _type is not INT64:
        _made.coerce(_type, INT64)

_made = builtin("lxnor", fn.logical_xnor, [BOOL])
for _type in dtypes.NUMBERS:
    _made.coerce(_type, BOOL)

for _name, _func in {
    "floordiv": fn.floor_divide,
    "rfloordiv": lambda x, y: fn.floor_divide(y, x),
    "rpow": lambda x, y: fn.power(y, x),
}.items():
    _made = builtin(_name, _func, dtypes.NUMBERS)
    _made.add(BOOL, INT8, _func)

for _name, _func in {
    "truediv": fn.true_divide,
    "rtruediv": lambda x, y: fn.true_divide(y, x),
}.items():
    _made = builtin(_name, _func, (BOOL, *INTEGERS), FP64)
    for _type in FLOATS:
        _made.add(_type, _type, _func)


def _isclose(rel_tol: float = 1e-7, abs_tol: float = 0.0) -> Any:
    def inner(x: Any, y: Any) -> Any:
        near = np.maximum(rel_tol * np.maximum(np.abs(x), np.abs(y)), abs_tol)
        return (x == y) | (np.abs(x - y) <= near)

    return inner


binary.isclose = ParameterizedBinaryOp("isclose", _isclose, BinaryOp)
binary.isclose.is_commutative = True
share(BinaryOp, "isclose", binary.isclose)

PAIRS = (
    "absfirst abssecond",
    "cdiv rdiv",
    "first second",
    "floordiv rfloordiv",
    "ge le",
    "gt lt",
    "isge isle",
    "isgt islt",
    "minus rminus",
    "pow rpow",
    "truediv rtruediv",
)
COMMUTATIVE = (
    "any band bor bxnor bxor eq hypot iseq isne land lor lxnor lxor max min ne pair plus times"
)
for _pair in PAIRS:
    _left, _right = _pair.split()
    getattr(binary, _left)._commutes_to, getattr(binary, _right)._commutes_to = _right, _left
for _name in COMMUTATIVE.split():
    getattr(binary, _name)._commutes_to = _name

binary.register_new = BinaryOp.register_new
binary.register_anonymous = BinaryOp.register_anonymous
