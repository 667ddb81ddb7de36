"""What stands for a semiring where the templates are read as ordinary Python: plus_times."""

from __future__ import annotations

from typing import Any


def compiled(function: Any) -> Any:
    """Return a function as it is."""
    return function


in_any_order = compiled


def multiply(x: Any, y: Any) -> Any:
    """Return the product."""
    return x * y


def add(x: Any, y: Any) -> Any:
    """Return the sum."""
    return x + y


def alone(x: Any) -> Any:
    """Return a value of the left operand alone."""
    return x


def other_alone(x: Any) -> Any:
    """Return a value of the right operand alone."""
    return x


def ctz(x: Any) -> int:
    """Return the number of zero bits below the lowest one bit."""
    return (int(x) & -int(x)).bit_length() - 1


def keep(x: Any, i: Any, j: Any, k: Any) -> bool:
    """Return whether a value is at most the parameter."""
    return bool(x <= k)
