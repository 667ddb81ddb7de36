"""Checks of numeric options, with uniform error messages.

NumPy numbers are accepted like Python numbers. Booleans are rejected: they usually come from
arguments in the wrong position.
"""

from __future__ import annotations

import operator
from typing import Any, Final

import numpy as np

from weft.errors import ConfigError, shortened

MOST_STEPS: Final = 2**63 - 1  # loop counters have 64 bits
MOST_VERTICES: Final = 2**40  # limit of the generators


def integer_of(value: Any) -> int | None:
    """Return a value as an int; None if it is not an integer.

    Examples
    --------
    >>> integer_of(np.int8(3)), integer_of(3.0), integer_of(True)
    (3, None, None)
    """
    if isinstance(value, bool | np.bool_):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def real_of(value: Any) -> float:
    """Return a value as a float; NaN if it is not a number, or too large for a float.

    Examples
    --------
    >>> real_of(np.float32(0.5)), real_of(3), real_of("3"), real_of(10**400)
    (0.5, 3.0, nan, nan)
    """
    if isinstance(value, bool | np.bool_ | str | bytes):
        return float("nan")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def check_integer(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Return `value` as an int; raise unless it is an integer in [least, most]."""
    number = integer_of(value)
    if number is None or number < least or (most is not None and number > most):
        fits_below = number is None or most is None or number <= most
        upper = " on" if most is None or (fits_below and most == MOST_VERTICES) else f" to {most}"
        raise ConfigError(
            f"{name}={shortened(value)} is not possible. Expected an integer from {least}{upper}."
        )
    return number


def check_steps(name: str, value: Any) -> int:
    """Return a number of iterations as an int; raise unless it is a valid count."""
    number = integer_of(value)
    if number is None or not 0 <= number <= MOST_STEPS:
        limit = "" if number is None or number < 0 else " to 2**63 - 1"
        raise ConfigError(
            f"{name}={shortened(value)} is not a count. Expected an integer from 0{limit or ' on'}."
        )
    return number


def check_between(name: str, value: Any, least: float, most: float) -> float:
    """Return `value` as a float; raise unless it is in [least, most]."""
    number = real_of(value)
    if not least <= number <= most:
        raise ConfigError(
            f"{name}={shortened(value)} is not possible. Expected a number from {least:g} to "
            f"{most:g}."
        )
    return number


def check_tolerance(name: str, value: Any) -> float:
    """Return `value` as a float; raise unless it is a non-negative number."""
    number = real_of(value)
    if not number >= 0:
        raise ConfigError(
            f"{name}={shortened(value)} is not a tolerance. Expected a number from 0 on."
        )
    return number
