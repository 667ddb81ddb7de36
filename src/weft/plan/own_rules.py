"""A user's direction rule, ``fn(stats)``, as text valid in C++ and Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from weft.arrays.checks import real_of
from weft.errors import ConfigError, shortened


class Number:
    """A number known only at run time."""

    __slots__ = ("text",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, text: str) -> None:
        self.text = text

    def _with(self, sign: str, other: Any, swapped: bool = False) -> Number:
        first, second = (_text(other), self.text) if swapped else (self.text, _text(other))
        return Number(f"({first} {sign} {second})")

    def _than(self, sign: str, other: Any) -> Condition:
        return Condition(f"({self.text} {sign} {_text(other)})")

    def __add__(self, other: Any) -> Number:
        return self._with("+", other)

    def __radd__(self, other: Any) -> Number:
        return self._with("+", other, swapped=True)

    def __sub__(self, other: Any) -> Number:
        return self._with("-", other)

    def __rsub__(self, other: Any) -> Number:
        return self._with("-", other, swapped=True)

    def __mul__(self, other: Any) -> Number:
        return self._with("*", other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Number:
        if isinstance(other, Number) or not real_of(other):
            raise ConfigError(
                "a rule for the direction divides by a number that may be 0. Multiply the other "
                "side instead: edges * 14 > unexplored."
            )
        return self * (1 / real_of(other))

    def __lt__(self, other: Any) -> Condition:
        return self._than("<", other)

    def __le__(self, other: Any) -> Condition:
        return self._than("<=", other)

    def __gt__(self, other: Any) -> Condition:
        return self._than(">", other)

    def __ge__(self, other: Any) -> Condition:
        return self._than(">=", other)

    def _refuse(self, *_: object) -> NoReturn:
        raise ConfigError(
            "a number of a rule for the direction is known only when the program runs. Expected "
            "+, -, *, comparisons with <, <=, >, >=, and & and | between conditions."
        )

    __eq__ = __ne__ = _refuse
    __rtruediv__ = __floordiv__ = __mod__ = __pow__ = __bool__ = __float__ = __int__ = _refuse


class Condition:
    """A condition known only at run time."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __and__(self, other: Any) -> Condition:
        return Condition(f"({self.text} and {condition_text(other)})")

    def __or__(self, other: Any) -> Condition:
        return Condition(f"({self.text} or {condition_text(other)})")

    __rand__, __ror__ = __and__, __or__

    def __invert__(self) -> Condition:
        return Condition(f"(not {self.text})")

    def __bool__(self) -> NoReturn:
        raise ConfigError(
            "a condition of a rule for the direction is known only when the program runs. Use & | "
            "~ in place of `and`, `or`, `not` and `if`; stats.pulling alone can be tested."
        )


@dataclass(frozen=True)
class Stats:
    """The argument of a direction rule, see ``Config(direction=...)``."""

    frontier: Number
    edges: Number
    unexplored: Number
    n: Number
    m: Number
    growing: Condition
    shrinking: Condition
    pulling: bool


def tests_of(rule: Callable[[Any], Any]) -> tuple[str, str]:
    """Return the conditions under which a push turns into a pull, and a pull into a push.

    They are text valid in C++ and Python, of ``size`` and ``edges``, the vertices of the frontier
    and their out-edges; ``before``, the vertices of the frontier at the previous decision;
    ``left``, the edges of vertices that no frontier has held yet (all edges, where vertices come
    back); ``n`` and ``m``, all vertices and edges.
    """
    size, edges, left, n, m = (Number(f"(1.0 * {x})") for x in ("size", "edges", "left", "n", "m"))
    turns = Condition("(size > before)"), Condition("(size < before)")
    pushing, pulling = (
        condition_text(rule(Stats(size, edges, left, n, m, *turns, way))) for way in (False, True)
    )
    return pushing, f"(not {pulling})"


def condition_text(value: Any) -> str:
    """Return the text of a condition, or of a truth value."""
    if isinstance(value, Condition):
        return value.text
    if isinstance(value, bool | np.bool_):
        return "(1 > 0)" if value else "(0 > 1)"
    raise ConfigError(
        f"a rule for the direction returned {shortened(value)}. Expected a condition, true for a "
        "pull, such as stats.edges * 14 > stats.unexplored."
    )


def _text(value: Any) -> str:
    if isinstance(value, Number):
        return value.text
    number = real_of(value)
    if not abs(number) < float("inf"):
        raise ConfigError(
            f"{shortened(value)} cannot be used in a rule for the direction. Expected a number of "
            "stats, or a finite number."
        )
    return repr(number)
