"""weft's functions on plain numbers, outside of a traced function.

So edge and vertex functions can be called on ordinary objects. The call is traced and evaluated by
the interpreter, which defines what it means.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from weft.errors import FaultError, TraceError
from weft.ir.ops import INT32, Signature
from weft.ir.trace import builder as tracing
from weft.ir.trace.builder import Builder
from weft.ir.trace.expr import node

_NOTHING = Signature((), (), (), (), INT32)
_NEEDS_A_RUN = frozenset({"load", "degree", "neighbor", "neighbor_edge", "has_edge", "find_edge"})
F = TypeVar("F", bound=Callable[..., Any])


def on_numbers(function: F) -> F:
    """Make a function of traced values accept plain numbers outside of tracing."""

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if tracing.is_active():
            return function(*args, **options)
        return _evaluated(function, args, options)

    del call.__wrapped__  # what a kept trace reads is the call
    return call  # type: ignore[return-value]


def _evaluated(function: Callable[..., Any], args: tuple[Any, ...], options: Any) -> Any:
    """Trace a call on numbers, evaluate it, and return numbers."""
    from weft.ir.reference.arithmetic import Fault
    from weft.ir.reference.evaluate import Evaluator, Frame

    with Builder(_NOTHING, function.__name__) as builder:
        returned = function(*args, **options)
        if returned is None:
            return None
        parts = returned if isinstance(returned, tuple) else (returned,)
        block = builder.blocks[0]
        block.results = tuple(node(part) for part in parts)
    asked = _NEEDS_A_RUN.intersection(value.op for value in block.walk())
    if asked:
        raise TraceError(
            f"weft.{function.__name__} depends on the graph of a run, so it works in a traced "
            f"function only. To debug one on plain objects, replace it by a number."
        )
    evaluator: Any = Evaluator(None)  # type: ignore[arg-type]
    try:
        with np.errstate(all="ignore"):
            results = evaluator.run(block, Frame())
    except Fault as fault:
        raise FaultError(f"{fault}, in weft.{function.__name__} of plain numbers.") from None
    numbers = tuple(x.item() if np.ndim(x) == 0 else np.asarray(x) for x in results)
    return numbers if isinstance(returned, tuple) else numbers[0]


def plain_while(
    condition: Callable[..., Any], body: Callable[..., Any], state: tuple[Any, ...], bound: int
) -> Any:
    """Run `weft.while_loop` on plain values."""
    rounds = 0
    while condition(*state):
        if rounds == bound:
            raise FaultError(f"loop bound: more than {bound} rounds of weft.while_loop.")
        returned = body(*state)
        state = returned if isinstance(returned, tuple) else (returned,)
        rounds += 1
    return state[0] if len(state) == 1 else state


def plain_for(start: int, stop: int, body: Callable[..., Any], state: tuple[Any, ...]) -> Any:
    """Run `weft.for_range` on plain values."""
    for i in range(start, stop):
        returned = body(i, *state)
        if state:
            state = returned if isinstance(returned, tuple) else (returned,)
    return None if not state else state[0] if len(state) == 1 else state
