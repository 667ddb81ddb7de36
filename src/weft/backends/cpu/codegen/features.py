"""Feature ops as Numba statements: vectors and matrices of one vertex or arc.

Every loop has counters of its own, all uint64: an index made of uint64 and int64 would be a float.
Sums run from left to right, as the interpreter's do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from weft.backends.cpu.codegen.blocks import BlockRenderer, Operand, Stretch, stored
from weft.backends.cpu.codegen.expressions import cast, combine, elementwise, literal
from weft.ir.ops import Reduction, Shape, Value, identity_of


def render_feature(renderer: BlockRenderer, value: Value) -> Operand:
    """Render a feature op; return its operand."""
    return _RENDER[value.op](renderer, value)


# -- pieces


def _features(renderer: BlockRenderer, value: Value) -> Stretch:
    operand = renderer.operand(value)
    if not isinstance(operand, Stretch):
        raise TypeError(f"{value!r} has no features")
    return operand


@contextmanager
def _loop(renderer: BlockRenderer, extent: int) -> Iterator[str]:
    """Open a loop over `extent` positions; gives the counter."""
    counter = renderer.out.fresh("k")
    with renderer.out.block(f"for {counter} in range(np.uint64({extent})):"):
        yield counter


def _flat(row: str, column: str, columns: int) -> str:
    """Return the flat position of an element of a matrix."""
    return f"{row} * np.uint64({columns}) + {column}"


def _set(renderer: BlockRenderer, target: Stretch, index: str, text: str) -> None:
    text = stored(text, target.dtype)
    renderer.out.line(f"{target.array}[{target.base} + {index}] = {text}")


def _assign(renderer: BlockRenderer, text: str) -> str:
    """Assign to a new variable that may be assigned again."""
    name = renderer.out.fresh("t")
    renderer.out.line(f"{name} = {text}")
    return name


def _product(a: str, b: str, dtype: np.dtype[Any]) -> str:
    return elementwise("bit_and" if dtype.kind == "b" else "mul", [a, b], dtype, dtype)


def _plus(a: str, b: str, dtype: np.dtype[Any]) -> str:
    return elementwise("bit_or" if dtype.kind == "b" else "add", [a, b], dtype, dtype)


def _summed(
    renderer: BlockRenderer, extent: int, dtype: np.dtype[Any], term: Callable[[str], str]
) -> str:
    """Render the sum of the terms; return the variable that holds it."""
    total = _assign(renderer, literal(0, dtype))
    with _loop(renderer, extent) as k:
        renderer.out.line(f"{total} = {_plus(total, term(k), dtype)}")
    return total


# -- products


def _outer(renderer: BlockRenderer, value: Value) -> Operand:
    a, b = (_features(renderer, arg) for arg in value.args)
    rows, columns = value.shape
    target = renderer.scratch.take(value)
    with _loop(renderer, rows) as i:
        left = renderer.variable(a.at(i))
        with _loop(renderer, columns) as j:
            text = _product(left, b.at(j), value.dtype)
            _set(renderer, target, _flat(i, j, columns), text)
    return target


def _dot(renderer: BlockRenderer, value: Value) -> Operand:
    a, b = (_features(renderer, arg) for arg in value.args)
    return _summed(
        renderer, a.shape[0], value.dtype, lambda k: _product(a.at(k), b.at(k), value.dtype)
    )


def _matvec(renderer: BlockRenderer, value: Value) -> Operand:
    a, x = (_features(renderer, arg) for arg in value.args)
    rows, columns = a.shape
    target = renderer.scratch.take(value)
    with _loop(renderer, rows) as i:
        total = _summed(
            renderer, columns, value.dtype,
            lambda k: _product(a.at(_flat(i, k, columns)), x.at(k), value.dtype),
        )  # fmt: skip
        _set(renderer, target, i, total)
    return target


def _matvec_max(renderer: BlockRenderer, value: Value) -> Operand:
    a, x = (_features(renderer, arg) for arg in value.args)
    rows, columns = a.shape
    target = renderer.scratch.take(value)
    start = literal(identity_of(Reduction("max"), value.dtype), value.dtype)
    with _loop(renderer, rows) as i:
        best = _assign(renderer, start)
        with _loop(renderer, columns) as k:
            product = _product(a.at(_flat(i, k, columns)), x.at(k), value.dtype)
            renderer.out.line(f"{best} = {combine('max', best, product, value.dtype)}")
        _set(renderer, target, i, best)
    return target


def _matmul(renderer: BlockRenderer, value: Value) -> Operand:
    a, b = (_features(renderer, arg) for arg in value.args)
    rows, inner = a.shape
    columns = b.shape[1]
    target = renderer.scratch.take(value)
    _fill(renderer, target, literal(0, value.dtype))
    # Row by row of b, so that the innermost loop runs along memory.
    with _loop(renderer, rows) as i, _loop(renderer, inner) as k:
        left = renderer.variable(a.at(_flat(i, k, inner)))
        with _loop(renderer, columns) as j:
            place = _flat(i, j, columns)
            term = _product(left, b.at(_flat(k, j, columns)), value.dtype)
            _set(renderer, target, place, _plus(target.at(place), term, value.dtype))
    return target


def _fill(renderer: BlockRenderer, target: Stretch, text: str) -> None:
    with _loop(renderer, _size(target.shape)) as k:
        _set(renderer, target, k, text)


def _size(shape: Shape) -> int:
    return int(np.prod(shape))


# -- linear algebra


def _transpose(renderer: BlockRenderer, value: Value) -> Operand:
    source = _features(renderer, value.args[0])
    rows, columns = value.shape
    target = renderer.scratch.take(value)
    with _loop(renderer, rows) as i, _loop(renderer, columns) as j:
        _set(renderer, target, _flat(i, j, columns), source.at(_flat(j, i, rows)))
    return target


def _solve(renderer: BlockRenderer, value: Value) -> Operand:
    """Solve with a copy of the matrix, which the elimination destroys."""
    matrix, right = (_features(renderer, arg) for arg in value.args)
    work = renderer.scratch.space(value.dtype, matrix.shape)
    target = renderer.scratch.take(value)
    renderer.copy(matrix, work, _size(matrix.shape))
    renderer.copy(right, target, right.shape[0])
    _eliminate(renderer, "solve_spd" if value.attr == "spd" else "solve", work, target)
    return target


def _inverse(renderer: BlockRenderer, value: Value) -> Operand:
    matrix = _features(renderer, value.args[0])
    work = renderer.scratch.space(value.dtype, matrix.shape)
    target = renderer.scratch.take(value)
    renderer.copy(matrix, work, _size(matrix.shape))
    _eliminate(renderer, "invert", work, target)
    return target


def _eliminate(renderer: BlockRenderer, function: str, work: Stretch, target: Stretch) -> None:
    scope = renderer.scope
    renderer.out.line(
        f"{function}({work.array}, {work.base}, {target.array}, {target.base}, "
        f"np.uint64({work.shape[0]}), ctl, {scope.function}, np.int64({scope.vertex}))"
    )


def _normalize(renderer: BlockRenderer, value: Value) -> Operand:
    source = _features(renderer, value.args[0])
    (extent,) = value.shape
    dtype = value.dtype
    target = renderer.scratch.take(value)
    if value.attr == "softmax":
        top = _greatest(renderer, source)
        with _loop(renderer, extent) as k:
            shifted = elementwise("sub", [source.at(k), top], dtype, dtype)
            _set(renderer, target, k, elementwise("exp", [shifted], dtype, dtype))
        source = target
    if value.attr == "max":
        divisor = _greatest(renderer, source)
    elif value.attr == "l2":
        squares = _summed(
            renderer, extent, dtype, lambda k: _product(source.at(k), source.at(k), dtype)
        )
        divisor = renderer.variable(elementwise("sqrt", [squares], dtype, dtype))
    else:
        divisor = _summed(renderer, extent, dtype, source.at)
    zero, one = literal(0, dtype), literal(1, dtype)
    divisor = renderer.variable(f"({one} if {divisor} == {zero} else {divisor})")
    with _loop(renderer, extent) as k:
        _set(renderer, target, k, elementwise("div", [source.at(k), divisor], dtype, dtype))
    return target


def _greatest(renderer: BlockRenderer, source: Stretch) -> str:
    best = _assign(renderer, source.at("np.uint64(0)"))
    with _loop(renderer, _size(source.shape)) as k:
        renderer.out.line(f"{best} = {combine('max', best, source.at(k), source.dtype)}")
    return best


# -- reductions


def _feature_reduce(renderer: BlockRenderer, value: Value) -> Operand:
    dtype = value.dtype
    name = value.attr
    if dtype.kind == "b":
        name = {"min": "and", "max": "or"}.get(name, name)
    source = renderer.operand(value.args[0])
    total = _assign(renderer, literal(identity_of(Reduction(name), dtype), dtype))
    if not isinstance(source, Stretch):
        renderer.out.line(f"{total} = {combine(name, total, source, dtype)}")
        return total
    with _loop(renderer, _size(source.shape)) as k:
        renderer.out.line(f"{total} = {combine(name, total, source.at(k), dtype)}")
    return total


def _best_feature(renderer: BlockRenderer, value: Value) -> Operand:
    """Render the position of the first extreme feature; a NaN is no extreme."""
    source = _features(renderer, value.args[0])
    name = value.op.removesuffix("_feature")
    sign = "<" if name == "argmin" else ">"
    out = renderer.out
    place = _assign(renderer, "0")
    best = _assign(renderer, literal(identity_of(Reduction(name), source.dtype), source.dtype))
    with _loop(renderer, source.shape[0]) as k:
        feature = renderer.variable(source.at(k))
        with out.block(f"if {feature} {sign} {best}:"):
            out.line(f"{best} = {feature}")
            out.line(f"{place} = np.int64({k})")
    return place


# -- building and taking apart


def _eye(renderer: BlockRenderer, value: Value) -> Operand:
    target = renderer.scratch.take(value)
    extent = value.shape[0]
    with _loop(renderer, extent) as i, _loop(renderer, extent) as j:
        text = cast(f"({i} == {j})", np.dtype(bool), value.dtype)
        _set(renderer, target, _flat(i, j, extent), text)
    return target


def _stack(renderer: BlockRenderer, value: Value) -> Operand:
    target = renderer.scratch.take(value)
    for position, arg in enumerate(value.args):
        part = renderer.operand(arg)
        if not isinstance(part, Stretch):
            _set(renderer, target, f"np.uint64({position})", part)
            continue
        first = position * arg.size
        with _loop(renderer, arg.size) as k:
            _set(renderer, target, f"np.uint64({first}) + {k}", part.at(k))
    return target


def _index(renderer: BlockRenderer, value: Value) -> Operand:
    source, position = _features(renderer, value.args[0]), value.args[1]
    if position.op == "const":
        place = f"np.uint64({int(position.attr)})"
    else:
        place = _checked(renderer, renderer.scalar(position), source.shape[0])
    if not value.shape:
        return renderer.variable(source.at(place))
    base = f"{source.base} + {place} * np.uint64({value.shape[0]})"
    return Stretch(source.array, base, value.shape, value.dtype)


def _checked(renderer: BlockRenderer, position: str, extent: int) -> str:
    """Return a computed position of a feature as an index, after a check."""
    scope = renderer.scope
    return renderer.variable(
        f"checked(ctl, {position}, {extent}, {scope.function}, np.int64({scope.vertex}))", "p"
    )


def _iota(renderer: BlockRenderer, value: Value) -> Operand:
    target = renderer.scratch.take(value)
    with _loop(renderer, value.attr) as k:
        _set(renderer, target, k, f"np.int64({k})")
    return target


def _take(renderer: BlockRenderer, value: Value) -> Operand:
    source, places = (_features(renderer, arg) for arg in value.args)
    target = renderer.scratch.take(value)
    with _loop(renderer, value.shape[0]) as k:
        place = _checked(renderer, places.at(k), source.shape[0])
        _set(renderer, target, k, source.at(place))
    return target


def _scatter(renderer: BlockRenderer, value: Value) -> Operand:
    source, places, values = (_features(renderer, arg) for arg in value.args)
    target = renderer.scratch.take(value)
    renderer.copy(source, target, source.shape[0])
    with _loop(renderer, places.shape[0]) as k:
        place = _checked(renderer, places.at(k), source.shape[0])
        _set(renderer, target, place, values.at(k))
    return target


_RENDER: dict[str, Callable[[BlockRenderer, Value], Operand]] = {
    "outer": _outer,
    "dot": _dot,
    "matvec": _matvec,
    "matvec_max": _matvec_max,
    "matmul": _matmul,
    "transpose": _transpose,
    "solve": _solve,
    "inverse": _inverse,
    "normalize": _normalize,
    "feature_reduce": _feature_reduce,
    "argmin_feature": _best_feature,
    "argmax_feature": _best_feature,
    "eye": _eye,
    "stack": _stack,
    "index": _index,
    "iota": _iota,
    "take": _take,
    "scatter": _scatter,
}
