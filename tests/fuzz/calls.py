"""One call of an algorithm on a drawn graph, and how its result is judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import weft
from weft.errors import ConfigError, GraphError, WeftError

from .cases import Difference


@dataclass(frozen=True)
class Call:
    """A call with its options.

    Parameters
    ----------
    text
        The call as Python, for the report.
    run
        ``run(graph, config)`` makes it.
    check
        Compares the result with that of an oracle; None compares it with the one under the default
        configuration.
    refuses
        Whether the call must be refused with an error of weft; None where no oracle says so.
    close
        Tolerances for the comparison with the default configuration.
    """

    text: str
    run: Callable[[weft.Graph, weft.Config | None], Any]
    check: Callable[[Any], None] | None = None
    refuses: bool | None = False
    close: tuple[tuple[str, float], ...] = ()


def on_host(value: Any) -> Any:
    """Return arrays of a device as NumPy's."""
    return value.get() if hasattr(value, "get") and hasattr(value, "dtype") else value


def same(got: Any, want: Any, what: str = "") -> None:
    """Demand equal arrays."""
    got, want = np.asarray(on_host(got)), np.asarray(want)
    if got.shape != want.shape or not np.array_equal(got, want, equal_nan=got.dtype.kind == "f"):
        raise Difference(f"{what}\nexpected {want.tolist()}\ngot      {got.tolist()}")


def near(got: Any, want: Any, what: str = "", *, rtol: float = 1e-9, atol: float = 1e-12) -> None:
    """Demand arrays that are close."""
    got, want = np.asarray(on_host(got)), np.asarray(want)
    if got.shape != want.shape or not np.allclose(got, want, rtol, atol, equal_nan=True):
        raise Difference(f"{what}\nexpected {want.tolist()}\ngot      {got.tolist()}")


def relaxed(config: weft.Config) -> weft.Config:
    """Return a configuration without what programs refuse most often."""
    return replace(config, direction="auto", change_driven=False, format=None)


def judge(call: Call, g: weft.Graph, config: weft.Config) -> str:
    """Make a call under a configuration; returns "ok" or "refused", or raises a Difference."""
    got = _outcome(call, g, config)
    if isinstance(got, ConfigError):
        default = _outcome(call, g, weft.Config())
        if not isinstance(default, ConfigError):  # the configuration was refused, not the call
            if config != relaxed(config):
                judge(call, g, relaxed(config))
            return "refused"
    if isinstance(got, GraphError) and "arcs are not stored" in str(got):
        if g.topology.keep == "both":
            raise Difference(f"unexpected {got!r}")
        return "refused"
    if isinstance(got, WeftError):
        _judge_error(call, g, got)
        return "ok"
    if call.refuses:
        raise Difference(f"an error was expected\ngot      {got}")
    if call.check is not None:
        call.check(got)
        return "ok"
    want = _outcome(call, g, weft.Config())
    if isinstance(want, WeftError):
        raise Difference(f"by default there is an error: {want!r}\ngot      {got}")
    for one, other in zip(_arrays(got), _arrays(want), strict=True):
        near(one, other, "under the default configuration", **dict(call.close))
    return "ok"


def _judge_error(call: Call, g: weft.Graph, error: WeftError) -> None:
    if call.refuses is False:
        raise Difference(f"unexpected {type(error).__name__}: {error}")
    default = _outcome(call, g, weft.Config())
    if type(default) is not type(error):
        raise Difference(f"{error!r}\nbut under the default configuration {default!r}")


def _outcome(call: Call, g: weft.Graph, config: weft.Config) -> Any:
    """Return the result, or the error of weft; any other exception is a difference."""
    try:
        return call.run(g, config)
    except WeftError as error:
        return error


def _arrays(result: Any) -> list[Any]:
    """Return the arrays and numbers of a result."""
    if isinstance(result, list | tuple):
        return [array for part in result for array in _arrays(part)]
    if hasattr(result, "__dataclass_fields__"):
        return [a for name in result.__dataclass_fields__ for a in _arrays(getattr(result, name))]
    return [on_host(result)]
