"""The functions that operators are called with, and the steps made of them, kept."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

from weft.errors import TraceError
from weft.ir.trace import builder as tracing
from weft.ir.trace import functions as fn
from weft.ir.trace.cache import _identity, _reads_of
from weft.ir.trace.calls import parameters_of
from weft.ir.trace.steps import EdgeFunction, VertexFunction, call_function, name_of
from weft.program import check_function
from weft.storage.memory import Cache

Function = Callable[..., Any]
MARK = "operator_mark"  # the hidden field that marks the vertices that passed, by superstep
OPEN = "operator_open"  # the hidden field of vertices that a pull may still visit
ITERATION = "iteration"  # what functions may ask for by that name
_NOT_PLAIN = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Given(NamedTuple):
    """The functions that an operator was called with: one, or a condition and what it allows."""

    fn: Function | None = None
    cond: Function | None = None
    apply: Function | None = None

    @property
    def name(self) -> str:
        """The name that profiles and messages show."""
        found = self.fn or self.apply or self.cond
        return "nothing" if found is None else name_of(found)

    def wants_iteration(self) -> bool:
        """Whether one of the functions asks for the number of the iteration."""
        found = [parameters_of(f) for f in self if callable(f)]
        return any(f is not None and ITERATION in f.names for f in found)


class How(NamedTuple):
    """The options for turning a function into a step."""

    output: str | None = "vertices"
    idempotent: bool = False
    along: str = "out"
    opened: bool = False  # only vertices of the hidden field OPEN are visited
    mark: str = MARK
    everywhere: bool = False


def given(who: str, first: str, function: Any, cond: Any, apply: Any) -> Given:
    """Return the functions that an operator was called with, checked."""
    if function is not None and (cond is not None or apply is not None):
        raise TraceError(
            f"{who} got a function and cond= or apply=. Expected either one function, or the pair."
        )
    if function is None and cond is None and apply is None:
        raise TraceError(f"{who} got no function. Expected one of {first}, or cond= and apply=.")
    if isinstance(function, EdgeFunction | VertexFunction):
        if function.kind != ("edge" if first.startswith("u") else "vertex"):
            raise TraceError(f"{who} takes a function of {first}, but got {function!r}.")
        return Given(function)
    for one in (function, cond, apply):
        if one is not None and not _is_plain(one):
            check_function(one, who, first)
    return Given(function, cond, apply)


def _is_plain(function: Any) -> bool:
    """Whether this is an ordinary function, which `check_function` lets pass: the quick test."""
    return type(function) is FunctionType and not function.__code__.co_flags & _NOT_PLAIN


def called(
    function: Function, proxies: tuple[Any, ...], first: tuple[str, ...] | None = None
) -> Any:
    """Call a user's function while it is traced."""
    builder = tracing.current()
    known = parameters_of(function)
    if known is None or ITERATION not in known.names or ITERATION not in builder.scalars:
        return call_function(function, proxies, builder, first)
    names = known.names

    def counted(*arguments: Any) -> Any:
        place = names.index(ITERATION)
        now = arguments[place] + fn.superstep()
        return function(*arguments[:place], now, *arguments[place + 1 :])

    counted.__name__ = name_of(function)
    wrapped = _Named(counted, names)
    return call_function(wrapped, proxies, builder, first)


class _Named:
    """A function that takes the parameters of another one."""

    def __init__(self, function: Function, names: tuple[str, ...]) -> None:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.__name__ = function.__name__
        self.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in names])
        self._function = function

    def __call__(self, *arguments: Any) -> Any:
        return self._function(*arguments)


# -- steps, kept


_kept: Cache[Any, tuple[Any, Any, Any]] = Cache("steps of operators", 256)


def kept_step(make: Callable[[], Any], key: tuple[Any, ...], functions: Any, held: Any) -> Any:
    """Return a step made before from functions that read the same, or make it.

    Parameters
    ----------
    make
        Makes the step.
    key
        What else it depends on.
    functions
        The functions of the user.
    held
        What must stay alive for the key to stay valid.
    """
    functions = tuple(functions)
    key = (_identity(functions), *key)
    found = _kept.get(key)
    if found is not None and found[0].unchanged():
        return found[1]
    made = make()
    reads = _reads_of(*(f for f in functions if f is not None))
    if reads is not None and reads.unchanged():
        _kept[key] = reads, made, (functions, held)
    return made


def nothing_returned(who: str, name: str, output: str | None) -> str:
    """Return the message about a function that does not say whether items pass."""
    return (
        f"{name} returned nothing, but {who} has output={output!r}. Return whether the item joins "
        f"the output (True for all of them), or pass output=None."
    )
