"""Operators whose results say where values stand, and functions of SciPy.

``firsti`` is the row of the left operand, ``firstj`` its column, ``secondi`` and ``secondj`` those
of the right one; ``positioni`` and ``positionj`` take one operand. A 1 at the end counts from 1.
A vector is a column, except as the left operand of a product, where it is a row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from weft.graphblas.dtypes import ALL, FLOATS, INT32, INT64
from weft.graphblas.operators.binary import BinaryOp, binary
from weft.graphblas.operators.unary import TO_FLOAT, UnaryOp, share, unary
from weft.graphblas.operators.unary import builtin as builtin_unary

Array = Any


class Position(NamedTuple):
    """The result of a positional operator: a row ("i") or column ("j") of one operand."""

    operand: str
    axis: str
    offset: int


def _no_values(*_: Any) -> Any:
    raise TypeError("Positional operators depend on places, not on values.")


def _register(made: Any, module: Any, position: Position) -> None:
    for type_ in (INT32, INT64):
        made.add(type_, type_, _no_values)
    for type_ in ALL:
        if type_ not in made.types:
            made.coerce(type_, INT64)
    made.is_positional, made.position = True, position
    setattr(module, made.name, made)
    share(type(made), made.name, made)


for _axis in "ij":
    for _offset, _end in ((0, ""), (1, "1")):
        _register(UnaryOp(f"position{_axis}{_end}"), unary, Position("first", _axis, _offset))
        for _operand in ("first", "second"):
            _register(
                BinaryOp(f"{_operand}{_axis}{_end}"), binary, Position(_operand, _axis, _offset)
            )

PAIRS = ("firsti secondi", "firstj secondj", "firsti1 secondi1", "firstj1 secondj1")
for _pair in PAIRS:
    _left, _right = _pair.split()
    getattr(binary, _left)._commutes_to, getattr(binary, _right)._commutes_to = _right, _left


def _special(name: str) -> Any:
    """Return a function of `scipy.special`, imported when it is first called."""

    def call(x: Array) -> Array:
        import scipy.special

        return getattr(scipy.special, name)(x)

    return call


for _name, _func in {
    "erf": _special("erf"),
    "erfc": _special("erfc"),
    "frexpe": lambda x: np.frexp(x)[1],
    "frexpx": lambda x: np.frexp(x)[0],
    "lgamma": _special("gammaln"),
    "tgamma": _special("gamma"),
}.items():
    _made = builtin_unary(_name, _func, FLOATS)
    if not _name.startswith("frexp"):
        for _type, _to in TO_FLOAT.items():
            _made.coerce(_type, _to)
