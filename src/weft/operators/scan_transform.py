"""Scan: the running reduction of what a function returns at the items of a frontier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.arrays.device import module_of
from weft.config import Config
from weft.engine.state import State
from weft.errors import TraceError
from weft.ir.trace import monoids
from weft.ir.trace.monoids import Monoid
from weft.operators.queue import checked
from weft.operators.running import check_state
from weft.operators.values import indexed_values

Array = np.ndarray[Any, Any]
_COMBINE = {
    "sum": "add", "prod": "multiply", "min": "fmin", "max": "fmax", "or": "bitwise_or",
    "and": "bitwise_and",
}  # fmt: skip


def scan_transform(
    g: Any,
    frontier: Any,
    fn: Callable[..., Any],
    state: State,
    *,
    monoid: Monoid = monoids.sum,
    inclusive: bool = False,
    config: Config | None = None,
) -> Any:
    """Return the prefix reductions of what a function returns at the vertices of a frontier.

    Parameters
    ----------
    g
        The graph.
    frontier
        Vertices, visited in ascending order; None for all.
    fn
        ``fn(v, idx)`` returns a scalar; idx is the position of v in the frontier.
    state
        Made by ``g.state``.
    monoid
        sum, prod, min, max, or_ or and_.
    inclusive
        Whether element i includes the value of item i. Without, the result has one element more
        than the frontier: the first is the identity, and the last is the total.
    config
        How to run it.

    Examples
    --------
    >>> import weft
    >>> from weft.operators import scan_transform
    >>> g = weft.generators.star(4)
    >>> scan_transform(g, None, lambda v, idx: v.out_degree, g.state()).tolist()
    [0, 3, 4, 5, 6]
    """
    check_state("scan_transform", state)
    if not isinstance(monoid, Monoid) or monoid.name not in _COMBINE:
        raise TraceError(
            f"scan_transform cannot combine by {monoid!r}. Expected weft.sum, weft.prod, "
            f"weft.min, weft.max, weft.or_ or weft.and_."
        )
    first = checked(g, frontier, "scan_transform")
    values = indexed_values(g, first, fn, state, config, "scan_transform")
    if len(values) != 1:
        raise TraceError(f"scan_transform got {len(values)} values of an item. Expected one.")
    with g.topology.device.current():
        found = scanned(values[0], monoid.name)
        if inclusive:
            return found
        xp = module_of(found)
        start = xp.full(1, identity_of(monoid.name, found.dtype), found.dtype)
        return xp.concatenate([start, found])


def scanned(values: Array, name: str) -> Array:
    """Return the inclusive prefix reductions of an array, in as many rounds as its size has bits.

    Examples
    --------
    >>> import numpy as np
    >>> scanned(np.array([3, 1, 2]), "max").tolist()
    [3, 3, 3]
    """
    xp = module_of(values)
    if name == "sum" and values.dtype.kind in "iu":
        return xp.cumsum(values, dtype=values.dtype)
    combine = getattr(xp, _COMBINE[name])
    found, reach = values.copy(), 1
    while reach < found.size:
        found[reach:] = combine(found[:-reach].copy(), found[reach:])
        reach *= 2
    return found


def identity_of(name: str, dtype: np.dtype[Any]) -> Any:
    """Return the number that a reduction begins with."""
    if name in ("sum", "or"):
        return 0
    if name == "prod":
        return 1
    if dtype.kind == "b" or name == "and":
        return name != "max" if dtype.kind == "b" else dtype.type(-1)
    if dtype.kind == "f":
        return np.inf if name == "min" else -np.inf
    return np.iinfo(dtype).max if name == "min" else np.iinfo(dtype).min
