"""Unary operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.graphblas import dtypes
from weft.graphblas.dtypes import BOOL, FP32, FP64, INTEGERS
from weft.graphblas.operators import functions as fn
from weft.graphblas.operators.base import (
    Namespace,
    Operator,
    Parameterized,
    TypedOp,
    check_function,
    place,
    refuse_unparsable,
    udf_types,
    vectorized,
)
from weft.graphblas.operators.names import op

unary = Namespace("unary", "Unary operators.")


class TypedUnaryOp(TypedOp):
    """A unary operator for one type."""

    __slots__ = ()
    opclass = "UnaryOp"


class ParameterizedUnaryOp(Parameterized):
    """A unary operator with parameters."""

    _modname = "unary"


class UnaryOp(Operator):
    """A unary operator."""

    _modname = "unary"
    opclass = "UnaryOp"
    typed_class = TypedUnaryOp
    module = unary

    @classmethod
    def register_anonymous(
        cls,
        func: Any,
        name: str | None = None,
        *,
        parameterized: bool = False,
        is_udt: bool = False,
    ) -> Any:
        """Return an operator made of a Python function, kept under no name.

        Parameters
        ----------
        func
            A function of one value; with `parameterized`, a function that returns one.
        name
            What to call it; the function's own name if not given.
        parameterized
            Whether `func` takes parameters and returns the function.
        is_udt
            Accepted for compatibility.
        """
        check_function(func, "a unary operator")
        name = str(name or getattr(func, "__name__", "<anonymous>"))
        if parameterized:
            return ParameterizedUnaryOp(name, func, cls, anonymous=True)
        made = cls(name, anonymous=True)
        made.orig_func = func
        raw = vectorized(func, 1)
        for type_, found in udf_types(raw, 1):
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
        """Make an operator of a Python function and keep it as ``gb.unary.<name>``.

        With `lazy` it is made when it is first used. See `register_anonymous`.
        """
        return register(cls, name, func, parameterized, lazy)


def register(kind: Any, name: str, func: Any, parameterized: bool, lazy: bool) -> Any:
    """Register an operator made from a function in the namespace of its kind, and in ``gb.op``."""
    module, last = place(kind.module, name)
    check_function(func, f"{kind._modname}.{name}")

    def make() -> Any:
        made = kind.register_anonymous(func, name, parameterized=parameterized)
        made._anonymous = False
        share(kind, name, made)
        return made

    if lazy:
        module._delayed[last] = make
        if kind.module is not op and kind.in_op:
            inner, last = place(op, name, strict=False)
            inner._delayed.setdefault(last, lambda: getattr(module, last))
        return None
    made = make()
    setattr(module, last, made)
    return made


def share(kind: Any, name: str, made: Any) -> None:
    """Make an operator known as ``gb.op.<name>`` too, unless another one has the name."""
    if kind.in_op:
        module, last = place(op, name, strict=False)
        module._delayed.pop(last, None)
        if last not in vars(module):
            setattr(module, last, made)


def builtin(name: str, func: Any, types: Any, returns: Any = None) -> UnaryOp:
    """Register a built-in unary operator for some types."""
    made = UnaryOp(name)
    for type_ in types:
        made.add(type_, returns or type_, func)
    setattr(unary, name, made)
    share(UnaryOp, name, made)
    return made


_func: Any
for _name, _func in (
    ("abs", fn.absolute),
    ("ainv", fn.negative),
    ("identity", lambda x: x),
    ("lnot", fn.lnot),
    ("minv", fn.reciprocal),
    ("one", fn.ones),
):
    builtin(_name, _func, dtypes.ALL)

FLOAT_FUNCTIONS = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "ceil": np.ceil,
    "cos": np.cos,
    "cosh": np.cosh,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "floor": np.floor,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "round": fn.ceiled_round,
    "signum": np.sign,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
    "trunc": np.trunc,
}
# Types that are cast to floats: small ones to FP32, the others to FP64.
TO_FLOAT = {type_: FP32 if type_.np_type.itemsize <= 2 else FP64 for type_ in (BOOL, *INTEGERS)}

for _name, _func in FLOAT_FUNCTIONS.items():
    _made = builtin(_name, _func, dtypes.FLOATS)
    for _type, _to in TO_FLOAT.items():
        _made.coerce(_type, _to)

builtin("bnot", np.invert, INTEGERS)
for _name, _func in (("isfinite", np.isfinite), ("isinf", np.isinf), ("isnan", np.isnan)):
    builtin(_name, _func, dtypes.FLOATS, BOOL)

unary.register_new = UnaryOp.register_new
unary.register_anonymous = UnaryOp.register_anonymous
