"""Split: cut a frontier into queues by a key, for near-far and multi-level queues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.arrays.device import module_of
from weft.config import Config
from weft.engine.frontier import Frontier
from weft.engine.state import State
from weft.errors import ConfigError, FieldError, expected, nearest
from weft.operators.queue import checked
from weft.operators.running import check_state
from weft.operators.values import emitted_at_vertices, recording_ends


def split(
    g: Any,
    frontier: Any,
    key: str | Callable[..., Any],
    state: State,
    thresholds: Any,
    *,
    config: Config | None = None,
) -> list[Frontier]:
    """Cut a frontier into parts by where a key lies between thresholds.

    Parameters
    ----------
    g
        The graph.
    frontier
        Vertices; None for all.
    key
        The name of a field, or ``key(v)``.
    state
        Made by ``g.state``.
    thresholds
        Rising numbers. One of them gives two queues, near and far; n of them give n + 1.
    config
        How to run it.

    Returns
    -------
    list of Frontier
        First those with a key below the first threshold, then those from it on and below the
        second one, and so on. Part i holds ``thresholds[i - 1] <= key < thresholds[i]``; NaN lies
        in the last one.

    Examples
    --------
    >>> import weft
    >>> from weft.operators import split
    >>> g = weft.generators.path(4)
    >>> state = g.state(dist=[0.5, 3.0, 7.0, 2.0])
    >>> near, far = split(g, None, "dist", state, [3.0])
    >>> near.tolist(), far.tolist()
    ([0, 3], [1, 2])
    """
    check_state("split", state)
    recording_ends("split")
    first = checked(g, frontier, "split")
    bounds = _checked_thresholds(thresholds)
    with g.topology.device.current():
        items = first.items
        keys = _keys(g, first, items, key, state, config)
        xp = module_of(items)
        parts = xp.searchsorted(xp.asarray(bounds), keys, side="right")
        found = [g.frontier(items[parts == k]) for k in range(len(bounds) + 1)]
    for part in found:
        part.iteration = first.iteration
    return found


def _checked_thresholds(thresholds: Any) -> Any:
    given: Any = thresholds if np.iterable(thresholds) else [thresholds]
    bounds = np.asarray(given)
    good = bounds.ndim == 1 and bounds.size and bounds.dtype.kind in "iuf"
    if not good or not np.all(bounds[1:] >= bounds[:-1]) or np.isnan(bounds).any():
        raise ConfigError(
            f"thresholds={thresholds!r} cannot split a frontier. Expected one number at least, "
            f"rising."
        )
    return bounds


def _keys(g: Any, first: Frontier, items: Any, key: Any, state: State, config: Any) -> Any:
    """Return the key of every item, in ascending order of items."""
    if not isinstance(key, str):
        return emitted_at_vertices(g, first, key, state, config, "split")[0]
    if key not in state.fields:
        known = list(state.fields)
        raise FieldError(
            f"the state has no field {key!r} to split by. {expected(known)}.{nearest(key, known)}"
        )
    values = state.fields[key]
    if values.ndim != 1:
        raise FieldError(
            f"field {key!r} has shape {values.shape[1:]} per vertex, which cannot be a key. "
            f"Expected a scalar field, or a function of v."
        )
    return values[items]
