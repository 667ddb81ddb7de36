"""Ops over the features of one value, component by component."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from weft.backends.relational.blocks import Parts, Scope, each, one, shaped
from weft.backends.relational.dialect import Kind
from weft.backends.relational.refusals import Refused
from weft.backends.relational.rows import Cell
from weft.ir.ops import BOOL, Reduction, Value, identity_of

_COMBINED = {"sum": "add", "prod": "mul", "min": "minimum", "max": "maximum",
             "or": "bit_or", "and": "bit_and"}  # fmt: skip


def feature(scope: Scope, value: Value, args: list[Parts]) -> Parts:
    """Return the cells of a feature op."""
    writer = _WRITERS.get(value.op)
    if writer is None:
        raise Refused(f"weft.{value.op}", "elimination takes a loop over the rows of a matrix")
    return each(scope.rows.bind, writer(scope, value, args))


def total(scope: Scope, name: str, dtype: Kind, cells: Sequence[Cell]) -> Cell:
    """Return cells combined from left to right, from the identity on."""
    result = scope.writer.literal(identity_of(Reduction(name), dtype), dtype)
    for cell in cells:
        result = scope.apply(_COMBINED[name], dtype, result, cell)
    return result


def product(scope: Scope, dtype: Kind, a: Parts, b: Parts) -> list[Cell]:
    """Return the products of the cells of two vectors."""
    return [scope.apply("mul", dtype, x, y) for x, y in zip(a, b, strict=True)]


def _outer(scope: Scope, value: Value, args: list[Parts]) -> Parts:
    a, b = args
    cells = [scope.apply("mul", value.dtype, x, y) for x in a for y in b]
    return shaped(cells, value.shape)


def _dot(scope: Scope, value: Value, args: list[Parts]) -> Parts:
    return one(total(scope, "sum", value.dtype, product(scope, value.dtype, *args)))


def _matvec(scope: Scope, value: Value, args: list[Parts]) -> Parts:
    name = "max" if value.op == "matvec_max" else "sum"
    a, x = args
    rows = [total(scope, name, value.dtype, product(scope, value.dtype, row, x)) for row in a]
    return shaped(rows, value.shape)


def _matmul(scope: Scope, value: Value, args: list[Parts]) -> Parts:
    a, b = args
    cells = [
        total(scope, "sum", value.dtype, product(scope, value.dtype, row, column))
        for row in a
        for column in b.T
    ]
    return shaped(cells, value.shape)


def _normalize(scope: Scope, value: Value, args: list[Parts]) -> Parts:
    x, dtype = args[0], value.dtype
    if value.attr == "softmax":
        most = scope.rows.bind(total(scope, "max", dtype, list(x)))
        lower = [scope.apply("sub", dtype, cell, most) for cell in x]
        x = shaped([scope.rows.bind(scope.apply("exp", dtype, c)) for c in lower], x.shape)
    if value.attr == "l2":
        square = total(scope, "sum", dtype, product(scope, dtype, x, x))
        divisor = scope.apply("sqrt", dtype, square)
    else:
        divisor = total(scope, "max" if value.attr == "max" else "sum", dtype, list(x))
    divisor = scope.rows.bind(divisor)
    none = scope.apply("eq", BOOL, divisor, scope.writer.literal(0, dtype), kinds=(dtype, dtype))
    quotients = [scope.apply("div", dtype, cell, divisor) for cell in x]
    chosen = [scope.writer.select(none, a, b) for a, b in zip(x, quotients, strict=True)]
    return shaped(chosen, value.shape)


def _feature_reduce(scope: Scope, value: Value, args: list[Parts]) -> Parts:
    return one(total(scope, value.attr, value.dtype, list(args[0].reshape(-1))))


def _best(scope: Scope, value: Value, args: list[Parts]) -> Parts:
    name, kind = value.op.removesuffix("_feature"), value.args[0].dtype
    best = scope.writer.literal(identity_of(Reduction(name), kind), kind)
    place = scope.writer.literal(0, value.dtype)
    for i, cell in enumerate(args[0]):
        op = "lt" if name == "argmin" else "gt"
        better = scope.rows.bind(scope.apply(op, BOOL, cell, best, kinds=(kind, kind)))
        best = scope.rows.bind(scope.writer.select(better, cell, best))
        number = scope.writer.literal(i, value.dtype)
        place = scope.rows.bind(scope.writer.select(better, number, place))
    return one(place)


def _index(scope: Scope, value: Value, args: list[Parts]) -> Parts:
    return _picked(scope, args[0], args[1][()])


def _picked(scope: Scope, x: Parts, position: Cell) -> Parts:
    """Return the element at a position along the first axis."""
    place = _checked(scope, position, len(x))
    result = np.empty(x.shape[1:], object)
    for rest in np.ndindex(*x.shape[1:]):
        cells = [x[(i, *rest)] for i in range(len(x))]
        cases = " ".join(f"WHEN {i} THEN {cell.text}" for i, cell in enumerate(cells[:-1]))
        text = f"CASE {place.text} {cases} ELSE {cells[-1].text} END" if cases else cells[-1].text
        result[rest] = Cell(text, max(c.stage for c in [place, *cells]), False)
    return result


def _checked(scope: Scope, position: Cell, size: int) -> Cell:
    place = scope.rows.bind(position)
    text = f"index out of range: a feature outside the {size} of a value"
    scope.fail(f"({place.text} < 0 OR {place.text} >= {size})", place, text)
    return place


def _take(scope: Scope, value: Value, args: list[Parts]) -> Parts:
    x, places = args
    return shaped([_picked(scope, x, place)[()] for place in places], value.shape)


def _scatter(scope: Scope, value: Value, args: list[Parts]) -> Parts:
    x, places, values = args
    cells = list(x)
    for position, new in zip(places, values, strict=True):
        place = _checked(scope, position, len(cells))
        for i, old in enumerate(cells):
            here = Cell(f"({place.text} = {i})", place.stage, False)
            cells[i] = scope.rows.bind(scope.writer.select(here, new, old))
    return shaped(cells, value.shape)


def _eye(scope: Scope, value: Value, args: list[Parts]) -> Parts:
    k = value.shape[0]
    cells = [scope.writer.literal(int(i == j), value.dtype) for i in range(k) for j in range(k)]
    return shaped(cells, value.shape)


def _iota(scope: Scope, value: Value, args: list[Parts]) -> Parts:
    return shaped(
        [scope.writer.literal(i, value.dtype) for i in range(value.shape[0])], value.shape
    )


def _stack(scope: Scope, value: Value, args: list[Parts]) -> Parts:
    return np.stack(args)


_WRITERS: dict[str, Callable[[Scope, Value, Any], Parts]] = {
    "outer": _outer, "dot": _dot, "matvec": _matvec, "matvec_max": _matvec, "matmul": _matmul,
    "transpose": lambda scope, value, args: args[0].T, "normalize": _normalize,
    "feature_reduce": _feature_reduce, "argmin_feature": _best, "argmax_feature": _best,
    "index": _index, "take": _take, "scatter": _scatter, "eye": _eye, "iota": _iota,
    "stack": _stack,
}  # fmt: skip
