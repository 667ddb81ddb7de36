"""Monoids: how messages that meet at a vertex, or features of one value, combine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.errors import TraceError
from weft.ir.ops import BOOL, INT64, Block, Reduction, Signature, Value
from weft.ir.trace import builder as tracing
from weft.ir.trace.builder import Builder, fail
from weft.ir.trace.calls import check_takes
from weft.ir.trace.expr import Expr, node
from weft.ir.types import const_in_range

_NOTHING = Signature((), (), (), (), INT64)


class Monoid:
    """An associative and commutative way to combine values.

    Called with a traced vector or matrix it reduces the features of that value.
    """

    def __init__(self, name: str, doc: str) -> None:
        self.name = name
        self.__doc__ = doc

    def __repr__(self) -> str:
        return f"weft.{self.name + '_' if self.name in ('or', 'and') else self.name}"

    def reduction(self, dtype: np.dtype[Any]) -> Reduction:
        """Return the monoid as the IR knows it, for messages of a dtype."""
        if self.name in ("or", "and") and dtype.kind == "f":
            raise fail(f"{self!r} combines truth values or integers, but the message is {dtype}.")
        if dtype.kind == "b" and self.name in ("sum", "prod"):
            raise fail(
                f"{self!r} of truth values has no meaning. Cast to a number, or use weft.or_."
            )
        if dtype.kind == "b" and self.name in ("min", "max"):
            return Reduction("and" if self.name == "min" else "or")
        return Reduction(self.name)

    def __call__(self, x: Any) -> Expr:
        if not tracing.is_active():
            from weft.ir.trace.plain import on_numbers

            function = self._of_features
            return on_numbers(lambda: function(x))()
        return self._of_features(x)

    def _of_features(self, x: Any) -> Expr:
        value = node(x)
        if self.name in ("argmin", "argmax"):
            if len(value.shape) != 1:
                raise fail(f"{self!r}(x) needs a vector, but x has shape {value.shape}.")
            builder = tracing.current()
            return Expr(builder.emit(self.name + "_feature", (value,), None, INT64))
        if self.name == "mode":
            raise fail("weft.mode combines the messages of a gather, not features.")
        builder = tracing.current()
        if self.name in ("any", "or", "and"):
            value = builder.condition(value, "x of weft.any(x)") if self.name == "any" else value
        dtype = value.dtype
        if dtype == BOOL and self.name in ("sum", "prod"):
            value = builder.cast(value, INT64)
            dtype = INT64
        name = "or" if self.name == "any" else self.name
        if name in ("or", "and") and dtype.kind == "f":
            raise fail(f"{self!r} combines truth values or integers, but x is {dtype}.")
        return Expr(builder.emit("feature_reduce", (value,), name, dtype, ()))


def check_monoid(monoid: Any) -> None:
    """Raise unless this is a monoid, at the user's line."""
    if not isinstance(monoid, Monoid):
        raise fail(
            f"{monoid!r} is not a monoid. Expected weft.sum, weft.min, weft.any, ... or one made "
            f"by weft.monoid."
        )


class UserMonoid(Monoid):
    """A monoid made of a combine function and its identity."""

    def __init__(
        self, combine: Callable[[Any, Any], Any], identity: Any, name: str, terminal: Any = None
    ) -> None:
        super().__init__(name, "A user-made monoid.")
        self.combine = combine
        self.identity = identity
        self.terminal = terminal

    def reduction(self, dtype: np.dtype[Any]) -> Reduction:
        """Trace the combine function for messages of a dtype."""
        if not const_in_range(self.identity, dtype):
            raise fail(
                f"the identity {self.identity!r} of {self.name} does not fit {dtype}. Make the "
                f"monoid with an identity of the message's kind."
            )
        if self.terminal is not None and not const_in_range(self.terminal, dtype):
            raise fail(
                f"the terminal value {self.terminal!r} of {self.name} does not fit {dtype}. Make "
                f"the monoid with one of the message's kind, or without."
            )
        with Builder(_NOTHING, self.name) as builder:
            builder.code = getattr(self.combine, "__code__", None)
            builder.effects = False
            check_takes(self.combine, f"the combine function of {self.name}", "a", "b")
            params = tuple(Value("param", (), i, dtype) for i in range(2))
            returned = self.combine(Expr(params[0]), Expr(params[1]))
            if returned is None:
                raise fail(f"the combine function of {self.name} returned nothing.")
            result = node(returned)
            if result.shape:
                raise fail(f"the combine function of {self.name} must return a scalar.")
            result = builder.fit(result, dtype, (), f"the result of {self.name}")
            block = Block(params, builder.blocks[0].body, (result,))
        return Reduction("user", block, self.identity, self.terminal)

    def __call__(self, x: Any) -> Expr:
        raise fail(f"the user-made monoid {self.name} combines messages, not features.")


def monoid(
    combine: Callable[[Any, Any], Any], identity: Any, *, name: str = "user", terminal: Any = None
) -> Monoid:
    """Make a monoid of a combine function and its identity.

    Parameters
    ----------
    combine
        A function of two messages that returns one. It must be associative and commutative.
    identity
        The number that changes nothing: ``combine(identity, x) == x``.
    name
        How it is called in messages and listings.
    terminal
        A number that no message changes: ``combine(terminal, x) == terminal``. Gathers and
        reductions over common neighbours may end when they reach it.

    Examples
    --------
    >>> import weft
    >>> longest = weft.monoid(lambda a, b: weft.where(abs(a) > abs(b), a, b), 0.0, name="longest")
    """
    if not callable(combine):
        raise TraceError(f"combine must be a function of two values, but got {combine!r}.")
    if not isinstance(identity, int | float | bool | np.generic):
        raise TraceError(f"identity must be a number, but got {identity!r}.")
    if not isinstance(terminal, int | float | bool | np.generic | None):
        raise TraceError(f"terminal must be a number or None, but got {terminal!r}.")
    numbers = [x.item() if isinstance(x, np.generic) else x for x in (identity, terminal)]
    return UserMonoid(combine, numbers[0], name, numbers[1])


sum = Monoid("sum", "Adds messages; ``weft.sum(x)`` adds the features of x.")
prod = Monoid("prod", "Multiplies messages; ``weft.prod(x)`` multiplies the features of x.")
min = Monoid("min", "Keeps the smallest message, ignoring NaN.")
max = Monoid("max", "Keeps the largest message, ignoring NaN.")
any = Monoid("any", "Keeps one of the messages, whichever; ``weft.any(x)``: is a feature true?")
or_ = Monoid("or", "Bitwise or of messages; ``weft.or_(x)`` over the features of x.")
and_ = Monoid("and", "Bitwise and of messages; ``weft.and_(x)`` over the features of x.")
argmin = Monoid("argmin", "Keeps the whole tuple of messages whose first component is smallest.")
argmax = Monoid("argmax", "Keeps the whole tuple of messages whose first component is largest.")
mode = Monoid(
    "mode",
    "Keeps the most frequent message, the smallest on ties; in gathers only. Of a key and a weight "
    "it keeps the integer key of the greatest total weight.",
)
