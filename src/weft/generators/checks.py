"""Checks of the parameters of generators, with one wording."""

from __future__ import annotations

import operator

from weft.errors import ConfigError


def check_integer(name: str, value: int, least: int, most: int | None = None) -> int:
    """Return `value` as an int if it is an integer of at least `least` (and at most `most`)."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or number < least or (most is not None and number > most):
        upper = "" if most is None else f" to {most}"
        raise ConfigError(
            f"{name}={value!r} is not possible. Expected an integer from {least}{upper or ' on'}."
        )
    return number


def check_between(name: str, value: float, least: float, most: float) -> float:
    """Return `value` as a float if it lies in [least, most]."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not least <= number <= most:
        raise ConfigError(
            f"{name}={value!r} is not possible. Expected a number from {least:g} to {most:g}."
        )
    return number
