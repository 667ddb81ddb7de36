"""Checks the parameters of user functions before calling them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import MethodType
from typing import Any, NamedTuple

from weft.ir.trace.builder import fail


class Parameters(NamedTuple):
    """The positional parameters of a function."""

    names: tuple[str, ...]
    defaults: tuple[Any, ...]  # of the last ones
    by_name: tuple[str, ...]  # required keyword-only parameters
    any_number: bool  # *args


_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def parameters_of(function: Callable[..., Any]) -> Parameters | None:
    """Return the parameters of a callable; None if unknown."""
    code = getattr(function, "__code__", None)
    if code is not None and not code.co_kwonlyargcount:
        first = 1 if isinstance(function, MethodType) else 0
        names = code.co_varnames[first : code.co_argcount]
        defaults = getattr(function, "__defaults__", None) or ()
        return Parameters(names, defaults, (), bool(code.co_flags & inspect.CO_VARARGS))
    try:
        given = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    placed = [p for p in given if p.kind in _BY_POSITION]
    return Parameters(
        tuple(p.name for p in placed),
        tuple(p.default for p in placed if p.default is not p.empty),
        tuple(p.name for p in given if p.kind is p.KEYWORD_ONLY and p.default is p.empty),
        any(p.kind is p.VAR_POSITIONAL for p in given),
    )


def check_takes(function: Any, what: str, *expected: str, more: str = "") -> Callable[..., Any]:
    """Return a function, or raise at the user's line unless it can be called with these.

    Parameters
    ----------
    function
        The user's value.
    what
        Its name in messages.
    expected
        The names of its arguments.
    more
        A description of allowed further parameters; by default none are allowed.
    """
    listed = ", ".join(expected)
    if not callable(function):
        raise fail(f"{what} is {function!r}. Expected a function of {listed or 'scalars'}.")
    found = parameters_of(function)
    if found is None:
        return function
    required = len(found.names) - len(found.defaults)
    few = len(found.names) < len(expected) and not found.any_number
    if few or (required > len(expected) and not more):
        raise fail(
            f"{what} takes {len(found.names)} parameter(s). Expected {len(expected)}: {listed}"
            f"{' first, then ' + more if more else ''}."
        )
    if found.by_name:
        raise fail(
            f"{what} takes {found.by_name[0]!r} by name alone. Expected parameters that can be "
            f"given by position: leave out the * before it."
        )
    return function
