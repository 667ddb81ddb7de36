"""Checks of numbers that users pass as options, with one wording.

NumPy's numbers are taken as Python's are. Truth values are no numbers here: they come from
arguments in the wrong place.
"""

from __future__ import annotations

import operator
from typing import Any, Final

import numpy as np

from weft.errors import ConfigError, shortened

MOST_STEPS: Final = 2**63 - 1  # that a loop counts: counters have 64 bits
MOST_VERTICES: Final = 2**40  # that a generator makes


def integer_of(value: Any) -> int | None:
    """Return a value as an int; None if it is no integer.

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
    """Return a value as a float; NaN if it is no number, or an integer that no float holds.

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
    """Return `value` as an int if it is an integer of at least `least` (and at most `most`)."""
    number = integer_of(value)
    if number is None or number < least or (most is not None and number > most):
        fits_below = number is None or most is None or number <= most
        upper = " on" if most is None or (fits_below and most == MOST_VERTICES) else f" to {most}"
        raise ConfigError(
            f"{name}={shortened(value)} is not possible. Expected an integer from {least}{upper}."
        )
    return number


def check_steps(name: str, value: Any) -> int:
    """Return a number of iterations as an int."""
    number = integer_of(value)
    if number is None or not 0 <= number <= MOST_STEPS:
        limit = "" if number is None or number < 0 else " to 2**63 - 1"
        raise ConfigError(
            f"{name}={shortened(value)} is not a count. Expected an integer from 0{limit or ' on'}."
        )
    return number


def check_between(name: str, value: Any, least: float, most: float) -> float:
    """Return `value` as a float if it lies in [least, most]."""
    number = real_of(value)
    if not least <= number <= most:
        raise ConfigError(
            f"{name}={shortened(value)} is not possible. Expected a number from {least:g} to "
            f"{most:g}."
        )
    return number


def check_tolerance(name: str, value: Any) -> float:
    """Return `value` as a float if it is a number from 0 on."""
    number = real_of(value)
    if not number >= 0:
        raise ConfigError(
            f"{name}={shortened(value)} is not a tolerance. Expected a number from 0 on."
        )
    return number
