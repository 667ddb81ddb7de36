"""Collaborative functions, in which the features of one value work together.

A GPU assigns consecutive features of a vertex or edge to consecutive lanes of a group, and the
exchanges below become shuffles between them; a CPU runs plain loops.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from weft.ir.ops import BOOL, FLOAT64, INT64, Value
from weft.ir.trace import builder as tracing
from weft.ir.trace.builder import fail
from weft.ir.trace.expr import Expr, node
from weft.ir.trace.monoids import Monoid, check_monoid
from weft.ir.types import check_dtype

_widths: ContextVar[tuple[int, ...]] = ContextVar("widths of the groups", default=())


def collaborative(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function of vectors whose features work together as a group.

    Inside it, `weft.group` returns the position of each feature and exchanges values between them,
    and `weft.scratch` is memory that all of them share. Edge and vertex functions call it; its
    vectors must have the same number of features.

    Examples
    --------
    The sum of all features up to each one, in rounds that double the distance:

    >>> import weft
    >>> @weft.collaborative
    ... def running_sum(x):
    ...     lane, distance = weft.group.lane(), 1
    ...     while distance < weft.group.size():
    ...         below = weft.group.shuffle(x, weft.maximum(lane - distance, 0))
    ...         x = weft.where(lane >= distance, x + below, x)
    ...         distance *= 2
    ...     return x
    >>> @weft.vertex
    ... def add_up(v):
    ...     v.x = running_sum(v.x)
    >>> g = weft.generators.path(2)
    >>> state = g.state(x=[[1, 2, 3, 4, 5], [1, 0, 1, 0, 1]])
    >>> g.run(add_up, state).tolist()
    [0, 1]
    >>> state.x.tolist()
    [[1, 3, 6, 10, 15], [1, 1, 2, 2, 3]]
    """

    @functools.wraps(function)
    def together(*args: Any, **named: Any) -> Any:
        tracing.current()
        given = [arg for arg in (*args, *named.values()) if isinstance(arg, Expr)]
        widths = {arg.shape[-1] for arg in given if arg.shape}
        name = getattr(function, "__name__", "a collaborative function")
        if len(widths) != 1:
            got = f"vectors of {sorted(widths)} features" if widths else "no vector"
            raise fail(f"{name} works on the features of its vectors, but got {got}. Expected "
                       f"vectors of one length.")  # fmt: skip
        token = _widths.set((*_widths.get(), widths.pop()))
        try:
            return function(*args, **named)
        finally:
            _widths.reset(token)

    return together


def size() -> int:
    """Return the number of features that work together."""
    widths = _widths.get()
    if not widths:
        raise fail(
            "weft.group and weft.scratch work inside a function made by @weft.collaborative."
        )
    return widths[-1]


def lane() -> Expr:
    """Return the position of each feature: 0, 1, ..., k - 1."""
    k = size()
    return Expr(tracing.current().emit("iota", (), k, INT64, (k,)))


def shuffle(x: Any, source: Any) -> Expr:
    """Return feature `source[i]` of x at each position i.

    A single number as `source` broadcasts one feature to all.
    """
    k = size()
    value = node(x)
    if value.shape != (k,):
        raise fail(f"shuffle needs a vector of {k} features, but got shape {value.shape}.")
    return _take(value, _places(source, k))


def any(condition: Any) -> Expr:
    """Whether a condition holds for one of the features."""
    return _reduced(_condition(condition, "any"), "or")


def all(condition: Any) -> Expr:
    """Whether a condition holds for all features."""
    return _reduced(_condition(condition, "all"), "and")


def reduce(x: Any, monoid: Monoid) -> Expr:
    """Return the reduction of the features of x, at every feature."""
    check_monoid(monoid)
    return monoid(Expr(_vector(x)))


def _condition(x: Any, name: str) -> Value:
    return tracing.current().condition(_vector(x), f"the argument of weft.group.{name}")


def _vector(x: Any) -> Value:
    size()
    value = node(x)
    if not value.shape:
        raise fail("expected a value with features, but got a scalar.")
    return value


def _reduced(value: Value, name: str) -> Expr:
    return Expr(tracing.current().emit("feature_reduce", (value,), name, BOOL, ()))


def _places(position: Any, k: int) -> Value:
    """Return positions as a vector of k integers, or of length one."""
    builder = tracing.current()
    value = node(position)
    if value.dtype.kind not in "iu":
        raise fail(f"positions of features are integers, but got {value.dtype}.")
    value = builder.cast(value, INT64)
    if not value.shape:
        return builder.emit("broadcast", (value,), None, INT64, (k,))
    if value.shape != (k,):
        raise fail(f"expected {k} positions, one for each feature, but got shape {value.shape}.")
    return value


def _take(value: Value, places: Value) -> Expr:
    return Expr(tracing.current().emit("take", (value, places), None, value.dtype, places.shape))


class Scratch:
    """Memory that the features of one value share while a collaborative function runs."""

    def __init__(self, length: int, dtype: Any) -> None:
        builder = tracing.current()
        self._depth = len(builder.blocks)
        zero = builder.emit("const", (), dtype.type(0).item(), dtype)
        self._value = builder.emit("broadcast", (zero,), None, dtype, (length,))

    def __getitem__(self, position: Any) -> Expr:
        value = Expr(self._value)
        return (
            _take(self._value, _places(position, size()))
            if node(position).shape
            else value[position]
        )

    def __setitem__(self, position: Any, x: Any) -> None:
        builder = tracing.current()
        if len(builder.blocks) != self._depth:
            raise fail(
                "scratch memory is written outside of loops. Keep what a loop changes in its state."
            )
        (length,), dtype = self._value.shape, self._value.dtype
        k = size() if node(position).shape else 1
        values = builder.fit(node(x), dtype, (k,), "scratch memory")
        self._value = builder.emit(
            "scatter", (self._value, _places(position, k), values), None, dtype, (length,)
        )


def scratch(shape: int | tuple[int], dtype: Any = FLOAT64) -> Scratch:
    """Return memory for the features of one value to share, inside a collaborative function.

    Parameters
    ----------
    shape
        The number of elements, as an integer or ``(k,)``. All start at 0.
    dtype
        The dtype of its elements.

    Examples
    --------
    ``s[places] = x`` writes each feature to its own position (the last one wins where several
    choose the same), ``s[places]`` reads one per feature, ``s[i]`` reads one value for all:

    >>> import weft
    >>> @weft.collaborative
    ... def turned(x):
    ...     s = weft.scratch((weft.group.size(),), weft.int64)
    ...     s[weft.group.size() - 1 - weft.group.lane()] = x
    ...     return s[weft.group.lane()]
    >>> @weft.vertex
    ... def turn(v):
    ...     v.x = turned(v.x)
    >>> g = weft.generators.path(1)
    >>> state = g.state(x=[[1, 2, 3]])
    >>> g.run(turn, state).tolist()
    [0]
    >>> state.x.tolist()
    [[3, 2, 1]]
    """
    size()
    length = shape[0] if isinstance(shape, tuple) and len(shape) == 1 else shape
    if not isinstance(length, int) or isinstance(length, bool) or length < 1:
        raise fail(f"scratch of shape {shape!r} is not possible. Expected (k,) with k from 1 on.")
    return Scratch(length, check_dtype(dtype, "scratch memory"))
