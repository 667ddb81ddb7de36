"""NumPy's functions as operators: ``gb.unary.numpy``, ``gb.binary.numpy`` and so on."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.graphblas import dtypes
from weft.graphblas.dtypes import lookup_dtype
from weft.graphblas.operators.base import Namespace
from weft.graphblas.operators.binary import BinaryOp, binary
from weft.graphblas.operators.monoid import Monoid, monoid
from weft.graphblas.operators.names import op
from weft.graphblas.operators.semiring import Semiring, SemiringNamespace, semiring
from weft.graphblas.operators.unary import UnaryOp, unary

UNARY = [
    "abs",
    "absolute",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "bitwise_not",
    "cbrt",
    "ceil",
    "conj",
    "conjugate",
    "cos",
    "cosh",
    "deg2rad",
    "degrees",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "floor",
    "invert",
    "isfinite",
    "isinf",
    "isnan",
    "log",
    "log10",
    "log1p",
    "log2",
    "logical_not",
    "negative",
    "positive",
    "rad2deg",
    "radians",
    "reciprocal",
    "rint",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "spacing",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
]
BINARY = [
    "add",
    "arctan2",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "copysign",
    "divide",
    "equal",
    "float_power",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "gcd",
    "greater",
    "greater_equal",
    "hypot",
    "lcm",
    "ldexp",
    "left_shift",
    "less",
    "less_equal",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "nextafter",
    "not_equal",
    "power",
    "remainder",
    "right_shift",
    "subtract",
    "true_divide",
]
COMMUTATIVE = [
    "add",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "equal",
    "fmax",
    "fmin",
    "gcd",
    "hypot",
    "lcm",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "not_equal",
]
PAIRS = {"less": "greater", "less_equal": "greater_equal"}
IDENTITIES: dict[str, Any] = {
    "add": 0,
    "multiply": 1,
    "logaddexp": -np.inf,
    "logaddexp2": -np.inf,
    "hypot": 0.0,
    "logical_and": True,
    "logical_or": False,
    "logical_xor": False,
    "gcd": 0,
    "equal": {"BOOL": True},
}

numpy_unary = Namespace("unary.numpy", "NumPy's functions of one value.")
numpy_binary = Namespace("binary.numpy", "NumPy's functions of two values.")
numpy_monoid = Namespace("monoid.numpy", "NumPy's functions that are monoids.")


class NumpySemirings(SemiringNamespace):
    """Semirings of NumPy's functions, made when they are first used."""

    def _find(self, name: str) -> Any:
        for add, of in vars(numpy_monoid).items():
            multiply = name.removeprefix(f"{add}_")
            if isinstance(of, Monoid) and multiply != name and multiply in vars(numpy_binary):
                made = Semiring._of(f"numpy.{name}", of, vars(numpy_binary)[multiply])
                setattr(self, name, made)
                setattr(numpy_op, name, made)
                return made
        return None

    def _names(self) -> list[str]:
        return [
            f"{add}_{multiply}"
            for add, of in vars(numpy_monoid).items()
            if isinstance(of, Monoid)
            for multiply in BINARY
        ]


numpy_semiring = NumpySemirings("semiring.numpy", "Semirings of NumPy's functions.")


class NumpyOps(Namespace):
    """NumPy's functions of all kinds."""

    def _find(self, name: str) -> Any:
        return getattr(numpy_semiring, name, None)

    def _names(self) -> list[str]:
        return numpy_semiring._names()


numpy_op = NumpyOps("op.numpy", "NumPy's functions.")
IDEMPOTENT = {"fmax", "fmin", "gcd", "logical_and", "logical_or", "maximum", "minimum"}


def _typed(made: Any, ufunc: Any, arity: int) -> None:
    """Add the forms for all types that a NumPy function works with."""
    for type_ in dtypes.ALL:
        sample = np.ones(1, type_.np_type)
        try:
            with np.errstate(all="ignore"):
                found = lookup_dtype(ufunc(*[sample] * arity).dtype)
        except Exception:
            continue
        made.add(type_, found, ufunc)


def _fill() -> None:
    for name in UNARY:
        unary_op = UnaryOp(f"numpy.{name}")
        _typed(unary_op, getattr(np, name), 1)
        setattr(numpy_unary, name, unary_op)
        setattr(numpy_op, name, unary_op)
    for name in BINARY:
        made = BinaryOp(f"numpy.{name}")
        _typed(made, getattr(np, name), 2)
        setattr(numpy_binary, name, made)
        setattr(numpy_op, name, made)
        if name in COMMUTATIVE:
            made._commutes_to = made
    for left, right in PAIRS.items():
        one, other = getattr(numpy_binary, left), getattr(numpy_binary, right)
        one._commutes_to, other._commutes_to = other, one
    for name in ("maximum", "fmax", "minimum", "fmin"):
        IDENTITIES[name] = -np.inf if "max" in name else np.inf
    for name, identity in IDENTITIES.items():
        of = getattr(numpy_binary, name)
        if not isinstance(identity, dict):
            identity = {
                type_: _limit(identity, type_)
                for type_, found in of.types.items()
                if found is type_
            }
        made_monoid = Monoid.register_anonymous(
            of, identity, f"numpy.{name}", is_idempotent=name in IDEMPOTENT
        )
        setattr(numpy_monoid, name, made_monoid)


def _limit(identity: Any, type_: Any) -> Any:
    kind = type_.np_type.kind
    if kind == "b" and isinstance(identity, float):
        return identity > 0
    if kind in "iu" and identity in (np.inf, -np.inf):
        limits = np.iinfo(type_.np_type)
        return limits.max if identity > 0 else limits.min
    return identity


_fill()
for _name in ("and", "or", "xor"):
    # The built-in ones: python-graphblas has no others for bits.
    setattr(numpy_monoid, f"bitwise_{_name}", getattr(monoid, f"b{_name}"))
unary.numpy = numpy_unary
binary.numpy = numpy_binary
monoid.numpy = numpy_monoid
semiring.numpy = numpy_semiring
op.numpy = numpy_op
